//! One session as a state machine without I/O: what is desired, what each server is doing, and which effects follow.
//!
//! Every input is a method that takes the time as a value and returns effects; the driver carries them out and answers.
//! An answer that comes late, twice, in the wrong order or for an attempt that nobody wants any more is an ordinary
//! input, since every answer names its attempt.

mod generations;
mod publish;
mod slot;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use crate::{
    admission::{Admitted, Refusal, admit, admit_one},
    connector::{Attempt, Teardown},
    domain::{Desired, LaunchBound, ServerName, ServerSpec, Time, Wire},
    failure::Failure,
    inventory::Inventory,
    plan::{Action, CloseCause, plan},
    retry::Jitter,
    status::CommitRecord,
};
use generations::Generations;
use publish::Published;
pub(crate) use slot::Opened;
use slot::{Open, Opening, Slot, SlotState};

/// What the driver must do. `L` is its handle for a live connection.
#[derive(Debug)]
pub(crate) enum Effect<L> {
    /// Open a connection and answer with [`Session::opened`].
    Open { attempt: Attempt, admitted: Admitted },
    /// Give the attempt up; it still answers with [`Session::opened`].
    Abort(Attempt),
    /// End the connection and answer with [`Session::gone`].
    Retire { attempt: Attempt, link: L, teardown: Teardown },
    /// A call that was left to finish on a connection that is being ended may do so no longer.
    Interrupt(Attempt),
}

/// An attempt whose process may still be there although nobody wants it.
#[derive(Debug)]
struct Ending {
    /// When the next connection of that name no longer waits for it.
    deadline: Duration,
    draining: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Session<L> {
    bound: LaunchBound,
    desired: Arc<Desired>,
    refusals: BTreeMap<ServerName, Refusal>,
    slots: BTreeMap<ServerName, Slot<L>>,
    /// Who every attempt that has not ended belongs to.
    owners: BTreeMap<Attempt, ServerName>,
    endings: BTreeMap<ServerName, BTreeMap<Attempt, Ending>>,
    /// When a slot wants to be looked at again; an entry whose slot has moved on is ignored.
    timers: BTreeSet<(Duration, ServerName)>,
    generations: Generations,
    last_attempt: u64,
    random: u64,
    published: Published,
}

impl<L> Session<L> {
    /// Nothing is desired yet. `seed` feeds the jitter of retries.
    pub(crate) fn new(bound: LaunchBound, seed: u64) -> Self {
        Self {
            bound,
            desired: Arc::default(),
            refusals: BTreeMap::new(),
            slots: BTreeMap::new(),
            owners: BTreeMap::new(),
            endings: BTreeMap::new(),
            timers: BTreeSet::new(),
            generations: Generations::default(),
            last_attempt: 0,
            random: seed | 1,
            published: Published::default(),
        }
    }

    /// A commit: plans from what is live to what is desired now.
    pub(crate) fn desire(&mut self, generation: u64, desired: Arc<Desired>, now: Time) -> Vec<Effect<L>> {
        let live = self.slots.iter().map(|(name, slot)| (name, &slot.spec)).collect();
        let (actions, refusals) = plan(admit(&desired, &self.bound), &live);
        let untouched_before = self.slots.values().filter(|slot| slot.is_open_or_opening()).count();
        let previous = std::mem::replace(&mut self.desired, desired);
        self.generations.begin(generation, now);

        let mut record = self.map_changes(generation, &previous);
        for (name, refusal) in &refusals {
            record.skipped.push((name.clone(), refusal.clone()));
        }
        self.note_verdicts(&previous, refusals);

        let mut effects = Vec::new();
        let mut touched = 0;
        for action in actions {
            match action {
                Action::Close { name, why } => {
                    touched += usize::from(self.slots.get(&name).is_some_and(Slot::is_open_or_opening));
                    let teardown = match &why {
                        CloseCause::Left | CloseCause::Changed => Teardown::Drain,
                        CloseCause::Refused(_) => Teardown::Verdict,
                    };
                    if why == CloseCause::Changed {
                        record.restarted.push(name.clone());
                    }
                    self.close(&name, teardown, now, &mut effects);
                }
                Action::Rescope { name, spec } => {
                    touched += usize::from(self.slots.get(&name).is_some_and(Slot::is_open_or_opening));
                    self.rescope(&name, spec);
                    record.rescoped.push(name);
                }
                Action::Open(admitted) => {
                    let name = admitted.name().clone();
                    self.slots.insert(name.clone(), Slot::new(Arc::clone(admitted.spec())));
                    self.generations.opening(generation, &name);
                    self.start(admitted, now, &mut effects);
                }
            }
        }
        record.restarted.sort();
        record.rescoped.sort();
        record.kept = untouched_before - touched;
        self.generations.sealed(generation, now);
        self.published.committed(record);
        effects
    }

