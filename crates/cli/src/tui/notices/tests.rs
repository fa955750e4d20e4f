use std::sync::Arc;

use qwen_core::{CommitRecord, Connected, Failure, FailureKind, Scope, ServerStatus};

use super::*;
use crate::{
    hot_reload::{ChangeKind, SettingsChange},
    words::Words,
};

fn reloaded(generation: u64, added: &[&str], restarted: &[&str], kept: usize) -> Event {
    let names = |names: &[&str]| names.iter().map(|&name| ServerName::from(name)).collect();
    Event::Reloaded(Arc::new(CommitRecord {
        generation,
        added: names(added),
        removed: Vec::new(),
        restarted: names(restarted),
        rescoped: Vec::new(),
        kept,
        skipped: Vec::new(),
    }))
}

fn server(name: &str, phase: Phase) -> Event {
    let status = ServerStatus { scope: Scope::User, phase, since_unix_ms: 0, transitions: Vec::new() };
    let words = Words { cause: Some("because".to_owned()), next_step: Some("do it".to_owned()) };
    Event::Server { name: ServerName::from(name), status: Some(Arc::new(status)), words }
}

fn failed() -> Phase {
    let failure = Failure::new(FailureKind::Exited, "the process ended".to_owned());
    Phase::Failed { failure, retry_at_unix_ms: Some(1) }
}

fn refused(generation: u64, added: &[&str], refusal: &Refusal) -> Event {
    let Event::Reloaded(record) = reloaded(generation, added, &[], 3) else { panic!() };
    let mut record = (*record).clone();
    record.skipped = added.iter().map(|&name| (ServerName::from(name), refusal.clone())).collect();
    Event::Reloaded(Arc::new(record))
}

fn connected(tools: usize) -> Phase {
    Phase::Connected(Connected {
        pid: None,
        tools,
        prompts: 0,
        resources: 0,
        warnings: Vec::new(),
        unlisted: Vec::new(),
    })
}

fn modified() -> Event {
    Event::Cli(CliEvent::SettingsChanged {
        changes: vec![SettingsChange {
            scope: Scope::User,
            path: "/u/settings.json".into(),
            kind: ChangeKind::Modified,
            keys: vec![vec!["theme".to_owned()]],
        }],
    })
}

fn plain(lines: &[Line]) -> Vec<String> {
    lines.iter().map(Line::plain).collect()
}

#[test]
fn an_edit_is_one_line_at_once_and_told_for_good_when_it_is_quiet() {
    let mut notices = Notices::default();
    assert!(notices.hear(&modified(), 1000).is_empty());
    assert!(notices.hear(&reloaded(2, &["github"], &["files"], 3), 1010).is_empty());
    let line = "reloaded: +github ~files, 3 kept";
    assert_eq!(notices.line().unwrap().plain(), line);
    assert!(notices.due(1010 + QUIET - 1).is_empty());
    assert!(notices.hear(&server("github", connected(1)), 1500).is_empty());
    assert!(notices.due(1500 + QUIET - 1).is_empty());
    assert_eq!(plain(&notices.due(1500 + QUIET)), [line, "connected: github (1 tool)"]);
    assert!(!notices.is_open());
}

#[test]
fn a_file_that_is_saved_steadily_is_one_line_that_is_updated() {
    let mut notices = Notices::default();
    for save in 0..10 {
        let now = 1000 + save * 300;
        assert!(notices.due(now).is_empty());
        assert!(notices.hear(&modified(), now).is_empty());
        assert!(notices.hear(&reloaded(2 + save, &[], &["files"], 3), now).is_empty());
        assert!(notices.hear(&server("files", connected(2)), now).is_empty());
    }
    let line = "reloaded 10 times in 2.7 s: ~files, 3 kept";
    assert_eq!(notices.line().unwrap().plain(), line);
    assert_eq!(plain(&notices.flush()), [line, "connected: files (2 tools)"]);
}

#[test]
fn what_a_session_starts_with_is_no_reload_and_whoever_fails_says_why() {
    let mut notices = Notices::default();
    notices.hear(&reloaded(1, &["a", "b", "c"], &[], 0), 1000);
    notices.hear(&server("b", connected(2)), 1000);
    notices.hear(&server("a", connected(0)), 1001);
    notices.hear(&server("c", failed()), 1002);
    notices.hear(&server("d", Phase::Refused(Refusal::Disabled)), 1002);
    assert_eq!(
        plain(&notices.flush()),
        [
            "connected: b (2 tools), a (0 tools)",
            "c is not connected: because; next: do it",
            "d is switched off: because; next: do it",
        ]
    );
}

#[test]
fn an_edit_that_moves_no_server_names_the_file_and_a_broken_file_is_told_at_once() {
    let mut notices = Notices::default();
    notices.hear(&modified(), 1000);
    assert_eq!(plain(&notices.flush()), ["/u/settings.json was modified: theme"]);
    let broken = Event::Cli(CliEvent::SettingsRecovered { path: Some("/u/settings.json".into()) });
    assert_eq!(plain(&notices.hear(&broken, 2000)), ["/u/settings.json is good again"]);
}

