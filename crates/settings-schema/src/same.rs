//! Do two values of one key mean the same? Owns the comparisons in which absent counts as empty or a list as a set.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    key::KeyPath,
    table::{Compare, setting},
    value::same_value,
};

/// Whether two values of `key` mean the same, `None` being an absent key. Server maps and `mcp.excluded` count absent
/// as empty, `mcp.allowed` does not; lists of names compare as sets.
///
/// ```
/// use qwen_settings_schema::{KeyPath, same_setting};
/// use serde_json::json;
///
/// let (allowed, empty) = (KeyPath::new(["mcp", "allowed"]), json!([]));
/// assert!(!same_setting(&allowed, None, Some(&empty)));
/// assert!(same_setting(&KeyPath::new(["mcp", "excluded"]), None, Some(&empty)));
/// ```
#[must_use]
pub fn same_setting(key: &KeyPath, old: Option<&Value>, new: Option<&Value>) -> bool {
    let compare = setting(key).map_or(Compare::ByValue, |row| row.compare);
    match (compare, old, new) {
        (_, None, None) => true,
        (Compare::AbsentIsEmpty, None, Some(Value::Object(only)))
        | (Compare::AbsentIsEmpty, Some(Value::Object(only)), None) => only.is_empty(),
        (Compare::SetAbsentIsEmpty, None, Some(Value::Array(only)))
        | (Compare::SetAbsentIsEmpty, Some(Value::Array(only)), None) => only.is_empty(),
        (Compare::Set | Compare::SetAbsentIsEmpty, Some(old), Some(new)) => match (names(old), names(new)) {
            (Some(old), Some(new)) => old == new,
            (_, _) => same_value(old, new),
        },
        (Compare::ByValue | Compare::AbsentIsEmpty, Some(old), Some(new)) => same_value(old, new),
        (
            Compare::ByValue | Compare::AbsentIsEmpty | Compare::Set | Compare::SetAbsentIsEmpty,
            Some(_),
            None,
        )
        | (
            Compare::ByValue | Compare::AbsentIsEmpty | Compare::Set | Compare::SetAbsentIsEmpty,
            None,
            Some(_),
        ) => false,
    }
}

fn names(list: &Value) -> Option<BTreeSet<&str>> {
    list.as_array()?.iter().map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_reference_rows_of_equality_hold() {
        let (servers, allowed, excluded) =
            (["mcpServers"].as_slice(), ["mcp", "allowed"].as_slice(), ["mcp", "excluded"].as_slice());
        for (id, key, old, new, same) in [
            (
                "EQ1",
                servers,
                Some(json!({"x": {"command": "a"}, "y": {"command": "b"}})),
                Some(json!({"y": {"command": "b"}, "x": {"command": "a"}})),
                true,
            ),
            ("EQ2", servers, None, Some(json!({})), true),
            (
                "EQ3",
                servers,
                Some(json!({"x": {"command": "a"}})),
                Some(json!({"x": {"command": "b"}})),
                false,
            ),
            (
                "EQ5",
                servers,
                Some(json!({"x": {"args": ["--a", "--b"]}})),
                Some(json!({"x": {"args": ["--b", "--a"]}})),
                false,
            ),
            ("EQ6", allowed, Some(json!(["a", "b"])), Some(json!(["b", "a"])), true),
            ("EQ7", excluded, None, Some(json!([])), true),
            ("EQ9", allowed, None, Some(json!([])), false),
            ("EQ9", allowed, Some(json!([])), Some(json!([])), true),
            ("EQ9", allowed, Some(json!(["a"])), Some(json!(["a"])), true),
            (
                "EQ10",
                servers,
                Some(json!({"x": {"env": {"A": "1"}}})),
                Some(json!({"x": {"env": {"A": "2"}}})),
                false,
            ),
            (
                "EQ10",
                servers,
                Some(json!({"x": {"headers": {"A": "1"}}})),
                Some(json!({"x": {"headers": {"A": "1", "B": "1"}}})),
                false,
            ),
            ("EQ11", allowed, Some(json!(["a", "a"])), Some(json!(["a"])), true),
            ("", excluded, None, Some(json!(["a"])), false),
            ("", servers, None, Some(json!({"x": {}})), false),
            ("", allowed, None, Some(json!(null)), false),
            ("", excluded, Some(json!("a")), Some(json!(["a"])), false),
        ] {
            let key = KeyPath::new(key.iter().copied());
            assert_eq!(same_setting(&key, old.as_ref(), new.as_ref()), same, "{id} {old:?} and {new:?}");
            assert_eq!(same_setting(&key, new.as_ref(), old.as_ref()), same, "{id} {new:?} and {old:?}");
        }
    }
}