    /// The answer to [`Effect::Open`]. For an attempt that was given up it only ends the attempt.
    pub(crate) fn opened(
        &mut self,
        attempt: Attempt,
        outcome: Result<Opened<L>, Failure>,
        now: Time,
    ) -> Vec<Effect<L>> {
        let mut effects = Vec::new();
        let Some(name) = self.owners.get(&attempt).cloned() else {
            // Doubled: whatever it brings is not ours to keep.
            if let Ok(Opened { link, .. }) = outcome {
                effects.push(Effect::Retire { attempt, link, teardown: Teardown::NeverLive });
            }
            return effects;
        };
        let jitter = self.jitter();
        let Some((slot, opening)) = self.slots.get_mut(&name).and_then(|slot| {
            let opening = std::mem::replace(slot.opening(attempt)?, Opening::new(attempt));
            Some((slot, opening))
        }) else {
            match outcome {
                Ok(Opened { link, .. }) => {
                    effects.push(Effect::Retire { attempt, link, teardown: Teardown::NeverLive });
                }
                Err(_) => effects = self.gone(attempt, now),
            }
            return effects;
        };
        match outcome {
            Ok(mut opened) => {
                opened.inventory = opening.early_inventory.unwrap_or(opened.inventory);
                slot.state = SlotState::Open(Open::new(attempt, opened, &name, &slot.spec, now));
                self.generations.finished(&name, None, now);
                self.published.catalogue_moved(&name);
                if let Some(failure) = opening.early_loss {
                    effects = self.lost(attempt, failure, now);
                }
            }
            Err(failure) => {
                let (failure, wait) = slot.retry.after_failed_open(failure, jitter);
                self.owners.remove(&attempt);
                self.generations.finished(&name, Some(&failure), now);
                self.fail(&name, failure, wait, now);
            }
        }
        effects
    }

    /// An attempt has nothing left behind: what waits for it may start.
    pub(crate) fn gone(&mut self, attempt: Attempt, now: Time) -> Vec<Effect<L>> {
        let mut effects = Vec::new();
        let Some(name) = self.owners.get(&attempt).cloned() else { return effects };
        let Some(endings) = self.endings.get_mut(&name) else { return effects };
        if endings.remove(&attempt).is_none() {
            return effects;
        }
        self.owners.remove(&attempt);
        if endings.is_empty() {
            self.endings.remove(&name);
        }
        if self.slots.get(&name).is_some_and(Slot::is_waiting) {
            self.restart(&name, now, &mut effects);
        }
        effects
    }

    /// A call on a connection that is being replaced may still finish.
    pub(crate) fn draining(&mut self, attempt: Attempt, now: Time) {
        let Some(name) = self.owners.get(&attempt) else { return };
        let Some(ending) = self.endings.get_mut(name).and_then(|endings| endings.get_mut(&attempt)) else {
            return;
        };
        ending.draining = true;
        ending.deadline = now.monotonic + Teardown::DRAIN + Teardown::LADDER;
        let name = name.clone();
        self.published.moved(&name);
    }

    /// A live connection broke by itself.
    pub(crate) fn lost(&mut self, attempt: Attempt, failure: Failure, now: Time) -> Vec<Effect<L>> {
        let mut effects = Vec::new();
        let Some(name) = self.owners.get(&attempt).cloned() else { return effects };
        let jitter = self.jitter();
        let Some(slot) = self.slots.get_mut(&name) else { return effects };
        if let Some(opening) = slot.opening(attempt) {
            opening.early_loss = Some(failure);
            return effects;
        }
        let Some(open) = slot.open(attempt) else { return effects };
        let lived = now.monotonic.saturating_sub(open.since);
        let (failure, wait) = slot.retry.after_loss(failure, lived, jitter);
        self.end_slot(&name, Teardown::Lost, now, &mut effects);
        self.fail(&name, failure, wait, now);
        effects
    }

