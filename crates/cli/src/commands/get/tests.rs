use qwen_core::{Pattern, Scope};
use serde_json::json;

use super::*;
use crate::{derive::Loser, fixtures, settings::Snapshot};

fn document_of(row: &Row, refusal: Option<Refusal>, at: usize) -> GetDocument {
    let checks = checks(refusal.as_ref(), at);
    let snapshot = Snapshot::default();
    let back = fixtures::background(&snapshot);
    let phase = refusal.map(Phase::Refused);
    let outcome = match &phase {
        None => Outcome::NotTried,
        Some(phase) => Outcome::Phase { phase, since_unix_ms: 0 },
    };
    document(row, list_row(row, outcome, back), &checks)
}

#[test]
fn a_server_is_shown_in_full_with_every_check_and_without_its_secrets() {
    let entry = json!({ "command": "npx", "args": ["-y", "x", "--token", "hunter2hunter2"], "env": { "KEY": "hunter2hunter2", "HOME": "${HOME}" } });
    let mut row = fixtures::written(fixtures::row("github", Scope::Project), entry);
    row.shadows =
        vec![Loser { scope: Scope::User, source: fixtures::source("/home/u/.qwen/settings.json", 7) }];
    row.warnings = vec!["`timeot`: unknown".to_owned()];
    let shown = document_of(&row, Some(Refusal::PendingApproval), 6);
    let text = render(&shown, &row.warnings, Paint::Plain, output::WIDTH);
    assert!(!text.contains("hunter2"), "{text}");
    insta::assert_snapshot!(text);
    insta::assert_json_snapshot!(shown);
}

/// The checks in their order, of which the one at `at` refuses.
fn checks(refusal: Option<&Refusal>, at: usize) -> Vec<Check> {
    ["settings_unreadable", "untrusted_folder", "not_allowed", "excluded", "disabled", "invalid", "approval"]
        .into_iter()
        .enumerate()
        .map(|(index, check)| Check { check, refusal: refusal.cloned().filter(|_| index == at) })
        .collect()
}

/// Which check gives this reason.
fn check_of(refusal: &Refusal) -> usize {
    match refusal {
        Refusal::SettingsUnreadable { .. } => 0,
        Refusal::UntrustedFolder => 1,
        Refusal::NotAllowed(_) => 2,
        Refusal::Excluded { .. } => 3,
        Refusal::Disabled => 4,
        Refusal::Invalid { .. } => 5,
        Refusal::Rejected | Refusal::PendingApproval => 6,
    }
}

#[test]
fn each_state_is_explained_for_people_and_for_programs() {
    let snapshot = fixtures::restricting_files();
    let back = fixtures::background(&snapshot);
    for shown in fixtures::every_state() {
        let refusal = shown.refusal();
        let outcome = Outcome::Phase { phase: &shown.phase, since_unix_ms: fixtures::WHEN };
        let checks = checks(refusal, refusal.map_or(0, check_of));
        let document = document(&shown.row, list_row(&shown.row, outcome, back), &checks);
        insta::with_settings!({ snapshot_suffix => shown.label }, {
            fixtures::assert_fits(&render(&document, &shown.row.warnings, Paint::Plain, output::WIDTH));
            insta::assert_snapshot!("text", render(&document, &shown.row.warnings, Paint::Plain, output::WIDTH));
            insta::assert_json_snapshot!("json", document);
        });
    }
}

#[test]
fn the_check_that_refuses_is_told_from_those_that_pass() {
    let row = fixtures::row("github", Scope::User);
    let pattern = Pattern::new("git*").unwrap();
    let shown = document_of(&row, Some(Refusal::Excluded { pattern }), 3);
    let failed: Vec<&CheckJson> = shown.admission.iter().filter(|check| !check.passed).collect();
    assert_eq!(failed, [&CheckJson { check: "excluded", passed: false, reason: Some("excluded") }]);
    assert!(document_of(&row, None, 0).admission.iter().all(|check| check.passed));
}
