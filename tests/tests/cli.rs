//! Do the commands say what `cli.md` promises: names, fields, exit codes, and a reason for everything?

use std::{collections::BTreeSet, fs, process::Stdio};

use qwen_tests::{BOUND, Mark, Sandbox, Watch, wait_until};
use serde_json::{Value, json};

const ROW: [&str; 20] = [
    "name",
    "scope",
    "source",
    "transport",
    "target",
    "state",
    "cause",
    "since",
    "nextStep",
    "error",
    "stderrTail",
    "pid",
    "tools",
    "prompts",
    "resources",
    "fingerprint",
    "approval",
    "shadows",
    "shadowedBy",
    "resolvedPath",
];

/// Entries in every state that `mcp list` can show, and that state.
fn every_state(sandbox: &Sandbox) -> Vec<(&'static str, &'static str)> {
    let mut disabled = sandbox.fake("disabled", &[]);
    disabled["disabled"] = json!(true);
    sandbox.write(
        &sandbox.user(),
        &json!({
            "mcpServers": {
                "connected": sandbox.fake("connected", &["--tools", "2", "--prompts", "1"]),
                "failed": sandbox.fake("failed", &["--at", "start", "stderr no license", "--at", "start", "exit 3"]),
                "disabled": disabled,
                "excluded": sandbox.fake("excluded", &[]),
                "not_allowed": sandbox.fake("not_allowed", &[]),
                "invalid": { "command": 1 },
            },
            "mcp": { "excluded": ["exc*"], "allowed": ["[!n]*", "c*", "f*", "d*", "e*", "i*", "p*", "r*"] },
        }),
    );
    sandbox.project_servers(&json!({
        "pending": sandbox.fake("pending", &[]), "rejected": sandbox.fake("rejected", &[]),
    }));
    sandbox.run(["mcp", "reject", "rejected"]).ended_with(0);
    vec![
        ("connected", "connected"),
        ("disabled", "disabled"),
        ("excluded", "excluded"),
        ("failed", "failed"),
        ("invalid", "invalid"),
        ("not_allowed", "not_allowed"),
        ("pending", "pending_approval"),
        ("rejected", "rejected"),
    ]
}

#[test]
fn every_state_is_listed_with_cause_time_place_and_next_step() {
    let sandbox = Sandbox::new();
    let expected = every_state(&sandbox);
    let listed = sandbox.run(["mcp", "list", "--json"]).ended_with(0);
    let document = listed.json();
    let names: Vec<&str> =
        document["servers"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, expected.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "sorted by name");
    for (name, state) in expected {
        let row = listed.row(name);
        assert_eq!(row["state"], state, "{row:#}");
        for key in ROW.iter().filter(|key| **key != "resolvedPath") {
            assert!(row.get(*key).is_some(), "{name} has no {key}: {row:#}");
        }
        let known = row.as_object().unwrap().keys().all(|key| ROW.contains(&key.as_str()));
        assert!(known, "{row:#}");
        let file = if row["scope"] == "project" { sandbox.mcp_json() } else { sandbox.user() };
        assert_eq!(row["source"]["path"], json!(file), "{row:#}");
        let line = usize::try_from(row["source"]["line"].as_u64().unwrap()).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let at = text.lines().nth(line - 1).unwrap();
        assert!(at.contains(&format!("\"{name}\"")), "{name}: line {line} is {at}");
        if state == "connected" {
            assert_eq!(
                (&row["tools"], &row["prompts"], &row["resources"]),
                (&json!(2), &json!(1), &json!(0))
            );
            assert!(row["pid"].as_u64().is_some() && row["error"].is_null(), "{row:#}");
            continue;
        }
        assert!(row["cause"].as_str().is_some_and(|cause| cause.len() > 5), "{row:#}");
        assert!(row["nextStep"].as_str().is_some_and(|step| step.len() > 5), "{row:#}");
        assert!(row["tools"].is_null() && row["pid"].is_null(), "{row:#}");
        let gated = row["scope"] == "project";
        assert_eq!(row["approval"].is_object(), gated, "{row:#}");
        if gated || state == "excluded" || state == "not_allowed" || state == "disabled" {
            let words = format!("{} {}", row["cause"], row["nextStep"]).to_lowercase();
            assert!(!words.contains("log") && !words.contains("-v"), "{row:#}");
            assert!(row["error"].is_null(), "{row:#}");
        }
    }
    let failed = listed.row("failed");
    assert!(failed["error"].as_str().unwrap().contains('3'), "{failed:#}");
    assert!(failed["stderrTail"].as_str().unwrap().contains("no license"), "{failed:#}");
    assert!(listed.row("rejected")["since"].as_str().unwrap().contains('T'));
}

