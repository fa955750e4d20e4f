use std::sync::Arc;

use qwen_core::{Connected, Failure, FailureKind, Scope, ServerStatus};

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

fn connected(tools: usize) -> Phase {
    Phase::Connected(Connected { pid: None, tools, prompts: 0, resources: 0, warnings: Vec::new() })
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
    let failure = Failure::new(FailureKind::Exited, "the process ended".to_owned());
    notices.hear(&server("c", Phase::Failed { failure, retry_at_unix_ms: None }), 1002);
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
