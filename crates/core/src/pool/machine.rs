//! Which connections are there, who holds them, and when does one end? The pool as a state machine without I/O.
//!
//! Every input is a method that takes the time as a value and returns effects; the task carries them out and answers.
//! An entry is one connection from its opening to its end and never comes back: whatever fails, breaks or closes is
//! taken out of the index first, so the next one who asks opens anew.

mod entry;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use crate::{
    admission::Admitted,
    connector::{Caller, Teardown},
    domain::{PoolMode, ServerName, Wire},
    failure::{Failure, FailureKind},
    fingerprint::Fingerprint,
    inventory::Inventory,
};
use entry::{Entry, Joining, Live, Opening, Waiter};

/// How long a shared connection stays after the last session that had it ended.
pub(super) const LINGER: Duration = Duration::from_secs(30);

/// The number of one lease, from the moment somebody asks for it. Never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Holder(pub(super) u64);

/// The number of one connection. Never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct EntryId(pub(super) u64);

/// Who may join a connection.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Key {
    /// Nobody else can name it: no holder has the number of another.
    Private(ServerName, Holder),
    /// Whoever has the same server under the same name.
    Shared(ServerName, Fingerprint),
}

impl Key {
    fn of(holder: Holder, admitted: &Admitted) -> Self {
        let pool = match admitted.spec().wire() {
            Wire::Stdio(stdio) => stdio.pool,
            Wire::Http(remote) | Wire::Sse(remote) => remote.pool,
        };
        match pool {
            PoolMode::Session => Self::Private(admitted.name().clone(), holder),
            PoolMode::Shared => Self::Shared(admitted.name().clone(), admitted.fingerprint()),
        }
    }

    fn name(&self) -> &ServerName {
        match self {
            Self::Private(name, _) | Self::Shared(name, _) => name,
        }
    }
}

/// Where the proof of a lease is. There is none without: each was asked for with one of its own.
#[derive(Debug)]
pub(super) enum Proof {
    /// It opened the connection and lives in it.
    Spent,
    /// It lives in the lease.
    Kept(#[expect(dead_code, reason = "it is held, never read")] Admitted),
}

/// What a live connection gives to each of its holders.
#[derive(Clone)]
pub(super) struct Offer {
    pub(super) pid: Option<u32>,
    pub(super) caller: Arc<dyn Caller>,
    pub(super) inventory: Arc<Inventory>,
}

/// What happened to a connection while it was held.
#[derive(Clone, Debug)]
pub(super) enum News {
    Inventory(Arc<Inventory>),
    Lost(Failure),
}

/// What the task must do. `L` is its handle for a live connection.
pub(super) enum Effect<L> {
    /// Open a connection for this holder and answer with [`Machine::opened`].
    Open { entry: EntryId, holder: Holder, admitted: Admitted },
    /// Give the attempt up; it still answers with [`Machine::opened`].
    Abort(EntryId),
    /// End the connection and answer with [`Machine::gone`].
    Close { entry: EntryId, link: L, teardown: Teardown },
    /// The holder has its lease.
    Grant { holder: Holder, offer: Offer, proof: Proof },
    /// The holder gets none.
    Refuse { holder: Holder, failure: Failure },
    /// The holder hears of it.
    Tell { holder: Holder, news: News },
    /// The lease that was released has nothing left that its holder must wait for.
    Released(Holder),
}

/// See the module.
pub(super) struct Machine<L> {
    entries: BTreeMap<EntryId, Entry<L>>,
    /// The entries that can be joined.
    index: BTreeMap<Key, EntryId>,
    /// Which entry each holder waits for or holds.
    members: BTreeMap<Holder, EntryId>,
    /// Leases that were released, and the ends that they wait for.
    leaving: BTreeMap<Holder, BTreeSet<EntryId>>,
    last_entry: u64,
}

impl<L> Machine<L> {
    pub(super) fn new() -> Self {
        Self {
            entries: BTreeMap::new(),
            index: BTreeMap::new(),
            members: BTreeMap::new(),
            leaving: BTreeMap::new(),
            last_entry: 0,
        }
    }

