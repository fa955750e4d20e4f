//! Layers that differ a little, and what counts.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::restrict::FolderTrust;
use SettingsScope::{System, SystemDefaults, User, Workspace};

fn merged(layers: &[(SettingsScope, Value)]) -> Merged<'static> {
    let layers: Vec<Layer<'_>> = layers.iter().map(|(scope, root)| Layer { scope: *scope, root }).collect();
    merge(&layers).into_owned()
}

/// What is taken name by name at `key`, as one object.
fn named(merged: &Merged<'_>, at: &str) -> Value {
    let leaves = merged.leaves().into_iter().filter_map(|leaf| match leaf.key.segments() {
        [first, name] if first == at => Some((name.clone(), leaf.value)),
        _ => None,
    });
    Value::Object(leaves.collect())
}

fn lists(lists: &[ScopedList]) -> Vec<(SettingsScope, Vec<&str>)> {
    lists.iter().map(|list| (list.scope, list.patterns.iter().map(String::as_str).collect())).collect()
}

fn key(segments: &[&str]) -> KeyPath {
    KeyPath::new(segments.iter().copied())
}

#[test]
fn the_higher_scope_wins_key_by_key_in_whatever_order_the_layers_come() {
    let merged = merged(&[
        (System, json!({"ui": {"theme": "system"}})),
        (SystemDefaults, json!({"ui": {"theme": "defaults", "tips": true, "deep": {"x": 1}}})),
        (Workspace, json!({"ui": {"deep": {"y": 2}}, "own": [1]})),
        (User, json!({"ui": {"theme": "user"}, "own": {"gone": 1}})),
    ]);
    assert_eq!(
        Value::Object(merged.value.clone()),
        json!({"ui": {"theme": "system", "tips": true, "deep": {"x": 1, "y": 2}}, "own": [1]})
    );
    for (segments, scope) in [
        (&["ui", "theme"] as &[&str], Some(System)),
        (&["ui", "tips"], Some(SystemDefaults)),
        (&["ui", "deep", "x"], Some(SystemDefaults)),
        (&["ui", "deep", "y"], Some(Workspace)),
        (&["own"], Some(Workspace)),
        (&["own", "gone"], Some(Workspace)),
        (&["ui"], None),
        (&["nowhere"], None),
    ] {
        assert_eq!(merged.origin(&key(segments)), scope, "{segments:?}");
    }
}

#[test]
fn a_value_that_became_a_node_in_a_higher_scope_leaves_nothing_behind() {
    for lower in [json!(5), json!({}), json!([1])] {
        let merged = merged(&[(User, json!({"own": lower})), (System, json!({"own": {"x": 1}}))]);
        let leaves = merged.leaves();
        assert_eq!(Value::Object(merged.value), json!({"own": {"x": 1}}));
        assert_eq!(leaves, [Leaf { key: key(&["own", "x"]), value: json!(1), scope: System }]);
    }
}

#[test]
fn a_server_is_taken_whole_from_the_highest_scope_that_names_it() {
    let merged = merged(&[
        (
            User,
            json!({"mcpServers": {"a": {"command": "u", "trust": true}, "b": {"command": "u"}, "__proto__": {"command": "p"}}}),
        ),
        (Workspace, json!({"mcpServers": {"a": {"command": "w"}, "": null}})),
        (System, json!({"mcpServers": {}})),
    ]);
    assert_eq!(
        named(&merged, "mcpServers"),
        json!({"a": {"command": "w"}, "b": {"command": "u"}, "__proto__": {"command": "p"}, "": null})
    );
    assert_eq!(merged.origin(&key(&["mcpServers", "a", "command"])), Some(Workspace));
    assert_eq!(merged.origin(&key(&["mcpServers", "b"])), Some(User));
    assert_eq!(merged.origin(&key(&["mcpServers", "__proto__"])), Some(User));
}

#[test]
fn each_scope_keeps_its_allow_list_and_the_defaults_yield_to_user_and_system() {
    for (layers, expected) in [
        (vec![], vec![]),
        (vec![(SystemDefaults, json!(["d"]))], vec![(SystemDefaults, vec!["d"])]),
        (vec![(SystemDefaults, json!(["d"])), (User, json!(["u"]))], vec![(User, vec!["u"])]),
        (vec![(SystemDefaults, json!(["d"])), (System, json!([]))], vec![(System, vec![])]),
        (
            vec![(SystemDefaults, json!(["d"])), (Workspace, json!(["w"]))],
            vec![(SystemDefaults, vec!["d"]), (Workspace, vec!["w"])],
        ),
        (
            vec![(User, json!(["u", "u"])), (Workspace, json!(["w"])), (System, json!(["s"]))],
            vec![(User, vec!["u", "u"]), (Workspace, vec!["w"]), (System, vec!["s"])],
        ),
    ] {
        let layers: Vec<_> =
            layers.into_iter().map(|(scope, list)| (scope, json!({"mcp": {"allowed": list}}))).collect();
        let merged = merged(&layers);
        assert_eq!(lists(&merged.allowed), expected);
        assert!(merged.value.get("mcp").is_none_or(|mcp| mcp.get("allowed").is_none()));
        assert_eq!(
            merged.leaves().iter().map(|leaf| (leaf.key.clone(), leaf.scope)).collect::<Vec<_>>(),
            expected.iter().map(|(scope, _)| (key(&["mcp", "allowed"]), *scope)).collect::<Vec<_>>()
        );
    }
}

