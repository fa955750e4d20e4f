//! What somebody gets whose servers are behind URLs: the same as with local ones, over every transport, through edits,
//! restarts and refusals, and nothing is sent that was not allowed.
#![expect(clippy::unwrap_used, reason = "a helper of a test fails it by panicking")]

use std::{
    fs,
    process::{Child, Stdio},
    time::Duration,
};

use qwen_tests::{BOUND, Mark, Remote, Sandbox, Watch, stated, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const OFFERS: [&str; 8] = ["--tool", "echo", "--tool", "slow", "--prompts", "2", "--resources", "3"];

/// A server for each way of talking to one, with its entry.
fn every_way(sandbox: &Sandbox) -> Vec<(&'static str, Remote, Value)> {
    let ways: [(&str, &[&str]); 7] = [
        ("json", &[]),
        ("streams", &["--streams"]),
        ("stateless", &["--stateless"]),
        ("modern", &["--modern"]),
        ("cut", &["--streams", "--cut", "--comments", "--line-end", "crlf"]),
        ("sse", &[]),
        ("sse_cut", &["--cut", "--comments", "--line-end", "cr"]),
    ];
    ways.into_iter()
        .map(|(name, flags)| {
            let flags: Vec<&str> = OFFERS.iter().chain(flags).copied().collect();
            let remote = Remote::start(sandbox, name, &flags);
            let entry = if name.starts_with("sse") { remote.sse_entry() } else { remote.entry() };
            (name, remote, entry)
        })
        .collect()
}

fn as_servers<'a>(entries: impl IntoIterator<Item = (&'a str, &'a Value)>) -> Value {
    entries
        .into_iter()
        .map(|(name, entry)| (name.to_owned(), entry.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn interrupt(child: &Child) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
}

#[test]
fn a_remote_server_offers_and_does_what_a_local_one_does_over_every_transport() {
    let sandbox = Sandbox::new();
    let servers = every_way(&sandbox);
    sandbox.user_servers(&as_servers(servers.iter().map(|(name, _, entry)| (*name, entry))));
    let watch = sandbox.watch();
    for (name, remote, _) in &servers {
        let update = watch.state(name, "connected");
        let seen = remote.seen();
        let first = |is_meant: fn(&str) -> bool| {
            seen.iter().position(|line| line["rpc"].as_str().is_some_and(is_meant))
        };
        let confirmed = first(|rpc| rpc == "notifications/initialized");
        assert!(
            confirmed <= first(|rpc| rpc.ends_with("/list")),
            "{name}: nothing overtakes the handshake: {seen:#?}"
        );
        let counts = [&update["tools"], &update["prompts"], &update["resources"]];
        assert_eq!(counts, [&json!(2), &json!(2), &json!(3)], "{update}");
        assert!(update["pid"].is_null(), "{update}");
    }
    watch.finish();
    for (name, remote, _) in &servers {
        let said = json!({ "text": "日本語 é 🦀" }).to_string();
        let call = sandbox.run(["mcp", "call", name, "echo", &said]).ended_with(0);
        assert_eq!(call.stdout, "日本語 é 🦀\n", "{name}");
        let slow = ["mcp", "call", name, "slow", r#"{"ms":200,"progress_ms":100}"#];
        let slow = sandbox.run(slow).ended_with(0);
        assert!(
            slow.stderr.contains("progress 100 of 200") && slow.stdout.contains("slow but done"),
            "{slow:#?}"
        );
        let prompts = sandbox.run(["mcp", "prompts", name, "--json"]).ended_with(0).json();
        assert_eq!(prompts.as_array().unwrap().len(), 2, "{prompts}");
        let resources = sandbox.run(["mcp", "resources", name, "--json"]).ended_with(0).json();
        assert_eq!(resources.as_array().unwrap().len(), 3, "{resources}");
        if remote.count("GET", "") > 0
            && !name.starts_with("sse")
            && *name != "stateless"
            && *name != "modern"
        {
            assert_eq!(
                remote.count("DELETE", ""),
                remote.count("POST", "initialize"),
                "{name}: each session is ended"
            );
        }
    }
}

#[test]
fn a_cancelled_call_reaches_a_remote_server_over_every_transport() {
    let sandbox = Sandbox::new();
    let servers = every_way(&sandbox);
    sandbox.user_servers(&as_servers(servers.iter().map(|(name, _, entry)| (*name, entry))));
    for (name, ..) in servers.iter().filter(|(name, ..)| ["json", "streams", "sse"].contains(name)) {
        let mut child = sandbox
            .command(["mcp", "call", name, "slow", r#"{"ms":600000}"#])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until(BOUND, "the call at the server", || sandbox.logged(name, "call").pop());
        interrupt(&child);
        let status = wait_until(BOUND, "the end of the command", || child.try_wait().unwrap());
        assert_eq!(status.code(), Some(130), "{name}");
        let told = sandbox.logged(name, "notification");
        let cancels = told.iter().filter(|told| told["method"] == "notifications/cancelled").count();
        assert_eq!(cancels, 1, "{name}: {told:?}");
        wait_until(BOUND, "the call to stop", || sandbox.logged(name, "call-cancelled").pop());
    }
}

/// Has each of these servers offer a second tool while a session listens.
fn a_notice_is_heard_from(ways: &[(&str, &[&str])]) {
    let sandbox = Sandbox::new();
    let tools = |names: &[&str]| {
        let tools: Vec<Value> =
            names.iter().map(|name| json!({ "name": name, "inputSchema": { "type": "object" } })).collect();
        json!(tools).to_string()
    };
    let file = sandbox.root().join("tools.json");
    fs::write(&file, tools(&["one"])).unwrap();
    let path = file.display().to_string();
    let remotes: Vec<(&str, Remote)> = ways
        .iter()
        .map(|(name, flags)| {
            let flags: Vec<&str> = ["--tools-file", &path].iter().chain(*flags).copied().collect();
            (*name, Remote::start(&sandbox, name, &flags))
        })
        .collect();
    let entry = |name: &str, remote: &Remote| if name == "sse" { remote.sse_entry() } else { remote.entry() };
    let servers: serde_json::Map<String, Value> =
        remotes.iter().map(|(name, remote)| ((*name).to_owned(), entry(name, remote))).collect();
    sandbox.user_servers(&servers.into());
    let watch = sandbox.watch();
    watch.ready();
    for (name, remote) in &remotes {
        wait_until(BOUND, &format!("the stream of {name}"), || {
            (remote.count("GET", "") + remote.count("POST", "subscriptions/listen") == 1).then_some(())
        });
    }
    let mark = watch.mark();
    fs::write(&file, tools(&["one", "two"])).unwrap();
    for (name, remote) in &remotes {
        remote.order(r#"say {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
        let update =
            watch.after(mark, "mcp-client-update", |event| event["server"] == *name && event["tools"] == 2);
        assert_eq!(update["state"], "connected");
    }
}

#[test]
fn a_change_notice_of_a_remote_server_changes_the_catalogue_over_every_transport() {
    a_notice_is_heard_from(&[("json", &[]), ("cut", &["--cut", "--line-end", "crlf"]), ("sse", &[])]);
}

#[test]
fn a_change_notice_of_the_era_without_sessions_changes_the_catalogue() {
    a_notice_is_heard_from(&[("modern", &["--modern"])]);
}

#[test]
fn a_remote_server_that_is_restarted_is_connected_again_over_every_transport() {
    let sandbox = Sandbox::new();
    let mut servers = every_way(&sandbox);
    sandbox.user_servers(&as_servers(servers.iter().map(|(name, _, entry)| (*name, entry))));
    let watch = sandbox.watch();
    for (name, ..) in &servers {
        watch.state(name, "connected");
    }
    // Only a server with an open stream is missed at once; without one the next call finds out.
    for (name, remote, _) in servers.iter_mut().filter(|(name, ..)| !["stateless", "modern"].contains(name)) {
        let mark = watch.mark();
        remote.kill();
        let failed = watch.state_after(mark, name, "failed");
        assert!(failed["tools"].is_null() && failed["error"].is_string(), "{failed}");
        remote.restart();
        let mark = watch.mark();
        let again = watch.state_after(mark, name, "connected");
        assert_eq!(again["tools"], 2, "{again}");
    }
}

#[test]
fn an_edit_of_the_address_or_a_header_restarts_that_server_only_and_a_time_limit_restarts_nothing() {
    let sandbox = Sandbox::new();
    let edited = Remote::start(&sandbox, "edited", &OFFERS);
    let other = Remote::start(&sandbox, "other", &[]);
    let mut servers = json!({
        "edited": edited.entry(),
        "other": other.entry(),
        "local": sandbox.fake("local", &[]),
    });
    sandbox.user_servers(&servers);
    let watch = sandbox.watch();
    watch.ready();
    let edits = [
        json!({ "httpUrl": edited.url(), "headers": { "X-Team": "blue" } }),
        json!({ "httpUrl": edited.url(), "headers": { "X-Team": "green" } }),
        json!({ "httpUrl": format!("{}?v=2", edited.url()) }),
        json!({ "url": format!("{}?v=3", edited.url()), "type": "http" }),
        edited.sse_entry(),
        json!({ "url": edited.at("/sse?v=4"), "type": "sse" }),
    ];
    for edit in edits {
        servers["edited"] = edit;
        let mark = watch.mark();
        sandbox.user_servers(&servers);
        let reload = watch.settled(mark);
        assert_eq!((&reload["restarted"], &reload["kept"]), (&json!(["edited"]), &json!(2)), "{reload}");
        watch.state_after(mark, "edited", "connected");
    }
    assert_eq!((other.count("POST", "initialize"), sandbox.spawns("local")), (1, 1));
    let colours: Vec<Value> = edited.seen().iter().map(|seen| seen["headers"]["x-team"].clone()).collect();
    assert!(colours.contains(&json!("blue")) && colours.contains(&json!("green")), "{colours:?}");

    let sessions = edited.count("GET", "");
    servers["edited"]["timeout"] = json!(500);
    let mark = watch.mark();
    sandbox.user_servers(&servers);
    let reload = watch.settled(mark);
    assert_eq!((&reload["rescoped"], &reload["kept"]), (&json!(["edited"]), &json!(2)), "{reload}");
    assert_eq!(reload["restarted"], json!([]), "{reload}");
    assert_eq!(edited.count("GET", ""), sessions);
    let call = sandbox.run(["mcp", "call", "edited", "slow", r#"{"ms":600000}"#, "--json"]).ended_with(1);
    assert_eq!(call.json()["error"]["reason"], "timed_out", "{call:#?}");
}

#[test]
fn forty_seven_good_servers_are_live_beside_one_that_hangs_one_that_fails_and_one_that_refuses() {
    let sandbox = Sandbox::new();
    let good = Remote::start(&sandbox, "good", &[]);
    let hangs = Remote::start(&sandbox, "hangs", &["--fault", "post:initialize", "hang"]);
    let fails = Remote::start(&sandbox, "fails", &["--fault", "post:initialize", "status 500"]);
    let mut refuses = Remote::start(&sandbox, "refuses", &[]);
    refuses.kill();
    let mut servers = serde_json::Map::new();
    let mut patient = hangs.entry();
    patient["discoveryTimeoutMs"] = json!(120_000);
    servers.insert("hangs".to_owned(), patient);
    servers.insert("fails".to_owned(), fails.entry());
    servers.insert("refuses".to_owned(), refuses.entry());
    for n in 1..=47 {
        servers.insert(format!("good_{n}"), json!({ "httpUrl": format!("{}?n={n}", good.url()) }));
    }
    sandbox.user_servers(&servers.into());
    let watch = sandbox.watch();
    for n in 1..=47 {
        watch.state(&format!("good_{n}"), "connected");
    }
    for (name, words) in [("fails", "500"), ("refuses", "refused")] {
        let failed = watch.state(name, "failed");
        assert!(failed["error"].as_str().unwrap().contains(words), "{failed}");
    }
    assert_eq!(watch.newest("hangs").unwrap()["state"], "connecting");
}

#[test]
fn not_one_request_reaches_a_server_that_the_gate_refuses() {
    let sandbox = Sandbox::new();
    let names = ["pending", "excluded", "not_allowed", "disabled", "rejected"];
    let remotes: Vec<Remote> = names.iter().map(|name| Remote::start(&sandbox, name, &[])).collect();
    let entry = |name: &str| remotes[names.iter().position(|n| *n == name).unwrap()].entry();
    let mut disabled = entry("disabled");
    disabled["disabled"] = json!(true);
    sandbox.write(
        &sandbox.user(),
        &json!({
            "mcp": { "excluded": ["excluded"], "allowed": ["pending", "excluded", "disabled", "rejected"] },
            "mcpServers": {
                "excluded": entry("excluded"), "not_allowed": entry("not_allowed"), "disabled": disabled,
            },
        }),
    );
    // In `.mcp.json` an address without a type may mean either transport: neither is tried.
    let written = json!({ "url": remotes[0].url() });
    sandbox.project_servers(&json!({ "pending": written, "rejected": entry("rejected") }));
    sandbox.run(["mcp", "reject", "rejected"]).ended_with(0);
    let mut watch = sandbox.watch();
    watch.ready();
    sandbox.run(["mcp", "list", "--json"]).ended_with(0);
    for name in names {
        sandbox.run(["mcp", "reconnect", name]).ended_with(5);
        sandbox.run(["mcp", "call", name, "echo", "{}"]).ended_with(5);
    }
    watch.nothing_more_since(watch.mark());
    for remote in &remotes {
        assert_eq!(remote.seen(), Vec::<Value>::new());
    }
    let mark = watch.mark();
    sandbox.run(["mcp", "approve", "pending"]).ended_with(0);
    watch.state_after(mark, "pending", "connected");
    assert_eq!(remotes[0].count("POST", "initialize"), 1);
}

#[test]
fn not_one_request_leaves_an_untrusted_folder() {
    let sandbox = Sandbox::new();
    let remote = Remote::start(&sandbox, "far", &[]);
    sandbox.write(
        &sandbox.user(),
        &json!({ "security": { "folderTrust": { "enabled": true } }, "mcpServers": { "far": remote.entry() } }),
    );
    let watch = sandbox.watch();
    watch.state("far", "untrusted_folder");
    sandbox.run(["mcp", "reconnect", "far"]).ended_with(5);
    assert_eq!(remote.seen(), Vec::<Value>::new());
    sandbox.run(["trust"]).ended_with(0);
    watch.state("far", "connected");
}

#[test]
fn an_address_without_a_type_in_a_project_falls_back_to_sse_when_http_is_not_there_and_only_then() {
    let sandbox = Sandbox::new();
    let refusing = |name: &str, status: &str| {
        Remote::start(&sandbox, name, &["--fault", "post@/sse", &format!("status {status}")])
    };
    let cases = [("s400", "400"), ("s404", "404"), ("s405", "405")];
    let falls: Vec<(&str, Remote)> =
        cases.iter().map(|(name, status)| (*name, refusing(name, status))).collect();
    let cases = [("s401", "401"), ("s403", "403"), ("s406", "406"), ("s500", "500"), ("s503", "503")];
    let stays: Vec<(&str, Remote)> =
        cases.iter().map(|(name, status)| (*name, refusing(name, status))).collect();
    let modern = Remote::start(&sandbox, "plain", &[]);
    let mut servers: serde_json::Map<String, Value> = falls
        .iter()
        .chain(&stays)
        .map(|(name, remote)| ((*name).to_owned(), json!({ "url": remote.at("/sse") })))
        .collect();
    servers.insert("plain".to_owned(), json!({ "url": modern.url() }));
    sandbox.project_servers(&servers.into());
    let watch = sandbox.watch_with(&["--approve-mcp", "*"]);
    for (name, remote) in &falls {
        let update = watch.state(name, "connected");
        assert_eq!(update["tools"], 1, "{update}");
        assert!(remote.count("GET", "") >= 1);
    }
    for (name, remote) in &stays {
        let state = if *name == "s401" { "needs_auth" } else { "failed" };
        let update = watch.state(name, state);
        assert!(update["error"].as_str().unwrap().contains(&name[1..]), "{update}");
        assert_eq!(remote.count("GET", ""), 0, "{name}");
    }
    watch.state("plain", "connected");
    assert_eq!(modern.count("POST", "initialize"), 1);
}

#[test]
fn a_server_that_wants_credentials_is_said_to_in_the_list_and_in_the_session_and_gets_them_from_a_header() {
    let sandbox = Sandbox::new();
    let challenge = r#"status 401 WWW-Authenticate: Bearer resource_metadata="https://auth.example/x""#;
    let remote = Remote::start(&sandbox, "far", &["--fault", "post:initialize*4", challenge]);
    let secret = "tok-3n-0f-the-user";
    sandbox.user_servers(&json!({ "far": { "httpUrl": format!("{}?key={secret}", remote.url()) } }));
    let watch = sandbox.watch();
    let update = watch.state("far", "needs_auth");
    assert!(update["error"].as_str().unwrap().contains("401"), "{update}");
    let list = sandbox.run(["mcp", "list", "--json"]).ended_with(0);
    let row = list.row("far");
    assert_eq!((&row["state"], &row["transport"]), (&json!("needs_auth"), &json!("http")));
    assert!(row["cause"].as_str().unwrap().contains("401"), "{row}");
    assert!(row["nextStep"].as_str().unwrap().contains("headers"), "{row}");
    let text = sandbox.run(["mcp", "list"]).ended_with(0);
    assert!(text.stdout.contains("needs auth") && text.stdout.contains("401"), "{text:#?}");
    sandbox.run(["mcp", "list", "--check"]).ended_with(3);
    // Nobody tries again without an edit.
    assert_eq!(remote.count("POST", "initialize"), 4);
    let mark = watch.mark();
    sandbox.user_servers(&json!({
        "far": { "httpUrl": remote.url(), "headers": { "Authorization": format!("Bearer {secret}") } }
    }));
    watch.state_after(mark, "far", "connected");
    let last = remote.seen().pop().unwrap();
    assert_eq!(last["headers"]["authorization"], format!("Bearer {secret}"));
    let shown = format!("{} {} {:?} {}", list.stdout, text.stdout, watch.events(), watch.stderr());
    assert!(!shown.contains(secret), "{shown}");
}

#[test]
fn remote_servers_are_added_shown_and_tried_from_the_command_line() {
    let sandbox = Sandbox::new();
    let remote = Remote::start(&sandbox, "far", &OFFERS);
    let secret = "Bearer s3cr3t-t0ken";
    let sse = remote.at("/sse");
    let header = format!("Authorization: {secret}");
    sandbox.run(["mcp", "add", "far", remote.url(), "-H", &header]).ended_with(0);
    sandbox.run(["mcp", "add", "old", &sse, "-t", "sse"]).ended_with(0);
    for (name, transport) in [("far", "http"), ("old", "sse")] {
        sandbox.run(["mcp", "reconnect", name]).ended_with(0);
        let shown = sandbox.run(["mcp", "get", name, "--json"]).ended_with(0);
        assert_eq!(shown.json()["transport"], transport);
        assert!(!shown.stdout.contains("s3cr3t"), "{shown:#?}");
        let tools = sandbox.run(["mcp", "tools", name, "--json"]).ended_with(0).json();
        assert_eq!(tools.as_array().unwrap().len(), 2, "{tools}");
        let called =
            sandbox.run(["mcp", "call", &format!("mcp__{name}__echo"), r#"{"text":"hi"}"#]).ended_with(0);
        assert_eq!(called.stdout, "hi\n");
    }
    let sent: Vec<Value> =
        remote.seen().iter().map(|seen| seen["headers"]["authorization"].clone()).collect();
    assert!(sent.contains(&json!(secret)), "{sent:?}");
    let rows = sandbox.run(["mcp", "list", "--json"]).ended_with(0);
    assert_eq!((rows.state("far"), rows.state("old")), ("connected".to_owned(), "connected".to_owned()));
}

#[test]
fn a_removed_remote_server_is_told_goodbye_and_its_tools_go_at_once() {
    let sandbox = Sandbox::new();
    let remote = Remote::start(&sandbox, "far", &[]);
    sandbox.user_servers(&json!({ "far": remote.entry() }));
    let watch = sandbox.watch();
    watch.state("far", "connected");
    let mark = watch.mark();
    sandbox.user_servers(&json!({}));
    let bound = stated(Duration::from_millis(1000));
    watch.after_within(bound, mark, "catalogue-changed", |event| {
        event["tools"]["removed"] == json!(["mcp__far__echo"])
    });
    wait_until(BOUND, "the end of the session at the server", || {
        (remote.count("DELETE", "") == 1).then_some(())
    });
    watch.finish();
}

#[test]
fn headers_and_addresses_take_variables_and_never_show_them() {
    let sandbox = Sandbox::new();
    let remote = Remote::start(&sandbox, "far", &[]);
    let secret = "v4ri4ble-s3cret";
    sandbox.user_servers(&json!({
        "far": {
            "httpUrl": format!("{}?key=${{FAR_KEY}}", remote.url()),
            "headers": { "Authorization": "Bearer ${FAR_KEY}", "X-Region": "${REGION:-eu}" },
        },
        "gone": { "httpUrl": format!("http://127.0.0.1:9/mcp?key=${{FAR_KEY}}") },
    }));
    let mut command = sandbox.command(["mcp", "watch", "--json", "-vv"]);
    command.env("FAR_KEY", secret);
    let watch = Watch::start(command, &sandbox);
    watch.state("far", "connected");
    watch.state("gone", "failed");
    let seen = remote.seen().into_iter().next().unwrap();
    assert_eq!(seen["headers"]["authorization"], format!("Bearer {secret}"));
    assert_eq!(seen["headers"]["x-region"], "eu");
    assert!(seen["target"].as_str().unwrap().ends_with(&format!("?key={secret}")), "{seen}");
    let said = format!("{:?} {}", watch.since(Mark::START), watch.stderr());
    assert!(!said.contains(secret), "{said}");
}
