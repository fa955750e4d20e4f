//! Who may connect: bounds, lists, flags, folder trust, files that cannot be read.

use qwen_approvals::Verdict;
use qwen_core::{Decision, EnvPolicy, Scope, Wire};
use serde_json::{Value, json};

use super::{
    super::*,
    site::{Site, root_of, wire},
};

fn abc() -> Value {
    json!({"a": {"command": "srv"}, "b": {"command": "srv"}, "c": {"command": "srv"}})
}

/// What `a`, `b` and `c` come to under `mcp` settings of user and workspace.
fn admitted(site: Site, user: &Value, workspace: &Value) -> String {
    let site = site
        .file("home/.qwen/settings.json", json!({"mcpServers": abc(), "mcp": user}))
        .file("project/.qwen/settings.json", json!({"mcp": workspace}));
    let verdicts = site.verdicts(&site.start().1);
    let names = verdicts.split(", ").filter_map(|verdict| verdict.strip_suffix(" connect"));
    names.collect::<Vec<_>>().join("")
}

#[test]
fn every_list_and_the_bound_must_admit_and_excluded_wins() {
    let cases: [(&[&str], Value, Value, &str); 16] = [
        (&[], json!({}), json!({}), "abc"),
        (&[], json!({"allowed": ["a", "b"]}), json!({}), "ab"),
        (&[], json!({"allowed": []}), json!({}), ""),
        (&[], json!({"allowed": ["  "]}), json!({}), ""),
        (&[], json!({"allowed": ["a", "b"]}), json!({"allowed": ["b", "c"]}), "b"),
        (&[], json!({"allowed": ["a"]}), json!({"allowed": ["a", "b", "c"]}), "a"),
        (&[], json!({"excluded": ["a"]}), json!({"excluded": ["b"]}), "c"),
        (&[], json!({"allowed": ["a", "b"], "excluded": ["b"]}), json!({}), "a"),
        (&[], json!({"allowed": [" ? "], "excluded": ["c*"]}), json!({}), "ab"),
        (&["a", "b"], json!({}), json!({}), "ab"),
        (&["a", "b"], json!({"allowed": ["a", "b", "c"]}), json!({}), "ab"),
        (&["a", "b"], json!({"allowed": ["b", "c"]}), json!({}), "b"),
        (&["a", "b"], json!({"allowed": []}), json!({}), ""),
        (&["a"], json!({"allowed": ["?*"]}), json!({}), "a"),
        (&["?"], json!({"allowed": ["c"]}), json!({}), "c"),
        (&["a", "b"], json!({"excluded": ["b"]}), json!({}), "a"),
    ];
    for (bound, user, workspace, expected) in cases {
        let site = if bound.is_empty() { Site::new() } else { Site::new().bound(bound) };
        assert_eq!(admitted(site, &user, &workspace), expected, "{bound:?} {user} {workspace}");
    }
}

#[test]
fn the_defaults_list_yields_to_the_users_and_not_to_the_projects() {
    let site = |user: Value, workspace: Value| {
        let site = Site::new().file("system-defaults.json", json!({"mcp": {"allowed": ["a"]}}));
        admitted(site, &user, &workspace)
    };
    assert_eq!(site(json!({}), json!({})), "a");
    assert_eq!(site(json!({"allowed": ["b"]}), json!({})), "b");
    assert_eq!(site(json!({}), json!({"allowed": ["*"]})), "a");
}

#[test]
fn a_restricting_key_of_the_wrong_type_never_admits_more() {
    for wrong in [json!("a"), json!(null), json!([1]), json!({"a": true}), json!(true)] {
        assert_eq!(admitted(Site::new(), &json!({"allowed": wrong}), &json!({})), "", "{wrong}");
        assert_eq!(admitted(Site::new(), &json!({"excluded": wrong}), &json!({})), "", "{wrong}");
        assert_eq!(admitted(Site::new(), &json!({}), &json!({"allowed": wrong})), "", "{wrong}");
    }
    assert_eq!(admitted(Site::new(), &json!("wrong"), &json!({})), "");
}

