//! Tests of the approval hash: vectors computed elsewhere, what counts, and what does not.

use serde_json::{Value, json};

use super::*;

fn settings(entry: &Value) -> ApprovalHash {
    approval_hash(entry, Dialect::Settings)
}

fn mcp_json(entry: &Value) -> ApprovalHash {
    approval_hash(entry, Dialect::McpJson)
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap().to_owned()
}

/// Entries on which Qwen Code and we are known to differ; see the documentation of [`approval_hash`].
const EXCEPTIONS: [&str; 5] =
    ["enabled", "disabled", "an integer-like key", "the key __proto__", "a variable"];

#[test]
fn the_hash_equals_one_computed_by_a_javascript_engine() {
    let vectors: Vec<Value> = serde_json::from_str(include_str!("../../testdata/hash-vectors.json")).unwrap();
    assert!(vectors.len() > 60);
    for vector in &vectors {
        let dialect = match vector["dialect"].as_str() {
            Some("settings") => Dialect::Settings,
            Some("mcp-json") => Dialect::McpJson,
            other => panic!("unknown dialect {other:?}"),
        };
        let entry: Value = serde_json::from_str(&text(vector, "text")).unwrap();
        let what = text(vector, "what");
        let ours = approval_hash(&entry, dialect).to_string();
        assert_eq!(ours, text(vector, "documented"), "{what} in {dialect:?}");
        let exception = EXCEPTIONS.contains(&what.as_str());
        assert_eq!(ours != text(vector, "qwenCode"), exception, "{what} in {dialect:?} against Qwen Code");
    }
}

