//! Do arguments fit the schema of a tool? The first thing that does not, with its path. Pure, never fetches anything,
//! and ends on every schema; what it does not know lets everything through, since the server has the last word.

use std::fmt;

use serde_json::{Map, Value};

/// The first thing that does not fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Misfit {
    /// Keys and indexes from the arguments down.
    path: Vec<Step>,
    what: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    Key(String),
    Index(usize),
}

impl fmt::Display for Misfit {
    /// `filter.items[0].name: is missing`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, step) in self.path.iter().enumerate() {
            match step {
                Step::Key(key) => {
                    let key = crate::text::visible(key);
                    if depth > 0 { write!(f, ".{key}")? } else { f.write_str(&key)? }
                }
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        if self.path.is_empty() {
            f.write_str("the arguments")?;
        }
        write!(f, ": {}", self.what)
    }
}

/// Checks the arguments against the schema.
pub(crate) fn first_error(schema: &Value, arguments: &Value) -> Option<Misfit> {
    let mut checking = Checking { root: schema, path: Vec::new(), steps: MOST_STEPS };
    checking.check(schema, arguments, MOST_REFERENCES)
}

/// Whether a number keeps a bound.
type Holds = fn(f64, f64) -> bool;

/// A schema that branches for ever is given up on: then everything fits.
const MOST_STEPS: usize = 100_000;
/// As many references may follow each other without getting deeper into the value.
const MOST_REFERENCES: usize = 32;

struct Checking<'a> {
    root: &'a Value,
    path: Vec<Step>,
    steps: usize,
}

