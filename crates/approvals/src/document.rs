//! What is in the approvals file, and how does a decision change it?
//!
//! Owns the file as a JSON document: reading its bytes, the pure edits of deciding and revoking, writing it back with
//! everything that is not ours untouched. Must not know where the file is, nor what time it is.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::{
    record::{self, Record},
    root::{RootRules, fold},
    shown::Shown,
};

/// The most bytes that are read; more is no approvals file.
pub(crate) const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Why the content of an approvals file does not count. Everything is undecided then, and the next decision sets the
/// file aside before it writes a new one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Corrupt {
    /// It is larger than any record of decisions.
    #[error("larger than {} MiB", MAX_BYTES / 1024 / 1024)]
    TooLarge,
    /// It is not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// It is not JSON, nor JSON with comments.
    #[error("not JSON at line {line}, column {column}")]
    Syntax {
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in bytes.
        column: usize,
    },
    /// It is JSON, but not an object.
    #[error("not a JSON object")]
    NotAnObject,
}

/// The content of the file: project root → server name → record.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Document(pub(crate) Map<String, Value>);

impl Document {
    /// Reads a file's bytes. An empty or blank file is an empty document; a byte-order mark and comments are accepted,
    /// as Qwen Code accepts them.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Document, Corrupt> {
        if bytes.len() as u64 > MAX_BYTES {
            return Err(Corrupt::TooLarge);
        }
        let text = std::str::from_utf8(bytes).map_err(|_invalid| Corrupt::NotUtf8)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let blanked = without_comments(text);
        if blanked.trim().is_empty() {
            return Ok(Document::default());
        }
        let value = serde_json::from_str(&blanked)
            .map_err(|error| Corrupt::Syntax { line: error.line(), column: error.column() })?;
        match value {
            Value::Object(roots) => Ok(Document(roots)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err(Corrupt::NotAnObject)
            }
        }
    }

    /// The text of the file: JSON indented by two spaces, with a line break at the end.
    pub(crate) fn into_text(self) -> String {
        format!("{:#}\n", Value::Object(self.0))
    }

    /// Whether a text would not be read again.
    pub(crate) fn is_too_large(text: &str) -> bool {
        text.len() as u64 > MAX_BYTES
    }

    /// Records a decision under `root`, which must be canonical: removes every other record of that hash, whatever
    /// the spelling of its root, and keeps the decision that this one replaces.
    pub(crate) fn decide(
        &mut self,
        rules: RootRules,
        root: &str,
        server: &str,
        record: &Record,
        shown: Option<&Shown>,
    ) {
        let root = self.join_spellings(rules, root);
        for alias in self.spellings(rules, &root).into_iter().filter(|alias| *alias != root) {
            let Some(Value::Object(servers)) = self.0.get_mut(&alias) else { continue };
            let Some(node) = servers.get(server) else { continue };
            match record::without_hash(node, record.hash) {
                Some(rest) => drop(servers.insert(server.to_owned(), rest)),
                None => self.remove_server(&alias, server),
            }
        }
        let project = self.0.entry(root).or_insert_with(|| Map::new().into());
        if !project.is_object() {
            *project = Map::new().into();
        }
        if let Value::Object(servers) = project {
            let node = record::with_decision(servers.get(server), record, shown);
            servers.insert(server.to_owned(), node);
        }
    }

    /// Removes what is stored for a server, the earlier decisions included, under every spelling of `root`, or for
    /// all servers of that root. Returns the names that had something stored.
    pub(crate) fn revoke(&mut self, rules: RootRules, root: &str, server: Option<&str>) -> BTreeSet<String> {
        let mut revoked = BTreeSet::new();
        for alias in self.spellings(rules, &fold(root, rules.style)) {
            let servers = self.0.get(&alias).and_then(Value::as_object).into_iter().flatten();
            let names: Vec<String> = servers
                .map(|(name, _)| name.clone())
                .filter(|name| server.is_none_or(|one| one == name))
                .collect();
            for name in names {
                self.remove_server(&alias, &name);
                revoked.insert(name);
            }
        }
        revoked
    }

    /// The keys that name the same root as `root`, which must be folded; itself included if it is a key.
    fn spellings(&self, rules: RootRules, root: &str) -> Vec<String> {
        self.0.keys().filter(|key| rules.form(key) == root).cloned().collect()
    }

    /// Where letter case does not count, keys that differ in nothing else become one; returns that key.
    fn join_spellings(&mut self, rules: RootRules, root: &str) -> String {
        let folded = fold(root, rules.style);
        let others: Vec<String> = self
            .0
            .keys()
            .filter(|key| **key != folded && fold(key, rules.style) == folded)
            .cloned()
            .collect();
        for other in others {
            let Some(Value::Object(theirs)) = self.0.shift_remove(&other) else { continue };
            match self.0.get_mut(&folded) {
                Some(Value::Object(ours)) => {
                    for (name, node) in theirs {
                        let joined = match ours.get(&name) {
                            Some(known) => record::merged(known, &node),
                            None => node,
                        };
                        ours.insert(name, joined);
                    }
                }
                Some(_) | None => drop(self.0.insert(folded.clone(), theirs.into())),
            }
        }
        folded
    }

    fn remove_server(&mut self, root: &str, server: &str) {
        if let Some(Value::Object(servers)) = self.0.get_mut(root) {
            servers.shift_remove(server);
            if servers.is_empty() {
                self.0.shift_remove(root);
            }
        }
    }
}

/// The text with each comment blanked, so that places in it stay the same.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_length(rest),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
            _ => first.len_utf8(),
        };
        let (piece, after) = rest.split_at(length);
        if piece.starts_with("//") || piece.starts_with("/*") {
            plain.extend(piece.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        } else {
            plain.push_str(piece);
        }
        rest = after;
    }
    plain
}

/// The bytes of the string at the start of `text`, both quotes included; all of it when the string has no end.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests;
