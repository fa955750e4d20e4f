use qwen_core::{Connected, NotAllowedBy};
use serde_json::json;

use super::*;
use crate::{
    fixtures::{self, HASH, file, restricting_files as snapshot},
    settings::SourceId,
};

fn refusals() -> Vec<Refusal> {
    vec![
        Refusal::SettingsUnreadable { sources: vec!["/etc/qwen-code/settings.json".to_owned()] },
        Refusal::UntrustedFolder,
        Refusal::NotAllowed(NotAllowedBy::LaunchBound),
        Refusal::NotAllowed(NotAllowedBy::Scope(Scope::User)),
        Refusal::Excluded { pattern: Pattern::new("gh*").unwrap() },
        Refusal::Excluded { pattern: Pattern::new("db").unwrap() },
        Refusal::Disabled,
        Refusal::Invalid { why: "command and url cannot stand together".to_owned() },
        Refusal::Rejected,
        Refusal::PendingApproval,
    ]
}

#[test]
fn every_refusal_says_why_and_what_to_do() {
    let snapshot = snapshot();
    let back = fixtures::background(&snapshot);
    let row = fixtures::row("gh", Scope::Project);
    let mut text = String::new();
    for refusal in refusals() {
        let words = of_refusal(&refusal, &row.name, Some(&row), back);
        text.push_str(&format!(
            "{}\n  {}\n  next: {}\n",
            refusal.as_str(),
            words.cause.unwrap(),
            words.next_step.unwrap()
        ));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn what_could_not_be_listed_has_a_next_step_and_an_odd_tool_has_none() {
    let snapshot = Snapshot::default();
    let back = fixtures::background(&snapshot);
    let row = fixtures::row("gh", Scope::User);
    let step = |unlisted: &[&'static str]| {
        let connected = Connected {
            pid: None,
            tools: 0,
            prompts: 0,
            resources: 0,
            warnings: vec!["something is odd".to_owned()],
            unlisted: unlisted.to_vec(),
        };
        of_phase(&Phase::Connected(connected), &row.name, Some(&row), back).next_step
    };
    let expected =
        "run `qwen mcp reconnect gh`; if it stays so, look for the cause in the server's own log".to_owned();
    assert_eq!(step(&["tools"]), Some(expected));
    assert_eq!(step(&[]), None);
}

#[test]
fn an_invalid_entry_is_mended_where_it_is_wrong() {
    let entry = json!({ "httpUrl": "https://e.example", "headers": { "X-Key": "a" } });
    let row = fixtures::written(fixtures::invalid("gh", "it is wrong"), entry);
    let at = ["mcpServers", "gh", "headers", "X-Key"];
    let mut record = (*file(SourceId::User, "/home/u/.qwen/settings.json", json!({}), &at, 9)).clone();
    let mut positions = (*record.positions).clone();
    positions.insert(&["mcpServers", "gh"], crate::settings::Place { line: 4, column: 5 });
    record.positions = std::sync::Arc::new(positions);
    let snapshot = Snapshot::default().with(std::sync::Arc::new(record));
    let back = fixtures::background(&snapshot);
    for (wrong, step) in [
        (vec!["headers", "X-Key"], "replace the header X-Key in /home/u/.qwen/settings.json:9"),
        (vec!["httpUrl"], "mend /home/u/.qwen/settings.json:4"),
        (vec![], "mend /home/u/.qwen/settings.json:4"),
    ] {
        let wrong = wrong.into_iter().map(str::to_owned).collect();
        let row = Row { wrong, ..row.clone() };
        let refusal = Refusal::Invalid { why: "it is wrong".to_owned() };
        assert_eq!(of_refusal(&refusal, &row.name, Some(&row), back).next_step.unwrap(), step);
    }
}

#[test]
fn a_variable_without_a_value_is_to_be_set() {
    let row = Row { unset: Some("TOKEN".to_owned()), ..fixtures::invalid("gh", "TOKEN is not set") };
    let refusal = Refusal::Invalid { why: "TOKEN is not set".to_owned() };
    let step = |snapshot: &Snapshot| {
        of_refusal(&refusal, &row.name, Some(&row), fixtures::background(snapshot)).next_step.unwrap()
    };
    let at = "or in the environment before the start; or mend /home/u/.qwen/settings.json:4";
    assert_eq!(step(&Snapshot::default()), format!("set TOKEN in ~/.qwen/.env, {at}"));
    let moved = file(SourceId::UserEnv, "/elsewhere/.env", json!({}), &[], 1);
    assert_eq!(step(&Snapshot::default().with(moved)), format!("set TOKEN in /elsewhere/.env, {at}"));
}

#[test]
fn an_approval_that_is_missing_points_to_no_log() {
    let snapshot = snapshot();
    let back = fixtures::background(&snapshot);
    let row = fixtures::row("gh", Scope::Project);
    for refusal in [Refusal::PendingApproval, Refusal::Rejected] {
        let words = of_refusal(&refusal, &row.name, Some(&row), back);
        let text = format!("{words:?}");
        assert!(!text.contains("log") && !text.contains("-v"), "{text}");
        assert!(text.contains(&format!("qwen mcp approve gh --hash {HASH}")), "{text}");
    }
}

#[test]
fn a_connected_server_says_who_would_take_its_name() {
    let snapshot = Snapshot::default();
    let back = fixtures::background(&snapshot);
    let row = fixtures::shadowed("gh");
    let phase = Phase::Connected(Connected {
        pid: None,
        tools: 1,
        prompts: 0,
        resources: 0,
        warnings: Vec::new(),
        unlisted: Vec::new(),
    });
    let words = of_phase(&phase, &row.name, Some(&row), back);
    assert_eq!(words.cause.unwrap(), "shadowed by an unapproved entry in /p/.mcp.json:3");
    assert!(words.next_step.unwrap().contains("qwen mcp approve gh --hash"));
}

#[test]
fn a_broken_record_of_trust_is_what_has_to_be_mended() {
    let mut record =
        (*file(SourceId::TrustedFolders, "/home/u/.qwen/trustedFolders.json", json!({}), &[], 1)).clone();
    record.content = Content::Folders(FolderRules::Unreadable);
    let snapshot = Snapshot::default().with(std::sync::Arc::new(record));
    let back = fixtures::background(&snapshot);
    let words = of_refusal(&Refusal::UntrustedFolder, &ServerName::from("gh"), None, back);
    assert_eq!(
        (words.cause.unwrap().as_str(), words.next_step.unwrap().as_str()),
        (
            "/home/u/.qwen/trustedFolders.json could not be read, and without it no folder is trusted",
            "mend /home/u/.qwen/trustedFolders.json, or move it away and run `qwen trust`"
        )
    );
}

#[test]
fn no_command_is_named_for_an_entry_that_another_process_would_vouch_for() {
    let snapshot = Snapshot::default();
    let back = fixtures::background(&snapshot);
    let mut row = fixtures::row("gh", Scope::Session);
    row.approval = fixtures::row("gh", Scope::Project).approval;
    let words = of_refusal(&Refusal::PendingApproval, &row.name, Some(&row), back);
    assert!(!words.next_step.unwrap().contains("qwen mcp approve"));
}

#[test]
fn in_a_session_the_next_step_is_something_that_one_does_in_it() {
    let snapshot = snapshot();
    let back = Background { prompt: Prompt::Session, ..fixtures::background(&snapshot) };
    for state in fixtures::every_state() {
        let words = of_phase(&state.phase, &state.row.name, Some(&state.row), back);
        let step = words.next_step.unwrap_or_default();
        // What nothing on the screen does is done elsewhere, and says so.
        assert!(!step.contains("`qwen ") || step.contains("in another terminal"), "{}: {step}", state.label);
    }
}
