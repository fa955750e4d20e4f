//! What holds for any bytes in a settings file, and for any two versions of a document? Shared by the fuzz targets and
//! the test that replays their corpus.

use std::{collections::BTreeSet, fs, sync::LazyLock};

use qwen_approvals::{Dialect as HashDialect, approval_hash};
use qwen_cli::{Moment, Origin, SourceId, SourceSpec, read_source};
use qwen_settings_schema::{
    Dialect, Document, KeyPath, SettingsScope, changed_leaves, parse_entry, same_value, schema,
};
use serde_json::Value;

static FOLDER: LazyLock<tempfile::TempDir> =
    LazyLock::new(|| tempfile::tempdir().expect("a temporary folder"));

const GOOD: &str = r#"{ "mcp": { "allowed": ["a"] }, "mcpServers": { "a": { "command": "a" } } }"#;

/// A file is read without a panic, in the same way each time, and a broken one leaves what was there.
pub fn reader(bytes: &[u8]) {
    let path = FOLDER.path().join("any");
    // A new file each time: a file system may flush one that is truncated and written again.
    drop(fs::remove_file(&path));
    fs::write(&path, bytes).expect("the temporary folder is ours");

    for id in
        [SourceId::User, SourceId::McpJson, SourceId::UserEnv, SourceId::TrustedFolders, SourceId::Approvals]
    {
        let spec = SourceSpec { id, origin: Origin::File(path.clone()) };
        let first = read_source(&spec, None, Moment::Start);
        let again = read_source(&spec, Some(&first), Moment::Reload);
        assert_eq!(first.digest, again.digest);
        if first.broken.is_none() {
            assert_eq!(first.root, again.root, "the same bytes mean the same");
        }
        for diagnostic in first.diagnostics.iter().chain(&again.diagnostics) {
            assert!(diagnostic.line.is_none_or(|line| line > 0), "{diagnostic:?}");
            assert!(diagnostic.column.is_none_or(|column| column > 0), "{diagnostic:?}");
        }

        if matches!(id, SourceId::User | SourceId::McpJson) {
            let good = SourceSpec { id, origin: Origin::Inline(GOOD.to_owned()) };
            let good = read_source(&good, None, Moment::Start);
            let after = read_source(&spec, Some(&good), Moment::Reload);
            if after.broken.is_some() {
                assert_eq!(after.root, good.root, "a broken file changes nothing");
            }
        }
    }
}

/// Two documents are compared without a panic, by meaning, and in both directions alike.
pub fn diff(bytes: &[u8]) {
    let Some((old, new)) = two_documents(bytes) else { return };
    let leaves =
        |old: &Value, new: &Value| -> BTreeSet<KeyPath> { changed_leaves(old, new).into_iter().collect() };
    let there = leaves(&old, &new);
    assert_eq!(there, leaves(&new, &old), "a change back touches the same keys");
    assert_eq!(there.is_empty(), same_value(&old, &new), "no leaf, no difference");
    assert_eq!(changed_leaves(&old, &old), []);
    assert_eq!(changed_leaves(&new, &sorted(&new)), [], "the order of keys does not count");

    for document in [&old, &new] {
        for scope in SettingsScope::ALL {
            let _ = schema().check(document, Document::Settings(scope));
        }
        let _ = schema().restricting(document);
        for entry in
            document.get("mcpServers").and_then(Value::as_object).into_iter().flat_map(|map| map.values())
        {
            drop(parse_entry(entry, Dialect::Settings));
            drop(parse_entry(entry, Dialect::McpJson));
            let hash = approval_hash(entry, HashDialect::McpJson);
            assert_eq!(hash, approval_hash(&sorted(entry), HashDialect::McpJson));
        }
    }
}

fn two_documents(bytes: &[u8]) -> Option<(Value, Value)> {
    let (old, new) = std::str::from_utf8(bytes).ok()?.split_once("\n---\n")?;
    Some((serde_json::from_str(old).ok()?, serde_json::from_str(new).ok()?))
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<(&String, &Value)> = map.iter().collect();
            pairs.sort_by_key(|(key, _)| *key);
            Value::Object(pairs.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
