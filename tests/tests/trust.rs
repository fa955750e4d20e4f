//! Does a decision bind to exactly what was shown, in every session at once, and does nothing start without one?

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    time::Duration,
};

use qwen_tests::{BOUND, Mark, Ran, Sandbox, Watch, alive, stated, wait_until};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

fn approve(sandbox: &Sandbox, name: &str) -> Ran {
    sandbox.run(["mcp", "approve", name]).ended_with(0)
}

fn hash_of(sandbox: &Sandbox, name: &str) -> String {
    let row = sandbox.run(["mcp", "plan", "--json"]).ended_with(0).row(name);
    row["approval"]["hash"].as_str().unwrap_or_else(|| panic!("no hash in {row}")).to_owned()
}

/// A session in which the project's server `a` is approved and connected.
fn approved_session(sandbox: &Sandbox, entry: &Value) -> Watch {
    sandbox.project_servers(&json!({ "a": entry }));
    approve(sandbox, "a");
    let watch = sandbox.watch();
    watch.state("a", "connected");
    watch
}

#[test]
fn an_edit_of_any_single_field_of_an_approved_entry_is_undecided_again_and_gone_before_it_is_asked() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.root().join("fake-elsewhere");
    symlink(qwen_tests::program("fake-mcp"), &elsewhere).unwrap();
    let base = sandbox.fake("a", &["--tools", "2"]);
    let watch = approved_session(&sandbox, &base);
    let args = sandbox.fake("a", &["--tools", "2", "--tag", "x"])["args"].clone();
    let edits = [
        ("command", json!(elsewhere)),
        ("args", args),
        ("env", json!({})),
        ("env", json!({ "A": "1" })),
        ("cwd", json!("/tmp")),
        ("timeout", json!(1234)),
        ("discoveryTimeoutMs", json!(12_345)),
        ("trust", json!(true)),
        ("includeTools", json!(["tool_1"])),
        ("excludeTools", json!([])),
        ("alwaysLoadTools", json!(true)),
        ("versionNegotiation", json!("legacy")),
        ("pool", json!("session")),
        ("somethingUnknown", json!(1)),
    ];
    for (field, value) in edits {
        let pid = watch.pid_of("a");
        let mut edited = base.clone();
        edited[field] = value.clone();
        let mark = watch.mark();
        sandbox.project_servers(&json!({ "a": edited }));
        let asked =
            watch.after(mark, "mcp-pending-approval-changed", |event| event["servers"] == json!(["a"]));
        let seen = watch.since(mark);
        let place = |right: &dyn Fn(&Value) -> bool| seen.iter().position(right);
        let gone = place(&|event| {
            event["event"] == "catalogue-changed"
                && event["tools"]["removed"].to_string().contains("mcp__a__")
        });
        let question = place(&|event| *event == asked);
        assert!(gone.is_some() && gone < question, "{field} {value}: {seen:#?}");
        watch.state_after(mark, "a", "pending_approval");
        wait_until(stated(Duration::from_millis(2500)), "its process to end", || (!alive(pid)).then_some(()));

        let mark = watch.mark();
        sandbox.project_servers(&json!({ "a": base }));
        watch.state_after(mark, "a", "connected");
    }
}

#[test]
fn layout_comments_key_order_description_and_a_rotated_token_are_not_asked_about() {
    let sandbox = Sandbox::new();
    let variables = sandbox.home().join(".qwen/.env");
    qwen_tests::replace(&variables, "TOKEN=first-value-of-it\n");
    let mut entry = sandbox.fake("a", &["--dump-env"]);
    entry["env"] = json!({ "T": "${TOKEN}", "U": "u" });
    let mut watch = approved_session(&sandbox, &entry);
    let start = Mark::START;

    let reordered = json!({
        "description": "new words",
        "env": { "U": "u", "T": "${TOKEN}" }, "args": entry["args"], "command": entry["command"],
    });
    let mark = watch.mark();
    let text = format!("// words\n{}", json!({ "mcpServers": { "a": reordered } }));
    qwen_tests::replace(&sandbox.mcp_json(), &text);
    watch.after(mark, "settings-change", |_| true);
    watch.nothing_more_since(mark);
    assert_eq!(sandbox.spawns("a"), 1);

    let mark = watch.mark();
    qwen_tests::replace(&variables, "TOKEN=second-value-of-it\n");
    watch.state_after(mark, "a", "connected");
    let spawned = sandbox.logged("a", "spawn");
    assert_eq!(spawned.last().unwrap()["env"]["T"], "second-value-of-it");
    watch.nothing_more_since(mark);
    assert!(watch.named_since(start, "mcp-pending-approval-changed").is_empty());
}

