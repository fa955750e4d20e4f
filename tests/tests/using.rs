//! What somebody gets who looks at servers and calls their tools from the command line, and what a shell gets that
//! completes for them.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::symlink,
    process::{Command, Stdio},
};

use qwen_tests::{BOUND, Ran, Sandbox, program, wait_until};
use serde_json::{Value, json};

fn with_tools(sandbox: &Sandbox, name: &str, tools: &[&str]) -> Value {
    let flags: Vec<&str> = tools.iter().flat_map(|tool| ["--tool", tool]).collect();
    sandbox.fake(name, &flags)
}

fn error(ran: &Ran) -> Value {
    ran.json()["error"].clone()
}

#[test]
fn a_tool_is_called_by_both_of_its_names_with_arguments_from_three_places() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({ "x": with_tools(&sandbox, "x", &["echo"]), "y": sandbox.fake("y", &[]) }));
    let file = sandbox.project().join("args.json");
    fs::write(&file, "{ \"text\": \"from a file\" }").unwrap();
    let by_name = sandbox.run(["mcp", "call", "mcp__x__echo", "{\"text\": \"hi\"}"]).ended_with(0);
    let by_pair = sandbox.run(["mcp", "call", "x", "echo", "@args.json"]).ended_with(0);
    assert!(!by_name.stdout.is_empty() && !by_pair.stdout.is_empty());
    let mut child = sandbox
        .command(["mcp", "call", "x", "echo", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"{ \"text\": \"from stdin\" }").unwrap();
    let out = child.wait_with_output().unwrap();
    let result: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(result["content"][0]["type"], "text");
    let arguments: Vec<Value> =
        sandbox.logged("x", "call").iter().map(|call| call["arguments"]["text"].clone()).collect();
    assert_eq!(arguments, ["hi", "from a file", "from stdin"]);
    assert_eq!(sandbox.spawns("y"), 0, "only the server that owns the tool is started");
    sandbox.wait_for_no_process(BOUND);
}

#[test]
fn what_cannot_be_called_says_why_before_anything_is_sent() {
    let sandbox = Sandbox::new();
    sandbox.write(
        &sandbox.user(),
        &json!({
            "mcp": { "excluded": ["out"] },
            "mcpServers": {
                "x": with_tools(&sandbox, "x", &["echo", "fail"]),
                "out": sandbox.fake("out", &[]),
                "off": { "command": "cmd", "disabled": true },
                "bad": { "args": [] },
                "gone": { "command": "/nowhere/at/all" },
            },
        }),
    );
    sandbox.project_servers(&json!({ "gated": sandbox.fake("gated", &[]) }));
    let table = [
        (&["mcp__x__echo", "{\"text\": 5}"][..], 2, "invalid_arguments", "text: is a number, not a string"),
        (&["mcp__x__echo", "{"], 2, "invalid_arguments", "no JSON"),
        (&["x", "ecko"], 1, "not_offered", "does not offer it"),
        (&["mcp__x__ecko"], 1, "not_offered", "does not offer it"),
        (&["mcp__nobody__t"], 1, "unknown", "no configured server"),
        (&["nobody", "t"], 1, "unknown", "nobody"),
        (&["mcp__out__echo"], 5, "excluded", "mcp.excluded"),
        (&["off", "t"], 5, "disabled", "switched off"),
        (&["bad", "t"], 5, "invalid", "bad"),
        (&["gated", "echo"], 5, "pending_approval", "awaits approval"),
        (&["gone", "t"], 3, "failed", "gone"),
    ];
    for (words, code, reason, says) in table {
        let args = ["mcp", "call", "--json"].iter().chain(words);
        let error = error(&sandbox.run(args).ended_with(code));
        assert_eq!(error["reason"], reason, "{words:?}: {error}");
        assert!(error["message"].as_str().unwrap().contains(says), "{words:?}: {error}");
        assert!(error.get("server").is_some() && error.get("nextStep").is_some(), "{error}");
    }
    assert!(sandbox.logged("x", "call").is_empty(), "nothing was sent");
    assert_eq!(sandbox.spawns("out") + sandbox.spawns("gated"), 0, "nothing was started");
    let failed = sandbox.run(["mcp", "call", "x", "fail"]).ended_with(1);
    assert_eq!(failed.stdout, "it failed\n");
    sandbox.wait_for_no_process(BOUND);
}

