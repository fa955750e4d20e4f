//! What becomes of an open: live, or a failure that says why.

use std::time::Duration;

use qwen_core::{FailureKind, Listing, Teardown, TlsFault};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use crate::{
    harness::{SOON, Target, limits},
    server::{
        Reply, Request, Server, Step, answer, chunk, end, event, events, initialized, json, modern, plain,
        refusal, status, tools, until, with_headers,
    },
};

#[tokio::test]
async fn a_server_connects_lists_and_is_told_of_the_end() {
    let server = Server::start(plain).await;
    let opened = Target::new(server.url()).header("x-team", "blue-and-red").open().await.unwrap();
    assert_eq!(opened.tools(), ["echo"]);
    assert_eq!(opened.lease.pid, None);
    assert_eq!(opened.lease.inventory.prompts, Listing::NotOffered);
    opened.lease.link.retire(Teardown::Exit).await;
    let names = server.names();
    assert_eq!(names.first().unwrap(), "POST initialize");
    assert_eq!(names.last().unwrap(), "DELETE");

    let first = server.last("POST initialize");
    assert_eq!(first.path, "/mcp");
    assert_eq!((first.header("mcp-session-id"), first.header("mcp-protocol-version")), (None, None));
    assert_eq!(first.header("accept"), Some("application/json, text/event-stream"));
    assert_eq!(first.header("accept-encoding"), None);
    for name in ["POST notifications/initialized", "POST tools/list", "GET", "DELETE"] {
        let request = server.last(name);
        assert_eq!(request.header("mcp-session-id"), Some("s1"), "{name}");
        assert_eq!(request.header("mcp-protocol-version"), Some("2025-06-18"), "{name}");
        assert_eq!(request.header("x-team"), Some("blue-and-red"), "{name}");
    }
}

#[tokio::test]
async fn a_server_without_sessions_that_answers_in_events_connects_too() {
    let server = Server::start(|request: &Request| match request.method() {
        "initialize" => {
            let result = json!({"protocolVersion": "2024-11-05", "capabilities": {}});
            events([chunk(": hello\n\n"), event(&answer(request, result)), end()])
        }
        "tools/list" => {
            let note = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}});
            let text = format!(
                "data: {note}\r\n\r\nevent: message\r\ndata: {}\r\n\r\n",
                answer(request, tools(&["ä😀"]))
            );
            // Nobody ends this stream: the answer is enough.
            events(text.as_bytes().chunks(1).map(chunk).chain([Step::Hang]))
        }
        "notifications/initialized" => status(204),
        _ => plain(request),
    })
    .await;
    let opened = Target::new(server.url()).open().await.unwrap();
    assert_eq!(opened.tools(), ["ä😀"]);
    opened.lease.link.retire(Teardown::Exit).await;
    assert_eq!(server.times("DELETE"), 0);
}

