//! Which listed items can be used? Owns the decision per item: as it is, mended where that is safe, or left out with a
//! reason. Pure; one bad item never costs its neighbours.

use std::{collections::HashSet, sync::Arc};

use serde_json::{Map, Value};

use crate::{
    inventory::{Prompt, Resource, Tool},
    transport::wrong_mark,
};

/// A schema nested deeper than this breaks readers further on.
const DEEPEST_SCHEMA: usize = 64;
/// A schema larger than this would fill a model's context by itself.
const LARGEST_SCHEMA: usize = 1024 * 1024;
const LONGEST_NAME: usize = 1024;
/// So many left-out items are named; of the rest, the number.
const NAMED: usize = 5;

/// The usable ones of a list, and one sentence about the others.
#[derive(Debug)]
pub(super) struct Sorted<T> {
    pub(super) items: Vec<Arc<T>>,
    pub(super) warning: Option<String>,
}

/// Why an item was left out: what to call it, and the reason.
type LeftOut = (String, String);

/// Whether marks in a tool's schema decide how it is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Marks {
    /// `x-mcp-header` names headers of a call: a tool with a wrong one must not be offered (SEP-2243).
    Heeded,
    Ignored,
}

/// Sorts a list of tools.
pub(super) fn tools(items: Vec<Value>, marks: Marks) -> Sorted<Tool> {
    let read = |raw| {
        let tool = tool(raw)?;
        match (marks, wrong_mark(&tool.input_schema)) {
            (Marks::Heeded, Some(why)) => Err((shown(&tool.name), why)),
            (Marks::Heeded | Marks::Ignored, _) => Ok(tool),
        }
    };
    sort("tools", items, read, |tool| &tool.name)
}

/// Sorts a list of prompts.
pub(super) fn prompts(items: Vec<Value>) -> Sorted<Prompt> {
    sort("prompts", items, prompt, |prompt| &prompt.name)
}

/// Sorts a list of resources.
pub(super) fn resources(items: Vec<Value>) -> Sorted<Resource> {
    sort("resources", items, resource, |resource| &resource.uri)
}

fn sort<T>(
    kind: &str,
    items: Vec<Value>,
    read: impl Fn(Map<String, Value>) -> Result<T, LeftOut>,
    key: impl Fn(&T) -> &String,
) -> Sorted<T> {
    let total = items.len();
    let mut seen = HashSet::new();
    let mut kept = Vec::with_capacity(total);
    let mut left_out: Vec<String> = Vec::new();
    for (position, item) in items.into_iter().enumerate() {
        let read = match item {
            Value::Object(item) => read(item),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err((String::new(), "is not an object".to_owned()))
            }
        };
        match read {
            Ok(item) if seen.insert(key(&item).clone()) => kept.push(Arc::new(item)),
            // A list that is cut and repeated by its server is not worth a word per item.
            Ok(_) => {}
            Err((name, why)) if name.is_empty() => left_out.push(format!("number {} {why}", position + 1)),
            Err((name, why)) => left_out.push(format!("{name} {why}")),
        }
    }
    Sorted { items: kept, warning: warning(kind, total, &left_out) }
}

fn warning(kind: &str, total: usize, left_out: &[String]) -> Option<String> {
    let number = left_out.len();
    let named = left_out.get(..NAMED.min(number)).filter(|named| !named.is_empty())?.join("; ");
    let more = if number > NAMED { format!("; and {} more", number - NAMED) } else { String::new() };
    Some(format!("{number} of {total} {kind} skipped: {named}{more}"))
}

fn tool(mut raw: Map<String, Value>) -> Result<Tool, LeftOut> {
    let name = name(&raw, "name")?;
    let schema = raw.remove("inputSchema").unwrap_or(Value::Null);
    let input_schema = Arc::new(input_schema(schema).map_err(|why| (shown(&name), why))?);
    let description = description(&mut raw);
    Ok(Tool { name, description, input_schema, raw: Value::Object(raw) })
}

