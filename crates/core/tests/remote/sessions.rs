//! What becomes of a connection whose server forgets it, and how a connection ends.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures::future::join_all;
use qwen_core::{CallError, FailureKind, LinkEvent, Listing, Teardown};
use serde_json::json;

use crate::{
    harness::{Opened, SOON, Target, call, limits},
    server::{
        Reply, Request, Server, Step, answer, initialized, json, plain, refusal, status, tools, until,
        with_headers,
    },
};

/// Which session the server knows, which a test can change.
type Known = Arc<AtomicUsize>;

/// A server that gives the session it knows, and answers `unknown` to requests of any other.
fn forgetful(known: &Known, unknown: u16) -> impl Fn(&Request) -> Reply + Send + Sync + use<> {
    let known = Arc::clone(known);
    move |request| {
        let current = format!("s{}", known.load(Ordering::SeqCst));
        match (request.method(), request.header("mcp-session-id")) {
            ("initialize", _) => initialized(request, Some(&current)),
            (_, Some(session)) if session != current => {
                json(unknown, &refusal(request, -32000, "no such session"))
            }
            ("tools/list", _) => json(200, &answer(request, tools(&["echo", &current]))),
            _ => plain(request),
        }
    }
}

async fn opened(server: &Server) -> Opened {
    Target::new(server.url()).open().await.unwrap()
}

#[tokio::test]
async fn a_forgotten_session_is_opened_again_once_for_all_calls_and_the_lists_are_read_again() {
    let known = Known::default();
    let server = Server::start(forgetful(&known, 404)).await;
    let mut opened = opened(&server).await;
    assert_eq!(opened.tools(), ["echo", "s0"]);
    known.store(1, Ordering::SeqCst);
    let caller = opened.caller();
    let answers = join_all((0..8).map(|n| call(&caller, json!(n)))).await;
    for (n, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer.unwrap()["echo"], n);
    }
    assert_eq!(opened.relisted().await, ["echo", "s1"]);
    assert_eq!(server.times("POST initialize"), 2);
    assert_eq!(server.times("POST notifications/initialized"), 2);
    let executed = |request: &&crate::server::Request| {
        request.method() == "tools/call" && request.header("mcp-session-id") == Some("s1")
    };
    assert_eq!(server.requests().iter().filter(executed).count(), 8);
    until(SOON, || server.last("GET").header("mcp-session-id") == Some("s1")).await;
}

#[tokio::test]
async fn a_call_that_runs_while_another_one_renews_the_session_is_left_alone() {
    let known = Known::default();
    let forgets = forgetful(&known, 404);
    let server =
        Server::start(move |request: &Request| match request.message["params"]["arguments"].as_str() {
            Some("slow") => {
                let mut reply = vec![Step::Wait("slow")];
                reply.extend(plain(request));
                reply
            }
            _ => forgets(request),
        })
        .await;
    let opened = opened(&server).await;
    let caller = opened.caller();
    let slow = tokio::spawn({
        let caller = Arc::clone(&caller);
        async move { call(&caller, json!("slow")).await }
    });
    until(SOON, || server.times("POST tools/call") == 1).await;
    known.store(1, Ordering::SeqCst);
    assert_eq!(call(&caller, json!("quick")).await.unwrap()["echo"], "quick");
    server.open("slow");
    assert_eq!(slow.await.unwrap().unwrap()["echo"], "slow");
    assert_eq!(server.times("POST initialize"), 2);
}

#[tokio::test]
async fn a_session_that_is_lost_twice_in_a_row_is_a_lost_connection_and_no_third_try() {
    let server = Server::start(|request: &Request| match request.method() {
        "tools/call" => status(404),
        _ => plain(request),
    })
    .await;
    let mut opened = opened(&server).await;
    match call(&opened.caller(), json!({})).await {
        Err(CallError::Lost(why)) => assert!(why.contains("twice in a row"), "{why}"),
        other => panic!("{other:?}"),
    }
    let failure = opened.loss().await;
    assert_eq!(failure.kind, FailureKind::Network);
    assert_eq!((server.times("POST tools/call"), server.times("POST initialize")), (2, 2));
}

