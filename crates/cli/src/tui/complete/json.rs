//! What could follow in arguments that are half typed? The next key, value or bracket by the tool's schema, one step at
//! a time, so that the cursor stays at the end. What the schema does not say is not guessed.

use serde_json::{Map, Value};

use super::{Candidate, Offer};

/// Where in a text of JSON its end is.
#[derive(Debug, PartialEq)]
struct Place {
    /// The containers that are open, outermost first.
    open: Vec<Container>,
    at: At,
}

#[derive(Debug, PartialEq)]
enum Container {
    Object {
        /// Keys that stand in it, the one whose value is typed last.
        keys: Vec<String>,
    },
    Array,
}

#[derive(Debug, PartialEq)]
enum At {
    /// A value should begin.
    Value,
    /// Within a value that is no container: what is typed of it.
    InValue(String),
    /// A key should begin, or the object may end where it is still empty.
    Key,
    /// Within a key: what is typed of it, without the quote.
    InKey(String),
    /// Behind a key.
    AfterKey,
    /// Behind a value.
    AfterValue,
    /// It is no JSON.
    Lost,
}

/// What could follow behind `typed`.
pub(super) fn offer(typed: &str, schema: &Value) -> Offer {
    let place = place(typed);
    let here = schema_at(schema, &place.open);
    match place.at {
        At::Value if place.open.is_empty() => {
            let keys = keys(here, &[], "");
            let candidates =
                if keys.is_empty() { vec![Candidate::new("{}", "no arguments")] } else { opened(keys, "{") };
            Offer { replaced: 0, candidates }
        }
        At::Value => Offer { replaced: 0, candidates: values(value_schema(here, &place.open), "") },
        At::InValue(text) => Offer {
            replaced: text.chars().count(),
            candidates: values(value_schema(here, &place.open), &text),
        },
        At::Key => {
            let used = used(&place.open);
            let mut candidates = opened(keys(here, used, ""), "");
            if used.is_empty() {
                candidates.push(Candidate::new("}", "no arguments"));
            }
            Offer { replaced: 0, candidates }
        }
        At::InKey(text) => Offer {
            replaced: text.chars().count() + 1,
            candidates: opened(keys(here, used(&place.open), &text), ""),
        },
        At::AfterKey => Offer { replaced: 0, candidates: vec![Candidate::new(": ", "its value")] },
        At::AfterValue => Offer { replaced: 0, candidates: after(here, &place.open) },
        At::Lost => Offer::default(),
    }
}

fn used(open: &[Container]) -> &[String] {
    match open.last() {
        Some(Container::Object { keys }) => keys,
        Some(Container::Array) | None => &[],
    }
}

/// The schema of the innermost open container.
fn schema_at<'a>(schema: &'a Value, open: &[Container]) -> &'a Value {
    let mut here = schema;
    for container in open.iter().take(open.len().saturating_sub(1)) {
        here = inner(here, container);
    }
    here
}

/// The schema of the value that is typed in a container.
fn value_schema<'a>(here: &'a Value, open: &[Container]) -> &'a Value {
    open.last().map_or(here, |container| inner(here, container))
}

fn inner<'a>(schema: &'a Value, container: &Container) -> &'a Value {
    match container {
        Container::Object { keys } => {
            let key = keys.last().map_or("", String::as_str);
            schema.get("properties").and_then(|properties| properties.get(key)).unwrap_or(&Value::Null)
        }
        Container::Array => schema.get("items").unwrap_or(&Value::Null),
    }
}

/// The keys that may still be typed, required ones first.
fn keys(schema: &Value, used: &[String], typed: &str) -> Vec<Candidate> {
    let required = required(schema);
    let nothing = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&nothing);
    let mut keys: Vec<(&String, &Value)> =
        properties.iter().filter(|(key, _)| !used.contains(key) && key.starts_with(typed)).collect();
    keys.sort_by_key(|(key, _)| !required.contains(&key.as_str()));
    keys.into_iter()
        .map(|(key, schema)| {
            let kind = schema.get("type").and_then(Value::as_str).unwrap_or("anything");
            let must = if required.contains(&key.as_str()) { ", required" } else { "" };
            let about = schema.get("description").and_then(Value::as_str);
            let about = about.map(|about| format!(": {about}")).unwrap_or_default();
            Candidate::new(format!("{}: ", Value::from(key.as_str())), &format!("{kind}{must}{about}"))
        })
        .collect()
}

