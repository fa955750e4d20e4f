//! Can these servers be connected now? Connects the admitted ones once, side by side, in this process, and keeps the
//! first thing that came of each. Servers the gate refuses are not touched.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use qwen_core::{CommitError, Config, Desired, Failure, FailureKind, Guard, Phase, ServerName, ServerStatus};
use tokio::time::{Instant, timeout_at};

use super::App;

/// How long connections get to end.
const TEARDOWN: Duration = Duration::from_secs(5);

/// What came of one server.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Probed {
    /// Connected, failed, or refused by the gate.
    pub(crate) phase: Phase,
    /// Since when, in milliseconds since 1970.
    pub(crate) since_unix_ms: u64,
}

impl App {
    /// Connects what `desired` admits and ends it again; everybody has until `limit` together. What comes of them goes
    /// to `told`, which is at its work while the connections end.
    ///
    /// # Errors
    /// Core ended before it planned anything.
    pub(crate) async fn probe<T>(
        &self,
        desired: Desired,
        limit: Duration,
        guard: Guard,
        told: impl FnOnce(BTreeMap<ServerName, Probed>) -> T,
    ) -> Result<T, CommitError> {
        let deadline = Instant::now() + limit;
        let config = self.config(guard);
        config.initialize();
        let found = first_outcomes(&*config, desired, deadline, limit).await?;
        // The end is begun first: others carry it out while this thread goes on.
        let ((), made) = tokio::join!(config.shutdown(TEARDOWN), async { told(found) });
        Ok(made)
    }
}

/// Hands a desired state to core as one commit.
///
/// # Errors
/// Core ended before it planned anything.
pub(crate) async fn commit(config: &dyn Config, desired: Desired) -> Result<(), CommitError> {
    let Desired { servers, gating, folder, unreadable } = desired;
    let mut update = config.begin_mcp_update().await;
    update.set_excluded_mcp_servers(gating.excluded);
    update.set_allowed_mcp_servers(gating.allowed);
    update.set_pending_mcp_servers(gating.pending);
    update.set_folder_trust(folder);
    update.set_unreadable_sources(unreadable);
    update.reinitialize_mcp_servers(servers).await.map(|_| ())
}

/// Waits until each server has come to something. What is retried has failed already.
///
/// Servers that are known end while others start, as soon as there are as many of them as of the others: so a few commits
/// do for any number, and no more than half of all servers end after the last one has answered.
async fn first_outcomes(
    config: &dyn Config,
    mut desired: Desired,
    deadline: Instant,
    limit: Duration,
) -> Result<BTreeMap<ServerName, Probed>, CommitError> {
    let mut status = config.status();
    let mut waited_for: BTreeSet<ServerName> = desired.servers.keys().cloned().collect();
    let mut found = BTreeMap::new();
    commit(config, desired.clone()).await?;
    loop {
        let newest = Arc::clone(&status.borrow_and_update());
        waited_for.retain(|name| match newest.servers.get(name).and_then(|server| outcome(server)) {
            Some(probed) => {
                found.insert(name.clone(), probed);
                false
            }
            None => true,
        });
        if waited_for.is_empty() {
            return Ok(found);
        }
        if desired.servers.len() >= 2 * waited_for.len() {
            desired.servers.retain(|name, _| waited_for.contains(name));
            commit(config, desired.clone()).await?;
        }
        match timeout_at(deadline, status.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => break,
        }
    }
    let newest = Arc::clone(&status.borrow());
    found.extend(waited_for.into_iter().map(|name| {
        let since_unix_ms = newest.servers.get(&name).map_or(0, |server| server.since_unix_ms);
        (name, Probed { phase: no_answer(limit), since_unix_ms })
    }));
    Ok(found)
}

fn outcome(server: &ServerStatus) -> Option<Probed> {
    match &server.phase {
        Phase::Connecting(_) => None,
        phase @ (Phase::Connected(_) | Phase::Refused(_) | Phase::Failed { .. }) => {
            Some(Probed { phase: final_phase(phase, Duration::ZERO), since_unix_ms: server.since_unix_ms })
        }
    }
}

/// What came of a server when the time was up: who did not answer has failed, and nobody retries after this process has
/// ended.
pub(crate) fn final_phase(phase: &Phase, limit: Duration) -> Phase {
    match phase {
        Phase::Connecting(_) => no_answer(limit),
        Phase::Failed { failure, retry_at_unix_ms: _ } => {
            Phase::Failed { failure: failure.clone(), retry_at_unix_ms: None }
        }
        Phase::Connected(_) | Phase::Refused(_) => phase.clone(),
    }
}

fn no_answer(limit: Duration) -> Phase {
    let message = format!("no answer to initialize after {} ms", limit.as_millis());
    Phase::Failed { failure: Failure::new(FailureKind::HandshakeTimeout, message), retry_at_unix_ms: None }
}

#[cfg(test)]
mod tests {
    use qwen_core::{
        Gating, Manager,
        testing::{FakeConnector, entry},
    };

    use super::*;

    #[tokio::test]
    async fn servers_that_are_known_end_while_others_start() {
        let connector = FakeConnector::default();
        let config = Manager::new(qwen_core::LaunchBound::Unbounded, Arc::new(connector.clone()));
        config.initialize();
        let servers = ["a", "b", "slow", "slower"].map(|name| entry(name, "x")).into_iter().collect();
        let desired = Desired {
            servers,
            gating: Gating::default(),
            folder: qwen_core::FolderTrust::Trusted,
            unreadable: Vec::new(),
        };
        let limit = Duration::from_secs(60);
        let probing =
            tokio::spawn(
                async move { first_outcomes(&config, desired, Instant::now() + limit, limit).await },
            );
        let come = async |what: &dyn Fn() -> bool| {
            let coming = async {
                while !what() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(10), coming).await.expect("it comes");
        };
        come(&|| connector.waiting().len() == 4).await;
        drop(connector.log());
        connector.answer("a", Ok(()));
        connector.answer("b", Err(Failure::new(FailureKind::Exited, "no")));
        come(&|| connector.log().iter().any(|line| line.starts_with("retire a"))).await;
        assert_eq!(connector.waiting(), ["slow", "slower"], "nobody else was touched");
        connector.answer("slow", Ok(()));
        connector.answer("slower", Ok(()));
        let found = probing.await.unwrap().unwrap();
        let states: Vec<_> = found.values().map(|probed| probed.phase.state().as_str()).collect();
        assert_eq!(states, ["connected", "failed", "connected", "connected"]);
    }
}
