//! Does an edit of a settings file move exactly the servers it touches, and does the session say so?
#![expect(clippy::unwrap_used, reason = "a helper of a test fails it by panicking")]

use std::{fs, os::unix::fs::symlink, time::Duration};

use qwen_tests::{BOUND, Mark, Sandbox, Watch, alive, pause, program, stated, wait_until};
use serde_json::{Value, json};

/// So many named servers, each with three tools.
fn fleet(sandbox: &Sandbox, count: usize) -> Value {
    (1..=count)
        .map(|n| {
            let name = format!("s{n:02}");
            (name.clone(), sandbox.fake(&name, &["--tools", "3"]))
        })
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn names(servers: &Value) -> Vec<String> {
    servers.as_object().unwrap().keys().cloned().collect()
}

/// Saves these user servers and returns the commit they caused, settled.
fn edit(sandbox: &Sandbox, watch: &Watch, servers: &Value) -> (Mark, Value) {
    let mark = watch.mark();
    sandbox.user_servers(servers);
    let reload = watch.settled(mark);
    (mark, reload)
}

fn tools_of(change: &Value, kind: &str) -> Vec<String> {
    let list = change["tools"][kind].as_array().unwrap_or_else(|| panic!("no tools.{kind} in {change}"));
    list.iter().map(|tool| tool.as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn changing_args_command_env_or_cwd_of_one_in_fifty_restarts_that_one_and_keeps_forty_nine() {
    let sandbox = Sandbox::new();
    let mut servers = fleet(&sandbox, 50);
    let all = names(&servers);
    sandbox.user_servers(&servers);
    let watch = sandbox.watch();
    watch.ready();
    let mut pids = watch.pids(&all);

    let other_command = sandbox.root().join("same-server-elsewhere");
    symlink(program("fake-mcp"), &other_command).unwrap();
    let other_folder = sandbox.root().join("elsewhere");
    fs::create_dir(&other_folder).unwrap();
    let edits = [
        ("s07", "args", sandbox.fake("s07", &["--tools", "3", "--tag", "edited"])["args"].clone()),
        ("s21", "command", json!(other_command)),
        ("s33", "env", json!({ "A": "1" })),
        ("s50", "cwd", json!(other_folder)),
    ];
    for (server, field, value) in edits {
        servers[server][field] = value;
        let (mark, reload) = edit(&sandbox, &watch, &servers);
        assert_eq!(reload["restarted"], json!([server]), "{field}: {reload}");
        assert_eq!(reload["kept"], 49, "{field}: {reload}");
        assert_eq!(reload["added"], json!([]), "{field}");
        assert_eq!(reload["removed"], json!([]), "{field}");
        assert_eq!(reload["rescoped"], json!([]), "{field}");
        watch.state_after(mark, server, "connected");
        let now = watch.pids(&all);
        let moved: Vec<&String> =
            all.iter().zip(pids.iter().zip(&now)).filter(|(_, (old, new))| old != new).map(|x| x.0).collect();
        assert_eq!(moved, [server], "{field}");
        pids = now;
    }
    assert_eq!(sandbox.spawns("s01"), 1);
    assert_eq!(sandbox.spawns("s33"), 2);
}

#[test]
fn a_server_that_is_added_removed_or_renamed_moves_alone() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({ "a": sandbox.fake("a", &[]) }));
    let watch = sandbox.watch();
    watch.ready();
    let a = watch.pid_of("a");

    let (_, added) =
        edit(&sandbox, &watch, &json!({ "a": sandbox.fake("a", &[]), "b": sandbox.fake("b", &[]) }));
    assert_eq!((&added["added"], &added["kept"]), (&json!(["b"]), &json!(1)));
    let b = watch.pid_of("b");

    let (mark, renamed) =
        edit(&sandbox, &watch, &json!({ "a": sandbox.fake("a", &[]), "c": sandbox.fake("b", &[]) }));
    assert_eq!((&renamed["added"], &renamed["removed"]), (&json!(["c"]), &json!(["b"])));
    watch.state_after(mark, "b", "removed");
    watch.state_after(mark, "c", "connected");
    wait_until(BOUND, "the old name's process to end", || (!alive(b)).then_some(()));

    let (mark, removed) = edit(&sandbox, &watch, &json!({ "a": sandbox.fake("a", &[]) }));
    assert_eq!((&removed["removed"], &removed["kept"]), (&json!(["c"]), &json!(1)));
    watch.state_after(mark, "c", "removed");
    assert_eq!(watch.pid_of("a"), a);
    assert_eq!(sandbox.spawns("a"), 1);
}

#[test]
fn a_filter_edit_is_rescoped_in_place_with_a_new_tool_list() {
    let sandbox = Sandbox::new();
    let mut servers = json!({ "a": sandbox.fake("a", &["--tools", "3"]), "b": sandbox.fake("b", &[]) });
    sandbox.user_servers(&servers);
    let watch = sandbox.watch();
    watch.ready();
    let pid = watch.pid_of("a");
    assert_eq!(watch.newest("a").unwrap()["tools"], 3);

    servers["a"]["includeTools"] = json!(["tool_1", "tool_2(x, y)"]);
    servers["a"]["excludeTools"] = json!(["tool_2"]);
    let (mark, reload) = edit(&sandbox, &watch, &servers);
    assert_eq!(reload["rescoped"], json!(["a"]), "{reload}");
    assert_eq!(reload["restarted"], json!([]));
    assert_eq!(reload["kept"], 1, "{reload}");
    let change = watch.after(mark, "catalogue-changed", |_| true);
    assert_eq!(tools_of(&change, "removed"), ["mcp__a__tool_2", "mcp__a__tool_3"]);
    let update = watch.state_after(mark, "a", "connected");
    assert_eq!((update["tools"].as_u64(), update["pid"].as_u64()), (Some(1), Some(pid.into())));

    servers["a"]["includeTools"] = json!([]);
    let (mark, _) = edit(&sandbox, &watch, &servers);
    assert_eq!(watch.state_after(mark, "a", "connected")["tools"], 0);
    assert_eq!(sandbox.spawns("a"), 1);
}

#[test]
fn a_time_limit_edit_is_rescoped_and_nothing_else_happens() {
    let sandbox = Sandbox::new();
    let mut servers = json!({ "a": sandbox.fake("a", &[]) });
    sandbox.user_servers(&servers);
    let mut watch = sandbox.watch();
    watch.ready();
    servers["a"]["timeout"] = json!(12_345);
    let (mark, reload) = edit(&sandbox, &watch, &servers);
    assert_eq!(reload["rescoped"], json!(["a"]), "{reload}");
    let seen = watch.nothing_more_since(mark);
    assert!(seen.iter().all(|event| event["event"] != "catalogue-changed"), "{seen:#?}");
    assert_eq!(sandbox.spawns("a"), 1);
}

#[test]
fn a_theme_edit_is_told_and_reloads_nothing() {
    let sandbox = Sandbox::new();
    let servers = json!({ "a": sandbox.fake("a", &[]) });
    sandbox.write(&sandbox.user(), &json!({ "mcpServers": servers, "ui": { "theme": "dark" } }));
    let mut watch = sandbox.watch();
    watch.ready();
    let mark = watch.mark();
    sandbox.write(&sandbox.user(), &json!({ "ui": { "theme": "light" }, "mcpServers": servers }));
    let change = watch.after(mark, "settings-change", |_| true);
    let expected = json!([{
        "scope": "user", "path": sandbox.user(), "change": "modified", "keys": [["ui", "theme"]],
    }]);
    assert_eq!(change["changes"], expected);
    let seen = watch.nothing_more_since(mark);
    assert_eq!(seen.len(), 1, "{seen:#?}");
}

#[test]
fn a_comment_or_another_layout_yields_nothing() {
    let sandbox = Sandbox::new();
    let servers = json!({ "a": sandbox.fake("a", &["--tools", "2"]) });
    sandbox.user_servers(&servers);
    let mut watch = sandbox.watch();
    watch.ready();
    let mark = watch.mark();
    let text = json!({ "mcpServers": servers }).to_string();
    qwen_tests::replace(&sandbox.user(), &format!("\u{feff}// a comment\r\n{text}\r\n/* and more */"));
    assert_eq!(watch.nothing_more_since(mark), Vec::<Value>::new());
    assert_eq!(sandbox.spawns("a"), 1);
}

#[test]
fn an_edit_and_its_reverse_within_100_ms_cause_nothing() {
    let sandbox = Sandbox::new();
    let (a, b) = (json!({ "a": sandbox.fake("a", &[]) }), json!({ "a": sandbox.fake("a", &["--tag", "b"]) }));
    sandbox.user_servers(&a);
    let mut watch = sandbox.watch();
    watch.ready();
    let mark = watch.mark();
    sandbox.user_servers(&b);
    sandbox.user_servers(&a);
    assert_eq!(watch.nothing_more_since(mark), Vec::<Value>::new());
    assert_eq!(sandbox.spawns("a"), 1);
}

#[test]
fn twenty_saves_within_one_debounce_are_one_commit() {
    let sandbox = Sandbox::new();
    sandbox.write(&sandbox.system(), &json!({ "mcp": { "reloadDebounceMs": 2000 } }));
    sandbox.user_servers(&json!({}));
    let mut watch = sandbox.watch();
    watch.ready();
    let mark = watch.mark();
    for n in 1..=20 {
        sandbox.user_servers(&json!({ "a": sandbox.fake("a", &["--tag", &n.to_string()]) }));
    }
    watch.state_after(mark, "a", "connected");
    let seen = watch.nothing_more_since(mark);
    let count = |name: &str| seen.iter().filter(|event| event["event"] == name).count();
    assert_eq!((count("mcp-reload"), count("settings-change")), (1, 1), "{seen:#?}");
    assert_eq!(sandbox.spawns("a"), 1);
}

#[test]
fn twenty_servers_that_never_answer_do_not_delay_one_that_is_added() {
    let sandbox = Sandbox::new();
    let mut servers: serde_json::Map<String, Value> =
        (1..=20).map(|n| (format!("mute{n}"), sandbox.fake(&format!("mute{n}"), &["--mute"]))).collect();
    sandbox.user_servers(&json!(servers));
    let watch = sandbox.watch();
    let hanging: Vec<String> = servers.keys().cloned().collect();
    wait_until(BOUND, "twenty processes", || {
        hanging.iter().all(|name| sandbox.spawns(name) == 1).then_some(())
    });

    let mark = watch.mark();
    servers.insert("quick".to_owned(), sandbox.fake("quick", &[]));
    sandbox.user_servers(&json!(servers));
    watch.after_within(stated(Duration::from_millis(1500)), mark, "mcp-client-update", |event| {
        event["server"] == "quick" && event["state"] == "connected"
    });
    for name in &hanging {
        assert_eq!(watch.newest(name).unwrap()["state"], "connecting", "{name}");
    }
}

#[test]
fn an_edit_of_a_hanging_server_takes_effect_at_once_and_its_old_group_is_gone() {
    let sandbox = Sandbox::new();
    let mute = sandbox.fake_under_sh(
        "a",
        "exec 3<&0; \"$0\" \"$@\" <&3 & wait",
        &["--mute", "--ignore-eof", "--ignore-term"],
    );
    sandbox.user_servers(&json!({ "a": mute, "other": sandbox.fake("other", &["--mute"]) }));
    let watch = sandbox.watch();
    wait_until(BOUND, "the hanging server", || (sandbox.logged("a", "request").len() == 1).then_some(()));
    let group = watch.state("a", "connecting");
    let mark = watch.mark();
    sandbox
        .user_servers(&json!({ "a": sandbox.fake("a", &[]), "other": sandbox.fake("other", &["--mute"]) }));
    watch.after_within(stated(Duration::from_secs(2)), mark, "mcp-client-update", |event| {
        event["server"] == "a" && event["state"] == "connected"
    });
    let reload = watch.reloaded(mark);
    assert_eq!(reload["restarted"], json!(["a"]), "{reload}; before: {group}");
    let pid = watch.pid_of("a");
    let old = |command: &str| command.contains("--name a ") && command.contains("--mute");
    wait_until(BOUND, "the old group to be gone", || {
        sandbox.processes().iter().all(|process| !old(&format!("{} ", process.command))).then_some(())
    });
    assert!(alive(pid));
}

#[test]
fn an_edit_while_a_superseded_attempt_would_answer_leaves_one_process_and_no_old_tool() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({ "a": sandbox.fake("a", &["--tool", "old", "--init-delay-ms", "1500"]) }));
    let watch = sandbox.watch();
    wait_until(BOUND, "the slow server", || (sandbox.logged("a", "request").len() == 1).then_some(()));
    let (mark, _) = edit(&sandbox, &watch, &json!({}));
    watch.state_after(mark, "a", "removed");
    let (mark, _) = edit(&sandbox, &watch, &json!({ "a": sandbox.fake("a", &["--tool", "new"]) }));
    watch.state_after(mark, "a", "connected");
    let added: Vec<String> = watch
        .named_since(Mark::START, "catalogue-changed")
        .iter()
        .flat_map(|change| tools_of(change, "added"))
        .collect();
    assert_eq!(added, ["mcp__a__new"]);
    wait_until(BOUND, "one process", || {
        let left = sandbox.processes().iter().filter(|p| p.command.contains("fake-mcp --name a")).count();
        (left == 1).then_some(())
    });
}

