//! A wrong type never admits more.

use serde_json::json;

use super::*;
use crate::{Layer, merge};

fn names(list: &[&str]) -> Setting<Vec<String>> {
    Setting::Set(list.iter().map(|name| (*name).to_owned()).collect())
}

#[test]
fn a_restriction_is_set_absent_or_wrong() {
    for (root, allowed, excluded, folder_trust) in [
        (json!({}), Setting::Absent, Setting::Absent, Setting::Absent),
        (json!({"mcp": {}, "security": {}}), Setting::Absent, Setting::Absent, Setting::Absent),
        (json!({"mcp": {"allowed": []}}), names(&[]), Setting::Absent, Setting::Absent),
        (
            json!({"mcp": {"allowed": ["a"], "excluded": ["b"]}}),
            names(&["a"]),
            names(&["b"]),
            Setting::Absent,
        ),
        (json!({"mcp": {"allowed": "a"}}), Setting::Wrong, Setting::Absent, Setting::Absent),
        (json!({"mcp": {"allowed": null}}), Setting::Wrong, Setting::Absent, Setting::Absent),
        (json!({"mcp": {"allowed": ["a", 1]}}), Setting::Wrong, Setting::Absent, Setting::Absent),
        (json!({"mcp": {"excluded": {"0": "a"}}}), Setting::Absent, Setting::Wrong, Setting::Absent),
        (json!({"mcp": null}), Setting::Wrong, Setting::Wrong, Setting::Absent),
        (json!({"mcp": []}), Setting::Wrong, Setting::Wrong, Setting::Absent),
        (json!({"security": 1}), Setting::Absent, Setting::Absent, Setting::Wrong),
        (json!({"security": {"folderTrust": true}}), Setting::Absent, Setting::Absent, Setting::Wrong),
        (
            json!({"security": {"folderTrust": {"enabled": "false"}}}),
            Setting::Absent,
            Setting::Absent,
            Setting::Wrong,
        ),
        (
            json!({"security": {"folderTrust": {"enabled": false}}}),
            Setting::Absent,
            Setting::Absent,
            Setting::Set(FolderTrust::Off),
        ),
    ] {
        let expected = Restricting { allowed, excluded, folder_trust };
        assert_eq!(restricting(&root), expected, "{root}");
    }
}

#[test]
fn a_wrong_restriction_is_the_strictest_at_start_and_the_last_good_one_later() {
    let last = json!({"mcp": {"allowed": ["a"]}, "security": {"folderTrust": {"enabled": false}}, "ui": 1});
    for (root, at_start, later) in [
        (
            json!({"mcp": {"allowed": "a", "excluded": ["b"]}}),
            json!({"mcp": {"allowed": [], "excluded": ["b"]}}),
            json!({"mcp": {"allowed": ["a"], "excluded": ["b"]}}),
        ),
        (
            json!({"mcp": {"excluded": [1], "watch": "poll"}}),
            json!({"mcp": {"excluded": ["*"], "watch": "poll"}}),
            json!({"mcp": {"watch": "poll"}}),
        ),
        (
            json!({"mcp": null, "ui": 2}),
            json!({"mcp": {"allowed": [], "excluded": ["*"]}, "ui": 2}),
            json!({"mcp": {"allowed": ["a"]}, "ui": 2}),
        ),
        (
            json!({"security": {"folderTrust": null, "auth": 1}}),
            json!({"security": {"folderTrust": {"enabled": true}, "auth": 1}}),
            json!({"security": {"folderTrust": {"enabled": false}, "auth": 1}}),
        ),
        (
            json!({"mcp": {"allowed": ["x"]}}),
            json!({"mcp": {"allowed": ["x"]}}),
            json!({"mcp": {"allowed": ["x"]}}),
        ),
    ] {
        assert_eq!(mend_restricting(root.clone(), SettingsScope::User, None), at_start, "{root}");
        assert_eq!(mend_restricting(root.clone(), SettingsScope::User, Some(&last)), later, "{root}");
    }
}

#[test]
fn a_node_that_was_unset_before_it_broke_is_unset_again() {
    let broken = json!({"mcp": 5, "ui": {}});
    assert_eq!(mend_restricting(broken.clone(), SettingsScope::User, Some(&json!({}))), json!({"ui": {}}));
}

#[test]
fn a_project_cannot_switch_the_trust_check_on_by_breaking_it() {
    let broken = json!({"security": {"folderTrust": "no"}, "mcp": {"allowed": 1}});
    assert_eq!(
        mend_restricting(broken.clone(), SettingsScope::Workspace, None),
        json!({"security": {"folderTrust": "no"}, "mcp": {"allowed": []}})
    );
}

#[test]
fn every_wrong_type_of_every_restricting_key_restricts_at_least_as_much_as_no_value_would() {
    let wrong = [json!(null), json!(1), json!("a"), json!({"a": 1}), json!([1]), json!(["a", null])];
    for key in RESTRICTING {
        for depth in 1..=key.len() {
            for value in &wrong {
                let mut root = serde_json::Map::new();
                put(&mut root, &key[..depth], value.clone());
                let root = Value::Object(root);
                if depth < key.len() && value.is_object() {
                    continue;
                }
                let merged = merge(&[Layer { scope: SettingsScope::User, root: &root }]);
                let strict = match key {
                    ALLOWED => merged.allowed.iter().any(|list| list.patterns.is_empty()),
                    EXCLUDED => merged.excluded.iter().any(|list| list.patterns == ["*"]),
                    _ => merged.options.folder_trust == FolderTrust::On,
                };
                assert!(strict, "{root}");
            }
        }
    }
}
