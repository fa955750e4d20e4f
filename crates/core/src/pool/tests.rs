//! Several sessions over one pool, with a fake connector and a paused clock: what they see, and what is asked of the
//! outside world.

use std::{collections::BTreeSet, time::Duration};

use futures::FutureExt;
use indexmap::IndexMap;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    admission::admit_one,
    config::{CallOptions, Config, UseError},
    connector::{Attempt, CallError, Teardown},
    domain::{
        Desired, Entry, EnvPolicy, FolderTrust, LaunchBound, OAuth, Pattern, PoolMode, Remote, Scope,
        ServerName, ServerSpec, Stdio, VersionNegotiation, View, Wire,
    },
    failure::FailureKind,
    manager::Manager,
    status::Phase,
    testing::{FakeConnector, stdio},
};

fn spec(wire: Wire) -> ServerSpec {
    ServerSpec::new(Scope::User, wire, View::default())
}

fn process() -> Stdio {
    Stdio { pool: PoolMode::Shared, ..stdio("x") }
}

fn remote() -> Remote {
    Remote {
        url: "https://e.example/mcp".into(),
        headers: [("authorization".to_owned(), "Bearer one".into())].into(),
        oauth: Some(OAuth { fields: [("clientId".to_owned(), "one".into())].into(), ..OAuth::default() }),
        auth_provider: [("type".to_owned(), "one".to_owned())].into(),
        sse_fallback: false,
        version_negotiation: VersionNegotiation::Auto,
        pool: PoolMode::Shared,
    }
}

struct Session(Arc<Manager>);

impl Session {
    async fn wants(&self, specs: &[(&str, ServerSpec)]) {
        let servers: IndexMap<ServerName, Entry> = specs
            .iter()
            .map(|(name, spec)| (ServerName::from(*name), Entry::Valid(Arc::new(spec.clone()))))
            .collect();
        self.0.begin_mcp_update().await.reinitialize_mcp_servers(servers).await.unwrap();
    }

    async fn excludes(&self, name: &str, specs: &[(&str, ServerSpec)]) {
        let servers: IndexMap<ServerName, Entry> = specs
            .iter()
            .map(|(name, spec)| (ServerName::from(*name), Entry::Valid(Arc::new(spec.clone()))))
            .collect();
        let mut update = self.0.begin_mcp_update().await;
        update.set_excluded_mcp_servers(Pattern::new(name).into_iter().collect::<BTreeSet<_>>());
        update.reinitialize_mcp_servers(servers).await.unwrap();
    }

    async fn until(&self, state: &str) {
        let mut status = self.0.status();
        let is = |status: &Arc<crate::status::Status>| {
            status.servers.get("a").is_some_and(|server| server.phase.state().as_str() == state)
        };
        tokio::time::timeout(Duration::from_secs(600), status.wait_for(is)).await.unwrap().unwrap();
    }

    fn pid(&self) -> Option<u32> {
        match &self.0.status().borrow().servers.get("a")?.phase {
            Phase::Connected(connected) => connected.pid,
            Phase::Connecting(_) | Phase::Failed { .. } | Phase::Refused(_) => None,
        }
    }

    fn tools(&self) -> Vec<String> {
        self.0.status().borrow().catalogue.tools.keys().map(ToString::to_string).collect()
    }

    fn calls(&self, tool: &str) -> tokio::task::JoinHandle<Result<Value, UseError>> {
        let (config, tool) = (Arc::clone(&self.0), tool.to_owned());
        tokio::spawn(async move { config.call_tool(&tool, None, CallOptions::default()).await })
    }
}

/// So many sessions over one pool.
fn sessions<const N: usize>() -> (FakeConnector, [Session; N]) {
    let world = FakeConnector::default();
    let pool = Pool::new(Arc::new(world.clone()));
    let session = |_| {
        let config = Manager::new(LaunchBound::Unbounded, Arc::new(pool.clone()));
        config.initialize();
        Session(Arc::new(config))
    };
    (world, std::array::from_fn(session))
}

/// Lets every task run until nothing moves any more.
async fn idle() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}

