//! What the pool does, one event at a time, in any order.

mod properties;

use super::*;
use crate::{
    admission::admit_one,
    domain::{Desired, Entry as ServerEntry, FolderTrust, LaunchBound, Scope, ServerSpec, View},
    testing::{FakeCaller, stdio},
};

/// A machine with the time, and what it asked for in words.
struct Bench {
    machine: Machine<EntryId>,
    now: Duration,
    last_holder: u64,
    said: Vec<String>,
}

/// `name` and `command` and whether it is shared, and how many milliseconds its owner waits.
fn proof(name: &str, command: &str, pool: PoolMode, limit_ms: u64) -> Admitted {
    let wire = crate::domain::Stdio { pool, ..stdio(command) };
    let view = View { discovery_timeout: Duration::from_millis(limit_ms), ..View::default() };
    let spec = ServerSpec::new(Scope::User, Wire::Stdio(wire), view);
    let mut desired = Desired { folder: FolderTrust::Trusted, ..Desired::default() };
    desired.servers.insert(name.into(), ServerEntry::Valid(Arc::new(spec)));
    admit_one(&desired, &LaunchBound::Unbounded, &name.into()).unwrap()
}

fn offer(id: EntryId) -> Offer {
    let pid = u32::try_from(id.0).unwrap();
    Offer { pid: Some(pid), caller: Arc::new(FakeCaller), inventory: Arc::new(Inventory::empty()) }
}

fn failure() -> Failure {
    Failure::new(FailureKind::Exited, "exited")
}

impl Bench {
    fn new() -> Self {
        Self { machine: Machine::new(), now: Duration::ZERO, last_holder: 0, said: Vec::new() }
    }

    fn note(&mut self, effects: Vec<Effect<EntryId>>) {
        for effect in effects {
            self.said.push(match effect {
                Effect::Open { entry, holder, .. } => format!("open {} for {}", entry.0, holder.0),
                Effect::Abort(entry) => format!("abort {}", entry.0),
                Effect::Close { entry, teardown, .. } => format!("close {} {teardown:?}", entry.0),
                Effect::Grant { holder, offer, proof } => {
                    let proof = match proof {
                        Proof::Spent => "spent",
                        Proof::Kept(_) => "kept",
                    };
                    format!("grant {} to {}, {proof}", offer.pid.unwrap(), holder.0)
                }
                Effect::Refuse { holder, failure } => format!("refuse {}: {failure}", holder.0),
                Effect::Tell { holder, news: News::Inventory(_) } => format!("tell {} lists", holder.0),
                Effect::Tell { holder, news: News::Lost(failure) } => {
                    format!("tell {} lost: {failure}", holder.0)
                }
                Effect::Released(holder) => format!("released {}", holder.0),
            });
        }
    }

    /// What was asked for since the last time.
    fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }

    fn acquire(&mut self, admitted: Admitted) -> Holder {
        self.last_holder += 1;
        let holder = Holder(self.last_holder);
        let effects = self.machine.acquire(holder, admitted, self.now);
        self.note(effects);
        holder
    }

    fn shared(&mut self) -> Holder {
        self.acquire(proof("a", "x", PoolMode::Shared, 30_000))
    }

    fn private(&mut self) -> Holder {
        self.acquire(proof("a", "x", PoolMode::Session, 30_000))
    }

    fn open(&mut self, id: u64) {
        let id = EntryId(id);
        let effects = self.machine.opened(id, Ok((id, offer(id))), self.now);
        self.note(effects);
    }

    fn fail(&mut self, id: u64, failure: Failure) {
        let effects = self.machine.opened(EntryId(id), Err(failure), self.now);
        self.note(effects);
    }

    fn cancel(&mut self, holder: Holder) {
        let effects = self.machine.cancel(holder);
        self.note(effects);
    }

    fn lose(&mut self, id: u64) {
        let effects = self.machine.lost(EntryId(id), failure());
        self.note(effects);
    }

    fn release(&mut self, holder: Holder, teardown: Teardown) {
        let effects = self.machine.release(holder, teardown, self.now);
        self.note(effects);
    }

    fn gone(&mut self, id: u64) {
        let effects = self.machine.gone(EntryId(id));
        self.note(effects);
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        let effects = self.machine.due(self.now);
        self.note(effects);
    }
}