#[test]
fn exclusions_of_all_scopes_count_together() {
    let merged = merged(&[
        (User, json!({"mcp": {"excluded": ["a", "b"]}})),
        (Workspace, json!({"mcp": {"excluded": ["b", "c"]}})),
    ]);
    assert_eq!(merged.value["mcp"], json!({"excluded": ["a", "b", "c"]}));
    assert_eq!(lists(&merged.excluded), [(User, vec!["a", "b"]), (Workspace, vec!["b", "c"])]);
}

#[test]
fn a_project_does_not_set_what_is_not_its_to_set() {
    let merged = merged(&[
        (User, json!({"mcp": {"watch": "poll"}, "env": {"A": "user"}})),
        (
            Workspace,
            json!({
                "mcp": {"autoReload": false, "reloadDebounceMs": 5000, "watch": "auto", "toolIdleTimeoutMs": 20000},
                "security": {"folderTrust": {"enabled": true}},
                "env": {"A": "workspace", "B": "b"},
            }),
        ),
    ]);
    assert_eq!(
        merged.options,
        Options {
            auto_reload: AutoReload::On,
            reload_debounce_ms: 300,
            watch: WatchMode::Poll,
            tool_idle_timeout_ms: 20_000,
            folder_trust: FolderTrust::Off,
        }
    );
    assert_eq!(named(&merged, "env"), json!({"A": "user"}));
}

#[test]
fn a_value_of_the_wrong_type_gives_way_to_the_one_below_it() {
    let merged = merged(&[
        (
            User,
            json!({"mcp": {"reloadDebounceMs": 100, "watch": "poll"}, "mcpServers": {"a": {"command": "x"}}, "env": {"A": "1"}}),
        ),
        (
            System,
            json!({"mcp": {"reloadDebounceMs": "9", "watch": null, "serverCommand": 1}, "mcpServers": [], "env": {"A": 2, "B": "3"}}),
        ),
    ]);
    assert_eq!(merged.options.reload_debounce_ms, 100);
    assert_eq!(merged.options.watch, WatchMode::Poll);
    assert_eq!(named(&merged, "mcpServers"), json!({"a": {"command": "x"}}));
    assert_eq!(named(&merged, "env"), json!({"A": "1", "B": "3"}));
    assert_eq!(merged.value["mcp"], json!({"reloadDebounceMs": 100, "watch": "poll"}));
}

#[test]
fn a_number_outside_its_range_is_its_nearest_bound() {
    for (written, counts) in [
        (json!(-1), 0),
        (json!(0), 0),
        (json!(250.0), 250),
        (json!(999_999), 5000),
        (json!(0.5), 300),
        (json!(1e300), 300),
        (json!(9_007_199_254_740_993_i64), 300),
        (json!("100"), 300),
        (json!(null), 300),
    ] {
        let merged = merged(&[(User, json!({"mcp": {"reloadDebounceMs": written}}))]);
        assert_eq!(merged.options.reload_debounce_ms, counts, "{written}");
    }
}

#[test]
fn an_empty_object_takes_nothing_away() {
    let merged = merged(&[
        (User, json!({"ui": {"theme": "dark"}, "mcpServers": {"a": {}}})),
        (System, json!({"ui": {}, "mcpServers": {}, "model": {}})),
    ]);
    assert_eq!(named(&merged, "mcpServers"), json!({"a": {}}));
    assert_eq!(merged.origin(&key(&["mcpServers"])), None);
    assert_eq!(Value::Object(merged.value), json!({"ui": {"theme": "dark"}, "model": {}}));
}

#[test]
fn where_nobody_names_anything_the_empty_object_of_the_lowest_scope_stands() {
    let merged = merged(&[(System, json!({"mcpServers": {}})), (User, json!({"mcpServers": {}}))]);
    assert_eq!(merged.leaves(), [Leaf { key: key(&["mcpServers"]), value: json!({}), scope: User }]);
    assert_eq!(merged.origin(&key(&["mcpServers"])), Some(User));
}

