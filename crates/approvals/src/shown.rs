//! What changed in an entry since the user last decided about it?
//!
//! Owns the memory of what was shown: for each leaf of the entry its path and an HMAC of its value, so that a later
//! question can name the fields that changed while the store holds no value. Must not know files or decisions.

use std::{collections::BTreeMap, fmt};

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::hash::canonical_text;

/// Bytes of an HMAC that are kept; enough that no two values of one field meet.
const MAC_BYTES: usize = 16;

/// The most text kept for one decision, in bytes. An entry of a hostile repository must not fill the store.
const MAX_BYTES: usize = 64 * 1024;

/// The key of the HMACs. It is kept apart from them, so that the store alone does not let anybody try values.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ShownKey(pub(crate) [u8; 32]);

impl fmt::Debug for ShownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("•••")
    }
}

impl ShownKey {
    /// A short name by which HMACs under another key are told from HMACs of other values.
    fn id(&self) -> String {
        hex::encode(&Sha256::digest(self.0)[..4])
    }

    /// The path is part of the text, so that equal values in two fields do not look equal.
    fn mac(&self, path: &str, value: &Value) -> String {
        // HMAC pads a key with zeros to the block of the hash, here 64 bytes (RFC 2104).
        let mut block = [0; 64];
        block[..self.0.len()].copy_from_slice(&self.0);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(path.as_bytes());
        mac.update(&[0]);
        mac.update(canonical_text(value).as_bytes());
        hex::encode(&mac.finalize().into_bytes()[..MAC_BYTES])
    }
}

/// What was shown for a decision: JSON pointers (RFC 6901) of its leaves, each with the HMAC of its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Shown {
    key_id: String,
    fields: Vec<(String, String)>,
}

/// One field that differs from what was shown for the last decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldChange {
    /// Where it stands in the entry, outermost first: `["env", "TOKEN"]`, `["args", "0"]`.
    pub path: Vec<String>,
    /// What happened to it.
    pub change: Change,
}

/// What happened to a field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    /// It was not there.
    Added,
    /// It had another value.
    Changed,
    /// It is no longer there.
    Removed,
}

impl Shown {
    /// The memory of an entry that is being shown; `None` when it would be too large to keep.
    pub(crate) fn of(entry: &Value, key: &ShownKey) -> Option<Shown> {
        let leaves = leaves(entry);
        let bytes: usize = leaves.iter().map(|(path, _)| path.len() + 2 * MAC_BYTES).sum();
        let fields = leaves.into_iter().map(|(path, value)| (key.mac(&path, value), path));
        (bytes <= MAX_BYTES)
            .then(|| Shown { key_id: key.id(), fields: fields.map(|(mac, path)| (path, mac)).collect() })
    }

    /// What differs in `entry`: first what it adds or changes, in its order, then what it lacks. `None` when nothing
    /// can be said, since this memory was made under another key.
    pub(crate) fn changes(&self, entry: &Value, key: &ShownKey) -> Option<Vec<FieldChange>> {
        if self.key_id != key.id() {
            return None;
        }
        let mut gone: BTreeMap<&str, &str> =
            self.fields.iter().map(|(path, mac)| (path.as_str(), mac.as_str())).collect();
        let mut changes = Vec::new();
        for (path, value) in leaves(entry) {
            match gone.remove(path.as_str()) {
                Some(then) if then == key.mac(&path, value) => {}
                Some(_) => changes.push(field_change(&path, Change::Changed)),
                None => changes.push(field_change(&path, Change::Added)),
            }
        }
        let removed = self.fields.iter().filter(|(path, _)| gone.contains_key(path.as_str()));
        changes.extend(removed.map(|(path, _)| field_change(path, Change::Removed)));
        Some(changes)
    }

    /// Reads the stored form; `None` for every other shape.
    pub(crate) fn read(value: &Value) -> Option<Shown> {
        let key_id = value.get("key")?.as_str()?.to_owned();
        let fields = value.get("fields")?.as_object()?.iter();
        let fields: Option<_> =
            fields.map(|(path, mac)| Some((path.clone(), mac.as_str()?.to_owned()))).collect();
        Some(Shown { key_id, fields: fields? })
    }

