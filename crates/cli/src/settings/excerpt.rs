//! What may be shown of a line of a settings file? Its keys, its punctuation, its numbers; every string value, every
//! comment and every stray word is `•••`. Works on broken text too, and rather hides too much than too little.

use super::source::Place;

/// What stands where a value was.
pub(crate) const MASK: &str = "•••";

/// One line of a file, masked, with the place that is meant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Excerpt {
    /// The line, or the part of a long one around the place; every string value is `•••`.
    pub text: String,
    /// The marked part, as byte offsets into `text`.
    pub start: usize,
    /// Where the marked part ends.
    pub end: usize,
}

/// Characters kept before and after the place in a long line.
const REACH: usize = 100;

impl Excerpt {
    /// The line of `place`, masked. `None` where the text has no such line.
    #[must_use]
    pub fn of(text: &str, place: Place) -> Option<Self> {
        let mut state = Outside::Plain;
        for (number, line) in (1..).zip(text.split('\n')) {
            let line = line.strip_suffix('\r').unwrap_or(line);
            if number == place.line {
                // What is far behind the place is not shown; a value that is cut here is masked all the same.
                let enough = ahead(line, 0, place.column as usize + 2 * REACH);
                return Some(Self::cut(&pieces(&line[..enough], &mut state), place.column));
            }
            // Only block comments reach over a line; a cheap pass is enough to follow them.
            skip_line(line, &mut state);
        }
        None
    }

    fn cut(pieces: &[Piece<'_>], column: u32) -> Self {
        let column = column.saturating_sub(1) as usize;
        let mut shown = String::new();
        let mut mark = None;
        let mut at = 0;
        for piece in pieces {
            let length = piece.source.chars().count();
            let holds = (at..at + length.max(1)).contains(&column);
            let start = shown.len();
            shown.push_str(piece.shown());
            if holds && mark.is_none() {
                mark = Some(match piece.kind {
                    Kind::Key | Kind::Masked => start..shown.len(),
                    Kind::Plain => {
                        let offset =
                            piece.source.chars().take(column - at).map(char::len_utf8).sum::<usize>();
                        let width = piece.source[offset..].chars().next().map_or(0, char::len_utf8);
                        start + offset..start + offset + width
                    }
                });
            }
            at += length;
        }
        let mark = mark.unwrap_or(shown.len()..shown.len());
        let from = back(&shown, mark.start, REACH);
        let to = ahead(&shown, mark.end, REACH);
        Self { text: shown[from..to].to_owned(), start: mark.start - from, end: mark.end - from }
    }
}

fn back(text: &str, from: usize, characters: usize) -> usize {
    text[..from].char_indices().rev().take(characters).last().map_or(from, |(at, _)| at)
}

fn ahead(text: &str, from: usize, characters: usize) -> usize {
    text[from..].char_indices().nth(characters).map_or(text.len(), |(at, _)| from + at)
}

/// What a line begins in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outside {
    Plain,
    BlockComment,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Key,
    Masked,
    Plain,
}

struct Piece<'a> {
    kind: Kind,
    source: &'a str,
    masked: &'static str,
}

impl<'a> Piece<'a> {
    fn plain(source: &'a str) -> Self {
        Self { kind: Kind::Plain, source, masked: "" }
    }

    fn masked(source: &'a str, masked: &'static str) -> Self {
        Self { kind: Kind::Masked, source, masked }
    }

    fn shown(&self) -> &'a str {
        match self.kind {
            Kind::Key | Kind::Plain => self.source,
            Kind::Masked => self.masked,
        }
    }
}

