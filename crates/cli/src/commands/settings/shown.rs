//! Which settings count, and whose file says so? Values only; secrets are hidden before anybody renders them.

use std::sync::Arc;

use qwen_settings_schema::{KeyPath, Layer, SettingsSchema, SettingsScope};
use serde_json::{Map, Value, json};
use unicode_width::UnicodeWidthStr;

use crate::{
    hide::hidden,
    settings::{SourceFile, SourceId},
    text::{Cell, Paint, Tone, columns},
};

/// One value that counts, with where it comes from.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ShownSetting {
    key: KeyPath,
    value: Value,
    scope: SettingsScope,
    path: Option<String>,
    line: Option<u32>,
}

/// Every value that counts, or those at and below a key.
pub(super) fn shown_settings(
    schema: &dyn SettingsSchema,
    files: &[&Arc<SourceFile>],
    key: Option<&str>,
) -> Vec<ShownSetting> {
    let layers: Vec<Layer<'_>> = files
        .iter()
        .filter_map(|file| Some(Layer { scope: settings_scope(file.id)?, root: &file.root }))
        .collect();
    let leaves = schema.merge(&layers).leaves().into_iter();
    leaves
        .filter_map(|leaf| {
            let (key, value) = narrowed(leaf.key, leaf.value, key)?;
            let file = files.iter().find(|file| settings_scope(file.id) == Some(leaf.scope));
            Some(ShownSetting {
                value: hidden(key.segments(), &value, &[]),
                path: file.and_then(|file| file.path.as_deref()).map(crate::row::path_text),
                line: file.and_then(|file| file.positions.nearest(key.segments())).map(|place| place.line),
                scope: leaf.scope,
                key,
            })
        })
        .collect()
}

/// What of a value was asked for: all of it, a part of it, or nothing.
fn narrowed(key: KeyPath, value: Value, wanted: Option<&str>) -> Option<(KeyPath, Value)> {
    let Some(wanted) = wanted else { return Some((key, value)) };
    if stands_below(key.segments(), wanted) {
        return Some((key, value));
    }
    let inside = [key.segments().join("."), key.to_string()].into_iter().find_map(|spelt| {
        let rest = wanted.strip_prefix(&spelt)?.strip_prefix('.')?;
        find(&value, rest)
    });
    let (below, part) = inside?;
    Some((key.join(&KeyPath::new(below)), part.clone()))
}

fn settings_scope(id: SourceId) -> Option<SettingsScope> {
    match id {
        SourceId::SystemDefaults => Some(SettingsScope::SystemDefaults),
        SourceId::User => Some(SettingsScope::User),
        SourceId::Workspace => Some(SettingsScope::Workspace),
        SourceId::System => Some(SettingsScope::System),
        SourceId::McpJson
        | SourceId::Session(_)
        | SourceId::UserEnv
        | SourceId::Approvals
        | SourceId::TrustedFolders => None,
    }
}

/// Whether a key lies at or below what was typed. A name that holds dots is typed as it is, or in quotes.
fn stands_below(segments: &[String], wanted: &str) -> bool {
    (1..=segments.len()).any(|length| {
        let above = &segments[..length];
        above.join(".") == wanted || KeyPath::new(above.iter().cloned()).to_string() == wanted
    })
}

/// The JSON of `settings show`: with origins a list, without them the values as one document.
pub(super) fn shown_json(settings: &[ShownSetting], key: Option<&str>, origin: Origins) -> Value {
    match origin {
        Origins::Shown => settings
            .iter()
            .map(|shown| {
                json!({
                    "key": shown.key.segments(),
                    "value": shown.value,
                    "scope": shown.scope.as_str(),
                    "path": shown.path,
                    "line": shown.line,
                })
            })
            .collect(),
        Origins::Left => {
            let mut root = Value::Object(Map::new());
            for shown in settings {
                put(&mut root, shown.key.segments(), shown.value.clone());
            }
            match key {
                Some(wanted) => find(&root, wanted).map(|(_, value)| value.clone()).unwrap_or(root),
                None => root,
            }
        }
    }
}

/// Whether origins are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origins {
    /// Where each value comes from.
    Shown,
    /// The values alone.
    Left,
}

/// Puts a value at its key. A list that several scopes collect becomes one.
fn put(root: &mut Value, key: &[String], value: Value) {
    let Some((first, rest)) = key.split_first() else { return };
    let Value::Object(fields) = root else { return };
    let slot = fields
        .entry(first.clone())
        .or_insert_with(|| if rest.is_empty() { Value::Null } else { Value::Object(Map::new()) });
    if !rest.is_empty() {
        put(slot, rest, value);
        return;
    }
    match (slot, value) {
        (Value::Array(held), Value::Array(more)) => held.extend(more),
        (slot, value) => *slot = value,
    }
}