#[tokio::test]
async fn each_way_to_fail_has_its_kind_and_its_words() {
    let wrong = |status| FailureKind::WrongEndpoint { status };
    let text = |kind: &str, body: &str| with_headers(200, &format!("Content-Type: {kind}\r\n"), body);
    let there = |status: u16, to: &str| with_headers(status, &format!("Location: {to}\r\n"), "");
    let busy = |retry_after| FailureKind::Unavailable { retry_after };
    let silent = FailureKind::StreamClosed;
    let nonsense = FailureKind::InvalidHandshake;
    let cases: Vec<(Reply, FailureKind, &str)> = vec![
        (
            status(401),
            FailureKind::NeedsAuth { challenge: None, header: None },
            "401 Unauthorized: it wants credentials",
        ),
        (
            with_headers(403, "Content-Type: text/plain\r\n", "no seat"),
            FailureKind::Forbidden,
            "403 Forbidden: no seat",
        ),
        (status(404), wrong(Some(404)), "404 Not Found; is its URL that of an MCP endpoint?"),
        (status(405), wrong(Some(405)), "405 Method Not Allowed"),
        (status(400), wrong(Some(400)), "400 Bad Request"),
        (
            with_headers(429, "Retry-After: 30\r\n", ""),
            busy(Some(Duration::from_secs(30))),
            "asks to wait 30 s",
        ),
        (status(500), busy(None), "500 Internal Server Error"),
        (status(501), wrong(Some(501)), "501 Not Implemented"),
        (status(503), busy(None), "503 Service Unavailable"),
        (text("text/html", "<html>"), wrong(None), "answered text/html; is its URL"),
        (text("application/json", ""), nonsense.clone(), "an empty body"),
        (text("application/json", "{\"hello\":1}"), nonsense.clone(), "no JSON-RPC message"),
        (text("application/json", "{half"), nonsense.clone(), "no JSON-RPC message"),
        (
            text("application/json", "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}"),
            nonsense.clone(),
            "no response to the request",
        ),
        (status(202), nonsense.clone(), "answered 202 and sent no response"),
        (events([end()]), silent, "ended its answer before the response came"),
        (there(307, "http://127.0.0.1:1/mcp"), wrong(Some(307)), "another origin, http://127.0.0.1:1;"),
        (there(302, "/other"), wrong(Some(302)), "a POST with 302"),
        (there(308, "/mcp"), wrong(Some(308)), "more than 3 times"),
    ];
    for (reply, kind, words) in cases {
        let server = Server::start(move |_| reply.clone()).await;
        let failure = Target::new(server.url()).open().await.err().unwrap();
        assert_eq!(failure.kind, kind, "{failure}");
        assert!(failure.message.contains(words), "{words}: {failure}");
        assert_eq!(server.times("DELETE"), 0);
    }
}

#[tokio::test]
async fn what_cannot_be_reached_is_told_in_words_without_secrets() {
    let server = Server::start(plain).await;
    let nobody = server.port;
    drop(server);
    until(SOON, || std::net::TcpStream::connect(("127.0.0.1", nobody)).is_err()).await;
    for (url, words) in [
        (format!("http://me:hunter2@127.0.0.1:{nobody}/mcp?key=hunter2"), "refused; is the server running?"),
        ("http://no-such-host.invalid/mcp?key=hunter2".to_owned(), "cannot be resolved"),
    ] {
        let failure = Target::new(&url).open().await.err().unwrap();
        assert_eq!(failure.kind, FailureKind::Network);
        assert!(failure.message.contains(words), "{failure}");
        assert!(!failure.message.contains("hunter2"), "{failure}");
    }
    // Something that speaks no TLS, and says so as such servers do.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/mcp?key=hunter2", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.read_u8().await.ok();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.ok();
        }
    });
    let failure = Target::new(url).open().await.err().unwrap();
    assert_eq!(failure.kind, FailureKind::Tls(TlsFault::NotTls));
    assert!(failure.message.contains("does not speak TLS"), "{failure}");
    assert!(!failure.message.contains("hunter2"), "{failure}");
}

#[tokio::test]
async fn a_redirect_within_the_origin_is_followed_with_its_message_and_its_headers() {
    let server = Server::start(|request: &Request| match request.path.as_str() {
        "/mcp" => with_headers(307, "Location: /mcp/\r\n", ""),
        _ => plain(request),
    })
    .await;
    let opened = Target::new(server.url()).header("authorization", "Bearer abcdefgh").open().await.unwrap();
    assert_eq!(opened.tools(), ["echo"]);
    assert!(
        server.requests().iter().all(|request| request.header("authorization") == Some("Bearer abcdefgh"))
    );
}

#[tokio::test]
async fn nothing_is_sent_to_another_origin() {
    let other = Server::start(plain).await;
    let to = other.url();
    let server = Server::start(move |_| with_headers(307, &format!("Location: {to}\r\n"), "")).await;
    let target = Target::new(server.url()).header("authorization", "Bearer abcdefgh");
    let failure = target.open().await.err().unwrap();
    assert!(failure.message.contains(&format!("http://127.0.0.1:{}", other.port)), "{failure}");
    assert_eq!(other.names(), Vec::<String>::new());
}

