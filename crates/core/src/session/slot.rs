//! What one admitted server is doing: one enum, each state with what it needs and nothing else.

use std::{sync::Arc, time::Duration};

use crate::{
    catalog::Offer,
    connector::Attempt,
    domain::{ServerName, ServerSpec, Time},
    failure::Failure,
    inventory::Inventory,
    retry::Retry,
};

/// An admitted server.
#[derive(Debug)]
pub(super) struct Slot<L> {
    /// The entry that counts now; its fingerprint is that of whatever is open or opening.
    pub(super) spec: Arc<ServerSpec>,
    pub(super) retry: Retry,
    pub(super) state: SlotState<L>,
}

#[derive(Debug)]
pub(super) enum SlotState<L> {
    /// The process it replaces is still ending; not later than this it starts all the same.
    Waiting { until: Duration },
    /// An attempt is under way.
    Opening(Attempt),
    /// It is live.
    Open(Open<L>),
    /// It waits for its next try, or for somebody to mend it.
    Failed { failure: Failure, retry_at: Option<Duration>, retry_at_unix_ms: Option<u64> },
}

/// A live connection.
#[derive(Debug)]
pub(super) struct Open<L> {
    pub(super) attempt: Attempt,
    pub(super) link: L,
    pub(super) pid: Option<u32>,
    pub(super) inventory: Arc<Inventory>,
    pub(super) offer: Offer,
    /// Monotonic.
    pub(super) since: Duration,
}

/// What a successful attempt brings.
#[derive(Debug)]
pub(crate) struct Opened<L> {
    pub(crate) link: L,
    pub(crate) pid: Option<u32>,
    pub(crate) inventory: Arc<Inventory>,
}

impl<L> Open<L> {
    pub(super) fn new(
        attempt: Attempt,
        opened: Opened<L>,
        name: &ServerName,
        spec: &ServerSpec,
        now: Time,
    ) -> Self {
        let Opened { link, pid, inventory } = opened;
        let offer = Offer::of(name, &inventory, &spec.view);
        Self { attempt, link, pid, inventory, offer, since: now.monotonic }
    }

    pub(super) fn relist(&mut self, inventory: Arc<Inventory>, name: &ServerName, spec: &ServerSpec) {
        self.offer = Offer::of(name, &inventory, &spec.view);
        self.inventory = inventory;
    }
}

impl<L> Slot<L> {
    pub(super) fn new(spec: Arc<ServerSpec>) -> Self {
        Self { spec, retry: Retry::default(), state: SlotState::Waiting { until: Duration::ZERO } }
    }

    pub(super) fn is_opening(&self, attempt: Attempt) -> bool {
        matches!(self.state, SlotState::Opening(current) if current == attempt)
    }

    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.state, SlotState::Waiting { .. })
    }

    pub(super) fn is_open_or_opening(&self) -> bool {
        match self.state {
            SlotState::Waiting { .. } | SlotState::Opening(_) | SlotState::Open(_) => true,
            SlotState::Failed { .. } => false,
        }
    }

    /// Whether this is the timer that the slot waits for.
    pub(super) fn is_due(&self, at: Duration) -> bool {
        match self.state {
            SlotState::Waiting { until } => until <= at,
            SlotState::Failed { retry_at, .. } => retry_at == Some(at),
            SlotState::Opening(_) | SlotState::Open(_) => false,
        }
    }
}
