//! What becomes of calls to servers behind URLs when sessions are lost, servers end or their entries change: each is
//! executed once at most, and none hangs. Through core itself, since a call is what a program in the same process makes.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test fails it by panicking")]

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use qwen_core::{CallError, CallOptions, Config, State, UseError, Wire};
use qwen_tests::{
    BOUND, Remote, Sandbox, commit_wires, connected, core_session, remote, state_of, until, wait_until,
};
use serde_json::{Value, json};

const TOOLS: [&str; 4] = ["--tool", "echo", "--tool", "slow"];

fn http(server: &Remote, headers: &[(&str, &str)]) -> Wire {
    Wire::Http(remote(server.url(), headers))
}

/// A call in a task of its own, so that it is under way while the test goes on.
fn call(
    config: &Arc<dyn Config>,
    tool: &str,
    arguments: Value,
) -> tokio::task::JoinHandle<Result<Value, UseError>> {
    let (config, tool) = (Arc::clone(config), tool.to_owned());
    tokio::spawn(async move { config.call_tool(&tool, Some(arguments), CallOptions::default()).await })
}

async fn answer(call: tokio::task::JoinHandle<Result<Value, UseError>>) -> Result<Value, UseError> {
    tokio::time::timeout(BOUND, call).await.expect("no call hangs").unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_calls_in_a_lost_session_open_one_new_session_and_are_executed_once_each() {
    let sandbox = Sandbox::new();
    let server = Remote::start(&sandbox, "far", &TOOLS);
    let config = core_session(&sandbox);
    config.initialize();
    commit_wires(&config, vec![("far", http(&server, &[]))]).await;
    connected(&config, "far").await;
    server.order("forget");
    let calls: Vec<_> =
        (0..20).map(|n| call(&config, "mcp__far__echo", json!({ "text": format!("call {n}") }))).collect();
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(answer(call).await.unwrap()["content"][0]["text"], format!("call {n}"));
    }
    let executed = sandbox.executions("far");
    assert_eq!((executed.len(), executed.values().max()), (20, Some(&1)));
    assert_eq!(server.count("POST", "initialize"), 2, "one new session for all of them");
    assert_eq!(state_of(&config.status().borrow(), "far"), Some(State::Connected));
    // What it offers may differ in another session.
    wait_until(BOUND, "the lists to be read again", || {
        (server.count("POST", "tools/list") == 2).then_some(())
    });
    config.shutdown(Duration::from_secs(5)).await;
    assert_eq!(server.count("DELETE", ""), 1, "the session that it knows is ended");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_lost_again_at_once_is_a_lost_connection() {
    let sandbox = Sandbox::new();
    let server = Remote::start(&sandbox, "far", &TOOLS);
    let config = core_session(&sandbox);
    config.initialize();
    commit_wires(&config, vec![("far", http(&server, &[]))]).await;
    connected(&config, "far").await;
    server.order("fault post:tools/call*2 status 404");
    let refused = answer(call(&config, "mcp__far__echo", json!({ "text": "once" }))).await.unwrap_err();
    assert!(matches!(refused, UseError::Call(CallError::Lost(_) | CallError::Unanswered(_))), "{refused:?}");
    assert_eq!(server.count("POST", "tools/call"), 2, "it is sent once more, and never again");
    until(&config, "the loss", |status| state_of(status, "far") == Some(State::Failed)).await;
    connected(&config, "far").await;
    assert_eq!(sandbox.executions("far"), BTreeMap::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_server_ends_is_lost_and_not_sent_again_over_either_transport() {
    for transport in ["http", "sse"] {
        let sandbox = Sandbox::new();
        let mut server = Remote::start(&sandbox, "far", &TOOLS);
        let config = core_session(&sandbox);
        config.initialize();
        let wire = match transport {
            "sse" => Wire::Sse(remote(&server.at("/sse"), &[])),
            _ => http(&server, &[]),
        };
        commit_wires(&config, vec![("far", wire)]).await;
        connected(&config, "far").await;
        let running = call(&config, "mcp__far__slow", json!({ "ms": 600_000, "text": "once" }));
        wait_until(BOUND, "the call at the server", || sandbox.logged("far", "call").pop());
        server.kill();
        let ended = answer(running).await.unwrap_err();
        let is_lost = matches!(ended, UseError::Call(CallError::Lost(_) | CallError::Unanswered(_)));
        assert!(is_lost, "{transport}: {ended:?}");
        server.restart();
        until(&config, "the loss", |status| state_of(status, "far") != Some(State::Connected)).await;
        connected(&config, "far").await;
        let again = answer(call(&config, "mcp__far__echo", json!({ "text": "hi" }))).await.unwrap();
        assert_eq!(again["content"][0]["text"], "hi");
        assert_eq!(sandbox.executions("far").get("once"), Some(&1), "{transport}");
        config.shutdown(Duration::from_secs(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_may_finish_while_the_changed_server_is_already_connected_beside_it() {
    let sandbox = Sandbox::new();
    let server = Remote::start(&sandbox, "far", &TOOLS);
    let config = core_session(&sandbox);
    config.initialize();
    commit_wires(&config, vec![("far", http(&server, &[("x-version", "one")]))]).await;
    connected(&config, "far").await;
    let running = call(&config, "mcp__far__slow", json!({ "ms": 2500 }));
    wait_until(BOUND, "the call at the server", || sandbox.logged("far", "call").pop());
    commit_wires(&config, vec![("far", http(&server, &[("x-version", "two")]))]).await;
    wait_until(BOUND, "the new connection", || (server.count("POST", "initialize") == 2).then_some(()));
    connected(&config, "far").await;
    assert!(!running.is_finished(), "the new connection waits for nobody");
    let quick = answer(call(&config, "mcp__far__echo", json!({ "text": "beside" }))).await.unwrap();
    assert_eq!(quick["content"][0]["text"], "beside");
    assert!(!running.is_finished(), "the old call goes on");
    assert_eq!(answer(running).await.unwrap()["content"][0]["text"], "slow but done");
    wait_until(BOUND, "the end of the old session", || (server.count("DELETE", "") == 1).then_some(()));
    let versions: Vec<Value> =
        server.seen().iter().map(|seen| seen["headers"]["x-version"].clone()).collect();
    assert!(versions.contains(&json!("two")), "{versions:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_call_ends_alone_and_its_session_goes_on() {
    let sandbox = Sandbox::new();
    let server = Remote::start(&sandbox, "far", &TOOLS);
    let config = core_session(&sandbox);
    config.initialize();
    commit_wires(&config, vec![("far", http(&server, &[]))]).await;
    connected(&config, "far").await;
    let options = CallOptions::default();
    let cancel = options.cancel.clone();
    let slow = config.call_tool("mcp__far__slow", Some(json!({ "ms": 600_000 })), options);
    let other = async {
        let quick = answer(call(&config, "mcp__far__echo", json!({ "text": "beside" }))).await.unwrap();
        assert_eq!(quick["content"][0]["text"], "beside");
        cancel.cancel();
    };
    let (ended, ()) = tokio::join!(slow, other);
    assert_eq!(ended.unwrap_err(), UseError::Call(CallError::Cancelled));
    wait_until(BOUND, "the server to stop", || sandbox.logged("far", "call-cancelled").pop());
    answer(call(&config, "mcp__far__echo", json!({ "text": "after" }))).await.unwrap();
    assert_eq!(server.count("POST", "initialize"), 1);
}
