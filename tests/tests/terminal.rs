//! What a person at a terminal is asked, and what becomes of the answer.

use std::time::Duration;

use qwen_tests::{BOUND, Sandbox, Terminal, stated, wait_until};
use serde_json::json;

fn project_with_one_server(sandbox: &Sandbox) {
    let mut entry = sandbox.fake("a", &["--tag", "first"]);
    entry["env"] = json!({ "LD_PRELOAD": "./evil.so", "GIVEN": "${OPENAI_API_KEY:-none}" });
    sandbox.project_servers(&json!({ "a": entry }));
}

#[test]
fn the_question_shows_the_entry_as_written_and_yes_connects_exactly_it() {
    let sandbox = Sandbox::new();
    project_with_one_server(&sandbox);
    let mut terminal = Terminal::start(&sandbox, &["mcp", "watch"]);
    for words in
        ["wants to run the MCP server", ".mcp.json", "first", "OPENAI_API_KEY", "LD_PRELOAD", "./evil.so"]
    {
        terminal.shows(words);
    }
    assert_eq!(sandbox.spawns("a"), 0);
    terminal.types("y\n");
    wait_until(BOUND, "the approved server", || (sandbox.spawns("a") == 1).then_some(()));
    assert!(sandbox.approvals().exists());
    terminal.hang_up();
    terminal.ended();
    sandbox.wait_for_no_process(stated(Duration::from_secs(3)));
}

#[test]
fn not_now_decides_nothing_and_a_rejection_is_recorded() {
    let sandbox = Sandbox::new();
    project_with_one_server(&sandbox);
    let mut terminal = Terminal::start(&sandbox, &["mcp", "watch"]);
    terminal.shows("wants to run the MCP server");
    terminal.types("n\n");
    // The next question comes after the answer to this one.
    sandbox.write(&sandbox.workspace(), &json!({ "mcpServers": { "b": sandbox.fake("b", &[]) } }));
    terminal.shows("server \"b\"");
    assert!(!sandbox.approvals().exists());
    terminal.types("r\n");
    wait_until(BOUND, "the record of the rejection", || sandbox.approvals().exists().then_some(()));
    let listed = sandbox.run(["mcp", "list", "--json", "--no-connect"]);
    assert_eq!((listed.state("a"), listed.state("b")), ("pending_approval".into(), "rejected".into()));
    assert_eq!((sandbox.spawns("a"), sandbox.spawns("b")), (0, 0));
}