#[test]
fn progress_is_told_beside_the_result_and_an_interrupt_reaches_the_server() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({ "x": with_tools(&sandbox, "x", &["slow"]) }));
    let quick =
        sandbox.run(["mcp", "call", "x", "slow", "{\"ms\": 300, \"progress_ms\": 100}"]).ended_with(0);
    assert!(quick.stderr.contains("progress 100 of 300"), "{quick:#?}");
    assert!(!quick.stdout.contains("progress"), "{quick:#?}");

    let mut child = sandbox
        .command(["mcp", "call", "x", "slow", "{\"ms\": 600000}"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until(BOUND, "the call at the server", || (sandbox.logged("x", "call").len() == 2).then_some(()));
    // `setsid` became the program, so this is its process id.
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = wait_until(BOUND, "the end of the command", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(130));
    let told = sandbox.logged("x", "notification");
    let cancels = told.iter().filter(|told| told["method"] == "notifications/cancelled");
    assert_eq!(cancels.count(), 1, "{told:#?}");
    sandbox.wait_for_no_process(BOUND);
}

#[test]
fn the_catalogue_is_listed_for_all_servers_or_one() {
    let sandbox = Sandbox::new();
    let many = sandbox.fake("y", &["--tools", "2", "--prompts", "1", "--resources", "2"]);
    sandbox
        .user_servers(&json!({ "x": sandbox.fake("x", &[]), "y": many, "gone": { "command": "/nowhere" } }));
    let all = sandbox.run(["mcp", "tools", "--json"]).ended_with(3);
    let names: Vec<Value> = all.json().as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["mcp__x__echo", "mcp__y__tool_1", "mcp__y__tool_2"]);
    assert!(all.stderr.contains("gone"), "{}", all.stderr);
    let one = sandbox.run(["mcp", "tools", "y", "--json"]).ended_with(0).json();
    assert_eq!(one.as_array().unwrap().len(), 2);
    assert_eq!(one[0]["inputSchema"]["type"], "object");
    assert_eq!(sandbox.spawns("x"), 1, "the second command started no other server");
    let keys = |list: &str| {
        let listed = sandbox.run(["mcp", list, "y", "--json"]).ended_with(0).json();
        (listed.as_array().unwrap().len(), listed[0]["server"].clone())
    };
    assert_eq!((keys("prompts"), keys("resources")), ((1, json!("y")), (2, json!("y"))));
    assert_eq!(error(&sandbox.run(["mcp", "tools", "gone", "--json"]).ended_with(3))["server"], "gone");
    assert_eq!(error(&sandbox.run(["mcp", "tools", "nobody", "--json"]).ended_with(1))["reason"], "unknown");
}

/// One server for each reason of the gate, and what `get` says about it.
#[test]
fn get_says_step_by_step_why_a_server_may_connect_or_may_not() {
    let sandbox = Sandbox::new();
    sandbox.write(
        &sandbox.user(),
        &json!({
            "mcp": { "excluded": ["out"], "allowed": ["ok", "out", "off", "bad", "gated", "no"] },
            "mcpServers": {
                "ok": sandbox.fake("ok", &[]),
                "out": { "command": "cmd" },
                "off": { "command": "cmd", "enabled": false },
                "bad": { "args": [] },
                "stranger": { "command": "cmd" },
                "gated": { "command": "cmd", "env": { "TOKEN": "hunter2hunter2" } },
            },
        }),
    );
    sandbox.project_servers(
        &json!({ "gated": { "command": "other" }, "no": { "command": "cmd" }, "wait": { "command": "cmd" } }),
    );
    sandbox.run(["mcp", "reject", "no"]).ended_with(0);
    let get = |name: &str, more: &[&str]| {
        let args = more.iter().copied().chain(["mcp", "get", name, "--json"]);
        sandbox.run(args).ended_with(0).json()
    };
    let refused = |shown: &Value| -> Vec<(String, String)> {
        let checks = shown["admission"].as_array().unwrap();
        assert_eq!(checks.len(), 7);
        checks
            .iter()
            .filter(|check| check["passed"] == false)
            .map(|check| {
                (check["check"].as_str().unwrap().to_owned(), check["reason"].as_str().unwrap().to_owned())
            })
            .collect()
    };
    let ok = get("ok", &[]);
    assert_eq!((&ok["state"], &ok["tools"], &refused(&ok)), (&json!("connected"), &json!(1), &vec![]));
    for (name, more, check, reason) in [
        ("out", &[][..], "excluded", "excluded"),
        ("off", &[], "disabled", "disabled"),
        ("bad", &[], "invalid", "invalid"),
        ("stranger", &[], "not_allowed", "not_allowed"),
        ("no", &[], "approval", "rejected"),
        ("ok", &["--allowed-mcp-server-names", "x"], "not_allowed", "not_allowed"),
    ] {
        let shown = get(name, more);
        assert_eq!(refused(&shown)[0], (check.to_owned(), reason.to_owned()), "{name}");
        assert_eq!(shown["state"], reason, "{name}");
    }
    let gated = get("gated", &["--allowed-mcp-server-names", "nobody"]);
    assert_eq!(gated["scope"], "user");
    assert_eq!(gated["shadowedBy"]["scope"], "project");
    assert_eq!(gated["entry"]["env"]["TOKEN"], "•••");
    let waits = get("wait", &[]);
    assert_eq!(waits["approvalHash"].as_str().unwrap().len(), 64);
    sandbox.write(&sandbox.user(), &json!({ "security": { "folderTrust": { "enabled": true } } }));
    assert_eq!(refused(&get("no", &[]))[0].1, "untrusted_folder");
    fs::write(sandbox.user(), "{ broken").unwrap();
    assert_eq!(refused(&get("no", &[]))[0].1, "settings_unreadable");
    let unknown = sandbox.run(["mcp", "get", "wai"]).ended_with(1);
    assert!(unknown.stderr.contains("did you mean"), "{}", unknown.stderr);
}

