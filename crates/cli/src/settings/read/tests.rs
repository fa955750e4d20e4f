use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

fn spec(id: SourceId) -> SourceSpec {
    SourceSpec { id, origin: Origin::File("/nowhere/settings.json".into()) }
}

fn read_bytes(id: SourceId, bytes: &[u8], previous: Option<&SourceFile>, moment: Moment) -> SourceFile {
    source_of(&spec(id), &Ok(Some(bytes.to_vec())), previous, moment)
}

fn at_start(id: SourceId, text: &str) -> SourceFile {
    read_bytes(id, text.as_bytes(), None, Moment::Start)
}

fn reload(previous: &SourceFile, text: &str) -> SourceFile {
    read_bytes(previous.id, text.as_bytes(), Some(previous), Moment::Reload)
}

fn codes(file: &SourceFile) -> Vec<(&'static str, Option<u32>, Option<u32>)> {
    file.diagnostics.iter().map(|d| (d.code, d.line, d.column)).collect()
}

#[test]
fn a_file_that_is_no_good_is_empty_at_start_and_keeps_its_last_good_content_on_reload() {
    let good = r#"{"mcpServers": {"a": {"command": "srv"}}}"#;
    let broken: [(&[u8], &str); 8] = [
        (b"{\"mcpServers\": ", "syntax"),
        (b"{\"mcpServers\": {\"a\": 1 \"b\": 2}}", "syntax"),
        (b"[]", "root_not_object"),
        (b"null", "root_not_object"),
        (b"\xFF\xFE{\0}\0", "encoding"),
        (b"{\0}\0", "encoding"),
        (b"{\"a\": \"\xC3\"}", "encoding"),
        ("[".repeat(70).leak().as_bytes(), "syntax"),
    ];
    for id in [SourceId::User, SourceId::McpJson, SourceId::Workspace, SourceId::Session(0), SourceId::System]
    {
        for (bytes, code) in broken {
            let start = read_bytes(id, bytes, None, Moment::Start);
            assert_eq!((&*start.root, start.broken), (&json!({}), Some(Broken::Empty)), "{id:?} {code}");
            assert_eq!(start.diagnostics[0].severity, Severity::Error);
            assert_eq!(start.diagnostics[0].code, code);
            let before = at_start(id, good);
            let after = read_bytes(id, bytes, Some(&before), Moment::Reload);
            assert_eq!((&after.root, after.broken), (&before.root, Some(Broken::KeptLastGood)));
            let repaired = reload(&after, "{}");
            assert_eq!((&*repaired.root, repaired.broken), (&json!({}), None));
            // Nothing was good yet: there is nothing to keep.
            let still = read_bytes(id, bytes, Some(&start), Moment::Reload);
            assert_eq!(still.broken, Some(Broken::Empty));
        }
    }
}

