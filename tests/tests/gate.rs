//! Does the gate hold on every path: commands, flags, session files, untrusted folders, other spellings of the project?

use std::{net::TcpListener, os::unix::fs::symlink, time::Duration};

use qwen_tests::{BOUND, Mark, Sandbox, stated, wait_until};
use serde_json::json;

#[test]
fn the_marker_test_no_command_flag_or_path_runs_or_contacts_an_unapproved_entry() {
    let sandbox = Sandbox::new();
    let marker = sandbox.root().join("it-ran");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let touch = json!({ "command": "touch", "args": [marker] });
    let servers = json!({
        "touch": touch, "http": { "httpUrl": url }, "sse": { "type": "sse", "url": url }, "either": { "url": url },
    });
    sandbox.project_servers(&servers);
    let mut in_workspace = json!({ "w_touch": touch });
    in_workspace["w_http"] = json!({ "httpUrl": url });
    sandbox.write(
        &sandbox.workspace(),
        &json!({
            "mcpServers": in_workspace,
            "mcp": { "allowed": ["*"], "serverCommand": format!("touch {}", marker.display()) },
        }),
    );
    let inside = sandbox.project().join("session.json");
    sandbox.write(&inside, &json!({ "mcpServers": {} }));
    let session = inside.to_str().unwrap();
    let commands: &[&[&str]] = &[
        &["mcp", "list", "--json"],
        &["mcp", "list"],
        &["mcp", "list", "--no-connect"],
        &["mcp", "list", "--check", "--timeout", "500"],
        &["mcp", "plan"],
        &["mcp", "plan", "--json"],
        &["mcp", "reconnect", "touch"],
        &["mcp", "reconnect", "http"],
        &["mcp", "reconnect", "mcp"],
        &["mcp", "reconnect", "--all"],
        &["mcp", "approvals", "list", "--json"],
        &["mcp", "approve"],
        &["settings", "check", "--json"],
        &["settings", "show", "--json"],
        &["--allowed-mcp-server-names", "touch,http", "mcp", "list"],
        &["--approve-mcp", "another", "mcp", "list"],
        &["--mcp-config", session, "mcp", "list"],
        &["--mcp-config", session, "--strict-mcp-config", "mcp", "list"],
        &["-C", ".", "mcp", "list"],
        &["trust", "--list"],
    ];
    for command in commands {
        drop(sandbox.run(*command));
        assert!(!marker.exists(), "{command:?} ran it");
        assert!(listener.accept().is_err(), "{command:?} contacted it");
    }
    let mut watch = sandbox.watch();
    watch.ready();
    let mark = watch.mark();
    sandbox.write(&inside, &json!({ "mcpServers": servers }));
    watch.signal(rustix::process::Signal::HUP);
    watch.after(mark, "settings-change", |_| true);
    watch.nothing_more_since(mark);
    drop(watch.finish());
    assert!(!marker.exists(), "watch ran it");
    assert!(listener.accept().is_err(), "watch contacted it");
    assert!(!sandbox.approvals().exists(), "nobody decided anything");

    // The same entries do run once somebody says so: the test can fail.
    drop(sandbox.run(["--yolo", "mcp", "list", "--timeout", "3000"]));
    assert!(marker.exists());
}

#[test]
fn a_session_file_inside_the_project_is_vouched_for_as_it_is_at_start_and_gated_after_an_edit() {
    let sandbox = Sandbox::new();
    let inside = sandbox.project().join("session.json");
    sandbox.write(&inside, &json!({ "mcpServers": { "s": sandbox.fake("s", &[]) } }));
    let watch = sandbox.watch_with(&["--mcp-config", inside.to_str().unwrap()]);
    watch.state("s", "connected");
    let edited = json!({ "s": sandbox.fake("s", &["--tag", "x"]), "new": sandbox.fake("new", &[]) });
    let mark = watch.mark();
    sandbox.write(&inside, &json!({ "mcpServers": edited }));
    watch.state_after(mark, "s", "pending_approval");
    watch.state_after(mark, "new", "pending_approval");
    assert_eq!((sandbox.spawns("s"), sandbox.spawns("new")), (1, 0));
}

