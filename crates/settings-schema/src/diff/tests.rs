//! Documents that differ a little, and exactly the leaves that are told.

use serde_json::json;

use super::*;

#[test]
fn each_edit_is_told_by_exactly_its_leaves() {
    for (old, new, leaves) in [
        (json!({"ui": {"theme": "dark"}}), json!({"ui": {"theme": "light"}}), vec![vec!["ui", "theme"]]),
        (json!({}), json!({"mcp": {"excluded": ["a"]}}), vec![vec!["mcp", "excluded"]]),
    ] {
        let leaves: Vec<KeyPath> = leaves.into_iter().map(KeyPath::new).collect();
        assert_eq!(changed_leaves(&old, &new), leaves, "{old} to {new}");
        assert_eq!(changed_leaves(&new, &old), leaves, "{new} to {old}");
    }
}
