//! Random small edits and answers in random order, and what must hold after each.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// One thing that happens. Numbers pick among what is under way, so that every step fits.
#[derive(Clone, Debug)]
enum Step {
    /// Replaces one word of what is wanted.
    Edit(usize, String),
    Commit,
    Open(usize),
    Fail(usize),
    Gone(usize),
    Die(usize),
    Reconnect(String),
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let word = prop_oneof![
        6 => ("[a-c]", "[xy]").prop_map(|(name, command)| format!("{name}={command}")),
        2 => ("[a-c]", "[xy]").prop_map(|(name, command)| format!("{name}={command}:t")),
        1 => "[a-c]".prop_map(|name| format!("!{name}")),
        1 => Just(String::new()),
    ];
    prop_oneof![
        4 => (0..4usize, word).prop_map(|(at, word)| Step::Edit(at, word)),
        4 => Just(Step::Commit),
        4 => (0..8usize).prop_map(Step::Open),
        2 => (0..8usize).prop_map(Step::Fail),
        4 => (0..8usize).prop_map(Step::Gone),
        2 => (0..8usize).prop_map(Step::Die),
        1 => "[a-c]".prop_map(Step::Reconnect),
        2 => (0..4000u64).prop_map(Step::Pass),
    ]
}

/// The world outside the machine: which attempts it was asked to open, hold, give up and end.
#[derive(Default)]
struct World {
    asked: Vec<Attempt>,
    aborted: BTreeSet<Attempt>,
    live: Vec<Attempt>,
    ending: Vec<Attempt>,
    opened: BTreeSet<Attempt>,
    retired: Vec<Attempt>,
}

impl World {
    fn carry_out(&mut self, effects: Vec<Effect<Link>>) {
        for effect in effects {
            match effect {
                Effect::Open { attempt, .. } => self.asked.push(attempt),
                Effect::Abort(attempt) => {
                    assert!(self.asked.contains(&attempt), "only what is under way is given up");
                    self.aborted.insert(attempt);
                }
                Effect::Interrupt(attempt) => {
                    assert!(self.ending.contains(&attempt), "only what is ending is interrupted");
                }
                Effect::Retire { attempt, .. } => {
                    self.retired.push(attempt);
                    self.live.retain(|live| *live != attempt);
                    self.ending.push(attempt);
                }
            }
        }
    }
}

fn pick(list: &mut Vec<Attempt>, at: usize) -> Option<Attempt> {
    (!list.is_empty()).then(|| list.remove(at % list.len()))
}

fn run(steps: Vec<Step>) -> (Bench, World, Vec<String>) {
    let mut bench = Bench::new();
    let mut world = World::default();
    let mut words = vec![String::new(); 4];
    let finish = [Step::Commit].into_iter();
    for step in steps.into_iter().chain(finish) {
        let effects = match step {
            Step::Edit(at, word) => {
                words[at] = word;
                Vec::new()
            }
            Step::Commit => {
                bench.generation += 1;
                bench.session.desire(bench.generation, Arc::new(desired(&words.join(" "))), bench.now)
            }
            Step::Open(at) => match pick(&mut world.asked, at) {
                Some(attempt) => {
                    world.opened.insert(attempt);
                    world.live.push(attempt);
                    bench.session.opened(attempt, Ok(opened(attempt.0)), bench.now)
                }
                None => Vec::new(),
            },
            Step::Fail(at) => match pick(&mut world.asked, at) {
                Some(attempt) => {
                    let failure = Failure::new(FailureKind::HandshakeTimeout, "no answer");
                    bench.session.opened(attempt, Err(failure), bench.now)
                }
                None => Vec::new(),
            },
            Step::Gone(at) => match pick(&mut world.ending, at) {
                Some(attempt) => bench.session.gone(attempt, bench.now),
                None => Vec::new(),
            },
            Step::Die(at) => {
                // A loss may overtake the answer that the connection opened.
                let any: Vec<Attempt> = world.live.iter().chain(&world.asked).copied().collect();
                let attempt = any.get(at % any.len().max(1)).copied();
                let lost = Failure::new(FailureKind::Exited, "exited");
                attempt.map(|attempt| bench.session.lost(attempt, lost, bench.now)).unwrap_or_default()
            }
            Step::Reconnect(name) => bench.session.reconnect(&name.into(), bench.now).unwrap_or_default(),
            Step::Pass(millis) => {
                bench.pass(Duration::from_millis(millis));
                bench.session.due(bench.now)
            }
        };
        world.carry_out(effects);
        bench.events();
        holds(&bench, &world);
    }
    (bench, world, words)
}

/// After every step.
fn holds(bench: &Bench, world: &World) {
    let status = &bench.seen;
    for tool in status.catalogue.tools.values() {
        let phase = &status.servers[&tool.server].phase;
        assert!(
            matches!(phase, Phase::Connected(_)),
            "{} is listed while its server is {phase:?}",
            tool.name
        );
    }
    let open: BTreeSet<Attempt> = bench.session.open_links().map(|(_, _, attempt, _)| attempt).collect();
    assert_eq!(open, world.live.iter().copied().collect(), "what is live is what the slots hold");
    let retired: BTreeSet<Attempt> = world.retired.iter().copied().collect();
    assert_eq!(retired.len(), world.retired.len(), "a link was retired twice");
    assert!(retired.is_subset(&world.opened), "what never opened was retired");
    let refused = bench.session.refusals.keys().filter(|name| bench.session.slots.contains_key(*name));
    assert_eq!(refused.count(), 0, "a refused server has a slot");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn after_any_history_what_is_desired_is_what_becomes_live(steps in prop::collection::vec(step(), 0..60)) {
        let (mut bench, mut world, words) = run(steps);
        // The outside world goes quiet: everything asked for opens, everything that ends is gone, time passes.
        for _ in 0..200 {
            let now = bench.now;
            if let Some(attempt) = pick(&mut world.asked, 0) {
                world.opened.insert(attempt);
                world.live.push(attempt);
                world.carry_out(bench.session.opened(attempt, Ok(opened(attempt.0)), now));
            } else if let Some(attempt) = pick(&mut world.ending, 0) {
                world.carry_out(bench.session.gone(attempt, now));
            } else if let Some(at) = bench.session.next_due() {
                bench.pass(at.saturating_sub(now.monotonic));
                world.carry_out(bench.session.due(bench.now));
            } else {
                break;
            }
        }
        bench.events();
        holds(&bench, &world);
        let parked = |phase: &Phase| matches!(phase, Phase::Failed { failure, .. } if failure.kind == FailureKind::CrashLoop);
        let desired = desired(&words.join(" "));
        for (name, verdict) in admit(&desired, &LaunchBound::Unbounded) {
            let phase = &bench.seen.servers[&name].phase;
            let fits = match verdict {
                Ok(_) => matches!(phase, Phase::Connected(_)) || parked(phase),
                Err(refusal) => *phase == Phase::Refused(refusal),
            };
            prop_assert!(fits, "{name} is {phase:?}");
        }
        prop_assert_eq!(bench.seen.servers.len(), desired.servers.len());
        prop_assert_eq!(bench.seen.settled, bench.seen.observed);
        world.carry_out(bench.session.shut_down(bench.now));
        prop_assert_eq!(world.retired.len(), world.opened.len(), "every link that was opened is retired");
    }
}
