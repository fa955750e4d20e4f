//! Which leaf keys of two documents differ in meaning? Owns the semantic difference; knows no key by name.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::{key::KeyPath, value::same_value};

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

fn walk<'a>(
    at: &mut Vec<&'a str>,
    old: Option<&'a Value>,
    new: Option<&'a Value>,
    found: &mut BTreeSet<KeyPath>,
) {
    if let (Some(old), Some(new)) = (old, new)
        && same_value(old, new)
    {
        return;
    }
    let (inner_old, inner_new) = (members(old), members(new));
    let keys: BTreeSet<&'a str> =
        inner_old.into_iter().chain(inner_new).flat_map(|map| map.keys().map(String::as_str)).collect();
    if keys.is_empty() {
        found.insert(KeyPath::new(at.iter().copied()));
        return;
    }
    for key in keys {
        let (old, new) = (inner_old.and_then(|map| map.get(key)), inner_new.and_then(|map| map.get(key)));
        if old.is_some() || new.is_some() {
            at.push(key);
            walk(at, old, new, found);
            at.pop();
        }
    }
}

fn members(side: Option<&Value>) -> Option<&Map<String, Value>> {
    side.and_then(Value::as_object)
}

#[cfg(test)]
mod tests;