#[test]
fn with_check_a_failed_server_is_exit_3_and_without_a_failure_it_is_0() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({ "a": sandbox.fake("a", &[]) }));
    sandbox.project_servers(&json!({ "gated": sandbox.fake("gated", &[]) }));
    sandbox.run(["mcp", "list", "--check"]).ended_with(0);
    sandbox.user_servers(&json!({ "a": sandbox.fake("a", &["--at", "start", "exit 1"]) }));
    sandbox.run(["mcp", "list", "--check"]).ended_with(3);
    sandbox.run(["mcp", "list"]).ended_with(0);
}

#[test]
fn a_server_that_does_not_answer_is_failed_after_the_given_time_and_the_others_are_listed() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({ "mute": sandbox.fake("mute", &["--mute"]), "a": sandbox.fake("a", &[]) }));
    let listed = sandbox.run(["mcp", "list", "--json", "--timeout", "1500"]).ended_with(0);
    assert_eq!((listed.state("mute"), listed.state("a")), ("failed".into(), "connected".into()));
    let cause = listed.row("mute").to_string();
    assert!(cause.contains("no answer to initialize after"), "{cause}");
}

#[test]
fn without_connecting_an_admitted_server_is_not_tried() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({ "a": sandbox.fake("a", &[]) }));
    let row = sandbox.run(["mcp", "list", "--no-connect", "--json"]).ended_with(0).row("a");
    assert_eq!((&row["state"], &row["cause"]), (&Value::Null, &json!("not tried")));
    assert_eq!(sandbox.spawns("a"), 0);
}

#[test]
fn the_plan_says_what_a_session_would_do_and_connects_nothing() {
    let sandbox = Sandbox::new();
    every_state(&sandbox);
    let plan = sandbox.run(["mcp", "plan", "--json"]).ended_with(0);
    let actions = [
        ("connected", "connect"),
        ("failed", "connect"),
        ("pending", "ask"),
        ("rejected", "skip"),
        ("excluded", "skip"),
        ("disabled", "skip"),
    ];
    for (name, action) in actions {
        assert_eq!(plan.row(name)["action"], action, "{name}");
    }
    let text = sandbox.run(["mcp", "plan"]).ended_with(0).stdout;
    for (action, server) in [("+ connect", "connected"), ("! ask", "pending"), ("- skip", "rejected")] {
        let said = text.lines().any(|line| line.starts_with(action) && line.contains(server));
        assert!(said, "{action} {server} in\n{text}");
    }
    assert_eq!(sandbox.log(), Vec::<Value>::new());
}

#[test]
fn the_plan_against_a_saved_one_names_what_would_move_and_which_fields_moved_it() {
    let sandbox = Sandbox::new();
    let mut servers = json!({
        "kept": sandbox.fake("kept", &[]), "moved": sandbox.fake("moved", &[]),
        "filtered": sandbox.fake("filtered", &[]), "gone": sandbox.fake("gone", &[]),
    });
    sandbox.user_servers(&servers);
    let saved = sandbox.root().join("before.json");
    fs::write(&saved, sandbox.run(["mcp", "plan", "--json"]).ended_with(0).stdout).unwrap();
    servers["moved"]["env"] = json!({ "A": "1" });
    servers["filtered"]["includeTools"] = json!(["echo"]);
    servers.as_object_mut().unwrap().remove("gone");
    servers["new"] = sandbox.fake("new", &[]);
    sandbox.user_servers(&servers);
    let plan = sandbox.run(["mcp", "plan", "--json", "--against", saved.to_str().unwrap()]).ended_with(0);
    let action = |name: &str| plan.row(name)["action"].as_str().unwrap().to_owned();
    let actions = ["kept", "moved", "filtered", "gone", "new"].map(action);
    assert_eq!(actions, ["keep", "restart", "rescope", "close", "connect"]);
    assert_eq!(plan.row("moved")["fields"], json!(["env"]));
    assert_eq!(plan.row("filtered")["fields"], json!(["includeTools"]));
    assert_eq!(sandbox.log(), Vec::<Value>::new());
}

