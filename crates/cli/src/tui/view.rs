//! What stands on the screen for a state? A pure function to rows of cells and the place of the cursor: whatever is on
//! top as a box, or the line that is typed, and below it what runs and the status.

mod status;

use ratatui::{
    buffer::Buffer,
    layout::{Position, Rect},
};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::{
    focus::{Focus, Keys, Layer, focus},
    help,
    line::{Line, chosen},
    painter::Cursor,
    panel::{FRAME, Panel, Scroll},
    state::State,
};
use crate::text::{Tone, cut_to, visible};

/// What stands in front of what is typed.
const PROMPT: &str = "> ";
/// As many texts that could stand at the cursor are shown.
const CANDIDATES: usize = 6;

/// The rows at the bottom of the terminal.
pub(super) struct Screen {
    /// What stands there.
    pub(super) buffer: Buffer,
    /// Where somebody types.
    pub(super) cursor: Cursor,
}

/// What keys do where what asks does not have them yet.
const WAITING: &str = "stop typing for a moment to answer";

/// Draws a state; `now` is in milliseconds since 1970.
pub(super) fn view(state: &State, now: u64) -> Screen {
    let columns = state.size.columns.max(1);
    let below = status::lines(state, usize::from(columns), now);
    let focus = focus(state);
    match layer(state, focus.shown, now) {
        Some(panel) => boxed(state, focus, panel, &below),
        None => typing(state, &below),
    }
}

/// How far what has the keys can be scrolled.
pub(super) fn most_scroll(state: &State, of: Layer, now: u64) -> usize {
    let below = status::lines(state, usize::from(state.size.columns), now).len();
    layer(state, of, now).map_or(0, |panel| {
        let rows = panel.height(state.size.columns, most_rows(state, below));
        panel.most_scroll(state.size.columns, rows)
    })
}

/// One of those above the line that is typed.
fn layer(state: &State, of: Layer, now: u64) -> Option<Panel> {
    let width = usize::from(state.size.columns.saturating_sub(FRAME)).max(1);
    match of {
        Layer::Help => state.help.as_ref().map(|help| Panel {
            title: "Help".to_owned(),
            lines: help::lines(width),
            scroll: Scroll::From(help.scroll),
            keys: "↑↓ scroll · Esc back".to_owned(),
            ..Panel::default()
        }),
        Layer::Question => state.question.as_ref().map(|question| question.panel(width)),
        Layer::Form => state.forms.front().map(|form| form.panel(width)),
        Layer::Dialog => state.dialog.as_ref().map(|dialog| dialog.panel(state, width, now)),
        Layer::Line => None,
    }
}

/// The rows that a box may take: a line of the transcript stays in sight.
fn most_rows(state: &State, below: usize) -> u16 {
    let below = u16::try_from(below).unwrap_or(u16::MAX);
    state.size.rows.saturating_sub(below).saturating_sub(1).max(3)
}

fn boxed(state: &State, focus: Focus, mut panel: Panel, below: &[Line]) -> Screen {
    let columns = state.size.columns.max(1);
    if focus.keys != Keys::Of(focus.shown) {
        panel.chosen = panel.choices.len();
        panel.keys = WAITING.to_owned();
    }
    // Somebody who goes on typing sees what.
    let (typed, at) = match focus.keys {
        Keys::Of(Layer::Line) => {
            let (line, at) = typed(state);
            (vec![line], Some(at))
        }
        Keys::Of(Layer::Help | Layer::Question | Layer::Form | Layer::Dialog) | Keys::Nobody => {
            (Vec::new(), None)
        }
    };
    let height = panel.height(columns, most_rows(state, typed.len() + below.len()));
    let mut buffer = empty(state, columns, usize::from(height) + typed.len() + below.len());
    let height = height.min(buffer.area.height);
    panel.draw(Rect::new(0, 0, columns, height), &mut buffer, state.paint);
    draw(state, &mut buffer, height, &typed);
    draw(state, &mut buffer, height + u16::try_from(typed.len()).unwrap_or(0), below);
    let cursor = at.map_or(Cursor::Hidden, |x| Cursor::At(Position::new(x, height)));
    Screen { buffer, cursor }
}

