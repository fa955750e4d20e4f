//! Which values hold for the life of the process? Keys that need a restart keep what they were at start, so that an
//! edit of one cannot slip in with the next edit of something else. It must not know what the keys mean.

use std::{collections::BTreeMap, sync::Arc};

use qwen_settings_schema::{KeyPath, SettingsSchema};
use serde_json::{Map, Value};

use super::changes::keys_need_restart;
use crate::settings::{Broken, Snapshot, SourceFile, SourceId};

/// What each settings file said when the session first knew what it says.
#[derive(Clone, Debug, Default)]
pub(super) struct Frozen {
    at_start: BTreeMap<SourceId, Arc<Value>>,
}

impl Frozen {
    /// The snapshot as it counts in this session. A file that nobody could read at start says what holds once it is
    /// mended: what restricts may stand there.
    pub(super) fn apply(&mut self, snapshot: &Snapshot, schema: &dyn SettingsSchema) -> Snapshot {
        let sources = snapshot.sources.iter().map(|(&id, file)| (id, self.hold(file, schema))).collect();
        Snapshot { sources }
    }

    fn hold(&mut self, file: &Arc<SourceFile>, schema: &dyn SettingsSchema) -> Arc<SourceFile> {
        if !keys_need_restart(file.id) || file.broken == Some(Broken::Empty) {
            return Arc::clone(file);
        }
        let at_start = self.at_start.entry(file.id).or_insert_with(|| Arc::clone(&file.root));
        let moved = schema.changed_leaves(at_start, &file.root);
        let held: Vec<&KeyPath> = moved.iter().filter(|key| schema.requires_restart(key)).collect();
        if held.is_empty() {
            return Arc::clone(file);
        }
        let mut root = (*file.root).clone();
        for key in held {
            put(&mut root, key.segments(), get(at_start, key.segments()));
        }
        Arc::new(SourceFile { root: Arc::new(root), ..(**file).clone() })
    }
}

fn get<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, segment| value.as_object()?.get(segment))
}

/// Sets or removes what stands at `path`; what is in the way and is no object gives way.
fn put(value: &mut Value, path: &[String], wanted: Option<&Value>) {
    let Some((segment, rest)) = path.split_first() else {
        if let Some(wanted) = wanted {
            *value = wanted.clone();
        }
        return;
    };
    match (value.as_object_mut(), wanted) {
        (None, None) => {}
        (None, Some(_)) => {
            *value = Value::Object(Map::new());
            put(value, path, wanted);
        }
        (Some(map), None) if rest.is_empty() => {
            map.shift_remove(segment);
        }
        (Some(map), None) => {
            if let Some(inner) = map.get_mut(segment) {
                put(inner, rest, wanted);
            }
        }
        (Some(map), Some(_)) => put(map.entry(segment.clone()).or_insert(Value::Null), rest, wanted),
    }
}

#[cfg(test)]
mod tests {
    use qwen_settings_schema::schema;
    use serde_json::json;

    use super::*;
    use crate::settings::{Content, Positions, Presence};

    fn snapshot(id: SourceId, broken: Option<Broken>, root: Value) -> Snapshot {
        let file = SourceFile {
            id,
            path: None,
            resolved_path: None,
            presence: Presence::Present,
            root: Arc::new(root),
            content: Content::Settings,
            positions: Arc::new(Positions::default()),
            broken,
            digest: 0,
            diagnostics: Vec::new(),
        };
        Snapshot::default().with(Arc::new(file))
    }

    /// What counts of the last of these contents of the user's settings.
    fn counts(contents: &[(Option<Broken>, Value)]) -> Value {
        let mut frozen = Frozen::default();
        let mut counts = Value::Null;
        for (broken, root) in contents {
            let held = frozen.apply(&snapshot(SourceId::User, *broken, root.clone()), &*schema());
            counts = (*held.get(SourceId::User).unwrap().root).clone();
        }
        counts
    }

    #[test]
    fn a_key_that_needs_a_restart_keeps_its_value_and_the_others_do_not() {
        let table = [
            (
                json!({"mcp": {"serverCommand": "a", "allowed": ["x"]}}),
                json!({"mcp": {"serverCommand": "b", "allowed": ["y"]}}),
                json!({"mcp": {"serverCommand": "a", "allowed": ["y"]}}),
            ),
            (
                json!({}),
                json!({"mcp": {"serverCommand": "b", "excluded": ["y"]}}),
                json!({"mcp": {"excluded": ["y"]}}),
            ),
            (
                json!({"mcp": {"serverCommand": "a"}, "mcpServers": {"x": {"command": "c"}}}),
                json!({"mcpServers": {"x": {"command": "d"}}}),
                json!({"mcp": {"serverCommand": "a"}, "mcpServers": {"x": {"command": "d"}}}),
            ),
            (
                json!({"security": {"folderTrust": {"enabled": true}}}),
                json!({"security": 5, "ui": {"theme": "dark"}}),
                json!({"security": {"folderTrust": {"enabled": true}}, "ui": {"theme": "dark"}}),
            ),
        ];
        for (at_start, now, counting) in table {
            let seen = counts(&[(None, at_start.clone()), (None, now.clone())]);
            assert!(schema().changed_leaves(&seen, &counting).is_empty(), "{at_start} {now}: {seen}");
        }
    }

    #[test]
    fn a_file_that_could_not_be_read_at_start_says_what_holds_once_it_is_mended() {
        let trust = |enabled: bool| json!({"security": {"folderTrust": {"enabled": enabled}}});
        let seen = counts(&[(Some(Broken::Empty), json!({})), (None, trust(true)), (None, trust(false))]);
        assert_eq!(seen, trust(true));
    }

    #[test]
    fn variables_and_project_servers_hold_no_key_that_needs_a_restart() {
        for id in [SourceId::UserEnv, SourceId::McpJson, SourceId::Session(0)] {
            let mut frozen = Frozen::default();
            frozen.apply(&snapshot(id, None, json!({"mcp": "1"})), &*schema());
            let held = frozen.apply(&snapshot(id, None, json!({"mcp": "2"})), &*schema());
            assert_eq!(*held.get(id).unwrap().root, json!({"mcp": "2"}), "{id:?}");
        }
    }
}
