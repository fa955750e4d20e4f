//! Do the servers that people run connect, list, answer, and follow approvals and edits? They are installed by
//! `cargo xtask test`, pinned; without it these tests are ignored.
#![expect(clippy::unwrap_used, reason = "a helper of a test fails it by panicking")]

use std::{fs, path::PathBuf, process::Command, time::Duration};

use qwen_tests::{BOUND, Sandbox, Save, Watch, alive, program, stated, wait_until};
use serde_json::{Value, json};

/// One server as somebody would configure it, and one call that it answers.
struct Real {
    name: &'static str,
    entry: Value,
    tool: &'static str,
    arguments: Value,
    /// What the answer contains.
    says: &'static str,
}

/// Where the packages of one kind are installed: beside what cargo built.
fn installed(kind: &str) -> PathBuf {
    let built = program("fake-mcp");
    let target = built.ancestors().nth(2).unwrap();
    let folder = target.join("real-servers").join(kind);
    assert!(folder.exists(), "{} is not there: run `cargo xtask real-servers`", folder.display());
    folder
}

fn npm_servers(sandbox: &Sandbox) -> Vec<Real> {
    let script = |package: &str| {
        installed("npm").join(format!("node_modules/@modelcontextprotocol/{package}/dist/index.js"))
    };
    let files = sandbox.project().join("files");
    fs::create_dir_all(&files).unwrap();
    fs::write(files.join("note.txt"), "what the file says").unwrap();
    vec![
        Real {
            name: "everything",
            // As `npx` is used everywhere, but with what is installed: the server is its grandchild.
            entry: json!({ "command": "npx", "args": ["--no", "mcp-server-everything"], "cwd": installed("npm") }),
            tool: "echo",
            arguments: json!({ "message": "said once" }),
            says: "said once",
        },
        Real {
            name: "filesystem",
            entry: json!({ "command": "node", "args": [script("server-filesystem"), files] }),
            tool: "read_text_file",
            arguments: json!({ "path": files.join("note.txt") }),
            says: "what the file says",
        },
        Real {
            name: "memory",
            entry: json!({
                "command": "node", "args": [script("server-memory")],
                "env": { "MEMORY_FILE_PATH": sandbox.root().join("memory.json") },
            }),
            tool: "create_entities",
            arguments: json!({ "entities": [{ "name": "qwen", "entityType": "tool", "observations": ["live"] }] }),
            says: "qwen",
        },
    ]
}

fn pip_servers(sandbox: &Sandbox) -> Vec<Real> {
    let server = |name: &str| installed("pip").join("bin").join(name);
    let repository = sandbox.project().join("repository");
    let made = Command::new("git").arg("init").arg("--quiet").arg(&repository).status().unwrap();
    assert!(made.success());
    vec![
        Real {
            name: "time",
            entry: json!({ "command": server("mcp-server-time"), "args": ["--local-timezone", "UTC"] }),
            tool: "get_current_time",
            arguments: json!({ "timezone": "UTC" }),
            says: "UTC",
        },
        Real {
            name: "git",
            entry: json!({ "command": server("mcp-server-git"), "args": ["--repository", repository] }),
            tool: "git_status",
            arguments: json!({ "repo_path": repository }),
            says: "No commits yet",
        },
    ]
}