#[test]
fn what_is_taken_name_by_name_is_looked_up_from_the_highest_scope_down() {
    let (user, system) = (
        json!({"mcpServers": {"a": {"command": "u", "args": []}, "b": {"command": "u"}}, "env": {"A": "1", "B": 2}}),
        json!({"mcpServers": {"a": {"command": "s"}}, "ui": {"theme": "dark"}}),
    );
    let layers = [Layer { scope: System, root: &system }, Layer { scope: User, root: &user }];
    let merged = merge(&layers);
    for (path, value) in [
        (&["mcpServers", "a"] as &[&str], Some(json!({"command": "s"}))),
        (&["mcpServers", "a", "args"], None),
        (&["mcpServers", "b", "command"], Some(json!("u"))),
        (&["mcpServers", "c"], None),
        (&["mcpServers"], None),
        (&["env", "A"], Some(json!("1"))),
        (&["env", "B"], None),
        (&["ui", "theme"], Some(json!("dark"))),
        (&["ui", "theme", "x"], None),
        (&[], None),
    ] {
        assert_eq!(merged.get(path), value.as_ref(), "{path:?}");
    }
    assert_eq!(merged.clone().into_owned(), merged);
}

#[test]
fn what_is_taken_name_by_name_stands_at_the_top() {
    let rows = SETTINGS.iter().filter(|row| row.merge == MergeRule::ByName);
    assert!(rows.clone().count() > 1);
    for row in rows {
        assert_eq!(row.key.len(), 1, "{:?}", row.key);
    }
}

#[test]
fn an_empty_object_above_collected_lists_is_no_value_of_its_own() {
    let merged = self::merged(&[(User, json!({"mcp": {"excluded": ["x"]}})), (System, json!({"mcp": {}}))]);
    let lists =
        merged.leaves().into_iter().map(|leaf| (leaf.key, leaf.value, leaf.scope)).collect::<Vec<_>>();
    assert_eq!(lists, [(key(&["mcp", "excluded"]), json!(["x"]), User)]);
}

/// A document of one scope, the kind that people write.
fn document() -> impl Strategy<Value = Value> {
    let list =
        || prop::option::of(prop::collection::vec(prop::sample::select(vec!["a", "b", "*", ""]), 0..3));
    let wrong = prop::option::of(prop::sample::select(vec![json!(null), json!(5), json!("x"), json!([1])]));
    (list(), list(), wrong, prop::sample::select(vec!["allowed", "excluded", "autoReload", "unknown"]))
        .prop_map(|(allowed, excluded, wrong, name)| {
            let mut mcp = Map::new();
            for (name, list) in [("allowed", allowed), ("excluded", excluded)] {
                if let Some(list) = list {
                    mcp.insert(name.to_owned(), Value::from(list));
                }
            }
            if let Some(wrong) = wrong {
                mcp.insert(name.to_owned(), wrong);
            }
            json!({"mcp": mcp, "ui": {"theme": name}})
        })
}

proptest! {
    #[test]
    fn a_further_scope_never_lifts_a_restriction_of_user_or_system(
        user in document(), workspace in document(), system in document(),
    ) {
        let alone = merged(&[(User, user.clone()), (System, system.clone())]);
        let more = merged(&[(User, user), (Workspace, workspace), (System, system)]);
        prop_assert!(alone.allowed.iter().all(|list| more.allowed.contains(list)));
        prop_assert!(alone.excluded.iter().all(|list| more.excluded.contains(list)));
        prop_assert_eq!(alone.options.folder_trust, more.options.folder_trust);
    }

    #[test]
    fn each_leaf_is_the_value_that_stands_there_and_its_scope_is_its_origin(
        user in document(), system in document(),
    ) {
        let merged = merged(&[(User, user), (System, system)]);
        let root = Value::Object(merged.value.clone());
        for leaf in merged.leaves().iter().filter(|leaf| leaf.key.segments()[0] != "mcp") {
            match crate::path::find(&root, &segments(&leaf.key)) {
                Found::Value(value) => prop_assert_eq!(value, &leaf.value),
                Found::Absent | Found::Blocked => prop_assert!(false, "{} stands nowhere", leaf.key),
            }
            prop_assert_eq!(merged.origin(&leaf.key), Some(leaf.scope));
        }
    }

    #[test]
    fn one_layer_merged_again_is_the_same(document in document()) {
        let once = merged(&[(User, document)]);
        let mut again = once.value.clone();
        if let Some(list) = once.allowed.first() {
            put(&mut again, &["mcp", "allowed"], Value::from(list.patterns.clone()));
        }
        let twice = merged(&[(User, Value::Object(again))]);
        prop_assert_eq!(once.value, twice.value);
        prop_assert_eq!(once.allowed, twice.allowed);
    }
}