impl<'a> Checking<'a> {
    fn check(&mut self, schema: &'a Value, value: &Value, references: usize) -> Option<Misfit> {
        self.steps = self.steps.checked_sub(1)?;
        let rules = match schema {
            Value::Bool(false) => return self.misfit("is not allowed here"),
            Value::Object(rules) => rules,
            Value::Null | Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return None;
            }
        };
        if let Some(target) = rules.get("$ref").and_then(Value::as_str).and_then(|text| self.referenced(text))
            && let Some(references) = references.checked_sub(1)
        {
            let misfit = self.check(target, value, references);
            if misfit.is_some() {
                return misfit;
            }
        }
        self.kind(rules, value)
            .or_else(|| self.choice(rules, value))
            .or_else(|| self.limits(rules, value))
            .or_else(|| self.combined(rules, value, references))
            .or_else(|| match value {
                Value::Object(fields) => self.object(rules, fields),
                Value::Array(items) => self.list(rules, items),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
            })
    }

    fn misfit<T>(&self, what: impl Into<String>) -> Option<T>
    where
        T: From<Misfit>,
    {
        Some(Misfit { path: self.path.clone(), what: what.into() }.into())
    }

    /// Only within the schema itself.
    fn referenced(&self, text: &str) -> Option<&'a Value> {
        let pointer = text.strip_prefix('#')?;
        // A pointer in a reference may be percent-encoded; server names and keys seldom are.
        self.root.pointer(&pointer.replace("%24", "$").replace("%20", " "))
    }

    fn kind(&self, rules: &Map<String, Value>, value: &Value) -> Option<Misfit> {
        let kinds: Vec<&str> = match rules.get("type")? {
            Value::String(kind) => vec![kind],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
        };
        if kinds.is_empty() || kinds.iter().any(|kind| is_of_kind(value, kind)) {
            return None;
        }
        self.misfit(format!(
            "is {}, not {}",
            article(kind_of(value)),
            kinds.iter().map(|kind| article(kind)).collect::<Vec<_>>().join(" or ")
        ))
    }

    fn choice(&self, rules: &Map<String, Value>, value: &Value) -> Option<Misfit> {
        if let Some(only) = rules.get("const")
            && !same(only, value)
        {
            return self.misfit(format!("is not {only}"));
        }
        let choices = rules.get("enum")?.as_array()?;
        if choices.iter().any(|choice| same(choice, value)) {
            return None;
        }
        let shown: Vec<String> = choices.iter().take(12).map(Value::to_string).collect();
        let more = if choices.len() > shown.len() { ", …" } else { "" };
        self.misfit(format!("is none of {}{more}", shown.join(", ")))
    }

    fn limits(&self, rules: &Map<String, Value>, value: &Value) -> Option<Misfit> {
        let number = |name: &str| rules.get(name).and_then(Value::as_f64);
        #[expect(
            clippy::cast_precision_loss,
            reason = "a length that a double cannot hold is over every limit"
        )]
        let sizes = match value {
            Value::String(text) => {
                Some((text.chars().count() as f64, "minLength", "maxLength", "characters long"))
            }
            Value::Array(items) => Some((items.len() as f64, "minItems", "maxItems", "items long")),
            Value::Object(fields) => {
                Some((fields.len() as f64, "minProperties", "maxProperties", "fields large"))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        };
        if let Some((size, least, most, unit)) = sizes {
            if let Some(least) = number(least).filter(|least| size < *least) {
                return self.misfit(format!("is less than {least} {unit}"));
            }
            if let Some(most) = number(most).filter(|most| size > *most) {
                return self.misfit(format!("is more than {most} {unit}"));
            }
        }
        let given = value.as_f64()?;
        let bounds: [(&str, Holds, &str); 4] = [
            ("minimum", |given, bound| given >= bound, "less than"),
            ("maximum", |given, bound| given <= bound, "more than"),
            ("exclusiveMinimum", |given, bound| given > bound, "not more than"),
            ("exclusiveMaximum", |given, bound| given < bound, "not less than"),
        ];
        bounds.into_iter().find_map(|(name, holds, words)| {
            let bound = number(name).filter(|bound| !holds(given, *bound))?;
            self.misfit(format!("is {words} {bound}"))
        })
    }

    fn combined(
        &mut self,
        rules: &'a Map<String, Value>,
        value: &Value,
        references: usize,
    ) -> Option<Misfit> {
        let references = references.checked_sub(1)?;
        for part in rules.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            let misfit = self.check(part, value, references);
            if misfit.is_some() {
                return misfit;
            }
        }
        for name in ["anyOf", "oneOf"] {
            let Some(parts) = rules.get(name).and_then(Value::as_array) else { continue };
            let mut fitting = 0_usize;
            let mut deepest: Option<Misfit> = None;
            for part in parts {
                let depth = self.path.len();
                let tried = self.check(part, value, references);
                // Where a form that does not fit went wrong is no place of the next one.
                self.path.truncate(depth);
                match tried {
                    None => fitting += 1,
                    // What got furthest is most likely what was meant.
                    Some(misfit)
                        if deepest.as_ref().is_none_or(|other| other.path.len() < misfit.path.len()) =>
                    {
                        deepest = Some(misfit);
                    }
                    Some(_) => {}
                }
            }
            match (fitting, deepest) {
                (0, Some(misfit)) => return Some(misfit),
                (2.., _) if name == "oneOf" => {
                    return self.misfit("fits more than one of the forms it may have");
                }
                (_, _) => {}
            }
        }
        let unwanted = rules.get("not")?;
        let depth = self.path.len();
        let tried = self.check(unwanted, value, references);
        self.path.truncate(depth);
        if tried.is_none() {
            return self.misfit("has a form that it must not have");
        }
        None
    }

    fn object(&mut self, rules: &'a Map<String, Value>, fields: &Map<String, Value>) -> Option<Misfit> {
        let properties = rules.get("properties").and_then(Value::as_object);
        let required = rules.get("required").and_then(Value::as_array).into_iter().flatten();
        if let Some(missing) = required.filter_map(Value::as_str).find(|name| !fields.contains_key(*name)) {
            self.path.push(Step::Key(missing.to_owned()));
            return self.misfit("is missing");
        }
        // Names that a pattern covers cannot be told from others without that pattern.
        let others =
            if rules.contains_key("patternProperties") { None } else { rules.get("additionalProperties") };
        for (name, value) in fields {
            let known = properties.and_then(|properties| properties.get(name));
            let Some(schema) = known.or(others) else { continue };
            self.path.push(Step::Key(name.clone()));
            if known.is_none() && *schema == Value::Bool(false) {
                let near =
                    qwen_core::nearest(name, properties.into_iter().flat_map(Map::keys).map(String::as_str));
                let hint = near.first().map(|near| format!("; did you mean {near}?")).unwrap_or_default();
                return self.misfit(format!("is unknown{hint}"));
            }
            let misfit = self.check(schema, value, MOST_REFERENCES);
            if misfit.is_some() {
                return misfit;
            }
            self.path.pop();
        }
        None
    }

    fn list(&mut self, rules: &'a Map<String, Value>, items: &[Value]) -> Option<Misfit> {
        let first = rules.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let others = rules.get("items");
        for (index, item) in items.iter().enumerate() {
            let Some(schema) = first.get(index).or(others) else { continue };
            self.path.push(Step::Index(index));
            let misfit = self.check(schema, item, MOST_REFERENCES);
            if misfit.is_some() {
                return misfit;
            }
            self.path.pop();
        }
        None
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_of_kind(value: &Value, kind: &str) -> bool {
    match kind {
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        kind => kind_of(value) == kind,
    }
}

fn article(kind: &str) -> String {
    match kind {
        "null" => "null".to_owned(),
        "integer" | "array" | "object" => format!("an {kind}"),
        kind => format!("a {kind}"),
    }
}

/// Equal as JSON Schema has it: 1 and 1.0 are.
fn same(a: &Value, b: &Value) -> bool {
    a == b || matches!((a.as_f64(), b.as_f64()), (Some(a), Some(b)) if a == b)
}

#[cfg(test)]
mod tests;
