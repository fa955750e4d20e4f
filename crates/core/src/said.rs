//! How may a server's own words be repeated? Owns the one way from text that came from outside to text that may be shown:
//! without secrets first, then cut. Knows neither who said it nor where it is shown.

use std::sync::Arc;

use serde_json::Value;

use crate::{domain::Secret, mask::mask_text};

/// So much of it is a cause, in one line.
const CAUSE: usize = 200;
/// So much of it is an answer, which people asked for.
const ANSWER: usize = 4000;

/// What the words of one entry's server go through.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    secrets: Arc<[Secret]>,
}

impl Said {
    /// The words of a server that was given these.
    pub(crate) fn new(secrets: &[Secret]) -> Self {
        Self { secrets: secrets.into() }
    }

    /// Without secrets, whole.
    pub(crate) fn masked(&self, text: &str) -> String {
        mask_text(text, &self.secrets)
    }

    /// One line of at most 200 characters, without what paints on a screen.
    pub(crate) fn cause(&self, text: &str) -> String {
        cause(&self.masked(text))
    }

    /// As it was said, of at most 4000 characters.
    pub(crate) fn answer(&self, text: &str) -> String {
        cut(&self.masked(text), ANSWER)
    }

    /// The same value with every text in it masked.
    pub(crate) fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.masked(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.into_iter();
                fields.map(|(name, value)| (self.masked(&name), self.value(value))).collect()
            }
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
        }
    }
}

/// The same of a text that is masked already.
pub(crate) fn cause(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    cut(&line.split_whitespace().collect::<Vec<_>>().join(" "), CAUSE)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_masked_before_the_text_is_cut() {
        let said = Said::new(&["s3cret-s3cret".into()]);
        let text = format!("{}s3cret-s3cret", "x".repeat(CAUSE - 5));
        assert_eq!(said.cause(&text), format!("{}•••", "x".repeat(CAUSE - 5)));
        assert_eq!(said.answer(&text), said.cause(&text));
    }

    #[test]
    fn a_cause_is_one_short_line_and_an_answer_is_bounded() {
        let said = Said::default();
        assert_eq!(said.cause(" a\r\n\u{1b}[31mb "), "a [31mb");
        let long = "ä".repeat(10_000);
        assert_eq!(said.cause(&long).chars().count(), CAUSE + 1);
        assert_eq!(said.answer(&long).chars().count(), ANSWER + 1);
        assert_eq!(said.answer("a\nb"), "a\nb");
    }

    #[test]
    fn values_are_masked_at_every_depth() {
        let said = Said::new(&["s3cret-s3cret".into()]);
        assert_eq!(
            said.value(json!({"a": [{"s3cret-s3cret": "is s3cret-s3cret"}, 1, null]})),
            json!({"a": [{"•••": "is •••"}, 1, null]})
        );
    }
}
