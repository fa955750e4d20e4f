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
    /// Connects what `desired` admits and ends it again; everybody has until `limit` together.
    ///
    /// # Errors
    /// Core ended before it planned anything.
    pub(crate) async fn probe(
        &self,
        desired: Desired,
        limit: Duration,
        guard: Guard,
    ) -> Result<BTreeMap<ServerName, Probed>, CommitError> {
        let deadline = Instant::now() + limit;
        let config = self.config(guard);
        config.initialize();
        let names: BTreeSet<ServerName> = desired.servers.keys().cloned().collect();
        commit(&*config, desired).await?;
        let found = first_outcomes(&*config, &names, deadline, limit).await;
        config.shutdown(TEARDOWN).await;
        Ok(found)
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
async fn first_outcomes(
    config: &dyn Config,
    names: &BTreeSet<ServerName>,
    deadline: Instant,
    limit: Duration,
) -> BTreeMap<ServerName, Probed> {
    let mut status = config.status();
    let mut found = BTreeMap::new();
    loop {
        let newest = Arc::clone(&status.borrow_and_update());
        for (name, server) in &newest.servers {
            if !found.contains_key(name)
                && let Some(probed) = outcome(server)
            {
                found.insert(name.clone(), probed);
            }
        }
        if names.iter().all(|name| found.contains_key(name)) {
            return found;
        }
        match timeout_at(deadline, status.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => break,
        }
    }
    let newest = Arc::clone(&status.borrow());
    for name in names {
        let since_unix_ms = newest.servers.get(name).map_or(0, |server| server.since_unix_ms);
        found.entry(name.clone()).or_insert_with(|| Probed { phase: no_answer(limit), since_unix_ms });
    }
    found
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
