//! What does a text say as JSON with comments and trailing commas, and where does each key stand? Pure. Reports every
//! problem that it can, not only the first.

use std::collections::HashMap;

use jsonc_parser::{
    ParseOptions, ast,
    common::{Range, Ranged as _},
    errors::{ParseError, ParseErrorKind},
};
use serde_json::{Map, Number, Value};

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

/// The text with what was wrong painted over in place, so that a second problem is found at its own offset.
struct Mended {
    text: String,
    options: ParseOptions,
}

/// Larger texts are reported up to their first problem: each further one costs a pass.
const MEND_UP_TO: usize = 256 * 1024;

impl Mended {
    fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            options: ParseOptions {
                allow_comments: true,
                allow_trailing_commas: true,
                allow_loose_object_property_names: false,
                allow_missing_commas: false,
                allow_single_quoted_strings: false,
                allow_hexadecimal_numbers: false,
                allow_unary_plus_numbers: false,
                allow_bare_decimal_point_numbers: false,
                allow_non_finite_numbers: false,
                allow_extended_string_escapes: false,
            },
        }
    }

    /// Paints over one problem; `false` where it cannot.
    fn mend(&mut self, error: &ParseError) -> bool {
        if self.text.len() > MEND_UP_TO {
            return false;
        }
        let options = &mut self.options;
        match error.kind() {
            // One word about each of these ways of writing is enough for a file.
            ParseErrorKind::SingleQuotedStringsNotAllowed => allow(&mut options.allow_single_quoted_strings),
            ParseErrorKind::HexadecimalNumbersNotAllowed => allow(&mut options.allow_hexadecimal_numbers),
            ParseErrorKind::UnaryPlusNumbersNotAllowed => allow(&mut options.allow_unary_plus_numbers),
            ParseErrorKind::BareDecimalPointNumbersNotAllowed => {
                allow(&mut options.allow_bare_decimal_point_numbers)
            }
            ParseErrorKind::NonFiniteNumbersNotAllowed => allow(&mut options.allow_non_finite_numbers),
            ParseErrorKind::ExpectedStringObjectProperty => {
                allow(&mut options.allow_loose_object_property_names)
            }
            ParseErrorKind::ExpectedComma => self.put_near(error.range(), ','),
            ParseErrorKind::ExpectedObjectValue => self.put_near(error.range(), '0'),
            ParseErrorKind::UnexpectedWord | ParseErrorKind::UnexpectedToken => {
                let range = self.word(error.range().start);
                self.overwrite(range, '0')
            }
            ParseErrorKind::UnexpectedCloseBrace
            | ParseErrorKind::UnexpectedCloseBracket
            | ParseErrorKind::UnexpectedColon
            | ParseErrorKind::UnexpectedComma => self.overwrite(error.range(), ' '),
            ParseErrorKind::CommentsNotAllowed
            | ParseErrorKind::ExpectedColonAfterObjectKey
            | ParseErrorKind::ExpectedDigit
            | ParseErrorKind::ExpectedDigitFollowingNegativeSign
            | ParseErrorKind::ExpectedPlusMinusOrDigitInNumberLiteral
            | ParseErrorKind::MultipleRootJsonValues
            | ParseErrorKind::String(_)
            | ParseErrorKind::TrailingCommasNotAllowed
            | ParseErrorKind::UnexpectedTokenInObject
            | ParseErrorKind::UnterminatedArray
            | ParseErrorKind::UnterminatedCommentBlock
            | ParseErrorKind::UnterminatedObject
            | ParseErrorKind::NestingDepthExceeded => false,
        }
    }

    /// What stands at an offset up to white space or punctuation.
    fn word(&self, start: usize) -> Range {
        let rest = self.text.get(start..).unwrap_or_default();
        let length = rest.find(|c: char| c.is_whitespace() || "{}[],:\"".contains(c));
        Range { start, end: start + length.unwrap_or(rest.len()) }
    }

    /// Puts a character where white space stands at the start of the range or before it.
    fn put_near(&mut self, range: Range, with: char) -> bool {
        let start = range.start.min(self.text.len());
        let blank = |at: usize| self.text.get(at..=at).is_some_and(|c| matches!(c, " " | "\t" | "\r" | "\n"));
        let Some(at) = [Some(start), start.checked_sub(1)].into_iter().flatten().find(|&at| blank(at)) else {
            return false;
        };
        self.text.replace_range(at..=at, with.encode_utf8(&mut [0; 4]));
        true
    }

    /// Paints over the range, byte for byte.
    fn overwrite(&mut self, range: Range, with: char) -> bool {
        let (start, end) = (range.start, range.end.min(self.text.len()));
        if start >= end || self.text.get(start..end).is_none() {
            return false;
        }
        let mut paint = String::from(with);
        paint.push_str(&" ".repeat(end - start - 1));
        self.text.replace_range(start..end, &paint);
        true
    }
}

