//! How calls run, and how they end when the server, the caller or a reload wants them to.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use qwen_core::{CallError, CallLimits, Caller, EnvPolicy, LinkEvent, Teardown};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::harness::{Opened, Server, open, until};

const SOON: Duration = Duration::from_secs(10);

fn limits(total: u64, idle: u64) -> CallLimits {
    CallLimits {
        total: Duration::from_millis(total),
        idle: Duration::from_millis(idle),
        cancel: CancellationToken::new(),
        progress: None,
    }
}

async fn opened() -> (Server, Opened, Arc<dyn Caller>) {
    let mut server = Server::scripted("plain");
    server.masks.push("hunter2hunter2".to_owned());
    let opened = open(&server).await.unwrap();
    let caller = opened.lease.link.caller();
    (server, opened, caller)
}

async fn call(caller: &Arc<dyn Caller>, tool: &str, limits: CallLimits) -> Result<Value, CallError> {
    caller.call_tool(tool.to_owned(), Some(json!({"a": 1})), limits).await
}

#[tokio::test]
async fn answers_arrive_as_the_server_sent_them() {
    let (_server, _opened, caller) = opened().await;
    let ample = || limits(10_000, 10_000);
    assert_eq!(call(&caller, "echo", ample()).await, Ok(json!({"content": [], "echo": {"a": 1}})));
    assert_eq!(call(&caller, "fail", ample()).await, Ok(json!({"content": [], "isError": true})));
    assert_eq!(caller.get_prompt("p".to_owned(), None, ample()).await, Ok(json!({"messages": []})));
    assert_eq!(
        caller.read_resource("file:///x".to_owned(), ample()).await,
        Ok(json!({"contents": [{"uri": "file:///x"}]}))
    );
    assert_eq!(
        call(&caller, "refuse", ample()).await,
        Err(CallError::Protocol { code: -32042, message: "refused with •••".to_owned(), data: None })
    );
}