/// What is typed, as far as it fits, and the column of the cursor.
fn typed(state: &State) -> (Line, u16) {
    let columns = state.size.columns.max(1);
    let room = usize::from(columns).saturating_sub(PROMPT.len() + 1).max(1);
    let (shown, at) = window(&state.input.before_cursor(), state.input.text(), room);
    let line = Line::new(Tone::Strong, PROMPT).and(Tone::Normal, &shown);
    (line, u16::try_from(PROMPT.len() + at).unwrap_or(0).min(columns - 1))
}

fn typing(state: &State, below: &[Line]) -> Screen {
    let columns = state.size.columns.max(1);
    let candidates = candidates(state);
    let rows = 1 + candidates.len() + below.len();
    let mut buffer = empty(state, columns, rows);
    let (line, x) = typed(state);
    draw(state, &mut buffer, 0, &[line]);
    draw(state, &mut buffer, 1, &candidates);
    if let Some(completion) = &state.input.completion
        && let Ok(row) = u16::try_from(completion.chosen % CANDIDATES + 1)
    {
        buffer.set_style(Rect::new(0, row, columns, 1).intersection(buffer.area), chosen(state.paint));
    }
    draw(state, &mut buffer, u16::try_from(1 + candidates.len()).unwrap_or(1), below);
    Screen { buffer, cursor: Cursor::At(Position::new(x, 0)) }
}

/// Never as high as the terminal: what does not fit below is left out.
fn empty(state: &State, columns: u16, rows: usize) -> Buffer {
    let most = state.size.rows.saturating_sub(1).max(1);
    Buffer::empty(Rect::new(0, 0, columns, u16::try_from(rows).unwrap_or(most).min(most)))
}

fn draw(state: &State, buffer: &mut Buffer, from: u16, lines: &[Line]) {
    for (y, line) in (from..buffer.area.height).zip(lines) {
        buffer.set_line(0, y, &line.drawn(state.paint), buffer.area.width);
    }
}

/// As much of the line as fits around the cursor, and in which column of that the cursor stands.
fn window(before: &str, whole: &str, room: usize) -> (String, usize) {
    let behind = whole.get(before.len()..).unwrap_or_default();
    let before = visible(before);
    // From the cursor back, so that a long line costs no more than what is seen of it.
    let (mut from, mut at) = (before.len(), 0);
    for (index, grapheme) in before.grapheme_indices(true).rev() {
        if at + grapheme.width() > room {
            break;
        }
        (from, at) = (index, at + grapheme.width());
    }
    let mut text = before.get(from..).unwrap_or_default().to_owned();
    let mut used = at;
    // No more characters are needed than there are columns, whatever each of them is shown as.
    let behind: String = behind.chars().take(room * 4).collect();
    for grapheme in visible(&behind).graphemes(true) {
        used += grapheme.width();
        if used > room {
            break;
        }
        text.push_str(grapheme);
    }
    (text, at)
}

/// What could stand at the cursor, the page with the chosen one.
fn candidates(state: &State) -> Vec<Line> {
    let Some(completion) = &state.input.completion else { return Vec::new() };
    let first = completion.chosen / CANDIDATES * CANDIDATES;
    let page = || completion.candidates.iter().enumerate().skip(first).take(CANDIDATES);
    let shown = |text: &str| cut_to(&visible(text), 40);
    let width = page().map(|(_, candidate)| shown(&candidate.text).width()).max().unwrap_or(0);
    page()
        .map(|(index, candidate)| {
            let mark = if index == completion.chosen { "› " } else { "  " };
            let text = shown(&candidate.text);
            let pad = " ".repeat(width - text.width() + 2);
            Line::new(Tone::Strong, mark)
                .and(Tone::Normal, &format!("{text}{pad}"))
                .and(Tone::Quiet, &candidate.about)
        })
        .collect()
}

#[cfg(test)]
mod tests;
