//! The machine against answers that are late, lost, doubled and in the wrong order, and the promises it must keep.

mod properties;

use serde_json::json;

use super::*;
use crate::{
    domain::{Entry, Pattern, Scope, View},
    failure::FailureKind,
    inventory::{Listing, Tool},
    status::{Connecting, McpEvent, Phase, Status, changes},
    testing::stdio,
};

/// A link is its attempt's number, so that a test sees which one is retired.
type Link = u64;

struct Bench {
    session: Session<Link>,
    now: Time,
    generation: u64,
    seen: Arc<Status>,
}

impl Bench {
    fn new() -> Self {
        Self {
            session: Session::new(LaunchBound::Unbounded, 1),
            now: Time::default(),
            generation: 0,
            seen: Arc::default(),
        }
    }

    /// Words `name=command` (`name=command:tool` with a view that includes only that tool) and `!pattern` (excluded).
    fn want(&mut self, text: &str) -> String {
        self.generation += 1;
        let desired = Arc::new(desired(text));
        render(&self.session.desire(self.generation, desired, self.now))
    }

    fn pass(&mut self, time: Duration) {
        self.now.monotonic += time;
        self.now.unix_ms += publish::millis(time);
    }

    fn due(&mut self, after: Duration) -> String {
        self.pass(after);
        render(&self.session.due(self.now))
    }

    fn opens(&mut self, attempt: u64) -> String {
        render(&self.session.opened(Attempt(attempt), Ok(opened(attempt)), self.now))
    }

    fn fails(&mut self, attempt: u64, kind: FailureKind) -> String {
        let failure = Failure::new(kind, "it failed");
        render(&self.session.opened(Attempt(attempt), Err(failure), self.now))
    }

    fn gone(&mut self, attempt: u64) -> String {
        render(&self.session.gone(Attempt(attempt), self.now))
    }

    fn dies(&mut self, attempt: u64) -> String {
        render(&self.session.lost(Attempt(attempt), Failure::new(FailureKind::Exited, "exited"), self.now))
    }

    /// What happened since the last time somebody looked.
    fn events(&mut self) -> Vec<String> {
        let Some(status) = self.session.publish(self.now) else { return Vec::new() };
        let events = changes(&self.seen, &status);
        self.seen = status;
        events.iter().map(tell).collect()
    }
}

fn desired(text: &str) -> Desired {
    let mut desired = Desired::default();
    for word in text.split_whitespace() {
        if let Some(pattern) = word.strip_prefix('!') {
            desired.gating.excluded.extend(Pattern::new(pattern));
        } else if let Some((name, spec)) = word.split_once('=') {
            let (command, tool) =
                spec.split_once(':').map_or((spec, None), |(command, tool)| (command, Some(tool)));
            let view = View { include_tools: tool.map(|tool| vec![tool.to_owned()]), ..View::default() };
            let spec = ServerSpec::new(Scope::User, Wire::Stdio(stdio(command)), view);
            desired.servers.insert(name.into(), Entry::Valid(Arc::new(spec)));
        }
    }
    desired
}

fn opened(link: Link) -> Opened<Link> {
    let tools = ["t", "u"].map(|name| {
        Arc::new(Tool {
            name: name.to_owned(),
            description: None,
            input_schema: Arc::new(json!({"type": "object"})),
            raw: json!({}),
        })
    });
    let inventory = Arc::new(Inventory { tools: Listing::Listed(tools.to_vec()), ..Inventory::empty() });
    Opened { link, pid: u32::try_from(link).ok(), inventory }
}

fn render(effects: &[Effect<Link>]) -> String {
    let words: Vec<String> = effects
        .iter()
        .map(|effect| match effect {
            Effect::Open { attempt, admitted } => format!("open {}#{}", admitted.name(), attempt.0),
            Effect::Abort(attempt) => format!("abort #{}", attempt.0),
            Effect::Interrupt(attempt) => format!("interrupt #{}", attempt.0),
            Effect::Retire { attempt, link, teardown } => {
                assert_eq!(attempt.0, *link, "a link belongs to its attempt");
                format!("retire #{} {teardown:?}", attempt.0)
            }
        })
        .collect();
    words.join(", ")
}

