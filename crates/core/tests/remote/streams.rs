//! What a server says by itself, and streams that end before their time.

use std::time::{Duration, Instant};

use qwen_core::{CallError, CallLimits, FailureKind};
use serde_json::{Value, json};

use crate::{
    harness::{SOON, Target, call, limits},
    server::{
        Reply, Request, Server, Step, answer, chunk, end, event, events, json, plain, refusal, status, tools,
        until, with_headers,
    },
};

fn changed() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
}

#[tokio::test]
async fn what_the_server_says_by_itself_is_heard_and_its_questions_are_answered() {
    let server =
        Server::start(|request: &Request| match (request.verb.as_str(), request.method(), request.nth) {
            ("GET", ..) => events([
                event(&json!({"jsonrpc": "2.0", "id": "q1", "method": "ping"})),
                event(&changed()),
                Step::Hang,
            ]),
            (_, "tools/list", 2..) => json(200, &answer(request, tools(&["echo", "new"]))),
            _ => plain(request),
        })
        .await;
    let mut opened = Target::new(server.url()).open().await.unwrap();
    assert_eq!(opened.relisted().await, ["echo", "new"]);
    let answered = |request: &Request| request.message == json!({"jsonrpc": "2.0", "id": "q1", "result": {}});
    until(SOON, || server.requests().iter().any(answered)).await;
}

#[tokio::test]
async fn a_server_that_offers_no_stream_is_asked_once_and_stays_connected() {
    let text = |kind: &str| with_headers(200, &format!("Content-Type: {kind}\r\n"), "{}");
    let replies: [Reply; 8] = [
        status(400),
        status(403),
        status(404),
        status(405),
        status(406),
        status(429),
        text("application/json"),
        text("text/html"),
    ];
    for reply in replies {
        let server = Server::start(move |request: &Request| match request.verb.as_str() {
            "GET" => reply.clone(),
            _ => plain(request),
        })
        .await;
        let opened = Target::new(server.url()).open().await.unwrap();
        until(SOON, || server.times("GET") == 1).await;
        assert_eq!(call(&opened.caller(), json!(1)).await.unwrap()["echo"], 1);
        assert_eq!(server.times("GET"), 1);
    }
}

#[tokio::test]
async fn changes_are_heard_again_after_a_stream_could_not_be_opened_again_for_a_while() {
    let server =
        Server::start(|request: &Request| match (request.verb.as_str(), request.method(), request.nth) {
            ("GET", _, 1) => events([chunk(": here\n\n"), end()]),
            ("GET", _, 2) => status(409),
            ("GET", ..) => events([event(&changed()), Step::Hang]),
            (_, "tools/list", 2..) => json(200, &answer(request, tools(&["echo", "new"]))),
            _ => plain(request),
        })
        .await;
    let mut opened = Target::new(server.url()).open().await.unwrap();
    assert_eq!(opened.relisted().await, ["echo", "new"]);
}

#[tokio::test]
async fn a_stream_that_wants_credentials_means_that_the_server_does() {
    let server = Server::start(|request: &Request| match request.verb.as_str() {
        "GET" => [vec![Step::Wait("refuse")], status(401)].concat(),
        _ => plain(request),
    })
    .await;
    let mut opened = Target::new(server.url()).open().await.unwrap();
    server.open("refuse");
    assert_eq!(opened.loss().await.kind, FailureKind::NeedsAuth { challenge: None, header: None });
}

#[tokio::test]
async fn a_stream_that_ends_is_opened_again_where_it_ended_and_not_at_once() {
    for (retry, at_least) in [("", 1000), ("retry: 1500\n", 1500), ("retry: 10\n", 1000)] {
        let server = Server::start(move |request: &Request| match (request.verb.as_str(), request.nth) {
            ("GET", 1) => events([chunk(format!("{retry}id: e1\ndata: {}\n\nid: e2\n", changed())), end()]),
            ("GET", _) => events([Step::Hang]),
            _ => plain(request),
        })
        .await;
        let _opened = Target::new(server.url()).open().await.unwrap();
        until(SOON, || server.times("GET") == 1).await;
        let began = Instant::now();
        until(SOON, || server.times("GET") == 2).await;
        // The first GET was seen up to a tick late.
        assert!(began.elapsed() > Duration::from_millis(at_least - 50), "{:?}", began.elapsed());
        assert_eq!(server.last("GET").header("last-event-id"), Some("e1"));
    }
}

