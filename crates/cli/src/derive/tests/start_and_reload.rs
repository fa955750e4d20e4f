//! A reload comes to what a fresh start would come to, and leaves what did not change as it is.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{super::*, site::Site};

#[test]
fn an_entry_that_did_not_change_is_the_same_value_in_memory() {
    let servers =
        |args: Value| json!({"mcpServers": {"a": {"command": "srv"}, "b": {"command": "srv", "args": args}}});
    let site = Site::new().file("home/.qwen/settings.json", servers(json!(["1"])));
    let (mut running, first) = site.start();
    site.write("home/.qwen/settings.json", &servers(json!(["2"])).to_string());
    let second = site.reload(&mut running, &first);
    let same = |name: &str| match (&first.servers[name], &second.servers[name]) {
        (Entry::Valid(one), Entry::Valid(other)) => Arc::ptr_eq(one, other),
        (_, _) => false,
    };
    assert!(same("a"));
    assert!(!same("b"));
}

#[test]
fn what_needs_a_restart_stays_as_it_was_at_start() {
    let settings = |command: &str, trust: bool, more: &str| json!({"mcp": {"serverCommand": command}, "security": {"folderTrust": {"enabled": trust}}, "mcpServers": {more: {"command": "srv"}}});
    let site = Site::new().file("home/.qwen/settings.json", settings("one", false, "a"));
    let (mut running, derived) = site.start();
    site.write("home/.qwen/settings.json", &settings("two", true, "b").to_string());
    let derived = site.reload(&mut running, &derived);
    assert_eq!(site.verdicts(&derived), "b connect, mcp connect");
    assert_eq!(site.argv(&derived, "mcp"), ["one"]);
    site.remove("home/.qwen/settings.json");
    let derived = site.reload(&mut running, &derived);
    assert_eq!(site.verdicts(&derived), "mcp connect");
    assert_eq!(site.verdicts(&site.start().1), "");
}

#[test]
fn a_trust_check_of_the_wrong_type_is_on_until_it_is_mended() {
    let settings = |enabled: Value| json!({"security": {"folderTrust": {"enabled": enabled}}, "mcpServers": {"a": {"command": "srv"}}});
    for wrong in [json!("false"), json!(null), json!(0)] {
        let site = Site::new().file("home/.qwen/settings.json", settings(wrong));
        let (mut running, derived) = site.start();
        assert_eq!(site.verdicts(&derived), "a untrusted_folder");
        site.write("home/.qwen/settings.json", &settings(json!(false)).to_string());
        assert_eq!(site.verdicts(&site.reload(&mut running, &derived)), "a connect");
    }
    let site = Site::new()
        .file("home/.qwen/settings.json", json!({"security": 5, "mcpServers": {"a": {"command": "srv"}}}));
    assert_eq!(site.verdicts(&site.start().1), "a untrusted_folder");
}

#[test]
fn no_debug_output_shows_what_stands_in_a_file() {
    let secret = "s3cret-of-the-file";
    let site = Site::new()
        .env("TOK", secret)
        .file("home/.qwen/settings.json", json!({
            "env": {"T": secret}, "mcp": {"serverCommand": format!("x --token {secret}")},
            "mcpServers": {"a": {"command": "srv", "env": {"T": secret}}, "r": {"url": format!("http://u:{secret}@h")}},
        }))
        .file("project/.mcp.json", json!({"mcpServers": {"p": {"command": "srv", "env": {"T": secret}}}}));
    let (running, derived) = site.start();
    let shown = format!("{derived:?} {:?} {:?}", running.launch, running.snapshot);
    // Arguments of core's own values are not secrets by type; nothing else may show.
    let shown = shown.replace(&format!("args: [\"--token\", \"{secret}\"]"), "");
    assert!(!shown.contains(secret), "{shown}");
}

