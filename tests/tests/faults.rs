//! Every fault a server can have, injected by the fixture: the right state, the right words, and nobody else affected.

use std::{fs, time::Duration};

use qwen_tests::{BOUND, Mark, Sandbox, Watch, alive, wait_until};
use serde_json::{Value, json};

/// Runs these servers beside a healthy one and hands over the session once it is connected.
fn beside_a_healthy_one(sandbox: &Sandbox, mut servers: Value) -> Watch {
    servers["healthy"] = sandbox.fake("healthy", &["--tools", "2"]);
    sandbox.user_servers(&servers);
    let watch = sandbox.watch();
    watch.state("healthy", "connected");
    watch
}

fn healthy_is_untouched(sandbox: &Sandbox, watch: &Watch) {
    assert_eq!(sandbox.spawns("healthy"), 1);
    assert!(alive(watch.pid_of("healthy")));
}

#[test]
fn each_server_that_fails_says_how_and_affects_nobody_else() {
    let sandbox = Sandbox::new();
    let file = sandbox.root().join("a-file");
    fs::write(&file, "").unwrap();
    let mut cwd_is_a_file = sandbox.fake("cwd_is_a_file", &[]);
    cwd_is_a_file["cwd"] = json!(file);
    let mut cwd_is_missing = sandbox.fake("cwd_is_missing", &[]);
    cwd_is_missing["cwd"] = json!("/no/such/folder");
    let mut mute = sandbox.fake("mute", &["--mute"]);
    mute["discoveryTimeoutMs"] = json!(600);
    let mut deaf = sandbox.fake("deaf", &["--deaf"]);
    deaf["discoveryTimeoutMs"] = json!(600);
    let refusal = sandbox.root().join("refusal.json");
    let text = r#"{"jsonrpc":"2.0","id":"$ID","error":{"code":-32602,"message":"unsupported protocol version","data":{"supported":["2099-01-01"]}}}"#;
    fs::write(&refusal, text).unwrap();
    let refusal = refusal.to_str().unwrap();
    let flag = |name: &str, flags: &[&str]| sandbox.fake(name, flags);
    // Each: its name, its entry, and words of which all must be in what is said about it.
    let cases: Vec<(&str, Value, Vec<&str>)> = vec![
        (
            "exit_3",
            flag("exit_3", &["--at", "start", "stderr Error: FOO_TOKEN missing", "--at", "start", "exit 3"]),
            vec!["code 3", "FOO_TOKEN missing"],
        ),
        ("exit_in_handshake", flag("exit_in_handshake", &["--at", "initialize", "exit 42"]), vec!["42"]),
        ("killed", flag("killed", &["--at", "initialize", "signal KILL"]), vec!["KILL"]),
        ("aborted", flag("aborted", &["--at", "initialize", "signal ABRT"]), vec!["ABRT"]),
        (
            "no_command",
            json!({ "command": "no-such-command-here" }),
            vec!["no-such-command-here", "not found"],
        ),
        ("no_path", json!({ "command": "/no/such/program" }), vec!["/no/such/program"]),
        ("cwd_is_missing", cwd_is_missing, vec!["/no/such/folder", "does not exist"]),
        ("cwd_is_a_file", cwd_is_a_file, vec!["a-file", "not a folder"]),
        ("mute", mute, vec!["no answer to initialize after 600 ms"]),
        ("deaf", deaf, vec!["no answer to initialize after 600 ms"]),
        ("future", flag("future", &["--protocol", "2099-01-01"]), vec!["2099-01-01", "2025-"]),
        ("no_version", flag("no_version", &["--protocol", ""]), vec!["version"]),
        (
            "refuses",
            flag("refuses", &["--answer", "initialize", refusal]),
            vec!["unsupported protocol version"],
        ),
        ("huge_line", flag("huge_line", &["--at", "initialize", "stdout-flood 17825792"]), vec!["16 MiB"]),
        ("closes_stdout", flag("closes_stdout", &["--at", "initialize", "close-stdout"]), vec!["closed"]),
        ("remote", json!({ "httpUrl": "http://127.0.0.1:9/mcp" }), vec!["refused"]),
    ];
    let servers: Value = cases
        .iter()
        .map(|(name, entry, _)| ((*name).to_owned(), entry.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let watch = beside_a_healthy_one(&sandbox, servers);
    for (name, _, words) in &cases {
        let failed = watch.state_after(Mark::START, name, "failed");
        let said = format!("{} {}", failed["cause"], failed["error"]);
        for word in words {
            assert!(said.contains(word), "{name}: {word} in {said}");
        }
        assert!(failed["pid"].is_null() && failed["tools"].is_null(), "{failed}");
    }
    healthy_is_untouched(&sandbox, &watch);
    assert_eq!((sandbox.spawns("cwd_is_missing"), sandbox.spawns("cwd_is_a_file")), (0, 0));
    wait_until(BOUND, "the deaf one to be gone between two attempts", || {
        let left = sandbox.processes();
        left.iter().all(|process| !process.command.contains("--deaf")).then_some(())
    });
}

#[test]
fn what_a_retry_cannot_mend_is_not_retried_and_what_it_can_is() {
    let sandbox = Sandbox::new();
    let servers = json!({
        "future": sandbox.fake("future", &["--protocol", "2099-01-01"]),
        "exits": sandbox.fake("exits", &["--at", "start", "exit 1"]),
        "missing": { "command": "no-such-command-here" },
    });
    let watch = beside_a_healthy_one(&sandbox, servers);
    wait_until(BOUND, "three attempts of one", || (sandbox.spawns("exits") >= 3).then_some(()));
    assert_eq!(sandbox.spawns("future"), 1);
    let failures = watch.named_since(Mark::START, "mcp-client-update");
    let of_missing = failures.iter().filter(|e| e["server"] == "missing" && e["state"] == "failed").count();
    assert_eq!(of_missing, 1);
}

#[test]
fn noise_floods_odd_messages_and_early_requests_do_not_keep_a_server_from_connecting() {
    let sandbox = Sandbox::new();
    let ping = r#"say {"jsonrpc":"2.0","id":"early","method":"ping"}"#;
    let log =
        r#"say {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
    let changed = r#"say {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let unknown = r#"say {"jsonrpc":"2.0","id":"odd","method":"no/such/request"}"#;
    let roots = r#"say {"jsonrpc":"2.0","id":"roots","method":"roots/list"}"#;
    let cases: Vec<(&str, Vec<&str>)> = vec![
        ("text", vec!["--at", "start", "say hello, I am a server", "--at", "list", "say {not json"]),
        ("many_lines", vec!["--at", "initialize", "say-times 2000 noise"]),
        ("bad_utf8", vec!["--at", "initialize", "say-hex fffe80 0a", "--at", "list", "say-hex c3 0a"]),
        ("long_line", vec!["--at", "initialize", "stdout-flood 1000000", "--at", "initialize", "say  "]),
        ("empty_lines", vec!["--at", "initialize", "say-times 100 "]),
        ("split", vec!["--split", "--tool", "é", "--tool", "日本語", "--tool", "echo"]),
        ("ping_early", vec!["--at", "initialize", ping]),
        ("notify_early", vec!["--at", "initialize", log, "--at", "initialize", changed]),
        ("asks", vec!["--at", "ready", unknown, "--at", "ready", roots]),
        ("stderr", vec!["--at", "start", "stderr-flood 1048576", "--at", "list", "stderr-flood 1048576"]),
        ("null_cursor", vec!["--cursor", "null"]),
        ("pages", vec!["--tools", "7", "--cursor", "3"]),
        ("repeat", vec!["--cursor", "repeat"]),
        ("empty", vec!["--cursor", "empty"]),
        ("endless", vec!["--cursor", "endless"]),
        ("nothing_declared", vec!["--declare-nothing", "--prompts", "2"]),
        ("v2024", vec!["--protocol", "2024-11-05"]),
        ("v2025_03", vec!["--protocol", "2025-03-26"]),
        ("v2025_06", vec!["--protocol", "2025-06-18"]),
    ];
    let servers: Value = cases
        .iter()
        .map(|(name, flags)| ((*name).to_owned(), sandbox.fake(name, flags)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let watch = beside_a_healthy_one(&sandbox, servers);
    for (name, _) in &cases {
        watch.state(name, "connected");
        assert_eq!(sandbox.spawns(name), 1, "{name}");
    }
    let tools = |name: &str| watch.newest(name).unwrap()["tools"].as_u64();
    assert_eq!(
        (tools("pages"), tools("split"), tools("repeat"), tools("empty")),
        (Some(7), Some(3), Some(1), Some(1))
    );
    assert!(tools("endless") <= Some(10_000));
    assert_eq!(watch.newest("nothing_declared").unwrap()["prompts"], 2);

    let answer = |name: &str, id: &str| {
        wait_until(BOUND, &format!("{name} to be answered"), || {
            sandbox
                .logged(name, "response")
                .into_iter()
                .map(|line| line["message"].clone())
                .find(|m| m["id"] == id)
        })
    };
    assert_eq!(answer("ping_early", "early")["result"], json!({}));
    assert_eq!(answer("asks", "odd")["error"]["code"], -32601);
    let root = answer("asks", "roots")["result"]["roots"][0]["uri"].clone();
    assert_eq!(root, json!(format!("file://{}", sandbox.project().display())));
    healthy_is_untouched(&sandbox, &watch);
}

#[test]
fn one_bad_tool_is_dropped_or_mended_and_the_rest_stays() {
    let sandbox = Sandbox::new();
    let file = sandbox.root().join("answer.json");
    let mut deep = json!({ "type": "object" });
    for _ in 0..200 {
        deep = json!({ "type": "object", "properties": { "x": deep } });
    }
    let recursive = json!({
        "type": "object", "properties": { "next": { "$ref": "#/$defs/node" } },
        "$defs": { "node": { "type": "object", "properties": { "next": { "$ref": "#/$defs/node" } } } },
    });
    let tools = json!([
        { "name": "ok", "inputSchema": { "type": "object" } },
        { "name": "null_schema", "inputSchema": null },
        { "name": "no_schema" },
        { "name": "string_schema", "inputSchema": { "type": "string" } },
        { "name": "any_of", "inputSchema": { "anyOf": [{ "type": "object" }] } },
        { "name": "null_required", "inputSchema": { "type": "object", "required": null } },
        { "name": "list_properties", "inputSchema": { "type": "object", "properties": [] } },
        { "name": "numeric_description", "description": 7, "inputSchema": { "type": "object" } },
        { "description": "no name at all", "inputSchema": { "type": "object" } },
        { "name": "recursive", "inputSchema": recursive },
        { "name": "deep", "inputSchema": deep },
        { "name": "also_ok", "inputSchema": { "type": "object", "properties": { "a": {} } } },
    ]);
    let answer = json!({ "jsonrpc": "2.0", "id": "$ID", "result": { "tools": tools } });
    fs::write(&file, answer.to_string()).unwrap();
    let flags = ["--answer", "tools/list", file.to_str().unwrap()];
    let watch = beside_a_healthy_one(&sandbox, json!({ "odd": sandbox.fake("odd", &flags) }));
    let update = watch.state("odd", "connected");
    let added =
        watch.named_since(Mark::START, "catalogue-changed").iter().map(Value::to_string).collect::<String>();
    for name in ["ok", "also_ok", "recursive", "any_of"] {
        assert!(added.contains(&format!("mcp__odd__{name}\"")), "{name} in {added}");
    }
    assert!(!added.contains("string_schema"), "{added}");
    let tools = update["tools"].as_u64().unwrap();
    assert!((5..=11).contains(&tools), "{update}");
    assert!(update["cause"].to_string().contains("skipped"), "{update}");
    healthy_is_untouched(&sandbox, &watch);
}

#[test]
fn odd_answers_of_real_servers_are_mended_or_fail_alone() {
    let sandbox = Sandbox::new();
    let odd = |name: &str, text: &str| -> Value {
        let file = sandbox.root().join(format!("{name}.json"));
        fs::write(&file, text).unwrap();
        sandbox.fake(name, &["--answer", "tools/list", file.to_str().unwrap()])
    };
    let tools = r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#;
    let servers = json!({
        "null_error": odd("null_error", &format!(r#"{{"jsonrpc":"2.0","id":"$ID","result":{tools},"error":null}}"#)),
        "no_jsonrpc": odd("no_jsonrpc", &format!(r#"{{"id":"$ID","result":{tools}}}"#)),
        "batch": odd("batch", &format!(r#"[{{"jsonrpc":"2.0","id":"$ID","result":{tools}}}]"#)),
        "null_tools": odd("null_tools", r#"{"jsonrpc":"2.0","id":"$ID","result":{"tools":null}}"#),
        "string_error": odd("string_error", r#"{"jsonrpc":"2.0","id":"$ID","error":"something broke"}"#),
        "not_found": odd("not_found", r#"{"jsonrpc":"2.0","id":"$ID","error":{"code":-32601,"message":"no"}}"#),
    });
    let watch = beside_a_healthy_one(&sandbox, servers);
    for (name, tools) in
        [("null_error", 1), ("no_jsonrpc", 1), ("batch", 1), ("null_tools", 0), ("not_found", 0)]
    {
        assert_eq!(watch.state(name, "connected")["tools"], tools, "{name}");
    }
    // "Has none" and "could not be listed" are different: this one says what went wrong.
    let broken = watch.wait_within(BOUND, "the error of the list", |events| {
        let of_it = |event: &&Value| event["server"] == "string_error" && event["state"] != "connecting";
        events.iter().find(of_it).cloned()
    });
    assert!(broken["cause"].to_string().contains("something broke"), "{broken}");
    healthy_is_untouched(&sandbox, &watch);
}

#[test]
fn a_page_that_fails_is_told_and_is_no_shorter_list() {
    let sandbox = Sandbox::new();
    let watch = beside_a_healthy_one(
        &sandbox,
        json!({ "a": sandbox.fake("a", &["--tools", "2", "--cursor", "error-on-page-2"]) }),
    );
    let told = watch.wait_within(BOUND, "the error of the page", |events| {
        let of_it = |event: &&Value| event["server"] == "a" && event["state"] != "connecting";
        events.iter().find(of_it).cloned()
    });
    assert!(told["cause"].to_string().contains("page two is broken"), "{told}");
    assert_ne!(told["tools"], 2, "{told}");
    healthy_is_untouched(&sandbox, &watch);
}

#[test]
fn a_burst_of_list_changed_is_a_few_refreshes_and_the_last_list_counts() {
    let sandbox = Sandbox::new();
    let file = sandbox.root().join("tools.json");
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    sandbox.write(&file, &json!([tool("one")]));
    let control = sandbox.root().join("control");
    let flags = ["--tools-file", file.to_str().unwrap(), "--control", control.to_str().unwrap()];
    let watch = beside_a_healthy_one(&sandbox, json!({ "a": sandbox.fake("a", &flags) }));
    let pid = watch.pid_of("a");
    let lists = || {
        let all = sandbox.logged("a", "request");
        all.iter().filter(|line| line["method"] == "tools/list").count()
    };
    let before = lists();
    sandbox.write(&file, &json!([tool("one"), tool("two"), tool("three")]));
    let mark = watch.mark();
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    qwen_tests::command(&control, pid, &format!("say-times 200 {changed}"));
    watch.after(mark, "mcp-client-update", |event| event["server"] == "a" && event["tools"] == 3);
    assert!(lists() - before <= 3, "{} lists", lists() - before);

    // One tool goes: told as removed, and the count follows.
    sandbox.write(&file, &json!([tool("two")]));
    let mark = watch.mark();
    qwen_tests::command(&control, pid, &format!("say {changed}"));
    let change = watch.after(mark, "catalogue-changed", |_| true);
    assert_eq!(change["tools"]["removed"], json!(["mcp__a__one", "mcp__a__three"]));
    watch.after(mark, "mcp-client-update", |event| event["server"] == "a" && event["tools"] == 1);
    assert_eq!(watch.pid_of("a"), pid);
}

#[test]
fn a_stream_that_breaks_while_connected_is_noticed_at_once_and_its_tools_are_gone() {
    let sandbox = Sandbox::new();
    let control = sandbox.root().join("control");
    let entry = |name: &str| sandbox.fake(name, &["--control", control.to_str().unwrap(), "--ignore-eof"]);
    let names = ["exits", "closes", "floods"];
    let watch = beside_a_healthy_one(
        &sandbox,
        json!({ "exits": entry("exits"), "closes": entry("closes"), "floods": entry("floods") }),
    );
    let pids = names.map(|name| watch.pid_of(name));
    for ((name, pid), action) in
        names.iter().zip(pids).zip(["exit 5", "close-stdout", "stdout-flood 17825792"])
    {
        let mark = watch.mark();
        qwen_tests::command_unanswered(&control, pid, action);
        let lost = watch.after_within(Duration::from_secs(10), mark, "mcp-client-update", |event| {
            event["server"] == *name && event["state"] != "connected"
        });
        let change = watch.after(mark, "catalogue-changed", |_| true);
        assert_eq!(change["tools"]["removed"], json!([format!("mcp__{name}__echo")]), "{lost}");
        watch.state_after(mark, name, "connected");
        wait_until(BOUND, "the old process to end", || (!alive(pid)).then_some(()));
    }
    healthy_is_untouched(&sandbox, &watch);
}