#[tokio::test]
async fn a_server_that_gives_no_new_session_is_lost_with_its_reason() {
    for (refused, kind, words) in [
        (401, FailureKind::NeedsAuth { challenge: None, header: None }, "401 Unauthorized"),
        (503, FailureKind::Unavailable { retry_after: None }, "503 Service Unavailable"),
        // It worked before, so it is worth another try.
        (404, FailureKind::Network, "gave no new one: the server answered 404"),
    ] {
        let server = Server::start(move |request: &Request| match (request.method(), request.nth) {
            ("initialize", 2..) => status(refused),
            ("tools/call", _) => status(404),
            _ => plain(request),
        })
        .await;
        let mut opened = opened(&server).await;
        assert!(matches!(call(&opened.caller(), json!({})).await, Err(CallError::Lost(_))));
        let failure = opened.loss().await;
        assert_eq!(failure.kind, kind);
        assert!(failure.message.contains(words), "{failure}");
    }
}

/// A server whose second life answers `initialize` with this.
fn reborn(known: &Known, second: serde_json::Value) -> impl Fn(&Request) -> Reply + Send + Sync + use<> {
    let (known, forgets) = (Arc::clone(known), forgetful(known, 404));
    let first = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "prompts": {}}});
    move |request| {
        let current = known.load(Ordering::SeqCst);
        let is_known = request.header("mcp-session-id") == Some(&format!("s{current}"));
        match request.method() {
            "initialize" => {
                let result = if current == 0 { first.clone() } else { second.clone() };
                let head = format!("Content-Type: application/json\r\nMcp-Session-Id: s{current}\r\n");
                with_headers(200, &head, &answer(request, result).to_string())
            }
            "prompts/list" if is_known => json(200, &answer(request, json!({"prompts": [{"name": "p"}]}))),
            "resources/list" if is_known => {
                json(200, &answer(request, json!({"resources": [{"uri": "x://r", "name": "r"}]})))
            }
            _ => forgets(request),
        }
    }
}

#[tokio::test]
async fn a_new_session_in_a_version_that_we_do_not_speak_is_a_lost_connection() {
    for (version, words) in [
        (json!("2099-01-01"), "gave no new one: no common protocol version: the server speaks 2099-01-01"),
        (json!(null), "gave no new one: the answer to initialize names no protocol version"),
    ] {
        let known = Known::default();
        let second = json!({"protocolVersion": version, "capabilities": {"tools": {}}});
        let server = Server::start(reborn(&known, second)).await;
        let mut opened = opened(&server).await;
        known.store(1, Ordering::SeqCst);
        assert!(matches!(call(&opened.caller(), json!(1)).await, Err(CallError::Lost(_))));
        let failure = opened.loss().await;
        // Opened afresh, it is judged by a whole handshake.
        assert_eq!(failure.kind, FailureKind::Network);
        assert!(failure.message.contains(words), "{failure}");
        assert_eq!((server.times("POST tools/call"), server.times("POST notifications/initialized")), (1, 1));
    }
}

#[tokio::test]
async fn a_new_session_is_asked_for_the_lists_that_it_declares_and_for_no_others() {
    let known = Known::default();
    let second = json!({"protocolVersion": "2025-03-26", "capabilities": {"tools": {}, "resources": {}}});
    let server = Server::start(reborn(&known, second)).await;
    let mut opened = opened(&server).await;
    let inventory = Arc::clone(&opened.lease.inventory);
    assert_eq!((inventory.prompts.items().len(), &inventory.resources), (1, &Listing::NotOffered));
    known.store(1, Ordering::SeqCst);
    assert_eq!(call(&opened.caller(), json!(1)).await.unwrap()["echo"], 1);
    let LinkEvent::Inventory(_, inventory) = opened.event().await else { panic!("nothing was listed") };
    assert_eq!((&inventory.prompts, inventory.resources.items().len()), (&Listing::NotOffered, 1));
    assert_eq!(inventory.tools.items().len(), 2);
    let times = |list: &str| server.times(&format!("POST {list}/list"));
    assert_eq!((times("tools"), times("prompts"), times("resources")), (2, 1, 1));
    assert_eq!(server.last("POST resources/list").header("mcp-protocol-version"), Some("2025-03-26"));
}