#[test]
fn from_no_servers_to_one_and_back() {
    let sandbox = Sandbox::new();
    let watch = sandbox.watch();
    let started = watch.after(Mark::START, "session-started", |_| true);
    assert_eq!(started["servers"], json!([]));
    watch.ready();
    let (mark, reload) = edit(&sandbox, &watch, &json!({ "a": sandbox.fake("a", &["--prompts", "1"]) }));
    assert_eq!((&reload["added"], &reload["kept"]), (&json!(["a"]), &json!(0)));
    let pid = watch.pid_of("a");
    let change = watch.after(mark, "catalogue-changed", |_| true);
    assert_eq!(tools_of(&change, "added"), ["mcp__a__echo"]);
    let (mark, reload) = edit(&sandbox, &watch, &json!({}));
    assert_eq!((&reload["removed"], &reload["kept"]), (&json!(["a"]), &json!(0)));
    watch.state_after(mark, "a", "removed");
    wait_until(BOUND, "its end", || (!alive(pid)).then_some(()));
}

/// Every way to take a server away: what is written into the user settings beside the servers, and what it is then.
#[test]
fn whatever_takes_a_server_away_takes_all_it_offers_before_it_is_told_and_the_reverse_edit_brings_it_back() {
    let sandbox = Sandbox::new();
    let offering = sandbox.fake("a", &["--tools", "2", "--prompts", "2", "--resources", "2"]);
    let other = sandbox.fake("b", &[]);
    let mut disabled = offering.clone();
    disabled["disabled"] = json!(true);
    let mut switched_off = offering.clone();
    switched_off["enabled"] = json!(false);
    let invalid = json!({ "command": 7 });
    let whole = json!({ "mcpServers": { "a": offering, "b": other } });
    let cases = [
        ("removed", json!({ "mcpServers": { "b": other } })),
        (
            "excluded",
            json!({ "mcpServers": { "a": offering, "b": other }, "mcp": { "excluded": ["?"], "allowed": ["b", "a"] } }),
        ),
        ("excluded", json!({ "mcpServers": { "a": offering, "b": other }, "mcp": { "excluded": ["a*"] } })),
        ("not_allowed", json!({ "mcpServers": { "a": offering, "b": other }, "mcp": { "allowed": ["b"] } })),
        ("not_allowed", json!({ "mcpServers": { "a": offering, "b": other }, "mcp": { "allowed": [] } })),
        ("disabled", json!({ "mcpServers": { "a": disabled, "b": other } })),
        ("disabled", json!({ "mcpServers": { "a": switched_off, "b": other } })),
        ("invalid", json!({ "mcpServers": { "a": invalid, "b": other } })),
    ];
    sandbox.write(&sandbox.user(), &whole);
    let watch = sandbox.watch();
    watch.ready();
    for (state, document) in cases {
        let pid = watch.pid_of("a");
        let mark = watch.mark();
        sandbox.write(&sandbox.user(), &document);
        watch.state_after(mark, "a", state);
        let seen = watch.since(mark);
        let place = |right: &dyn Fn(&Value) -> bool| seen.iter().position(right);
        let gone = place(&|event| {
            event["event"] == "catalogue-changed"
                && event["tools"]["removed"].to_string().contains("mcp__a__tool_2")
                && event["prompts"]["removed"].as_array().is_some_and(|list| list.len() >= 2)
                && event["resources"]["removed"].as_array().is_some_and(|list| list.len() >= 2)
        });
        let told = place(&|event| event["event"] == "mcp-client-update" && event["server"] == "a");
        assert!(gone.is_some() && gone < told, "{state}: {seen:#?}");
        wait_until(BOUND, "its process to end", || (!alive(pid)).then_some(()));

        let mark = watch.mark();
        sandbox.write(&sandbox.user(), &whole);
        let back = watch.state_after(mark, "a", "connected");
        assert_eq!((&back["tools"], &back["prompts"], &back["resources"]), (&json!(2), &json!(2), &json!(2)));
        watch.state("b", "connected");
    }
}

