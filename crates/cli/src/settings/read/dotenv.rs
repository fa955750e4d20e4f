//! Which variables does `~/.qwen/.env` set? `KEY=value` lines, an optional `export`, quotes and `#` comments. Pure.

use serde_json::{Map, Value};

use crate::settings::source::{Place, Positions};

/// What the file sets: names to values, where they stand, and the lines that say nothing.
#[derive(Debug)]
pub(crate) struct DotEnv {
    /// Names to texts, in order; the last of a name counts.
    pub(crate) variables: Map<String, Value>,
    /// Where the names stand.
    pub(crate) positions: Positions,
    /// Lines that are neither a variable nor a comment, with the reason.
    pub(crate) odd: Vec<(Place, &'static str)>,
}

/// Reads the text of a `.env` file.
pub(crate) fn parse(text: &str) -> DotEnv {
    let mut found = DotEnv { variables: Map::new(), positions: Positions::of(text), odd: Vec::new() };
    for (number, line) in (1..).zip(text.split('\n')) {
        let indent = line.len() - line.trim_start().len();
        let column = u32::try_from(line[..indent].chars().count()).unwrap_or_default() + 1;
        let place = Place { line: number, column };
        match assignment(line.trim()) {
            Ok(Some((name, value))) => {
                found.positions.insert(&[name], place);
                found.variables.insert(name.to_owned(), Value::String(value));
            }
            Ok(None) => {}
            Err(why) => found.odd.push((place, why)),
        }
    }
    found
}

fn assignment(line: &str) -> Result<Option<(&str, String)>, &'static str> {
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let line = line.strip_prefix("export").filter(|rest| rest.starts_with([' ', '\t'])).unwrap_or(line);
    let (name, value) = line.split_once('=').ok_or("the line is no KEY=value")?;
    let name = name.trim();
    let is_name = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
    if !is_name {
        return Err("a variable's name consists of letters, digits and _");
    }
    value_of(value.trim()).map(|value| Some((name, value)))
}

fn value_of(text: &str) -> Result<String, &'static str> {
    match text.chars().next() {
        Some('\'') => match text[1..].split_once('\'') {
            Some((value, rest)) if is_comment(rest) => Ok(value.to_owned()),
            Some(_) | None => Err("the quote does not end with the value"),
        },
        Some('"') => double_quoted(&text[1..]),
        Some('#') | None => Ok(String::new()),
        // An unquoted `#` is part of the value unless a blank stands before it.
        Some(_) => {
            let end = [" #", "\t#"].iter().filter_map(|mark| text.find(mark)).min().unwrap_or(text.len());
            Ok(text[..end].trim_end().to_owned())
        }
    }
}

fn double_quoted(text: &str) -> Result<String, &'static str> {
    let mut value = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '"' if is_comment(characters.as_str()) => return Ok(value),
            '"' => break,
            '\\' => match characters.next() {
                Some('n') => value.push('\n'),
                Some('r') => value.push('\r'),
                Some('t') => value.push('\t'),
                Some(c @ ('"' | '\\' | '$')) => value.push(c),
                Some(c) => value.extend(['\\', c]),
                None => break,
            },
            c => value.push(c),
        }
    }
    Err("the quote does not end with the value")
}

fn is_comment(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.is_empty() || rest.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_of_writing_a_variable_is_read() {
        let cases = [
            ("A=b", Some("b")),
            ("  export A = b c ", Some("b c")),
            ("A=", Some("")),
            ("A=\"x # \\\"y\\\" \\n\" # note", Some("x # \"y\" \n")),
            ("A='x \\n # y'", Some("x \\n # y")),
            ("A=x#y # z", Some("x#y")),
            ("A=b=c", Some("b=c")),
            ("A=b\r", Some("b")),
            ("A=one\nA=two", Some("two")),
            ("# A=b", None),
        ];
        for (text, expected) in cases {
            let found = parse(text);
            assert_eq!(found.variables.get("A").and_then(Value::as_str), expected, "{text:?}");
            assert!(found.odd.is_empty(), "{text:?}");
        }
    }

    #[test]
    fn a_line_that_says_nothing_is_named_by_its_place() {
        for text in ["\n  nonsense", "\n  1A=b", "\n  A='x", "\n  A=\"x", "\n  A='x'y"] {
            let odd = parse(text).odd;
            assert_eq!(odd.len(), 1, "{text:?}");
            assert_eq!(odd[0].0, Place { line: 2, column: 3 });
        }
    }
}
