//! What becomes of a call over HTTP.

use std::time::Duration;

use qwen_core::{CallError, CallLimits, Progress};
use serde_json::json;
use tokio::sync::mpsc;

use crate::{
    harness::{SOON, Target, call, limits},
    server::{
        Request, Server, Step, answer, event, events, json, modern, plain, status, until, with_headers,
    },
};

#[tokio::test]
async fn a_call_is_answered_in_json_and_in_events_with_its_progress() {
    let server = Server::start(|request: &Request| match (request.method(), request.nth) {
        ("tools/call", 1) => plain(request),
        ("tools/call", _) => {
            let token = &request.message["params"]["_meta"]["progressToken"];
            let step = |n| {
                let params = json!({"progressToken": token, "progress": n, "total": 2});
                event(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))
            };
            events([step(1), step(2), event(&answer(request, json!({"content": []}))), Step::Hang])
        }
        _ => plain(request),
    })
    .await;
    let opened = Target::new(server.url()).open().await.unwrap();
    let caller = opened.caller();
    assert_eq!(call(&caller, json!({"a": 1})).await.unwrap()["echo"], json!({"a": 1}));
    let (sender, mut progress) = mpsc::unbounded_channel();
    let mut listening = limits();
    listening.progress = Some(sender);
    caller.call_tool("echo".to_owned(), None, listening).await.unwrap();
    let steps: Vec<Progress> = std::iter::from_fn(|| progress.try_recv().ok()).collect();
    assert_eq!(steps.iter().map(|step| step.progress).collect::<Vec<_>>(), [1.0, 2.0]);
}

#[tokio::test]
async fn a_call_that_is_not_answered_says_why_and_costs_nobody_else_anything() {
    let server = Server::start(|request: &Request| match (request.method(), request.nth) {
        ("tools/call", 1) => status(500),
        ("tools/call", 2) => with_headers(429, "Retry-After: 5\r\n", ""),
        ("tools/call", 3) => status(202),
        ("tools/call", 4) => with_headers(200, "Content-Type: text/html\r\n", "<p>"),
        ("tools/call", 5) => with_headers(403, "Content-Type: text/plain\r\n", "not yours"),
        ("tools/call", 6) => vec![Step::Close],
        _ => plain(request),
    })
    .await;
    let opened = Target::new(server.url()).open().await.unwrap();
    let caller = opened.caller();
    for words in
        ["500 Internal", "asks to wait 5 s", "answered 202", "text/html", "403 Forbidden: not yours", "broke"]
    {
        match call(&caller, json!({})).await {
            Err(CallError::Unanswered(why)) => assert!(why.contains(words), "{words}: {why}"),
            other => panic!("{words}: {other:?}"),
        }
    }
    assert_eq!(call(&caller, json!(7)).await.unwrap()["echo"], 7);
    assert_eq!(server.times("POST tools/call"), 7);
    assert_eq!(server.times("POST initialize"), 1);
}

#[tokio::test]
async fn a_server_that_does_not_take_the_word_of_a_cancel_loses_the_exchange_all_the_same() {
    let server = Server::start(|request: &Request| match request.method() {
        "tools/call" => events([Step::Hang]),
        "notifications/cancelled" => vec![Step::Hang],
        _ => plain(request),
    })
    .await;
    let opened = Target::new(server.url()).open().await.unwrap();
    let limits = CallLimits { total: Duration::from_millis(300), ..limits() };
    let outcome = opened.caller().call_tool("echo".to_owned(), None, limits).await;
    assert_eq!(outcome, Err(CallError::TimedOut(Duration::from_millis(300))));
    until(Duration::from_secs(4), || server.dropped().contains(&"POST tools/call".to_owned())).await;
    assert_eq!(server.times("POST notifications/cancelled"), 1);
    // The word itself is not waited for without end either.
    let word = "POST notifications/cancelled".to_owned();
    until(Duration::from_secs(20), || server.dropped().contains(&word)).await;
}

#[tokio::test]
async fn a_cancel_is_told_to_the_server_and_closes_the_exchange() {
    let server = Server::start(|request: &Request| match request.method() {
        "tools/call" => events([Step::Hang]),
        _ => plain(request),
    })
    .await;
    let opened = Target::new(server.url()).open().await.unwrap();
    let caller = opened.caller();
    let limits = limits();
    let cancel = limits.cancel.clone();
    let running = tokio::spawn(async move { caller.call_tool("echo".to_owned(), None, limits).await });
    until(SOON, || server.times("POST tools/call") == 1).await;
    cancel.cancel();
    assert_eq!(running.await.unwrap(), Err(CallError::Cancelled));
    until(SOON, || server.dropped() == ["POST tools/call"]).await;
    let told = server.last("POST notifications/cancelled");
    assert_eq!(told.message["params"]["requestId"], server.last("POST tools/call").message["id"]);
}

#[tokio::test]
async fn a_server_that_asks_back_is_sent_a_new_request_that_says_what_it_is_about() {
    let server = Server::start(|request: &Request| match (request.method(), request.nth) {
        ("tools/call", 1) => {
            let roots = json!({"method": "roots/list"});
            let result = json!({
                "resultType": "input_required", "requestState": "a=/+", "inputRequests": {"where": roots},
            });
            json(200, &answer(request, result))
        }
        _ => modern(request),
    })
    .await;
    let opened = Target::new(server.url()).in_the_newer_era().open().await.unwrap();
    assert_eq!(call(&opened.caller(), json!({"a": 1})).await.unwrap()["echo"], json!({"a": 1}));
    let [first, second] = &server.all("POST tools/call")[..] else { panic!("{:?}", server.names()) };
    assert_ne!(first.message["id"], second.message["id"]);
    for (header, value) in
        [("mcp-method", "tools/call"), ("mcp-name", "echo"), ("mcp-protocol-version", "2026-07-28")]
    {
        assert_eq!(first.header(header), Some(value));
        assert_eq!(second.header(header), Some(value));
    }
    let params = &second.message["params"];
    assert_eq!(params["requestState"], "a=/+");
    assert_eq!(params["inputResponses"], json!({"where": {"roots": [{"uri": "file:///p"}]}}));
    // Only what is answered is offered, on every request.
    for request in server.requests() {
        let offered = &request.message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        assert_eq!(offered, &json!({"roots": {}}), "{}", request.name());
    }
}
