//! Random events in random order, and what must hold after each.

use proptest::prelude::*;

use super::*;

/// One thing that happens. Numbers pick among what is under way, so that every step fits.
#[derive(Clone, Debug)]
enum Step {
    Acquire { shared: usize, limit: u64 },
    Open(usize),
    Fail(usize, FailureKind),
    Cancel(usize),
    Release(usize, Teardown),
    Lose(usize),
    Gone(usize),
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let teardown = prop_oneof![
        3 => Just(Teardown::Drain),
        2 => Just(Teardown::Verdict),
        1 => Just(Teardown::Renew),
        3 => Just(Teardown::Exit),
        1 => Just(Teardown::NeverLive),
    ];
    let kind = prop_oneof![Just(FailureKind::Exited), Just(FailureKind::HandshakeTimeout)];
    prop_oneof![
        6 => (0..3usize, 1..4u64).prop_map(|(shared, limit)| Step::Acquire { shared, limit }),
        4 => (0..8usize).prop_map(Step::Open),
        2 => (0..8usize, kind).prop_map(|(at, kind)| Step::Fail(at, kind)),
        2 => (0..8usize).prop_map(Step::Cancel),
        4 => (0..8usize, teardown).prop_map(|(at, teardown)| Step::Release(at, teardown)),
        1 => (0..8usize).prop_map(Step::Lose),
        4 => (0..8usize).prop_map(Step::Gone),
        2 => (0..20_000u64).prop_map(Step::Pass),
    ]
}

/// The world outside the machine: what each connection is for, and what each holder was told.
struct World {
    machine: Machine<EntryId>,
    now: Duration,
    last_holder: u64,
    /// What every holder asked for; 0 is private.
    wants: BTreeMap<Holder, usize>,
    waiting: BTreeSet<Holder>,
    held: BTreeMap<Holder, EntryId>,
    /// Whose connection broke while they held it.
    bereft: BTreeSet<Holder>,
    leaving: BTreeSet<Holder>,
    /// Which holder each entry was opened for.
    opened_for: BTreeMap<EntryId, Holder>,
    asked: Vec<EntryId>,
    aborted: BTreeSet<EntryId>,
    /// Somebody who held it asked for a new one.
    renewed: BTreeSet<EntryId>,
    live: Vec<EntryId>,
    closing: Vec<EntryId>,
    closed: BTreeSet<EntryId>,
}

fn pick<T: Copy>(list: &[T], at: usize) -> Option<T> {
    (!list.is_empty()).then(|| list[at % list.len()])
}

impl World {
    fn new() -> Self {
        Self {
            machine: Machine::new(),
            now: Duration::ZERO,
            last_holder: 0,
            wants: BTreeMap::new(),
            waiting: BTreeSet::new(),
            held: BTreeMap::new(),
            bereft: BTreeSet::new(),
            leaving: BTreeSet::new(),
            opened_for: BTreeMap::new(),
            asked: Vec::new(),
            aborted: BTreeSet::new(),
            renewed: BTreeSet::new(),
            live: Vec::new(),
            closing: Vec::new(),
            closed: BTreeSet::new(),
        }
    }

    fn step(&mut self, step: Step) {
        let waiting: Vec<_> = self.waiting.iter().copied().collect();
        let held: Vec<_> = self.held.keys().copied().collect();
        let effects = match step {
            Step::Acquire { shared, limit } => {
                self.last_holder += 1;
                let holder = Holder(self.last_holder);
                self.wants.insert(holder, shared);
                self.waiting.insert(holder);
                let (command, pool) =
                    [("x", PoolMode::Session), ("x", PoolMode::Shared), ("y", PoolMode::Shared)][shared];
                self.machine.acquire(holder, proof("a", command, pool, limit * 1000), self.now)
            }
            Step::Open(at) => match pick(&self.asked, at) {
                Some(id) => {
                    self.asked.retain(|asked| *asked != id);
                    self.live.push(id);
                    self.machine.opened(id, Ok((id, offer(id))), self.now)
                }
                None => Vec::new(),
            },
            Step::Fail(at, kind) => match pick(&self.asked, at) {
                Some(id) => {
                    self.asked.retain(|asked| *asked != id);
                    self.machine.opened(id, Err(Failure::new(kind, "failed")), self.now)
                }
                None => Vec::new(),
            },
            Step::Cancel(at) => {
                pick(&waiting, at).map(|holder| self.machine.cancel(holder)).unwrap_or_default()
            }
            Step::Release(at, teardown) => match pick(&held, at) {
                Some(holder) => {
                    let entry = self.held.remove(&holder);
                    self.leaving.insert(holder);
                    let teardown = if self.bereft.contains(&holder) { Teardown::Lost } else { teardown };
                    self.renewed.extend(entry.filter(|_| teardown == Teardown::Renew));
                    if teardown == Teardown::Renew {
                        self.machine.supersede(holder);
                    }
                    self.machine.release(holder, teardown, self.now)
                }
                None => Vec::new(),
            },
            Step::Lose(at) => {
                // A loss may overtake the answer that the connection opened.
                let any: Vec<_> = self.live.iter().chain(&self.asked).copied().collect();
                pick(&any, at).map(|id| self.machine.lost(id, failure())).unwrap_or_default()
            }
            Step::Gone(at) => match pick(&self.closing, at) {
                Some(id) => {
                    self.closing.retain(|closing| *closing != id);
                    self.machine.gone(id)
                }
                None => Vec::new(),
            },
            Step::Pass(millis) => {
                self.now += Duration::from_millis(millis);
                self.machine.due(self.now)
            }
        };
        for effect in effects {
            self.carry_out(effect);
        }
        self.holds();
    }