#[tokio::test]
async fn a_server_that_dies_is_lost_at_once_and_one_that_only_cut_the_stream_is_not() {
    let script = |request: &Request| match (request.verb.as_str(), request.nth) {
        ("GET", 1) => events([chunk(": here\n\n"), Step::Wait("cut"), Step::Close]),
        ("GET", _) => events([Step::Hang]),
        _ => plain(request),
    };
    let server = Server::start(script).await;
    let mut opened = Target::new(server.url()).open().await.unwrap();
    until(SOON, || server.times("GET") == 1).await;
    server.open("cut");
    until(SOON, || server.times("POST ping") == 1).await;
    until(SOON, || server.times("GET") == 2).await;
    assert_eq!(call(&opened.caller(), json!(1)).await.unwrap()["echo"], 1);
    assert!(opened.events.try_recv().is_err());

    let mut server = Server::start(script).await;
    let mut opened = Target::new(server.url()).open().await.unwrap();
    until(SOON, || server.times("GET") == 1).await;
    let began = Instant::now();
    server.kill().await;
    let failure = opened.loss().await;
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!(failure.kind, FailureKind::Network);
    assert!(failure.message.contains("refused; is the server running?"), "{failure}");
    assert!(matches!(call(&opened.caller(), json!(1)).await, Err(CallError::Lost(_))));
}

