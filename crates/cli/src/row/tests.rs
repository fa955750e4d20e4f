use qwen_core::{Connected, Decision, Failure, FailureKind, NotAllowedBy, Refusal, Scope};

use super::*;
use crate::{
    fixtures::{self, WHEN},
    output::WIDTH,
    settings::Snapshot,
    text::Paint,
};

fn listed(row: &Row, phase: &Phase) -> ListRow {
    let snapshot = Snapshot::default();
    let back = fixtures::background(&snapshot);
    list_row(row, Outcome::Phase { phase, since_unix_ms: WHEN }, back)
}

fn connected() -> Phase {
    Phase::Connected(Connected {
        pid: Some(4711),
        tools: 3,
        prompts: 1,
        resources: 0,
        warnings: Vec::new(),
        unlisted: Vec::new(),
    })
}

fn failed(stderr: Option<&str>) -> Phase {
    let failure = Failure::new(FailureKind::Exited, "the process ended with exit code 1")
        .with_stderr(stderr.map(str::to_owned));
    Phase::Failed { failure, retry_at_unix_ms: None }
}

fn document(servers: Vec<ListRow>) -> Document<ListRow> {
    Document { servers, diagnostics: Vec::new(), folder_trusted: true, project_root: "/p".to_owned() }
}

#[test]
fn a_list_shows_each_state_with_its_cause_and_next_step_in_aligned_columns() {
    let refused = |refusal| Phase::Refused(refusal);
    let snapshot = Snapshot::default();
    let back = fixtures::background(&snapshot);
    let rows = vec![
        listed(&fixtures::row("数据库", Scope::User), &connected()),
        listed(&fixtures::row("crashes", Scope::User), &failed(Some("first line\nlast \u{1b}[31mline"))),
        listed(&fixtures::row("linter", Scope::Project), &refused(Refusal::PendingApproval)),
        listed(&fixtures::shadowed("gh"), &connected()),
        listed(
            &fixtures::row("narrowed", Scope::System),
            &refused(Refusal::NotAllowed(NotAllowedBy::LaunchBound)),
        ),
        listed(
            &fixtures::invalid("broken", "command is missing"),
            &refused(Refusal::Invalid { why: "command is missing".to_owned() }),
        ),
        list_row(&fixtures::row("later", Scope::User), Outcome::NotTried, back),
    ];
    insta::assert_snapshot!(render_list(&document(rows), Paint::Plain, WIDTH));
}

#[test]
fn each_state_is_listed_for_people_and_for_programs() {
    let snapshot = fixtures::restricting_files();
    let back = fixtures::background(&snapshot);
    for shown in fixtures::every_state() {
        let row = list_row(&shown.row, Outcome::Phase { phase: &shown.phase, since_unix_ms: WHEN }, back);
        insta::with_settings!({ snapshot_suffix => shown.label }, {
            let list = document(vec![row]);
            fixtures::assert_fits(&render_list(&list, Paint::Plain, WIDTH));
            insta::assert_snapshot!("list_text", render_list(&list, Paint::Plain, WIDTH));
            insta::assert_json_snapshot!("list_json", list.servers[0]);
        });
    }
}

#[test]
fn the_json_of_a_list_has_exactly_the_documented_keys() {
    let row = listed(&fixtures::row("a", Scope::Project), &failed(Some("tail")));
    let mut list = document(vec![row]);
    list.diagnostics.push(DiagnosticJson {
        path: Some("/p/.mcp.json".to_owned()),
        line: Some(1),
        column: Some(2),
        severity: "warning",
        message: "a key stands twice".to_owned(),
        hint: None,
    });
    insta::assert_json_snapshot!(list);
}

#[test]
fn a_decision_has_its_time_in_the_store_and_everything_else_its_own() {
    let row =
        fixtures::decided(fixtures::row("a", Scope::Project), Decision::Rejected, "2026-11-30T10:00:00.000Z");
    let rejected = listed(&row, &Phase::Refused(Refusal::Rejected));
    assert_eq!(rejected.entry.since.unwrap(), "2026-11-30T10:00:00.000Z");
    let disabled = listed(&row, &Phase::Refused(Refusal::Disabled));
    assert_eq!(disabled.entry.since.unwrap(), "2023-11-14T22:13:20.123Z");
}

#[test]
fn counts_and_pid_are_said_only_of_a_connection() {
    let row = fixtures::row("a", Scope::User);
    let open = listed(&row, &connected());
    assert_eq!((open.pid, open.tools, open.resources), (Some(4711), Some(3), Some(0)));
    let broken = listed(&row, &failed(None));
    assert_eq!((broken.pid, broken.tools, broken.resources), (None, None, None));
}

#[test]
fn an_empty_list_says_where_to_add_a_server() {
    assert!(render_list(&document(Vec::new()), Paint::Plain, WIDTH).contains(".mcp.json"));
}
