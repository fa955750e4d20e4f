//! What is one connection of the pool doing? One enum, each state with what it needs and nothing else.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use super::{Effect, Holder, Key, News, Offer};
use crate::{admission::Admitted, connector::Teardown, failure::Failure, inventory::Inventory};

/// One connection.
pub(super) enum Entry<L> {
    /// It is being opened, and somebody waits for it.
    Opening(Opening),
    /// Nobody waits for it any more. The last who did hears when nothing is left of it.
    Aborting { last: (Holder, Failure) },
    /// It can be used, and joined.
    Live(Live<L>),
    /// It is being ended.
    Closing,
}

/// An attempt. What a connection reports may overtake the answer that it opened, so it is kept here.
pub(super) struct Opening {
    pub(super) key: Key,
    /// Whose proof the attempt was started with; `None` once it went away.
    pub(super) opener: Option<Holder>,
    /// How long the attempt has, which is what its opener has.
    pub(super) limit: Duration,
    /// Who joined, in order.
    pub(super) waiters: Vec<Waiter>,
    pub(super) early_inventory: Option<Arc<Inventory>>,
    pub(super) early_loss: Option<Failure>,
}

/// Somebody who joined an attempt.
pub(super) struct Waiter {
    pub(super) holder: Holder,
    pub(super) admitted: Admitted,
    /// When it waits no longer, where that is before the attempt's own end.
    deadline: Option<Duration>,
}

/// A live connection.
pub(super) struct Live<L> {
    pub(super) key: Key,
    pub(super) link: L,
    pub(super) offer: Offer,
    pub(super) holders: BTreeSet<Holder>,
    /// Whether the next one who asks gets it.
    pub(super) joining: Joining,
    /// Set while nobody holds it.
    pub(super) idle_until: Option<Duration>,
}

/// Whether a live connection takes new holders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Joining {
    Open,
    /// One of its holders asked for a new connection; it serves the others to their end.
    Closed,
}

impl<L> Entry<L> {
    pub(super) fn next_due(&self) -> Option<Duration> {
        match self {
            Self::Opening(opening) => opening.waiters.iter().filter_map(|waiter| waiter.deadline).min(),
            Self::Live(live) => live.idle_until,
            Self::Aborting { .. } | Self::Closing => None,
        }
    }
}

impl Opening {
    pub(super) fn new(key: Key, opener: Holder, admitted: &Admitted, waiters: Vec<Waiter>) -> Self {
        let limit = admitted.spec().view.discovery_timeout;
        Self { key, opener: Some(opener), limit, waiters, early_inventory: None, early_loss: None }
    }

    pub(super) fn join(&mut self, holder: Holder, admitted: Admitted, now: Duration) {
        let mut waiter = Waiter { holder, admitted, deadline: None };
        waiter.bound_by(self.limit, now);
        self.waiters.push(waiter);
    }

    pub(super) fn leave(&mut self, holder: Holder) {
        self.opener.take_if(|opener| *opener == holder);
        self.waiters.retain(|waiter| waiter.holder != holder);
    }

    pub(super) fn is_awaited(&self) -> bool {
        self.opener.is_some() || !self.waiters.is_empty()
    }

    /// Who waits no longer, and for how long they did.
    pub(super) fn late(&self, now: Duration) -> Vec<(Holder, Duration)> {
        let late = |waiter: &&Waiter| waiter.deadline.is_some_and(|deadline| deadline <= now);
        self.waiters.iter().filter(late).map(|waiter| (waiter.holder, waiter.limit())).collect()
    }
}

impl Waiter {
    pub(super) fn limit(&self) -> Duration {
        self.admitted.spec().view.discovery_timeout
    }

    /// Joins an attempt that has `limit` in all. Only who has less needs a deadline: the others end with the attempt.
    pub(super) fn bound_by(&mut self, limit: Duration, now: Duration) {
        let own = self.limit();
        self.deadline = (own < limit).then(|| self.deadline.unwrap_or(now + own));
    }
}

impl<L> Live<L> {
    /// Whether it stays for a while after the last lease ended so: only where a session left, and said nothing about
    /// the server.
    pub(super) fn lingers_after(&self, teardown: Teardown) -> bool {
        match (&self.key, self.joining) {
            (Key::Shared(..), Joining::Open) => teardown == Teardown::Exit,
            (Key::Shared(..), Joining::Closed) | (Key::Private(..), _) => false,
        }
    }

    pub(super) fn tell(&self, news: &News) -> Vec<Effect<L>> {
        self.holders.iter().map(|holder| Effect::Tell { holder: *holder, news: news.clone() }).collect()
    }
}