#[tokio::test]
async fn a_server_that_restarted_and_forgot_everything_gets_a_new_session() {
    let mut server = Server::start(|request: &Request| {
        let restarted = request.header("mcp-session-id") == Some("s1") && request.nth > 1;
        match (request.verb.as_str(), request.method(), request.nth) {
            ("GET", _, 1) => events([chunk(": here\n\n"), end()]),
            // Like many servers, and without telling that it never saw the session.
            ("GET" | "POST", "" | "ping", _) if restarted => status(400),
            (_, "ping", 1) => status(400),
            (_, "initialize", 2..) => crate::server::initialized(request, Some("s2")),
            ("GET", ..) => events([Step::Hang]),
            (_, "tools/list", 2..) => json(200, &answer(request, tools(&["echo", "new"]))),
            _ => plain(request),
        }
    })
    .await;
    let mut opened = Target::new(server.url()).open().await.unwrap();
    until(SOON, || server.times("GET") == 1).await;
    server.kill().await;
    server.revive().await;
    assert_eq!(opened.relisted().await, ["echo", "new"]);
    assert_eq!(server.times("POST initialize"), 2);
    until(SOON, || server.last("GET").header("mcp-session-id") == Some("s2")).await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_taken_up_again_where_the_server_gave_a_place() {
    for broken in [end(), Step::Close] {
        let broken = broken.clone();
        let server = Server::start(move |request: &Request| {
            let id = request.message["id"].clone();
            match (request.verb.as_str(), request.method(), request.header("last-event-id")) {
                ("GET", _, None) => status(405),
                ("GET", _, Some("p1")) => events([chunk("retry: 200\nid: p2\ndata:\n\n"), end()]),
                ("GET", _, Some(_)) => {
                    // The answer to the only call.
                    let text = json!({"jsonrpc": "2.0", "id": 2, "result": {"echo": "late"}});
                    events([event(&text), Step::Hang])
                }
                ("POST", "tools/call", _) => {
                    assert_eq!(id, json!(2));
                    events([chunk("retry: 200\nid: p1\ndata:\n\n"), broken.clone()])
                }
                _ => plain(request),
            }
        })
        .await;
        let opened = Target::new(server.url()).open().await.unwrap();
        let began = Instant::now();
        let answer = call(&opened.caller(), json!({})).await;
        assert_eq!(answer.unwrap()["echo"], "late", "{:?}", server.names());
        assert!(began.elapsed() >= Duration::from_millis(400), "{:?}", began.elapsed());
        assert_eq!(server.times("POST tools/call"), 1);
    }
}

#[tokio::test]
async fn an_answer_that_ends_again_and_again_and_brings_nothing_is_asked_for_ever_more_rarely() {
    let server = Server::start(|request: &Request| {
        let ended = || events([chunk("retry: 0\nid: p\ndata:\n\n"), end()]);
        match (request.verb.as_str(), request.method(), request.header("last-event-id")) {
            ("GET", _, Some(_)) | ("POST", "tools/call", _) => ended(),
            _ => plain(request),
        }
    })
    .await;
    let opened = Target::new(server.url()).open().await.unwrap();
    let limits = CallLimits { total: Duration::from_secs(2), ..limits() };
    let outcome = opened.caller().call_tool("echo".to_owned(), None, limits).await;
    assert_eq!(outcome, Err(CallError::TimedOut(Duration::from_secs(2))));
    let resumed = |request: &Request| request.header("last-event-id").is_some();
    let times = server.requests().iter().filter(|request| resumed(request)).count();
    assert!((1..=4).contains(&times), "{times}");
}

#[tokio::test]
async fn a_server_that_numbers_its_events_and_offers_no_stream_has_ended_its_answer() {
    let server = Server::start(|request: &Request| match request.method() {
        "tools/call" => events([chunk("retry: 10\nid: p1\ndata:\n\n"), end()]),
        _ => plain(request),
    })
    .await;
    let opened = Target::new(server.url()).open().await.unwrap();
    match call(&opened.caller(), json!({})).await {
        Err(CallError::Unanswered(why)) => assert!(why.contains("ended its answer before"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_server_that_dies_during_a_call_is_lost() {
    for session in [None, Some("s1")] {
        let mut server = Server::start(move |request: &Request| match request.method() {
            "initialize" => crate::server::initialized(request, session),
            "tools/call" => vec![Step::Hang],
            _ => plain(request),
        })
        .await;
        let mut opened = Target::new(server.url()).open().await.unwrap();
        let caller = opened.caller();
        let running = tokio::spawn(async move { call(&caller, json!({})).await });
        until(SOON, || server.times("POST tools/call") == 1).await;
        server.kill().await;
        assert!(running.await.unwrap().is_err());
        assert_eq!(opened.loss().await.kind, FailureKind::Network);
    }
}

#[tokio::test]
async fn a_ping_that_the_server_does_not_know_costs_no_session() {
    let server = Server::start(|request: &Request| match (request.method(), request.nth) {
        ("tools/call", 1..=3) => status(400),
        ("ping", _) => {
            [vec![Step::Wait("ping")], json(400, &refusal(request, -32601, "unknown method"))].concat()
        }
        _ => plain(request),
    })
    .await;
    let opened = Target::new(server.url()).open().await.unwrap();
    for _ in 0..3 {
        assert!(call(&opened.caller(), json!({})).await.is_err());
    }
    until(SOON, || server.times("POST ping") == 1).await;
    server.open("ping");
    assert_eq!(call(&opened.caller(), json!(4)).await.unwrap()["echo"], 4);
    // One doubt at a time, and no new session for it.
    assert_eq!((server.times("POST ping"), server.times("POST initialize")), (1, 1));
}

#[tokio::test]
async fn an_answer_that_breaks_off_without_a_place_is_lost_and_never_asked_for_again() {
    for (broken, words) in [(end(), "ended its answer before the response came"), (Step::Close, "broke")] {
        let server = Server::start(move |request: &Request| match (request.method(), request.nth) {
            ("tools/call", 1) => events([event(&changed()), broken.clone()]),
            _ => plain(request),
        })
        .await;
        let opened = Target::new(server.url()).open().await.unwrap();
        match call(&opened.caller(), json!({})).await {
            Err(CallError::Unanswered(why)) => assert!(why.contains(words), "{why}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(call(&opened.caller(), json!(2)).await.unwrap()["echo"], 2);
        assert_eq!(server.times("POST tools/call"), 2);
    }
}

#[tokio::test]
async fn what_is_larger_than_the_limit_is_refused_and_costs_only_its_own_request() {
    let server = Server::start(|request: &Request| {
        let long = "x".repeat(17 * 1024 * 1024);
        match (request.method(), request.nth) {
            ("tools/call", 1) => json(200, &answer(request, json!({ "text": long }))),
            ("tools/call", 2) => events([event(&answer(request, json!({ "text": long }))), end()]),
            _ => plain(request),
        }
    })
    .await;
    let opened = Target::new(server.url()).open().await.unwrap();
    for what in ["an answer", "an event"] {
        match call(&opened.caller(), json!({})).await {
            Err(CallError::Unanswered(why)) => {
                assert!(why.contains(&format!("{what} of more than 16 MiB")), "{why}")
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(call(&opened.caller(), json!(3)).await.unwrap()["echo"], 3);
}

#[tokio::test]
async fn a_proxy_is_used_where_the_variables_say_so_and_not_where_they_except() {
    let proxy = Server::start(plain).await;
    let target =
        Target::new("http://nowhere.invalid/mcp").env("HTTP_PROXY", &format!("127.0.0.1:{}", proxy.port));
    let opened = target.open().await.unwrap();
    assert_eq!(opened.tools(), ["echo"]);
    assert_eq!(proxy.last("POST tools/list").path, "http://nowhere.invalid/mcp");

    let asked = proxy.names().len();
    let failure = target.env("no_proxy", "localhost,.invalid").open().await.err().unwrap();
    // The proxy that is not used is not blamed either.
    assert!(failure.message.contains("the host of http://nowhere.invalid cannot be resolved"), "{failure}");
    assert_eq!(proxy.names().len(), asked);

    let server = Server::start(plain).await;
    let target = Target::new(server.url()).env("ALL_PROXY", "socks5h://127.0.0.1:1").env("NO_PROXY", "*");
    assert_eq!(target.open().await.unwrap().tools(), ["echo"]);
}

#[tokio::test]
async fn changes_are_heard_without_a_session_and_listened_for_again_when_that_ends() {
    let server = Server::start(|request: &Request| match (request.method(), request.nth) {
        ("initialize", _) => status(400),
        ("server/discover", _) => {
            let capabilities = json!({"tools": {"listChanged": true}, "prompts": {}});
            json(
                200,
                &answer(request, json!({"supportedVersions": ["2026-07-28"], "capabilities": capabilities})),
            )
        }
        ("subscriptions/listen", 1) => {
            let heard =
                json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {}});
            events([
                event(&heard),
                event(&changed()),
                Step::Wait("end"),
                event(&answer(request, json!({}))),
                end(),
            ])
        }
        ("subscriptions/listen", _) => events([Step::Hang]),
        ("tools/list", nth) => {
            let name = format!("list-{nth}");
            json(200, &answer(request, tools(&[&name])))
        }
        _ => plain(request),
    })
    .await;
    let mut opened = Target::new(server.url()).open().await.unwrap();
    assert_eq!(opened.tools(), ["list-1"]);
    assert_eq!(opened.relisted().await, ["list-2"]);
    let asked = server.last("POST subscriptions/listen");
    let wanted = json!({"toolsListChanged": true, "promptsListChanged": true});
    assert_eq!(asked.message["params"]["notifications"], wanted);
    server.open("end");
    // What was missed in between is read too.
    assert_eq!(opened.relisted().await, ["list-3"]);
    until(SOON, || server.times("POST subscriptions/listen") == 2).await;
    assert_eq!(server.times("GET"), 0);
    drop(opened);
    until(SOON, || server.dropped() == ["POST subscriptions/listen"]).await;
}

#[tokio::test]
async fn a_server_that_knows_no_subscriptions_is_asked_for_them_once() {
    let server = Server::start(|request: &Request| match request.method() {
        "initialize" => status(400),
        "server/discover" => json(
            200,
            &answer(request, json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})),
        ),
        _ => plain(request),
    })
    .await;
    let opened = Target::new(server.url()).open().await.unwrap();
    until(SOON, || server.times("POST subscriptions/listen") == 1).await;
    assert_eq!(call(&opened.caller(), json!(1)).await.unwrap()["echo"], 1);
    assert_eq!(server.times("POST subscriptions/listen"), 1);
}