#[test]
fn the_hash_is_sha_256_over_the_sorted_text() {
    // By another path: the text written by hand, hashed by the `sha256sum` of a shell.
    let entry = json!({ "command": "node", "args": ["server.js"], "scope": "project" });
    assert_eq!(canonical_text(&json!({ "b": 1.0, "a": ["x"] })), r#"{"a":["x"],"b":1}"#);
    assert_eq!(
        settings(&entry).to_string(),
        "aae5909971f4c15bb28893e09f9ff19884c9578148b991864e9c45e95c6f9718"
    );
}

#[test]
fn a_hash_is_64_digits_and_reads_back() {
    let hash = settings(&json!({ "command": "node" }));
    let shown = hash.to_string();
    assert_eq!(shown.len(), 64);
    assert!(shown.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
    assert_eq!(shown.parse(), Ok(hash));
    assert_eq!(shown.to_uppercase().parse(), Ok(hash));
    for wrong in ["", "abc", &shown[..16], &shown[..63], &format!("{shown}0"), &format!("g{}", &shown[1..])] {
        assert_eq!(wrong.parse::<ApprovalHash>(), Err(HashTextError), "{wrong}");
    }
}

#[test]
fn layout_and_labels_are_not_an_edit() {
    let base: Value =
        serde_json::from_str(r#"{"command":"node","args":["a","b"],"env":{"A":"1","B":"2"},"timeout":1}"#)
            .unwrap();
    let same = [
        r#"{"timeout":1,"env":{"B":"2","A":"1"},"args":["a","b"],"command":"node"}"#,
        r#"{"command":"n\u006fde", "args" : [ "a","b" ],"env":{"A":"1","B":"2"},"timeout":1.0}"#,
        r#"{"command":"node","args":["a","b"],"env":{"A":"1","B":"2"},"timeout":1e0,"description":"x"}"#,
        r#"{"command":"node","args":["a","b"],"env":{"A":"1","B":"2"},"timeout":1,"scope":"user"}"#,
        r#"{"command":"node","args":["a","b"],"env":{"A":"1","B":"2"},"timeout":1,"extensionName":"x"}"#,
        r#"{"command":"node","args":["a","b"],"env":{"A":"1","B":"2"},"timeout":1,"enabled":false}"#,
        r#"{"command":"node","args":["a","b"],"env":{"A":"1","B":"2"},"timeout":1,"disabled":true}"#,
    ];
    for same in same {
        assert_eq!(settings(&serde_json::from_str(same).unwrap()), settings(&base), "{same}");
    }
}

#[test]
fn every_other_difference_is_an_edit() {
    let base = json!({
        "command": "node", "args": ["a", "b"], "env": { "A": "1" }, "cwd": "/x", "trust": false,
        "url": "https://a.example", "httpUrl": "https://b.example", "headers": { "H": "1" }, "unknown": 1,
    });
    let edits = [
        ("command", json!("curl")),
        ("args", json!(["a", "c"])),
        ("args", json!(["b", "a"])),
        ("args", json!([])),
        ("env", json!({ "A": "2" })),
        ("env", json!({ "A": "1", "description": "d" })),
        ("env", json!({ "A": "1", "extensionName": "e" })),
        ("env", json!({})),
        ("cwd", json!("/y")),
        ("cwd", Value::Null),
        ("trust", json!(true)),
        ("url", json!("https://c.example")),
        ("httpUrl", json!("https://c.example")),
        ("headers", json!({ "H": "2" })),
        ("headers", json!({ "h": "1" })),
        ("headers", json!({ "H": "1", "description": "d" })),
        ("unknown", json!("1")),
        ("oauth", json!({ "enabled": true })),
        ("pool", json!("shared")),
        ("inheritEnv", json!(true)),
        ("timeout", json!(1)),
        ("discoveryTimeoutMs", json!(1)),
        ("versionNegotiation", json!("auto")),
        ("includeTools", json!([])),
        ("excludeTools", json!([])),
        ("alwaysLoadTools", json!([])),
    ];
    for dialect in [Dialect::Settings, Dialect::McpJson] {
        for (field, value) in &edits {
            let mut edited = base.clone();
            edited[*field] = value.clone();
            assert_ne!(approval_hash(&edited, dialect), approval_hash(&base, dialect), "{field}: {value}");
        }
        for field in base.as_object().unwrap().keys() {
            let mut edited = base.clone();
            edited.as_object_mut().unwrap().shift_remove(field);
            assert_ne!(approval_hash(&edited, dialect), approval_hash(&base, dialect), "without {field}");
        }
    }
}

#[test]
fn an_added_empty_list_or_map_is_an_edit() {
    let base = json!({ "command": "node" });
    for field in ["args", "env"] {
        let empty = if field == "args" { json!([]) } else { json!({}) };
        let mut edited = base.clone();
        edited[field] = empty;
        assert_ne!(settings(&edited), settings(&base), "{field}");
    }
}

#[test]
fn the_type_counts_in_a_settings_file_and_only_picks_the_field_in_mcp_json() {
    let url = "https://a.example/mcp";
    let http = json!({ "type": "http", "url": url });
    let http_url = json!({ "httpUrl": url });
    let sse = json!({ "type": "sse", "url": url });
    let bare = json!({ "url": url });
    assert_eq!(mcp_json(&http), mcp_json(&http_url));
    assert_eq!(mcp_json(&sse), mcp_json(&bare));
    assert_ne!(mcp_json(&http), mcp_json(&bare));
    assert_eq!(mcp_json(&json!({ "command": "n", "type": "stdio" })), mcp_json(&json!({ "command": "n" })),);
    let all = [http, http_url, sse, bare];
    for (index, one) in all.iter().enumerate() {
        for other in &all[index + 1..] {
            assert_ne!(settings(one), settings(other), "{one} and {other}");
        }
    }
}

#[test]
fn what_is_not_an_object_has_a_hash_of_its_own() {
    let all = [json!(null), json!("x"), json!([]), json!({}), json!(0), json!(false)];
    for (index, one) in all.iter().enumerate() {
        for other in &all[index + 1..] {
            assert_ne!(settings(one), settings(other), "{one} and {other}");
        }
    }
}