#[test]
fn sessions_share_what_says_so_under_one_name_with_one_fingerprint() {
    let (shared, private) = (PoolMode::Shared, PoolMode::Session);
    for (one, other, connections) in [
        (("a", "x", shared), ("a", "x", shared), 1),
        (("a", "x", shared), ("b", "x", shared), 2),
        (("a", "x", shared), ("a", "y", shared), 2),
        (("a", "x", shared), ("a", "x", private), 2),
        (("a", "x", private), ("a", "x", private), 2),
    ] {
        let mut bench = Bench::new();
        for (name, command, pool) in [one, other] {
            bench.acquire(proof(name, command, pool, 30_000));
        }
        let opens = bench.said().iter().filter(|said| said.starts_with("open")).count();
        assert_eq!(opens, connections, "{one:?} and {other:?}");
    }
}

#[test]
fn whoever_asks_while_it_opens_waits_for_the_same_connection_and_later_ones_get_it_at_once() {
    let mut bench = Bench::new();
    for _ in 0..3 {
        bench.shared();
    }
    assert_eq!(bench.said(), ["open 1 for 1"]);
    bench.open(1);
    assert_eq!(bench.said(), ["grant 1 to 1, spent", "grant 1 to 2, kept", "grant 1 to 3, kept"]);
    bench.shared();
    assert_eq!(bench.said(), ["grant 1 to 4, kept"]);
}

#[test]
fn a_failed_start_is_told_to_everybody_who_waited_and_the_next_one_opens_anew() {
    let mut bench = Bench::new();
    bench.shared();
    bench.shared();
    bench.said();
    bench.fail(1, failure());
    assert_eq!(bench.said(), ["refuse 1: exited", "refuse 2: exited"]);
    bench.shared();
    assert_eq!(bench.said(), ["open 2 for 3"]);
}

#[test]
fn giving_up_takes_nothing_from_those_who_still_wait_and_the_last_one_ends_the_attempt() {
    let mut bench = Bench::new();
    let (one, two) = (bench.shared(), bench.shared());
    bench.said();
    bench.cancel(one);
    assert_eq!(bench.said(), ["refuse 1: the attempt was given up"]);
    bench.cancel(two);
    assert_eq!(bench.said(), ["abort 1"]);
    // Who comes now does not join what is being given up, and the last one hears when nothing is left of it.
    bench.shared();
    assert_eq!(bench.said(), ["open 2 for 3"]);
    bench.fail(1, Failure::new(FailureKind::Aborted, "given up"));
    assert_eq!(bench.said(), ["refuse 2: the attempt was given up"]);
}

#[test]
fn an_attempt_that_succeeds_after_it_was_given_up_is_ended_before_its_asker_hears() {
    let mut bench = Bench::new();
    let one = bench.shared();
    bench.cancel(one);
    bench.said();
    bench.open(1);
    assert_eq!(bench.said(), ["close 1 NeverLive"]);
    bench.gone(1);
    assert_eq!(bench.said(), ["refuse 1: the attempt was given up"]);
}

#[test]
fn those_who_wait_less_long_stop_earlier_and_those_who_wait_longer_try_again() {
    let mut bench = Bench::new();
    let ask = |bench: &mut Bench, limit| bench.acquire(proof("a", "x", PoolMode::Shared, limit));
    ask(&mut bench, 5000);
    ask(&mut bench, 1000);
    ask(&mut bench, 5000);
    ask(&mut bench, 9000);
    ask(&mut bench, 30_000);
    assert_eq!(bench.said(), ["open 1 for 1"]);
    assert_eq!(bench.machine.next_due(), Some(Duration::from_secs(1)));
    bench.pass(Duration::from_secs(1));
    assert_eq!(bench.said(), ["refuse 2: not connected within 1000 ms"]);
    bench.now = Duration::from_secs(5);
    bench.fail(1, Failure::new(FailureKind::HandshakeTimeout, "no answer"));
    assert_eq!(bench.said(), ["refuse 1: no answer", "refuse 3: no answer", "open 2 for 5"]);
    bench.pass(Duration::from_secs(9));
    assert_eq!(bench.said(), ["refuse 4: not connected within 9000 ms"]);
    bench.open(2);
    assert_eq!(bench.said(), ["grant 2 to 5, spent"]);
}