#[test]
fn an_entry_that_becomes_invalid_no_longer_says_what_to_run() {
    let site = Site::new().file("home/.qwen/settings.json", json!({"mcpServers": {"a": {"command": "srv"}}}));
    let (mut running, derived) = site.start();
    site.write("home/.qwen/settings.json", r#"{"mcpServers": {"a": {"command": 5}}}"#);
    let derived = site.reload(&mut running, &derived);
    assert_eq!(site.verdicts(&derived), "a invalid");
    site.write("home/.qwen/settings.json", r#"{"mcpServers": "#);
    let derived = site.reload(&mut running, &derived);
    assert_eq!(site.verdicts(&derived), "a invalid");
}

/// The names of the entries that the later derivation took over from the earlier one.
fn kept<'a>(old: &'a Derived, new: &Derived) -> Vec<&'a str> {
    old.resolutions.shared_with(&new.resolutions)
}

#[test]
fn only_what_changed_is_resolved_again() {
    let settings = |b: Value, idle: u64| {
        let servers = json!({"a": {"command": "srv", "args": ["$KEY"]}, "b": b});
        json!({"mcp": {"toolIdleTimeoutMs": idle}, "mcpServers": servers})
    };
    let file = "home/.qwen/settings.json";
    let site = Site::new().file(file, settings(json!({"command": "srv"}), 300_000));
    let (mut running, first) = site.start();
    site.write(file, &settings(json!({"command": "other"}), 300_000).to_string());
    let second = site.reload(&mut running, &first);
    assert_eq!(kept(&first, &second), ["a"]);
    site.write(file, &settings(json!({"command": "other"}), 400_000).to_string());
    let third = site.reload(&mut running, &second);
    assert_eq!(kept(&second, &third), [""; 0]);
    site.write("home/.qwen/.env", "KEY=2\n");
    let fourth = site.reload(&mut running, &third);
    assert_eq!(kept(&third, &fourth), [""; 0]);
    assert_eq!(site.argv(&fourth, "a"), ["srv", "2"]);
    assert_eq!(kept(&fourth, &site.reload(&mut running, &fourth)), ["a", "b"]);
}

