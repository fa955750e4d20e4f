use std::sync::Arc;

use proptest::prelude::*;
use qwen_settings_schema::schema;
use serde_json::{Map, Value, json};

use super::*;
use crate::{
    fixtures,
    settings::{Diagnostic, Moment, Origin, SourceSpec, read_source},
};

/// A file of this source; `Null` is no file.
fn file(id: SourceId, root: &Value) -> SourceFile {
    let (presence, root) =
        if root.is_null() { (Presence::Missing, json!({})) } else { (Presence::Present, root.clone()) };
    SourceFile { presence, ..fixtures::settings_file(id, &format!("/{id:?}"), root) }
}

fn broken(id: SourceId, digest: u64) -> SourceFile {
    let error = Diagnostic {
        path: None,
        line: Some(3),
        column: Some(7),
        severity: Severity::Error,
        code: "syntax",
        message: format!("problem {digest}"),
        hint: None,
        excerpt: None,
    };
    let warning = Diagnostic { line: Some(1), severity: Severity::Warning, ..error.clone() };
    SourceFile {
        broken: Some(Broken::KeptLastGood),
        digest,
        diagnostics: vec![warning, error],
        ..file(id, &json!({}))
    }
}

fn snapshot(files: impl IntoIterator<Item = SourceFile>) -> Snapshot {
    files.into_iter().fold(Snapshot::default(), |snapshot, file| snapshot.with(Arc::new(file)))
}

/// What is told about one file, as text.
fn told(id: SourceId, old: &Value, new: &Value) -> Vec<String> {
    let found = changes(&snapshot([file(id, old)]), &snapshot([file(id, new)]), &*schema());
    let keys = |keys: &[Vec<String>]| {
        keys.iter().map(|key| KeyPath::new(key.iter()).to_string()).collect::<Vec<_>>().join(" ")
    };
    let changed = found
        .changed
        .iter()
        .map(|change| format!("{} {} {}", change.scope.as_str(), change.kind.as_str(), keys(&change.keys)));
    let restart = found.restart.iter().map(|(_, restart)| format!("restart {}", keys(restart)));
    changed.chain(restart).collect()
}

#[test]
fn a_change_is_told_by_its_leaves_and_restart_only_changes_are_told_apart() {
    use SourceId::{Approvals, McpJson, Session, System, TrustedFolders, User, UserEnv, Workspace};
    let table = [
        ("no file to no file", User, json!(null), json!(null), vec![]),
        ("an empty file appears", User, json!(null), json!({}), vec![]),
        (
            "a theme",
            User,
            json!({"ui": {"theme": "dark"}}),
            json!({"ui": {"theme": "light"}}),
            vec!["user modified ui.theme"],
        ),
        ("only an order", User, json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1}), vec![]),
        (
            "restart-only",
            User,
            json!({"security": {"auth": {"apiKey": "a"}}}),
            json!({}),
            vec!["restart security.auth.apiKey"],
        ),
        (
            "a mix",
            User,
            json!({}),
            json!({"ui": {"theme": "dark"}, "env": {"A": "1"}}),
            vec!["user modified env.A ui.theme", "restart env.A"],
        ),
        (
            "mcp.serverCommand alone",
            User,
            json!({}),
            json!({"mcp": {"serverCommand": "x"}}),
            vec!["restart mcp.serverCommand"],
        ),
        (
            "the mcp object appears",
            User,
            json!({}),
            json!({"mcp": {"allowed": ["a"]}}),
            vec!["user modified mcp.allowed"],
        ),
        (
            "the mcp object goes",
            System,
            json!({"mcp": {"excluded": ["a"]}}),
            json!({}),
            vec!["system modified mcp.excluded"],
        ),
        (
            "a server appears beside another",
            Workspace,
            json!({"mcpServers": {"foo": {"command": "x"}}}),
            json!({"mcpServers": {"foo": {"command": "x"}, "a.b": {"command": "y"}}}),
            vec![r#"workspace modified mcpServers."a.b".command"#],
        ),
        (
            "a project file appears",
            McpJson,
            json!(null),
            json!({"mcpServers": {"a": {"command": "x"}}}),
            vec!["project created mcpServers.a.command"],
        ),
        (
            "and goes",
            McpJson,
            json!({"mcpServers": {"a": {"command": "x"}}}),
            json!(null),
            vec!["project deleted mcpServers.a.command"],
        ),
        (
            "a session file",
            Session(1),
            json!({}),
            json!({"mcpServers": {"a": {"url": "u"}}}),
            vec!["session modified mcpServers.a.url"],
        ),
        (
            "a variable called mcp",
            UserEnv,
            json!({"mcp": "1"}),
            json!({"mcp": "2"}),
            vec!["user modified mcp"],
        ),
        ("a decision", Approvals, json!({}), json!({"/p": {"a": {}}}), vec![]),
        ("a trusted folder", TrustedFolders, json!({}), json!({"/p": "TRUST_FOLDER"}), vec![]),
    ];
    for (what, id, old, new, expected) in table {
        assert_eq!(told(id, &old, &new), expected, "{what}");
    }
}