/// The value at a key as it was typed, with its segments.
fn find<'a>(value: &'a Value, wanted: &str) -> Option<(Vec<String>, &'a Value)> {
    let Value::Object(fields) = value else { return None };
    fields.iter().find_map(|(name, below)| {
        let quoted = KeyPath::new([name.clone()]).to_string();
        let rest = [name.as_str(), quoted.as_str()].into_iter().find_map(|name| wanted.strip_prefix(name))?;
        if rest.is_empty() {
            return Some((vec![name.clone()], below));
        }
        let (mut segments, found) = find(below, rest.strip_prefix('.')?)?;
        segments.insert(0, name.clone());
        Some((segments, found))
    })
}

/// The settings for people: one line each, or where a line would be wider than this many columns, where each comes from
/// on a line of its own.
pub(super) fn render_shown(settings: &[ShownSetting], origin: Origins, paint: Paint, width: usize) -> String {
    if settings.is_empty() {
        return "no file sets anything\n".to_owned();
    }
    let value = |shown: &ShownSetting| {
        vec![
            Cell::new(Tone::Strong, &shown.key.to_string()),
            Cell::new(Tone::Normal, &shown.value.to_string()),
        ]
    };
    let from = |shown: &ShownSetting| {
        let line = shown.line.map(|line| format!(":{line}")).unwrap_or_default();
        let place = shown.path.as_ref().map(|path| format!("{path}{line}")).unwrap_or_default();
        vec![Cell::new(Tone::Quiet, shown.scope.as_str()), Cell::new(Tone::Quiet, &place)]
    };
    let side_by_side = |shown| match origin {
        Origins::Shown => [value(shown), from(shown)].concat(),
        Origins::Left => value(shown),
    };
    let rows: Vec<Vec<Cell>> = settings.iter().map(side_by_side).collect();
    let widest = columns(&rows, Paint::Plain).lines().map(UnicodeWidthStr::width).max().unwrap_or(0);
    if widest <= width || origin == Origins::Left {
        return columns(&rows, paint);
    }
    let values = columns(&settings.iter().map(value).collect::<Vec<_>>(), paint);
    let origins = columns(&settings.iter().map(from).collect::<Vec<_>>(), paint);
    values.lines().zip(origins.lines()).map(|(value, origin)| format!("{value}\n    {origin}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn file(id: SourceId, root: Value) -> Arc<SourceFile> {
        Arc::new(fixtures::settings_file(id, &format!("/{}.json", id.scope()), root))
    }

    fn files() -> [Arc<SourceFile>; 2] {
        let user = json!({
            "ui": { "theme": "dark" },
            "mcp": { "excluded": ["x"] },
            "mcpServers": {
                "a.b": {
                    "command": "npx",
                    "args": ["--token", "hunter2hunter2", "https://u:p@e.example/?k=v"],
                    "env": { "T": "hunter2hunter2" },
                },
            },
        });
        let system = json!({ "mcp": { "excluded": ["y"] }, "security": { "auth": { "key": "hunter2" } } });
        [file(SourceId::User, user), file(SourceId::System, system)]
    }

    fn shown(key: Option<&str>) -> Vec<ShownSetting> {
        let files = files();
        shown_settings(&*qwen_settings_schema::schema(), &files.each_ref(), key)
    }

    #[test]
    fn merged_values_are_shown_with_the_file_that_says_so_and_without_secrets() {
        let text = render_shown(&shown(None), Origins::Shown, Paint::Plain, usize::MAX);
        assert!(!text.contains("hunter2"), "{text}");
        insta::assert_snapshot!(text);
        insta::assert_json_snapshot!(shown_json(&shown(None), None, Origins::Left));
        insta::assert_json_snapshot!(shown_json(&shown(Some("mcp")), Some("mcp"), Origins::Shown));
    }

    #[test]
    fn where_a_value_comes_from_stands_below_it_when_there_is_no_room_beside_it() {
        let shown = shown(Some("mcp.excluded"));
        let at = |origin, width| render_shown(&shown, origin, Paint::Plain, width);
        let below = "mcp.excluded  [\"x\"]\n    user    /user.json:1\n\
                     mcp.excluded  [\"y\"]\n    system  /system.json:1\n";
        let beside = at(Origins::Shown, 80);
        assert_eq!(beside.lines().count(), 2, "{beside}");
        assert_eq!(at(Origins::Shown, 30).replace(":1", "").replace(".json", ".json:1"), below);
        assert_eq!(at(Origins::Left, 10), "mcp.excluded  [\"x\"]\nmcp.excluded  [\"y\"]\n");
    }

    #[test]
    fn a_key_names_a_value_or_everything_below_it_and_dots_in_names_do_not_matter() {
        let value = |key: &str| shown_json(&shown(Some(key)), Some(key), Origins::Left);
        assert_eq!(value("ui.theme"), json!("dark"));
        assert_eq!(value("mcp.excluded"), json!(["x", "y"]));
        assert_eq!(value("mcpServers.a.b.command"), json!("npx"));
        assert_eq!(value(r#"mcpServers."a.b".command"#), json!("npx"));
        assert!(shown(Some("nothing")).is_empty());
    }
}
