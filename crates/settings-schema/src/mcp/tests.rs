//! Every spelling of an entry, and what it means.

use serde_json::{Value, json};

use super::*;
use crate::{
    finding::{Code, Severity},
    scope::Dialect::{self, McpJson, Settings},
};

/// An entry's transport in a word or two, or the reason why it has none.
fn told(entry: &Value, dialect: Dialect) -> String {
    match parse_entry(entry, dialect).server {
        Ok(WrittenServer { transport: WrittenTransport::Stdio(stdio), .. }) => {
            format!("stdio {}", stdio.command)
        }
        Ok(WrittenServer { transport: WrittenTransport::Remote(remote), .. }) => {
            let beside = remote.unused_url.map_or_else(String::new, |url| format!(" beside {}", url.text));
            format!("{:?} {}={}{beside}", remote.protocol, remote.url.field, remote.url.text)
        }
        Err(invalid) => invalid.to_string(),
    }
}

#[test]
fn each_way_to_name_a_server_means_one_transport() {
    for (entry, in_settings, in_mcp_json) in [
        (json!({"command": "srv"}), "stdio srv", "stdio srv"),
        (json!({"command": "srv", "type": "STDIO"}), "stdio srv", "stdio srv"),
        (json!({"url": "u"}), "Sse url=u", "HttpOrSse url=u"),
        (json!({"serverUrl": "u"}), "Sse serverUrl=u", "HttpOrSse serverUrl=u"),
        (json!({"url": "u", "serverUrl": "u"}), "Sse url=u", "HttpOrSse url=u"),
        (json!({"httpUrl": "h"}), "Http httpUrl=h", "Http httpUrl=h"),
        (json!({"httpUrl": "h", "url": "u"}), "Http httpUrl=h beside u", "Http httpUrl=h beside u"),
        (
            json!({"httpUrl": "h", "url": "u", "type": "http"}),
            "Http httpUrl=h beside u",
            "Http httpUrl=h beside u",
        ),
        (json!({"type": "http", "url": "u"}), "Http url=u", "Http url=u"),
        (json!({"type": "streamable-http", "url": "u"}), "Http url=u", "Http url=u"),
        (json!({"type": "streamableHttp", "url": "u"}), "Http url=u", "Http url=u"),
        (json!({"type": "streamable_http", "url": "u"}), "Http url=u", "Http url=u"),
        (json!({"type": "Streamable-HTTP", "url": "u"}), "Http url=u", "Http url=u"),
        (json!({"type": "HTTP", "httpUrl": "h"}), "Http httpUrl=h", "Http httpUrl=h"),
        (json!({"type": "sse", "url": "u"}), "Sse url=u", "Sse url=u"),
        (json!({"type": "SSE", "serverUrl": "u"}), "Sse serverUrl=u", "Sse serverUrl=u"),
    ] {
        assert_eq!(told(&entry, Settings), in_settings, "{entry}");
        assert_eq!(told(&entry, McpJson), in_mcp_json, "{entry}");
    }
}

