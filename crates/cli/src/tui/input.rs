//! What is typed, and where in it? The input line with what was typed before it and what could follow. It knows no
//! command by itself.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::{CursorMove, TextArea};

use super::{complete::Completion, history::History};

/// A line holds so many bytes at most.
pub(super) const LONGEST: usize = 64 * 1024;

/// Whether something fitted into the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fits {
    /// It is there.
    Yes,
    /// The line is as it was.
    No,
}

/// The input line.
pub(super) struct Input {
    area: TextArea<'static>,
    history: History,
    /// What could stand at the cursor, where somebody asked.
    pub(super) completion: Option<Completion>,
}

impl Input {
    /// Empty, with the lines that were typed before, oldest first.
    pub(super) fn new(history: Vec<String>) -> Self {
        Self { area: TextArea::default(), history: History::new(history), completion: None }
    }

    /// The whole line.
    pub(super) fn text(&self) -> &str {
        self.area.lines().first().map_or("", String::as_str)
    }

    /// Whether nothing is typed.
    pub(super) fn is_empty(&self) -> bool {
        self.text().is_empty()
    }

    /// How many characters stand before the cursor.
    pub(super) fn cursor(&self) -> usize {
        self.area.cursor().1
    }

    /// The text before the cursor.
    pub(super) fn before_cursor(&self) -> String {
        self.text().chars().take(self.cursor()).collect()
    }

    /// Takes a key that edits, as a shell would. What no longer fits is not taken.
    pub(super) fn edit(&mut self, key: KeyEvent) {
        let begins_anew = key.modifiers == KeyModifiers::CONTROL && key.code == KeyCode::Char('u');
        // What it says is whether the text changed, which nobody asks.
        let _changed = if begins_anew { self.area.delete_line_by_head() } else { self.area.input(key) };
        if self.text().len() > LONGEST {
            self.area.undo();
        }
        self.keep_one_line();
        self.completion = None;
    }

    /// Takes pasted text; it stays one line. Says whether it fitted; nothing is taken of what does not.
    pub(super) fn paste(&mut self, text: &str) -> Fits {
        if self.text().len() + text.len() > LONGEST {
            return Fits::No;
        }
        let one_line = text.replace("\r\n", " ").replace(['\n', '\r'], " ");
        self.area.insert_str(one_line.trim_end_matches(' '));
        self.completion = None;
        Fits::Yes
    }

    /// Puts this in place of so many characters before the cursor, where it fits.
    pub(super) fn complete(&mut self, replaced: usize, text: &str) {
        if self.text().len() + text.len() > LONGEST {
            return;
        }
        for _ in 0..replaced {
            self.area.delete_char();
        }
        self.area.insert_str(text);
    }

    /// Makes this the line, with the cursor at its end.
    pub(super) fn set(&mut self, text: &str) {
        self.area = TextArea::new(vec![text.to_owned()]);
        self.area.move_cursor(CursorMove::End);
        self.completion = None;
    }

    /// Hands the line over and begins anew.
    pub(super) fn take(&mut self) -> String {
        let line = self.text().to_owned();
        self.set("");
        self.history.add(&line);
        line
    }

    /// The line typed before this one.
    pub(super) fn back(&mut self) {
        let text = self.text().to_owned();
        if let Some(line) = self.history.back(&text) {
            self.set(&line);
        }
    }

    /// The line typed after this one.
    pub(super) fn forward(&mut self) {
        if let Some(line) = self.history.forward() {
            self.set(&line);
        }
    }

    /// Some keys break a line, and what was cut elsewhere may hold breaks.
    fn keep_one_line(&mut self) {
        if self.area.lines().len() > 1 {
            let line = self.area.lines().join(" ");
            self.set(&line);
        }
    }
}
