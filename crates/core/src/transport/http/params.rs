//! Which arguments of a call does a server want as headers too? Owns the annotations of the tools that were listed
//! (`x-mcp-header`, SEP-2243); pure. Only the protocol era without sessions knows them.

use std::collections::{HashMap, HashSet};

use http::HeaderName;
use serde_json::Value;

/// What names the header of a property.
const MARK: &str = "x-mcp-header";
/// Chains of properties longer than this are not followed.
const DEEPEST: usize = 16;

/// The annotated arguments of every tool that was listed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Params(HashMap<String, Vec<Annotated>>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Annotated {
    /// From the arguments down.
    path: Vec<String>,
    header: HeaderName,
}

impl Params {
    /// Reads one page of a list of tools. A tool that is listed again counts as it is then.
    pub(super) fn learn(&mut self, listed: &Value) {
        for tool in listed.get("tools").and_then(Value::as_array).into_iter().flatten() {
            let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
            let mut annotated = Vec::new();
            if let Some(schema) = tool.get("inputSchema") {
                collect(schema, &mut Vec::new(), &mut annotated);
            }
            if annotated.is_empty() {
                self.0.remove(name);
            } else {
                self.0.insert(name.to_owned(), annotated);
            }
        }
    }

    /// The headers for this message, as text.
    pub(super) fn of(&self, message: &Value) -> Vec<(HeaderName, String)> {
        let tool = message.get("method").and_then(Value::as_str).filter(|method| *method == "tools/call");
        let tool =
            tool.and_then(|_| message.pointer("/params/name")?.as_str()).and_then(|name| self.0.get(name));
        let arguments = message.pointer("/params/arguments");
        tool.into_iter()
            .flatten()
            .filter_map(|annotated| {
                let value = annotated.path.iter().try_fold(arguments?, |value, key| value.get(key))?;
                Some((annotated.header.clone(), plain(value)?))
            })
            .collect()
    }
}

/// What is wrong with the marks of a tool's schema, as what a sentence about the tool says; `None` where nothing is. Such
/// a tool must not be offered: a call of it could not say in headers what it must.
pub(crate) fn wrong_mark(schema: &Value) -> Option<String> {
    let mut marks = Vec::new();
    collect_marks(schema, 0, &mut marks);
    let mut seen = HashSet::new();
    marks.into_iter().find_map(|(name, property)| {
        let why = match property.get(MARK)?.as_str() {
            None => "is no text",
            Some("") => "is empty",
            Some(header) if HeaderName::from_bytes(header.as_bytes()).is_err() => "is no name of a header",
            Some(header) if !seen.insert(header.to_ascii_lowercase()) => "stands there twice",
            Some(_) if !is_primitive(property.get("type")) => {
                "is on a property that is no string, integer or boolean"
            }
            Some(_) => return None,
        };
        let name: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
        Some(format!("has an {MARK} of {name} that {why}"))
    })
}

/// Every property that has a mark, with its name.
fn collect_marks<'a>(schema: &'a Value, depth: usize, marks: &mut Vec<(&'a str, &'a Value)>) {
    if depth >= DEEPEST {
        return;
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if property.get(MARK).is_some() {
            marks.push((name, property));
        }
        collect_marks(property, depth + 1, marks);
    }
}

/// Whether a property of this type has no parts. Several types may allow `null` beside.
fn is_primitive(kind: Option<&Value>) -> bool {
    let one = |kind: &Value| matches!(kind.as_str(), Some("string" | "integer" | "boolean"));
    match kind {
        // It says nothing of its type, and a value with parts goes without a header.
        None => true,
        Some(Value::Array(kinds)) => {
            let mut others = kinds.iter().filter(|kind| kind.as_str() != Some("null")).peekable();
            others.peek().is_some() && others.all(one)
        }
        Some(kind) => one(kind),
    }
}

fn collect(schema: &Value, path: &mut Vec<String>, annotated: &mut Vec<Annotated>) {
    if path.len() >= DEEPEST {
        return;
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        path.push(name.clone());
        let header = property.get(MARK).and_then(Value::as_str).filter(|header| !header.is_empty());
        let header =
            header.and_then(|header| format!("mcp-param-{header}").to_ascii_lowercase().parse().ok());
        annotated.extend(header.map(|header| Annotated { path: path.clone(), header }));
        collect(property, path, annotated);
        path.pop();
    }
}

/// What has no parts.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wrong_mark_is_told_by_its_property_and_its_reason() {
        let property = |kind: Value, mark: Value| json!({"type": kind, "x-mcp-header": mark});
        for (property, why) in [
            (property(json!("string"), json!("Region")), None),
            (property(json!(["integer", "null"]), json!("Region")), None),
            (json!({"enum": ["a"], "x-mcp-header": "Region"}), None),
            (json!({"type": "object", "properties": {"a": {"type": "boolean", "x-mcp-header": "A"}}}), None),
            (property(json!("string"), json!("")), Some("is empty")),
            (property(json!("string"), json!(7)), Some("is no text")),
            (property(json!("string"), json!("My Region")), Some("no name of a header")),
            (property(json!("string"), json!("Region:Primary")), Some("no name of a header")),
            (property(json!("string"), json!("Région")), Some("no name of a header")),
            (property(json!("string"), json!("Region\t1")), Some("no name of a header")),
            (property(json!("number"), json!("Score")), Some("no string, integer or boolean")),
            (property(json!("object"), json!("Data")), Some("no string, integer or boolean")),
            (property(json!("array"), json!("Data")), Some("no string, integer or boolean")),
            (property(json!("null"), json!("Data")), Some("no string, integer or boolean")),
            (property(json!(["null"]), json!("Data")), Some("no string, integer or boolean")),
            (property(json!(["string", "array"]), json!("Data")), Some("no string, integer or boolean")),
            (property(json!("string"), json!("OTHER")), Some("stands there twice")),
        ] {
            let other = json!({"type": "string", "x-mcp-header": "Other"});
            let schema = json!({"properties": {"a": other, "b": property}});
            match (wrong_mark(&schema), why) {
                (None, None) => {}
                (Some(told), Some(why)) => {
                    assert!(told.contains("of b that") && told.contains(why), "{told}")
                }
                (told, _) => panic!("{property}: {told:?}"),
            }
        }
    }

    #[test]
    fn annotated_arguments_go_as_headers_and_others_do_not() {
        let mut params = Params::default();
        let region = json!({"type": "string", "x-mcp-header": "Region"});
        let depth = json!({"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}});
        let bad = json!({"type": "string", "x-mcp-header": "not a token"});
        let schema = json!({"properties": {"region": region, "depth": depth, "bad": bad, "free": {}}});
        params.learn(&json!({"tools": [{"name": "deploy", "inputSchema": schema}, {"name": "other"}, 7]}));
        let call = |name: &str, arguments: Value| {
            let message = json!({"method": "tools/call", "params": {"name": name, "arguments": arguments}});
            let mut headers = params.of(&message);
            headers.sort_by(|a, b| a.1.cmp(&b.1));
            headers.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
        };
        let all = json!({"region": "us", "depth": {"n": 3}, "bad": "x", "free": "y"});
        assert_eq!(call("deploy", all.clone()), ["mcp-param-n=3", "mcp-param-region=us"]);
        assert_eq!(call("deploy", json!({"region": {"a": 1}})), [""; 0]);
        assert_eq!(call("other", all), [""; 0]);
        params.learn(&json!({"tools": [{"name": "deploy"}]}));
        assert_eq!(params, Params::default());
    }
}
