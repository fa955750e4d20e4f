//! Which bytes turn what stands at the bottom of a terminal into what should stand there? Lines that go into the
//! scroll-back are printed above it. Everything is relative to the cursor, so nobody asks a terminal where that is. It
//! writes nothing and knows no content.

use std::fmt::Write as _;

use ratatui::{
    buffer::{Buffer, Cell},
    layout::Position,
    style::{Color, Modifier, Style},
};
use unicode_width::UnicodeWidthStr as _;

use super::line::Line;
use crate::text::Paint;

/// What a terminal shows at its bottom, and where its cursor stands in that.
#[derive(Clone, Debug, Default)]
pub(super) struct Painter {
    /// The rows as they were painted, trailing blanks cut.
    rows: Vec<Row>,
    /// From the top left of the rows.
    cursor: Position,
}

/// One painted row.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    bytes: String,
    columns: u16,
}

/// Whether the terminal's own cursor is seen, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cursor {
    /// Somebody types there.
    At(Position),
    /// Nobody types.
    Hidden,
}

/// Terminals that know it show everything up to the end at once; others ignore it.
const BEGIN: &str = "\u{1b}[?2026h\u{1b}[?25l";
const END: &str = "\u{1b}[?2026l";
const SHOW: &str = "\u{1b}[?25h";
const ERASE_BELOW: &str = "\u{1b}[J";
const ERASE_ROW: &str = "\u{1b}[2K";
const RESET: &str = "\u{1b}[0m";

impl Painter {
    /// Prints lines above and turns the rows into these; empty where there is nothing to do.
    pub(super) fn paint(&mut self, above: &[Line], next: &Buffer, cursor: Cursor, paint: Paint) -> String {
        let rows: Vec<Row> = (0..next.area.height).map(|y| row(next, y)).collect();
        let place = match cursor {
            Cursor::At(place) => place,
            // The first row is the one place that no reflow moves.
            Cursor::Hidden => Position::ORIGIN,
        };
        let mut out = BEGIN.to_owned();
        let mut pen = Pen { out: &mut out, at: self.cursor };
        if above.is_empty() && rows.len() == self.rows.len() {
            for (y, (row, before)) in (0..).zip(rows.iter().zip(&self.rows)) {
                if row != before {
                    pen.go_to_row(y);
                    pen.row(row);
                }
            }
        } else {
            pen.go_to_row(0);
            pen.put(ERASE_BELOW);
            for line in above {
                pen.put(&line.written(paint));
                // Ends the line; at the bottom of the terminal it scrolls.
                pen.put("\r\n");
            }
            for (y, row) in (0..).zip(&rows) {
                if y > 0 {
                    pen.put("\n");
                    pen.at.y = y;
                }
                pen.row(row);
            }
        }
        pen.go_to(place);
        self.rows = rows;
        self.cursor = place;
        match cursor {
            Cursor::At(_) => out.push_str(SHOW),
            Cursor::Hidden => {}
        }
        out + END
    }

    /// The terminal has another width now: takes away what was painted, wherever it wrapped to. The next paint begins
    /// anew.
    pub(super) fn resized(&mut self, columns: u16) -> String {
        let columns = columns.max(1);
        let wrapped = |row: &Row| row.columns.saturating_sub(1) / columns;
        let above: u16 = self.rows.iter().take(usize::from(self.cursor.y)).map(|row| 1 + wrapped(row)).sum();
        let up = above + self.cursor.x / columns;
        *self = Self::default();
        let mut out = BEGIN.to_owned();
        out.push('\r');
        up_by(&mut out, up);
        out + ERASE_BELOW + END
    }

    /// Takes everything away; the cursor is where the rows began.
    pub(super) fn erase(&mut self) -> String {
        let mut out = String::new();
        Pen { out: &mut out, at: self.cursor }.go_to_row(0);
        *self = Self::default();
        out + ERASE_BELOW + SHOW
    }
}

fn up_by(out: &mut String, rows: u16) {
    if rows > 0 {
        // Writing to a string cannot fail.
        write!(out, "\u{1b}[{rows}A").unwrap_or(());
    }
}

/// Writes while it keeps in mind where the cursor is.
struct Pen<'a> {
    out: &'a mut String,
    at: Position,
}

impl Pen<'_> {
    fn put(&mut self, bytes: &str) {
        self.out.push_str(bytes);
    }

    /// To the first column of a row that is there.
    fn go_to_row(&mut self, y: u16) {
        self.put("\r");
        up_by(self.out, self.at.y.saturating_sub(y));
        if y > self.at.y {
            write!(self.out, "\u{1b}[{}B", y - self.at.y).unwrap_or(());
        }
        self.at = Position::new(0, y);
    }

    fn go_to(&mut self, place: Position) {
        self.go_to_row(place.y);
        if place.x > 0 {
            write!(self.out, "\u{1b}[{}C", place.x).unwrap_or(());
        }
    }

    /// Fills the row that the cursor is in. A row that ends at the last column leaves the cursor beyond it, where
    /// erasing to the right would take the last character away.
    fn row(&mut self, row: &Row) {
        self.put("\r");
        self.put(ERASE_ROW);
        self.put(&row.bytes);
    }
}

fn row(buffer: &Buffer, y: u16) -> Row {
    let cells = || (0..buffer.area.width).filter_map(|x| buffer.cell((buffer.area.x + x, buffer.area.y + y)));
    let blank = |cell: &Cell| cell.symbol() == " " && !cell.modifier.contains(Modifier::REVERSED);
    let end = (0..).zip(cells()).filter(|(_, cell)| !blank(cell)).map(|(x, _)| x + 1).last().unwrap_or(0_u16);
    let (mut bytes, mut columns) = (String::new(), 0_u16);
    let mut style = Style::reset();
    for (x, cell) in (0_u16..).zip(cells()).take(usize::from(end)) {
        // The cell behind a wide character belongs to it.
        if x < columns {
            continue;
        }
        if cell.style() != style {
            style = cell.style();
            bytes.push_str(RESET);
            bytes.push_str(&sgr(cell));
        }
        bytes.push_str(cell.symbol());
        columns = x + u16::try_from(cell.symbol().width()).unwrap_or(1).max(1);
    }
    if bytes.contains('\u{1b}') {
        bytes.push_str(RESET);
    }
    Row { bytes, columns }
}

/// The looks that `line::style` can give.
fn sgr(cell: &Cell) -> String {
    let mut codes = Vec::new();
    for (modifier, code) in [(Modifier::BOLD, "1"), (Modifier::DIM, "2"), (Modifier::REVERSED, "7")] {
        if cell.modifier.contains(modifier) {
            codes.push(code);
        }
    }
    for (colour, code) in [(Color::Red, "31"), (Color::Green, "32"), (Color::Yellow, "33")] {
        if cell.fg == colour {
            codes.push(code);
        }
    }
    if codes.is_empty() { String::new() } else { format!("\u{1b}[{}m", codes.join(";")) }
}

#[cfg(test)]
mod tests;
