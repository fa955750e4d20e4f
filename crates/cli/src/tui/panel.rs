//! How is a box with a title, lines to scroll and something to choose laid out? The same for every dialog. It knows what
//! none of them is about.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::Line as Drawn,
    widgets::{Block, BorderType, Padding, Widget as _},
};

use super::line::{Line, chosen, style};
use crate::text::{Paint, Tone};

/// What stands in a box.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Panel {
    /// On its border.
    pub(super) title: String,
    /// Always in sight, above the lines.
    pub(super) head: Vec<Line>,
    /// Each no wider than the box.
    pub(super) lines: Vec<Line>,
    /// Where it is scrolled to.
    pub(super) scroll: Scroll,
    /// What can be chosen, side by side.
    pub(super) choices: Vec<String>,
    /// Which of them is.
    pub(super) chosen: usize,
    /// What keys do.
    pub(super) keys: String,
}

/// Which lines are seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scroll {
    /// From this one on.
    From(usize),
    /// This one is chosen, and always seen.
    Around(usize),
}

/// To the next of several things, or to the one before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// Behind the last comes the first.
    Next,
    /// Before the first comes the last.
    Before,
}

impl Turn {
    /// From one of so many to another.
    pub(super) fn within(self, now: usize, count: usize) -> usize {
        match self {
            Self::Next if now + 1 < count => now + 1,
            Self::Next => 0,
            Self::Before => now.checked_sub(1).unwrap_or(count.saturating_sub(1)),
        }
    }

    /// The same, but the first and the last are the ends.
    pub(super) fn between(self, now: usize, count: usize) -> usize {
        match self {
            Self::Next => (now + 1).min(count.saturating_sub(1)),
            Self::Before => now.saturating_sub(1),
        }
    }
}

impl Default for Scroll {
    fn default() -> Self {
        Self::From(0)
    }
}

/// Columns that the border and the room inside it take.
pub(super) const FRAME: u16 = 4;
/// Rows of the border.
const BORDER: u16 = 2;

impl Panel {
    /// The rows it takes, of so many at most.
    pub(super) fn height(&self, columns: u16, most: u16) -> u16 {
        let rows =
            self.head.len() + self.lines.len() + usize::from(self.below(columns)) + usize::from(BORDER);
        u16::try_from(rows).unwrap_or(most).min(most)
    }

    /// How far it can be scrolled in so many rows.
    pub(super) fn most_scroll(&self, columns: u16, rows: u16) -> usize {
        self.lines.len().saturating_sub(self.room(columns, rows))
    }

    /// Lines that fit.
    fn room(&self, columns: u16, rows: u16) -> usize {
        usize::from(rows.saturating_sub(BORDER + self.below(columns))).saturating_sub(self.head.len()).max(1)
    }

    /// Rows below the lines: what can be chosen, and what keys do.
    fn below(&self, columns: u16) -> u16 {
        let rows = self.choice_rows(columns).len();
        u16::try_from(rows).unwrap_or(1) + u16::from(rows > 0) + u16::from(!self.keys.is_empty())
    }

    /// What can be chosen, in as many rows as it takes.
    fn choice_rows(&self, columns: u16) -> Vec<Vec<(usize, String)>> {
        let width = usize::from(columns.saturating_sub(FRAME));
        let mut rows: Vec<Vec<(usize, String)>> = Vec::new();
        let mut used = 0;
        for (index, choice) in self.choices.iter().enumerate() {
            let text = if index == self.chosen { format!("[ {choice} ]") } else { format!("  {choice}  ") };
            let columns = Line::new(Tone::Normal, &text).width();
            match rows.last_mut() {
                Some(row) if used + columns <= width => row.push((index, text)),
                Some(_) | None => {
                    used = 0;
                    rows.push(vec![(index, text)]);
                }
            }
            used += columns;
        }
        rows
    }

    /// Draws it.
    pub(super) fn draw(&self, area: Rect, buffer: &mut Buffer, paint: Paint) {
        let room = self.room(area.width, area.height);
        let most = self.lines.len().saturating_sub(room);
        let first = match self.scroll {
            Scroll::From(first) => first.min(most),
            Scroll::Around(line) => line.saturating_sub(room / 2).min(most),
        };
        let title = format!(" {} ", Line::new(Tone::Normal, &self.title).plain());
        let mut block = Block::bordered()
            .border_type(BorderType::Rounded)
            .border_style(style(Tone::Quiet, paint))
            .padding(Padding::horizontal(1))
            .title(Drawn::styled(title, style(Tone::Strong, paint)));
        if most > 0 {
            let (above, below) = (first, most - first);
            let more = match (above, below) {
                (0, below) => format!(" {below} more below ↓ "),
                (above, 0) => format!(" ↑ {above} more above "),
                (above, below) => format!(" ↑ {above} more above · {below} more below ↓ "),
            };
            block = block.title_bottom(Drawn::styled(more, style(Tone::Attention, paint)).right_aligned());
        }
        let whole = block.inner(area);
        block.render(area, buffer);
        for (y, line) in (whole.y..whole.bottom()).zip(&self.head) {
            buffer.set_line(whole.x, y, &line.drawn(paint), whole.width);
        }
        let head = u16::try_from(self.head.len()).unwrap_or(whole.height).min(whole.height);
        let inner = Rect { y: whole.y + head, height: whole.height - head, ..whole };
        for (y, line) in (inner.y..inner.bottom()).zip(self.lines.iter().skip(first).take(room)) {
            buffer.set_line(inner.x, y, &line.drawn(paint), inner.width);
        }
        if let Scroll::Around(line) = self.scroll
            && let Some(y) = line.checked_sub(first).and_then(|row| u16::try_from(row).ok())
        {
            buffer.set_style(Rect { y: inner.y + y, height: 1, ..inner }.intersection(inner), chosen(paint));
        }
        self.draw_below(inner, buffer, paint);
    }

    fn draw_below(&self, inner: Rect, buffer: &mut Buffer, paint: Paint) {
        let mut y = inner.bottom();
        if !self.keys.is_empty() && y > inner.y {
            y -= 1;
            buffer.set_line(inner.x, y, &Line::new(Tone::Quiet, &self.keys).drawn(paint), inner.width);
        }
        for row in self.choice_rows(inner.width + FRAME).into_iter().rev() {
            if y <= inner.y {
                return;
            }
            y -= 1;
            let mut x = inner.x;
            for (index, text) in row {
                let look = if index == self.chosen { chosen(paint) } else { style(Tone::Normal, paint) };
                let room = usize::from(inner.right().saturating_sub(x));
                (x, _) = buffer.set_stringn(x, y, &text, room, look);
            }
        }
    }
}