#[tokio::test]
async fn a_refused_header_is_named_and_its_value_is_not() {
    let server = Server::start(|_: &Request| {
        let challenge = "WWW-Authenticate: Bearer resource_metadata=\"https://a/x\", error_description=\"bad hunter2hunter2\"\r\n";
        with_headers(401, challenge, "")
    })
    .await;
    let failure = Target::new(server.url()).header("x-api-key", "hunter2hunter2").open().await.err().unwrap();
    assert!(
        failure.message.contains("does not accept what the header x-api-key holds (bad •••)"),
        "{failure}"
    );
    let FailureKind::NeedsAuth { challenge: Some(challenge), header } = failure.kind else {
        panic!("{failure:?}")
    };
    assert_eq!(header.as_deref(), Some("x-api-key"));
    assert_eq!(challenge["resource_metadata"], "https://a/x");
    assert_eq!(challenge["error_description"], "bad •••");
    assert_eq!(server.names(), ["POST initialize"]);
}

#[tokio::test]
async fn a_header_that_the_server_repeats_is_shown_nowhere() {
    let secret = "hunter2hunter2";
    let long = format!("{}{secret} and more", "x".repeat(195));
    for told in [secret, long.as_str()] {
        let text = format!("who is {told}?");
        for at in ["initialize", "tools/list"] {
            for code in [200, 400, 403, 500] {
                let text = text.clone();
                let server = Server::start(move |request: &Request| match request.method() {
                    method if method == at => json(code, &refusal(request, -32000, &text)),
                    _ => plain(request),
                })
                .await;
                let said = match Target::new(server.url()).header("x-api-key", secret).open().await {
                    Ok(opened) => format!("{:?}", opened.lease.inventory),
                    Err(failure) => format!("{failure:?}"),
                };
                assert!(said.contains("who is"), "{at} {code}: {said}");
                assert!(!said.contains("hunter2"), "{at} {code}: {said}");
            }
        }
    }
}

#[tokio::test]
async fn a_status_decides_what_is_tried_again_whatever_stands_in_the_body() {
    let busy = || FailureKind::Unavailable { retry_after: Some(Duration::from_secs(7)) };
    for (code, at_first, later) in [
        (
            400,
            FailureKind::WrongEndpoint { status: Some(400) },
            FailureKind::Unavailable { retry_after: None },
        ),
        (403, FailureKind::Forbidden, FailureKind::Forbidden),
        (429, busy(), busy()),
        (503, busy(), busy()),
    ] {
        for (at, kind) in [("initialize", at_first), ("tools/list", later)] {
            for protocol in [true, false] {
                let server = Server::start(move |request: &Request| match request.method() {
                    method if method == at => {
                        let body = match protocol {
                            true => refusal(request, -32000, "no seat"),
                            false => json!({"error": "no seat"}),
                        };
                        let head = "Content-Type: application/json\r\nRetry-After: 7\r\n";
                        with_headers(code, head, &body.to_string())
                    }
                    _ => plain(request),
                })
                .await;
                let failure = Target::new(server.url()).open().await.err().unwrap();
                assert_eq!(failure.kind, kind, "{code} {at} {protocol}: {failure}");
                assert!(failure.message.contains("no seat"), "{code} {at}: {failure}");
                assert!(!failure.message.contains("32603"), "{code} {at}: {failure}");
            }
        }
    }
}

#[tokio::test]
async fn what_shook_hands_is_an_endpoint_and_is_tried_again() {
    for at in ["notifications/initialized", "tools/list"] {
        for reply in [status(404), with_headers(200, "Content-Type: application/json\r\n", "{}")] {
            let is_taken = at.starts_with("notifications/") && reply != status(404);
            let server = Server::start(move |request: &Request| match request.method() {
                "initialize" => initialized(request, None),
                method if method == at => reply.clone(),
                _ => plain(request),
            })
            .await;
            match Target::new(server.url()).open().await {
                Ok(_) => assert!(is_taken),
                Err(failure) => {
                    assert!(!is_taken && failure.kind.is_retried(), "{failure:?}");
                    assert!(failure.message.ends_with("after its handshake"), "{failure}");
                    assert!(!failure.message.contains("URL"), "{failure}");
                }
            }
        }
    }
}