#[test]
fn different_edits_close_to_each_other_are_told_together() {
    let mut notices = Notices::default();
    notices.hear(&reloaded(2, &["a", "b"], &[], 1), 1000);
    notices.hear(&reloaded(3, &[], &["b", "c"], 2), 1100);
    let mut gone = CommitRecord {
        generation: 4,
        added: Vec::new(),
        removed: vec![ServerName::from("a"), ServerName::from("c"), ServerName::from("d")],
        restarted: Vec::new(),
        rescoped: Vec::new(),
        kept: 1,
        skipped: Vec::new(),
    };
    notices.hear(&Event::Reloaded(Arc::new(gone.clone())), 1200);
    assert_eq!(notices.line().unwrap().plain(), "reloaded 3 times in 0.2 s: +b -c -d, 1 kept");
    (gone.generation, gone.added, gone.removed) = (5, vec![ServerName::from("d")], Vec::new());
    notices.hear(&Event::Reloaded(Arc::new(gone)), 1300);
    assert_eq!(notices.line().unwrap().plain(), "reloaded 4 times in 0.3 s: +b ~d -c, 1 kept");
}

#[test]
fn a_decision_is_no_reload_and_who_is_asked_about_is_not_told_as_well() {
    let mut notices = Notices::default();
    notices.hear(&reloaded(2, &[], &[], 2), 1000);
    notices.hear(&server("notes", Phase::Refused(Refusal::PendingApproval)), 1000);
    assert_eq!(notices.line(), None);
    notices.hear(&server("notes", connected(3)), 1100);
    assert_eq!(plain(&notices.flush()), ["connected: notes (3 tools)"]);
}

#[test]
fn edits_that_are_held_back_are_kept_in_mind() {
    let mut notices = Notices::default();
    let held = Event::Cli(CliEvent::Notice { code: NoticeCode::EditsHeld, message: "edits wait".to_owned() });
    assert_eq!(plain(&notices.hear(&held, 0)), ["edits wait"]);
    assert_eq!(notices.held, Held::Edits);
}

#[test]
fn nobody_is_told_as_added_who_only_waits_for_approval() {
    let pending = Refusal::PendingApproval;
    let mut notices = Notices::default();
    notices.hear(&modified(), 1000);
    notices.hear(&refused(2, &["danger"], &pending), 1000);
    notices.hear(&server("danger", Phase::Refused(pending.clone())), 1000);
    assert_eq!(notices.line().unwrap().plain(), "danger waits for approval");
    // Beside an edit that is live, and closed by an edit of its own.
    notices.hear(&reloaded(3, &[], &["files"], 3), 1100);
    notices.hear(&refused(4, &["more"], &pending), 1200);
    assert_eq!(notices.line().unwrap().plain(), "reloaded: ~files, 3 kept, 1 waits");
    notices.hear(&server("danger", Phase::Refused(pending)), 1200);
    assert_eq!(plain(&notices.flush()), ["reloaded: ~files, 3 kept, 2 wait"]);

    // Who is approved at once, or shut out by something else, is told by what becomes of it.
    notices.hear(&refused(5, &["danger"], &Refusal::PendingApproval), 2000);
    notices.hear(&server("danger", Phase::Connecting(qwen_core::Connecting::Handshake)), 2000);
    notices.hear(&refused(6, &["off"], &Refusal::Disabled), 2000);
    assert_eq!(notices.line(), None);
    notices.hear(&server("off", Phase::Refused(Refusal::Disabled)), 2000);
    assert_eq!(plain(&notices.flush()), ["off is switched off: because; next: do it"]);
}

#[test]
fn a_failure_that_is_tried_again_is_told_once_and_counted_until_something_else_is_done() {
    let mut notices = Notices::default();
    let told = "a is not connected: because; next: do it";
    let tried = |notices: &mut Notices, now: u64| {
        notices.hear(&server("a", Phase::Connecting(qwen_core::Connecting::Handshake)), now);
        notices.hear(&server("a", failed()), now + 10);
        let line = notices.line().unwrap().plain();
        (line, plain(&notices.due(now + 10 + QUIET)))
    };
    assert_eq!(tried(&mut notices, 1000), (told.to_owned(), vec![told.to_owned()]));
    for (times, now) in [(2, 2000), (3, 4000), (4, 8000)] {
        let line = format!("a is still not connected, after {times} tries");
        assert_eq!(tried(&mut notices, now), (line, Vec::new()));
    }
    // What is worth another line: somebody asked for it, its entry changed, or it was connected in between.
    notices.is_tried_anew(&ServerName::from("a"));
    assert_eq!(tried(&mut notices, 20_000).1, [told]);
    notices.hear(&reloaded(2, &[], &["a"], 0), 30_000);
    notices.flush();
    assert_eq!(tried(&mut notices, 31_000).1, [told]);
    notices.hear(&server("a", connected(1)), 40_000);
    notices.flush();
    assert_eq!(tried(&mut notices, 41_000).1, [told]);
}

#[test]
fn an_entry_that_is_wrong_is_told_once_by_its_server_where_that_is_there() {
    let wrong = |key: &str| {
        Event::Cli(CliEvent::SettingsInvalid {
            path: Some("/p/.mcp.json".into()),
            line: Some(2),
            column: Some(1),
            message: format!("`{key}`: expected a whole number"),
            counts: Counts::TheRest,
        })
    };
    let invalid = |name: &str| server(name, Phase::Refused(Refusal::Invalid { why: "because".to_owned() }));
    let mut notices = Notices::default();
    for key in ["mcpServers.bad.timeout", "mcpServers.worse", "mcpServers.ba"] {
        assert!(notices.hear(&wrong(key), 1000).is_empty());
    }
    notices.hear(&invalid("bad"), 1000);
    notices.hear(&invalid("worse"), 1000);
    let lines = plain(&notices.flush());
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].contains("`mcpServers.ba`"), "{lines:?}");
    assert_eq!(
        lines[1..],
        ["bad is invalid: because; next: do it", "worse is invalid: because; next: do it"]
    );
    // A key of another kind has no server that could say so.
    assert_eq!(notices.hear(&wrong("mcp.allowed"), 2000).len(), 1);
}
