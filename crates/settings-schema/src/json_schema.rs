//! What does an editor need to know to check a settings file while it is typed? Owns the JSON Schema, made from the
//! two tables; adds no rule of its own.

use serde_json::{Map, Value, json};

use crate::{
    fields::{FIELDS, OAUTH_FIELDS},
    table::{Kind, SETTINGS, SettingRow},
};

/// The JSON Schema (2020-12) of a settings file, server entries included. Unknown keys are allowed, as they are when a
/// file is read; a number outside its range is refused, though reading takes the nearest bound.
///
/// ```
/// let schema = qwen_settings_schema::json_schema();
/// assert_eq!(schema["properties"]["mcp"]["properties"]["reloadDebounceMs"]["maximum"], 5000);
/// ```
#[must_use]
pub fn json_schema() -> Value {
    let mut members = Map::new();
    members.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    members.insert("title".to_owned(), json!("qwen settings"));
    members.insert(
        "description".to_owned(),
        json!("Settings of the qwen MCP runtime. Comments and trailing commas are allowed."),
    );
    members.insert("type".to_owned(), json!("object"));
    members.insert("properties".to_owned(), Value::Object(properties_below(&[])));
    members.insert("$defs".to_owned(), json!({ "server": server() }));
    Value::Object(members)
}

/// The settings directly below a node.
fn properties_below(node: &[&str]) -> Map<String, Value> {
    let below = |row: &&SettingRow| row.key.len() == node.len() + 1 && row.key.starts_with(node);
    SETTINGS
        .iter()
        .filter(below)
        .map(|row| {
            let mut schema = described(of_kind(row.kind), row.text, row.example);
            let deeper = properties_below(row.key);
            if !deeper.is_empty() {
                schema.insert("properties".to_owned(), Value::Object(deeper));
            }
            (row.key[node.len()].to_owned(), Value::Object(schema))
        })
        .collect()
}

fn server() -> Value {
    let mut oauth: Map<String, Value> = Map::new();
    for (name, kind, text) in OAUTH_FIELDS {
        let mut schema = of_kind(*kind);
        schema.insert("description".to_owned(), json!(text));
        oauth.insert((*name).to_owned(), Value::Object(schema));
    }
    let fields: Map<String, Value> = FIELDS
        .iter()
        .map(|field| {
            let mut schema = described(of_kind(field.kind), field.text, field.example);
            if ["command", "httpUrl", "url", "serverUrl"].contains(&field.name) {
                schema.insert("minLength".to_owned(), json!(1));
            }
            if field.name == "oauth" {
                schema.insert("properties".to_owned(), Value::Object(std::mem::take(&mut oauth)));
            }
            (field.name.to_owned(), Value::Object(schema))
        })
        .collect();
    let both = |other: &str| json!({ "not": { "required": ["command", other] } });
    let urls = ["httpUrl", "url", "serverUrl"].map(|url| json!({ "required": [url] }));
    let stdio_url = json!({ "not": {
        "required": ["type"], "properties": { "type": { "const": "stdio" } }, "anyOf": urls,
    } });
    json!({
        "type": "object",
        "description": "What to run or where to connect: `command`, or `httpUrl`, or `url`.",
        "properties": fields,
        "anyOf": [
            { "required": ["command"] },
            { "required": ["httpUrl"] },
            { "required": ["url"] },
            { "required": ["serverUrl"] },
            { "properties": { "disabled": { "const": true } }, "required": ["disabled"] },
            { "properties": { "enabled": { "const": false } }, "required": ["enabled"] },
        ],
        "allOf": [both("httpUrl"), both("url"), both("serverUrl"), stdio_url, { "not": { "required": ["tcp"] } }],
    })
}

fn described(mut schema: Map<String, Value>, text: &str, example: &str) -> Map<String, Value> {
    schema.insert("description".to_owned(), json!(text));
    if let Ok(example) = serde_json::from_str::<Value>(example) {
        schema.insert("examples".to_owned(), json!([example]));
    }
    schema
}

/// What a kind is in JSON Schema.
fn of_kind(kind: Kind) -> Map<String, Value> {
    let (schema, default) = match kind {
        Kind::Boolean { default } => (json!({ "type": "boolean" }), default.map(Value::from)),
        Kind::Integer(range) => (
            json!({ "type": "integer", "minimum": range.min, "maximum": range.max }),
            range.default.map(Value::from),
        ),
        Kind::Text => (json!({ "type": "string" }), None),
        Kind::Word { words, aliases: [], default } => (json!({ "enum": words }), default.map(Value::from)),
        Kind::Word { words, aliases, default } => {
            let spellings: Vec<String> = aliases.iter().map(|(alias, _)| any_case(alias)).collect();
            let any = json!({ "type": "string", "pattern": format!("^({})$", spellings.join("|")) });
            (json!({ "anyOf": [{ "enum": words }, any] }), default.map(Value::from))
        }
        Kind::Names | Kind::Texts => (json!({ "type": "array", "items": { "type": "string" } }), None),
        Kind::TextMap => (json!({ "type": "object", "additionalProperties": { "type": "string" } }), None),
        Kind::Object => (json!({ "type": "object" }), None),
        Kind::Servers => {
            (json!({ "type": "object", "additionalProperties": { "$ref": "#/$defs/server" } }), None)
        }
        Kind::Any => (json!({}), None),
    };
    let mut schema = match schema {
        Value::Object(schema) => schema,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    };
    if let Some(default) = default {
        schema.insert("default".to_owned(), default);
    }
    schema
}

/// A pattern for a word in any letter case; JSON Schema's patterns have no flag for it.
fn any_case(word: &str) -> String {
    word.chars()
        .map(|c| match c.is_ascii_alphabetic() {
            true => format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase()),
            false => c.to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests;