#[test]
fn an_entry_that_does_not_say_what_to_run_is_invalid_with_its_reason() {
    for (entry, why) in [
        (json!(null), "expected an object, found null"),
        (json!("npx srv"), "expected an object, found a string"),
        (json!([]), "expected an object, found a list"),
        (json!({}), "it names neither `command` nor `httpUrl` nor `url`"),
        (json!({"args": ["x"]}), "it names neither `command` nor `httpUrl` nor `url`"),
        (json!({"type": "stdio"}), "`type` says stdio but `command` is missing"),
        (json!({"type": "http"}), "`type` says http but `httpUrl` is missing"),
        (json!({"type": "sse"}), "`type` says sse but `url` is missing"),
        (json!({"command": "c", "url": "u"}), "`url`: `command` and `url` cannot stand together"),
        (json!({"command": "c", "httpUrl": "u"}), "`httpUrl`: `command` and `httpUrl` cannot stand together"),
        (
            json!({"command": "c", "serverUrl": "u"}),
            "`serverUrl`: `command` and `serverUrl` cannot stand together",
        ),
        (
            json!({"command": "c", "httpUrl": "h", "url": "u"}),
            "`httpUrl`: `command` and `httpUrl` cannot stand together",
        ),
        (json!({"type": "http", "command": "c"}), "`type`: `type` says http, which `command` contradicts"),
        (json!({"type": "sse", "command": "c"}), "`type`: `type` says sse, which `command` contradicts"),
        (json!({"type": "stdio", "url": "u"}), "`type`: `type` says stdio, which `url` contradicts"),
        (json!({"type": "stdio", "httpUrl": "u"}), "`type`: `type` says stdio, which `httpUrl` contradicts"),
        (json!({"type": "sse", "httpUrl": "u"}), "`type`: `type` says sse, which `httpUrl` contradicts"),
        (json!({"type": "htp", "url": "u"}), "`type`: expected one of `stdio`, `http`, `sse`"),
        (json!({"type": "ws", "url": "u"}), "`type`: expected one of `stdio`, `http`, `sse`"),
        (json!({"type": "local", "command": "c"}), "`type`: expected one of `stdio`, `http`, `sse`"),
        (json!({"type": " http", "url": "u"}), "`type`: expected one of `stdio`, `http`, `sse`"),
        (json!({"type": null, "url": "u"}), "`type`: expected a string, found null"),
        (json!({"tcp": "localhost:1"}), "`tcp`: TCP and WebSocket servers are not supported"),
        (json!({"tcp": "x", "command": "c"}), "`tcp`: TCP and WebSocket servers are not supported"),
        (json!({"url": "u", "serverUrl": "v"}), "`serverUrl`: `serverUrl` means `url`, and the two differ"),
        (json!({"command": ""}), "`command`: it is empty"),
        (json!({"command": "a\0b"}), "`command`: it holds a NUL byte"),
        (json!({"url": "  "}), "`url`: it is empty"),
        (json!({"command": 5}), "`command`: expected a string, found a number"),
        (json!({"url": null}), "`url`: expected a string, found null"),
        (json!({"command": "c", "args": "x"}), "`args`: expected a list of strings, found a string"),
        (json!({"command": "c", "args": null}), "`args`: expected a list of strings, found null"),
        (json!({"command": "c", "args": ["x", 5]}), "`args.1`: expected a string, found a number"),
        (json!({"command": "c", "args": ["x", "a\0"]}), "`args.1`: it holds a NUL byte"),
        (json!({"command": "c", "env": ["A=1"]}), "`env`: expected an object, found a list"),
        (json!({"command": "c", "env": {"A": 1}}), "`env.A`: expected a string, found a number"),
        (json!({"command": "c", "env": {"A": null}}), "`env.A`: expected a string, found null"),
        (json!({"command": "c", "env": {"A=B": ""}}), r#"`env."A=B"`: no variable can have this name"#),
        (json!({"command": "c", "env": {"": ""}}), r#"`env.""`: no variable can have this name"#),
        (json!({"url": "u", "headers": {"A": true}}), "`headers.A`: expected a string, found a boolean"),
        (
            json!({"url": "u", "headers": {"A": "x\r\nB: y"}}),
            "`headers.A`: it holds a line break or a control character",
        ),
        (json!({"url": "u", "headers": {"A\n": "x"}}), r#"`headers."A\n"`: no header can have this name"#),
        (
            json!({"url": "u", "headers": {"A": "x", "a": "y"}}),
            "`headers.a`: another header has this name in other letter case",
        ),
        (json!({"command": "c", "disabled": "true"}), "`disabled`: expected a boolean, found a string"),
        (json!({"command": "c", "enabled": "false"}), "`enabled`: expected a boolean, found a string"),
        (json!({"command": "c", "enabled": null}), "`enabled`: expected a boolean, found null"),
        (json!({"command": "c", "trust": "false"}), "`trust`: expected a boolean, found a string"),
        (json!({"command": "c", "trust": 1}), "`trust`: expected a boolean, found a number"),
        (json!({"command": "c", "inheritEnv": "no"}), "`inheritEnv`: expected a boolean, found a string"),
        (
            json!({"command": "c", "alwaysLoadTools": []}),
            "`alwaysLoadTools`: expected a boolean, found a list",
        ),
        (
            json!({"command": "c", "includeTools": "x"}),
            "`includeTools`: expected a list of strings, found a string",
        ),
        (json!({"command": "c", "excludeTools": [null]}), "`excludeTools.0`: expected a string, found null"),
        (json!({"command": "c", "description": 5}), "`description`: expected a string, found a number"),
        (json!({"command": "c", "timeout": "5"}), "`timeout`: expected a whole number, found a string"),
        (json!({"command": "c", "timeout": 1.5}), "`timeout`: expected a whole number, found a fraction"),
        (json!({"command": "c", "timeout": null}), "`timeout`: expected a whole number, found null"),
        (
            json!({"command": "c", "timeout": 9_007_199_254_740_993_i64}),
            "`timeout`: a number beyond ±2^53, which programs do not read alike",
        ),
        (
            json!({"command": "c", "own": {"deep": [1e300]}}),
            "`own.deep.0`: a number beyond ±2^53, which programs do not read alike",
        ),
        (json!({"command": "c", "pool": "own"}), "`pool`: expected one of `session`, `shared`"),
        (json!({"command": "c", "pool": "Shared"}), "`pool`: expected one of `session`, `shared`"),
        (
            json!({"command": "c", "versionNegotiation": "new"}),
            "`versionNegotiation`: expected one of `auto`, `legacy`",
        ),
        (json!({"url": "u", "oauth": true}), "`oauth`: expected an object, found a boolean"),
        (json!({"url": "u", "oauth": {"enabled": 1}}), "`oauth.enabled`: expected a boolean, found a number"),
        (
            json!({"url": "u", "oauth": {"scopes": "a b"}}),
            "`oauth.scopes`: expected a list of strings, found a string",
        ),
        (
            json!({"url": "u", "authProviderType": {}}),
            "`authProviderType`: expected a string, found an object",
        ),
    ] {
        let parsed = parse_entry(&entry, Settings);
        assert_eq!(parsed.server.unwrap_err().to_string(), why, "{entry}");
        assert_eq!(parsed.switch, Switch::On, "{entry}");
        assert!(parsed.findings.iter().any(|finding| finding.severity == Severity::Error), "{entry}");
    }
}

#[test]
fn no_message_repeats_a_value() {
    let secret = "sk-0123456789";
    for entry in [
        json!({"type": secret, "url": secret, "serverUrl": secret.to_owned() + "x", "httpUrl": 1}),
        json!({"command": secret, "url": secret, "args": [secret, 1], "env": {"A": secret, "B": [secret]}}),
        json!({"url": secret, "headers": {"A": secret.to_owned() + "\n"}, "pool": secret, "unknown": secret}),
        json!(secret),
    ] {
        for finding in parse_entry(&entry, Settings).findings {
            assert!(!format!("{finding:?}").contains(secret), "{finding:?}");
        }
    }
}

#[test]
fn an_entry_is_off_when_either_switch_says_so_whatever_else_is_wrong() {
    for (entry, switch) in [
        (json!({"command": "c"}), Switch::On),
        (json!({"command": "c", "disabled": true}), Switch::Off),
        (json!({"command": "c", "enabled": false}), Switch::Off),
        (json!({"command": "c", "disabled": true, "enabled": true}), Switch::Off),
        (json!({"command": "c", "disabled": false, "enabled": false}), Switch::Off),
        (json!({"command": "c", "disabled": false, "enabled": true}), Switch::On),
        (json!({"disabled": true, "url": "not a url", "command": 5}), Switch::Off),
        (json!({"disabled": true, "enabled": "yes"}), Switch::Off),
        (json!({"disabled": true}), Switch::Off),
    ] {
        let parsed = parse_entry(&entry, McpJson);
        assert_eq!(parsed.switch, switch, "{entry}");
        match switch {
            Switch::Off => assert!(
                parsed.findings.iter().all(|finding| finding.severity == Severity::Warning),
                "{entry}: what is switched off breaks nothing"
            ),
            Switch::On => assert_eq!(parsed.findings, [], "{entry}"),
        }
    }
}

#[test]
fn every_part_of_a_full_entry_is_read() {
    let entry = json!({
        "type": "stdio", "command": "npx", "args": ["-y", "x"], "env": {"A": "${A}"}, "cwd": "~/x",
        "inheritEnv": false, "versionNegotiation": "legacy", "pool": "shared", "timeout": 5000,
        "discoveryTimeoutMs": 2000.0, "trust": true, "includeTools": [], "excludeTools": ["b"],
        "alwaysLoadTools": true, "description": "d", "enabled": true,
    });
    let parsed = parse_entry(&entry, Settings);
    assert_eq!(parsed.findings, []);
    assert_eq!(
        parsed.server.unwrap(),
        WrittenServer {
            transport: WrittenTransport::Stdio(WrittenStdio {
                command: "npx".to_owned(),
                args: vec!["-y".to_owned(), "x".to_owned()],
                env: BTreeMap::from([("A".to_owned(), "${A}".to_owned())]),
                cwd: Some("~/x".to_owned()),
            }),
            view: WrittenView {
                include_tools: Some(vec![]),
                exclude_tools: vec!["b".to_owned()],
                always_load_tools: true,
                trust: true,
                description: Some("d".to_owned()),
                timeout_ms: 5000,
                discovery_timeout_ms: 2000,
            },
            version_negotiation: VersionNegotiation::Legacy,
            pool: PoolMode::Shared,
            inherit_env: Some(InheritEnv::Restricted),
        }
    );
}

#[test]
fn what_an_entry_leaves_out_has_its_default() {
    for (entry, discovery_timeout_ms) in [(json!({"command": "c"}), 30_000), (json!({"url": "u"}), 5_000)] {
        let server = parse_entry(&entry, Settings).server.unwrap();
        assert_eq!(
            server.view,
            WrittenView {
                include_tools: None,
                exclude_tools: vec![],
                always_load_tools: false,
                trust: false,
                description: None,
                timeout_ms: 600_000,
                discovery_timeout_ms,
            }
        );
        assert_eq!((server.version_negotiation, server.pool), (VersionNegotiation::Auto, PoolMode::Session));
        assert_eq!(server.inherit_env, None);
    }
}

#[test]
fn every_part_of_a_remote_entry_is_read_and_oauth_counts_only_when_enabled() {
    let oauth = json!({
        "enabled": true, "clientId": "id", "scopes": ["b", "a"], "audiences": ["x"], "ownField": "kept", "own": 1,
    });
    let entry = json!({
        "httpUrl": "https://h", "headers": {"X-Key": "k"}, "oauth": oauth, "authProviderType": "p",
        "targetAudience": "t", "targetServiceAccount": "s",
    });
    let parsed = parse_entry(&entry, Settings);
    let WrittenTransport::Remote(remote) = parsed.server.unwrap().transport else { panic!("a remote entry") };
    let texts = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    };
    assert_eq!(remote.headers, texts(&[("X-Key", "k")]));
    assert_eq!(
        remote.auth_provider,
        texts(&[("authProviderType", "p"), ("targetAudience", "t"), ("targetServiceAccount", "s")])
    );
    let expected = WrittenOAuth {
        fields: texts(&[("clientId", "id"), ("ownField", "kept")]),
        scopes: vec!["b".to_owned(), "a".to_owned()],
        audiences: vec!["x".to_owned()],
    };
    assert_eq!(remote.oauth, Some(expected));
    assert_eq!(parsed.findings.iter().filter(|finding| finding.code == Code::UnknownKey).count(), 2);

    for oauth in [json!({}), json!({"enabled": false, "clientId": "id"}), json!({"clientId": "id"})] {
        let parsed = parse_entry(&json!({"url": "u", "oauth": oauth}), Settings).server.unwrap();
        let WrittenTransport::Remote(remote) = parsed.transport else { panic!("a remote entry") };
        assert_eq!(remote.oauth, None);
    }
}

#[test]
fn what_counts_differently_than_written_is_said_and_the_entry_stays_good() {
    for (entry, key, code, hint) in [
        (json!({"command": "c", "comand": "d"}), "comand", Code::UnknownKey, Some("did you mean `command`?")),
        (json!({"command": "c", "autoApprove": []}), "autoApprove", Code::UnknownKey, None),
        (json!({"command": "c", "scope": "system"}), "scope", Code::IgnoredHere, Some("remove it")),
        (json!({"command": "c", "extensionName": 5}), "extensionName", Code::IgnoredHere, Some("remove it")),
        (json!({"command": "c", "timeout": 0}), "timeout", Code::OutOfRange, None),
        (json!({"command": "c", "timeout": 9e12}), "timeout", Code::OutOfRange, None),
        (json!({"command": "c", "discoveryTimeoutMs": 99}), "discoveryTimeoutMs", Code::OutOfRange, None),
        (
            json!({"httpUrl": "h", "url": "u"}),
            "url",
            Code::RedundantField,
            Some("remove it; with another origin the entry is invalid"),
        ),
    ] {
        let parsed = parse_entry(&entry, Settings);
        assert!(parsed.server.is_ok(), "{entry}");
        let [finding] = parsed.findings.as_slice() else { panic!("{entry}: {:?}", parsed.findings) };
        assert_eq!(finding.key, KeyPath::new([key]));
        assert_eq!((finding.code, finding.severity), (code, Severity::Warning));
        assert_eq!(finding.hint.as_deref(), hint);
    }
}

#[test]
fn a_number_that_is_wrong_twice_is_told_once() {
    for entry in [
        json!({"command": "c", "timeout": 1e300}),
        json!({"command": "c", "own": 1e300}),
        json!({"command": "c", "args": ["a", "b"], "discoveryTimeoutMs": -9_007_199_254_740_993_i64}),
    ] {
        let errors = parse_entry(&entry, Settings)
            .findings
            .into_iter()
            .filter(|finding| finding.severity == Severity::Error);
        assert_eq!(errors.map(|finding| finding.code).collect::<Vec<_>>(), [Code::UnsafeNumber], "{entry}");
    }
}

#[test]
fn a_limit_outside_its_range_is_its_nearest_bound() {
    for (field, written, counts) in [
        ("timeout", json!(-5), 1),
        ("timeout", json!(9e12), 2_147_483_647),
        ("timeout", json!(1e3), 1000),
        ("discoveryTimeoutMs", json!(0), 100),
        ("discoveryTimeoutMs", json!(300_001), 300_000),
    ] {
        let view = parse_entry(&json!({"command": "c", field: written}), Settings).server.unwrap().view;
        let limit = if field == "timeout" { view.timeout_ms } else { view.discovery_timeout_ms };
        assert_eq!(limit, counts, "{field} {written}");
    }
}

#[test]
fn an_error_behind_any_number_of_warnings_still_makes_an_entry_invalid() {
    let mut entry: serde_json::Map<String, Value> = (0..500).map(|n| (format!("own{n}"), json!(n))).collect();
    entry.insert("command".to_owned(), json!("c"));
    entry.insert("trust".to_owned(), json!("yes"));
    let parsed = parse_entry(&Value::Object(entry), Settings);
    assert_eq!(parsed.server.unwrap_err().key, KeyPath::new(["trust"]));
    assert!(parsed.findings.len() < 500);
}