#[test]
fn every_line_of_watch_is_an_event_of_the_list_with_version_and_time() {
    let sandbox = Sandbox::new();
    every_state(&sandbox);
    let watch = sandbox.watch();
    watch.ready();
    sandbox.write(&sandbox.user(), &json!({ "mcpServers": {}, "ui": { "theme": "x" } }));
    watch.state("connected", "removed");
    qwen_tests::replace(&sandbox.user(), "{");
    watch.after(Mark::START, "settings-invalid", |_| true);
    let events = watch.finish();
    let known: BTreeSet<&str> = [
        "session-started",
        "settings-change",
        "settings-invalid",
        "settings-recovered",
        "restart-required",
        "mcp-client-update",
        "mcp-reload",
        "mcp-settled",
        "mcp-pending-approval-changed",
        "catalogue-changed",
        "notice",
        "session-ended",
    ]
    .into();
    for event in &events {
        assert_eq!(event["v"], 1, "{event}");
        assert!(known.contains(event["event"].as_str().unwrap()), "{event}");
        let time = event["time"].as_str().unwrap();
        assert!(time.len() == 24 && time.ends_with('Z') && time.as_bytes()[19] == b'.', "{time}");
    }
    assert_eq!(events[0]["event"], "session-started");
    for field in ["projectRoot", "pid", "watched", "servers"] {
        assert!(!events[0][field].is_null(), "{}", events[0]);
    }
    assert_eq!(events.last().unwrap()["event"], "session-ended");
    let first: Vec<&Value> = events.iter().filter(|event| event["event"] == "mcp-reload").collect();
    assert_eq!(first[0]["generation"], 1);
    let updates: BTreeSet<&str> = events
        .iter()
        .filter(|event| event["event"] == "mcp-client-update")
        .map(|event| event["server"].as_str().unwrap())
        .collect();
    assert_eq!(updates.len(), 8, "every entry once at start: {updates:?}");
}

#[test]
fn human_output_of_watch_names_what_happened_and_the_bare_command_is_watch() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({ "alpha": sandbox.fake("alpha", &[]) }));
    for args in [vec!["mcp", "watch"], vec![]] {
        let watch = Watch::start(sandbox.command(args), &sandbox);
        watch.wait_within(BOUND, "a line that says alpha is connected", |lines| {
            lines
                .iter()
                .any(|line| {
                    line.as_str().is_some_and(|text| text.contains("alpha") && text.contains("connected"))
                })
                .then_some(())
        });
        assert!(!watch.events().iter().any(|line| line.to_string().contains("\\u001b")));
    }
}

#[test]
fn secrets_are_masked_wherever_something_is_shown() {
    let sandbox = Sandbox::new();
    let secret = "s3cr3t-value-of-a-token";
    let leaking = json!({
        "command": "sh",
        "args": ["-c", "echo my token is $TOKEN >&2; exit 4", format!("--api-key={secret}"), "--password", secret],
        "env": { "TOKEN": "${THE_TOKEN}" },
    });
    let url = format!("https://user:{secret}@e.example/mcp?key={secret}");
    let headers = json!({ "Authorization": format!("Bearer {secret}") });
    sandbox.user_servers(&json!({ "leaking": leaking, "remote": { "httpUrl": url, "headers": headers } }));
    fs::write(sandbox.home().join(".qwen/.env"), format!("THE_TOKEN={secret}\n")).unwrap();
    let (typed, variable) = (format!("--password={secret}"), format!("T={secret}"));
    let entry = json!({ "command": "x", "env": { "T": secret } }).to_string();
    let commands: [&[&str]; 24] = [
        &["mcp", "list"],
        &["mcp", "list", "--json"],
        &["-vv", "mcp", "list", "--json"],
        &["mcp", "plan"],
        &["mcp", "plan", "--json"],
        &["settings", "check"],
        &["settings", "show"],
        &["settings", "show", "--json", "--origin"],
        &["mcp", "get", "leaking"],
        &["mcp", "get", "leaking", "--json"],
        &["mcp", "get", "remote", "--no-connect"],
        &["mcp", "get", "remote", "--no-connect", "--json"],
        &["mcp", "reconnect", "leaking"],
        &["mcp", "tools", "leaking"],
        &["mcp", "tools", "leaking", "--json"],
        &["mcp", "call", "leaking", "x"],
        &["mcp", "call", "leaking", "x", "--json"],
        &["mcp", "disable", "leaking"],
        &["mcp", "enable", "leaking", "--json"],
        &["mcp", "add", "typed", "x", &typed, "-e", &variable],
        &["mcp", "add", "typed", "x", "-e", &variable, "--json"],
        &["mcp", "add-json", "json", &entry, "-s", "project"],
        &["mcp", "add-json", "json", &entry, "-s", "project", "--json"],
        &["mcp", "remove", "typed"],
    ];
    for command in commands {
        let ran = sandbox.run(command);
        assert!(!ran.stdout.contains(secret), "{command:?}: {}", ran.stdout);
        assert!(!ran.stderr.contains(secret), "{command:?}: {}", ran.stderr);
    }
    let watch = sandbox.watch_with(&["-vv"]);
    watch.state("leaking", "failed");
    watch.ready();
    let said = format!("{:?}{}", watch.events(), watch.stderr());
    assert!(!said.contains(secret), "{said}");
    assert!(said.contains("my token is"), "the tail is there: {said}");
}

