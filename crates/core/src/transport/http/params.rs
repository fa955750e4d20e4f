//! Which arguments of a call does a server want as headers too? Owns the annotations of the tools that were listed
//! (`x-mcp-header`, SEP-2243); pure. Only the protocol era without sessions knows them.

use std::collections::HashMap;

use http::HeaderName;
use serde_json::Value;

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

fn collect(schema: &Value, path: &mut Vec<String>, annotated: &mut Vec<Annotated>) {
    if path.len() >= DEEPEST {
        return;
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        path.push(name.clone());
        let header = property.get("x-mcp-header").and_then(Value::as_str).filter(|header| !header.is_empty());
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
