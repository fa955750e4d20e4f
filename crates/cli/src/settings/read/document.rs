//! What does a text say as JSON with comments and trailing commas, and where does each key stand? Pure. Reports every
//! problem that it can, not only the first.

mod mend;

use std::collections::HashMap;

use jsonc_parser::{
    ast,
    common::{Range, Ranged as _},
    errors::{ParseError, ParseErrorKind},
};
use serde_json::{Map, Number, Value};

pub(crate) use self::mend::strict;
use self::mend::{Mended, advice};
use crate::settings::source::{Place, Positions};

/// Containers inside containers, the root included.
pub(crate) const MAX_DEPTH: usize = 64;

/// Keys deeper than this are found at the nearest key above them; nothing of ours is deeper.
const POSITION_DEPTH: usize = 6;

/// After this many problems a file is not searched for more.
const MAX_PROBLEMS: usize = 100;

/// What a text says.
#[derive(Debug)]
pub(crate) struct Document {
    /// The root object; `None` where the text as a whole is no good.
    pub(crate) root: Option<Map<String, Value>>,
    /// What could be made of a text that is no good. It never counts; further problems are looked for in it.
    pub(crate) recovered: Option<Map<String, Value>>,
    /// Where its keys stand.
    pub(crate) positions: Positions,
    /// In the order of the text.
    pub(crate) problems: Vec<Problem>,
}

/// One problem of the text itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem {
    /// Where.
    pub(crate) place: Place,
    /// What.
    pub(crate) kind: ProblemKind,
}

/// What is wrong with the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ProblemKind {
    /// It is not JSON here; the parser's words.
    Syntax { message: String, hint: Option<&'static str> },
    /// The root is something else than an object.
    RootNotObject { found: &'static str },
    /// Deeper than [`MAX_DEPTH`].
    TooDeep,
    /// The key stood in the same object before.
    DuplicateKey { key: String, first_line: u32 },
}

impl ProblemKind {
    /// Whether the text as a whole is no good because of it.
    pub(crate) fn is_fatal(&self) -> bool {
        match self {
            Self::Syntax { .. } | Self::RootNotObject { .. } | Self::TooDeep => true,
            Self::DuplicateKey { .. } => false,
        }
    }
}

/// Parses a text. White space and comments alone are an empty object.
pub(crate) fn parse(text: &str) -> Document {
    let mut mended = Mended::new(text);
    let mut reader = Reader::new(text);
    loop {
        match jsonc_parser::parse_to_ast(
            &mended.text,
            &jsonc_parser::CollectOptions::default(),
            &mended.options,
        ) {
            Ok(parsed) => {
                let root = reader.root(parsed.value.as_ref());
                return reader.finish(root);
            }
            Err(error) => {
                reader.syntax(&error);
                if reader.problems.len() >= MAX_PROBLEMS || !mended.mend(&error) {
                    return reader.finish(None);
                }
            }
        }
    }
}

/// Turns the tree into a value, noting where keys stand.
struct Reader<'a> {
    cursor: Cursor<'a>,
    positions: Positions,
    problems: Vec<Problem>,
    path: Vec<String>,
    /// How many lists we are in: keys of objects in a list are found at the list's key.
    lists: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            cursor: Cursor::new(text),
            positions: Positions::of(text),
            problems: Vec::new(),
            path: Vec::new(),
            lists: 0,
        }
    }

    fn report(&mut self, offset: usize, kind: ProblemKind) {
        // What makes the whole text no good is never dropped for want of room.
        if self.problems.len() < MAX_PROBLEMS || kind.is_fatal() {
            let place = self.cursor.place(offset);
            self.problems.push(Problem { place, kind });
        }
    }

    fn finish(mut self, root: Option<Map<String, Value>>) -> Document {
        self.problems.sort_by_key(|problem| problem.place);
        self.problems.truncate(MAX_PROBLEMS);
        let good = !self.problems.iter().any(|problem| problem.kind.is_fatal());
        let (root, recovered) = if good { (root, None) } else { (None, root) };
        Document { root, recovered, positions: self.positions, problems: self.problems }
    }

    fn syntax(&mut self, error: &ParseError) {
        let kind = if matches!(error.kind(), ParseErrorKind::NestingDepthExceeded) {
            ProblemKind::TooDeep
        } else {
            let message = lower_first(&error.kind().to_string());
            ProblemKind::Syntax { message, hint: advice(error.kind()) }
        };
        self.report(error.range().start, kind);
    }

    fn root(&mut self, value: Option<&ast::Value<'_>>) -> Option<Map<String, Value>> {
        match value {
            None => Some(Map::new()),
            Some(ast::Value::Object(object)) => {
                self.positions.insert::<&str>(&[], self.cursor.place(object.range.start));
                Some(self.object(object, 1))
            }
            Some(
                other @ (ast::Value::Array(_)
                | ast::Value::StringLit(_)
                | ast::Value::NumberLit(_)
                | ast::Value::BooleanLit(_)
                | ast::Value::NullKeyword(_)),
            ) => {
                self.report(other.range().start, ProblemKind::RootNotObject { found: kind_of(other) });
                None
            }
        }
    }

    fn object(&mut self, object: &ast::Object<'_>, depth: usize) -> Map<String, Value> {
        if !self.goes_deeper(object.range, depth) {
            return Map::new();
        }
        let mut map = Map::new();
        let mut first_lines: HashMap<&str, u32> = HashMap::new();
        for property in &object.properties {
            let key = property.name.as_str();
            let place = self.cursor.place(property.name.range().start);
            if let Some(&first_line) = first_lines.get(key) {
                let kind = ProblemKind::DuplicateKey { key: key.to_owned(), first_line };
                self.report(property.name.range().start, kind);
            } else {
                first_lines.insert(key, place.line);
            }
            self.path.push(key.to_owned());
            if depth <= POSITION_DEPTH && self.lists == 0 {
                self.positions.insert(&self.path, place);
            }
            let value = self.value(&property.value, depth + 1);
            self.path.pop();
            map.insert(key.to_owned(), value);
        }
        map
    }

    fn value(&mut self, value: &ast::Value<'_>, depth: usize) -> Value {
        match value {
            ast::Value::Object(object) => Value::Object(self.object(object, depth)),
            ast::Value::Array(array) => {
                if !self.goes_deeper(array.range, depth) {
                    return Value::Array(Vec::new());
                }
                self.lists += 1;
                let elements = array.elements.iter().map(|element| self.value(element, depth + 1)).collect();
                self.lists -= 1;
                Value::Array(elements)
            }
            ast::Value::StringLit(text) => Value::String(text.value.clone().into_owned()),
            ast::Value::BooleanLit(boolean) => Value::Bool(boolean.value),
            ast::Value::NullKeyword(_) => Value::Null,
            ast::Value::NumberLit(number) => self.number(number),
        }
    }

    fn number(&mut self, number: &ast::NumberLit<'_>) -> Value {
        match exact(number.value) {
            Some(number) => Value::Number(number),
            None => {
                // Too large for a double, or written in a way that JSON has not, such as 012.
                let message = "this number is not one that JSON can say".to_owned();
                self.report(number.range.start, ProblemKind::Syntax { message, hint: None });
                Value::Null
            }
        }
    }

    fn goes_deeper(&mut self, range: Range, depth: usize) -> bool {
        if depth <= MAX_DEPTH {
            return true;
        }
        if !self.problems.iter().any(|problem| problem.kind == ProblemKind::TooDeep) {
            self.report(range.start, ProblemKind::TooDeep);
        }
        false
    }
}