fn prompt(mut raw: Map<String, Value>) -> Result<Prompt, LeftOut> {
    let name = name(&raw, "name")?;
    let description = description(&mut raw);
    Ok(Prompt { name, description, raw: Arc::new(Value::Object(raw)) })
}

fn resource(raw: Map<String, Value>) -> Result<Resource, LeftOut> {
    let uri = name(&raw, "uri")?;
    let name = raw.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()).unwrap_or(&uri);
    Ok(Resource { name: name.to_owned(), uri, raw: Arc::new(Value::Object(raw)) })
}

fn name(raw: &Map<String, Value>, field: &str) -> Result<String, LeftOut> {
    match raw.get(field) {
        Some(Value::String(name)) if name.chars().count() > LONGEST_NAME => {
            Err((shown(name), format!("has a {field} longer than {LONGEST_NAME} characters")))
        }
        Some(Value::String(name)) if !name.is_empty() => Ok(name.clone()),
        Some(_) | None => Err((String::new(), format!("has no {field}"))),
    }
}

/// A name for people: bounded, and without what paints on a screen.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(80).collect()
}

/// Takes a description that is no text as text, or out.
fn description(raw: &mut Map<String, Value>) -> Option<String> {
    let text = match raw.get("description")? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(_) | Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    match &text {
        Some(text) => raw.insert("description".to_owned(), Value::String(text.clone())),
        None => raw.remove("description"),
    };
    text
}

/// A schema whose arguments are an object. Adds what can only mean one thing; refuses what means another.
fn input_schema(schema: Value) -> Result<Value, String> {
    let mut schema = match schema {
        Value::Object(schema) => schema,
        // No schema, or one that allows everything.
        Value::Null | Value::Bool(true) => Map::new(),
        Value::Bool(false) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err("has a schema that is not an object".to_owned());
        }
    };
    match schema.get("type") {
        Some(Value::String(name)) if name == "object" => {}
        None | Some(Value::Null) => set_object(&mut schema),
        Some(Value::Array(names)) if names.iter().any(|name| name == "object") => set_object(&mut schema),
        Some(other) => {
            let other: String = other.to_string().chars().take(40).collect();
            return Err(format!("has a schema of type {other} instead of \"object\""));
        }
    }
    match schema.get("properties") {
        None | Some(Value::Object(_)) => {}
        Some(Value::Null) => drop(schema.remove("properties")),
        Some(Value::Array(none)) if none.is_empty() => {
            schema.insert("properties".to_owned(), Value::Object(Map::new()));
        }
        Some(_) => return Err("has properties that are not an object".to_owned()),
    }
    match schema.get_mut("required") {
        None => {}
        Some(Value::Array(names)) => names.retain(Value::is_string),
        Some(_) => drop(schema.remove("required")),
    }
    let schema = Value::Object(schema);
    if deeper_than(&schema, DEEPEST_SCHEMA) {
        return Err(format!("has a schema nested deeper than {DEEPEST_SCHEMA}"));
    }
    let size = schema.to_string().len();
    if size > LARGEST_SCHEMA {
        return Err(format!("has a schema of {size} bytes, more than {LARGEST_SCHEMA}"));
    }
    Ok(schema)
}

fn set_object(schema: &mut Map<String, Value>) {
    schema.insert("type".to_owned(), Value::String("object".to_owned()));
}

