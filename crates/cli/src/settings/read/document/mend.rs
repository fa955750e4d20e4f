//! How does one go on after a syntax error? Paints over what was wrong, byte for byte, so that the next problem is
//! found at its own place. What comes of it never counts.

use jsonc_parser::{
    ParseOptions,
    common::Range,
    errors::{ParseError, ParseErrorKind},
};

/// JSON with comments and trailing commas, and nothing else beyond JSON.
pub(crate) fn strict() -> ParseOptions {
    ParseOptions {
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
    }
}

/// The text with what was wrong painted over in place, so that a second problem is found at its own offset.
pub(super) struct Mended {
    pub(super) text: String,
    pub(super) options: ParseOptions,
}

/// Larger texts are reported up to their first problem: each further one costs a pass.
const MEND_UP_TO: usize = 256 * 1024;

impl Mended {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), options: strict() }
    }

    /// Paints over one problem; `false` where it cannot.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the parser's enum: what we cannot mend ends the search"
    )]
    pub(super) fn mend(&mut self, error: &ParseError) -> bool {
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
            _ => false,
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

/// What to do about an error, where there is one thing to do.
#[expect(clippy::wildcard_enum_match_arm, reason = "the parser's enum: most of its errors say what to do")]
pub(super) fn advice(kind: &ParseErrorKind) -> Option<&'static str> {
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
        _ => None,
    }
}