fn tell(event: &McpEvent) -> String {
    match event {
        McpEvent::Reloaded(record) => format!(
            "reload {} added{:?} removed{:?} restarted{:?} rescoped{:?} kept {} skipped {}",
            record.generation,
            record.added,
            record.removed,
            record.restarted,
            record.rescoped,
            record.kept,
            record.skipped.len()
        ),
        McpEvent::CatalogueChanged(change) => {
            format!("tools +{:?} -{:?}", change.tools.added, change.tools.removed)
        }
        McpEvent::ServerChanged { name, status } => {
            let state = status.as_ref().map_or("gone", |status| status.phase.state().as_str());
            format!("{name} {state}")
        }
        McpEvent::Settled(settling) => {
            format!("settled {} failed {}", settling.generation, settling.failed.len())
        }
    }
}

#[test]
fn an_edit_of_one_server_touches_that_one_only() {
    let mut bench = Bench::new();
    assert_eq!(bench.want("a=x b=x"), "open a#1, open b#2");
    assert_eq!((bench.opens(1), bench.opens(2)), (String::new(), String::new()));
    bench.events();
    assert_eq!(bench.want("a=y b=x"), "retire #1 Drain");
    assert_eq!(
        bench.events(),
        [
            r#"reload 2 added[] removed[] restarted["a"] rescoped[] kept 1 skipped 0"#,
            r#"tools +[] -["mcp__a__t", "mcp__a__u"]"#,
            "a connecting",
        ]
    );
    assert_eq!(bench.gone(1), "open a#3");
    assert_eq!(bench.opens(3), "");
    assert_eq!(
        bench.events(),
        [r#"tools +["mcp__a__t", "mcp__a__u"] -[]"#, "a connected", "settled 2 failed 0"]
    );
}

#[test]
fn a_changed_view_is_rescoped_in_place() {
    let mut bench = Bench::new();
    bench.want("a=x");
    bench.opens(1);
    bench.events();
    assert_eq!(bench.want("a=x:t"), "");
    assert_eq!(
        bench.events(),
        [
            r#"reload 2 added[] removed[] restarted[] rescoped["a"] kept 0 skipped 0"#,
            r#"tools +[] -["mcp__a__u"]"#,
            "a connected",
            "settled 2 failed 0",
        ]
    );
}

#[test]
fn a_late_answer_for_an_old_edit_never_lands_on_the_new_one() {
    let mut bench = Bench::new();
    bench.want("a=x");
    assert_eq!(bench.want("a=y"), "abort #1");
    assert_eq!(bench.opens(1), "retire #1 NeverLive");
    assert_eq!(bench.seen.catalogue.tools.len(), 0);
    assert_eq!(bench.gone(1), "open a#2");
    assert_eq!(bench.opens(2), "");
    bench.events();
    assert_eq!(bench.seen.servers[&ServerName::from("a")].phase.state(), crate::status::State::Connected);
}

#[test]
fn an_aborted_attempt_that_fails_lets_the_next_one_start() {
    let mut bench = Bench::new();
    bench.want("a=x");
    assert_eq!(bench.want("a=y"), "abort #1");
    assert_eq!(bench.fails(1, FailureKind::Aborted), "open a#2");
}

#[test]
fn doubled_and_unknown_answers_are_handed_back() {
    let mut bench = Bench::new();
    bench.want("a=x");
    bench.opens(1);
    assert_eq!(bench.opens(1), "retire #1 NeverLive");
    assert_eq!(bench.opens(9), "retire #9 NeverLive");
    assert_eq!((bench.gone(9), bench.gone(1), bench.dies(9)), Default::default());
    bench.events();
    assert_eq!(bench.seen.catalogue.tools.len(), 2);
}

#[test]
fn the_next_connection_waits_for_the_old_group_but_not_for_ever() {
    let mut bench = Bench::new();
    bench.want("a=x");
    bench.opens(1);
    bench.want("a=y");
    assert_eq!(bench.due(Teardown::LADDER - Duration::from_millis(1)), "");
    assert_eq!(bench.due(Duration::from_millis(1)), "open a#2");
    assert_eq!(bench.gone(1), "", "the late end starts nothing twice");
}

#[test]
fn while_a_call_drains_its_server_says_so_and_waits_longer() {
    let mut bench = Bench::new();
    bench.want("a=x");
    bench.opens(1);
    bench.want("a=y");
    bench.session.draining(Attempt(1), bench.now);
    bench.events();
    let phase = &bench.seen.servers[&ServerName::from("a")].phase;
    assert_eq!(*phase, Phase::Connecting(Connecting::WaitingForCall));
    assert_eq!(bench.due(Teardown::LADDER), "");
    assert_eq!(bench.due(Teardown::DRAIN), "open a#2");
}

#[test]
fn a_call_that_drains_is_interrupted_by_a_verdict_and_by_the_end_of_the_program() {
    for (edited, verdict) in [("a=y", "a=y !a"), ("a=y", "!a"), ("", "end")] {
        let mut bench = Bench::new();
        bench.want("a=x");
        bench.opens(1);
        bench.want(edited);
        bench.session.draining(Attempt(1), bench.now);
        let effects = match verdict {
            "end" => render(&bench.session.shut_down(bench.now)),
            _ => bench.want(verdict),
        };
        let expected = if verdict == "!a" { "" } else { "interrupt #1" };
        assert_eq!(effects, expected, "{edited} then {verdict}");
        assert_eq!(bench.gone(1), "");
    }
}

#[test]
fn a_verdict_that_turns_to_no_while_connecting_aborts() {
    let mut bench = Bench::new();
    bench.want("a=x");
    assert_eq!(bench.want("a=x !a"), "abort #1");
    assert_eq!(bench.opens(1), "retire #1 NeverLive");
    bench.events();
    assert_eq!(bench.seen.servers[&ServerName::from("a")].phase.state(), crate::status::State::Excluded);
    assert_eq!(bench.gone(1), "");
}

#[test]
fn a_refused_server_is_closed_as_by_a_verdict_and_returns_on_the_reverse_edit() {
    let mut bench = Bench::new();
    bench.want("a=x");
    bench.opens(1);
    assert_eq!(bench.want("a=x !a"), "retire #1 Verdict");
    bench.gone(1);
    assert_eq!(bench.want("a=x"), "open a#2");
}

#[test]
fn twenty_hanging_servers_do_not_delay_another() {
    let mut bench = Bench::new();
    let hanging: Vec<String> = (0..20).map(|n| format!("h{n}=x")).collect();
    bench.want(&hanging.join(" "));
    bench.events();
    assert_eq!(bench.want(&format!("{} a=x", hanging.join(" "))), "open a#21");
    bench.opens(21);
    let events = bench.events();
    assert!(events.contains(&"a connected".to_owned()));
    assert_eq!(events.last().map(String::as_str), Some("settled 2 failed 0"));
    assert_eq!((bench.seen.settled, bench.seen.observed), (0, 2));
}

#[test]
fn a_superseded_generation_settles_at_once_and_without_an_event() {
    let mut bench = Bench::new();
    bench.want("a=x");
    bench.want("a=y");
    bench.fails(1, FailureKind::Aborted);
    assert_eq!(bench.events().iter().filter(|event| event.starts_with("settled")).count(), 0);
    assert_eq!(bench.seen.settled, 1);
    bench.opens(2);
    assert_eq!(bench.events().last().map(String::as_str), Some("settled 2 failed 0"));
}

#[test]
fn a_retry_does_not_count_as_opening() {
    let mut bench = Bench::new();
    bench.want("a=x");
    bench.fails(1, FailureKind::HandshakeTimeout);
    assert_eq!(bench.events().last().map(String::as_str), Some("settled 1 failed 1"));
    assert_eq!(bench.due(Duration::from_secs(1)), "open a#2");
    bench.events();
    assert_eq!((bench.seen.settled, bench.seen.unsettled.len()), (1, 0));
}

#[test]
fn a_server_that_dies_comes_back_by_itself_once_its_group_is_gone() {
    let mut bench = Bench::new();
    bench.want("a=x");
    bench.opens(1);
    bench.events();
    bench.pass(Duration::from_secs(10));
    assert_eq!(bench.dies(1), "retire #1 Lost");
    assert_eq!(bench.events(), [r#"tools +[] -["mcp__a__t", "mcp__a__u"]"#, "a failed"]);
    assert_eq!(bench.gone(1), "");
    assert_eq!(bench.due(Duration::from_secs(1)), "open a#2");
}

#[test]
fn a_crash_loop_is_parked_until_an_edit_or_a_reconnect() {
    let mut bench = Bench::new();
    bench.want("a=x");
    for attempt in 1..=5 {
        bench.opens(attempt);
        bench.dies(attempt);
        bench.gone(attempt);
        bench.due(Duration::from_secs(60));
    }
    assert_eq!(bench.due(Duration::from_secs(600)), "");
    bench.events();
    let Phase::Failed { failure, retry_at_unix_ms } = &bench.seen.servers[&ServerName::from("a")].phase
    else {
        panic!("not failed")
    };
    assert_eq!((&failure.kind, retry_at_unix_ms), (&FailureKind::CrashLoop, &None));
    assert_eq!(bench.want("a=y"), "open a#6");
    bench.fails(6, FailureKind::CommandNotFound);
    let effects = bench.session.reconnect(&"a".into(), bench.now).map(|effects| render(&effects));
    assert_eq!(effects, Ok("open a#7".to_owned()));
}

#[test]
fn reconnect_leaves_what_is_on_its_way_alone_and_refuses_what_is_refused() {
    let mut bench = Bench::new();
    bench.want("a=x b=x !b");
    let reconnect = |bench: &mut Bench, name: &str| {
        bench.session.reconnect(&name.into(), bench.now).map(|effects| render(&effects))
    };
    assert_eq!(reconnect(&mut bench, "a"), Ok(String::new()));
    assert!(matches!(reconnect(&mut bench, "b"), Err(Some(Refusal::Excluded { .. }))));
    assert_eq!(reconnect(&mut bench, "c"), Err(None));
    bench.opens(1);
    assert_eq!(reconnect(&mut bench, "a"), Ok("retire #1 Renew".to_owned()));
    assert_eq!(bench.gone(1), "open a#2");
}

#[test]
fn a_name_that_left_is_removed_until_it_returns_and_a_narrowed_one_never_is() {
    let mut bench = Bench::new();
    let removed = |bench: &mut Bench| {
        bench.events();
        bench.seen.removed.iter().map(|name| name.as_str().to_owned()).collect::<Vec<_>>()
    };
    bench.want("a=x b=x");
    bench.want("b=x");
    assert_eq!(removed(&mut bench), ["a"]);
    bench.want("");
    assert_eq!(removed(&mut bench), ["a", "b"]);
    bench.want("a=x");
    assert_eq!(removed(&mut bench), ["b"]);
    bench.want("a=x !a");
    assert_eq!(removed(&mut bench), ["b"]);
}

#[test]
fn the_program_s_end_closes_everything_in_parallel() {
    let mut bench = Bench::new();
    bench.want("a=x b=x c=x");
    bench.opens(1);
    bench.fails(3, FailureKind::CommandNotFound);
    assert_eq!(render(&bench.session.shut_down(bench.now)), "retire #1 Exit, abort #2");
    assert!(!bench.session.is_quiet());
    bench.gone(1);
    bench.fails(2, FailureKind::Aborted);
    assert!(bench.session.is_quiet());
}

#[test]
fn lists_that_change_are_folded_again() {
    let mut bench = Bench::new();
    bench.want("a=x");
    bench.opens(1);
    bench.events();
    bench.session.relisted(Attempt(1), Arc::new(Inventory::empty()));
    assert_eq!(bench.events(), [r#"tools +[] -["mcp__a__t", "mcp__a__u"]"#, "a connected"]);
    bench.session.relisted(Attempt(9), opened(9).inventory);
    assert_eq!(bench.events(), Vec::<String>::new());
}

#[test]
fn what_a_connection_reports_before_its_answer_arrives_is_not_lost() {
    let mut bench = Bench::new();
    bench.want("a=x b=x");
    assert_eq!(bench.dies(1), "");
    assert_eq!(bench.opens(1), "retire #1 Lost");
    bench.session.relisted(Attempt(2), Arc::new(Inventory::empty()));
    assert_eq!(bench.opens(2), "");
    bench.events();
    let states: Vec<&str> = bench.seen.servers.values().map(|server| server.phase.state().as_str()).collect();
    assert_eq!((states, bench.seen.catalogue.tools.len()), (vec!["failed", "connected"], 0));
}