fn pieces<'a>(line: &'a str, state: &mut Outside) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    let mut rest = line;
    // A key stands after `{`, after `,`, or first in its line; what stands elsewhere is a value, whatever follows it.
    let mut key_may_come = true;
    while let Some(first) = rest.chars().next() {
        if *state == Outside::BlockComment {
            let end = rest.find("*/").map_or(rest.len(), |at| at + 2);
            if end != rest.len() || rest.ends_with("*/") {
                *state = Outside::Plain;
            }
            pieces.push(Piece::masked(&rest[..end], MASK));
            rest = &rest[end..];
            continue;
        }
        if rest.starts_with("//") {
            pieces.push(Piece::masked(rest, "// •••"));
            break;
        }
        if rest.starts_with("/*") {
            *state = Outside::BlockComment;
            pieces.push(Piece::masked(&rest[..2], "/* "));
            rest = &rest[2..];
            continue;
        }
        let length = match first {
            '"' | '\'' => quoted(rest, first),
            '{' | '}' | '[' | ']' | ',' | ':' => 1,
            first if first.is_whitespace() => rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len()),
            _ => rest
                .find(|c: char| c.is_whitespace() || "{}[],:\"'/".contains(c))
                .unwrap_or(rest.len())
                .max(first.len_utf8()),
        };
        let (piece, after) = rest.split_at(length);
        let is_quoted = matches!(first, '"' | '\'');
        if is_quoted && key_may_come && after.trim_start().starts_with(':') {
            pieces.push(Piece { kind: Kind::Key, source: piece, masked: "" });
        } else if is_quoted {
            pieces.push(Piece::masked(piece, "\"•••\""));
        } else if first.is_whitespace() || length == 1 && "{}[],:".contains(first) || is_harmless(piece) {
            pieces.push(Piece::plain(piece));
        } else {
            pieces.push(Piece::masked(piece, MASK));
        }
        if !first.is_whitespace() {
            key_may_come = matches!(first, '{' | ',');
        }
        rest = after;
    }
    pieces
}

/// The length of a quoted text with its quotes, or of the rest of the line where it does not end.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

fn is_harmless(word: &str) -> bool {
    matches!(word, "true" | "false" | "null")
        || word.len() <= 20 && word.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c))
}

/// Follows block comments over a line that is not shown.
fn skip_line(line: &str, state: &mut Outside) {
    if *state == Outside::Plain && !line.contains("/*") {
        return;
    }
    pieces(line, state);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, line: u32, column: u32) -> (String, String) {
        let excerpt = Excerpt::of(text, Place { line, column }).unwrap();
        (excerpt.text.clone(), excerpt.text[excerpt.start..excerpt.end].to_owned())
    }

    #[test]
    fn every_string_value_and_comment_is_masked_and_keys_stay() {
        let cases = [
            (r#"{"a": "s3cret", "b": 5} // s3cret"#, 17, r#"{"a": "•••", "b": 5} // •••"#, r#""b""#),
            (r#"  "args": ["s3cret", "x\"s3cret"],"#, 3, r#"  "args": ["•••", "•••"],"#, r#""args""#),
            (r#"  "token": s3cret,"#, 12, r#"  "token": •••,"#, "•••"),
            (r#"  "a": "s3cret": 5"#, 8, r#"  "a": "•••": 5"#, r#""•••""#),
            (r#"  "a": "s3cret"#, 8, r#"  "a": "•••""#, r#""•••""#),
            (r#"  'k': 's3cret' /* s3cret */ , true"#, 3, r#"  'k': "•••" /* ••• , true"#, "'k'"),
            (r#"  "ключ": nulll"#, 11, r#"  "ключ": •••"#, "•••"),
            ("  }}", 4, "  }}", "}"),
        ];
        for (line, column, expected, mark) in cases {
            let (text, marked) = shown(line, 1, column);
            assert_eq!((text.as_str(), marked.as_str()), (expected, mark), "{line}");
            assert!(!text.contains("s3cret"));
        }
    }

    #[test]
    fn a_block_comment_is_followed_over_lines() {
        let (text, _) = shown("{ /* a\n \"k\": s3cret */ \"x\": 1\n}", 2, 22);
        assert_eq!(text, r#"••• "x": 1"#);
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let line = format!("{{{}\"bad\": 1}}", "\"key\": 1, ".repeat(1000));
        let (text, marked) = shown(&line, 1, 10_002);
        assert_eq!(marked, "\"bad\"");
        assert!(text.chars().count() <= 2 * REACH + 10);
    }
}