#[tokio::test]
async fn nothing_a_server_says_about_a_call_shows_a_secret_or_has_no_end() {
    let (_server, _opened, caller) = opened().await;
    let (sender, mut progress) = mpsc::unbounded_channel();
    let listening = CallLimits { progress: Some(sender), ..limits(10_000, 10_000) };
    let reason = Some("no more of •••".to_owned());
    assert_eq!(call(&caller, "tell", listening).await, Err(CallError::CancelledByServer(reason)));
    assert_eq!(progress.recv().await.unwrap().message.as_deref(), Some("at work with •••"));
    match call(&caller, "refuse-at-length", limits(10_000, 10_000)).await {
        Err(CallError::Protocol { message, data, .. }) => {
            assert_eq!(message.chars().count(), 4001);
            assert_eq!(data, Some(json!({"given": ["•••"]})));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_limit_that_passes_ends_the_call_and_reaches_the_server() {
    let (server, _opened, caller) = opened().await;
    let total = limits(200, 10_000);
    assert_eq!(call(&caller, "never", total).await, Err(CallError::TimedOut(Duration::from_millis(200))));
    let idle = limits(10_000, 200);
    assert_eq!(call(&caller, "never", idle).await, Err(CallError::Idle(Duration::from_millis(200))));
    let cancelled = limits(10_000, 10_000);
    let cancel = cancelled.cancel.clone();
    let cancelling = async {
        until(SOON, || server.times("tools/call never") == 3).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(call(&caller, "never", cancelled), cancelling);
    assert_eq!(outcome, Err(CallError::Cancelled));
    until(SOON, || server.times("notifications/cancelled") == 3).await;
    let asked: Vec<String> = server
        .told()
        .iter()
        .filter_map(|line| line.strip_prefix("tools/call never "))
        .map(str::to_owned)
        .collect();
    for id in asked {
        assert_eq!(server.times(&format!("notifications/cancelled {id}")), 1);
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_is_told_to_the_server() {
    let (server, _opened, caller) = opened().await;
    let running =
        tokio::time::timeout(Duration::from_millis(200), call(&caller, "never", limits(9000, 9000))).await;
    assert!(running.is_err());
    until(SOON, || server.times("notifications/cancelled") == 1).await;
}

#[tokio::test]
async fn progress_arrives_in_order_and_extends_the_idle_limit_only() {
    let (_server, _opened, caller) = opened().await;
    let (sender, mut received) = mpsc::unbounded_channel();
    let mut patient = limits(10_000, 300);
    patient.progress = Some(sender);
    assert_eq!(call(&caller, "progress", patient).await, Ok(json!({"content": []})));
    let mut steps = Vec::new();
    while let Ok(progress) = received.try_recv() {
        assert_eq!((progress.total, progress.message.as_deref()), (Some(3.0), Some("at work")));
        steps.push(progress.progress);
    }
    assert_eq!(steps, [1.0, 2.0, 3.0]);
    let total = Duration::from_millis(250);
    assert_eq!(call(&caller, "progress", limits(250, 300)).await, Err(CallError::TimedOut(total)));
}

#[tokio::test]
async fn a_call_that_the_server_gives_up_fails_at_once_with_its_reason() {
    let (server, _opened, caller) = opened().await;
    let began = Instant::now();
    let outcome = call(&caller, "give-up", limits(10_000, 10_000)).await;
    assert_eq!(outcome, Err(CallError::CancelledByServer(Some("too busy".to_owned()))));
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!(call(&caller, "echo", limits(5000, 5000)).await.unwrap()["echo"], json!({"a": 1}));
    assert_eq!(server.times("notifications/cancelled"), 0);
}

#[tokio::test]
async fn a_late_answer_lands_on_nobody() {
    let (server, _opened, caller) = opened().await;
    assert!(call(&caller, "late", limits(150, 10_000)).await.is_err());
    assert_eq!(call(&caller, "echo", limits(5000, 5000)).await.unwrap()["echo"], json!({"a": 1}));
    assert_eq!(server.times("tools/call late"), 1);
}

#[tokio::test]
async fn what_a_server_asks_is_answered_or_refused() {
    let (_server, _opened, caller) = opened().await;
    for (method, expected) in [
        ("ping", json!({"result": {}})),
        ("sampling/createMessage", json!({"error": {"code": -32601}})),
        ("elicitation/create", json!({"error": {"code": -32601}})),
        ("no/such", json!({"error": {"code": -32601}})),
    ] {
        let arguments = Some(json!({ "method": method }));
        let answer = caller.call_tool("ask".to_owned(), arguments, limits(5000, 5000)).await.unwrap();
        let answer = &answer["answer"];
        assert_eq!(answer["id"], "q");
        assert_eq!(answer["error"]["code"], expected["error"]["code"], "{method}");
        assert_eq!(answer.get("result"), expected.get("result"), "{method}");
    }
    let roots =
        caller.call_tool("ask".to_owned(), Some(json!({"method": "roots/list"})), limits(5000, 5000)).await;
    assert_eq!(roots.unwrap()["answer"]["result"]["roots"][0]["uri"], "file:///tmp");
}

#[tokio::test]
async fn a_verdict_interrupts_a_running_call_at_once_and_a_drain_lets_it_finish() {
    let (server, opened, caller) = opened().await;
    let running = tokio::spawn(async move { call(&caller, "never", limits(60_000, 60_000)).await });
    until(SOON, || server.times("tools/call") == 1).await;
    assert_eq!(opened.lease.link.calls_in_flight(), 1);
    let began = Instant::now();
    let retiring = tokio::spawn(opened.lease.link.retire(Teardown::Verdict));
    assert_eq!(running.await.unwrap(), Err(CallError::Interrupted));
    assert!(began.elapsed() < Duration::from_secs(2));
    retiring.await.unwrap();
    assert_eq!(server.times("notifications/cancelled"), 1);

    let (server, opened, caller) = self::opened().await;
    let late = Arc::clone(&caller);
    let running = tokio::spawn(async move { call(&caller, "slow", limits(60_000, 60_000)).await });
    until(SOON, || server.times("tools/call") == 1).await;
    let retiring = opened.lease.link.retire(Teardown::Drain);
    let refused = async {
        tokio::task::yield_now().await;
        call(&late, "echo", limits(1000, 1000)).await
    };
    let ((), refused) = tokio::join!(retiring, refused);
    assert_eq!(running.await.unwrap(), Ok(json!({"content": []})));
    assert_eq!(refused, Err(CallError::Interrupted));
    assert_eq!(server.times("tools/call"), 1);
    assert!(server.processes().is_empty());
}

#[tokio::test]
async fn a_drain_does_not_wait_for_ever() {
    let (server, opened, caller) = opened().await;
    let running = tokio::spawn(async move { call(&caller, "never", limits(60_000, 60_000)).await });
    until(SOON, || server.times("tools/call") == 1).await;
    let began = Instant::now();
    opened.lease.link.retire(Teardown::Drain).await;
    assert!(
        (Duration::from_secs(5)..Duration::from_secs(9)).contains(&began.elapsed()),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(running.await.unwrap(), Err(CallError::Interrupted));
}

#[tokio::test]
async fn a_call_on_a_server_that_dies_says_how_it_died() {
    let (_server, mut opened, caller) = opened().await;
    let outcome = call(&caller, "die", limits(60_000, 60_000)).await;
    assert_eq!(outcome, Err(CallError::Lost("the server exited with code 5".to_owned())));
    assert!(matches!(opened.event().await, LinkEvent::Lost(..)));
    let outcome = call(&caller, "echo", limits(60_000, 60_000)).await;
    assert_eq!(outcome, Err(CallError::Lost("the server exited with code 5".to_owned())));
}

#[tokio::test]
async fn a_server_that_closes_its_output_is_lost_though_it_runs() {
    let (_server, mut opened, caller) = opened().await;
    let outcome = call(&caller, "close-output", limits(60_000, 60_000)).await;
    assert_eq!(outcome, Err(CallError::Lost("the server closed its output without ending".to_owned())));
    assert!(matches!(opened.event().await, LinkEvent::Lost(..)));
}

#[tokio::test]
async fn a_burst_of_list_changes_is_read_once_and_the_last_list_counts() {
    let (server, mut opened, caller) = opened().await;
    call(&caller, "change", limits(5000, 5000)).await.unwrap();
    let LinkEvent::Inventory(attempt, inventory) = opened.event().await else { panic!() };
    assert_eq!(attempt, qwen_core::Attempt(7));
    assert_eq!(inventory.tools.items()[1].name, "list-2");
    assert_eq!(server.times("tools/list"), 2);
    assert_eq!(server.times("prompts/list"), 1);
}

#[tokio::test]
async fn stderr_is_drained_for_as_long_as_the_server_lives() {
    let (_server, _opened, caller) = opened().await;
    for _ in 0..3 {
        call(&caller, "stderr", limits(5000, 5000)).await.unwrap();
    }
}

#[tokio::test]
async fn a_restricted_server_sees_only_what_it_needs() {
    let mut server = Server::scripted("plain");
    server.policy = EnvPolicy::Restricted;
    let opened = open(&server).await.unwrap();
    let seen = call(&opened.lease.link.caller(), "environment", limits(5000, 5000)).await.unwrap();
    assert_eq!(seen["QWEN_MCP_DEPTH"], "1");
    assert_eq!(seen["SERVER_MODE"], "plain");
    assert!(seen.get("PATH").is_some());
    assert!(seen.get("CARGO_MANIFEST_DIR").is_none(), "the test's own variables are not needed");
}

#[tokio::test]
async fn a_server_that_does_not_read_costs_only_its_own_calls() {
    let server = Server::scripted("plain");
    let deaf = open(&server).await.unwrap();
    let (_other, _opened, other) = opened().await;
    let caller = deaf.lease.link.caller();
    assert!(call(&caller, "sleep", limits(100, 10_000)).await.is_err());
    let large = Some(json!("x".repeat(1024 * 1024)));
    let outcome = caller.call_tool("echo".to_owned(), large, limits(300, 10_000)).await;
    assert_eq!(outcome, Err(CallError::TimedOut(Duration::from_millis(300))));
    assert!(call(&other, "echo", limits(5000, 5000)).await.is_ok());
    let began = Instant::now();
    deaf.lease.link.retire(Teardown::Verdict).await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert!(server.processes().is_empty());
}

#[tokio::test]
async fn progress_without_end_does_not_keep_a_call_from_ending() {
    let (server, _opened, caller) = opened().await;
    let patient = limits(500, 10_000);
    assert_eq!(
        call(&caller, "progress-flood", patient).await,
        Err(CallError::TimedOut(Duration::from_millis(500)))
    );
    assert_eq!(server.times("tools/call"), 1);
}
