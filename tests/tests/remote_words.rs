//! What somebody reads about a remote server that is not there, in commands that end: the cause blames whoever is to
//! blame, and the next step is one that helps.
#![expect(clippy::expect_used, reason = "a helper of a test fails it by panicking")]

use qwen_tests::{Remote, Sandbox};
use serde_json::{Value, json};

/// One server, and what must be said of it.
struct Said<'a> {
    name: &'a str,
    entry: Value,
    /// All of them in the error.
    error: &'a [&'a str],
    /// All of them in the next step.
    step: &'a [&'a str],
}

/// Lists these servers once, with these variables.
fn check(sandbox: &Sandbox, variables: &[(&str, &str)], servers: &[Said<'_>]) {
    let entries = servers.iter().map(|said| (said.name.to_owned(), said.entry.clone()));
    sandbox.user_servers(&entries.collect::<serde_json::Map<_, _>>().into());
    let mut command = sandbox.command(["mcp", "list", "--json"]);
    command.envs(variables.iter().copied());
    let output = command.output().expect("the program runs");
    let document: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    for said in servers {
        let rows = document["servers"].as_array().expect("it lists servers");
        let row = rows.iter().find(|row| row["name"] == said.name).expect("it lists this one");
        for (text, words) in [(row["error"].as_str(), said.error), (row["nextStep"].as_str(), said.step)] {
            let text = text.unwrap_or_default();
            assert!(words.iter().all(|word| text.contains(word)), "{}: {words:?} in {text:?}", said.name);
        }
        let text = row.to_string();
        assert!(!text.contains("s3cret"), "{text}");
    }
}

#[test]
fn each_fault_of_a_certificate_is_mended_in_its_own_way() {
    let sandbox = Sandbox::new();
    let unknown = Remote::start_with_tls(&sandbox, "unknown", &[]);
    let plain = Remote::start(&sandbox, "plain", &[]);
    let expired = Remote::start_with_certificate(&sandbox, "expired", "expired", &[]);
    let elsewhere = Remote::start_with_certificate(&sandbox, "elsewhere", "elsewhere", &[]);
    let file = sandbox.user();
    let file = file.to_string_lossy();
    let untrusted = Said {
        name: "unknown",
        entry: unknown.entry(),
        error: &["not trusted: nobody here knows who issued it"],
        step: &["NODE_EXTRA_CA_CERTS or SSL_CERT_FILE"],
    };
    check(&sandbox, &[], &[untrusted]);
    let authority = Remote::authority();
    let trusting = [("NODE_EXTRA_CA_CERTS", authority.to_str().unwrap_or_default())];
    let servers = [
        Said {
            name: "expired",
            entry: expired.entry(),
            error: &["not trusted: it has expired"],
            step: &["have its certificate renewed"],
        },
        Said {
            name: "elsewhere",
            entry: elsewhere.entry(),
            error: &["not trusted: it is for another host"],
            step: &["write the host that its certificate is for", &file],
        },
        Said {
            name: "plain",
            entry: json!({ "httpUrl": plain.url().replace("http://", "https://") }),
            error: &["does not speak TLS"],
            step: &["write http:// in its URL in", &file],
        },
    ];
    check(&sandbox, &trusting, &servers);
}

#[test]
fn a_proxy_in_the_way_is_blamed_by_its_own_address_and_without_its_credentials() {
    let sandbox = Sandbox::new();
    let refuses = Remote::start(&sandbox, "refuses", &["--proxy-refuses", "403"]);
    let wants = Remote::start(&sandbox, "wants", &["--proxy-refuses", "407"]);
    let mut dead = Remote::start(&sandbox, "dead", &["--proxy"]);
    dead.kill();
    let secure = Remote::start_with_tls(&sandbox, "secure", &[]);
    let plain = Remote::start(&sandbox, "plain", &[]);
    for (proxy, of_secure, of_plain) in [
        (&refuses, "does not let us through to https://127.0.0.1", "before it, answered 403"),
        (&wants, "wants credentials", "wants credentials"),
        (&dead, "refused; is it running?", "refused; is it running?"),
    ] {
        let address = proxy.authority_part();
        let with_credentials = format!("http://me:s3cret-s3cret@{address}");
        let blamed = format!("the proxy http://{address} (of HTTP");
        let variables = [("HTTPS_PROXY", with_credentials.as_str()), ("HTTP_PROXY", &with_credentials)];
        let forbidden = of_plain.contains("403");
        let servers = [
            Said {
                name: "secure",
                entry: secure.entry(),
                error: &[&blamed, of_secure],
                step: &["check the proxy, or mend HTTPS_PROXY or NO_PROXY and start again"],
            },
            Said {
                name: "plain",
                entry: plain.entry(),
                error: &[&blamed, of_plain],
                step: if forbidden { &[] } else { &["mend HTTP_PROXY or NO_PROXY and start again"] },
            },
        ];
        check(&sandbox, &variables, &servers);
    }
    assert_eq!((secure.seen(), plain.seen()), (Vec::new(), Vec::new()));
}

#[test]
fn what_may_pass_is_said_to_and_nobody_is_sent_to_mend_a_file() {
    let sandbox = Sandbox::new();
    let faulty =
        |name: &str, answer: &str| Remote::start(&sandbox, name, &["--fault", "post:initialize", answer]);
    let (busy, broken) = (faulty("busy", "status 429 Retry-After: 7"), faulty("broken", "status 502"));
    let mut refused = Remote::start(&sandbox, "refused", &[]);
    refused.kill();
    let pass = "it may pass: try again in";
    let servers = [
        Said {
            name: "busy",
            entry: busy.entry(),
            error: &["429 Too Many Requests", "asks to wait 7 s"],
            step: &["it may pass: try again in 7 s"],
        },
        Said { name: "broken", entry: broken.entry(), error: &["502 Bad Gateway"], step: &[pass] },
        Said { name: "refused", entry: refused.entry(), error: &["refused"], step: &[pass, "check its URL"] },
        Said {
            name: "unnamed",
            entry: json!({ "httpUrl": "http://no-such-host.invalid/mcp" }),
            error: &["cannot be resolved"],
            step: &[pass, "check its URL"],
        },
    ];
    check(&sandbox, &[], &servers);
    for (name, words) in [("busy", "in 7 s"), ("broken", "in a minute"), ("refused", "in a minute")] {
        for args in [vec!["mcp", "call", name, "echo", "{}", "--json"], vec!["mcp", "tools", name]] {
            let ran = sandbox.run(&args).ended_with(3);
            let said = format!("{}{}", ran.stdout, ran.stderr).replace('\n', " ");
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(said.contains(&format!("it may pass: try again {words}")), "{args:?}: {said}");
            assert!(!said.contains("mend"), "{args:?}: {said}");
        }
    }
}

#[test]
fn an_entry_of_the_wrong_transport_is_told_the_right_one() {
    let sandbox = Sandbox::new();
    let modern = Remote::start(&sandbox, "modern", &[]);
    let legacy = Remote::start(&sandbox, "legacy", &["--legacy"]);
    let servers = [
        Said {
            name: "modern",
            entry: json!({ "url": modern.url() }),
            error: &["400 Bad Request"],
            step: &["if it speaks streamable HTTP, write httpUrl in place of url, or type: http there"],
        },
        Said {
            name: "legacy",
            entry: json!({ "httpUrl": legacy.at("/sse") }),
            error: &["405 Method Not Allowed"],
            step: &["if it speaks only SSE, write url with type: sse in place of httpUrl there"],
        },
    ];
    check(&sandbox, &[], &servers);
    // What is named works.
    sandbox.user_servers(&json!({
        "modern": { "httpUrl": modern.url() },
        "legacy": { "url": legacy.at("/sse"), "type": "sse" },
    }));
    sandbox.run(["mcp", "list", "--check"]).ended_with(0);
}

#[test]
fn a_header_that_is_refused_or_cannot_be_sent_is_named_with_its_line() {
    let sandbox = Sandbox::new();
    let remote = Remote::start(&sandbox, "far", &["--fault", "post:initialize", "status 401"]);
    let text = r#"{
      "mcpServers": {
        "far": {
          "httpUrl": "URL",
          "headers": {
            "X-Team": "a",
            "Authorization": "Bearer s3cret-s3cret"
          }
        },
        "odd": {
          "httpUrl": "URL",
          "headers": { "X-Odd": "a\u0001" }
        }
      }
    }"#;
    let file = sandbox.user();
    sandbox.write(&file, &Value::Null);
    std::fs::write(&file, text.replace("URL", remote.url())).expect("the file can be written");
    let list = sandbox.run(["mcp", "list", "--json"]).ended_with(0);
    let step = |name: &str| list.row(name)["nextStep"].as_str().unwrap_or_default().to_owned();
    assert_eq!(step("far"), format!("replace the header Authorization in {}:7", file.display()));
    assert_eq!(step("odd"), format!("replace the header X-Odd in {}:12", file.display()));
    assert_eq!(list.state("odd"), "invalid");
    assert!(!list.stdout.contains("s3cret"), "{}", list.stdout);
}