#[test]
fn the_last_one_whose_time_is_up_ends_the_attempt() {
    let mut bench = Bench::new();
    let opener = bench.shared();
    bench.acquire(proof("a", "x", PoolMode::Shared, 1000));
    bench.cancel(opener);
    bench.said();
    bench.pass(Duration::from_secs(1));
    assert_eq!(bench.said(), ["abort 1"]);
    bench.fail(1, Failure::new(FailureKind::Aborted, "given up"));
    assert_eq!(bench.said(), ["refuse 2: not connected within 1000 ms"]);
}

#[test]
fn a_private_connection_ends_with_its_lease_whatever_the_cause() {
    for teardown in [
        Teardown::NeverLive,
        Teardown::Drain,
        Teardown::Renew,
        Teardown::Verdict,
        Teardown::Lost,
        Teardown::Exit,
    ] {
        let mut bench = Bench::new();
        let one = bench.private();
        bench.open(1);
        bench.said();
        bench.release(one, teardown);
        assert_eq!(bench.said(), [format!("close 1 {teardown:?}")]);
        bench.gone(1);
        assert_eq!(bench.said(), ["released 1"]);
    }
}

/// The lease of a session that goes on, on a connection of its own; entry 1.
fn bystander(bench: &mut Bench) {
    bench.acquire(proof("b", "x", PoolMode::Session, 30_000));
    bench.open(1);
    bench.said();
}

#[test]
fn a_shared_connection_stays_for_a_while_after_its_last_session_left_others_to_go_on() {
    let mut bench = Bench::new();
    bystander(&mut bench);
    let two = bench.shared();
    bench.open(2);
    bench.said();
    bench.release(two, Teardown::Exit);
    assert_eq!(bench.said(), ["released 2"]);
    assert_eq!(bench.machine.next_due(), Some(LINGER));
    bench.pass(LINGER - Duration::from_millis(1));
    assert_eq!(bench.said(), Vec::<String>::new());
    let three = bench.shared();
    assert_eq!(bench.said(), ["grant 2 to 3, kept"]);
    bench.pass(LINGER);
    bench.release(three, Teardown::Exit);
    bench.pass(LINGER);
    assert_eq!(bench.said(), ["released 3", "close 2 Drain"]);
    // Its end has begun, so nobody gets it any more.
    bench.shared();
    assert_eq!(bench.said(), ["open 3 for 4"]);
}

#[test]
fn an_edit_a_removal_and_a_verdict_end_what_nobody_else_holds_at_once_and_what_lingers_under_the_name() {
    for teardown in [Teardown::Drain, Teardown::Renew, Teardown::Verdict] {
        let mut bench = Bench::new();
        bystander(&mut bench);
        let two = bench.shared();
        bench.open(2);
        let three = bench.acquire(proof("a", "y", PoolMode::Shared, 30_000));
        bench.open(3);
        bench.release(two, Teardown::Exit);
        bench.said();
        bench.release(three, teardown);
        assert_eq!(bench.said(), [format!("close 3 {teardown:?}"), format!("close 2 {teardown:?}")]);
        bench.gone(3);
        bench.gone(2);
        assert_eq!(bench.said(), ["released 3"]);
        assert_eq!(bench.machine.next_due(), None);
    }
}

#[test]
fn what_is_replaced_is_joined_by_nobody_and_stays_with_those_who_hold_it() {
    let mut bench = Bench::new();
    let (one, two) = (bench.shared(), bench.shared());
    bench.open(1);
    bench.said();
    bench.machine.supersede(one);
    bench.shared();
    assert_eq!(bench.said(), ["open 2 for 3"]);
    bench.open(2);
    bench.release(one, Teardown::Renew);
    bench.said();
    // The one that took its place keeps it when the old one ends.
    bench.release(two, Teardown::Exit);
    assert_eq!(bench.said(), ["close 1 Exit"]);
    bench.shared();
    assert_eq!(bench.said(), ["grant 2 to 4, kept"]);
}

