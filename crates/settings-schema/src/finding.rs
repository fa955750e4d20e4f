//! What is said about a value that is not as it should be? Owns the shape and the codes of a finding; knows no file,
//! no line and no secret: a message never repeats a value of the document.

use serde::Serialize;

use crate::key::KeyPath;

/// One thing to say about one key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// Where it stands, from the root of what was checked.
    pub key: KeyPath,
    /// A stable word for programs.
    pub code: Code,
    /// Whether something does not count because of it.
    pub severity: Severity,
    /// The cause: lower case, no full stop, no value of the document.
    pub message: String,
    /// What to do next, where that is known.
    pub hint: Option<String>,
}

impl Finding {
    /// Something does not count.
    pub(crate) fn error(key: KeyPath, code: Code, message: impl Into<String>) -> Self {
        Self { key, code, severity: Severity::Error, message: message.into(), hint: None }
    }

    /// Everything counts, but probably not as meant.
    pub(crate) fn warning(key: KeyPath, code: Code, message: impl Into<String>) -> Self {
        Self { key, code, severity: Severity::Warning, message: message.into(), hint: None }
    }

    /// The same finding with a next step.
    pub(crate) fn hinting(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same finding, seen from the document that holds the checked value at `above`.
    #[must_use]
    pub fn below(mut self, above: &KeyPath) -> Self {
        self.key = above.join(&self.key);
        self
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Everything counts, but probably not as meant.
    Warning,
    /// A key or an entry does not count, or a restriction was taken at its strictest.
    Error,
}

impl Severity {
    /// The word in JSON and in text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What kind of finding it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// A value of another type than its key has, `null` included.
    WrongType,
    /// A word that is none of those the key knows.
    WrongWord,
    /// A number outside the range of its key; the nearest bound counts.
    OutOfRange,
    /// A number beyond ±2^53, which other programs read as another number.
    UnsafeNumber,
    /// A key that nothing reads.
    UnknownKey,
    /// A key of another program's dialect, with the one to use here.
    OtherDialect,
    /// A key that does not count where it stands.
    IgnoredHere,
    /// A server entry that does not say what to run or where to connect.
    InvalidEntry,
    /// Two fields of a server entry say the same thing twice.
    RedundantField,
}

impl Code {
    /// The word in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WrongType => "wrong_type",
            Self::WrongWord => "wrong_word",
            Self::OutOfRange => "out_of_range",
            Self::UnsafeNumber => "unsafe_number",
            Self::UnknownKey => "unknown_key",
            Self::OtherDialect => "other_dialect",
            Self::IgnoredHere => "ignored_here",
            Self::InvalidEntry => "invalid_entry",
            Self::RedundantField => "redundant_field",
        }
    }
}

/// Findings as they are made: each kind of severity up to a number, since a hostile document can be nothing but
/// findings. An error is never lost to warnings.
#[derive(Debug)]
pub(crate) struct Findings {
    kept: Vec<Finding>,
    most: usize,
    warnings: usize,
    errors: usize,
}

impl Findings {
    /// Keeps up to `most` errors and as many warnings; counts them all.
    pub(crate) fn up_to(most: usize) -> Self {
        Self { kept: Vec::new(), most, warnings: 0, errors: 0 }
    }

    /// How many errors there were, kept or not.
    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    /// One more.
    pub(crate) fn push(&mut self, finding: Finding) {
        let count = match finding.severity {
            Severity::Warning => &mut self.warnings,
            Severity::Error => &mut self.errors,
        };
        *count += 1;
        if *count <= self.most {
            self.kept.push(finding);
        }
    }

    /// One more warning, made only when it is kept.
    pub(crate) fn warn_with(&mut self, make: impl FnOnce() -> Finding) {
        if self.warnings < self.most {
            self.push(make());
        }
    }

    /// Those that were kept, in the order in which they were made.
    pub(crate) fn into_kept(self) -> Vec<Finding> {
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_in_json_are_the_words_in_text() {
        for code in [Code::WrongType, Code::OutOfRange, Code::UnsafeNumber, Code::RedundantField] {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
        for severity in [Severity::Warning, Severity::Error] {
            assert_eq!(serde_json::to_value(severity).unwrap(), severity.as_str());
        }
    }

    #[test]
    fn an_error_is_kept_however_many_warnings_came_before_it() {
        let mut findings = Findings::up_to(2);
        for _ in 0..5 {
            findings.push(Finding::warning(KeyPath::root(), Code::UnknownKey, "w"));
        }
        for _ in 0..4 {
            findings.push(Finding::error(KeyPath::root(), Code::WrongType, "e"));
        }
        assert_eq!(findings.errors(), 4);
        let kept: Vec<_> = findings.into_kept().iter().map(|finding| finding.severity).collect();
        assert_eq!(kept, [Severity::Warning, Severity::Warning, Severity::Error, Severity::Error]);
    }
}
