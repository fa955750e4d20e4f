//! Every fault a server behind a URL can have, injected by the fixture: the right state, the right words, nothing sent
//! where it must not go, nothing done twice, and nobody else affected.
#![expect(clippy::unwrap_used, reason = "a helper of a test fails it by panicking")]

use std::{
    process::Command,
    time::{Duration, Instant},
};

use qwen_tests::{BOUND, Mark, Remote, Sandbox, Watch, wait_until};
use rustix::process::Signal;
use serde_json::{Value, json};

/// One server that goes wrong.
struct Case {
    remote: Remote,
    entry: Value,
    state: &'static str,
    /// All of them must be in what is said about it.
    words: Vec<String>,
}

/// A case with these faults.
fn case(sandbox: &Sandbox, name: &str, flags: &[&str], state: &'static str, words: &[&str]) -> Case {
    let remote = Remote::start(sandbox, name, flags);
    let entry = remote.entry();
    Case { remote, entry, state, words: words.iter().map(|word| (*word).to_owned()).collect() }
}

fn failing(sandbox: &Sandbox, name: &str, answer: &str, words: &[&str]) -> Case {
    case(sandbox, name, &["--fault", "post:initialize", answer], "failed", words)
}

/// The same over legacy server-sent events.
fn sse(case: Case) -> Case {
    Case { entry: case.remote.sse_entry(), ..case }
}

fn with(mut case: Case, field: &str, value: Value) -> Case {
    case.entry[field] = value;
    case
}

/// Runs them beside a healthy local and a healthy remote server, and checks what is said of each.
fn check(sandbox: &Sandbox, mut command: Command, cases: &[Case]) -> Watch {
    let healthy = Remote::start(sandbox, "healthy", &[]);
    let mut servers = serde_json::Map::new();
    for case in cases {
        servers.insert(case.name(), case.entry.clone());
    }
    servers.insert("healthy".to_owned(), healthy.entry());
    servers.insert("local".to_owned(), sandbox.fake("local", &[]));
    sandbox.user_servers(&servers.into());
    command.args(["mcp", "watch", "--json"]);
    let watch = Watch::start(command, sandbox);
    for case in cases {
        let name = case.name();
        let update = watch.state_after(Mark::START, &name, case.state);
        let said = format!("{} {}", update["cause"], update["error"]);
        for word in &case.words {
            assert!(said.contains(word.as_str()), "{name}: {word} in {said}");
        }
        assert!(!said.contains("127.0.0.1") || !said.contains("?key"), "{name}: {said}");
    }
    watch.state("healthy", "connected");
    watch.state("local", "connected");
    assert_eq!((healthy.count("POST", "initialize"), sandbox.spawns("local")), (1, 1));
    watch
}

impl Case {
    fn name(&self) -> String {
        self.remote.name().to_owned()
    }
}

