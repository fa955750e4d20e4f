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
    Opening(Opening),
    /// It is live.
    Open(Open<L>),
    /// It waits for its next try, or for somebody to mend it.
    Failed { failure: Failure, retry_at: Option<Duration>, retry_at_unix_ms: Option<u64> },
}

/// An attempt under way. What a connection reports may overtake the answer that it opened, so it is kept here.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) attempt: Attempt,
    pub(super) early_inventory: Option<Arc<Inventory>>,
    pub(super) early_loss: Option<Failure>,
}

impl Opening {
    pub(super) fn new(attempt: Attempt) -> Self {
        Self { attempt, early_inventory: None, early_loss: None }
    }
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

    /// The attempt under way, if it is this one.
    pub(super) fn opening(&mut self, attempt: Attempt) -> Option<&mut Opening> {
        match &mut self.state {
            SlotState::Opening(opening) if opening.attempt == attempt => Some(opening),
            SlotState::Opening(_)
            | SlotState::Waiting { .. }
            | SlotState::Open(_)
            | SlotState::Failed { .. } => None,
        }
    }

    /// The live connection, if it is this attempt's.
    pub(super) fn open(&mut self, attempt: Attempt) -> Option<&mut Open<L>> {
        match &mut self.state {
            SlotState::Open(open) if open.attempt == attempt => Some(open),
            SlotState::Opening(_)
            | SlotState::Waiting { .. }
            | SlotState::Open(_)
            | SlotState::Failed { .. } => None,
        }
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