#[test]
fn a_broken_file_is_told_once_for_each_content_with_its_first_error_and_so_is_its_repair() {
    let good = || Some(snapshot([file(SourceId::User, &json!({}))]));
    let ill = |digest| Some(snapshot([broken(SourceId::User, digest)]));
    let mut last: Option<Snapshot> = None;
    let mut told = Vec::new();
    for next in [good(), ill(1), ill(1), ill(2), good(), good(), ill(2)] {
        let next = next.unwrap();
        told.push(
            health(last.as_ref(), &next)
                .iter()
                .map(|event| {
                    if let CliEvent::SettingsRecovered { .. } = event {
                        return "recovered".to_owned();
                    }
                    let CliEvent::SettingsInvalid { line, column, message, .. } = event else {
                        panic!("{event:?}")
                    };
                    format!("{message} at {}:{}", line.unwrap(), column.unwrap())
                })
                .collect::<Vec<_>>()
                .join(", "),
        );
        last = Some(next);
    }
    assert_eq!(told, ["", "problem 1 at 3:7", "", "problem 2 at 3:7", "recovered", "", "problem 2 at 3:7"]);
}

#[test]
fn a_file_that_was_no_good_at_boot_is_told_without_an_earlier_snapshot() {
    assert_eq!(health(None, &snapshot([broken(SourceId::McpJson, 1)])).len(), 1);
}

fn settings() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!(1)), Just(json!("x")), Just(json!(["a", "b"])), Just(json!(true))];
    let key = prop_oneof![Just("mcp"), Just("allowed"), Just("ui"), Just("a.b"), Just("env")];
    leaf.prop_recursive(3, 12, 3, move |inner| {
        prop::collection::vec((key.clone(), inner), 0..3).prop_map(|members| {
            Value::Object(
                members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>(),
            )
        })
    })
    .prop_map(|value| if value.is_object() { value } else { json!({ "ui": value }) })
}

proptest! {
    #[test]
    fn any_edit_is_told_by_exactly_its_leaves(old in settings(), new in settings()) {
        let id = SourceId::User;
        let found = changes(&snapshot([file(id, &old)]), &snapshot([file(id, &new)]), &*schema());
        let leaves: Vec<Vec<String>> = schema().changed_leaves(&old, &new).iter().map(segments).collect();
        let restart: Vec<Vec<String>> = found.restart.into_iter().flat_map(|(_, keys)| keys).collect();
        let changed: Vec<Vec<String>> = found.changed.into_iter().flat_map(|change| change.keys).collect();
        if changed.is_empty() {
            prop_assert_eq!(restart, leaves, "what is not told as a change needs a restart, all of it");
        } else {
            prop_assert!(restart.iter().all(|key| leaves.contains(key)) && restart.len() < leaves.len());
            prop_assert_eq!(changed, leaves);
        }
    }
}

/// User settings with this text, as they are read from a file.
fn parsed(text: &str, before: Option<&SourceFile>) -> SourceFile {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    std::fs::write(&path, text).unwrap();
    let spec = SourceSpec { id: SourceId::User, origin: Origin::File(path) };
    let moment = if before.is_some() { Moment::Reload } else { Moment::Start };
    read_source(&spec, before, moment)
}

#[test]
fn what_still_counts_of_a_file_that_is_no_good_is_said() {
    let good = parsed(r#"{"mcp": {"allowed": ["a"]}}"#, None);
    for (text, before, expected) in [
        (r#"{"mcp": {"allowed": "a"}}"#, Some(&good), Counts::TheRestAndLastGood),
        (r#"{"mcp": {"allowed": "a"}}"#, None, Counts::TheRest),
        (r#"{"mcpServers": {"a": null}}"#, Some(&good), Counts::TheRest),
        (r#"{"mcpServers": {"#, Some(&good), Counts::LastGood),
        (r#"{"mcpServers": {"#, None, Counts::Nothing),
    ] {
        let told =
            health(before.map(|file| snapshot([file.clone()])).as_ref(), &snapshot([parsed(text, before)]));
        let [CliEvent::SettingsInvalid { counts, .. }] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!(*counts, expected, "{text}");
    }
}

#[test]
fn a_wrong_restricting_key_that_was_never_set_changes_nothing() {
    let before = parsed("{}", None);
    let now = parsed(r#"{"mcp": {"allowed": 5}}"#, Some(&before));
    let found = changes(&snapshot([before]), &snapshot([now]), &*schema());
    assert_eq!(found, Changes::default());
}
