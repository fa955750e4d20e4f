//! What is one line of text made of, before anybody knows where it is drawn? Pieces with their meaning, already escaped.
//! It knows no terminal.

use ratatui::{
    style::{Color, Modifier, Style},
    text::Span,
};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use crate::text::{Paint, Tone, printable, visible};

/// Pieces of text with what each means. Nothing in it can move a cursor: every piece is escaped as it comes in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Line {
    pieces: Vec<(Tone, String)>,
}

impl Line {
    /// One piece.
    pub(super) fn new(tone: Tone, text: &str) -> Self {
        Self::default().and(tone, text)
    }

    /// The same with another piece behind.
    #[must_use]
    pub(super) fn and(mut self, tone: Tone, text: &str) -> Self {
        self.pieces.push((tone, visible(text).into_owned()));
        self
    }

    /// The same with another line behind.
    #[must_use]
    pub(super) fn and_line(mut self, line: Self) -> Self {
        self.pieces.extend(line.pieces);
        self
    }

    /// One line for each line of a text.
    pub(super) fn of_text(tone: Tone, text: &str) -> Vec<Self> {
        text.lines().map(|line| Self::new(tone, &line.replace('\t', "    "))).collect()
    }

    /// The same for what a server was asked for, as much as it was sent as can be: tabs lead to their stops, and only
    /// what would move the cursor or turn the direction of text is written out.
    pub(super) fn of_result(tone: Tone, text: &str) -> Vec<Self> {
        text.lines()
            .map(|line| Self { pieces: vec![(tone, printable(&tabs_to_stops(line)).into_owned())] })
            .collect()
    }

    /// How many columns it takes.
    pub(super) fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| text.width()).sum()
    }

    /// Without its meaning.
    pub(super) fn plain(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// The same in as many lines as it takes at this width, broken between words where there are any; each but the
    /// first begins with so many blanks.
    pub(super) fn wrapped(&self, width: usize, indent: usize) -> Vec<Self> {
        self.broken(width, indent, LongWord::Cut)
    }

    /// The same for the scroll-back: it hangs below its first word, and a word longer than a row stays whole, so that it
    /// can be copied.
    pub(super) fn at_words(&self, width: usize) -> Vec<Self> {
        let text = self.plain();
        let blanks = text.len() - text.trim_start_matches(' ').len();
        self.broken(width, blanks + 2, LongWord::Whole)
    }

    fn broken(&self, width: usize, indent: usize, long: LongWord) -> Vec<Self> {
        let width = width.max(1);
        let indent = if indent < width { indent } else { 0 };
        let done = Vec::new();
        let mut wrap = Wrap { width, indent, long, done, row: Self::default(), column: 0, words: 0 };
        for (tone, text) in &self.pieces {
            for word in text.split_inclusive(' ') {
                wrap.word(*tone, word);
            }
        }
        wrap.done.push(wrap.row);
        wrap.done
    }

    fn push(&mut self, tone: Tone, text: &str) {
        match self.pieces.last_mut() {
            Some((last, held)) if *last == tone => held.push_str(text),
            Some(_) | None => self.pieces.push((tone, text.to_owned())),
        }
    }

    /// As it is written to a terminal, for the part that scrolls away.
    pub(super) fn written(&self, paint: Paint) -> String {
        self.pieces.iter().map(|(tone, text)| paint.apply(*tone, text)).collect()
    }

    /// As it is drawn.
    pub(super) fn drawn(&self, paint: Paint) -> ratatui::text::Line<'static> {
        self.pieces.iter().map(|(tone, text)| Span::styled(text.clone(), style(*tone, paint))).collect()
    }
}

/// The columns between two stops of a tab.
const STOP: usize = 8;

fn tabs_to_stops(line: &str) -> String {
    let mut out = String::new();
    for (index, part) in line.split('\t').enumerate() {
        if index > 0 {
            let to_stop = STOP - out.width() % STOP;
            out.extend(std::iter::repeat_n(' ', to_stop));
        }
        out.push_str(part);
    }
    out
}

/// What becomes of a word that is longer than a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LongWord {
    /// It is cut between characters.
    Cut,
    /// It stays whole, for the terminal to break.
    Whole,
}

/// Lines as they fill up.
struct Wrap {
    width: usize,
    indent: usize,
    long: LongWord,
    done: Vec<Line>,
    row: Line,
    column: usize,
    /// In the row so far.
    words: usize,
}

impl Wrap {
    fn word(&mut self, tone: Tone, word: &str) {
        // The blank behind a word may stand beyond the end of its line.
        if self.column + word.trim_end().width() > self.width && self.words > 0 {
            self.next();
        }
        match self.long {
            LongWord::Cut => {}
            LongWord::Whole => {
                let fits = self.column + word.width() <= self.width;
                let word = if fits { word } else { word.trim_end() };
                self.row.push(tone, word);
                self.column += word.width();
                self.words += usize::from(!word.trim().is_empty());
                return;
            }
        }
        for part in word.split_inclusive('/') {
            self.part(tone, part);
        }
    }