    fn carry_out(&mut self, effect: Effect<EntryId>) {
        match effect {
            Effect::Open { entry, holder, .. } => {
                assert!(self.waiting.contains(&holder), "an attempt is for somebody who waits");
                self.opened_for.insert(entry, holder);
                self.asked.push(entry);
            }
            Effect::Abort(entry) => {
                assert!(self.asked.contains(&entry) && self.aborted.insert(entry));
            }
            Effect::Close { entry, .. } => {
                let before = self.live.len();
                self.live.retain(|live| *live != entry);
                assert_eq!(self.live.len() + 1, before, "only a live link is closed, and once");
                assert!(self.closed.insert(entry));
                self.closing.push(entry);
                let holders: Vec<_> =
                    self.held.iter().filter(|(_, held)| **held == entry).map(|(holder, _)| *holder).collect();
                for holder in holders {
                    assert!(self.bereft.contains(&holder), "a held connection is closed only when it broke");
                }
            }
            Effect::Grant { holder, offer, proof } => {
                assert!(self.waiting.remove(&holder), "a lease is for somebody who waits");
                let entry = EntryId(offer.pid.unwrap().into());
                assert!(self.live.contains(&entry), "what is lent is live");
                assert!(!self.renewed.contains(&entry), "what was to be renewed is not lent again");
                let opener = self.opened_for[&entry];
                assert_eq!(self.wants[&opener], self.wants[&holder], "it is what was asked for");
                assert_eq!(matches!(proof, Proof::Spent), opener == holder, "each lease has its own proof");
                if self.wants[&holder] == 0 {
                    assert_eq!(opener, holder, "a private connection is its opener's alone");
                }
                self.held.insert(holder, entry);
            }
            Effect::Refuse { holder, .. } => assert!(self.waiting.remove(&holder)),
            Effect::Tell { holder, news } => {
                assert!(self.held.contains_key(&holder), "only who holds a connection hears of it");
                if let News::Lost(_) = news {
                    assert!(self.bereft.insert(holder), "a loss is told once");
                }
            }
            Effect::Released(holder) => assert!(self.leaving.remove(&holder)),
        }
    }

    /// After every step.
    fn holds(&self) {
        for shared in 1..3 {
            let of = |id: &&EntryId| self.wants[&self.opened_for[*id]] == shared;
            let counts = |id: &&EntryId| !self.aborted.contains(id) && !self.renewed.contains(id);
            let live = self.live.iter().filter(of).filter(counts).count();
            let asked = self.asked.iter().filter(of).filter(|id| !self.aborted.contains(id)).count();
            assert!(live + asked <= 1, "one connection per key: {live} live, {asked} opening");
        }
        for id in &self.live {
            let held = self.held.values().any(|held| held == id);
            let is_private = self.wants[&self.opened_for[id]] == 0;
            assert!(
                held || !self.renewed.contains(id),
                "a renewed connection without a lease is still there"
            );
            assert!(held || !is_private, "a private connection without a lease is still there");
        }
        if let Some(due) = self.machine.next_due() {
            assert!(due > self.now || self.now == Duration::ZERO, "what was due was done");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn after_any_history_everybody_was_answered_and_every_connection_ends_once(
        steps in prop::collection::vec(step(), 0..80),
    ) {
        let mut world = World::new();
        for step in steps {
            // Whatever is due is done before the next thing happens, as the task does it.
            world.step(Step::Pass(0));
            world.step(step);
        }
        // The outside world goes quiet: everything asked for opens, everybody lets go, time passes.
        while !world.asked.is_empty() {
            world.step(Step::Open(0));
        }
        while !world.held.is_empty() {
            world.step(Step::Release(0, Teardown::Drain));
        }
        world.step(Step::Pass(u64::try_from(LINGER.as_millis()).unwrap()));
        while !world.closing.is_empty() {
            world.step(Step::Gone(0));
        }
        prop_assert!(world.waiting.is_empty(), "somebody was never answered");
        prop_assert!(world.leaving.is_empty(), "somebody waits for an end that came");
        prop_assert!(world.live.is_empty(), "a connection that nobody holds is still there");
        prop_assert!(world.machine.entries.is_empty() && world.machine.index.is_empty());
        prop_assert!(world.machine.members.is_empty() && world.machine.leaving.is_empty());
        prop_assert_eq!(world.machine.next_due(), None);
    }
}
