//! Which commits still have something opening for them? A commit is settled when it has not.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use crate::{
    domain::{ServerName, Time},
    failure::Failure,
    status::Settling,
};

/// So many settlings are kept for slow readers.
const KEPT: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Generations {
    observed: u64,
    unsettled: BTreeMap<u64, Unsettled>,
    opening_for: BTreeMap<ServerName, u64>,
    settlings: Vec<Arc<Settling>>,
}

#[derive(Debug)]
struct Unsettled {
    planned_at: Duration,
    opening: BTreeSet<ServerName>,
    /// Something it opened came to an end of its own, so it was not superseded as a whole.
    answered: bool,
    failed: Vec<(ServerName, Failure)>,
}

impl Generations {
    pub(super) fn begin(&mut self, generation: u64, now: Time) {
        self.observed = generation;
        let unsettled = Unsettled {
            planned_at: now.monotonic,
            opening: BTreeSet::new(),
            answered: false,
            failed: Vec::new(),
        };
        self.unsettled.insert(generation, unsettled);
    }

    pub(super) fn opening(&mut self, generation: u64, name: &ServerName) {
        if let Some(unsettled) = self.unsettled.get_mut(&generation) {
            unsettled.opening.insert(name.clone());
            self.opening_for.insert(name.clone(), generation);
        }
    }

    /// Every action of the commit was taken: one that opens nothing is settled now.
    pub(super) fn sealed(&mut self, generation: u64, now: Time) {
        if self.unsettled.get(&generation).is_some_and(|unsettled| unsettled.opening.is_empty()) {
            self.settle(generation, now);
        }
    }

    /// An attempt that somebody waited for came to its end, well or not. A retry belongs to no generation.
    pub(super) fn finished(&mut self, name: &ServerName, failure: Option<&Failure>, now: Time) {
        let Some(generation) = self.opening_for.remove(name) else { return };
        let Some(unsettled) = self.unsettled.get_mut(&generation) else { return };
        unsettled.answered = true;
        unsettled.opening.remove(name);
        unsettled.failed.extend(failure.map(|failure| (name.clone(), failure.clone())));
        if unsettled.opening.is_empty() {
            self.settle(generation, now);
        }
    }

    /// Nobody waits for this server's attempt any more.
    pub(super) fn superseded(&mut self, name: &ServerName, now: Time) {
        let Some(generation) = self.opening_for.remove(name) else { return };
        let Some(unsettled) = self.unsettled.get_mut(&generation) else { return };
        unsettled.opening.remove(name);
        if unsettled.opening.is_empty() {
            if unsettled.answered {
                self.settle(generation, now);
            } else {
                self.unsettled.remove(&generation);
            }
        }
    }

    pub(super) fn observed(&self) -> u64 {
        self.observed
    }

    /// Nothing is opening for this generation or any before it.
    pub(super) fn settled(&self) -> u64 {
        self.unsettled.keys().next().map_or(self.observed, |lowest| lowest - 1)
    }

    pub(super) fn unsettled(&self) -> BTreeSet<u64> {
        self.unsettled.keys().copied().collect()
    }

    pub(super) fn settlings(&self) -> &[Arc<Settling>] {
        &self.settlings
    }

    fn settle(&mut self, generation: u64, now: Time) {
        if let Some(Unsettled { planned_at, mut failed, .. }) = self.unsettled.remove(&generation) {
            failed.sort_by(|(a, _), (b, _)| a.cmp(b));
            let duration = now.monotonic.saturating_sub(planned_at);
            self.settlings.push(Arc::new(Settling { generation, failed, duration }));
            let surplus = self.settlings.len().saturating_sub(KEPT);
            self.settlings.drain(..surplus);
        }
    }
}
