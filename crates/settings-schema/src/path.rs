//! What stands at a path of a document? Owns reading and editing a value at a path of segments; knows no key by name.

use serde_json::{Map, Value};

/// What stands at a path.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found<'a> {
    /// Nothing, and every node above is an object or absent.
    Absent,
    /// This value.
    Value(&'a Value),
    /// Nothing can: above it stands something that is no object.
    Blocked,
}

/// Looks from the root down.
pub(crate) fn find<'a>(root: &'a Value, path: &[&str]) -> Found<'a> {
    match (root, path) {
        (root, []) => Found::Value(root),
        (Value::Object(members), path) => find_member(members, path),
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_), _) => {
            Found::Blocked
        }
    }
}

/// Looks from an object down; nothing stands at the empty path.
pub(crate) fn find_member<'a>(members: &'a Map<String, Value>, path: &[&str]) -> Found<'a> {
    let Some((name, below)) = path.split_first() else { return Found::Absent };
    members.get(*name).map_or(Found::Absent, |value| find(value, below))
}

/// Puts `value` at a path; whatever is no object above it gives way to one.
pub(crate) fn put(root: &mut Map<String, Value>, path: &[&str], value: Value) {
    match path {
        [] => {}
        [name] => {
            root.insert((*name).to_owned(), value);
        }
        [name, below @ ..] => {
            let node = root.entry((*name).to_owned()).or_insert_with(|| Value::Object(Map::new()));
            if !node.is_object() {
                *node = Value::Object(Map::new());
            }
            if let Value::Object(node) = node {
                put(node, below, value);
            }
        }
    }
}

/// Takes away what stands at a path, or the node above it that is no object, and every node that this empties.
pub(crate) fn take(root: &mut Map<String, Value>, path: &[&str]) {
    match path {
        [] => {}
        [name] => {
            root.shift_remove(*name);
        }
        [name, below @ ..] => match root.get_mut(*name) {
            Some(Value::Object(node)) => {
                let was_empty = node.is_empty();
                take(node, below);
                if node.is_empty() && !was_empty {
                    root.shift_remove(*name);
                }
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                root.shift_remove(*name);
            }
            None => {}
        },
    }
}