#[test]
fn a_verdict_takes_one_session_away_and_ends_the_connection_only_after_the_last() {
    let mut bench = Bench::new();
    let (one, two) = (bench.shared(), bench.shared());
    bench.open(1);
    bench.said();
    bench.release(one, Teardown::Verdict);
    assert_eq!(bench.said(), ["released 1"]);
    bench.pass(LINGER * 2);
    assert_eq!(bench.said(), Vec::<String>::new());
    bench.release(two, Teardown::Verdict);
    assert_eq!(bench.said(), ["close 1 Verdict"]);
    bench.gone(1);
    assert_eq!(bench.said(), ["released 2"]);
}

#[test]
fn a_broken_connection_is_told_to_all_who_hold_it_and_never_lent_again() {
    let mut bench = Bench::new();
    let (one, two) = (bench.shared(), bench.shared());
    bench.open(1);
    bench.said();
    bench.lose(1);
    assert_eq!(bench.said(), ["tell 1 lost: exited", "tell 2 lost: exited", "close 1 Lost"]);
    bench.shared();
    assert_eq!(bench.said(), ["open 2 for 3"]);
    bench.release(one, Teardown::Lost);
    assert_eq!(bench.said(), Vec::<String>::new());
    bench.gone(1);
    bench.release(two, Teardown::Lost);
    assert_eq!(bench.said(), ["released 1", "released 2"]);
}

#[test]
fn an_idle_connection_that_breaks_is_ended_and_not_lent() {
    let mut bench = Bench::new();
    bystander(&mut bench);
    let two = bench.shared();
    bench.open(2);
    bench.release(two, Teardown::Exit);
    bench.said();
    bench.lose(2);
    assert_eq!(bench.said(), ["close 2 Lost"]);
    assert_eq!(bench.machine.next_due(), None);
}

#[test]
fn what_a_connection_reports_before_it_opened_is_not_lost() {
    let mut bench = Bench::new();
    bench.shared();
    bench.said();
    let lists = Arc::new(Inventory { instructions: Some("new".to_owned()), ..Inventory::empty() });
    let effects = bench.machine.relisted(EntryId(1), Arc::clone(&lists));
    bench.note(effects);
    bench.lose(1);
    assert_eq!(bench.said(), Vec::<String>::new());
    let effects = bench.machine.opened(EntryId(1), Ok((EntryId(1), offer(EntryId(1)))), bench.now);
    let Some(Effect::Grant { offer, .. }) = effects.first() else { panic!() };
    assert_eq!(offer.inventory, lists);
    bench.note(effects);
    assert_eq!(bench.said(), ["grant 1 to 1, spent", "tell 1 lost: exited", "close 1 Lost"]);
}

#[test]
fn whoever_joins_later_gets_the_lists_as_they_are_now() {
    let mut bench = Bench::new();
    bench.shared();
    bench.open(1);
    bench.said();
    let lists = Arc::new(Inventory { instructions: Some("new".to_owned()), ..Inventory::empty() });
    let effects = bench.machine.relisted(EntryId(1), Arc::clone(&lists));
    bench.note(effects);
    assert_eq!(bench.said(), ["tell 1 lists"]);
    let effects = bench.machine.acquire(Holder(9), proof("a", "x", PoolMode::Shared, 1), bench.now);
    let [Effect::Grant { offer, .. }] = &effects[..] else { panic!() };
    assert_eq!(offer.inventory, lists);
}

#[test]
fn the_end_of_the_last_session_ends_what_lingers_and_waits_for_it() {
    let mut bench = Bench::new();
    let (one, two) = (bench.shared(), bench.private());
    bench.open(1);
    bench.open(2);
    bench.release(one, Teardown::Exit);
    bench.said();
    bench.release(two, Teardown::Exit);
    assert_eq!(bench.said(), ["close 2 Exit", "close 1 Exit"]);
    bench.gone(2);
    assert_eq!(bench.said(), Vec::<String>::new());
    bench.gone(1);
    assert_eq!(bench.said(), ["released 2"]);
}

#[test]
fn while_another_session_goes_on_the_end_of_one_ends_nothing_that_is_shared() {
    let mut bench = Bench::new();
    let (one, _two) = (bench.shared(), bench.shared());
    bench.open(1);
    bench.said();
    bench.release(one, Teardown::Exit);
    assert_eq!(bench.said(), ["released 1"]);
}