#[tokio::test]
async fn whatever_a_success_says_to_a_message_without_an_answer_it_was_taken() {
    for kind in ["text/html", "text/plain", "application/json"] {
        let server = Server::start(move |request: &Request| match request.method() {
            "notifications/initialized" => with_headers(200, &format!("Content-Type: {kind}\r\n"), "ok"),
            _ => plain(request),
        })
        .await;
        assert_eq!(Target::new(server.url()).open().await.unwrap().tools(), ["echo"], "{kind}");
    }
}

#[tokio::test]
async fn all_challenges_are_read() {
    let server = Server::start(|_: &Request| {
        let challenges = "WWW-Authenticate: Basic realm=\"x\"\r\nWWW-Authenticate: Bearer scope=\"r\"\r\n";
        with_headers(401, challenges, "")
    })
    .await;
    let failure = Target::new(server.url()).open().await.err().unwrap();
    let challenge = Some(Box::new(json!({"scheme": "bearer", "scope": "r"})));
    assert_eq!(failure.kind, FailureKind::NeedsAuth { challenge, header: None });
}

#[tokio::test]
async fn an_answer_to_initialize_is_taken_up_again_in_the_session_that_came_with_its_head() {
    let server = Server::start(|request: &Request| {
        let result = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}});
        match (request.verb.as_str(), request.method(), request.header("last-event-id")) {
            ("POST", "initialize", _) => {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nMcp-Session-Id: s9\r\nTransfer-Encoding: chunked\r\n\r\n";
                vec![Step::Bytes(head.into()), chunk("retry: 10\nid: p1\ndata:\n\n"), end()]
            }
            ("GET", _, Some("p1")) if request.header("mcp-session-id") == Some("s9") => {
                events([event(&json!({"jsonrpc": "2.0", "id": 0, "result": result})), Step::Hang])
            }
            _ => plain(request),
        }
    })
    .await;
    let opened = Target::new(server.url()).open().await.unwrap();
    assert_eq!(opened.tools(), ["echo"]);
    assert_eq!(server.last("POST tools/list").header("mcp-session-id"), Some("s9"));
}

#[tokio::test]
async fn an_answer_that_never_comes_is_given_up_in_time_and_an_abort_at_once() {
    let server = Server::start(|_: &Request| vec![Step::Hang]).await;
    let target = Target::new(server.url());
    let failure = target.clone().within(Duration::from_millis(300)).open().await.err().unwrap();
    assert_eq!(failure.kind, FailureKind::HandshakeTimeout);
    assert_eq!(failure.message, "no answer to initialize after 300 ms");

    let cancel = CancellationToken::new();
    let opening = tokio::spawn({
        let (target, cancel) = (target.clone(), cancel.clone());
        async move { target.open_with(cancel).await.map(drop) }
    });
    until(SOON, || server.times("POST initialize") == 2).await;
    cancel.cancel();
    let failure = opening.await.unwrap().err().unwrap();
    assert_eq!(failure.kind, FailureKind::Aborted);
    until(SOON, || server.dropped().len() == 2).await;
}

#[tokio::test]
async fn a_server_of_the_era_without_sessions_is_found_after_400_and_after_an_unknown_method() {
    for refused in [400, 200, 404] {
        let server = Server::start(move |request: &Request| match request.method() {
            "initialize" => json(refused, &refusal(request, -32601, "unknown method")),
            "server/discover" => {
                let result = json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}});
                json(200, &answer(request, result))
            }
            _ => plain(request),
        })
        .await;
        let opened = Target::new(server.url()).open().await.unwrap();
        assert_eq!(opened.tools(), ["echo"]);
        opened.lease.link.retire(Teardown::Exit).await;
        for (name, method) in [("POST server/discover", "server/discover"), ("POST tools/list", "tools/list")]
        {
            let request = server.last(name);
            assert_eq!(request.header("mcp-protocol-version"), Some("2026-07-28"));
            assert_eq!(request.header("mcp-method"), Some(method));
            assert_eq!(request.header("mcp-session-id"), None);
        }
        assert_eq!((server.times("GET"), server.times("DELETE")), (0, 0), "{:?}", server.names());
    }
}

