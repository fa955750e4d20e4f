//! How does text look on a terminal? Escapes what cannot be seen, aligns columns by width, paints by meaning. It knows
//! no server and no setting.

mod wrap;

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr as _};

use self::wrap::wrapped;
pub(crate) use self::wrap::{below, hanging};
pub(crate) use crate::settings::Paint;

/// What a piece of text means; decides its colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tone {
    /// As it should be.
    Good,
    /// Somebody should look or decide.
    Attention,
    /// Broken.
    Bad,
    /// Beside the point.
    Quiet,
    /// Worth the eye.
    Strong,
    /// Nothing special.
    Normal,
}

impl Paint {
    /// The text in the colour of its meaning.
    pub(crate) fn apply(self, tone: Tone, text: &str) -> String {
        let code = match (self, tone) {
            (Self::Plain, _) | (Self::Colour, Tone::Normal) => return text.to_owned(),
            (Self::Colour, Tone::Good) => "32",
            (Self::Colour, Tone::Attention) => "33",
            (Self::Colour, Tone::Bad) => "31",
            (Self::Colour, Tone::Quiet) => "2",
            (Self::Colour, Tone::Strong) => "1",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// The text with every control, bidirectional and invisible character written out, on one line. What comes from a
/// file passes through here before a person sees it.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            c if is_hidden(c) => shown.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Like [`visible`], but line breaks and tabs stay: for texts of several lines such as the tail of a log.
pub(crate) fn visible_lines(text: &str) -> String {
    text.split('\n').map(|line| visible(line.trim_end_matches('\r'))).collect::<Vec<_>>().join("\n")
}

/// The text with only those characters written out that move the cursor or turn the direction of text: for what a server
/// was asked for, whose joiners, selectors and wide blanks mean something. It is one line.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| {
        c.is_control()
            || matches!(c,
                '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
                | '\u{e0000}'..='\u{e00ff}')
    };
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().fold(String::with_capacity(text.len() + 8), |mut shown, c| {
        if is_harmful(c) {
            shown.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
        } else {
            shown.push(c);
        }
        shown
    }))
}

/// Characters that move the cursor, turn the direction of text, or take no visible room.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{1680}'
            | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{2800}' | '\u{3000}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// A word of a command line as a shell reads it.
pub(crate) fn shell_word(text: &str) -> String {
    match shlex::try_quote(text) {
        Ok(quoted) => quoted.into_owned(),
        // Only a NUL cannot be quoted, and no command line can hold one.
        Err(_) => visible(text).into_owned(),
    }
}

/// `1 tool`, `2 tools`.
pub(crate) fn count(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

/// Lays cells out in columns, two blanks apart, by the width a terminal gives them. The last column is not padded.
pub(crate) fn columns(rows: &[Vec<Cell>], paint: Paint) -> String {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.text.width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..rows.iter().map(Vec::len).max().unwrap_or(0)).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            line.push_str(&paint.apply(cell.tone, &cell.text));
            if column + 1 < row.len() {
                let gap = widths[column] - cell.text.width() + 2;
                line.extend(std::iter::repeat_n(' ', gap));
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// How many columns the rows take without their last one.
pub(crate) fn width_before_last(rows: &[Vec<Cell>]) -> usize {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.text.width()).max().unwrap_or(0) + 2
    };
    (0..columns.saturating_sub(1)).map(width).sum()
}

/// The least that a last column gets, however wide those before it are: room for a word.
const LEAST_ROOM: usize = 12;

/// The rows with their last cells cut so that a line fits into this many columns.
pub(crate) fn fitted(rows: Vec<Vec<Cell>>, width: usize) -> Vec<Vec<Cell>> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let room = width.saturating_sub(width_before_last(&rows)).max(LEAST_ROOM);
    let cut = |mut row: Vec<Cell>| {
        if row.len() == columns
            && let Some(last) = row.last_mut()
        {
            last.text = cut_to(&last.text, room);
        }
        row
    };
    rows.into_iter().map(cut).collect()
}

