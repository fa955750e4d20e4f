use ratatui::{layout::Rect, text::Line as Drawn};

use super::*;
use crate::text::Tone;

/// A terminal of 20 columns and 6 rows that understands what it is told.
struct Glass(vt100::Parser);

impl Glass {
    fn new() -> Self {
        Self(vt100::Parser::new(some(6), some(20), 100))
    }

    fn takes(&mut self, bytes: &str) {
        self.0.process(bytes.as_bytes());
    }

    fn shows(&self) -> Vec<String> {
        let mut rows: Vec<String> =
            self.0.screen().rows(0, 20).map(|row| row.trim_end().to_owned()).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    /// What has scrolled away, oldest first, and what is still there.
    fn history(&mut self) -> Vec<String> {
        self.0.screen_mut().set_scrollback(100);
        let mut rows = self.shows();
        let away = self.0.screen().scrollback();
        self.0.screen_mut().set_scrollback(0);
        let now = self.shows();
        let overlap = 6 - away.min(6);
        rows.truncate(6);
        rows.extend(now.into_iter().skip(overlap));
        rows
    }
}

fn some(number: u16) -> std::num::NonZero<u16> {
    std::num::NonZero::new(number).unwrap()
}

fn rows(lines: &[&str]) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, 20, u16::try_from(lines.len()).unwrap()));
    for (y, line) in (0..).zip(lines) {
        buffer.set_line(0, y, &Drawn::from(*line), 20);
    }
    buffer
}

fn told(text: &str) -> Line {
    Line::new(Tone::Bad, text)
}

#[test]
fn rows_that_change_are_painted_over_and_the_others_are_left_alone() {
    let (mut glass, mut painter) = (Glass::new(), Painter::default());
    glass.takes(&painter.paint(&[], &rows(&["> ", "status"]), Cursor::At((2, 0).into()), Paint::Plain));
    assert_eq!(glass.shows(), [">", "status"]);
    let change = painter.paint(&[], &rows(&["> x", "status"]), Cursor::At((3, 0).into()), Paint::Plain);
    assert!(!change.contains("status"), "{change:?}");
    glass.takes(&change);
    assert_eq!(glass.shows(), ["> x", "status"]);
    assert_eq!(glass.0.screen().cursor_position(), (0, 3));
}

#[test]
fn what_was_told_scrolls_into_the_history_and_what_is_drawn_does_not() {
    let (mut glass, mut painter) = (Glass::new(), Painter::default());
    for round in 0..9 {
        let above = [told(&format!("told {round}"))];
        glass.takes(&painter.paint(&above, &rows(&["> ", "status"]), Cursor::Hidden, Paint::Colour));
    }
    let expected: Vec<String> =
        (0..9).map(|round| format!("told {round}")).chain([">".to_owned(), "status".to_owned()]).collect();
    assert_eq!(glass.history(), expected);
}

#[test]
fn what_grows_and_shrinks_leaves_nothing_behind() {
    let (mut glass, mut painter) = (Glass::new(), Painter::default());
    let mut paint = |above: &[Line], lines: &[&str]| {
        let bytes = painter.paint(above, &rows(lines), Cursor::Hidden, Paint::Plain);
        glass.takes(&bytes);
    };
    paint(&[told("a"), told("b"), told("c")], &["> ", "status"]);
    paint(&[], &["dialog", "one", "two", "three"]);
    paint(&[told("d")], &["> ", "status"]);
    assert_eq!(glass.history(), ["a", "b", "c", "d", ">", "status"]);
}

#[test]
fn a_row_that_fills_the_last_column_keeps_its_last_character() {
    let (mut glass, mut painter) = (Glass::new(), Painter::default());
    let full = "0123456789abcdefghij";
    glass.takes(&painter.paint(
        &[],
        &rows(&[full, "文字文字文字文字文字", "x"]),
        Cursor::Hidden,
        Paint::Plain,
    ));
    glass.takes(&painter.paint(&[], &rows(&[full, "文字", "y"]), Cursor::Hidden, Paint::Plain));
    assert_eq!(glass.shows(), [full, "文字", "y"]);
}

#[test]
fn after_a_change_of_width_nothing_stale_is_left() {
    for (cursor, name) in [(Cursor::Hidden, "hidden"), (Cursor::At((4, 0).into()), "typing")] {
        let (mut glass, mut painter) = (Glass::new(), Painter::default());
        glass.takes(&painter.paint(
            &[told("told")],
            &rows(&["> ab", "a long status line"]),
            cursor,
            Paint::Plain,
        ));
        glass.0.screen_mut().set_size(some(6), some(10));
        glass.takes(&painter.resized(10));
        let mut narrow = Buffer::empty(Rect::new(0, 0, 10, 2));
        narrow.set_line(0, 0, &Drawn::from("> ab"), 10);
        narrow.set_line(0, 1, &Drawn::from("a long"), 10);
        glass.takes(&painter.paint(&[], &narrow, cursor, Paint::Plain));
        assert_eq!(glass.shows(), ["told", "> ab", "a long"], "{name}");
    }
}

#[test]
fn at_the_end_the_terminal_is_as_it_was_below_what_was_told() {
    let (mut glass, mut painter) = (Glass::new(), Painter::default());
    glass.takes(&painter.paint(
        &[told("told")],
        &rows(&["one", "two", "three"]),
        Cursor::At((1, 2).into()),
        Paint::Plain,
    ));
    glass.takes(&painter.erase());
    assert_eq!(glass.shows(), ["told"]);
    assert_eq!(glass.0.screen().cursor_position(), (1, 0));
    assert!(!glass.0.screen().hide_cursor());
}

#[test]
fn colours_and_signs_are_written_only_where_they_are_meant() {
    let mut painter = Painter::default();
    let mut buffer = rows(&["plain"]);
    assert!(!painter.paint(&[], &buffer, Cursor::Hidden, Paint::Plain).contains("[3"));
    buffer.set_style(Rect::new(0, 0, 2, 1), Style::new().fg(Color::Red));
    let bytes = painter.paint(&[], &buffer, Cursor::Hidden, Paint::Colour);
    assert!(bytes.contains("\u{1b}[31mpl\u{1b}[0main"), "{bytes:?}");
}