#[test]
fn a_missing_file_empties_its_scope_at_start_and_on_reload() {
    let before = at_start(SourceId::User, r#"{"mcp": {"allowed": ["a"]}}"#);
    for (previous, moment) in [(None, Moment::Start), (Some(&before), Moment::Reload)] {
        let file = source_of(&spec(SourceId::User), &Ok(None), previous, moment);
        assert_eq!((&*file.root, file.broken, file.presence), (&json!({}), None, Presence::Missing));
        assert!(file.diagnostics.is_empty());
    }
}

#[test]
fn an_empty_file_is_an_empty_object_with_one_warning() {
    for text in ["", " \r\n\t\n", "\u{feff}"] {
        let file = at_start(SourceId::User, text);
        assert_eq!((&*file.root, file.broken, file.presence), (&json!({}), None, Presence::Blank));
        assert_eq!(
            file.diagnostics.iter().map(|d| (d.code, d.severity)).collect::<Vec<_>>(),
            [("empty", Severity::Warning)]
        );
    }
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_change_nothing() {
    let file = at_start(SourceId::McpJson, "\u{feff}{\"mcpServers\":{\r\n\"a\":{\"command\":\"srv\"}}}\r\n");
    assert_eq!(*file.root, json!({"mcpServers": {"a": {"command": "srv"}}}));
    assert_eq!(file.diagnostics, []);
    let place = file.positions.nearest(&["mcpServers", "a"]).unwrap();
    assert_eq!((place.line, place.column), (2, 1));
}

#[test]
fn a_restricting_key_of_the_wrong_type_is_closed_at_start_and_stays_as_it_was_on_reload() {
    let wrongs = [
        (r#"{"mcp": {"allowed": "a"}}"#, json!({"mcp": {"allowed": []}})),
        (r#"{"mcp": {"allowed": null}}"#, json!({"mcp": {"allowed": []}})),
        (r#"{"mcp": {"allowed": ["a", 1]}}"#, json!({"mcp": {"allowed": []}})),
        (r#"{"mcp": {"excluded": {}}}"#, json!({"mcp": {"excluded": ["*"]}})),
        (r#"{"mcp": []}"#, json!({"mcp": {"allowed": [], "excluded": ["*"]}})),
    ];
    for (text, closed) in wrongs {
        let start = at_start(SourceId::User, text);
        assert_eq!((&*start.root, start.broken), (&closed, None), "{text}");
        assert!(start.diagnostics.iter().any(|d| d.severity == Severity::Error && d.line == Some(1)));
        // What was closed at start stays closed while it stays wrong.
        assert_eq!(*reload(&start, text).root, closed);
    }
    let good = at_start(SourceId::User, r#"{"mcp": {"allowed": ["a"], "excluded": ["b"]}}"#);
    let after = reload(&good, r#"{"mcp": {"allowed": "typo", "excluded": ["c"]}}"#);
    assert_eq!(*after.root, json!({"mcp": {"allowed": ["a"], "excluded": ["c"]}}));
    // Also while the file as a whole was broken in between.
    let between = reload(&good, "{");
    assert_eq!(*reload(&between, r#"{"mcp": 5}"#).root, *good.root);
}

#[test]
fn every_problem_of_a_file_is_reported_with_its_place() {
    let text = "{\n  \"mcp\": { \"alowed\": [] },\n  \"mcp\": { \"allowed\": 5 },\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\", \"trust\": \"s3cret\" }\n  }\n}\n";
    let file = at_start(SourceId::User, text);
    assert_eq!(
        codes(&file),
        [
            ("duplicate_key", Some(3), Some(3)),
            ("wrong_type", Some(3), Some(12)),
            ("wrong_type", Some(5), Some(28)),
        ]
    );
    let broken = at_start(SourceId::User, &text.replace("},\n  \"mcpServers\"", "}\n  \"mcpServers\""));
    assert_eq!(broken.root, Arc::new(json!({})));
    assert_eq!(codes(&broken).len(), 3, "{:?}", codes(&broken));
    for diagnostic in file.diagnostics.iter().chain(&broken.diagnostics) {
        assert!(!format!("{diagnostic:?}").contains("s3cret"));
    }
}

#[test]
fn settings_of_another_version_load_without_a_flood_of_warnings() {
    for text in [
        r#"{"$version": 2, "permissions": {"allow": ["Bash"]}}"#,
        r#"{"$version": 3, "ui": {"theme": "Dark", "hideTips": true}, "model": {"name": "qwen3-coder"},
            "security": {"auth": {"selectedType": "openai"}}, "tools": {"approvalMode": "default"},
            "general": {"vimMode": false}, "telemetry": {"enabled": false}, "privacy": {},
            "mcpServers": {"a": {"command": "npx", "args": ["-y", "x"], "timeout": 30000, "trust": false}}}"#,
    ] {
        assert_eq!(at_start(SourceId::User, text).diagnostics, []);
    }
}

#[test]
fn the_users_variables_are_names_to_values_and_odd_lines_are_warned_about() {
    let file = at_start(SourceId::UserEnv, "A=one\nnonsense\nexport B='two'\n");
    assert_eq!(*file.root, json!({"A": "one", "B": "two"}));
    assert_eq!(codes(&file), [("syntax", Some(2), Some(1))]);
    assert!(!format!("{:?}", file.diagnostics).contains("nonsense"));
}

#[test]
fn records_that_cannot_be_read_decide_nothing_whatever_they_said_before() {
    let root = std::env::temp_dir().canonicalize().unwrap();
    let trusted = json!({root.to_str().unwrap(): "TRUST_FOLDER"}).to_string();
    let before = at_start(SourceId::TrustedFolders, &trusted);
    let verdict = |file: &SourceFile| match &file.content {
        Content::Folders(rules) => rules.verdict(&root),
        Content::Settings | Content::Records(_) => panic!("not the record"),
    };
    use crate::settings::trust::FolderVerdict;
    assert_eq!(verdict(&before), FolderVerdict::Trusted);
    assert_eq!(verdict(&reload(&before, "{")), FolderVerdict::Distrusted);
    assert_eq!(verdict(&reload(&before, "{}")), FolderVerdict::NoRule);
    for text in ["{", "[]", "{\"/p\": {},}"] {
        let file = at_start(SourceId::Approvals, text);
        assert!(matches!(file.broken, Some(Broken::Empty)), "{text}");
        assert_eq!(file.diagnostics[0].severity, Severity::Error);
    }
    assert_eq!(at_start(SourceId::Approvals, "{\"/p\": {}} // note").broken, None);
}

#[test]
fn what_is_no_regular_file_or_too_large_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::File::create(at("large")).unwrap().set_len(64 << 20).unwrap();
    std::fs::create_dir(at("folder")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
    std::os::unix::fs::symlink("loop", at("loop")).unwrap();
    let cases = [
        (at("large"), Some("too_large"), Presence::Unreadable),
        (at("folder"), Some("not_a_file"), Presence::Unreadable),
        (at("pipe"), Some("not_a_file"), Presence::Unreadable),
        ("/dev/zero".into(), Some("not_a_file"), Presence::Unreadable),
        (at("loop"), Some("unreadable"), Presence::Unreadable),
        (at("dangling"), None, Presence::Missing),
        (at("large/below-a-file"), None, Presence::Missing),
    ];
    for (path, code, presence) in cases {
        let started = Instant::now();
        let spec = SourceSpec { id: SourceId::McpJson, origin: Origin::File(path.clone()) };
        let file = read_source(&spec, None, Moment::Start);
        assert_eq!(file.diagnostics.first().map(|d| d.code), code, "{}", path.display());
        assert_eq!(file.presence, presence);
        assert!(started.elapsed() < Duration::from_secs(1));
    }
}

#[test]
fn a_link_is_read_and_named_by_both_its_paths() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target.json");
    std::fs::write(&target, "{}").unwrap();
    let link = folder.path().join("settings.json");
    std::os::unix::fs::symlink("target.json", &link).unwrap();
    let spec = SourceSpec { id: SourceId::Workspace, origin: Origin::File(link.clone()) };
    let file = read_source(&spec, None, Moment::Start);
    assert_eq!(file.path.as_deref(), Some(&*link));
    assert_eq!(file.resolved_path, Some(target.canonicalize().unwrap()));
}

#[test]
fn ten_thousand_servers_are_read_in_time() {
    let servers: Vec<String> =
        (0..10_000).map(|n| format!("\"s{n}\": {{\"command\": \"srv\", \"args\": [\"{n}\"]}}")).collect();
    let text = format!("{{\"mcpServers\": {{{}}}}}", servers.join(","));
    let started = Instant::now();
    let file = at_start(SourceId::McpJson, &text);
    assert_eq!(file.root["mcpServers"].as_object().unwrap().len(), 10_000);
    // Generous for a debug build on a busy machine; a quadratic reader takes minutes.
    assert!(started.elapsed() < Duration::from_secs(10));
}

/// The same value in another layout: comments, trailing commas, key order, escapes, line ends.
fn laid_out(value: &Value, noise: &mut dyn Iterator<Item = u8>, out: &mut String) {
    const BLANKS: [&str; 6] = ["", " ", "\r\n", "\n\t", "/* a \"b\": { */", "// c, }\n"];
    let blank =
        |noise: &mut dyn Iterator<Item = u8>| BLANKS[usize::from(noise.next().unwrap_or(0)) % BLANKS.len()];
    out.push_str(blank(noise));
    match value {
        Value::Object(members) => {
            out.push('{');
            let mut members: Vec<_> = members.iter().collect();
            members.reverse();
            for (key, value) in members {
                out.push_str(blank(noise));
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push_str(blank(noise));
                out.push(':');
                laid_out(value, noise, out);
                out.push(',');
            }
            out.push_str(blank(noise));
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                laid_out(item, noise, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::String(text) => {
            let units = text.encode_utf16().map(|unit| format!("\\u{unit:04X}"));
            out.push_str(&format!("\"{}\"", units.collect::<String>()));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
    }
    out.push_str(blank(noise));
}

fn document() -> impl proptest::strategy::Strategy<Value = Value> {
    use proptest::prelude::*;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z/*\"\\\\é我,:{}]{0,6}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-z./\"]{0,3}", inner, 0..4).prop_map(|map| json!(map)),
        ]
    });
    proptest::collection::btree_map("[a-z]{1,3}", value, 0..4).prop_map(|map| json!(map))
}

proptest::proptest! {
    #[test]
    fn layout_comments_key_order_and_escapes_never_change_what_a_file_says(
        value in document(),
        noise in proptest::collection::vec(proptest::num::u8::ANY, 64),
        mark in proptest::bool::ANY,
    ) {
        let mut text = String::from(if mark { "\u{feff}" } else { "" });
        laid_out(&value, &mut noise.into_iter(), &mut text);
        // A file whose keys are names is judged by no schema, so that all of it counts.
        let file = at_start(SourceId::TrustedFolders, &text);
        proptest::prop_assert_eq!(&*file.root, &value, "{}", text);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..64)) {
        for id in [SourceId::User, SourceId::McpJson, SourceId::UserEnv, SourceId::Approvals, SourceId::TrustedFolders] {
            let file = read_bytes(id, &bytes, None, Moment::Start);
            proptest::prop_assert!(file.root.is_object());
        }
    }
}
