//! How is a JSON text laid out, and how is a value written so that it looks like its surroundings? Line ends, indent,
//! and what stands on the rest of a line. It knows no setting and changes nothing.

use serde::Serialize as _;
use serde_json::Value;

/// A text with the habits of whoever wrote it.
pub(super) struct Style<'a> {
    text: &'a str,
    newline: &'static str,
    unit: String,
}

/// How a value is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Layout<'a> {
    /// Over several lines, the first of which has this indent.
    Lines(&'a str),
    /// On one line.
    OneLine,
}

impl<'a> Style<'a> {
    /// `first` is where the first key of the root stands: its indent is the unit.
    pub(super) fn of(text: &'a str, first: Option<usize>) -> Self {
        let crlf = text.find('\n').is_some_and(|at| text[..at].ends_with('\r'));
        let mut style = Self { text, newline: if crlf { "\r\n" } else { "\n" }, unit: "  ".to_owned() };
        if let Some(first) = first.filter(|&first| style.starts_line(first)) {
            let indent = style.indent_of(first);
            if !indent.is_empty() {
                style.unit = indent.to_owned();
            }
        }
        style
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    pub(super) fn newline(&self) -> &'static str {
        self.newline
    }

    pub(super) fn unit(&self) -> &str {
        &self.unit
    }

    /// The start of the line that holds this offset.
    pub(super) fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// The blanks with which the line of this offset begins.
    pub(super) fn indent_of(&self, at: usize) -> &'a str {
        let line = &self.text[self.line_start(at)..];
        &line[..line.len() - line.trim_start_matches(BLANKS).len()]
    }

    /// Whether nothing but blanks stands before it on its line.
    pub(super) fn starts_line(&self, at: usize) -> bool {
        self.text[self.line_start(at)..at].chars().all(|c| BLANKS.contains(&c))
    }

    /// Where the comma after this offset stands, past white space and comments.
    pub(super) fn comma_after(&self, mut at: usize) -> Option<usize> {
        loop {
            let rest = &self.text[at..];
            let next = rest.len() - rest.trim_start().len();
            if next > 0 {
                at += next;
            } else if let Some(end) = self.comment_end(at) {
                at = end;
            } else {
                return rest.starts_with(',').then_some(at);
            }
        }
    }

    /// The end of the line, its line break not included, where nothing but blanks and comments stands up to there. A
    /// comment of several lines leads to the end of its last one.
    pub(super) fn line_tail(&self, mut at: usize) -> Option<usize> {
        loop {
            let rest = &self.text[at..];
            if rest.is_empty() || rest.starts_with('\n') || rest.starts_with("\r\n") {
                return Some(at);
            }
            match self.comment_end(at) {
                Some(end) => at = end,
                None if rest.starts_with(BLANKS) => at += 1,
                None => return None,
            }
        }
    }

    /// The end of the comment that begins here.
    fn comment_end(&self, at: usize) -> Option<usize> {
        let rest = &self.text[at..];
        if rest.starts_with("//") {
            let line = rest.find('\n').map_or(rest, |end| &rest[..end]);
            return Some(at + line.strip_suffix('\r').unwrap_or(line).len());
        }
        let block = rest.strip_prefix("/*")?;
        Some(block.find("*/").map_or(self.text.len(), |end| at + 2 + end + 2))
    }

    /// The offset behind the line break that stands here, if one does.
    pub(super) fn after_newline(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        let length =
            ["\r\n", "\n"].iter().find(|newline| rest.starts_with(**newline)).map_or(0, |found| found.len());
        at + length
    }

    /// `"key": value`.
    pub(super) fn property(&self, key: &str, value: &Value, layout: Layout<'_>) -> String {
        format!("{}: {}", Value::from(key), self.value(value, layout))
    }

    /// The value in a layout.
    pub(super) fn value(&self, value: &Value, layout: Layout<'_>) -> String {
        match layout {
            Layout::OneLine => one_line(value),
            Layout::Lines(indent) => {
                let mut bytes = Vec::new();
                let formatter = serde_json::ser::PrettyFormatter::with_indent(self.unit.as_bytes());
                let mut writer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
                match value.serialize(&mut writer).ok().and_then(|()| String::from_utf8(bytes).ok()) {
                    Some(text) => text.replace('\n', &format!("{}{indent}", self.newline)),
                    // A value of ours can always be written; this is the same value all the same.
                    None => one_line(value),
                }
            }
        }
    }
}

/// What separates words on a line.
pub(super) const BLANKS: [char; 2] = [' ', '\t'];

fn one_line(value: &Value) -> String {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), one_line(value)))
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(one_line).collect::<Vec<_>>().join(", ")),
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            value.to_string()
        }
    }
}