/// The rows with their last cells broken into rows of their own, so that a line fits into this many columns and nothing
/// is lost.
pub(crate) fn folded(rows: Vec<Vec<Cell>>, width: usize) -> Vec<Vec<Cell>> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let room = width.saturating_sub(width_before_last(&rows)).max(LEAST_ROOM);
    let mut out = Vec::with_capacity(rows.len());
    for mut row in rows {
        let last = if row.len() == columns { row.pop() } else { None };
        let Some(last) = last else {
            out.push(row);
            continue;
        };
        for line in wrapped(&last.text, room) {
            row.push(Cell { text: line, tone: last.tone });
            let empty = vec![Cell { text: String::new(), tone: Tone::Normal }; columns - 1];
            out.push(std::mem::replace(&mut row, empty));
        }
    }
    out
}

/// The text, or as much of it as fits with an ellipsis behind it.
pub(crate) fn cut_to(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut cut = String::new();
    for c in text.chars() {
        if cut.width() + UnicodeWidthChar::width(c).unwrap_or(0) + 1 > room {
            break;
        }
        cut.push(c);
    }
    cut.push('…');
    cut
}

/// The same, but the folders of its paths go first: what a file is called says more.
pub(crate) fn cut_paths_to(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let short = |word: &str| match word.rsplit_once('/') {
        Some((folders, name)) if folders.starts_with(['/', '~']) && !name.is_empty() => format!("…/{name}"),
        Some(_) | None => word.to_owned(),
    };
    cut_to(&text.split(' ').map(short).collect::<Vec<_>>().join(" "), room)
}

/// One cell of a table.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// Text with its meaning; what cannot be seen is escaped.
    pub(crate) fn new(tone: Tone, text: &str) -> Self {
        Self { text: visible(text).into_owned(), tone }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_cannot_be_seen_reaches_a_terminal() {
        let table = [
            ("plain 文字 é", "plain 文字 é"),
            ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
            ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"),
            ("zero\u{200b}width\u{feff}", "zero\\u{200b}width\\u{feff}"),
            ("line\nbreak\ttab\r", "line\\nbreak\\ttab\\r"),
            ("tag\u{e0041}", "tag\\u{e0041}"),
            ("c1\u{9b}", "c1\\u{9b}"),
        ];
        for (text, expected) in table {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn a_log_keeps_its_lines_and_loses_everything_else_that_is_hidden() {
        assert_eq!(visible_lines("one\r\n\u{1b}[2Jtwo\n"), "one\n\\u{1b}[2Jtwo\n");
    }

    #[test]
    fn columns_line_up_with_wide_characters() {
        let row = |a: &str, b: &str| vec![Cell::new(Tone::Good, a), Cell::new(Tone::Normal, b)];
        let table = columns(&[row("数据库", "x"), row("a", "y"), row("", "")], Paint::Plain);
        assert_eq!(table, "数据库  x\na       y\n\n");
    }

    #[test]
    fn of_a_path_that_does_not_fit_the_name_of_the_file_stays() {
        for (text, room, expected) in [
            ("off in /home/u/settings.json:4", 30, "off in /home/u/settings.json:4"),
            ("off in /home/u/settings.json:4", 29, "off in …/settings.json:4"),
            ("off in ~/.qwen/settings.json:4 now", 20, "off in …/settings.j…"),
            ("read https://e.example/a/b and /", 10, "read http…"),
        ] {
            assert_eq!(cut_paths_to(text, room), expected);
        }
    }

    #[test]
    fn colour_appears_only_where_it_was_asked_for() {
        let row = vec![Cell::new(Tone::Bad, "x")];
        assert_eq!(columns(std::slice::from_ref(&row), Paint::Plain), "x\n");
        assert_eq!(columns(&[row], Paint::Colour), "\u{1b}[31mx\u{1b}[0m\n");
    }

    #[test]
    fn a_name_is_quoted_where_a_shell_would_take_it_apart() {
        assert_eq!(shell_word("github"), "github");
        assert_eq!(shell_word("a b; rm -rf /"), "'a b; rm -rf /'");
    }
}