/// A shell with the words that make it complete `$LINE` and print each candidate on a line of its own.
const SHELLS: [(&str, &[&str], &str); 3] = [
    (
        "bash",
        &["--norc"],
        "source <(qwen completions bash) || exit 9\n\
         read -ra COMP_WORDS <<< \"$LINE\"; [[ $LINE == *' ' ]] && COMP_WORDS+=('')\n\
         COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE=$LINE; COMP_POINT=${#LINE}; COMP_TYPE=9\n\
         spec=$(complete -p qwen) || exit 8\n\
         [[ $spec =~ -F\\ ([^ ]+) ]] && \"${BASH_REMATCH[1]}\" qwen \"${COMP_WORDS[-1]}\" ''\n\
         printf '%s\\n' \"${COMPREPLY[@]}\"",
    ),
    (
        "zsh",
        &["-f"],
        // What the completion system would call and be called by, which only an interactive shell has.
        "compdef() { completer=$1; }; _describe() { print -rl -- ${(P)3}; }\n\
         source <(qwen completions zsh) || exit 9\n\
         words=(${(z)LINE}); [[ $LINE == *' ' ]] && words+=('')\n\
         CURRENT=$#words; $completer",
    ),
    ("fish", &["--no-config"], "qwen completions fish | source; or exit 9; complete -C \"$LINE\""),
];

#[test]
fn each_shell_completes_commands_options_and_server_names_without_starting_a_server() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(
        &json!({ "github": sandbox.fake("github", &[]), "gitlab": sandbox.fake("gitlab", &[]) }),
    );
    let bin = sandbox.root().join("bin");
    fs::create_dir_all(&bin).unwrap();
    symlink(program("qwen-under-test"), bin.join("qwen")).unwrap();
    for (shell, flags, script) in SHELLS {
        let complete = |line: &str| {
            let out = Command::new(shell)
                .args(flags)
                .args(["-c", script])
                .current_dir(sandbox.project())
                .env_clear()
                .env("LINE", line)
                .env("HOME", sandbox.home())
                .env("QWEN_CODE_SYSTEM_SETTINGS_PATH", sandbox.system())
                .env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()))
                .output()?;
            assert!(out.status.success(), "{shell}: {out:#?}");
            // Behind a candidate stands what it is about.
            let text = String::from_utf8(out.stdout).unwrap();
            let word = |line: &str| line.split(['\t', ':']).next().unwrap_or_default().trim().to_owned();
            Ok::<_, std::io::Error>(text.lines().map(word).collect::<Vec<_>>())
        };
        if complete("qwen ").is_err() {
            // Past the harness, which hides what a test that passes prints.
            let said = format!("skipped: {shell} is not installed, its completion was not tested\n");
            std::io::stderr().write_all(said.as_bytes()).unwrap();
            continue;
        }
        let has = |line: &str, word: &str| {
            let shown = complete(line).unwrap();
            assert!(shown.iter().any(|found| found == word), "{shell}, {line:?}: {shown:?}");
        };
        has("qwen mc", "mcp");
        has("qwen mcp appr", "approve");
        has("qwen mcp list --no", "--no-connect");
        has("qwen mcp list --allowed", "--allowed-mcp-server-names");
        has("qwen mcp get gith", "github");
        has("qwen mcp approve git", "gitlab");
        has("qwen mcp remove github --scope pr", "project");
        assert!(!complete("qwen mcp get gith").unwrap().contains(&"gitlab".to_owned()), "{shell}");
    }
    assert_eq!(sandbox.spawns("github") + sandbox.spawns("gitlab"), 0);
}

#[test]
fn pages_scripts_and_the_schema_are_printed() {
    let sandbox = Sandbox::new();
    let print = |args: &[&str]| sandbox.run(args.iter()).ended_with(0).stdout;
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(print(&["completions", shell]).contains("QWEN_COMPLETE"), "{shell}");
    }
    assert!(print(&["man"]).contains(".TH"));
    assert!(print(&["man", "mcp", "add"]).contains("oauth"));
    sandbox.run(["man", "mcp", "ad"]).ended_with(2);
    let schema: Value = serde_json::from_str(&print(&["settings", "schema"])).unwrap();
    assert!(schema["properties"]["mcpServers"].is_object());
}
