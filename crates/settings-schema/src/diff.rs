//! Which leaf keys of two documents differ in meaning? Owns the semantic difference; knows no key by name.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::{
    key::KeyPath,
    value::{beside, same_value},
};

/// The keys at which `old` and `new` differ in meaning, each once, sorted. It recurses where either side is an object
/// (an absent side counts as an empty one), so an object that appears or goes is told by its leaves; an empty object
/// and a list are leaves. Layout, comments and the order of keys are no difference.
///
/// ```
/// use qwen_settings_schema::{KeyPath, changed_leaves};
/// use serde_json::json;
///
/// let changed = changed_leaves(&json!({}), &json!({"mcp": {"allowed": ["a"]}}));
/// assert_eq!(changed, [KeyPath::new(["mcp", "allowed"])]);
/// ```
#[must_use]
pub fn changed_leaves(old: &Value, new: &Value) -> Vec<KeyPath> {
    let mut found = BTreeSet::new();
    walk(&mut Vec::new(), Some(old), Some(new), &mut found);
    found.into_iter().collect()
}

/// Compares each pair of values once: of two objects their members are looked at, never first the whole.
fn walk<'a>(
    at: &mut Vec<&'a str>,
    old: Option<&'a Value>,
    new: Option<&'a Value>,
    found: &mut BTreeSet<KeyPath>,
) {
    let mut below = |key: &'a str, old: Option<&'a Value>, new: Option<&'a Value>| {
        at.push(key);
        walk(at, old, new, found);
        at.pop();
    };
    match (members(old), members(new)) {
        (Some(old), Some(new)) => {
            let mut in_both = 0;
            for (key, old, new) in beside(old, new) {
                in_both += usize::from(new.is_some());
                below(key, Some(old), new);
            }
            if in_both < new.len() {
                for (key, new) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
                    below(key, None, Some(new));
                }
            }
        }
        (Some(old), None) => old.iter().for_each(|(key, old)| below(key, Some(old), None)),
        (None, Some(new)) => new.iter().for_each(|(key, new)| below(key, None, Some(new))),
        (None, None) => {
            if !old.zip(new).is_some_and(|(old, new)| same_value(old, new)) {
                found.insert(KeyPath::new(at.iter().copied()));
            }
        }
    }
}

/// The members of a side; an empty object is a leaf.
fn members(side: Option<&Value>) -> Option<&Map<String, Value>> {
    side.and_then(Value::as_object).filter(|members| !members.is_empty())
}

#[cfg(test)]
mod tests;