#[test]
fn an_entry_that_was_only_put_in_another_order_is_told_of_as_a_fresh_start_would() {
    let file = "home/.qwen/settings.json";
    for (one, other) in [
        (r#"{"command": 5, "args": 7}"#, r#"{"args": 7, "command": 5}"#),
        (r#"{"command": "srv", "argz": 1, "comand": 2}"#, r#"{"command": "srv", "comand": 2, "argz": 1}"#),
    ] {
        let settings = |entry: &str| format!(r#"{{"mcpServers": {{"a": {entry}}}}}"#);
        let site = Site::new().text(file, &settings(one));
        let (mut running, first) = site.start();
        site.write(file, &settings(other));
        let second = site.reload(&mut running, &first);
        assert_eq!(kept(&first, &second), [""; 0]);
    }
}

#[test]
fn variables_of_the_user_are_read_live_and_those_of_a_project_never() {
    let site = Site::new()
        .file("home/.qwen/settings.json", json!({"env": {"TOK": "of-settings"}, "mcpServers": {"a": {"command": "srv", "env": {"T": "${TOK}"}}}}))
        .text("project/.env", "TOK=of-project\n")
        .text("project/.qwen/.env", "TOK=of-project\n");
    let (mut running, derived) = site.start();
    assert_eq!(site.verdicts(&derived), "a invalid");
    site.write("home/.qwen/.env", "export TOK='of-user'\n");
    let derived = site.reload(&mut running, &derived);
    assert_eq!(site.verdicts(&derived), "a connect");
    let process = Site::env(site.with(|_| {}), "TOK", "of-process");
    let (_, derived) = process.start();
    let qwen_core::Wire::Stdio(stdio) = super::site::wire(&derived, "a") else { panic!("a is a program") };
    assert_eq!(stdio.env["T"].expose(), "of-process");
}

/// A settings file without errors, over few names, so that files meet.
fn settings() -> impl Strategy<Value = Value> {
    let name = || proptest::sample::select(vec!["a", "b", "ab", "c.d"]);
    let pattern = proptest::sample::select(vec!["a", "b", "a*", "?", "*", " c.d ", ""]);
    let entry = prop_oneof![
        (0..3u8).prop_map(|n| json!({"command": "srv", "args": [n.to_string()]})),
        Just(json!({"command": "srv", "disabled": true})),
        Just(json!({"url": "http://h/mcp"})),
        Just(json!({"command": "srv", "env": {"T": "${TOK:-x}"}})),
    ];
    let servers = proptest::collection::btree_map(name(), entry, 0..3);
    let list = || proptest::option::of(proptest::collection::vec(pattern.clone(), 0..3));
    (servers, list(), list()).prop_map(|(servers, allowed, excluded)| {
        let mut settings = json!({ "mcpServers": servers, "mcp": {} });
        if let Some(allowed) = allowed {
            settings["mcp"]["allowed"] = json!(allowed);
        }
        if let Some(excluded) = excluded {
            settings["mcp"]["excluded"] = json!(excluded);
        }
        settings
    })
}

const FILES: [&str; 5] = [
    "system-defaults.json",
    "home/.qwen/settings.json",
    "project/.mcp.json",
    "project/.qwen/settings.json",
    "system.json",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Boot and reload are one rule: whatever edits led here, the verdicts are those of a fresh start.
    #[test]
    fn the_verdicts_after_any_edits_are_those_of_a_fresh_start(
        at_start in proptest::collection::vec(settings(), 5),
        edits in proptest::collection::vec((0..FILES.len(), proptest::option::of(settings())), 1..5),
        bound in proptest::option::of(proptest::sample::select(vec!["a*", "b"])),
    ) {
        let site = Site::new();
        for (file, content) in FILES.iter().zip(&at_start) {
            site.write(file, &content.to_string());
        }
        let site = match bound {
            Some(pattern) => site.bound(&[pattern]),
            None => site,
        };
        let (mut running, mut derived) = site.start();
        for (file, content) in edits {
            match content {
                Some(content) => site.write(FILES[file], &content.to_string()),
                None => drop(std::fs::remove_file(site.path(FILES[file]))),
            }
            derived = site.reload(&mut running, &derived);
            let (_, fresh) = site.start();
            prop_assert_eq!(site.verdicts(&derived), site.verdicts(&fresh));
            prop_assert_eq!(&derived.servers, &fresh.servers);
            prop_assert_eq!(&derived.gating, &fresh.gating);
            prop_assert_eq!(derived.promptable_set(), fresh.promptable_set());
        }
    }

    /// Settings narrow the launch bound and never widen it.
    #[test]
    fn nothing_outside_the_bound_is_ever_admitted(content in proptest::collection::vec(settings(), 5)) {
        let site = Site::new().bound(&["b*"]);
        for (file, content) in FILES.iter().zip(&content) {
            site.write(file, &content.to_string());
        }
        let verdicts = site.verdicts(&site.start().1);
        for verdict in verdicts.split(", ").filter(|verdict| verdict.ends_with(" connect")) {
            prop_assert!(verdict.starts_with('b'));
        }
    }

    /// Whatever stands under `mcpServers`, each of its names has exactly one row.
    #[test]
    fn each_name_has_exactly_one_row(
        servers in proptest::collection::btree_map("[a-z_. ]{0,4}|__proto__|我", anything(), 0..6),
        gated in proptest::bool::ANY,
    ) {
        let file = if gated { "project/.mcp.json" } else { "home/.qwen/settings.json" };
        let site = Site::new().file(file, json!({ "mcpServers": servers }));
        let (_, derived) = site.start();
        let rows: std::collections::BTreeSet<&str> = derived.rows.keys().map(ServerName::as_str).collect();
        let names: std::collections::BTreeSet<&str> = servers.keys().map(String::as_str).collect();
        prop_assert_eq!(rows, names);
        prop_assert_eq!(derived.rows.len(), derived.servers.len());
    }
}

/// Any JSON, entries and parts of entries among it.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z$\\{\\}~/:]{0,8}".prop_map(Value::from),
        Just(json!({"command": "srv"})),
        Just(json!({"url": "http://h"})),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map(
                proptest::sample::select(vec!["command", "args", "env", "url", "type", "disabled", "x"]),
                inner,
                0..4
            )
            .prop_map(|map| json!(map)),
        ]
    })
}
