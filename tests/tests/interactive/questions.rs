//! What happens to a question on the screen while other things happen: a call runs, another terminal decides.

use qwen_tests::{BOUND, Sandbox, program, wait_until};
use serde_json::json;

use super::glass::Glass;

#[test]
fn a_question_that_appears_during_a_call_leaves_the_call_alone() {
    let sandbox = Sandbox::new();
    let qwen = program("qwen-under-test").display().to_string();
    sandbox.user_servers(&json!({ "slow": { "command": qwen, "args": ["demo-server", "--name", "slow"] } }));
    let mut glass = Glass::start(&sandbox, &[]);
    glass.shows("1 connected");
    glass.enters("/call mcp__slow__sleep {\"ms\": 4000}");
    glass.shows("… call mcp__slow__sleep");
    sandbox.project_servers(&json!({ "late": sandbox.fake("late", &[]) }));
    glass.shows("wants to run the MCP server \"late\"");
    glass.shows("… call mcp__slow__sleep");
    glass.answers("Approve");
    glass.shows("2 connected");
    glass.shows("slept 4000 ms");
    glass.loses("… call mcp__slow__sleep");
    glass.enters("/call mcp__slow__sleep {\"ms\": 600000}");
    glass.shows("Esc cancels");
    glass.types("\u{1b}");
    glass.shows("cancelled");
    glass.loses("… call");
    glass.enters("/quit");
    assert_eq!(glass.ended(), 0);
}

#[test]
fn a_decision_in_another_terminal_closes_the_question() {
    let sandbox = Sandbox::new();
    sandbox.project_servers(&json!({ "notes": sandbox.fake("notes", &[]) }));
    let glass = Glass::start(&sandbox, &[]);
    glass.shows("wants to run the MCP server \"notes\"");
    assert_eq!(sandbox.spawns("notes"), 0);
    sandbox.run(["mcp", "approve", "notes", "--yes"]).ended_with(0);
    glass.shows("notes is no longer asked about");
    glass.loses("wants to run");
    glass.shows("1 connected");
    wait_until(BOUND, "the approved server", || (sandbox.spawns("notes") == 1).then_some(()));
}

#[test]
fn a_question_of_a_server_is_a_form_that_names_it() {
    let sandbox = Sandbox::new();
    let asks = json!({
        "jsonrpc": "2.0",
        "id": "q1",
        "method": "elicitation/create",
        "params": {
            "message": "Who are you?",
            "requestedSchema": {
                "type": "object",
                "properties": { "name": { "type": "string" }, "member": { "type": "boolean" } },
                "required": ["name"],
            },
        },
    });
    let curious = sandbox.fake("curious", &["--at", "ready", &format!("say {asks}")]);
    sandbox.user_servers(&json!({ "curious": curious }));
    let mut glass = Glass::start(&sandbox, &[]);
    glass.shows("A question of curious");
    glass.shows("Who are you?");
    glass.shows("Enter next, then answer");
    // Answered too early: what is missing is said, and the form stays.
    glass.types("\u{1b}[A");
    glass.shows("[ Answer ]");
    glass.types("\r");
    glass.shows("name: is required");
    glass.types("Ada\r\u{1b}[C");
    glass.shows("[yes]");
    glass.types("\r\r");
    glass.shows("you answered the question of curious");
    glass.loses("A question of curious");
    glass.enters("/quit");
    assert_eq!(glass.ended(), 0);
}

#[test]
fn a_server_that_answers_a_call_with_a_question_gets_the_answer_of_the_form() {
    let sandbox = Sandbox::new();
    let curious = sandbox.fake("curious", &["--modern", "--tool", "ask"]);
    sandbox.user_servers(&json!({ "curious": curious }));
    let mut glass = Glass::start(&sandbox, &[]);
    glass.shows("1 connected");
    glass.enters("/call mcp__curious__ask {}");
    glass.shows("A question of curious");
    glass.shows("Enter next, then answer");
    glass.types("Ada\r\r");
    glass.shows("held for you");
    glass.loses("A question of curious");
    glass.enters("/quit");
    assert_eq!(glass.ended(), 0);
    // The call, and the call with the answer and the state.
    assert_eq!(sandbox.logged("curious", "call").len(), 2);
}
