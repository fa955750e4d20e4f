//! Who has a name when several entries claim it.

use qwen_approvals::Verdict;
use qwen_core::{Decision, Scope};
use serde_json::{Value, json};

use super::{
    super::*,
    site::{Running, Site},
};

fn servers(name: &str, command: &str) -> Value {
    json!({ "mcpServers": { name: { "command": command } } })
}

/// The user's `gh` and the project's.
fn two() -> Site {
    Site::new()
        .file("home/.qwen/settings.json", servers("gh", "good"))
        .file("project/.mcp.json", servers("gh", "theirs"))
}

fn runs(site: &Site, derived: &Derived) -> String {
    format!("{}: {}", site.verdicts(derived), site.argv(derived, "gh").join(" "))
}

fn again(site: &Site, running: &mut Running, derived: &mut Derived) {
    *derived = site.reload(running, derived);
}

#[test]
fn a_project_entry_takes_the_users_name_only_once_it_is_approved() {
    let site = two();
    let (mut running, mut derived) = site.start();
    assert_eq!(runs(&site, &derived), "gh connect: good");
    let row = &derived.rows["gh"];
    assert_eq!(row.scope, Scope::User);
    let above = row.shadowed_by.as_ref().unwrap();
    assert_eq!(
        (above.scope, above.decision, above.source.line),
        (Scope::Project, Decision::Undecided, Some(1))
    );
    let asked = &derived.promptable["gh"];
    assert_eq!(asked.replaces.as_ref().unwrap().scope, Scope::User);
    assert!(derived.gating.pending.is_empty(), "the entry that counts waits for nobody");

    site.decide(&derived, "gh", Verdict::Approve);
    again(&site, &mut running, &mut derived);
    assert_eq!(runs(&site, &derived), "gh connect: theirs");
    let row = &derived.rows["gh"];
    assert_eq!((row.scope, row.shadowed_by.is_none(), row.shadows.len()), (Scope::Project, true, 1));

    // An approved entry that changes falls back until it is decided; so does a rejected one.
    site.write("project/.mcp.json", &servers("gh", "changed").to_string());
    again(&site, &mut running, &mut derived);
    assert_eq!(runs(&site, &derived), "gh connect: good");
    site.decide(&derived, "gh", Verdict::Reject);
    again(&site, &mut running, &mut derived);
    assert_eq!(runs(&site, &derived), "gh connect: good");
    assert_eq!(derived.rows["gh"].shadowed_by.as_ref().unwrap().decision, Decision::Rejected);
    assert!(derived.promptable.is_empty(), "a rejected entry is not asked about again");

    // Back to what was approved: nobody is asked.
    site.write("project/.mcp.json", &servers("gh", "theirs").to_string());
    again(&site, &mut running, &mut derived);
    assert_eq!(runs(&site, &derived), "gh connect: theirs");
}

#[test]
fn without_an_entry_that_may_connect_the_highest_one_counts_and_is_refused() {
    let site = Site::new()
        .file("project/.mcp.json", servers("gh", "low"))
        .file("project/.qwen/settings.json", servers("gh", "high"));
    let (mut running, mut derived) = site.start();
    assert_eq!(runs(&site, &derived), "gh pending_approval: high");
    assert_eq!(derived.rows["gh"].shadowed_by, None);
    assert_eq!(derived.promptable["gh"].scope, Scope::Workspace);
    assert_eq!(derived.promptable["gh"].replaces, None);
    // The one below may be approved by its own bytes: a decision about `high` says nothing about `low`.
    site.decide(&derived, "gh", Verdict::Reject);
    again(&site, &mut running, &mut derived);
    assert_eq!(runs(&site, &derived), "gh rejected: high");
}

#[test]
fn an_approval_of_one_file_is_none_of_another_files_entry() {
    let site = Site::new().file("project/.mcp.json", servers("x", "approved"));
    let (mut running, mut derived) = site.start();
    site.decide(&derived, "x", Verdict::Approve);
    again(&site, &mut running, &mut derived);
    assert_eq!(site.argv(&derived, "x"), ["approved"]);
    site.write("project/.qwen/settings.json", &servers("x", "override").to_string());
    again(&site, &mut running, &mut derived);
    assert_eq!((site.verdicts(&derived).as_str(), site.argv(&derived, "x")), ("x connect", vec!["approved"]));
    assert_eq!(derived.promptable["x"].scope, Scope::Workspace);
}

#[test]
fn system_and_session_entries_win_without_a_question() {
    let site = two().file("system.json", servers("gh", "system"));
    let (_, derived) = site.start();
    assert_eq!(runs(&site, &derived), "gh connect: system");
    assert_eq!((derived.promptable.len(), derived.rows["gh"].shadows.len()), (0, 2));
    let site = site.flag_inline(&servers("gh", "session").to_string());
    assert_eq!(runs(&site, &site.start().1), "gh connect: session");
}