#[tokio::test]
async fn a_server_that_says_400_of_an_unknown_session_costs_one_call_and_not_the_next() {
    let known = Known::default();
    let server = Server::start(forgetful(&known, 400)).await;
    let mut opened = opened(&server).await;
    known.store(1, Ordering::SeqCst);
    let refused = call(&opened.caller(), json!(1)).await;
    assert!(matches!(refused, Err(CallError::Protocol { code: -32000, .. })), "{refused:?}");
    assert_eq!(opened.relisted().await, ["echo", "s1"]);
    assert_eq!(call(&opened.caller(), json!(2)).await.unwrap()["echo"], 2);
    assert_eq!(server.times("POST tools/call"), 2);
}

#[tokio::test]
async fn without_a_session_a_404_is_an_answer_like_any_other() {
    let server = Server::start(|request: &Request| match request.method() {
        "initialize" => initialized(request, None),
        "tools/call" => status(404),
        _ => plain(request),
    })
    .await;
    let opened = opened(&server).await;
    let answer = call(&opened.caller(), json!({})).await;
    assert!(matches!(answer, Err(CallError::Unanswered(_))), "{answer:?}");
    assert_eq!((server.times("POST tools/call"), server.times("POST initialize")), (1, 1));
}

#[tokio::test]
async fn a_server_that_refuses_the_credentials_of_a_call_needs_new_ones() {
    let server = Server::start(|request: &Request| match request.method() {
        "tools/call" => status(401),
        _ => plain(request),
    })
    .await;
    let mut opened =
        Target::new(server.url()).header("authorization", "Bearer abcdefgh").open().await.unwrap();
    assert!(matches!(call(&opened.caller(), json!({})).await, Err(CallError::Lost(_))));
    let header = Some("authorization".to_owned());
    assert_eq!(opened.loss().await.kind, FailureKind::NeedsAuth { challenge: None, header });
}

#[tokio::test]
async fn the_end_waits_for_a_silent_server_half_a_second_and_after_a_verdict_not_at_all() {
    for (teardown, at_least, at_most) in [
        (Teardown::Exit, Duration::from_millis(450), Duration::from_millis(2000)),
        (Teardown::Drain, Duration::from_millis(450), Duration::from_millis(2000)),
        (Teardown::Verdict, Duration::ZERO, Duration::from_millis(400)),
    ] {
        let server = Server::start(|request: &Request| match request.verb.as_str() {
            "DELETE" => vec![Step::Hang],
            _ => plain(request),
        })
        .await;
        let opened = opened(&server).await;
        let began = Instant::now();
        opened.lease.link.retire(teardown).await;
        let took = began.elapsed();
        assert!(took >= at_least && took < at_most, "{teardown:?}: {took:?}");
        until(SOON, || server.times("DELETE") == 1).await;
    }
}

#[tokio::test]
async fn a_verdict_interrupts_a_running_call_and_a_drain_lets_it_finish() {
    for (teardown, finishes) in [(Teardown::Verdict, false), (Teardown::Drain, true)] {
        let server = Server::start(|request: &Request| match request.method() {
            "tools/call" => [vec![Step::Wait("answer")], plain(request)].concat(),
            _ => plain(request),
        })
        .await;
        let opened = opened(&server).await;
        let caller = opened.caller();
        let running = tokio::spawn(async move { call(&caller, json!(1)).await });
        until(SOON, || server.times("POST tools/call") == 1).await;
        let ending = tokio::spawn(opened.lease.link.retire(teardown));
        if finishes {
            server.open("answer");
            assert_eq!(running.await.unwrap().unwrap()["echo"], 1);
        } else {
            assert_eq!(running.await.unwrap(), Err(CallError::Interrupted));
        }
        ending.await.unwrap();
        until(SOON, || server.times("DELETE") == 1).await;
        assert_eq!(server.times("POST notifications/cancelled"), usize::from(!finishes));
    }
}

#[tokio::test]
async fn a_dropped_connection_closes_its_exchanges_without_a_word() {
    let server = Server::start(|request: &Request| match request.method() {
        "tools/call" => vec![Step::Hang],
        _ => plain(request),
    })
    .await;
    let opened = opened(&server).await;
    let caller = opened.caller();
    let running = tokio::spawn(async move { caller.call_tool("echo".to_owned(), None, limits()).await });
    until(SOON, || server.times("POST tools/call") == 1).await;
    drop(opened);
    assert!(running.await.unwrap().is_err());
    until(SOON, || server.dropped() == ["POST tools/call"]).await;
}
