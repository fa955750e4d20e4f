//! A session of core alone: no file, no watcher, nobody who stages a list. For what needs a caller in the same process.

use std::{collections::BTreeMap, sync::Arc};

use qwen_core::{
    Client, Config, DirectConnector, Entry, FolderTrust, Guard, LaunchBound, Manager, PoolMode, ProcessEnv,
    Remote, Scope, Secret, ServerName, ServerSpec, State, Status, VersionNegotiation, View, Wire,
};

use crate::{sandbox::Sandbox, wait::BOUND};

/// A session whose children belong to the sandbox; it connects nothing before `initialize`.
#[must_use]
pub fn core_session(sandbox: &Sandbox) -> Arc<dyn Config> {
    let path = std::env::var("PATH").unwrap_or_default();
    // The home is the mark by which the sandbox finds its processes.
    let env = vec![("HOME".to_owned(), sandbox.home().display().to_string()), ("PATH".to_owned(), path)];
    let env = ProcessEnv { root: sandbox.project(), full: env.clone(), restricted: env };
    let client = Client { name: "tests".to_owned(), version: "0".to_owned() };
    let connector = DirectConnector::new(env, Guard::without_process(), client);
    Arc::new(Manager::new(LaunchBound::Unbounded, Arc::new(connector)))
}

/// Commits these as the user's own servers, and waits until that is planned.
///
/// # Panics
/// When the session has ended.
pub async fn commit_wires(config: &Arc<dyn Config>, wires: Vec<(&str, Wire)>) {
    let mut update = config.begin_mcp_update().await;
    update.set_folder_trust(FolderTrust::Trusted);
    let servers = wires.into_iter().map(|(name, wire)| {
        let spec = ServerSpec::new(Scope::User, wire, View::default());
        (ServerName::from(name), Entry::Valid(Arc::new(spec)))
    });
    update.reinitialize_mcp_servers(servers.collect()).await.expect("the session goes on");
}

/// A server behind this URL, with these headers.
#[must_use]
pub fn remote(url: &str, headers: &[(&str, &str)]) -> Remote {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), Secret::from(*value)));
    Remote {
        url: Secret::from(url),
        headers: headers.collect(),
        oauth: None,
        auth_provider: BTreeMap::new(),
        sse_fallback: false,
        version_negotiation: VersionNegotiation::Auto,
        pool: PoolMode::Session,
    }
}

/// Waits until this holds of the published state.
///
/// # Panics
/// With `what` when it does not within the bound.
pub async fn until(config: &Arc<dyn Config>, what: &str, holds: impl Fn(&Status) -> bool) {
    let mut status = config.status();
    let waited = tokio::time::timeout(BOUND, status.wait_for(|status| holds(status))).await.is_ok();
    assert!(waited, "waited {BOUND:?} for {what}: {:#?}", config.status().borrow().servers);
}

/// Waits until the server is connected.
///
/// # Panics
/// When it is not within the bound.
pub async fn connected(config: &Arc<dyn Config>, name: &str) {
    until(config, name, |status| state_of(status, name) == Some(State::Connected)).await;
}

/// What the server is doing, if it is in the map.
#[must_use]
pub fn state_of(status: &Status, name: &str) -> Option<State> {
    status.servers.get(&ServerName::from(name)).map(|server| server.phase.state())
}
