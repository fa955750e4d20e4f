use std::time::Duration;

use qwen_core::{Connected, Delta, Failure, FailureKind, Phase, Refusal, Scope, Status};

use super::*;
use crate::{
    hot_reload::{ChangeKind, Counts, NoticeCode, SettingsChange},
    text::Paint,
};

fn name(text: &str) -> ServerName {
    ServerName::from(text)
}

fn server(text: &str, phase: Phase, cause: &str, next_step: &str) -> Event {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Event::Server {
        name: name(text),
        status: Some(Arc::new(ServerStatus {
            scope: Scope::User,
            phase,
            since_unix_ms: 0,
            transitions: Vec::new(),
        })),
        words: Words { cause: some(cause), next_step: some(next_step) },
    }
}

fn key(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|&part| part.to_owned()).collect()
}

/// One of each kind, in the order in which a session tells them.
fn every_event() -> Vec<Event> {
    let connected = Connected {
        pid: Some(4711),
        tools: 3,
        prompts: 1,
        resources: 0,
        warnings: Vec::new(),
        unlisted: Vec::new(),
    };
    let failure = Failure::new(FailureKind::CommandNotFound, "command not found: nope")
        .with_stderr(Some("starting\nFOO_TOKEN missing\n".to_owned()));
    let wants_credentials = Failure::new(
        FailureKind::NeedsAuth { challenge: None, header: None },
        "the server answered 401 Unauthorized: it wants credentials",
    );
    vec![
        Event::Started(Started {
            project_root: "/p".into(),
            pid: 12,
            watched: vec!["/home/u/.qwen/settings.json".into(), "/p/.mcp.json".into()],
            servers: vec![name("b"), name("a")],
        }),
        Event::Cli(CliEvent::SettingsChanged {
            changes: vec![SettingsChange {
                scope: Scope::User,
                path: "/home/u/.qwen/settings.json".into(),
                kind: ChangeKind::Modified,
                keys: vec![key(&["mcpServers", "a.b", "args"]), key(&["mcp", "allowed"])],
            }],
        }),
        Event::Cli(CliEvent::SettingsChanged { changes: Vec::new() }),
        Event::Cli(CliEvent::SettingsInvalid {
            path: Some("/p/.mcp.json".into()),
            line: Some(3),
            column: Some(9),
            message: "expected a comma".to_owned(),
            counts: Counts::LastGood,
        }),
        Event::Cli(CliEvent::SettingsRecovered { path: Some("/p/.mcp.json".into()) }),
        Event::Cli(CliEvent::RestartRequired {
            path: "/home/u/.qwen/settings.json".into(),
            keys: vec![key(&["mcp", "serverCommand"])],
        }),
        Event::Reloaded(Arc::new(CommitRecord {
            generation: 2,
            added: vec![name("new")],
            removed: vec![name("old")],
            restarted: vec![name("z"), name("b")],
            rescoped: vec![name("v")],
            kept: 48,
            skipped: vec![(name("linter"), Refusal::PendingApproval)],
        })),
        Event::Catalogue(CatalogueChange {
            revision: 3,
            tools: Delta { added: vec!["mcp__a__echo".to_owned()], removed: Vec::new(), changed: Vec::new() },
            prompts: Delta::default(),
            resources: Delta::default(),
        }),
        server("a", Phase::Connected(connected), "", ""),
        server(
            "b",
            Phase::Failed { failure: failure.clone(), retry_at_unix_ms: None },
            "command not found: nope",
            "install it",
        ),
        server(
            "far",
            Phase::Failed { failure: wants_credentials, retry_at_unix_ms: None },
            "the server answered 401 Unauthorized: it wants credentials",
            "give it credentials in headers in its entry",
        ),
        server(
            "linter",
            Phase::Refused(Refusal::PendingApproval),
            "awaits approval",
            "run `qwen mcp approve linter`",
        ),
        Event::Server { name: name("old"), status: None, words: crate::words::of_removed() },
        Event::Settled(Arc::new(Settling {
            generation: 2,
            failed: vec![(name("b"), failure)],
            duration: Duration::from_millis(312),
        })),
        Event::Cli(CliEvent::PendingApprovalChanged { servers: vec![name("linter")] }),
        Event::Cli(CliEvent::PendingApprovalChanged { servers: Vec::new() }),
        Event::Cli(CliEvent::Notice {
            code: NoticeCode::EditsHeld,
            message: "edits wait for /reload".to_owned(),
        }),
        Event::Ended(EndReason::Interrupt),
    ]
}

#[test]
fn every_event_is_one_line_of_json_with_the_documented_keys() {
    let lines: Vec<String> =
        every_event().iter().map(|event| json_line(event, 1_700_000_000_123).unwrap()).collect();
    assert!(lines.iter().all(|line| !line.contains('\n')));
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn every_event_reads_well_aloud() {
    let lines: Vec<String> =
        every_event().iter().map(|event| human_line(event, "12:00:00", Paint::Plain).unwrap()).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_planned_commit_is_told_by_what_it_changed_alone() {
    let planned = Event::Cli(CliEvent::Planned { generation: 1, status: Arc::new(Status::default()) });
    assert!(json_line(&planned, 0).is_none());
    assert!(human_line(&planned, "", Paint::Plain).is_none());
}

#[test]
fn no_event_for_people_can_move_the_cursor() {
    let event = server("a\u{1b}[2J\nb", Phase::Refused(Refusal::Disabled), "x\u{202e}", "");
    let line = human_line(&event, "12:00:00", Paint::Plain).unwrap();
    assert!(line.chars().all(|c| !c.is_control() && c != '\u{202e}'), "{line}");
}