fn deeper_than(value: &Value, limit: usize) -> bool {
    let Some(below) = limit.checked_sub(1) else { return true };
    match value {
        Value::Array(items) => items.iter().any(|item| deeper_than(item, below)),
        Value::Object(fields) => fields.values().any(|item| deeper_than(item, below)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_mended_where_that_is_safe_and_refused_otherwise() {
        let object = json!({"type": "object"});
        let cases = [
            (json!(null), Ok(object.clone())),
            (json!(true), Ok(object.clone())),
            (json!({}), Ok(object.clone())),
            (json!({"type": "object"}), Ok(object.clone())),
            (json!({"type": ["object", "null"]}), Ok(object.clone())),
            (json!({"type": "object", "required": null}), Ok(object.clone())),
            (
                json!({"type": "object", "required": ["a", 1]}),
                Ok(json!({"type": "object", "required": ["a"]})),
            ),
            (json!({"type": "object", "properties": null}), Ok(object.clone())),
            (json!({"type": "object", "properties": []}), Ok(json!({"type": "object", "properties": {}}))),
            (json!({"anyOf": [{"a": 1}]}), Ok(json!({"anyOf": [{"a": 1}], "type": "object"}))),
            (
                json!({"type": "object", "$defs": {"n": {"$ref": "#/$defs/n"}}}),
                Ok(json!({"type": "object", "$defs": {"n": {"$ref": "#/$defs/n"}}})),
            ),
            (json!({"type": "string"}), Err("of type \"string\"")),
            (json!({"type": 7}), Err("of type 7")),
            (json!("text"), Err("not an object")),
            (json!({"properties": ["a"]}), Err("properties that are not an object")),
            (json!({"x": "y".repeat(LARGEST_SCHEMA)}), Err("bytes, more than")),
            ((0..70).fold(json!({}), |inner, _| json!({"properties": inner})), Err("nested deeper than 64")),
        ];
        for (schema, expected) in cases {
            let shown: String = schema.to_string().chars().take(80).collect();
            match (input_schema(schema), expected) {
                (Ok(mended), Ok(expected)) => assert_eq!(mended, expected, "{shown}"),
                (Err(why), Err(words)) => assert!(why.contains(words), "{shown}: {why}"),
                (other, _) => panic!("{shown}: {other:?}"),
            }
        }
    }

    #[test]
    fn one_bad_tool_is_left_out_with_its_reason_and_the_rest_stays() {
        let listed = vec![
            json!({"name": "good", "description": 7, "title": "T"}),
            json!({"name": "bad", "inputSchema": {"type": "string"}}),
            json!({"inputSchema": {}}),
            json!("text"),
            json!({"name": "good", "description": "again"}),
        ];
        let sorted = tools(listed, Marks::Ignored);
        let [tool] = sorted.items.as_slice() else { panic!("{sorted:?}") };
        assert_eq!(tool.description.as_deref(), Some("7"));
        assert_eq!(tool.raw, json!({"name": "good", "title": "T", "description": "7"}));
        assert_eq!(*tool.input_schema, json!({"type": "object"}));
        assert_eq!(
            sorted.warning.as_deref(),
            Some(
                "3 of 5 tools skipped: bad has a schema of type \"string\" instead of \"object\"; number 3 has no name; number 4 is not an object"
            )
        );
    }

    #[test]
    fn a_tool_with_a_wrong_mark_is_left_out_only_where_marks_are_heeded() {
        let wrong = json!({"properties": {"a": {"type": "string", "x-mcp-header": ""}}});
        let listed = || vec![json!({"name": "t", "inputSchema": wrong}), json!({"name": "u"})];
        assert_eq!(tools(listed(), Marks::Ignored).items.len(), 2);
        let sorted = tools(listed(), Marks::Heeded);
        assert_eq!(sorted.items.len(), 1);
        assert_eq!(
            sorted.warning.as_deref(),
            Some("1 of 2 tools skipped: t has an x-mcp-header of a that is empty")
        );
    }

    #[test]
    fn many_bad_items_are_named_up_to_a_number() {
        let sorted = prompts((0..9).map(|_| json!(null)).collect());
        assert!(sorted.warning.unwrap().ends_with("number 5 is not an object; and 4 more"));
        assert_eq!(prompts(vec![json!({"name": "p"})]).warning, None);
    }
}
