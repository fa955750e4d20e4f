//! From the machine to the published status: each phase is derived from its slot or refusal, never set by hand. What
//! moved since the last status is all that is looked at again.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use super::{Session, SlotState};
use crate::{
    catalog::Catalogue,
    domain::{Entry, Scope, ServerName, Time},
    status::{CommitRecord, Connecting, Phase, ServerStatus, State, Status, Transition},
};

/// So many commits are kept for slow readers.
const COMMITS: usize = 64;
/// So many transitions are kept of each server.
const TRANSITIONS: usize = 10;

/// The last status and what moved since.
#[derive(Debug, Default)]
pub(super) struct Published {
    moved: BTreeSet<ServerName>,
    catalogue_moved: bool,
    committed: bool,
    status: Status,
}

impl Published {
    pub(super) fn moved(&mut self, name: &ServerName) {
        self.moved.insert(name.clone());
    }

    pub(super) fn catalogue_moved(&mut self, name: &ServerName) {
        self.catalogue_moved = true;
        self.moved(name);
    }

    /// The name left the map: it counts as removed until it returns.
    pub(super) fn left(&mut self, name: &ServerName) {
        self.status.removed.insert(name.clone());
        self.moved(name);
    }

    pub(super) fn returned(&mut self, name: &ServerName) {
        self.status.removed.remove(name);
    }

    pub(super) fn committed(&mut self, record: CommitRecord) {
        self.committed = true;
        self.status.commits.push(Arc::new(record));
        let surplus = self.status.commits.len().saturating_sub(COMMITS);
        self.status.commits.drain(..surplus);
    }
}

impl<L> Session<L> {
    /// The status, when it differs from the last one that this returned.
    pub(crate) fn publish(&mut self, now: Time) -> Option<Arc<Status>> {
        let moved = std::mem::take(&mut self.published.moved);
        let mut changed = std::mem::take(&mut self.published.committed);
        for name in moved {
            changed |= self.publish_server(name, now);
        }
        if std::mem::take(&mut self.published.catalogue_moved) {
            changed |= self.publish_catalogue();
        }
        let settled = self.generations.settled();
        let unsettled = self.generations.unsettled();
        let status = &mut self.published.status;
        changed |= status.observed != self.generations.observed() || status.unsettled != unsettled;
        changed.then(|| {
            status.observed = self.generations.observed();
            status.settled = settled;
            status.unsettled = unsettled;
            status.settlings = self.generations.settlings().to_vec();
            Arc::new(status.clone())
        })
    }

    fn publish_server(&mut self, name: ServerName, now: Time) -> bool {
        let Some((scope, phase)) = self.phase(&name) else {
            return self.published.status.servers.remove(&name).is_some();
        };
        let old = self.published.status.servers.get(&name);
        if old.is_some_and(|old| old.phase == phase && old.scope == scope) {
            return false;
        }
        let since_unix_ms = match old {
            Some(old) if is_same_stay(&old.phase, &phase) => old.since_unix_ms,
            Some(_) | None => now.unix_ms,
        };
        let mut transitions = old.map(|old| old.transitions.clone()).unwrap_or_default();
        if old.is_none_or(|old| !is_same_stay(&old.phase, &phase)) {
            let cause = match &phase {
                Phase::Failed { failure, .. } => Some(failure.message.clone()),
                Phase::Connected(_) | Phase::Connecting(_) | Phase::Refused(_) => None,
            };
            transitions.push(Transition { at_unix_ms: now.unix_ms, state: phase.state(), cause });
            let surplus = transitions.len().saturating_sub(TRANSITIONS);
            transitions.drain(..surplus);
        }
        let status = ServerStatus { scope, phase, since_unix_ms, transitions };
        self.published.status.servers.insert(name, Arc::new(status));
        true
    }

    fn publish_catalogue(&mut self) -> bool {
        let offers = self.slots.values().filter_map(|slot| match &slot.state {
            SlotState::Open(open) => Some(&open.offer),
            SlotState::Waiting { .. } | SlotState::Opening(_) | SlotState::Failed { .. } => None,
        });
        let mut catalogue = Catalogue::fold(offers);
        let status = &mut self.published.status;
        if catalogue.same_content(&status.catalogue) {
            return false;
        }
        catalogue.revision = status.catalogue.revision + 1;
        let gone = status.catalogue.tools.iter().filter(|(name, _)| !catalogue.tools.contains_key(*name));
        let gone: BTreeMap<_, _> = gone.map(|(name, tool)| (Arc::clone(name), tool.server.clone())).collect();
        if !gone.is_empty() {
            Arc::make_mut(&mut status.past_tools).extend(gone);
        }
        status.catalogue = Arc::new(catalogue);
        true
    }

    /// What a server of the map is doing; `None` when it is not in the map.
    fn phase(&self, name: &ServerName) -> Option<(Scope, Phase)> {
        let scope = match self.desired.servers.get(name)? {
            Entry::Valid(spec) => spec.scope(),
            Entry::Invalid(invalid) => invalid.scope,
        };
        let phase = match self.slots.get(name) {
            None => Phase::Refused(self.refusals.get(name)?.clone()),
            Some(slot) => match &slot.state {
                SlotState::Waiting { .. } => Phase::Connecting(self.waits_for(name)),
                SlotState::Opening(_) => Phase::Connecting(Connecting::Handshake),
                SlotState::Open(open) => Phase::Connected(open.offer.connected(open.pid, &open.inventory)),
                SlotState::Failed { failure, retry_at_unix_ms, .. } => {
                    Phase::Failed { failure: failure.clone(), retry_at_unix_ms: *retry_at_unix_ms }
                }
            },
        };
        Some((scope, phase))
    }

    fn waits_for(&self, name: &ServerName) -> Connecting {
        let draining =
            self.endings.get(name).is_some_and(|endings| endings.values().any(|ending| ending.draining));
        if draining { Connecting::WaitingForCall } else { Connecting::WaitingForTeardown }
    }
}

/// Whether two phases are one stay in one state, of which only details differ.
fn is_same_stay(old: &Phase, new: &Phase) -> bool {
    match (old, new) {
        (Phase::Connected(old), Phase::Connected(new)) => old.pid == new.pid,
        (Phase::Failed { failure: old, .. }, Phase::Failed { failure: new, .. }) => old == new,
        (old, new) => old.state() == new.state() && old.state() != State::Failed,
    }
}

/// Whole milliseconds.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
