//! What is one field of a form? Its kind from the schema, what stands in it, and what that means as JSON.

use serde_json::Value;

use super::super::{input::LONGEST, line::Line, panel::Turn};
use crate::text::Tone;

/// One property that a server asks for.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Field {
    /// As the answer names it.
    pub(super) name: String,
    title: Option<String>,
    about: Option<String>,
    kind: Kind,
    need: Need,
    content: Content,
}

/// Whether a field may stay empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Need {
    /// It must hold something.
    Required,
    /// It may.
    Optional,
}

/// What a field takes.
#[derive(Clone, PartialEq, Debug)]
enum Kind {
    /// A text.
    Text,
    /// A number with a fraction.
    Number,
    /// A number without.
    Integer,
    /// One of these, each with how it is shown. Yes and no are two of them.
    OneOf(Vec<(Value, String)>),
    /// Anything else: typed as JSON.
    Json,
}

/// What stands in a field.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Content {
    Typed(String),
    /// Index of the chosen one.
    Chosen(Option<usize>),
}

impl Field {
    /// A field for a property, with its default.
    pub(super) fn new(name: &str, schema: &Value, need: Need) -> Self {
        let text = |key: &str| schema.get(key).and_then(Value::as_str).map(str::to_owned);
        let kind = kind(schema);
        let default = schema.get("default");
        let content = match &kind {
            Kind::OneOf(choices) => Content::Chosen(
                default.and_then(|default| choices.iter().position(|(value, _)| value == default)),
            ),
            Kind::Text => Content::Typed(default.and_then(Value::as_str).unwrap_or_default().to_owned()),
            Kind::Number | Kind::Integer | Kind::Json => {
                Content::Typed(default.map(Value::to_string).unwrap_or_default())
            }
        };
        Self { name: name.to_owned(), title: text("title"), about: text("description"), kind, need, content }
    }

    /// As a person reads it.
    pub(super) fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// Takes a character that still fits; where one of several is chosen, the next that begins with it.
    pub(super) fn push(&mut self, c: char) {
        match (&mut self.content, &self.kind) {
            (Content::Typed(text), _) if text.len() + c.len_utf8() > LONGEST => {}
            (Content::Typed(text), _) => text.push(c),
            (Content::Chosen(chosen), Kind::OneOf(choices)) => {
                if c == ' ' {
                    *chosen = next(*chosen, choices.len(), Turn::Next, self.need);
                } else if let Some(found) = choices.iter().position(|(_, shown)| {
                    shown.chars().next().is_some_and(|first| first.to_lowercase().eq(c.to_lowercase()))
                }) {
                    *chosen = Some(found);
                }
            }
            (Content::Chosen(_), Kind::Text | Kind::Number | Kind::Integer | Kind::Json) => {}
        }
    }

    /// Whether so many bytes more fit.
    pub(super) fn holds(&self, more: usize) -> bool {
        match &self.content {
            Content::Typed(text) => text.len() + more <= LONGEST,
            Content::Chosen(_) => true,
        }
    }

    /// The last character goes, or the choice.
    pub(super) fn pop(&mut self) {
        match &mut self.content {
            Content::Typed(text) => drop(text.pop()),
            Content::Chosen(chosen) => *chosen = None,
        }
    }

    /// Another one of several.
    pub(super) fn turn(&mut self, turn: Turn) {
        if let (Content::Chosen(chosen), Kind::OneOf(choices)) = (&mut self.content, &self.kind) {
            *chosen = next(*chosen, choices.len(), turn, self.need);
        }
    }

