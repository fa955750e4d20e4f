//! When are two written entries the same thing to approve?
//!
//! Owns the approval hash: SHA-256 over the entry *as written*, in the canonical text of [`canonical`], without the
//! fields that say nothing about what runs. Must not know variables, scopes, files or decisions; it has nothing to
//! do with the fingerprint of a connection, which is over resolved values.

use std::{fmt, str::FromStr};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

mod canonical;

pub(crate) use canonical::canonical_text;

/// Digest of an entry as written: same hash, same approval. Shown as 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApprovalHash([u8; 32]);

impl fmt::Display for ApprovalHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hex::encode(self.0))
    }
}

impl fmt::Debug for ApprovalHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is not an approval hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not an approval hash: write all 64 hex digits, as the question shows them")]
pub struct HashTextError;

impl FromStr for ApprovalHash {
    type Err = HashTextError;

    /// Reads 64 hex digits in either letter case; a prefix is not enough, since it would name more than one entry.
    fn from_str(text: &str) -> Result<Self, HashTextError> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_not_hex| HashTextError)?;
        Ok(ApprovalHash(bytes))
    }
}

/// How the file that holds an entry spells its transport.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dialect {
    /// A settings file: `type` counts as written.
    Settings,
    /// `.mcp.json`, where `type` only selects between `url` and `httpUrl`, so that the same server has the same hash
    /// in either spelling.
    McpJson,
}

/// Where an entry came from, how it is labelled, and whether it is switched on say nothing about what it runs.
const NOT_HASHED: [&str; 5] = ["scope", "extensionName", "description", "enabled", "disabled"];

/// The approval hash of an entry as written, variables unexpanded.
///
/// Equal to the hash that Qwen Code computes for entries without variables, `enabled`, `disabled`, integer-like
/// keys (JavaScript moves those to the front) and `__proto__` (which JavaScript loses).
///
/// ```
/// use qwen_approvals::{Dialect, approval_hash};
/// use serde_json::json;
///
/// let shown = json!({ "command": "node", "args": ["server.js"], "description": "files" });
/// let moved = json!({ "args": ["server.js"], "command": "node" });
/// assert_eq!(approval_hash(&shown, Dialect::McpJson), approval_hash(&moved, Dialect::McpJson));
///
/// let edited = json!({ "command": "node", "args": ["other.js"] });
/// assert_ne!(approval_hash(&shown, Dialect::McpJson), approval_hash(&edited, Dialect::McpJson));
/// ```
pub fn approval_hash(entry: &Value, dialect: Dialect) -> ApprovalHash {
    let text = match entry {
        Value::Object(fields) => canonical_text(&Value::Object(hashed_fields(fields, dialect))),
        // Not an entry; a hash is still needed to name what was read, and no record will ever have it approved.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            canonical_text(entry)
        }
    };
    ApprovalHash(Sha256::digest(text.as_bytes()).into())
}

fn hashed_fields(fields: &Map<String, Value>, dialect: Dialect) -> Map<String, Value> {
    let mut kept: Map<String, Value> = fields
        .iter()
        .filter(|(key, _)| !NOT_HASHED.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    match dialect {
        Dialect::Settings => {}
        Dialect::McpJson => drop_type(&mut kept),
    }
    kept
}

/// The rule by which Qwen Code reads `.mcp.json`: its own fields win, `type: "http"` makes `url` an `httpUrl`, and
/// then the type has done its work.
fn drop_type(fields: &mut Map<String, Value>) {
    if is_set(fields.get("command")) || is_set(fields.get("httpUrl")) {
        fields.shift_remove("type");
    } else if fields.get("url").is_some_and(Value::is_string) {
        let is_http = fields.shift_remove("type") == Some(Value::from("http"));
        if is_http && let Some(url) = fields.shift_remove("url") {
            fields.insert("httpUrl".to_owned(), url);
        }
    }
}

/// What JavaScript counts as true. An empty `command` does not hide the `url` beside it.
fn is_set(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::Bool(set)) => *set,
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(_) | Value::Object(_)) => true,
    }
}

#[cfg(test)]
mod tests;