#[test]
fn the_playground_of_the_demo_connects_servers_and_has_one_that_waits_for_approval() {
    let sandbox = Sandbox::new();
    let folder = sandbox.root().join("playground");
    let mut watch = Watch::start(sandbox.command(["demo", folder.to_str().unwrap()]), &sandbox);
    let said = |words: &[&str]| {
        watch.wait_within(BOUND, &format!("{words:?}"), |lines| {
            let told = |word: &&str| lines.iter().any(|line| line.to_string().contains(*word));
            words.iter().all(told).then_some(())
        });
    };
    said(&["connected", "approv", "qwen"]);
    assert!(folder.exists());
    let left = || {
        let all = sandbox.processes();
        all.iter().filter(|process| process.command.contains("demo-server")).count()
    };
    assert!(left() >= 2);
    watch.signal(rustix::process::Signal::INT);
    assert_eq!(watch.ended().code(), Some(0));
    wait_until(BOUND, "the demo servers to end", || (left() == 0).then_some(()));
}

#[test]
fn usage_errors_are_exit_2_and_misspelt_names_are_answered_with_the_nearest() {
    let sandbox = Sandbox::new();
    sandbox.run(["mcp", "lst"]).ended_with(2);
    sandbox.run(["mcp", "list", "--no-such-flag"]).ended_with(2);
    sandbox.run(["mcp", "approve"]).ended_with(2);
    sandbox.project_servers(&json!({ "github": sandbox.fake("github", &[]) }));
    sandbox.run(["mcp", "approve", "github", "--hash", "12ab"]).ended_with(2);
    let ran = sandbox.run(["mcp", "approve", "gihub"]).ended_with(1);
    assert!(ran.stderr.contains("github"), "{ran:#?}");
}

#[test]
fn reconnect_tries_verifies_or_says_why_not() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({
        "a": sandbox.fake("a", &[]), "broken": sandbox.fake("broken", &["--at", "start", "exit 1"]),
    }));
    sandbox.project_servers(&json!({ "gated": sandbox.fake("gated", &[]) }));
    sandbox.run(["mcp", "reconnect", "a"]).ended_with(0);
    sandbox.run(["mcp", "reconnect", "broken"]).ended_with(3);
    let ran = sandbox.run(["mcp", "reconnect", "gated"]).ended_with(5);
    assert!(format!("{}{}", ran.stdout, ran.stderr).contains("approve"), "{ran:#?}");
    sandbox.run(["mcp", "reconnect", "nobody"]).ended_with(1);
    assert_eq!((sandbox.spawns("a"), sandbox.spawns("gated")), (1, 0));
}

#[test]
fn settings_check_places_each_problem_and_is_exit_4_for_an_error_that_counts() {
    let sandbox = Sandbox::new();
    qwen_tests::replace(
        &sandbox.user(),
        "{\n  \"mcp\": {\n    \"alowed\": []\n  },\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\", \"args\": \"y\" }\n  }\n}\n",
    );
    let ran = sandbox.run(["settings", "check", "--json"]).ended_with(4);
    let diagnostics = ran.json()["diagnostics"].as_array().unwrap().clone();
    let at = |line: u64| diagnostics.iter().find(|d| d["line"] == line).unwrap_or_else(|| panic!("{ran:#?}"));
    assert_eq!(at(3)["severity"], "warning");
    assert!(at(3).to_string().contains("allowed"), "the nearest name: {}", at(3));
    assert_eq!(at(6)["severity"], "error");

    let sandbox = Sandbox::new();
    qwen_tests::replace(&sandbox.mcp_json(), "{ \"mcpServers\": { oops } }");
    sandbox.run(["settings", "check"]).ended_with(0);
    sandbox.run(["settings", "check", "--strict"]).ended_with(4);
}