fn entries(servers: &[Real]) -> Value {
    servers
        .iter()
        .map(|server| (server.name.to_owned(), server.entry.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn names(servers: &[Real]) -> Vec<String> {
    servers.iter().map(|server| server.name.to_owned()).collect()
}

fn call(sandbox: &Sandbox, server: &Real) {
    let arguments = server.arguments.to_string();
    let ran = sandbox.run(["mcp", "call", server.name, server.tool, &arguments]).ended_with(0);
    assert!(ran.stdout.contains(server.says), "{}: {ran:#?}", server.name);
}

/// The user's own servers: listed with what they offer, and each answers one call.
fn each_connects_lists_and_answers(sandbox: &Sandbox, servers: &[Real]) {
    sandbox.user_servers(&entries(servers));
    let listed = sandbox.run(["mcp", "list", "--json", "--timeout", "30000"]).ended_with(0);
    for server in servers {
        let row = listed.row(server.name);
        assert_eq!(row["state"], "connected", "{row:#}");
        assert!(row["tools"].as_u64() >= Some(1), "{row:#}");
        let tools = sandbox.run(["mcp", "tools", server.name, "--json"]).ended_with(0).json();
        let offered = tools.as_array().unwrap().iter().any(|tool| tool["tool"] == server.tool);
        assert!(offered, "{} in {tools:#}", server.tool);
        call(sandbox, server);
    }
    sandbox.wait_for_no_process(BOUND);
}

/// The project's servers: written while a session runs, approved, used, edited, asked about again, excluded, let in
/// again, removed. Only the one that is touched moves.
fn each_lives_through_approval_edits_and_removal(sandbox: &Sandbox, servers: &[Real]) {
    let mut watch = sandbox.watch();
    watch.ready();
    sandbox.project_servers(&entries(servers));
    for server in servers {
        watch.state(server.name, "pending_approval");
    }
    sandbox.run(["mcp", "approve", "--all", "--yes"]).ended_with(0);
    for server in servers {
        watch.state(server.name, "connected");
    }
    for (place, server) in servers.iter().enumerate() {
        call(sandbox, server);
        let before = watch.pids(&names(servers));

        let mut edited = entries(servers);
        edited[server.name]["env"]["EDITED"] = json!("1");
        sandbox.project_servers(&edited);
        let asked = watch.quiet();
        watch.state(server.name, "pending_approval");
        is_gone(before[place]);
        sandbox.run(["mcp", "approve", server.name, "--yes"]).ended_with(0);
        watch.state_after(asked, server.name, "connected");

        // The old entry was approved before, and that is remembered.
        let mark = watch.mark();
        Save::SedInPlace.save(&sandbox.mcp_json(), &json!({ "mcpServers": entries(servers) }).to_string());
        watch.state_after(mark, server.name, "connected");
        only_moved(&watch, servers, place, &before);

        let mark = watch.mark();
        sandbox.write(&sandbox.user(), &json!({ "mcp": { "excluded": [server.name] } }));
        watch.state_after(mark, server.name, "excluded");
        sandbox.run(["mcp", "call", server.name, server.tool, &server.arguments.to_string()]).ended_with(5);
        let mark = watch.mark();
        sandbox.write(&sandbox.user(), &json!({}));
        watch.state_after(mark, server.name, "connected");
        only_moved(&watch, servers, place, &before);
    }
    for (place, server) in servers.iter().enumerate() {
        let pid = watch.pid_of(server.name);
        let mark = watch.mark();
        sandbox.project_servers(&entries(&servers[place + 1..]));
        watch.state_after(mark, server.name, "removed");
        is_gone(pid);
    }
    watch.finish();
    sandbox.wait_for_no_process(BOUND);
}

fn only_moved(watch: &Watch, servers: &[Real], place: usize, before: &[u32]) {
    let after = watch.pids(&names(servers));
    for (index, server) in servers.iter().enumerate() {
        assert_eq!(after[index] == before[index], index != place, "{}", server.name);
    }
}

fn is_gone(pid: u32) {
    let bound = stated(Duration::from_secs(3));
    wait_until(bound, "the process of an edited server to end", || (!alive(pid)).then_some(()));
}

mod npm {
    use super::*;

    #[test]
    #[ignore = "needs what `cargo xtask real-servers` installs from npm"]
    fn smoke_each_server_connects_lists_and_answers() {
        let sandbox = Sandbox::new();
        each_connects_lists_and_answers(&sandbox, &npm_servers(&sandbox));
    }

    #[test]
    #[ignore = "needs what `cargo xtask real-servers` installs from npm"]
    fn each_server_lives_through_approval_edits_and_removal() {
        let sandbox = Sandbox::new();
        each_lives_through_approval_edits_and_removal(&sandbox, &npm_servers(&sandbox));
    }
}

mod pip {
    use super::*;

    #[test]
    #[ignore = "needs what `cargo xtask real-servers` installs from PyPI"]
    fn smoke_each_server_connects_lists_and_answers() {
        let sandbox = Sandbox::new();
        each_connects_lists_and_answers(&sandbox, &pip_servers(&sandbox));
    }

    #[test]
    #[ignore = "needs what `cargo xtask real-servers` installs from PyPI"]
    fn each_server_lives_through_approval_edits_and_removal() {
        let sandbox = Sandbox::new();
        each_lives_through_approval_edits_and_removal(&sandbox, &pip_servers(&sandbox));
    }
}
