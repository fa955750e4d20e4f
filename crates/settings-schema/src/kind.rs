//! Does a value have the type that its key wants? Owns the check of one value against one kind, for settings and for
//! fields of a server entry alike; knows no key by name.

use serde_json::Value;

use crate::{
    finding::{Code, Finding, Findings},
    key::KeyPath,
    near::nearest,
    table::{Kind, Range},
    value::{is_exact, type_word, whole},
};

/// What a value is worth to a key of some kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fit {
    /// It counts, perhaps as the nearest bound.
    Good,
    /// It does not count.
    Wrong,
}

/// Checks `value` at `at` and says what is wrong with it.
pub(crate) fn check_kind(at: &KeyPath, kind: Kind, value: &Value, findings: &mut Findings) -> Fit {
    let before = findings.errors();
    match (kind, value) {
        (Kind::Any, _)
        | (Kind::Boolean { .. }, Value::Bool(_))
        | (Kind::Text, Value::String(_))
        | (Kind::Object | Kind::Servers, Value::Object(_)) => return Fit::Good,
        (Kind::Integer(range), Value::Number(_)) => {
            return check_integer(at, range, value, findings);
        }
        (Kind::Word { words, aliases, .. }, Value::String(text)) => {
            if word(text, words, aliases).is_none() {
                let wrong =
                    Finding::error(at.clone(), Code::WrongWord, format!("expected one of {}", listed(words)));
                findings.push(match nearest(&text.to_lowercase(), words.iter().copied()) {
                    Some(near) => wrong.hinting(format!("did you mean `{near}`?")),
                    None => wrong,
                });
            }
        }
        (Kind::Names | Kind::Texts, Value::Array(items)) => {
            for (index, item) in items.iter().enumerate().filter(|(_, item)| !item.is_string()) {
                findings.push(wrong_type(&at.child(&index.to_string()), "a string", item));
            }
        }
        (Kind::TextMap, Value::Object(items)) => {
            for (name, item) in items.iter().filter(|(_, item)| !item.is_string()) {
                findings.push(wrong_type(&at.child(name), "a string", item));
            }
        }
        (
            Kind::Boolean { .. }
            | Kind::Integer(_)
            | Kind::Text
            | Kind::Word { .. }
            | Kind::Names
            | Kind::Texts
            | Kind::TextMap
            | Kind::Object
            | Kind::Servers,
            _,
        ) => findings.push(wrong_type(at, wanted(kind), value)),
    }
    if findings.errors() == before { Fit::Good } else { Fit::Wrong }
}

/// Whether `value` counts, without a word about it.
pub(crate) fn fits(kind: Kind, value: &Value) -> Fit {
    check_kind(&KeyPath::root(), kind, value, &mut Findings::up_to(0))
}

/// The value of a whole number within its range; `None` for anything that does not count.
pub(crate) fn clamped(range: Range, value: &Value) -> Option<i64> {
    let number = value.as_number()?;
    let whole = whole(number).filter(|_| is_exact(number))?;
    i64::try_from(whole.clamp(i128::from(range.min), i128::from(range.max))).ok()
}

/// The word that `text` stands for.
pub(crate) fn word(
    text: &str,
    words: &[&'static str],
    aliases: &[(&str, &'static str)],
) -> Option<&'static str> {
    words
        .iter()
        .copied()
        .find(|word| *word == text)
        .or_else(|| aliases.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(text)).map(|(_, word)| *word))
}

/// A value of another type than `wanted`.
pub(crate) fn wrong_type(at: &KeyPath, wanted: &str, value: &Value) -> Finding {
    let wrong =
        Finding::error(at.clone(), Code::WrongType, format!("expected {wanted}, found {}", type_word(value)));
    match value {
        Value::String(text) if wanted == "a boolean" && matches!(text.as_str(), "true" | "false") => {
            wrong.hinting("write it without quotes")
        }
        Value::String(text) if wanted == "a whole number" && text.trim().parse::<i64>().is_ok() => {
            wrong.hinting("write it without quotes")
        }
        Value::Null => wrong.hinting("remove it to leave it unset"),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => wrong,
    }
}

/// Words in a row, for people.
pub(crate) fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn check_integer(at: &KeyPath, range: Range, value: &Value, findings: &mut Findings) -> Fit {
    let Some(number) = value.as_number() else { return Fit::Wrong };
    if !is_exact(number) {
        findings.push(unsafe_number(at));
        return Fit::Wrong;
    }
    let Some(whole) = whole(number) else {
        findings.push(Finding::error(
            at.clone(),
            Code::WrongType,
            "expected a whole number, found a fraction",
        ));
        return Fit::Wrong;
    };
    let (min, max) = (range.min, range.max);
    if whole < i128::from(min) {
        findings.push(Finding::warning(
            at.clone(),
            Code::OutOfRange,
            format!("less than {min}, so {min} counts"),
        ));
    } else if whole > i128::from(max) {
        findings.push(Finding::warning(
            at.clone(),
            Code::OutOfRange,
            format!("more than {max}, so {max} counts"),
        ));
    }
    Fit::Good
}

/// A number that other programs would read as another one.
pub(crate) fn unsafe_number(at: &KeyPath) -> Finding {
    Finding::error(at.clone(), Code::UnsafeNumber, "a number beyond ±2^53, which programs do not read alike")
        .hinting("write a smaller number, or a string")
}

fn wanted(kind: Kind) -> &'static str {
    match kind {
        Kind::Boolean { .. } => "a boolean",
        Kind::Integer(_) => "a whole number",
        Kind::Text | Kind::Word { .. } => "a string",
        Kind::Names | Kind::Texts => "a list of strings",
        Kind::TextMap | Kind::Object | Kind::Servers | Kind::Any => "an object",
    }
}