#[test]
fn a_rejected_server_is_asked_about_again_only_after_its_entry_changes() {
    let sandbox = Sandbox::new();
    let entry = sandbox.fake("a", &[]);
    sandbox.project_servers(&json!({ "a": entry }));
    let mut watch = sandbox.watch();
    watch.after(Mark::START, "mcp-pending-approval-changed", |_| true);
    let mark = watch.mark();
    sandbox.run(["mcp", "reject", "a"]).ended_with(0);
    watch.state_after(mark, "a", "rejected");
    let now = watch.after(mark, "mcp-pending-approval-changed", |_| true);
    assert_eq!(now["servers"], json!([]));

    let mark = watch.mark();
    sandbox.user_servers(&json!({ "unrelated": sandbox.fake("unrelated", &[]) }));
    watch.state_after(mark, "unrelated", "connected");
    watch.nothing_more_since(mark);
    assert!(watch.named_since(mark, "mcp-pending-approval-changed").is_empty());

    let mark = watch.mark();
    sandbox.project_servers(&json!({ "a": sandbox.fake("a", &["--tag", "edited"]) }));
    let asked = watch.after(mark, "mcp-pending-approval-changed", |_| true);
    assert_eq!(asked["servers"], json!(["a"]));
    watch.state_after(mark, "a", "pending_approval");
    assert_eq!(sandbox.spawns("a"), 0);
}

#[test]
fn what_was_decided_is_remembered_when_the_same_entry_comes_back() {
    let sandbox = Sandbox::new();
    let (a, b) = (sandbox.fake("s", &[]), sandbox.fake("s", &["--tag", "b"]));
    let rejected = sandbox.fake("r", &[]);
    sandbox.project_servers(&json!({ "s": a, "r": rejected }));
    approve(&sandbox, "s");
    sandbox.run(["mcp", "reject", "r"]).ended_with(0);
    let watch = sandbox.watch();
    watch.state("s", "connected");

    // Approved, removed, the same again: connects silently. Rejected, removed, the same again: stays out, says why.
    let mark = watch.mark();
    sandbox.project_servers(&json!({}));
    watch.state_after(mark, "s", "removed");
    watch.state_after(mark, "r", "removed");
    let mark = watch.mark();
    sandbox.project_servers(&json!({ "s": a, "r": rejected }));
    watch.state_after(mark, "s", "connected");
    watch.state_after(mark, "r", "rejected");
    let row = sandbox.run(["mcp", "list", "--json", "--no-connect"]).row("r");
    assert_eq!(row["state"], "rejected");
    assert!(row["nextStep"].as_str().unwrap().contains("qwen mcp approve r --hash"), "{row}");
    assert!(watch.named_since(Mark::START, "mcp-pending-approval-changed").is_empty());

    // Approve A, edit to B, approve B, back to A: no question.
    let mark = watch.mark();
    sandbox.project_servers(&json!({ "s": b, "r": rejected }));
    watch.after(mark, "mcp-pending-approval-changed", |event| event["servers"] == json!(["s"]));
    approve(&sandbox, "s");
    watch.state_after(mark, "s", "connected");
    let mark = watch.mark();
    sandbox.project_servers(&json!({ "s": a, "r": rejected }));
    watch.settled(mark);
    watch.state_after(mark, "s", "connected");
    let asked = watch.named_since(mark, "mcp-pending-approval-changed");
    assert!(asked.iter().all(|event| event["servers"] == json!([])), "{asked:#?}");
    assert_eq!(sandbox.spawns("r"), 0);
}

#[test]
fn a_connected_server_that_is_rejected_or_revoked_elsewhere_is_closed_at_once() {
    let sandbox = Sandbox::new();
    let watch = approved_session(&sandbox, &sandbox.fake("a", &[]));
    let verdicts: [(&[&str], &str); 2] =
        [(&["mcp", "reject", "a"], "rejected"), (&["mcp", "approvals", "revoke", "a"], "pending_approval")];
    for (command, state) in verdicts {
        let pid = watch.pid_of("a");
        let mark = watch.mark();
        sandbox.run(command).ended_with(0);
        watch.state_after(mark, "a", state);
        wait_until(stated(Duration::from_millis(2500)), "its process to end", || (!alive(pid)).then_some(()));
        let mark = watch.mark();
        approve(&sandbox, "a");
        watch.state_after(mark, "a", "connected");
    }
}