/// Two sessions that hold one connection.
async fn sharing() -> (FakeConnector, [Session; 2]) {
    let (world, sessions) = sessions();
    for session in &sessions {
        session.wants(&[("a", spec(Wire::Stdio(process())))]).await;
    }
    idle().await;
    world.answer("a", Ok(()));
    for session in &sessions {
        session.until("connected").await;
    }
    assert_eq!(world.log(), ["open a"]);
    (world, sessions)
}

#[tokio::test(start_paused = true)]
async fn sessions_with_the_same_shared_entry_have_one_connection_and_with_any_difference_two() {
    let process = |edit: fn(&mut Stdio)| {
        let mut wire = process();
        edit(&mut wire);
        Wire::Stdio(wire)
    };
    let remote = |edit: fn(&mut Remote)| {
        let mut wire = remote();
        edit(&mut wire);
        Wire::Http(wire)
    };
    let table: [(&str, Wire, Wire, usize); 12] = [
        ("the same process", process(|_| {}), process(|_| {}), 1),
        ("the same URL", remote(|_| {}), remote(|_| {}), 1),
        ("private", process(|it| it.pool = PoolMode::Session), process(|it| it.pool = PoolMode::Session), 2),
        ("args", process(|_| {}), process(|it| it.args.push("y".to_owned())), 2),
        ("env", process(|_| {}), process(|it| drop(it.env.insert("K".to_owned(), "y".into()))), 2),
        ("cwd", process(|_| {}), process(|it| it.cwd = "/y".into()), 2),
        ("what is inherited", process(|_| {}), process(|it| it.env_policy = EnvPolicy::Restricted), 2),
        ("query", remote(|_| {}), remote(|it| it.url = "https://e.example/mcp?k=y".into()), 2),
        (
            "header",
            remote(|_| {}),
            remote(|it| drop(it.headers.insert("authorization".to_owned(), "Bearer two".into()))),
            2,
        ),
        ("credential", remote(|_| {}), remote(|it| it.oauth = None), 2),
        ("credential provider", remote(|_| {}), remote(|it| it.auth_provider.clear()), 2),
        ("transport", remote(|_| {}), Wire::Sse(self::remote()), 2),
    ];
    for (what, one, two, connections) in table {
        let (world, [first, second]) = sessions();
        first.wants(&[("a", spec(one))]).await;
        second.wants(&[("a", spec(two))]).await;
        idle().await;
        assert_eq!(world.log().len(), connections, "{what}");
        for _ in 0..connections {
            world.answer("a", Ok(()));
        }
        first.until("connected").await;
        second.until("connected").await;
        assert_eq!(first.pid() == second.pid(), connections == 1, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_session_s_refusal_takes_the_server_from_it_at_once_and_leaves_the_other_s_alone() {
    let (world, [one, two]) = sharing().await;
    world.relist("a", "hang");
    idle().await;
    let (interrupted, running) = (one.calls("mcp__a__hang"), two.calls("mcp__a__hang"));
    idle().await;
    one.excludes("a", &[("a", spec(Wire::Stdio(process())))]).await;
    assert_eq!(one.tools(), Vec::<String>::new());
    assert_eq!(interrupted.await.unwrap(), Err(UseError::Call(CallError::Interrupted)));
    tokio::time::advance(Pool::LINGER * 2).await;
    idle().await;
    assert!(!running.is_finished());
    assert_eq!(two.tools(), ["mcp__a__hang"]);
    assert_eq!(world.log(), Vec::<String>::new());
    // The verdict about the last one ends the connection at once, and with it the call.
    two.excludes("a", &[("a", spec(Wire::Stdio(process())))]).await;
    assert_eq!(running.await.unwrap(), Err(UseError::Call(CallError::Interrupted)));
    idle().await;
    assert_eq!(world.log(), ["retire a Verdict"]);
}

#[tokio::test(start_paused = true)]
async fn a_shared_connection_whose_sessions_left_waits_half_a_minute_for_the_next_one() {
    let (world, [one, two, three]) = sessions();
    let shared = || [("a", spec(Wire::Stdio(process())))];
    one.wants(&shared()).await;
    three.wants(&[("b", spec(Wire::Stdio(stdio("x"))))]).await;
    idle().await;
    world.answer("a", Ok(()));
    world.answer("b", Ok(()));
    one.until("connected").await;
    idle().await;
    world.log();
    one.0.shutdown(Duration::from_secs(5)).await;
    tokio::time::advance(Pool::LINGER - Duration::from_millis(100)).await;
    idle().await;
    two.wants(&shared()).await;
    two.until("connected").await;
    two.0.shutdown(Duration::from_secs(5)).await;
    tokio::time::advance(Pool::LINGER - Duration::from_millis(100)).await;
    idle().await;
    assert_eq!(world.log(), Vec::<String>::new());
    tokio::time::advance(Duration::from_millis(200)).await;
    idle().await;
    assert_eq!(world.log(), ["retire a Drain"]);
}

#[tokio::test(start_paused = true)]
async fn a_shared_connection_that_the_last_session_edits_removes_or_reconnects_ends_at_once() {
    let edited = Stdio { args: vec!["y".to_owned()], ..process() };
    for (next, log) in [
        (Some(process()), ["retire a Renew", "open a"].as_slice()),
        (Some(edited), &["retire a Drain", "open a"]),
        (None, &["retire a Drain"]),
    ] {
        let (world, [one, two]) = sharing().await;
        two.wants(&[]).await;
        idle().await;
        let same = next == Some(process());
        let servers: Vec<_> = next.into_iter().map(|wire| ("a", spec(Wire::Stdio(wire)))).collect();
        if same {
            one.0.reconnect(&"a".into()).await.unwrap();
        } else {
            one.wants(&servers).await;
        }
        idle().await;
        assert_eq!(world.log(), log);
    }
}

#[tokio::test(start_paused = true)]
async fn a_remote_connection_is_opened_anew_by_a_reconnect_while_its_calls_end_and_others_keep_it() {
    let (world, [one, two]) = sessions();
    for session in [&one, &two] {
        session.wants(&[("a", spec(Wire::Http(remote())))]).await;
    }
    idle().await;
    world.answer("a", Ok(()));
    one.until("connected").await;
    two.until("connected").await;
    world.relist("a", "hang");
    idle().await;
    world.log();
    let running = [one.calls("mcp__a__hang"), two.calls("mcp__a__hang")];
    idle().await;
    one.0.reconnect(&"a".into()).await.unwrap();
    idle().await;
    assert_eq!(world.log(), ["open a"]);
    assert!(running.iter().all(|call| !call.is_finished()));
    assert_eq!(two.tools(), ["mcp__a__hang"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_session_that_lets_go_may_finish_and_after_five_seconds_is_interrupted() {
    let (world, [one, two]) = sharing().await;
    world.relist("a", "hang");
    idle().await;
    let running = one.calls("mcp__a__hang");
    idle().await;
    one.wants(&[]).await;
    idle().await;
    tokio::time::advance(Teardown::DRAIN - Duration::from_millis(1)).await;
    idle().await;
    assert!(!running.is_finished());
    tokio::time::advance(Duration::from_millis(2)).await;
    assert_eq!(running.await.unwrap(), Err(UseError::Call(CallError::Interrupted)));
    assert_eq!((world.log(), two.tools()), (Vec::new(), vec!["mcp__a__hang".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_lists_reaches_every_session_through_its_own_view() {
    let (world, [one, two]) = sharing().await;
    let mut filtered = spec(Wire::Stdio(process()));
    filtered.view.exclude_tools = vec!["news".to_owned()];
    two.wants(&[("a", filtered)]).await;
    world.relist("a", "news");
    idle().await;
    assert_eq!(one.tools(), ["mcp__a__news"]);
    assert_eq!(two.tools(), Vec::<String>::new());
    assert_eq!(one.pid(), two.pid());
    assert_eq!(world.log(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_broken_connection_fails_in_every_session_and_comes_back_once() {
    let (world, [one, two]) = sharing().await;
    world.lose("a", Failure::new(FailureKind::Exited, "exited with code 3"));
    one.until("failed").await;
    two.until("failed").await;
    one.until("connecting").await;
    two.until("connecting").await;
    idle().await;
    world.answer("a", Ok(()));
    one.until("connected").await;
    two.until("connected").await;
    assert_eq!(world.log(), ["retire a Lost", "open a"]);
    assert_eq!(one.pid(), two.pid());
}

#[tokio::test(start_paused = true)]
async fn a_reconnect_makes_a_new_connection_for_the_session_that_asked() {
    let (world, [one, two]) = sharing().await;
    one.0.reconnect(&"a".into()).await.unwrap();
    idle().await;
    world.answer("a", Ok(()));
    one.until("connected").await;
    assert_ne!(one.pid(), two.pid());
    assert_eq!(two.calls("mcp__a__t").await.unwrap(), Ok(json!({"called": "t"})));
    two.wants(&[]).await;
    idle().await;
    assert_eq!(world.log(), ["open a", "retire a Drain"]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_one_session_leaves_the_other_and_the_end_of_both_ends_everything() {
    let (world, [one, two]) = sharing().await;
    one.0.shutdown(Duration::from_secs(5)).await;
    assert_eq!(world.log(), Vec::<String>::new());
    let answer = two.calls("mcp__a__t").await.unwrap();
    assert_eq!(answer, Ok(json!({"called": "t"})));
    two.0.shutdown(Duration::from_secs(5)).await;
    assert_eq!(world.log(), ["retire a Exit"]);
}

#[tokio::test(start_paused = true)]
async fn what_lingers_ends_with_the_last_session_that_is_dropped() {
    let (world, [one, two]) = sharing().await;
    drop((one, two));
    idle().await;
    assert_eq!(world.log(), ["retire a Exit"]);
}

fn request(cancel: CancellationToken) -> OpenRequest {
    let mut desired = Desired { folder: FolderTrust::Trusted, ..Desired::default() };
    desired.servers.insert("a".into(), Entry::Valid(Arc::new(spec(Wire::Stdio(process())))));
    let admitted = admit_one(&desired, &LaunchBound::Unbounded, &"a".into()).unwrap();
    let (events, _) = mpsc::unbounded_channel();
    OpenRequest { attempt: Attempt(7), admitted, cancel, events, questions: None }
}

#[tokio::test(start_paused = true)]
async fn an_asker_that_goes_away_leaks_nothing_before_or_after_the_answer() {
    let world = FakeConnector::default();
    let pool = Pool::new(Arc::new(world.clone()));
    // Before: the attempt is given up.
    drop(pool.open(request(CancellationToken::new())));
    idle().await;
    assert_eq!(world.log(), ["open a", "abort a"]);
    // After: the lease is in the answer that nobody takes.
    let asked = pool.open(request(CancellationToken::new()));
    idle().await;
    world.answer("a", Ok(()));
    idle().await;
    drop(asked);
    idle().await;
    assert_eq!(world.log(), ["open a", "retire a Exit"]);
}

#[tokio::test(start_paused = true)]
async fn cancelling_one_of_two_is_answered_at_once_and_the_last_when_nothing_is_left() {
    let world = FakeConnector::default();
    let pool = Pool::new(Arc::new(world.clone()));
    let cancels = [CancellationToken::new(), CancellationToken::new()];
    let mut asked = cancels.clone().map(|cancel| pool.open(request(cancel)));
    cancels[0].cancel();
    let refused = (&mut asked[0]).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::Aborted);
    assert_eq!(world.log(), ["open a"]);
    assert!((&mut asked[1]).now_or_never().is_none());
    cancels[1].cancel();
    (&mut asked[1]).await.unwrap_err();
    assert_eq!(world.log(), ["abort a"]);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_outlives_its_lease_gets_nowhere_although_the_connection_lives() {
    let world = FakeConnector::default();
    let pool = Pool::new(Arc::new(world.clone()));
    let asked = [CancellationToken::new(), CancellationToken::new()].map(|cancel| pool.open(request(cancel)));
    idle().await;
    world.answer("a", Ok(()));
    let [one, two] = asked;
    let (one, two) = (one.await.unwrap(), two.await.unwrap());
    let (stale, good) = (one.link.caller(), two.link.caller());
    one.link.retire(Teardown::Verdict).await;
    let call = |caller: Arc<dyn crate::connector::Caller>| {
        caller.call_tool("t".to_owned(), None, crate::connector::CallLimits::of(&View::default()))
    };
    assert_eq!(call(stale).await, Err(CallError::Interrupted));
    assert_eq!(call(good).await, Ok(json!({"called": "t"})));
    drop(two);
}
