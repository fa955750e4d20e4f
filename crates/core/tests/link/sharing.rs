//! Several sessions of one program with real processes between them.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use indexmap::IndexMap;
use qwen_core::{
    CallOptions, Config, Connected, Entry, FolderTrust, LaunchBound, Manager, Pattern, Phase, Pool, PoolMode,
    ServerName,
};

use crate::harness::{Server, connector, kill, until};

const SOON: Duration = Duration::from_secs(20);

struct Session(Manager);

impl Session {
    fn over(pool: &Pool) -> Self {
        let config = Manager::new(LaunchBound::Unbounded, Arc::new(pool.clone()));
        config.initialize();
        Self(config)
    }

    async fn wants(&self, server: &Server, excluded: &str) {
        let entry = Entry::Valid(Arc::new(server.spec()));
        let servers: IndexMap<ServerName, Entry> = [("s".into(), entry)].into();
        let mut update = self.0.begin_mcp_update().await;
        update.set_folder_trust(FolderTrust::Trusted);
        update.set_excluded_mcp_servers(Pattern::new(excluded).into_iter().collect::<BTreeSet<_>>());
        update.reinitialize_mcp_servers(servers).await.unwrap();
    }

    fn connected(&self) -> Option<Connected> {
        match &self.0.status().borrow().servers.get("s")?.phase {
            Phase::Connected(connected) => Some(connected.clone()),
            Phase::Connecting(_) | Phase::Failed { .. } | Phase::Refused(_) => None,
        }
    }

    async fn pid(&self) -> u32 {
        until(SOON, || self.connected().is_some()).await;
        self.connected().unwrap().pid.unwrap()
    }
}

fn shared() -> Server {
    let mut server = Server::scripted("plain");
    server.pool = PoolMode::Shared;
    server
}

#[tokio::test]
async fn one_process_serves_two_sessions_and_a_refusal_in_one_leaves_the_other_alone() {
    let pool = Pool::new(Arc::new(connector()));
    let (one, two) = (Session::over(&pool), Session::over(&pool));
    let server = shared();
    one.wants(&server, "").await;
    two.wants(&server, "").await;
    let pid = one.pid().await;
    assert_eq!(two.pid().await, pid);
    assert_eq!(server.processes(), [pid]);
    assert_eq!(server.times("initialize"), 1);
    one.wants(&server, "s").await;
    assert_eq!(one.connected(), None);
    assert!(one.0.call_tool("mcp__s__echo", None, CallOptions::default()).await.is_err());
    two.0.call_tool("mcp__s__echo", None, CallOptions::default()).await.unwrap();
    assert_eq!(server.processes(), [pid]);
    two.wants(&server, "s").await;
    server.is_gone_within(SOON).await;
}

#[tokio::test]
async fn another_environment_another_folder_or_a_private_entry_is_another_process() {
    for edit in [
        |server: &mut Server| drop(server.env.insert("TOKEN".to_owned(), "two".to_owned())),
        |server: &mut Server| server.cwd = "/".into(),
        |server: &mut Server| server.policy = qwen_core::EnvPolicy::Restricted,
        |server: &mut Server| server.pool = PoolMode::Session,
    ] {
        let pool = Pool::new(Arc::new(connector()));
        let (one, two) = (Session::over(&pool), Session::over(&pool));
        let mut server = shared();
        one.wants(&server, "").await;
        let pid = one.pid().await;
        edit(&mut server);
        two.wants(&server, "").await;
        assert_ne!(two.pid().await, pid);
        assert_eq!(server.processes().len(), 2);
        one.0.shutdown(Duration::from_secs(5)).await;
        two.0.shutdown(Duration::from_secs(5)).await;
        assert!(server.processes().is_empty(), "the end of the sessions is the end of their servers");
    }
}

#[tokio::test]
async fn a_shared_process_that_is_killed_comes_back_once_for_both() {
    let pool = Pool::new(Arc::new(connector()));
    let (one, two) = (Session::over(&pool), Session::over(&pool));
    let server = shared();
    one.wants(&server, "").await;
    two.wants(&server, "").await;
    let pid = one.pid().await;
    assert_eq!(two.pid().await, pid);
    kill(pid);
    let is_new = |session: &Session| {
        session.connected().and_then(|connected| connected.pid).is_some_and(|now| now != pid)
    };
    until(SOON, || is_new(&one) && is_new(&two)).await;
    assert_eq!(one.pid().await, two.pid().await);
    assert_eq!(server.times("initialize"), 2);
}

#[tokio::test]
async fn a_shared_process_that_lingers_is_used_again_and_ends_with_the_program() {
    let pool = Pool::new(Arc::new(connector()));
    let (one, two) = (Session::over(&pool), Session::over(&pool));
    let (server, other) = (shared(), Server::scripted("plain"));
    one.wants(&server, "").await;
    let pid = one.pid().await;
    // A session that goes on, with another server of its own.
    let three = Session::over(&pool);
    three.wants(&other, "").await;
    three.pid().await;
    one.0.shutdown(Duration::from_secs(5)).await;
    two.wants(&server, "").await;
    assert_eq!(two.pid().await, pid);
    two.0.shutdown(Duration::from_secs(5)).await;
    three.0.shutdown(Duration::from_secs(5)).await;
    assert!(server.processes().is_empty());
}

#[tokio::test]
async fn a_shared_process_that_is_edited_removed_or_reconnected_is_gone_at_once() {
    let pool = Pool::new(Arc::new(connector()));
    let one = Session::over(&pool);
    let mut server = shared();
    one.wants(&server, "").await;
    let first = one.pid().await;
    one.0.reconnect(&"s".into()).await.unwrap();
    until(SOON, || one.connected().and_then(|connected| connected.pid).is_some_and(|pid| pid != first)).await;
    let second = one.pid().await;
    assert_eq!(server.processes(), [second]);
    server.env.insert("TOKEN".to_owned(), "two".to_owned());
    one.wants(&server, "").await;
    until(SOON, || one.connected().and_then(|connected| connected.pid).is_some_and(|pid| pid != second))
        .await;
    assert_eq!(server.processes().len(), 1);
    one.0.begin_mcp_update().await.reinitialize_mcp_servers(IndexMap::new()).await.unwrap();
    server.is_gone_within(Duration::from_secs(5)).await;
}