    /// Somebody asks for a connection, with the proof that they may have it.
    pub(super) fn acquire(&mut self, holder: Holder, admitted: Admitted, now: Duration) -> Vec<Effect<L>> {
        let key = Key::of(holder, &admitted);
        if let Some(id) = self.index.get(&key).copied() {
            match self.entries.get_mut(&id) {
                Some(Entry::Opening(opening)) => {
                    opening.join(holder, admitted, now);
                    self.members.insert(holder, id);
                    return Vec::new();
                }
                Some(Entry::Live(live)) => {
                    live.holders.insert(holder);
                    live.idle_until = None;
                    self.members.insert(holder, id);
                    return vec![Effect::Grant {
                        holder,
                        offer: live.offer.clone(),
                        proof: Proof::Kept(admitted),
                    }];
                }
                // The index names none of these.
                Some(Entry::Aborting { .. } | Entry::Closing) | None => {}
            }
        }
        let mut effects = Vec::new();
        self.open(key, holder, admitted, Vec::new(), &mut effects);
        effects
    }

    /// A holder does not want to wait any longer. The others go on waiting; after the last the attempt is given up,
    /// and the holder hears when nothing is left of it.
    pub(super) fn cancel(&mut self, holder: Holder) -> Vec<Effect<L>> {
        self.leave(holder, Failure::new(FailureKind::Aborted, "the attempt was given up"))
    }

    /// The answer to [`Effect::Open`].
    pub(super) fn opened(
        &mut self,
        id: EntryId,
        outcome: Result<(L, Offer), Failure>,
        now: Duration,
    ) -> Vec<Effect<L>> {
        let mut effects = Vec::new();
        match (self.entries.remove(&id), outcome) {
            (Some(Entry::Opening(opening)), Ok((link, offer))) => {
                self.go_live(id, opening, link, offer, &mut effects);
            }
            (Some(Entry::Opening(opening)), Err(failure)) => {
                self.index.remove(&opening.key);
                self.refuse(opening, &failure, now, &mut effects);
            }
            (Some(Entry::Aborting { last: (holder, failure) }), Err(_)) => {
                effects.push(Effect::Refuse { holder, failure });
            }
            // It came too late.
            (Some(late @ Entry::Aborting { .. }), Ok((link, _))) => {
                self.entries.insert(id, late);
                effects.push(Effect::Close { entry: id, link, teardown: Teardown::NeverLive });
            }
            // A doubled answer changes nothing.
            (Some(other @ (Entry::Live(_) | Entry::Closing)), _) => {
                self.entries.insert(id, other);
            }
            (None, _) => {}
        }
        effects
    }

    /// A connection offers something else than before.
    pub(super) fn relisted(&mut self, id: EntryId, inventory: Arc<Inventory>) -> Vec<Effect<L>> {
        match self.entries.get_mut(&id) {
            Some(Entry::Opening(opening)) => {
                opening.early_inventory = Some(inventory);
                Vec::new()
            }
            Some(Entry::Live(live)) => {
                live.offer.inventory = Arc::clone(&inventory);
                live.tell(&News::Inventory(inventory))
            }
            Some(Entry::Aborting { .. } | Entry::Closing) | None => Vec::new(),
        }
    }