    pub(crate) fn write(&self) -> Value {
        let fields = self.fields.iter().map(|(path, mac)| (path.clone(), Value::from(mac.as_str())));
        let fields: Map<String, Value> = fields.collect();
        Value::Object(Map::from_iter([
            ("key".to_owned(), self.key_id.as_str().into()),
            ("fields".to_owned(), fields.into()),
        ]))
    }
}

fn field_change(pointer: &str, change: Change) -> FieldChange {
    let segments = pointer.split('/').skip(1);
    FieldChange {
        path: segments.map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect(),
        change,
    }
}

/// The leaves of a value with their JSON pointers. An empty list or map is a leaf.
fn leaves(value: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    collect_leaves(value, String::new(), &mut found);
    found
}

fn collect_leaves<'a>(value: &'a Value, path: String, found: &mut Vec<(String, &'a Value)>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                let segment = key.replace('~', "~0").replace('/', "~1");
                collect_leaves(value, format!("{path}/{segment}"), found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                collect_leaves(value, format!("{path}/{index}"), found);
            }
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => found.push((path, value)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEY: ShownKey = ShownKey([7; 32]);

    fn changes(then: Value, now: Value) -> Vec<String> {
        let stored = Shown::read(&Shown::of(&then, &KEY).unwrap().write()).unwrap();
        let changes = stored.changes(&now, &KEY).unwrap();
        changes.iter().map(|change| format!("{:?} {}", change.change, change.path.join("."))).collect()
    }

    #[test]
    fn the_difference_names_what_was_added_changed_and_removed() {
        let then =
            json!({ "command": "node", "args": ["a", "b"], "env": { "A": "1", "B/~": "2" }, "cwd": "/x" });
        let now = json!({ "command": "curl", "args": ["a", "c", "d"], "env": { "A": "1", "C": "3" } });
        assert_eq!(
            changes(then.clone(), now),
            [
                "Changed command",
                "Changed args.1",
                "Added args.2",
                "Added env.C",
                "Removed env.B/~",
                "Removed cwd"
            ],
        );
        assert!(changes(then.clone(), then).is_empty());
    }

    #[test]
    fn key_order_and_the_spelling_of_a_number_are_no_difference() {
        let now: Value = serde_json::from_str(r#"{"timeout":1.0,"command":"n"}"#).unwrap();
        assert!(changes(json!({ "command": "n", "timeout": 1 }), now).is_empty());
    }

    #[test]
    fn an_emptied_list_is_a_difference() {
        assert_eq!(
            changes(json!({ "args": ["a"] }), json!({ "args": [] })),
            ["Added args", "Removed args.0"]
        );
        assert_eq!(changes(json!({ "env": {} }), json!({ "env": [] })), ["Changed env"]);
    }

    #[test]
    fn no_value_and_no_plain_digest_of_one_is_stored() {
        let secret = "hunter2-hunter2";
        let text =
            Shown::of(&json!({ "env": { "A": secret, "B": secret } }), &KEY).unwrap().write().to_string();
        assert!(!text.contains(secret));
        assert!(!text.contains(&hex::encode(Sha256::digest(secret))[..32]));
        assert!(!text.contains(&hex::encode(KEY.0)[..16]));
        let shown = Shown::of(&json!({ "env": { "A": secret, "B": secret } }), &KEY).unwrap();
        assert_ne!(shown.fields[0].1, shown.fields[1].1, "equal values in two fields do not look equal");
    }

    #[test]
    fn what_is_kept_is_an_hmac_sha_256() {
        // Made with Python's `hmac` over the path, a zero byte and the canonical text of the value.
        assert_eq!(KEY.mac("/env/A", &json!("1")), "b12f7b896eeb9bdcb63c2e409b74b470");
    }

    #[test]
    fn under_another_key_nothing_is_said() {
        let shown = Shown::of(&json!({ "a": 1 }), &KEY).unwrap();
        assert_eq!(shown.changes(&json!({ "a": 1 }), &ShownKey([8; 32])), None);
    }

    #[test]
    fn the_key_is_never_printed() {
        assert_eq!(format!("{KEY:?}"), "•••");
    }

    #[test]
    fn an_entry_too_large_to_remember_is_not_remembered() {
        let args: Vec<u32> = (0..10_000).collect();
        assert_eq!(Shown::of(&json!({ "args": args }), &KEY), None);
    }
}