#[test]
fn servers_of_mcp_config_survive_every_settings_edit() {
    let sandbox = Sandbox::new();
    let config = sandbox.root().join("session.json");
    sandbox.write(&config, &json!({ "mcpServers": { "kept": sandbox.fake("kept", &[]) } }));
    sandbox.user_servers(&json!({ "a": sandbox.fake("a", &[]), "kept": sandbox.fake("loser", &[]) }));
    let watch = sandbox.watch_with(&["--mcp-config", config.to_str().unwrap()]);
    watch.ready();
    let pid = watch.pid_of("kept");
    let documents = [
        json!({ "mcpServers": {} }),
        json!({ "mcpServers": { "b": sandbox.fake("b", &[]) } }),
        json!({ "mcp": { "excluded": ["b"] } }),
        json!({}),
    ];
    for document in documents {
        let mark = watch.mark();
        sandbox.write(&sandbox.user(), &document);
        watch.after(mark, "settings-change", |_| true);
    }
    sandbox.user_servers(&json!({ "last": sandbox.fake("last", &[]) }));
    watch.state("last", "connected");
    fs::remove_file(sandbox.user()).unwrap();
    watch.state("last", "removed");
    assert_eq!(watch.pid_of("kept"), pid);
    assert_eq!((sandbox.spawns("kept"), sandbox.spawns("loser")), (1, 0));
}