    /// A live connection offers something else than before.
    pub(crate) fn relisted(&mut self, attempt: Attempt, inventory: Arc<Inventory>) {
        let Some(name) = self.owners.get(&attempt).cloned() else { return };
        let Some(slot) = self.slots.get_mut(&name) else { return };
        let spec = Arc::clone(&slot.spec);
        if let Some(opening) = slot.opening(attempt) {
            opening.early_inventory = Some(inventory);
        } else if let Some(open) = slot.open(attempt) {
            open.relist(inventory, &name, &spec);
            self.published.catalogue_moved(&name);
        }
    }

    /// Whatever is due by now is done.
    pub(crate) fn due(&mut self, now: Time) -> Vec<Effect<L>> {
        let mut effects = Vec::new();
        while let Some((at, _)) = self.timers.first()
            && *at <= now.monotonic
            && let Some((at, name)) = self.timers.pop_first()
        {
            if self.slots.get(&name).is_some_and(|slot| slot.is_due(at)) {
                self.restart(&name, now, &mut effects);
            }
        }
        effects
    }

    /// When [`Session::due`] has something to do next.
    pub(crate) fn next_due(&self) -> Option<Duration> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Tries a server again now, with what was counted against it forgotten. One that is on its way is left alone.
    ///
    /// # Errors
    /// The refusal, or `None` where no such server is desired.
    pub(crate) fn reconnect(
        &mut self,
        name: &ServerName,
        now: Time,
    ) -> Result<Vec<Effect<L>>, Option<Refusal>> {
        let Some(slot) = self.slots.get_mut(name) else { return Err(self.refusals.get(name).cloned()) };
        let mut effects = Vec::new();
        slot.retry = Default::default();
        match slot.state {
            SlotState::Waiting { .. } | SlotState::Opening(_) => return Ok(effects),
            SlotState::Open(_) => self.end_slot(name, Teardown::Renew, now, &mut effects),
            SlotState::Failed { .. } => {}
        }
        self.restart(name, now, &mut effects);
        Ok(effects)
    }

    /// The program ends: everything is closed, in parallel.
    pub(crate) fn shut_down(&mut self, now: Time) -> Vec<Effect<L>> {
        let mut effects = Vec::new();
        // Servers that left or changed may still be ending.
        let names: BTreeSet<_> = self.slots.keys().chain(self.endings.keys()).cloned().collect();
        for name in names {
            self.close(&name, Teardown::Exit, now, &mut effects);
        }
        self.desired = Arc::default();
        self.refusals.clear();
        effects
    }

    /// Whether every attempt has ended.
    pub(crate) fn is_quiet(&self) -> bool {
        self.owners.is_empty()
    }

    /// Every open connection with its entry.
    pub(crate) fn open_links(&self) -> impl Iterator<Item = (&ServerName, &Arc<ServerSpec>, Attempt, &L)> {
        self.slots.iter().filter_map(|(name, slot)| match &slot.state {
            SlotState::Open(open) => Some((name, &slot.spec, open.attempt, &open.link)),
            SlotState::Waiting { .. } | SlotState::Opening(_) | SlotState::Failed { .. } => None,
        })
    }

    fn map_changes(&self, generation: u64, previous: &Desired) -> CommitRecord {
        let (old, new) = (&previous.servers, &self.desired.servers);
        let mut added: Vec<_> = new.keys().filter(|name| !old.contains_key(*name)).cloned().collect();
        let mut removed: Vec<_> = old.keys().filter(|name| !new.contains_key(*name)).cloned().collect();
        added.sort();
        removed.sort();
        CommitRecord {
            generation,
            added,
            removed,
            restarted: Vec::new(),
            rescoped: Vec::new(),
            kept: 0,
            skipped: Vec::new(),
        }
    }

    /// Remembers the refusals, and which servers look different because of them or left the map.
    fn note_verdicts(&mut self, previous: &Desired, refusals: BTreeMap<ServerName, Refusal>) {
        for (name, refusal) in &refusals {
            if self.refusals.get(name) != Some(refusal)
                || previous.servers.get(name) != self.desired.servers.get(name)
            {
                self.published.moved(name);
            }
        }
        for name in previous.servers.keys() {
            if !self.desired.servers.contains_key(name) {
                self.published.left(name);
            }
        }
        for name in self.desired.servers.keys() {
            self.published.returned(name);
        }
        self.refusals = refusals;
    }

    fn rescope(&mut self, name: &ServerName, spec: Arc<ServerSpec>) {
        if let Some(slot) = self.slots.get_mut(name) {
            slot.spec = spec;
            if let SlotState::Open(open) = &mut slot.state {
                open.relist(Arc::clone(&open.inventory), name, &slot.spec);
            }
            self.published.catalogue_moved(name);
        }
    }