    /// A connection broke by itself. All of its holders hear of it, and nobody gets it any more.
    pub(super) fn lost(&mut self, id: EntryId, failure: Failure) -> Vec<Effect<L>> {
        match self.entries.remove(&id) {
            Some(Entry::Opening(mut opening)) => {
                opening.early_loss = Some(failure);
                self.entries.insert(id, Entry::Opening(opening));
                Vec::new()
            }
            Some(Entry::Live(live)) => {
                let mut effects = live.tell(&News::Lost(failure));
                self.close(id, live, Teardown::Lost, &mut effects);
                effects
            }
            Some(other @ (Entry::Aborting { .. } | Entry::Closing)) => {
                self.entries.insert(id, other);
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    /// A holder wants another connection in place of the one it has: from now on nobody joins that one.
    pub(super) fn supersede(&mut self, holder: Holder) {
        let Some(id) = self.members.get(&holder).copied() else { return };
        if let Some(Entry::Live(live)) = self.entries.get_mut(&id) {
            close_to_others(&mut self.index, id, live);
        }
    }

    /// A lease ends; its own calls have ended already. The connection ends with its last lease, except for a shared one
    /// whose session left while others go on: that stays for [`LINGER`]. A word about the server (a verdict, an edit, a
    /// removal) ends what nobody holds under its name as well.
    pub(super) fn release(&mut self, holder: Holder, teardown: Teardown, now: Duration) -> Vec<Effect<L>> {
        let mut effects = Vec::new();
        let mut waits_for = BTreeSet::new();
        if let Some(id) = self.members.remove(&holder) {
            match self.entries.remove(&id) {
                Some(Entry::Live(mut live)) => {
                    live.holders.remove(&holder);
                    let name = live.key.name().clone();
                    if teardown == Teardown::Renew {
                        close_to_others(&mut self.index, id, &mut live);
                    }
                    if !live.holders.is_empty() {
                        self.entries.insert(id, Entry::Live(live));
                    } else if live.lingers_after(teardown) {
                        live.idle_until = Some(now + LINGER);
                        self.entries.insert(id, Entry::Live(live));
                    } else {
                        waits_for.insert(id);
                        self.close(id, live, teardown, &mut effects);
                    }
                    match teardown {
                        Teardown::Verdict | Teardown::Drain | Teardown::Renew => {
                            let of_name = |live: &Live<L>| *live.key.name() == name;
                            waits_for.extend(self.close_idle(teardown, of_name, &mut effects));
                        }
                        Teardown::NeverLive | Teardown::Lost | Teardown::Exit => {}
                    }
                }
                Some(Entry::Closing) => {
                    waits_for.insert(id);
                    self.entries.insert(id, Entry::Closing);
                }
                Some(other @ (Entry::Opening(_) | Entry::Aborting { .. })) => {
                    // Only a lease is released, and an entry in these states has none.
                    self.entries.insert(id, other);
                }
                None => {}
            }
        }
        if teardown == Teardown::Exit && self.members.is_empty() {
            waits_for.extend(self.close_idle(Teardown::Exit, |_| true, &mut effects));
        }
        if waits_for.is_empty() {
            effects.push(Effect::Released(holder));
        } else {
            self.leaving.insert(holder, waits_for);
        }
        effects
    }

    /// Nothing is left of a connection.
    pub(super) fn gone(&mut self, id: EntryId) -> Vec<Effect<L>> {
        let mut effects = Vec::new();
        match self.entries.remove(&id) {
            Some(Entry::Aborting { last: (holder, failure) }) => {
                effects.push(Effect::Refuse { holder, failure });
            }
            Some(other @ (Entry::Opening(_) | Entry::Live(_))) => {
                self.entries.insert(id, other);
            }
            Some(Entry::Closing) | None => {}
        }
        self.leaving.retain(|holder, waits_for| {
            let was_last = waits_for.remove(&id) && waits_for.is_empty();
            if was_last {
                effects.push(Effect::Released(*holder));
            }
            !was_last
        });
        effects
    }

    /// Whatever is due by now is done.
    pub(super) fn due(&mut self, now: Duration) -> Vec<Effect<L>> {
        let mut effects = Vec::new();
        let is_due = |live: &Live<L>| live.idle_until.is_some_and(|until| until <= now);
        self.close_idle(Teardown::Drain, is_due, &mut effects);
        let late: Vec<_> = self
            .entries
            .values()
            .filter_map(|entry| match entry {
                Entry::Opening(opening) => Some(opening.late(now)),
                Entry::Live(_) | Entry::Aborting { .. } | Entry::Closing => None,
            })
            .flatten()
            .collect();
        for (holder, limit) in late {
            let words = format!("not connected within {} ms", limit.as_millis());
            effects.extend(self.leave(holder, Failure::new(FailureKind::HandshakeTimeout, words)));
        }
        effects
    }

    /// When [`Machine::due`] has something to do next.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.entries.values().filter_map(Entry::next_due).min()
    }

    /// The end of everything: nobody can ask for a connection any more, and nobody holds one.
    pub(super) fn end(&mut self) -> Vec<Effect<L>> {
        let mut effects = Vec::new();
        self.close_idle(Teardown::Exit, |_| true, &mut effects);
        effects
    }

    fn open(
        &mut self,
        key: Key,
        holder: Holder,
        admitted: Admitted,
        waiters: Vec<Waiter>,
        effects: &mut Vec<Effect<L>>,
    ) {
        self.last_entry += 1;
        let id = EntryId(self.last_entry);
        self.members.insert(holder, id);
        self.members.extend(waiters.iter().map(|waiter| (waiter.holder, id)));
        let opening = Opening::new(key.clone(), holder, &admitted, waiters);
        self.index.insert(key, id);
        self.entries.insert(id, Entry::Opening(opening));
        effects.push(Effect::Open { entry: id, holder, admitted });
    }

    fn go_live(
        &mut self,
        id: EntryId,
        opening: Opening,
        link: L,
        mut offer: Offer,
        effects: &mut Vec<Effect<L>>,
    ) {
        let Opening { key, opener, waiters, early_inventory, early_loss, .. } = opening;
        offer.inventory = early_inventory.unwrap_or(offer.inventory);
        let opener = opener.map(|holder| (holder, Proof::Spent));
        let waiters = waiters.into_iter().map(|waiter| (waiter.holder, Proof::Kept(waiter.admitted)));
        let mut holders = BTreeSet::new();
        for (holder, proof) in opener.into_iter().chain(waiters) {
            holders.insert(holder);
            effects.push(Effect::Grant { holder, offer: offer.clone(), proof });
        }
        self.entries.insert(
            id,
            Entry::Live(Live { key, link, offer, holders, joining: Joining::Open, idle_until: None }),
        );
        if let Some(failure) = early_loss {
            effects.extend(self.lost(id, failure));
        }
    }

    /// An attempt failed for everybody who waited for it; only that the opener's time was up is nothing to those who
    /// have more. One of them opens anew, with a proof of its own.
    fn refuse(&mut self, opening: Opening, failure: &Failure, now: Duration, effects: &mut Vec<Effect<L>>) {
        let Opening { key, opener, limit, waiters, .. } = opening;
        let was_late = matches!(failure.kind, FailureKind::HandshakeTimeout | FailureKind::Listing);
        let (mut patient, refused): (Vec<_>, Vec<_>) =
            waiters.into_iter().partition(|waiter| was_late && waiter.limit() > limit);
        for holder in opener.into_iter().chain(refused.into_iter().map(|waiter| waiter.holder)) {
            self.members.remove(&holder);
            effects.push(Effect::Refuse { holder, failure: failure.clone() });
        }
        let longest = patient.iter().enumerate().max_by_key(|(_, waiter)| waiter.limit()).map(|(at, _)| at);
        if let Some(at) = longest {
            let Waiter { holder, admitted, .. } = patient.swap_remove(at);
            let limit = admitted.spec().view.discovery_timeout;
            for waiter in &mut patient {
                waiter.bound_by(limit, now);
            }
            self.open(key, holder, admitted, patient, effects);
        }
    }

    /// A holder stops waiting and is refused with this failure, at once or when nothing is left of the attempt.
    fn leave(&mut self, holder: Holder, failure: Failure) -> Vec<Effect<L>> {
        let mut effects = Vec::new();
        let Some(id) = self.members.get(&holder).copied() else { return effects };
        let Some(Entry::Opening(opening)) = self.entries.get_mut(&id) else { return effects };
        self.members.remove(&holder);
        opening.leave(holder);
        if opening.is_awaited() {
            effects.push(Effect::Refuse { holder, failure });
        } else {
            self.index.remove(&opening.key);
            self.entries.insert(id, Entry::Aborting { last: (holder, failure) });
            effects.push(Effect::Abort(id));
        }
        effects
    }

    fn close_idle(
        &mut self,
        teardown: Teardown,
        concerns: impl Fn(&Live<L>) -> bool,
        effects: &mut Vec<Effect<L>>,
    ) -> Vec<EntryId> {
        let idle = |entry: &Entry<L>| match entry {
            Entry::Live(live) => live.idle_until.is_some() && concerns(live),
            Entry::Opening(_) | Entry::Aborting { .. } | Entry::Closing => false,
        };
        let ids: Vec<_> = self.entries.iter().filter(|(_, entry)| idle(entry)).map(|(id, _)| *id).collect();
        for id in &ids {
            if let Some(Entry::Live(live)) = self.entries.remove(id) {
                self.close(*id, live, teardown, effects);
            }
        }
        ids
    }

    fn close(&mut self, id: EntryId, mut live: Live<L>, teardown: Teardown, effects: &mut Vec<Effect<L>>) {
        close_to_others(&mut self.index, id, &mut live);
        self.entries.insert(id, Entry::Closing);
        effects.push(Effect::Close { entry: id, link: live.link, teardown });
    }
}

/// Nobody joins it any more. Another connection may have taken its place in the index already.
fn close_to_others<L>(index: &mut BTreeMap<Key, EntryId>, id: EntryId, live: &mut Live<L>) {
    live.joining = Joining::Closed;
    if index.get(&live.key) == Some(&id) {
        index.remove(&live.key);
    }
}

#[cfg(test)]
mod tests;