fn required(schema: &Value) -> Vec<&str> {
    let required = schema.get("required").and_then(Value::as_array);
    required.map(|names| names.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

fn opened(keys: Vec<Candidate>, before: &str) -> Vec<Candidate> {
    keys.into_iter().map(|key| Candidate { text: format!("{before}{}", key.text), ..key }).collect()
}

/// The values that the schema names, or how one of its kind begins.
fn values(schema: &Value, typed: &str) -> Vec<Candidate> {
    let mut texts: Vec<(String, &str)> = Vec::new();
    let default = schema.get("default").map(|value| (value.to_string(), "default"));
    texts.extend(default);
    let choices = schema.get("enum").and_then(Value::as_array);
    texts.extend(choices.into_iter().flatten().map(|value| (value.to_string(), "")));
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    match kind {
        "boolean" => texts.extend([("true".to_owned(), ""), ("false".to_owned(), "")]),
        "string" if texts.is_empty() => texts.push(("\"".to_owned(), "a text")),
        "object" if texts.is_empty() => texts.push(("{".to_owned(), "an object")),
        "array" if texts.is_empty() => texts.push(("[".to_owned(), "a list")),
        _ => {}
    }
    let mut seen = Vec::new();
    texts.retain(|(text, _)| {
        let fits = text.starts_with(typed) && text != typed && !seen.contains(text);
        seen.push(text.clone());
        fits
    });
    texts.into_iter().map(|(text, about)| Candidate::new(text, about)).collect()
}

/// Behind a value: the next key, and the end of the container where nothing required is missing.
fn after(schema: &Value, open: &[Container]) -> Vec<Candidate> {
    match open.last() {
        None => Vec::new(),
        Some(Container::Array) => vec![Candidate::new("]", "the end"), Candidate::new(", ", "one more")],
        Some(Container::Object { keys: used }) => {
            let end = Candidate::new("}", "the end");
            let more = opened(keys(schema, used, ""), ", ");
            let complete = required(schema).iter().all(|name| used.iter().any(|key| key == name));
            if complete { std::iter::once(end).chain(more).collect() } else { more }
        }
    }
}

/// Reads what is typed up to its end.
fn place(typed: &str) -> Place {
    let mut place = Place { open: Vec::new(), at: At::Value };
    let mut rest = typed;
    while let Some(c) = rest.chars().next() {
        let length = match (c, &place.at) {
            (c, _) if c.is_whitespace() => c.len_utf8(),
            ('{', At::Value) => {
                place.open.push(Container::Object { keys: Vec::new() });
                place.at = At::Key;
                1
            }
            ('[', At::Value) => {
                place.open.push(Container::Array);
                1
            }
            ('}', At::Key | At::AfterValue) | (']', At::Value | At::AfterValue) => {
                place.open.pop();
                place.at = At::AfterValue;
                1
            }
            (',', At::AfterValue) => {
                place.at = match place.open.last() {
                    Some(Container::Object { .. }) => At::Key,
                    Some(Container::Array) => At::Value,
                    None => At::Lost,
                };
                1
            }
            (':', At::AfterKey) => {
                place.at = At::Value;
                1
            }
            ('"', At::Key | At::Value) => place.string(rest),
            (_, At::Value) => place.literal(rest),
            (_, At::InValue(_) | At::Key | At::InKey(_) | At::AfterKey | At::AfterValue | At::Lost) => {
                place.at = At::Lost;
                return place;
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    place
}

impl Place {
    /// A text in quotes, perhaps not ended; how long it is.
    fn string(&mut self, rest: &str) -> usize {
        let mut escaped = false;
        let end = rest.char_indices().skip(1).find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        let is_key = self.at == At::Key;
        match end {
            None => {
                self.at = if is_key {
                    At::InKey(rest.chars().skip(1).collect())
                } else {
                    At::InValue(rest.to_owned())
                };
                rest.len()
            }
            Some((end, _)) => {
                if is_key {
                    let key = rest.get(..=end).and_then(|text| serde_json::from_str(text).ok());
                    if let Some(Container::Object { keys }) = self.open.last_mut() {
                        keys.extend(key);
                    }
                    self.at = At::AfterKey;
                } else {
                    self.at = At::AfterValue;
                }
                end + 1
            }
        }
    }

    /// A number or a word; it is ended by what follows it.
    fn literal(&mut self, rest: &str) -> usize {
        let end = rest.find(|c: char| c.is_whitespace() || [',', '}', ']', '{', '[', '"', ':'].contains(&c));
        match end {
            None => {
                // A number or a word that is whole may be followed by anything.
                let whole = serde_json::from_str::<Value>(rest).is_ok();
                self.at = if whole { At::AfterValue } else { At::InValue(rest.to_owned()) };
                rest.len()
            }
            Some(0) => {
                self.at = At::Lost;
                rest.len()
            }
            Some(end) => {
                self.at = At::AfterValue;
                end
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "limit": { "type": "integer", "default": 10 },
                "query": { "type": "string", "description": "what to look for" },
                "sort": { "enum": ["asc", "desc"] },
                "deep": { "type": "object", "properties": { "on": { "type": "boolean" } } },
                "tags": { "type": "array", "items": { "type": "string" } },
            },
            "required": ["query"],
        })
    }

    fn texts(typed: &str) -> Vec<String> {
        offer(typed, &schema()).candidates.into_iter().map(|candidate| candidate.text).collect()
    }

    #[test]
    fn each_step_of_half_typed_arguments_offers_what_the_schema_knows() {
        let table: [(&str, &[&str]); 18] = [
            ("", &["{\"query\": ", "{\"limit\": ", "{\"sort\": ", "{\"deep\": ", "{\"tags\": "]),
            ("{", &["\"query\": ", "\"limit\": ", "\"sort\": ", "\"deep\": ", "\"tags\": ", "}"]),
            ("{\"qu", &["\"query\": "]),
            ("{\"query\"", &[": "]),
            ("{\"query\": ", &["\""]),
            ("{\"query\": \"x", &[]),
            ("{\"query\": \"x\"", &["}", ", \"limit\": ", ", \"sort\": ", ", \"deep\": ", ", \"tags\": "]),
            ("{\"limit\": ", &["10"]),
            ("{\"limit\": 5", &[", \"query\": ", ", \"sort\": ", ", \"deep\": ", ", \"tags\": "]),
            ("{\"sort\": ", &["\"asc\"", "\"desc\""]),
            ("{\"sort\": \"d", &["\"desc\""]),
            ("{\"deep\": ", &["{"]),
            ("{\"deep\": {", &["\"on\": ", "}"]),
            ("{\"deep\": {\"on\": t", &["true"]),
            ("{\"tags\": [", &["\""]),
            ("{\"tags\": [\"a\"", &["]", ", "]),
            ("{\"query\": \"a\\\"b\"}", &[]),
            ("nonsense here", &[]),
        ];
        for (typed, expected) in table {
            assert_eq!(texts(typed), expected, "{typed}");
        }
    }

    #[test]
    fn a_tool_without_arguments_is_called_with_none() {
        let offer = offer("", &json!({ "type": "object" }));
        assert_eq!(offer.candidates, [Candidate::new("{}", "no arguments")]);
    }

    #[test]
    fn what_is_typed_of_a_key_or_value_is_replaced_as_a_whole() {
        assert_eq!(offer("{\"qu", &schema()).replaced, 3);
        assert_eq!(offer("{\"sort\": \"d", &schema()).replaced, 2);
    }
}