#[test]
fn a_file_that_may_restrict_and_cannot_be_read_at_start_stops_everything_until_it_can() {
    for file in ["system-defaults.json", "home/.qwen/settings.json", "system.json"] {
        let site = Site::new()
            .flag_inline(&json!({"mcpServers": {"x": {"command": "srv"}}}).to_string())
            .text(file, "{ broken");
        let (mut running, derived) = site.start();
        assert_eq!(site.verdicts(&derived), "x settings_unreadable", "{file}");
        assert_eq!(derived.unreadable, [site.path(file).display().to_string()]);
        site.write(file, r#"{"mcp": {"excluded": ["y"]}}"#);
        let derived = site.reload(&mut running, &derived);
        assert_eq!(site.verdicts(&derived), "x connect");
        // Broken later, the last good content stays.
        site.write(file, "{ broken");
        let derived = site.reload(&mut running, &derived);
        assert_eq!((site.verdicts(&derived).as_str(), derived.gating.excluded.len()), ("x connect", 1));
    }
    for file in ["project/.mcp.json", "project/.qwen/settings.json"] {
        let site = Site::new()
            .flag_inline(&json!({"mcpServers": {"x": {"command": "srv"}}}).to_string())
            .text(file, "{ broken");
        assert_eq!(site.verdicts(&site.start().1), "x connect", "{file}");
    }
}

fn gated() -> Site {
    Site::new().env("TOK", "value").file(
        "project/.mcp.json",
        json!({"mcpServers": {"x": {"command": "$TOK", "args": ["${TOK}", "${workspaceFolder}"]}, "y": {"command": "srv"}}}),
    )
}

#[test]
fn approve_mcp_approves_the_exact_entry_of_the_start_also_a_rejected_one() {
    let site = gated();
    let (_, derived) = site.start();
    site.decide(&derived, "x", Verdict::Reject);
    let flagged = site.approving("x");
    let (mut running, derived) = flagged.start();
    assert_eq!(flagged.verdicts(&derived), "x connect, y pending_approval");
    // A later edit is undecided again; the same bytes again are approved again.
    let before = std::fs::read_to_string(site.path("project/.mcp.json")).unwrap();
    site.write("project/.mcp.json", &json!({"mcpServers": {"x": {"command": "other"}}}).to_string());
    let derived = flagged.reload(&mut running, &derived);
    assert_eq!(flagged.verdicts(&derived), "x pending_approval");
    site.write("project/.mcp.json", &before);
    let derived = flagged.reload(&mut running, &derived);
    assert_eq!(flagged.verdicts(&derived), "x connect, y pending_approval");
    // `*` takes the undecided only, and only those of the start.
    let every = site.approving("*");
    let (mut running, derived) = every.start();
    assert_eq!(every.verdicts(&derived), "x rejected, y connect");
    site.write("project/.mcp.json", &before.replace("\"y\"", "\"z\""));
    let derived = every.reload(&mut running, &derived);
    assert_eq!(every.verdicts(&derived), "x rejected, z pending_approval");
    assert!(!site.path("home/.qwen/mcpApprovals.json.lock").is_dir());
}

#[test]
fn a_rejection_that_comes_after_the_flag_counts() {
    let site = gated();
    let flagged = site.approving("*");
    let (mut running, derived) = flagged.start();
    assert_eq!(flagged.verdicts(&derived), "x connect, y connect");
    site.decide(&derived, "y", Verdict::Reject);
    let derived = flagged.reload(&mut running, &derived);
    assert_eq!(flagged.verdicts(&derived), "x connect, y rejected");
}

#[test]
fn yolo_admits_the_undecided_hands_out_no_variable_and_asks_nothing() {
    let site = gated();
    let (_, derived) = site.start();
    site.decide(&derived, "y", Verdict::Reject);
    let yolo = site.yolo();
    let (mut running, derived) = yolo.start();
    assert_eq!(yolo.verdicts(&derived), "x connect, y rejected");
    let folder = root_of(&site.path("project"));
    assert_eq!(yolo.argv(&derived, "x"), ["$TOK", "${TOK}", &folder]);
    assert!(derived.promptable.is_empty());
    let entry = json!({"httpUrl": "${BASE}/mcp", "headers": {"A": "Bearer ${NOPE}"}});
    site.write("project/.mcp.json", &json!({"mcpServers": {"r": entry}}).to_string());
    let derived = yolo.reload(&mut running, &derived);
    assert_eq!(yolo.verdicts(&derived), "r connect");
    let Wire::Http(remote) = wire(&derived, "r") else { panic!("r is remote") };
    assert_eq!(remote.headers["a"].expose(), "Bearer ${NOPE}");
    // In an untrusted folder it has no effect.
    let untrusted =
        yolo.file("home/.qwen/settings.json", json!({"security": {"folderTrust": {"enabled": true}}}));
    assert_eq!(untrusted.verdicts(&untrusted.start().1), "r untrusted_folder");
    // The user's own entries read variables as ever.
    let own = Site::new()
        .env("TOK", "value")
        .file("home/.qwen/settings.json", json!({"mcpServers": {"u": {"command": "$TOK"}}}))
        .yolo();
    assert_eq!(own.argv(&own.start().1, "u"), ["value"]);
}

#[test]
fn a_config_file_inside_the_project_is_vouched_for_by_what_it_held_at_start() {
    let entries = |command: &str, inherit: Value| json!({"mcpServers": {"x": {"command": command, "inheritEnv": inherit}, "y": {"command": "srv"}}});
    let site = Site::new().flag_config("project/tools/mcp.json", entries("one", json!(true)));
    let (mut running, derived) = site.start();
    assert_eq!(site.verdicts(&derived), "x connect, y connect");
    let policy = |derived: &Derived, name: &str| match wire(derived, name) {
        Wire::Stdio(stdio) => stdio.env_policy,
        Wire::Http(_) | Wire::Sse(_) => panic!("{name} is no program"),
    };
    assert_eq!(policy(&derived, "y"), EnvPolicy::Full);

    site.write("project/tools/mcp.json", &entries("two", json!(true)).to_string());
    let derived = site.reload(&mut running, &derived);
    // Gated in every respect: such an entry may not set `inheritEnv`.
    assert_eq!(site.verdicts(&derived), "x invalid, y connect");
    assert_eq!(derived.rows["x"].scope, Scope::Session);

    let edited = json!({"mcpServers": {"y": {"command": "other"}, "new": {"command": "srv"}}});
    site.write("project/tools/mcp.json", &edited.to_string());
    let derived = site.reload(&mut running, &derived);
    assert_eq!(site.verdicts(&derived), "y pending_approval, new pending_approval");
    assert_eq!(policy(&derived, "y"), EnvPolicy::Restricted);
    site.decide(&derived, "new", Verdict::Approve);
    let derived = site.reload(&mut running, &derived);
    assert_eq!(site.verdicts(&derived), "y pending_approval, new connect");

    // The same file outside the project is the user's own word at any time.
    let site = Site::new().flag_config("outside.json", entries("one", json!(true)));
    let (mut running, derived) = site.start();
    site.write("outside.json", &edited.to_string());
    assert_eq!(site.verdicts(&site.reload(&mut running, &derived)), "y connect, new connect");
    // A link that leads into the project does not get around it.
    let site = Site::new().file("project/inside.json", entries("one", json!(true)));
    site.link("project/inside.json", "outside.json");
    let site =
        site.with(|flags| flags.mcp_config.push(crate::settings::Origin::File(site.path("outside.json"))));
    let (mut running, derived) = site.start();
    site.write("project/inside.json", &edited.to_string());
    let derived = site.reload(&mut running, &derived);
    assert_eq!(site.verdicts(&derived), "y pending_approval, new pending_approval");
}

#[test]
fn an_untrusted_folder_admits_nothing_and_its_settings_do_not_count() {
    let on = json!({"security": {"folderTrust": {"enabled": true}}, "mcpServers": {"u": {"command": "srv"}}});
    let site = Site::new().file("home/.qwen/settings.json", on).file(
        "project/.qwen/settings.json",
        json!({"mcp": {"toolIdleTimeoutMs": 20000}, "mcpServers": {"w": {"command": "srv"}}}),
    );
    let (mut running, derived) = site.start();
    assert_eq!(site.verdicts(&derived), "u untrusted_folder, w untrusted_folder");
    assert_eq!((derived.folder_question, derived.promptable.len()), (FolderQuestion::Settled, 0));
    assert_eq!(derived.options.tool_idle, Options::default().tool_idle);
    assert_eq!(site.interactive().start().1.folder_question, FolderQuestion::Ask);

    let rule = |word: &str| json!({root_of(&site.path("project")): word}).to_string();
    site.write("home/.qwen/trustedFolders.json", &rule("TRUST_FOLDER"));
    let derived = site.reload(&mut running, &derived);
    assert_eq!(site.verdicts(&derived), "u connect, w pending_approval");
    assert_eq!(derived.options.tool_idle, Duration::from_secs(20));
    site.write("home/.qwen/trustedFolders.json", &rule("DO_NOT_TRUST"));
    let derived = site.reload(&mut running, &derived);
    assert_eq!(site.verdicts(&derived), "u untrusted_folder, w untrusted_folder");
    assert_eq!(site.interactive().start().1.folder_question, FolderQuestion::Settled);
    site.write("home/.qwen/trustedFolders.json", "{ broken");
    let derived = site.reload(&mut running, &derived);
    assert_eq!(site.verdicts(&derived), "u untrusted_folder, w untrusted_folder");
    // A project cannot turn the check on or off.
    let site = Site::new().file(
        "project/.qwen/settings.json",
        json!({"security": {"folderTrust": {"enabled": true}}, "mcpServers": {"w": {"command": "srv"}}}),
    );
    assert_eq!(site.verdicts(&site.start().1), "w pending_approval");
}

#[test]
fn the_gate_knows_rejected_from_undecided_and_the_time_of_a_decision() {
    let site = gated();
    let (mut running, derived) = site.start();
    let pending = |derived: &Derived| {
        let pending = derived.gating.pending.iter().map(|(name, pending)| format!("{name} {pending:?}"));
        pending.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(pending(&derived), "x Undecided, y Undecided");
    site.decide(&derived, "x", Verdict::Reject);
    let derived = site.reload(&mut running, &derived);
    assert_eq!(pending(&derived), "x Rejected, y Undecided");
    let approval = derived.rows["x"].approval.as_ref().unwrap();
    assert!(approval.decided_at.as_ref().is_some_and(|time| time.contains('T')));
    assert_eq!(approval.hash.len(), 64);
    assert_eq!(derived.rows["y"].approval.as_ref().unwrap().decided_at, None);
}

#[test]
fn a_decision_that_was_not_written_holds_until_the_record_says_something_newer() {
    let site = gated();
    let (mut running, derived) = site.start();
    let about = |derived: &Derived, name: &str| {
        (name.into(), derived.rows[name].approval.as_ref().unwrap().hash.clone())
    };
    let mut own = SessionDecisions::new();
    for (name, decision) in [("x", Decision::Approved), ("y", Decision::Rejected)] {
        own.insert(about(&derived, name), SessionDecision::new(decision, &running.snapshot));
    }
    let mut verdicts = |decide: Option<(&str, Verdict)>| {
        if let Some((name, verdict)) = decide {
            site.decide(&derived, name, verdict);
        }
        site.reload(&mut running, &derived);
        running.launch.hear(&mut own, &running.snapshot);
        site.verdicts(&site.reload(&mut running, &derived))
    };
    assert_eq!(verdicts(None), "x connect, y rejected");
    // Somebody decides in another terminal: about `y` first, so that `x` still holds.
    assert_eq!(verdicts(Some(("y", Verdict::Approve))), "x connect, y connect");
    assert_eq!(verdicts(Some(("x", Verdict::Reject))), "x rejected, y connect");
    // What was overruled does not come back when the record is empty again.
    site.remove("home/.qwen/mcpApprovals.json");
    assert_eq!(verdicts(None), "x pending_approval, y pending_approval");
}