    /// Ends a slot and forgets it.
    fn close(&mut self, name: &ServerName, teardown: Teardown, now: Time, effects: &mut Vec<Effect<L>>) {
        self.generations.superseded(name, now);
        self.interrupt(name, teardown, now, effects);
        self.end_slot(name, teardown, now, effects);
        self.slots.remove(name);
    }

    /// What an edit left to finish ends at once where a verdict or the program's end follows.
    fn interrupt(&mut self, name: &ServerName, why: Teardown, now: Time, effects: &mut Vec<Effect<L>>) {
        match why {
            Teardown::Verdict | Teardown::Exit => {}
            Teardown::NeverLive | Teardown::Drain | Teardown::Renew | Teardown::Lost => return,
        }
        for (attempt, ending) in self.endings.get_mut(name).into_iter().flatten() {
            if ending.draining {
                *ending = Ending { deadline: now.monotonic + Teardown::LADDER, draining: false };
                effects.push(Effect::Interrupt(*attempt));
            }
        }
    }

    /// Ends whatever a slot has under way. It is left waiting for its end.
    fn end_slot(&mut self, name: &ServerName, teardown: Teardown, now: Time, effects: &mut Vec<Effect<L>>) {
        let Some(slot) = self.slots.get_mut(name) else { return };
        let ended = std::mem::replace(&mut slot.state, SlotState::Waiting { until: now.monotonic });
        self.published.moved(name);
        let attempt = match ended {
            SlotState::Waiting { .. } | SlotState::Failed { .. } => return,
            SlotState::Opening(Opening { attempt, .. }) => {
                effects.push(Effect::Abort(attempt));
                attempt
            }
            SlotState::Open(Open { attempt, link, .. }) => {
                self.published.catalogue_moved(name);
                effects.push(Effect::Retire { attempt, link, teardown });
                attempt
            }
        };
        let ending = Ending { deadline: now.monotonic + Teardown::LADDER, draining: false };
        self.endings.entry(name.clone()).or_default().insert(attempt, ending);
    }

    fn fail(&mut self, name: &ServerName, failure: Failure, wait: Option<Duration>, now: Time) {
        if let Some(slot) = self.slots.get_mut(name) {
            let retry_at = wait.map(|wait| now.monotonic + wait);
            let retry_at_unix_ms = wait.map(|wait| now.unix_ms.saturating_add(publish::millis(wait)));
            slot.state = SlotState::Failed { failure, retry_at, retry_at_unix_ms };
            self.timers.extend(retry_at.map(|at| (at, name.clone())));
            self.published.moved(name);
        }
    }

    /// A slot that exists gets a new attempt, with a proof of its own: an old one would be stale.
    fn restart(&mut self, name: &ServerName, now: Time, effects: &mut Vec<Effect<L>>) {
        match admit_one(&self.desired, &self.bound, name) {
            Ok(admitted) => self.start(admitted, now, effects),
            // The slot exists, so the last commit admitted it, and admission is a function of that commit.
            Err(refusal) => {
                self.close(name, Teardown::Verdict, now, effects);
                self.refusals.insert(name.clone(), refusal);
            }
        }
    }

    /// Starts an attempt, or waits until the process it replaces is gone. A remote connection opens beside the old.
    fn start(&mut self, admitted: Admitted, now: Time, effects: &mut Vec<Effect<L>>) {
        let name = admitted.name().clone();
        let Some(slot) = self.slots.get_mut(&name) else { return };
        self.published.moved(&name);
        let is_process = matches!(slot.spec.wire(), Wire::Stdio(_));
        let deadline =
            self.endings.get(&name).and_then(|endings| endings.values().map(|ending| ending.deadline).max());
        if let Some(until) = deadline
            && is_process
            && until > now.monotonic
        {
            slot.state = SlotState::Waiting { until };
            self.timers.insert((until, name));
            return;
        }
        self.last_attempt += 1;
        let attempt = Attempt(self.last_attempt);
        slot.state = SlotState::Opening(Opening::new(attempt));
        self.owners.insert(attempt, name);
        effects.push(Effect::Open { attempt, admitted });
    }

    /// An xorshift step: good enough to spread retries, and a function of the seed.
    fn jitter(&mut self) -> Jitter {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        Jitter((self.random >> 11) as f64 / (1u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests;