    /// What stands in it as JSON; `None` where it is left out.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn value(&self) -> Result<Option<Value>, &'static str> {
        let missing = match self.need {
            Need::Required => Err("is required"),
            Need::Optional => Ok(None),
        };
        match (&self.content, &self.kind) {
            (Content::Chosen(chosen), Kind::OneOf(choices)) => {
                match chosen.and_then(|chosen| choices.get(chosen)) {
                    Some((value, _)) => Ok(Some(value.clone())),
                    None => missing,
                }
            }
            (Content::Typed(text), _) if text.is_empty() => missing,
            (Content::Typed(text), Kind::Text) => Ok(Some(Value::from(text.as_str()))),
            (Content::Typed(text), Kind::Integer) => text
                .trim()
                .parse::<i64>()
                .map(|number| Some(Value::from(number)))
                .map_err(|_| "is not a whole number"),
            (Content::Typed(text), Kind::Number) => match text.trim().parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Some(Value::from(number))),
                Ok(_) | Err(_) => Err("is not a number"),
            },
            (Content::Typed(text), Kind::Json) => {
                serde_json::from_str(text).map(Some).map_err(|_| "is not JSON; write texts in quotes")
            }
            (Content::Typed(_), Kind::OneOf(_))
            | (Content::Chosen(_), Kind::Text | Kind::Number | Kind::Integer | Kind::Json) => missing,
        }
    }

    /// As it is drawn.
    pub(super) fn lines(&self, has_keys: bool) -> Vec<Line> {
        let mark = if has_keys { "› " } else { "  " };
        let must = match self.need {
            Need::Required => "*",
            Need::Optional => "",
        };
        let head = Line::new(Tone::Strong, mark).and(Tone::Strong, &format!("{}{must}: ", self.label()));
        let cursor = if has_keys { "▏" } else { "" };
        let head = match (&self.content, &self.kind) {
            (Content::Typed(text), _) => head.and(Tone::Normal, text).and(Tone::Attention, cursor),
            (Content::Chosen(chosen), Kind::OneOf(choices)) => {
                let mut head = head;
                for (index, (_, shown)) in choices.iter().enumerate() {
                    let is = *chosen == Some(index);
                    let text = if is { format!("[{shown}] ") } else { format!(" {shown}  ") };
                    head = head.and(if is { Tone::Strong } else { Tone::Quiet }, &text);
                }
                head
            }
            (Content::Chosen(_), Kind::Text | Kind::Number | Kind::Integer | Kind::Json) => head,
        };
        let about = self.about.iter().map(|about| Line::new(Tone::Quiet, &format!("    {about}")));
        std::iter::once(head).chain(about).collect()
    }
}

fn next(chosen: Option<usize>, count: usize, turn: Turn, need: Need) -> Option<usize> {
    match (chosen, turn, need) {
        (None, _, _) if count == 0 => None,
        (None, Turn::Next, _) => Some(0),
        (None, Turn::Before, _) => Some(count - 1),
        // What may be left out can be left out again.
        (Some(last), Turn::Next, Need::Optional) if last + 1 == count => None,
        (Some(0), Turn::Before, Need::Optional) => None,
        (Some(now), turn, _) => Some(turn.within(now, count)),
    }
}

fn kind(schema: &Value) -> Kind {
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        let names = schema.get("enumNames").and_then(Value::as_array);
        let shown = |index: usize, value: &Value| {
            let name = names.and_then(|names| names.get(index)).and_then(Value::as_str);
            name.map_or_else(|| plain(value), str::to_owned)
        };
        return Kind::OneOf(
            choices.iter().enumerate().map(|(index, value)| (value.clone(), shown(index, value))).collect(),
        );
    }
    if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
        let titled = choices.iter().filter_map(|choice| {
            let value = choice.get("const")?;
            let title = choice.get("title").and_then(Value::as_str);
            Some((value.clone(), title.map_or_else(|| plain(value), str::to_owned)))
        });
        return Kind::OneOf(titled.collect());
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => Kind::Text,
        Some("number") => Kind::Number,
        Some("integer") => Kind::Integer,
        Some("boolean") => {
            Kind::OneOf(vec![(Value::Bool(true), "yes".to_owned()), (Value::Bool(false), "no".to_owned())])
        }
        Some(_) | None => Kind::Json,
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