#[test]
fn the_higher_of_user_and_defaults_replaces_the_whole_entry() {
    let site = Site::new()
        .file("system-defaults.json", json!({"mcpServers": {"gh": {"command": "a", "args": ["x"]}}}))
        .file("home/.qwen/settings.json", servers("gh", "b"));
    assert_eq!(runs(&site, &site.start().1), "gh connect: b");
}

#[test]
fn an_edit_asks_again_and_what_the_hash_leaves_out_does_not() {
    let entry = json!({"command": "srv", "args": ["a", "b"], "env": {"T": "${TOK}"}, "description": "d"});
    let with = |change: &dyn Fn(&mut Value)| {
        let mut entry = entry.clone();
        change(&mut entry);
        json!({"mcpServers": {"x": entry}}).to_string()
    };
    let site = Site::new().env("TOK", "one").text("project/.mcp.json", &with(&|_| {}));
    let (mut running, mut derived) = site.start();
    site.decide(&derived, "x", Verdict::Approve);
    again(&site, &mut running, &mut derived);
    assert_eq!(site.verdicts(&derived), "x connect");
    let harmless: [&str; 3] = [
        &with(&|entry| entry["description"] = json!("other")),
        "// comment\n{\"mcpServers\":{\"x\":{\"env\":{\"T\":\"${TOK}\"},\"args\":[\"\\u0061\",\"b\"],\"command\":\"srv\",},}}\r\n",
        &with(&|entry| entry["enabled"] = json!(true)),
    ];
    for text in harmless {
        site.write("project/.mcp.json", text);
        again(&site, &mut running, &mut derived);
        assert_eq!(site.verdicts(&derived), "x connect", "{text}");
    }
    // A rotated token does not ask again: the hash is over what is written.
    let rotated = Site::env(site.with(|_| {}), "TOK", "two");
    assert_eq!(rotated.verdicts(&rotated.start().1), "x connect");
    let edits: [&dyn Fn(&mut Value); 6] = [
        &|entry| entry["command"] = json!("sh"),
        &|entry| entry["args"] = json!(["b", "a"]),
        &|entry| entry["env"]["T"] = json!("${OTHER:-x}"),
        &|entry| entry["cwd"] = json!("/"),
        &|entry| entry["trust"] = json!(true),
        &|entry| entry["unknownField"] = json!(1),
    ];
    for edit in edits {
        site.write("project/.mcp.json", &with(edit));
        again(&site, &mut running, &mut derived);
        assert_eq!(site.verdicts(&derived), "x pending_approval");
        assert_eq!(derived.promptable.len(), 1);
    }
    site.write("project/.mcp.json", &with(&|_| {}));
    again(&site, &mut running, &mut derived);
    assert_eq!(site.verdicts(&derived), "x connect");
}

#[test]
fn only_what_would_connect_is_asked_about() {
    let site = Site::new()
        .file("home/.qwen/settings.json", json!({"mcp": {"excluded": ["ex*"], "allowed": ["*"]}}))
        .file(
            "project/.mcp.json",
            json!({"mcpServers": {
                "excluded": {"command": "a"}, "off": {"command": "a", "disabled": true},
                "broken": {"command": 5}, "unset": {"command": "a", "env": {"T": "${NOPE}"}}, "good": {"command": "a"},
            }}),
        );
    let (_, derived) = site.start();
    assert_eq!(
        site.verdicts(&derived),
        "excluded excluded, off disabled, broken invalid, unset invalid, good pending_approval"
    );
    assert_eq!(derived.rows["unset"].unset.as_deref(), Some("NOPE"));
    assert_eq!(derived.rows["broken"].unset, None);
    assert_eq!(derived.promptable.keys().map(ServerName::as_str).collect::<Vec<_>>(), ["good"]);
    let bounded = site.bound(&["other"]);
    assert!(bounded.start().1.promptable.is_empty());
}

#[test]
fn a_lower_candidate_is_asked_about_where_the_higher_one_could_not_connect() {
    let site = Site::new()
        .file("project/.mcp.json", servers("gh", "low"))
        .file(
            "project/.qwen/settings.json",
            json!({"mcpServers": {"gh": {"command": "high", "disabled": true}}}),
        )
        .file("home/.qwen/settings.json", servers("gh", "good"));
    let (_, derived) = site.start();
    assert_eq!(runs(&site, &derived), "gh connect: good");
    assert_eq!(derived.promptable["gh"].scope, Scope::Project);
}

#[test]
fn the_question_names_the_variables_and_where_they_go() {
    let site = Site::new().env("KEY", "k").file(
        "project/.mcp.json",
        json!({"mcpServers": {"x": {
            "httpUrl": "${BASE:-http://h}/mcp", "headers": {"X-Key": "${KEY}${KEY}"},
        }}}),
    );
    let (_, derived) = site.start();
    let read: Vec<String> = derived.promptable["x"]
        .variables
        .iter()
        .map(|read| format!("{} {:?} {}", read.name, read.set, read.field.join(".")))
        .collect();
    assert_eq!(read, ["BASE Default httpUrl", "KEY Set headers.X-Key"]);
}