#[test]
fn settings_show_names_the_scope_that_each_value_comes_from() {
    let sandbox = Sandbox::new();
    sandbox.write(&sandbox.user(), &json!({ "ui": { "theme": "mine" }, "mcp": { "excluded": ["x"] } }));
    sandbox.write(&sandbox.workspace(), &json!({ "ui": { "theme": "theirs" } }));
    let shown = sandbox.run(["settings", "show", "ui.theme", "--json", "--origin"]).ended_with(0);
    assert!(shown.stdout.contains("theirs") && shown.stdout.contains("workspace"), "{shown:#?}");
    let shown = sandbox.run(["settings", "show"]).ended_with(0);
    assert!(shown.stdout.contains("theirs") && shown.stdout.contains("excluded"), "{shown:#?}");
}

#[test]
fn a_list_says_so_when_a_session_of_this_project_runs() {
    let sandbox = Sandbox::new();
    let watch = sandbox.watch();
    watch.ready();
    let ran = sandbox.run(["mcp", "list"]).ended_with(0);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains(&watch.pid().to_string()) || said.contains("session"), "{said}");
    drop(watch);
    let ran = sandbox.run(["mcp", "list"]).ended_with(0);
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("session of this project"), "{ran:#?}");
}

#[test]
fn a_closed_pipe_ends_the_output_quietly() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({ "a": sandbox.fake("a", &[]) }));
    let mut child = sandbox
        .command(["mcp", "list", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!said.contains("panicked"), "{said}");
}

#[test]
fn a_list_that_is_no_list_is_what_the_next_step_says_to_mend() {
    for (key, state) in [("allowed", "not_allowed"), ("excluded", "excluded")] {
        let sandbox = Sandbox::new();
        let document = json!({ "mcp": { key: "a" }, "mcpServers": { "a": sandbox.fake("a", &[]) } });
        sandbox.write(&sandbox.user(), &document);
        let row = sandbox.run(["mcp", "list", "--json", "--no-connect"]).ended_with(0).row("a");
        assert_eq!(row["state"], state);
        let step = row["nextStep"].as_str().unwrap();
        assert!(step.starts_with(&format!("mend mcp.{key} in ")) && step.contains("settings.json:"), "{row}");
    }
}

#[test]
fn an_entry_that_is_wrong_in_one_way_is_told_once() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({
        "tcp": { "tcp": "localhost:1" },
        "two": { "url": "https://a.example/x", "httpUrl": "https://b.example/y" },
        "same": { "url": "https://a.example/x", "httpUrl": "https://a.example/y" },
    }));
    let ran = sandbox.run(["settings", "check", "--json"]).ended_with(4);
    let document = ran.json();
    let about = |name: &str| {
        let said = document["diagnostics"].as_array().unwrap().iter();
        said.filter(|said| said["message"].as_str().unwrap().contains(name)).count()
    };
    let counts = ["mcpServers.tcp", "mcpServers.two", "mcpServers.same"].map(about);
    assert_eq!(counts, [1, 1, 1], "{document:#}");
}

#[test]
fn a_flag_that_names_nothing_is_told_once_and_stops_nobody() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({ "mine": sandbox.fake("mine", &[]) }));
    let flags = ["--approve-mcp", "nobody", "--approve-mcp", "mine", "--mcp-config", "nowhere.json"];
    let words = flags.into_iter().chain(["mcp", "add", "x", "server"]);
    let said = sandbox.run(words).ended_with(0).stderr;
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    assert!(lines[0].contains("nowhere.json: the file does not exist"), "{said}");
    assert!(lines[1].contains("nobody changes nothing: no server has that name"), "{said}");
    assert!(lines[2].contains("mine changes nothing: that server needs no approval"), "{said}");
}

#[test]
fn a_launch_bound_before_the_command_and_one_behind_it_add_up() {
    let sandbox = Sandbox::new();
    let names = ["a", "b", "c"].map(|name| (name.to_owned(), sandbox.fake(name, &[])));
    sandbox.user_servers(&Value::Object(names.into_iter().collect()));
    let bound = "--allowed-mcp-server-names";
    let ran = sandbox.run([bound, "a", "mcp", "list", "--json", "--no-connect", bound, "b"]).ended_with(0);
    assert_eq!(["a", "b", "c"].map(|name| ran.state(name)), ["null", "null", "not_allowed"]);
}