    /// A word longer than a line is cut behind a slash, so that the name of a file stays whole, or else between
    /// characters.
    fn part(&mut self, tone: Tone, part: &str) {
        let width = part.trim_end().width();
        if self.column + width > self.width && self.indent + width <= self.width && self.words > 0 {
            self.next();
        }
        for character in part.graphemes(true) {
            if self.column + character.width() > self.width {
                if character.trim().is_empty() {
                    return;
                }
                if self.words > 0 {
                    self.next();
                }
            }
            self.row.push(tone, character);
            self.column += character.width();
            self.words += usize::from(!character.trim().is_empty());
        }
    }

    fn next(&mut self) {
        self.done.push(std::mem::take(&mut self.row));
        self.row.push(Tone::Normal, &" ".repeat(self.indent));
        self.column = self.indent;
        self.words = 0;
    }
}

/// How a meaning looks. The same colours as everywhere else.
pub(super) fn style(tone: Tone, paint: Paint) -> Style {
    match (paint, tone) {
        (Paint::Plain, _) | (Paint::Colour, Tone::Normal) => Style::new(),
        (Paint::Colour, Tone::Good) => Style::new().fg(Color::Green),
        (Paint::Colour, Tone::Attention) => Style::new().fg(Color::Yellow),
        (Paint::Colour, Tone::Bad) => Style::new().fg(Color::Red),
        (Paint::Colour, Tone::Quiet) => Style::new().add_modifier(Modifier::DIM),
        (Paint::Colour, Tone::Strong) => Style::new().add_modifier(Modifier::BOLD),
    }
}

/// What is chosen; it is marked by a sign as well, for screens without colour.
pub(super) fn chosen(paint: Paint) -> Style {
    match paint {
        Paint::Plain => Style::new(),
        Paint::Colour => Style::new().add_modifier(Modifier::REVERSED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_server_reaches_the_screen_unescaped() {
        let line = Line::new(Tone::Bad, "a\u{1b}[2Jb\u{202e}c\nd").and(Tone::Normal, "\u{7}");
        assert_eq!(line.plain(), "a\\u{1b}[2Jb\\u{202e}c\\nd\\u{7}");
        let lines = Line::of_text(Tone::Normal, "one\ttwo\r\n\u{9b}three");
        let plain: Vec<String> = lines.iter().map(Line::plain).collect();
        assert_eq!(plain, ["one    two", "\\u{9b}three"]);
    }

    #[test]
    fn a_long_line_is_broken_between_words_and_a_long_word_between_characters() {
        let wrapped = |text: &str, width: usize, indent: usize| -> Vec<String> {
            Line::new(Tone::Normal, text).wrapped(width, indent).iter().map(Line::plain).collect()
        };
        assert_eq!(wrapped("one two three", 8, 2), ["one two ", "  three"]);
        assert_eq!(wrapped("abcdefghij", 4, 1), ["abcd", " efg", " hij"]);
        assert_eq!(
            wrapped("in /home/u/project/settings.json:4 (user)", 18, 3),
            ["in ", "   /home/u/", "   project/", "   settings.json:4", "   (user)"]
        );
        assert_eq!(wrapped("/home/u/settings.json", 14, 1), ["/home/u/", " settings.json"]);
        assert_eq!(wrapped("数据库服务", 4, 0), ["数据", "库服", "务"]);
        assert_eq!(wrapped("", 4, 0), [""]);
        assert_eq!(wrapped("ab", 1, 5), ["a", "b"]);
        assert_eq!(wrapped("文", 1, 0), ["文"]);
    }

    #[test]
    fn the_scroll_back_breaks_between_words_only_and_hangs_below_the_first() {
        let broken = |text: &str, width: usize| -> Vec<String> {
            Line::new(Tone::Normal, text).at_words(width).iter().map(Line::plain).collect()
        };
        assert_eq!(
            broken("mend /home/u/settings.json now", 12),
            ["mend ", "  /home/u/settings.json", "  now"]
        );
        assert_eq!(broken("  one two three", 11), ["  one two ", "    three"]);
        assert_eq!(broken("one two", 7), ["one two"]);
        assert_eq!(broken("", 4), [""]);
    }

    #[test]
    fn a_result_keeps_its_lines_tabs_and_joined_characters_and_moves_no_cursor() {
        let text =
            "a\tbb\tc\r\n文\td\n👩\u{200d}💻 ❤\u{fe0f}\u{3000}x\n\u{1b}[2J\u{9b}1A\u{202e}\u{7}\u{2028}";
        let plain: Vec<String> = Line::of_result(Tone::Normal, text).iter().map(Line::plain).collect();
        assert_eq!(
            plain,
            [
                "a       bb      c",
                "文      d",
                "👩\u{200d}💻 ❤\u{fe0f}\u{3000}x",
                "\\u{1b}[2J\\u{9b}1A\\u{202e}\\u{7}\\u{2028}"
            ]
        );
    }

    #[test]
    fn without_colour_nothing_is_styled() {
        for tone in [Tone::Good, Tone::Attention, Tone::Bad, Tone::Quiet, Tone::Strong, Tone::Normal] {
            assert_eq!(style(tone, Paint::Plain), Style::new());
        }
        assert_eq!(chosen(Paint::Plain), Style::new());
        assert_eq!(Line::new(Tone::Bad, "x").written(Paint::Plain), "x");
    }
}
