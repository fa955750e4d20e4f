//! Does the harness itself hold? A save that leaves the wrong text, or a process that is not found, would make every
//! other test of this package worthless.
#![expect(clippy::unwrap_used, reason = "a helper of a test fails it by panicking")]

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Shutdown, TcpStream},
    os::unix::fs::symlink,
    process::{Command, Stdio},
};

use qwen_tests::{BOUND, Remote, Sandbox, Save, marked, program, wait_until};

#[test]
fn every_way_to_save_leaves_exactly_the_text_also_behind_a_link() {
    for save in Save::ALL {
        let sandbox = Sandbox::new();
        let (file, link) = (sandbox.root().join("file.json"), sandbox.root().join("link.json"));
        fs::write(&file, "{\"old\": 1}\n").unwrap();
        symlink("file.json", &link).unwrap();
        for text in ["{\"new\": [1, 2, 3]}\n", "{}\n"] {
            save.save(&link, text);
            assert_eq!(fs::read_to_string(&file).unwrap(), text, "{save:?}");
            assert!(link.is_symlink(), "{save:?}");
        }
    }
}

#[test]
fn a_process_of_the_sandbox_is_found_by_its_mark_and_gone_after_the_drop() {
    let sandbox = Sandbox::new();
    let root = sandbox.root().to_owned();
    let mut child = Command::new(program("fake-mcp"))
        .args(["--ignore-eof", "--ignore-term", "--at", "start", "spawn-sleeper", "--log"])
        .arg(sandbox.log_path())
        .env("HOME", sandbox.home())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_until(BOUND, "two processes", || (marked(&root).len() == 2).then_some(()));
    wait_until(BOUND, "the end of input in the record", || sandbox.logged("fake", "eof").pop());
    drop(sandbox);
    assert!(!child.wait().unwrap().success());
    wait_until(BOUND, "nobody left", || marked(&root).is_empty().then_some(()));
}

#[test]
fn the_scripted_server_answers_pages_and_writes_its_life_down() {
    let sandbox = Sandbox::new();
    let mut child = Command::new(program("fake-mcp"))
        .args(["--tools", "3", "--cursor", "2", "--split", "--log"])
        .arg(sandbox.log_path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"2"}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"count"}}"#,
    ];
    stdin.write_all(format!("{}\n", lines.join("\n")).as_bytes()).unwrap();
    drop(stdin);
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let answers: Vec<serde_json::Value> =
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers[0]["result"]["tools"].as_array().unwrap().len(), 2);
    assert_eq!(answers[0]["result"]["nextCursor"], "2");
    assert_eq!(answers[1]["result"]["tools"][0]["name"], "tool_3");
    assert_eq!(answers[2]["result"]["content"][0]["text"], "1");
    assert_eq!(sandbox.logged("fake", "call")[0]["tool"], "count");
    assert_eq!(sandbox.spawns("fake"), 1);
}

/// One POST, its answer as it stands on the wire.
fn post(remote: &Remote, path: &str, session: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(remote.authority_part()).unwrap();
    let length = body.len();
    let head =
        format!("POST {path} HTTP/1.1\r\nMcp-Session-Id: {session}\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_remote_server_answers_misbehaves_on_order_and_keeps_its_address_through_a_restart() {
    let sandbox = Sandbox::new();
    let mut remote =
        Remote::start(&sandbox, "far", &["--fault", "post:tools/call*1", "status 429 Retry-After: 7"]);
    let initialize =
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    let answer = post(&remote, "/mcp", "", initialize);
    let session = answer.lines().find_map(|line| line.strip_prefix("Mcp-Session-Id: ")).unwrap().to_owned();
    let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    assert!(post(&remote, "/mcp", &session, list).contains(r#""name":"echo""#));
    let call = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"count"}}"#;
    let refused = post(&remote, "/mcp", &session, call);
    assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("Retry-After: 7"), "{refused}");
    assert!(post(&remote, "/mcp", &session, call).contains(r#""text":"1""#));
    remote.order("forget");
    assert!(post(&remote, "/mcp", &session, list).starts_with("HTTP/1.1 404"));
    let url = remote.url().to_owned();
    remote.restart();
    assert_eq!(remote.url(), url);
    assert!(post(&remote, "/mcp", "", initialize).starts_with("HTTP/1.1 200"));
    assert_eq!((remote.count("POST", "initialize"), remote.count("POST", "tools/list")), (2, 2));
    assert_eq!(sandbox.logged("far", "call").len(), 1);
}
