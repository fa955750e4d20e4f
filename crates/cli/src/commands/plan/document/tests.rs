use qwen_core::{LaunchBound, Scope, ServerName, admit};
use serde_json::json;

use super::*;
use crate::{fixtures, output::WIDTH, settings::Snapshot};

fn derived(rows: Vec<Row>) -> Derived {
    let mut derived = Derived::default();
    for row in rows {
        derived.servers.insert(row.name.clone(), row.entry.clone());
        if row.scope == Scope::Project {
            derived.promptable.insert(row.name.clone(), fixtures::promptable(row.name.as_str(), json!({})));
        }
        derived.rows.insert(row.name.clone(), row);
    }
    derived
}

fn planned(rows: Vec<Row>) -> Document<PlanRow> {
    let derived = derived(rows);
    let verdicts = admit(&derived.desired(), &LaunchBound::Unbounded);
    let snapshot = Snapshot::default();
    plan(&derived, &verdicts, fixtures::background(&snapshot))
}

fn saved(document: &Document<PlanRow>) -> SavedPlan {
    serde_json::from_value(serde_json::to_value(document).unwrap()).unwrap()
}

fn entry(name: &str, value: Value) -> Row {
    fixtures::written(fixtures::row(name, Scope::User), value)
}

#[test]
fn a_plan_says_who_is_connected_who_is_asked_about_and_who_is_left_out() {
    let document = planned(vec![
        fixtures::row("zeta", Scope::User),
        fixtures::row("linter", Scope::Project),
        fixtures::invalid("broken", "command is missing"),
        fixtures::shadowed("gh"),
    ]);
    insta::assert_snapshot!(render_plan(&document, Paint::Plain, WIDTH));
    let json = serde_json::to_value(&document).unwrap();
    let keys: Vec<&String> = json["servers"][0].as_object().unwrap().keys().collect();
    insta::assert_compact_debug_snapshot!(keys);
}

#[test]
fn each_state_has_its_place_in_a_plan_for_people_and_for_programs() {
    let snapshot = fixtures::restricting_files();
    let back = fixtures::background(&snapshot);
    // A plan connects nothing, so that nothing fails in it.
    let planned =
        fixtures::every_state().into_iter().filter(|shown| !matches!(shown.label, "failed" | "needs_auth"));
    for shown in planned {
        let asked = match shown.refusal() {
            Some(Refusal::PendingApproval) => PlanAction::Ask,
            Some(_) | None => PlanAction::Skip,
        };
        let servers = vec![plan_row(&shown.row, shown.refusal(), asked, back)];
        let document =
            Document { servers, diagnostics: vec![], folder_trusted: true, project_root: "/p".to_owned() };
        insta::with_settings!({ snapshot_suffix => shown.label }, {
            fixtures::assert_fits(&render_plan(&document, Paint::Plain, WIDTH));
            insta::assert_snapshot!("text", render_plan(&document, Paint::Plain, WIDTH));
            insta::assert_json_snapshot!("json", document.servers[0]);
        });
    }
}

#[test]
fn against_a_saved_plan_each_difference_has_its_action_and_fields() {
    let before = planned(vec![
        entry("kept", json!({ "command": "x", "args": ["1"] })),
        entry("wire", json!({ "command": "x", "args": ["1"] })),
        entry("view", json!({ "command": "x", "timeout": 1 })),
        entry("gone", json!({ "command": "x" })),
        entry("broken", json!({ "command": "x" })),
        fixtures::row("asked", Scope::Project),
    ]);
    let after = planned(vec![
        entry("kept", json!({ "args": ["1"], "command": "x" })),
        entry("wire", json!({ "command": "x", "args": ["2"], "timeout": 3 })),
        entry("view", json!({ "command": "x", "timeout": 2, "includeTools": [] })),
        fixtures::invalid("broken", "command is missing"),
        fixtures::row("asked", Scope::Project),
        entry("new", json!({ "command": "x" })),
    ]);
    let compared = against(after, &saved(&before));
    let found: Vec<(&str, PlanAction, &[String])> = compared
        .servers
        .iter()
        .map(|row| (row.entry.name.as_str(), row.action, row.fields.as_deref().unwrap()))
        .collect();
    insta::assert_compact_debug_snapshot!(found);
    insta::assert_snapshot!(render_plan(&compared, Paint::Plain, WIDTH));
}

#[test]
fn a_saved_plan_that_was_itself_compared_can_be_compared_with() {
    let before = planned(vec![entry("a", json!({ "command": "x" }))]);
    let compared = against(planned(vec![entry("a", json!({ "command": "x" }))]), &saved(&before));
    let again = against(planned(vec![entry("a", json!({ "command": "y" }))]), &saved(&compared));
    assert_eq!(again.servers[0].action, PlanAction::Restart);
    assert_eq!(again.servers[0].entry.name, ServerName::from("a").as_str());
}

#[test]
fn a_plan_holds_no_value_of_a_secret_field() {
    let document = planned(vec![entry("a", json!({ "command": "x", "env": { "T": "hunter2hunter2" } }))]);
    assert!(!serde_json::to_string(&document).unwrap().contains("hunter2"));
}