fn said_of(watch: &Watch, name: &str) -> String {
    watch.newest(name).unwrap()["error"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn each_answer_that_is_none_says_what_it_was_and_affects_nobody_else() {
    let sandbox = Sandbox::new();
    let elsewhere = Remote::start(&sandbox, "elsewhere", &[]);
    let across = format!("redirect 307 {}", elsewhere.url());
    let named = elsewhere.url().trim_end_matches("/mcp").to_owned();
    let foreign = elsewhere.at("/message?session=$ID");
    let challenge = r#"status 401 WWW-Authenticate: Bearer resource_metadata="https://auth.example/x""#;
    let fails = |name: &str, answer: &str, words: &[&str]| failing(&sandbox, name, answer, words);
    let cases = [
        case(&sandbox, "unauthorised", &["--fault", "post:initialize", challenge], "needs_auth", &["401"]),
        with(
            case(
                &sandbox,
                "wrong_token",
                &["--fault", "post:initialize", challenge],
                "needs_auth",
                &["401", "authorization"],
            ),
            "headers",
            json!({ "Authorization": "Bearer an-old-t0ken" }),
        ),
        fails("forbidden", "status 403", &["403"]),
        fails("not_found", "status 404", &["404"]),
        fails("not_allowed_there", "status 405", &["405"]),
        fails("too_many", "status 429 Retry-After: 7", &["429", "7 s"]),
        fails("broken_inside", "status 500", &["500"]),
        fails("unavailable", "status 503 Retry-After: 7", &["503", "7 s"]),
        fails("a_web_page", "body text/html <html>log in</html>", &["text/html", "MCP endpoint"]),
        fails("plain_text", "body text/plain hello", &["text/plain"]),
        fails("no_json", "body application/json {\"half", &["JSON"]),
        fails(
            "another_answer",
            r#"body application/json {"jsonrpc":"2.0","id":99,"result":{}}"#,
            &["no response"],
        ),
        fails("empty_body", "body application/json", &["empty"]),
        fails("accepted", "status 202", &["202"]),
        fails("ends_at_once", "stream", &["before the response"]),
        fails("only_comments", "stream : ping\\n\\n", &["before the response"]),
        fails("hangs_up", "close", &["127.0.0.1"]),
        fails("too_large", "flood application/json 17825792", &["16 MiB"]),
        fails("across", &across, &["another origin", &named]),
        fails("moved_301", "redirect 301 /moved/mcp", &["301", "/moved/mcp"]),
        fails("moved_302", "redirect 302 /moved/mcp", &["302", "/moved/mcp"]),
        fails("moved_303", "redirect 303 /moved/mcp", &["303", "/moved/mcp"]),
        fails("in_circles", "redirect 307 /mcp", &["more than 3"]),
        fails("to_a_file", "redirect 307 file:///etc/passwd", &["another origin"]),
        fails("to_nowhere", "status 307", &["Location"]),
        with(
            fails("hangs", "hang", &["no answer to initialize after 700 ms"]),
            "discoveryTimeoutMs",
            json!(700),
        ),
        sse(case(&sandbox, "sse_missing", &["--fault", "get", "status 404"], "failed", &["404"])),
        sse(case(&sandbox, "sse_unauthorised", &["--fault", "get", challenge], "needs_auth", &["401"])),
        sse(case(
            &sandbox,
            "sse_page",
            &["--fault", "get", "body text/html <html>"],
            "failed",
            &["text/html"],
        )),
        sse(case(
            &sandbox,
            "sse_json",
            &["--fault", "get", "body application/json {}"],
            "failed",
            &["event stream"],
        )),
        sse(case(
            &sandbox,
            "sse_ends",
            &["--fault", "get", "stream"],
            "failed",
            &["before it named its endpoint"],
        )),
        sse(case(&sandbox, "sse_foreign", &["--endpoint", &foreign], "failed", &["another origin", &named])),
        sse(case(
            &sandbox,
            "sse_across",
            &["--fault", "get", &across],
            "failed",
            &["another origin", &named],
        )),
        sse(case(&sandbox, "sse_refuses", &["--fault", "post:initialize", "status 500"], "failed", &["500"])),
    ];
    let watch = check(&sandbox, sandbox.command::<&str>([]), &cases);
    assert_eq!(elsewhere.seen(), Vec::<Value>::new(), "nothing is sent to another origin");
    for case in cases.iter().filter(|case| case.state == "needs_auth") {
        assert_eq!(
            case.remote.count("POST", "initialize") + case.remote.count("GET", ""),
            1,
            "{}",
            case.name()
        );
    }
    watch.finish();
}

#[test]
fn what_cannot_be_reached_says_why() {
    let sandbox = Sandbox::new();
    let mut refused = failing(&sandbox, "refused", "close", &["refused"]);
    refused.remote.kill();
    let untrusted = Remote::start_with_tls(&sandbox, "untrusted", &[]);
    let plain = Remote::start(&sandbox, "plain", &[]);
    let of = |remote: Remote, entry: Value, words: &[&str]| Case {
        remote,
        entry,
        state: "failed",
        words: words.iter().map(|word| (*word).to_owned()).collect(),
    };
    let nowhere = Remote::start(&sandbox, "nowhere", &[]);
    let https = plain.url().replace("http://", "https://");
    let url = untrusted.url().to_owned();
    let cases = [
        refused,
        of(untrusted, json!({ "httpUrl": url }), &["certificate", "NODE_EXTRA_CA_CERTS"]),
        of(plain, json!({ "httpUrl": https }), &["TLS"]),
        of(
            nowhere,
            json!({ "httpUrl": "http://no-such-host.invalid/mcp?key=v4lue" }),
            &["no-such-host.invalid", "resolved"],
        ),
    ];
    check(&sandbox, sandbox.command::<&str>([]), &cases).finish();
}

#[test]
fn a_private_authority_is_trusted_where_a_variable_names_it() {
    for variable in ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"] {
        let sandbox = Sandbox::new();
        let remote = Remote::start_with_tls(&sandbox, "private", &[]);
        sandbox.user_servers(&json!({ "private": remote.entry() }));
        let mut command = sandbox.command(["mcp", "watch", "--json"]);
        command.env(variable, Remote::authority());
        let watch = Watch::start(command, &sandbox);
        watch.state("private", "connected");
        assert_eq!(remote.count("POST", "initialize"), 1, "{variable}");
    }
}

#[test]
fn a_proxy_is_used_where_a_variable_names_it_but_for_the_exceptions() {
    let sandbox = Sandbox::new();
    let proxy = Remote::start(&sandbox, "proxy", &["--proxy"]);
    let secure = Remote::start_with_tls(&sandbox, "secure", &[]);
    let plain = Remote::start(&sandbox, "plain", &[]);
    let through = proxy.at("");
    sandbox.user_servers(&json!({ "secure": secure.entry(), "plain": plain.entry() }));
    let tunnels = |method: &str| {
        sandbox.logged("proxy", "proxied").iter().filter(|line| line["method"] == method).count()
    };
    for (variables, expected) in [
        (vec![("HTTPS_PROXY", through.as_str())], (true, false)),
        (vec![("https_proxy", &through)], (true, false)),
        (vec![("http_proxy", &through)], (false, true)),
        (vec![("HTTP_PROXY", &through), ("HTTPS_PROXY", &through)], (true, true)),
        (vec![("HTTPS_PROXY", &through), ("NO_PROXY", "127.0.0.1")], (false, false)),
        (vec![("https_proxy", &through), ("no_proxy", "example.com,127.0.0.1")], (false, false)),
    ] {
        let before = (tunnels("CONNECT"), tunnels("POST"));
        let mut command = sandbox.command(["mcp", "watch", "--json"]);
        command.env("NODE_EXTRA_CA_CERTS", Remote::authority()).envs(variables.iter().copied());
        let watch = Watch::start(command, &sandbox);
        watch.state("secure", "connected");
        watch.state("plain", "connected");
        watch.finish();
        let used = (tunnels("CONNECT") > before.0, tunnels("POST") > before.1);
        assert_eq!(used, expected, "{variables:?}");
    }
}

#[test]
fn a_stream_that_is_refused_ends_or_is_none_costs_the_connection_nothing_and_is_no_storm() {
    let sandbox = Sandbox::new();
    let answers = [
        ("get_400", "status 400", true),
        ("get_404", "status 404", true),
        ("get_405", "status 405", true),
        ("get_406", "status 406", true),
        ("get_json", "body application/json {}", true),
        ("get_ends", "stream", false),
        ("get_waits", "stream retry: 60000\\n\\n", true),
    ];
    let remotes: Vec<(&str, Remote, bool)> = answers
        .iter()
        .map(|(name, answer, once)| {
            (*name, Remote::start(&sandbox, name, &["--fault", "get", answer]), *once)
        })
        .collect();
    let servers: serde_json::Map<String, Value> =
        remotes.iter().map(|(name, remote, _)| ((*name).to_owned(), remote.entry())).collect();
    sandbox.user_servers(&servers.into());
    let watch = sandbox.watch();
    for (name, ..) in &remotes {
        watch.state(name, "connected");
    }
    let ends = &remotes.iter().find(|(name, ..)| *name == "get_ends").unwrap().1;
    let gets =
        |count: usize| wait_until(BOUND, "a GET", || (ends.count("GET", "") >= count).then(Instant::now));
    let (first, third) = (gets(1), gets(3));
    assert!(third - first >= Duration::from_millis(1500), "{:?} for three", third - first);
    for (name, remote, once) in &remotes {
        let count = remote.count("GET", "");
        assert!(if *once { count == 1 } else { count <= 5 }, "{name}: {count} GETs");
        assert_eq!(watch.newest(name).unwrap()["state"], "connected");
        assert_eq!(remote.count("POST", "initialize"), 1, "{name}");
    }
}

#[test]
fn a_redirect_within_the_origin_is_followed_with_the_message_and_its_headers() {
    for code in ["307", "308"] {
        let sandbox = Sandbox::new();
        let remote = Remote::start(
            &sandbox,
            "moved",
            &["--fault", "any@/mcp", &format!("redirect {code} /moved/mcp")],
        );
        sandbox.user_servers(
            &json!({ "moved": { "httpUrl": remote.url(), "headers": { "X-Token": "t0ken-value" } } }),
        );
        let call = sandbox.run(["mcp", "call", "moved", "echo", r#"{"text":"hi"}"#]).ended_with(0);
        assert_eq!(call.stdout, "hi\n");
        assert!(remote.seen().iter().all(|seen| seen["headers"]["x-token"] == "t0ken-value"));
        assert_eq!(sandbox.logged("moved", "call").len(), 1);
    }
}

#[test]
fn a_retry_waits_as_long_as_the_server_asks() {
    let sandbox = Sandbox::new();
    let remote =
        Remote::start(&sandbox, "busy", &["--fault", "post:initialize*1", "status 429 Retry-After: 3"]);
    sandbox.user_servers(&json!({ "busy": remote.entry() }));
    let watch = sandbox.watch();
    watch.state_after(Mark::START, "busy", "failed");
    let since = Instant::now();
    watch.state("busy", "connected");
    assert!(since.elapsed() >= Duration::from_millis(2500), "{:?}", since.elapsed());
    assert_eq!(remote.count("POST", "initialize"), 2);
}

#[test]
fn a_lost_session_is_opened_once_more_and_what_was_asked_is_done_once() {
    let sandbox = Sandbox::new();
    let remote = Remote::start(&sandbox, "far", &["--tool", "count", "--tool", "echo"]);
    sandbox.user_servers(&json!({ "far": remote.entry() }));
    let mut watch = sandbox.watch();
    watch.state("far", "connected");
    let mark = watch.quiet();
    remote.order("forget");
    // The stream for notices ended with the session: opening it again finds out.
    wait_until(BOUND, "a new session", || (remote.count("POST", "initialize") == 2).then_some(()));
    watch.nothing_more_since(mark);
    assert_eq!(watch.newest("far").unwrap()["state"], "connected");
    let told = watch.named_since(mark, "mcp-client-update");
    assert!(told.iter().all(|update| update["state"] == "connected"), "{told:?}");
}

#[test]
fn a_server_that_stops_without_a_word_costs_only_the_calls_that_it_was_asked() {
    let sandbox = Sandbox::new();
    let stopped = Remote::start(&sandbox, "stopped", &[]);
    let good = Remote::start(&sandbox, "good", &[]);
    let mut entry = stopped.entry();
    entry["discoveryTimeoutMs"] = json!(1000);
    sandbox.user_servers(&json!({ "stopped": entry, "good": good.entry() }));
    let watch = sandbox.watch();
    watch.state("stopped", "connected");
    stopped.signal(Signal::STOP);
    let call = sandbox.run(["mcp", "call", "stopped", "echo", "{}", "--json"]).ended_with(3);
    assert!(call.json()["error"]["message"].as_str().unwrap().contains("1000 ms"), "{call:#?}");
    sandbox.run(["mcp", "call", "good", "echo", "{}"]).ended_with(0);
    assert_eq!(watch.newest("good").unwrap()["state"], "connected");
    stopped.signal(Signal::CONT);
    sandbox.run(["mcp", "call", "stopped", "echo", "{}"]).ended_with(0);
}

#[test]
fn a_server_behind_a_half_open_socket_fails_in_time_and_is_back_by_itself() {
    let sandbox = Sandbox::new();
    let [http, sse, good] = ["http", "sse", "good"].map(|name| Remote::start(&sandbox, name, &[]));
    // The sockets stay open and are accepted by the system; nobody reads what is sent.
    http.signal(Signal::STOP);
    sse.signal(Signal::STOP);
    let (mut over_http, mut over_sse) = (http.entry(), sse.sse_entry());
    over_http["discoveryTimeoutMs"] = json!(700);
    over_sse["discoveryTimeoutMs"] = json!(700);
    sandbox.user_servers(&json!({ "http": over_http, "sse": over_sse, "good": good.entry() }));
    let watch = sandbox.watch();
    watch.state("good", "connected");
    for name in ["http", "sse"] {
        let failed = watch.state_after(Mark::START, name, "failed");
        assert_eq!(failed["error"], "no answer to initialize after 700 ms", "{failed}");
    }
    let list = sandbox.run(["mcp", "list", "--json"]).ended_with(0);
    for name in ["http", "sse"] {
        let step = list.row(name)["nextStep"].as_str().unwrap().to_owned();
        assert!(step.contains("discoveryTimeoutMs"), "{step}");
    }
    let mark = watch.mark();
    http.signal(Signal::CONT);
    sse.signal(Signal::CONT);
    for name in ["http", "sse"] {
        watch.state_after(mark, name, "connected");
    }
    assert_eq!(good.count("POST", "initialize"), 2, "once for the session and once for the list");
}

#[test]
fn a_call_that_the_server_refuses_says_how_and_the_next_one_works() {
    let sandbox = Sandbox::new();
    let faults = ["status 500", "status 429", "status 202", "body text/html <html>", "close", "stream"];
    for (n, fault) in faults.iter().enumerate() {
        let name = format!("far_{n}");
        let remote = Remote::start(&sandbox, &name, &["--fault", "post:tools/call*1", fault]);
        sandbox.user_servers(&json!({ &name: remote.entry() }));
        let failed = sandbox.run(["mcp", "call", &name, "echo", "{}", "--json"]);
        assert!(matches!(failed.code, Some(1 | 3)), "{fault}: {failed:#?}");
        assert!(failed.json()["error"]["message"].is_string(), "{fault}: {failed:#?}");
        assert_eq!(remote.count("POST", "tools/call"), 1, "{fault}: a call is never sent twice");
        sandbox.run(["mcp", "call", &name, "echo", "{}"]).ended_with(0);
        assert_eq!(sandbox.logged(&name, "call").len(), 1, "{fault}");
    }
}

#[test]
fn an_sse_stream_that_ends_is_a_lost_connection_and_is_opened_again_by_itself() {
    let sandbox = Sandbox::new();
    let remote = Remote::start(&sandbox, "old", &[]);
    sandbox.user_servers(&json!({ "old": remote.sse_entry() }));
    let watch = sandbox.watch();
    watch.state("old", "connected");
    let mark = watch.mark();
    remote.order("end-streams");
    let failed = watch.state_after(mark, "old", "failed");
    assert!(failed["error"].as_str().unwrap().contains("ended the event stream"), "{failed}");
    let mark = watch.mark();
    let again = watch.state_after(mark, "old", "connected");
    assert_eq!(again["tools"], 1);
    assert_eq!(said_of(&watch, "old"), "");
}