/// Turns a strictness off; `false` where it is off already, so that nothing is tried twice.
fn allow(option: &mut bool) -> bool {
    !std::mem::replace(option, true)
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
        let kind = match error.kind() {
            ParseErrorKind::NestingDepthExceeded => ProblemKind::TooDeep,
            kind => ProblemKind::Syntax { message: lower_first(&kind.to_string()), hint: advice(kind) },
        };
        self.report(error.range().start, kind);
    }

    fn root(&mut self, value: Option<&ast::Value<'_>>) -> Option<Map<String, Value>> {
        match value {
            None => Some(Map::new()),
            Some(ast::Value::Object(object)) => {
                self.positions.insert(Vec::new(), self.cursor.place(object.range.start));
                Some(self.object(object, 1))
            }
            Some(
                other @ (ast::Value::Array(_)
                | ast::Value::StringLit(_)
                | ast::Value::NumberLit(_)
                | ast::Value::BooleanLit(_)
                | ast::Value::NullKeyword(_)),
            ) => {
                self.report(other.range().start, ProblemKind::RootNotObject { found: name(other) });
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
                self.positions.insert(self.path.clone(), place);
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
        match number.value.parse::<Number>() {
            Ok(number) => Value::Number(number),
            Err(_) => {
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

fn name(value: &ast::Value<'_>) -> &'static str {
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

fn advice(kind: &ParseErrorKind) -> Option<&'static str> {
    match kind {
        ParseErrorKind::ExpectedComma => Some("put a comma between the two"),
        ParseErrorKind::SingleQuotedStringsNotAllowed => Some("use double quotes"),
        ParseErrorKind::UnexpectedWord
        | ParseErrorKind::UnexpectedToken
        | ParseErrorKind::ExpectedStringObjectProperty => Some("put it in double quotes"),
        ParseErrorKind::UnterminatedArray => Some("close the list with ]"),
        ParseErrorKind::UnterminatedObject => Some("close the object with }"),
        ParseErrorKind::UnterminatedCommentBlock => Some("close the comment with */"),
        ParseErrorKind::MultipleRootJsonValues => Some("put everything into one object"),
        ParseErrorKind::BareDecimalPointNumbersNotAllowed
        | ParseErrorKind::CommentsNotAllowed
        | ParseErrorKind::ExpectedColonAfterObjectKey
        | ParseErrorKind::ExpectedDigit
        | ParseErrorKind::ExpectedDigitFollowingNegativeSign
        | ParseErrorKind::ExpectedObjectValue
        | ParseErrorKind::ExpectedPlusMinusOrDigitInNumberLiteral
        | ParseErrorKind::HexadecimalNumbersNotAllowed
        | ParseErrorKind::NestingDepthExceeded
        | ParseErrorKind::NonFiniteNumbersNotAllowed
        | ParseErrorKind::String(_)
        | ParseErrorKind::TrailingCommasNotAllowed
        | ParseErrorKind::UnaryPlusNumbersNotAllowed
        | ParseErrorKind::UnexpectedCloseBrace
        | ParseErrorKind::UnexpectedCloseBracket
        | ParseErrorKind::UnexpectedColon
        | ParseErrorKind::UnexpectedComma
        | ParseErrorKind::UnexpectedTokenInObject => None,
    }
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

#[cfg(test)]
mod tests;