#[test]
fn an_edit_made_while_the_session_starts_is_not_lost() {
    for delay in [0, 2, 5, 10, 20, 40, 80] {
        let sandbox = Sandbox::new();
        sandbox.user_servers(&json!({ "old": sandbox.fake("old", &[]) }));
        let watch = sandbox.watch();
        pause(Duration::from_millis(delay));
        sandbox.user_servers(&json!({ "new": sandbox.fake("new", &[]) }));
        watch.state("new", "connected");
        let mark = watch.mark();
        sandbox.user_servers(&json!({}));
        watch.state_after(mark, "new", "removed");
    }
}

#[test]
fn a_demo_server_is_a_real_server() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({
        "demo": { "command": "${QWEN_EXE}", "args": ["demo-server", "--name", "demo", "--tools", "2"] },
    }));
    let watch = sandbox.watch();
    let update = watch.state("demo", "connected");
    assert!(update["tools"].as_u64() >= Some(2), "{update}");
    assert!(update["prompts"].as_u64() >= Some(1), "{update}");
    assert!(update["resources"].as_u64() >= Some(1), "{update}");
    watch.finish();
    sandbox.wait_for_no_process(stated(Duration::from_secs(3)));
}

#[test]
fn held_edits_wait_for_a_reload_and_what_narrows_does_not() {
    let sandbox = Sandbox::new();
    let document = |servers: Value| json!({ "mcp": { "autoReload": false }, "mcpServers": servers });
    let (a, b) = (sandbox.fake("a", &[]), sandbox.fake("b", &[]));
    sandbox.write(&sandbox.user(), &document(json!({ "a": a, "b": b })));
    let watch = sandbox.watch();
    watch.ready();
    let pid = watch.pid_of("a");

    let edited = sandbox.fake("a", &["--tag", "edited"]);
    let mark = watch.mark();
    sandbox.write(&sandbox.user(), &document(json!({ "a": edited, "c": sandbox.fake("c", &[]) })));
    watch.after(mark, "notice", |event| event["code"] == "edits-held");
    watch.state_after(mark, "b", "removed");
    assert_eq!(watch.pid_of("a"), pid);
    assert_eq!(sandbox.spawns("c"), 0);

    let mark = watch.mark();
    watch.signal(rustix::process::Signal::HUP);
    watch.state_after(mark, "c", "connected");
    watch.state_after(mark, "a", "connected");
    assert_eq!(sandbox.spawns("a"), 2);
}