#[test]
fn approve_mcp_means_the_exact_entry_at_start_and_yolo_every_undecided_one() {
    let sandbox = Sandbox::new();
    let servers = |tag: &str| json!({ "a": sandbox.fake("a", &["--tag", tag]), "b": sandbox.fake("b", &["--tag", tag]) });
    sandbox.project_servers(&servers("1"));
    let watch = sandbox.watch_with(&["--approve-mcp", "a"]);
    watch.state("a", "connected");
    watch.state("b", "pending_approval");
    let mark = watch.mark();
    sandbox.project_servers(&servers("2"));
    watch.state_after(mark, "a", "pending_approval");
    drop(watch);
    assert!(!sandbox.approvals().exists());

    sandbox.run(["mcp", "reject", "b"]).ended_with(0);
    let watch = sandbox.watch_with(&["--yolo"]);
    watch.state("a", "connected");
    watch.state("b", "rejected");
    let mark = watch.mark();
    sandbox.project_servers(&servers("3"));
    watch.state_after(mark, "a", "connected");
    watch.state_after(mark, "b", "connected");
    assert!(watch.stderr().contains("yolo"), "{}", watch.stderr());
    assert!(!watch.named_since(Mark::START, "mcp-reload").is_empty());
    let asked = watch.named_since(Mark::START, "mcp-pending-approval-changed");
    assert!(asked.iter().all(|event| event["servers"] == json!([])), "{asked:#?}");
}

#[test]
fn an_untrusted_folder_starts_nothing_and_a_change_of_trust_is_live() {
    let sandbox = Sandbox::new();
    sandbox.write(
        &sandbox.user(),
        &json!({
            "security": { "folderTrust": { "enabled": true } },
            "mcpServers": { "a": sandbox.fake("a", &["--tools", "2"]), "b": sandbox.fake("b", &["--mute"]) },
        }),
    );
    let watch = sandbox.watch_with(&["--yolo"]);
    watch.ready();
    for name in ["a", "b"] {
        watch.state(name, "untrusted_folder");
        assert_eq!(sandbox.spawns(name), 0);
    }
    let row = sandbox.run(["mcp", "list", "--json"]).row("a");
    assert!(row["nextStep"].as_str().unwrap().contains("qwen trust"), "{row}");

    for round in 0..2 {
        sandbox.run(["trust"]).ended_with(0);
        watch.state("a", "connected");
        wait_until(BOUND, "b to be started", || (sandbox.spawns("b") == round + 1).then_some(()));
        let mark = watch.mark();
        sandbox.run(["trust", "--deny"]).ended_with(0);
        let change = watch.after_within(stated(Duration::from_secs(1)), mark, "catalogue-changed", |_| true);
        assert_eq!(change["tools"]["removed"].as_array().unwrap().len(), 2, "{change}");
        watch.state_after(mark, "b", "untrusted_folder");
        wait_until(stated(Duration::from_millis(2500)), "every server to be gone", || {
            sandbox.processes().iter().all(|process| !process.command.contains("--name")).then_some(())
        });
    }
}

#[test]
fn one_project_is_one_identity_behind_a_link_in_another_spelling_and_as_the_home_folder() {
    let sandbox = Sandbox::new();
    let link = sandbox.root().join("link-to-project");
    symlink(sandbox.project(), &link).unwrap();
    sandbox.project_servers(&json!({ "a": sandbox.fake("a", &[]) }));
    sandbox.run(["-C", link.to_str().unwrap(), "mcp", "approve", "a"]).ended_with(0);
    let odd = format!("{}/./../project/", sandbox.project().display());
    for folder in [sandbox.project().to_str().unwrap(), link.to_str().unwrap(), &odd] {
        let listed = sandbox.run(["-C", folder, "mcp", "list", "--json"]).ended_with(0);
        assert_eq!(listed.state("a"), "connected", "{folder}");
        assert_eq!(listed.json()["projectRoot"], json!(sandbox.project()), "{folder}");
    }

    let home = sandbox.home();
    sandbox.write(&home.join(".mcp.json"), &json!({ "mcpServers": { "h": sandbox.fake("h", &[]) } }));
    sandbox.user_servers(&json!({ "mine": sandbox.fake("mine", &[]) }));
    let in_home = |args: &[&str]| sandbox.run([&["-C", home.to_str().unwrap()], args].concat());
    in_home(&["mcp", "approve", "h"]).ended_with(0);
    let listed = in_home(&["mcp", "list", "--json"]).ended_with(0);
    assert_eq!((listed.state("h"), listed.state("mine")), ("connected".into(), "connected".into()));
    assert_eq!(listed.row("mine")["scope"], "user");
}

#[test]
fn a_store_inside_the_project_is_refused() {
    let sandbox = Sandbox::new();
    let inside = sandbox.project().join("approvals.json");
    let code = sandbox
        .command(["mcp", "list"])
        .env("QWEN_CODE_MCP_APPROVALS_PATH", &inside)
        .output()
        .unwrap()
        .status
        .code();
    assert_eq!(code, Some(4));
}