#[tokio::test]
async fn a_server_that_wants_credentials_only_for_its_lists_needs_them_all_the_same() {
    let server = Server::start(|request: &Request| match request.method() {
        "tools/list" => status(401),
        _ => plain(request),
    })
    .await;
    let failure = Target::new(server.url()).open().await.err().unwrap();
    assert_eq!(failure.kind, FailureKind::NeedsAuth { challenge: None, header: None });
}

#[tokio::test]
async fn a_server_that_cannot_list_its_tools_yet_is_tried_again_and_not_live_without_them() {
    let server = Server::start(|request: &Request| match request.method() {
        "initialize" => initialized(request, None),
        "tools/list" => with_headers(503, "Retry-After: 2\r\n", ""),
        _ => plain(request),
    })
    .await;
    let failure = Target::new(server.url()).open().await.err().unwrap();
    assert_eq!(failure.kind, FailureKind::Unavailable { retry_after: Some(Duration::from_secs(2)) });
}

#[tokio::test]
async fn marks_of_arguments_count_where_every_message_stands_for_itself_and_nowhere_else() {
    for (initialize, offered) in [(400, vec!["right"]), (200, vec!["right", "wrong"])] {
        let server = Server::start(move |request: &Request| match request.method() {
            "initialize" if initialize == 200 => initialized(request, None),
            "initialize" => status(initialize),
            "server/discover" => {
                let result = json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}});
                json(200, &answer(request, result))
            }
            "tools/list" => {
                let schema = |mark: &str| {
                    json!({"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": mark}}})
                };
                let tools = json!([
                    {"name": "right", "inputSchema": schema("Region")},
                    {"name": "wrong", "inputSchema": schema("My Region")},
                ]);
                json(200, &answer(request, json!({ "tools": tools })))
            }
            _ => plain(request),
        })
        .await;
        let opened = Target::new(server.url()).open().await.unwrap();
        assert_eq!(opened.tools(), offered);
        let warnings = opened.lease.inventory.warnings.join("; ");
        assert_eq!(warnings.contains("wrong has an x-mcp-header of a"), initialize == 400, "{warnings}");
        assert_eq!(server.last("POST initialize").header("mcp-method"), Some("initialize"));
        let arguments = Some(json!({"a": "eu"}));
        opened.caller().call_tool("right".to_owned(), arguments, limits()).await.unwrap();
        let sent = server.last("POST tools/call");
        assert_eq!(sent.header("mcp-param-region"), (initialize == 400).then_some("eu"));
    }
}

#[tokio::test]
async fn who_knows_that_a_server_is_of_the_newer_era_never_asks_it_in_the_older_way() {
    let refused = |request: &Request, status, code, supported: Value| {
        let error = json!({"code": code, "message": "unsupported", "data": {"supported": supported}});
        json(status, &json!({"jsonrpc": "2.0", "id": request.message["id"], "error": error}))
    };
    for (supported, asked) in [(json!(["2026-07-28"]), 2), (json!(["2025-11-25"]), 1), (json!(null), 1)] {
        let server = Server::start({
            let supported = supported.clone();
            move |request: &Request| match (request.method(), request.nth) {
                ("server/discover", 1) => refused(request, 400, -32022, supported.clone()),
                _ => modern(request),
            }
        })
        .await;
        let opened = Target::new(server.url()).in_the_newer_era().open().await;
        assert_eq!(opened.is_ok(), asked == 2, "{supported}");
        if let Err(failure) = opened {
            assert_eq!(failure.kind, FailureKind::WrongEndpoint { status: Some(400) });
            assert!(failure.message.contains("refused server/discover: error -32022"), "{failure}");
            let speaks = failure.message.contains("speaks 2025-11-25, we speak 2026-07-28");
            assert_eq!(speaks, supported.is_array(), "{failure}");
        }
        assert_eq!(
            (server.times("POST initialize"), server.times("POST server/discover")),
            (0, asked),
            "{supported}"
        );
    }
}