/// What a value is, in words.
pub(crate) fn kind_of(value: &ast::Value<'_>) -> &'static str {
    match value {
        ast::Value::Array(_) => "a list",
        ast::Value::StringLit(_) => "a text",
        ast::Value::NumberLit(_) => "a number",
        ast::Value::BooleanLit(_) => "a boolean",
        ast::Value::NullKeyword(_) => "null",
        ast::Value::Object(_) => "an object",
    }
}

fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_lowercase().chain(characters).collect()).unwrap_or_default()
}

/// Turns byte offsets into places. Offsets that only grow cost one pass over the text in all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    offset: usize,
    place: Place,
}

impl<'a> Cursor<'a> {
    /// At the start of a text.
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, offset: 0, place: Place { line: 1, column: 1 } }
    }

    /// The place of a byte offset.
    pub(crate) fn place(&mut self, offset: usize) -> Place {
        if offset < self.offset {
            *self = Self::new(self.text);
        }
        let mut end = offset.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        for c in self.text[self.offset..end].chars() {
            if c == '\n' {
                self.place = Place { line: self.place.line + 1, column: 1 };
            } else {
                self.place.column += 1;
            }
        }
        self.offset = end;
        self.place
    }
}

/// The number as every other reader of JSON understands it. The approval hash is over its digits, and the quick way from
/// text to a double may miss the last one.
fn exact(text: &str) -> Option<Number> {
    let number = text.parse::<Number>().ok()?;
    if number.is_f64() { text.parse().ok().and_then(Number::from_f64) } else { Some(number) }
}

#[cfg(test)]
mod tests;
