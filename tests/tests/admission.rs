//! Who may connect: the launch bound, the lists, the gate, and the one reason each refused server carries, the same at
//! start and on reload.

use qwen_tests::{Mark, Sandbox, Watch};
use serde_json::{Value, json};

fn three(sandbox: &Sandbox) -> Value {
    json!({ "a": sandbox.fake("a", &[]), "b": sandbox.fake("b", &[]), "c": sandbox.fake("c", &[]) })
}

/// The names that are connected once the session is quiet, as the session itself last said.
fn connected(watch: &Watch, names: &[&str]) -> Vec<String> {
    names
        .iter()
        .filter(|name| watch.newest(name).is_some_and(|update| update["state"] == "connected"))
        .map(|name| (*name).to_owned())
        .collect()
}

/// For each row: flags, then `mcp.allowed` as edited in a running session (`null`: the key is absent), and who is
/// connected after each edit.
#[test]
fn settings_narrow_the_launch_bound_and_never_widen_it() {
    type Row = (&'static [&'static str], &'static [(&'static str, &'static [&'static str])]);
    let bound: Row = (
        &["--allowed-mcp-server-names", "a,b"],
        &[
            (r#"["a", "b", "c"]"#, &["a", "b"]),
            (r#"["a"]"#, &["a"]),
            ("[]", &[]),
            ("null", &["a", "b"]),
            (r#"["*"]"#, &["a", "b"]),
            (r#"["c"]"#, &[]),
            (r#"["?", "  "]"#, &["a", "b"]),
            (r#"["  "]"#, &[]),
        ],
    );
    let globs: Row = (
        &["--allowed-mcp-server-names", "[ab]", "--allowed-mcp-server-names", "?"],
        &[(r#"["a*", "c*"]"#, &["a", "c"]), (r#"["A"]"#, &[]), ("null", &["a", "b", "c"])],
    );
    let unbound: Row = (&[], &[(r#"["b"]"#, &["b"]), ("null", &["a", "b", "c"]), ("[]", &[])]);
    for (flags, edits) in [bound, globs, unbound] {
        let sandbox = Sandbox::new();
        let servers = three(&sandbox);
        sandbox.user_servers(&servers);
        let mut watch = sandbox.watch_with(flags);
        watch.ready();
        for (allowed, expected) in edits {
            let mark = watch.mark();
            let allowed: Value = serde_json::from_str(allowed).unwrap();
            let mut document = json!({ "mcpServers": servers, "mcp": { "allowed": allowed } });
            if allowed.is_null() {
                document.as_object_mut().unwrap().remove("mcp");
            }
            sandbox.write(&sandbox.user(), &document);
            watch.after(mark, "settings-change", |_| true);
            watch.nothing_more_since(mark);
            for name in *expected {
                watch.state(name, "connected");
            }
            assert_eq!(connected(&watch, &["a", "b", "c"]), *expected, "{flags:?} {allowed}");
            for name in ["a", "b", "c"].iter().filter(|name| !expected.contains(name)) {
                assert_eq!(watch.newest(name).unwrap()["state"], "not_allowed", "{flags:?} {allowed} {name}");
            }
            let fresh = sandbox.run([flags, &["mcp", "list", "--json"]].concat()).ended_with(0);
            for name in ["a", "b", "c"] {
                let state = if expected.contains(&name) { "connected" } else { "not_allowed" };
                assert_eq!(fresh.state(name), state, "a fresh start, {flags:?} {allowed} {name}");
            }
        }
    }
}

#[test]
fn a_narrowed_server_is_not_allowed_and_never_removed() {
    let sandbox = Sandbox::new();
    let servers = three(&sandbox);
    sandbox.user_servers(&servers);
    let watch = sandbox.watch();
    watch.ready();
    let mark = watch.mark();
    sandbox.write(&sandbox.user(), &json!({ "mcpServers": servers, "mcp": { "allowed": ["a"] } }));
    watch.state_after(mark, "b", "not_allowed");
    let reload = watch.reloaded(mark);
    assert_eq!(reload["removed"], json!([]), "{reload}");
    let expected = json!([
        { "server": "b", "reason": "not_allowed" }, { "server": "c", "reason": "not_allowed" },
    ]);
    assert_eq!(reload["skipped"], expected);
    let all = watch.finish();
    assert!(all.iter().all(|event| event["state"] != "removed"), "{all:#?}");
}

#[test]
fn excluded_narrows_at_boot_as_on_reload_and_wins_over_allowed() {
    let sandbox = Sandbox::new();
    let servers = three(&sandbox);
    let document =
        |excluded: Value| json!({ "mcpServers": servers, "mcp": { "allowed": ["*"], "excluded": excluded } });
    sandbox.write(&sandbox.user(), &document(json!(["b", " c "])));
    let watch = sandbox.watch();
    watch.ready();
    assert_eq!(connected(&watch, &["a", "b", "c"]), ["a"]);
    assert_eq!(watch.newest("c").unwrap()["state"], "excluded");
    assert_eq!(sandbox.spawns("b"), 0);

    sandbox.write(&sandbox.user(), &document(json!(["a"])));
    watch.state("b", "connected");
    watch.state("c", "connected");
    watch.state("a", "excluded");
}

#[test]
fn every_scope_that_sets_allowed_must_admit_and_excluded_is_the_union() {
    let sandbox = Sandbox::new();
    let servers = three(&sandbox);
    sandbox.write(
        &sandbox.user(),
        &json!({ "mcpServers": servers, "mcp": { "allowed": ["a", "b"], "excluded": [] } }),
    );
    sandbox.write(&sandbox.workspace(), &json!({ "mcp": { "allowed": ["b", "c"] } }));
    let listed = sandbox.run(["mcp", "list", "--json"]);
    assert_eq!(["a", "b", "c"].map(|name| listed.state(name)), ["not_allowed", "connected", "not_allowed"]);

    sandbox.write(&sandbox.system(), &json!({ "mcp": { "excluded": ["b"] } }));
    let listed = sandbox.run(["mcp", "list", "--json"]);
    assert_eq!(["a", "b", "c"].map(|name| listed.state(name)), ["not_allowed", "excluded", "not_allowed"]);
}

#[test]
fn server_and_list_edits_pass_the_restart_gate_also_when_the_mcp_object_comes_and_goes() {
    let sandbox = Sandbox::new();
    let servers = json!({ "a": sandbox.fake("a", &[]) });
    sandbox.user_servers(&servers);
    let mut watch = sandbox.watch();
    watch.ready();
    let keys = [
        (json!({ "mcpServers": servers, "mcp": { "excluded": ["z"] } }), json!([["mcp", "excluded"]])),
        (json!({ "mcpServers": servers }), json!([["mcp", "excluded"]])),
        (json!({ "mcpServers": servers, "mcp": { "allowed": ["a"] } }), json!([["mcp", "allowed"]])),
    ];
    for (document, expected) in keys {
        let mark = watch.mark();
        sandbox.write(&sandbox.user(), &document);
        let change = watch.after(mark, "settings-change", |_| true);
        assert_eq!(change["changes"][0]["keys"], expected);
        assert!(watch.named_since(mark, "restart-required").is_empty());
    }

    let mark = watch.quiet();
    let command =
        json!({ "mcpServers": servers, "mcp": { "allowed": ["a"], "serverCommand": "no-such-program" } });
    sandbox.write(&sandbox.user(), &command);
    let notice = watch.after(mark, "restart-required", |_| true);
    assert_eq!(notice["keys"], json!([["mcp", "serverCommand"]]));
    let seen = watch.nothing_more_since(mark);
    assert_eq!(seen.len(), 1, "{seen:#?}");

    let mark = watch.mark();
    let mixed = json!({ "mcpServers": {}, "mcp": { "allowed": ["a"], "serverCommand": "another" } });
    sandbox.write(&sandbox.user(), &mixed);
    watch.after(mark, "settings-change", |_| true);
    let notice = watch.after(mark, "restart-required", |_| true);
    assert_eq!(notice["keys"], json!([["mcp", "serverCommand"]]));
    watch.state_after(mark, "a", "removed");
}

#[test]
fn servers_of_the_project_and_the_workspace_need_approval_say_so_and_no_process_of_theirs_ever_exists() {
    let sandbox = Sandbox::new();
    sandbox.project_servers(&json!({ "from_project": sandbox.fake("from_project", &[]) }));
    sandbox.write(
        &sandbox.workspace(),
        &json!({ "mcpServers": { "from_workspace": sandbox.fake("from_workspace", &[]) } }),
    );
    sandbox.user_servers(&json!({ "mine": sandbox.fake("mine", &[]) }));
    let watch = sandbox.watch();
    watch.ready();
    let pending = watch.after(Mark::START, "mcp-pending-approval-changed", |_| true);
    assert_eq!(pending["servers"], json!(["from_project", "from_workspace"]));
    let listed = sandbox.run(["mcp", "list", "--json"]).ended_with(0);
    for (name, scope) in [("from_project", "project"), ("from_workspace", "workspace")] {
        assert_eq!(watch.newest(name).unwrap()["state"], "pending_approval");
        let row = listed.row(name);
        assert_eq!((&row["state"], &row["scope"]), (&json!("pending_approval"), &json!(scope)));
        let hash = row["approval"]["hash"].as_str().unwrap();
        let next = row["nextStep"].as_str().unwrap();
        assert!(next.contains(&format!("qwen mcp approve {name} --hash {hash}")), "{next}");
        assert_eq!(hash.len(), 64);
    }
    watch.finish();
    assert_eq!((sandbox.spawns("from_project"), sandbox.spawns("from_workspace")), (0, 0));
    assert_eq!(sandbox.spawns("mine"), 2);
}

#[test]
fn an_edit_of_a_user_server_asks_nothing_and_a_newly_gated_one_asks() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({ "a": sandbox.fake("a", &[]) }));
    let mut watch = sandbox.watch();
    watch.ready();
    let mark = watch.mark();
    sandbox.user_servers(&json!({ "a": sandbox.fake("a", &["--tag", "2"]), "b": sandbox.fake("b", &[]) }));
    watch.settled(mark);
    watch.nothing_more_since(mark);
    assert!(watch.named_since(Mark::START, "mcp-pending-approval-changed").is_empty());

    let mark = watch.mark();
    sandbox.project_servers(&json!({ "gated": sandbox.fake("gated", &[]) }));
    let pending = watch.after(mark, "mcp-pending-approval-changed", |_| true);
    assert_eq!(pending["servers"], json!(["gated"]));

    let mark = watch.mark();
    sandbox.project_servers(&json!({}));
    let pending = watch.after(mark, "mcp-pending-approval-changed", |_| true);
    assert_eq!(pending["servers"], json!([]));
    assert_eq!(sandbox.spawns("gated"), 0);
}