#[test]
fn an_unapproved_entry_of_the_project_does_not_replace_the_users_server_of_that_name() {
    let sandbox = Sandbox::new();
    let (mine, theirs) = (sandbox.fake("mine", &[]), sandbox.fake("theirs", &[]));
    sandbox.user_servers(&json!({ "github": mine }));
    sandbox.project_servers(&json!({ "github": theirs }));
    let watch = sandbox.watch();
    let runs = |expected: &str, mark: Mark, what: &str| {
        wait_until(BOUND, &format!("{expected} to run {what}"), || {
            let newest = watch.newest("github")?;
            let spawn = sandbox.logged(expected, "spawn").pop()?;
            (newest["state"] == "connected" && newest["pid"] == spawn["pid"]).then_some(())
        });
        let other = if expected == "mine" { "theirs" } else { "mine" };
        wait_until(BOUND, &format!("{other} to be gone {what}"), || {
            let gone = sandbox.logged(other, "spawn").iter().all(|line| {
                let pid = line["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
                !pid.is_some_and(alive)
            });
            gone.then_some(())
        });
        assert!(watch.mark() >= mark);
    };
    runs("mine", Mark::START, "before a decision");
    let row = sandbox.run(["mcp", "list", "--json", "--no-connect"]).row("github");
    assert_eq!(row["scope"], "user", "{row}");
    assert!(row["shadowedBy"].to_string().contains(".mcp.json"), "{row}");
    assert_eq!(sandbox.spawns("theirs"), 0);

    sandbox.run(["mcp", "reject", "github"]).ended_with(0);
    let mark = watch.mark();
    sandbox.project_servers(&json!({ "github": theirs, "other": theirs }));
    watch.state_after(mark, "other", "pending_approval");
    runs("mine", mark, "after a rejection");
    assert_eq!(sandbox.spawns("theirs"), 0);

    let hash = sandbox.run(["mcp", "approvals", "list", "--json"]).json()[0]["hash"].clone();
    sandbox.run(["mcp", "approve", "github", "--hash", hash.as_str().unwrap()]).ended_with(0);
    runs("theirs", mark, "after an approval");

    let mark = watch.mark();
    sandbox.project_servers(&json!({ "github": sandbox.fake("theirs", &["--tag", "edited"]) }));
    runs("mine", mark, "after the approved entry changed");
    assert_eq!(sandbox.spawns("theirs"), 1);
}

#[test]
fn two_processes_that_approve_different_servers_at_the_same_time_both_count() {
    let sandbox = Sandbox::new();
    let servers: serde_json::Map<String, Value> = (0..100)
        .flat_map(|n| [format!("left{n}"), format!("right{n}")])
        .map(|name| (name.clone(), sandbox.fake(&name, &[])))
        .collect();
    sandbox.project_servers(&json!(servers));
    std::thread::scope(|scope| {
        for side in ["left", "right"] {
            let sandbox = &sandbox;
            scope.spawn(move || (0..100).for_each(|n| drop(approve(sandbox, &format!("{side}{n}")))));
        }
    });
    let record: Value = serde_json::from_str(&fs::read_to_string(sandbox.approvals()).unwrap()).unwrap();
    let of_project = record[sandbox.project().to_str().unwrap()].as_object().unwrap();
    assert_eq!(of_project.len(), 200);
    assert!(of_project.values().all(|record| record["status"] == "approved"));
    let mode = fs::metadata(sandbox.approvals()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_record_written_by_another_program_with_the_same_rules_is_honoured() {
    let sandbox = Sandbox::new();
    let entry = sandbox.fake("a", &[]);
    let log = sandbox.log_path();
    // The canonical text, written by hand: keys sorted, no blanks, `type` dropped in `.mcp.json`.
    let text = format!(
        "{{\"args\":[\"--name\",\"a\",\"--log\",\"{}\"],\"command\":\"{}\",\"timeout\":1000}}",
        log.display(),
        entry["command"].as_str().unwrap(),
    );
    let hash = hex::encode(Sha256::digest(text.as_bytes()));
    let mut written = json!({ "type": "stdio", "timeout": 1e3, "description": "words" });
    written["args"] = entry["args"].clone();
    written["command"] = entry["command"].clone();
    sandbox.project_servers(&json!({ "a": written }));
    let project = sandbox.project().to_str().unwrap().to_owned();
    let record = json!({ project: { "a": { "hash": hash, "status": "approved" } } });
    sandbox.write(&sandbox.approvals(), &record);
    let row = sandbox.run(["mcp", "list", "--json"]).ended_with(0).row("a");
    assert_eq!(row["state"], "connected", "{row:#}");
    assert_eq!(row["approval"]["hash"], json!(hash));
}

#[test]
fn two_hundred_times_what_changed_after_it_was_shown_is_not_approved_by_the_shown_hash() {
    let sandbox = Sandbox::new();
    let entry = |n: usize| json!({ "a": sandbox.fake("a", &["--tag", &n.to_string()]) });
    sandbox.project_servers(&entry(0));
    for n in 1..=200 {
        let shown = hash_of(&sandbox, "a");
        sandbox.project_servers(&entry(n));
        sandbox.run(["mcp", "approve", "a", "--hash", &shown]).ended_with(5);
    }
    assert!(!sandbox.approvals().exists());
    assert_eq!(sandbox.run(["mcp", "list", "--json"]).state("a"), "pending_approval");
    assert_eq!(sandbox.spawns("a"), 0);
}

#[test]
fn what_runs_is_always_what_was_approved_also_when_it_changes_at_once() {
    let sandbox = Sandbox::new();
    let entry = |tag: &str| json!({ "a": sandbox.fake("a", &["--tag", tag]) });
    sandbox.write(&sandbox.user(), &json!({ "mcp": { "reloadDebounceMs": 0 } }));
    sandbox.project_servers(&entry("start"));
    let watch = sandbox.watch();
    watch.ready();
    for n in 0..200 {
        sandbox.project_servers(&entry(&format!("shown{n}")));
        let hash = hash_of(&sandbox, "a");
        std::thread::scope(|scope| {
            scope.spawn(|| sandbox.run(["mcp", "approve", "a", "--hash", &hash]));
            scope.spawn(|| sandbox.project_servers(&entry(&format!("evil{n}"))));
        });
    }
    let mark = watch.mark();
    sandbox.project_servers(&json!({}));
    watch.state_after(mark, "a", "removed");
    for spawn in sandbox.logged("a", "spawn") {
        assert!(!spawn["argv"].to_string().contains("evil"), "{spawn}");
    }
}

#[test]
fn a_decision_in_another_terminal_takes_effect_at_once_beside_a_hanging_server() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({ "hanging": sandbox.fake("hanging", &["--mute"]) }));
    sandbox.project_servers(&json!({ "a": sandbox.fake("a", &[]) }));
    let watch = sandbox.watch();
    watch.state("hanging", "connecting");
    watch.state("a", "pending_approval");
    let mark = watch.mark();
    approve(&sandbox, "a");
    let update =
        watch.after_within(stated(Duration::from_millis(1500)), mark, "mcp-client-update", |event| {
            event["server"] == "a" && event["state"] == "connected"
        });
    let pid = u32::try_from(update["pid"].as_u64().unwrap()).unwrap();
    let mark = watch.mark();
    sandbox.run(["mcp", "approvals", "revoke", "a"]).ended_with(0);
    watch.state_after(mark, "a", "pending_approval");
    wait_until(stated(Duration::from_millis(2500)), "its process to end", || (!alive(pid)).then_some(()));
    assert_eq!(watch.newest("hanging").unwrap()["state"], "connecting");
}

#[test]
fn a_corrupt_record_decides_nothing_and_is_set_aside_before_the_first_write() {
    let sandbox = Sandbox::new();
    sandbox.project_servers(&json!({ "a": sandbox.fake("a", &[]) }));
    approve(&sandbox, "a");
    qwen_tests::replace(&sandbox.approvals(), "{ half of");
    assert_eq!(sandbox.run(["mcp", "list", "--json"]).state("a"), "pending_approval");
    approve(&sandbox, "a");
    let folder = sandbox.home().join(".qwen");
    let aside = fs::read_dir(folder)
        .unwrap()
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().starts_with("mcpApprovals.json.corrupt-"));
    assert_eq!(fs::read_to_string(aside.unwrap().path()).unwrap(), "{ half of");
    assert_eq!(sandbox.run(["mcp", "list", "--json"]).state("a"), "connected");
}
