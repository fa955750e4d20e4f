//! How is a terminal taken over and given back? Raw keys and bracketed paste while the session draws; as it was found at
//! the end, after a panic and while the shell has it. It draws nothing.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::atomic::{AtomicBool, Ordering},
};

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use super::event::Size;
use crate::settings::Environment;

/// Whether the terminal is ours. The panic hook has no other way to know.
static TAKEN: AtomicBool = AtomicBool::new(false);

const PASTES_ON: &str = "\u{1b}[?2004h";
/// Pastes as they were, the end of anything half drawn, the usual looks, the cursor.
const AS_FOUND: &str = "\u{1b}[?2004l\u{1b}[?2026l\u{1b}[0m\u{1b}[?25h";

/// A terminal that is ours until this is dropped.
#[derive(Debug)]
pub(super) struct Terminal(());

/// Why there is no screen to draw on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NoScreen {
    /// Nobody types here.
    Stdin,
    /// Nobody reads here.
    Stdout,
    /// The terminal can do nothing but print.
    Dumb,
}

impl NoScreen {
    /// Whether, and why, there is none.
    pub(super) fn here(environment: &Environment) -> Option<Self> {
        let dumb = || environment.get("TERM").is_none_or(|term| term == "dumb");
        if !io::stdin().is_terminal() {
            Some(Self::Stdin)
        } else if !io::stdout().is_terminal() {
            Some(Self::Stdout)
        } else {
            dumb().then_some(Self::Dumb)
        }
    }

    /// As it follows "no interactive session here:".
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Stdin => "stdin is not a terminal",
            Self::Stdout => "stdout is not a terminal",
            Self::Dumb => "TERM names no terminal that can be drawn on",
        }
    }
}

impl Terminal {
    /// Takes it over.
    ///
    /// # Errors
    /// It is no terminal any more.
    pub(super) fn take() -> io::Result<Self> {
        enable_raw_mode()?;
        TAKEN.store(true, Ordering::SeqCst);
        let terminal = Self(());
        write(PASTES_ON)?;
        Ok(terminal)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        give_back("");
    }
}

/// Writes to the terminal at once.
///
/// # Errors
/// It is gone.
pub(super) fn write(bytes: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes.as_bytes())?;
    out.flush()
}

/// Has a panic give the terminal back before anything is printed. Hooks that are set later run around this one.
pub(super) fn give_back_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // What is drawn below the cursor would stand in the middle of the message.
        give_back("\r\u{1b}[J");
        before(panic);
    }));
}

fn give_back(first: &str) {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // Where the terminal is gone there is nothing to give back.
        write(&format!("{first}{AS_FOUND}")).unwrap_or(());
        disable_raw_mode().unwrap_or(());
    }
}

/// Columns and rows; those of the oldest terminals where it does not say.
pub(super) fn size() -> Size {
    match crossterm::terminal::size() {
        Ok((columns, rows)) if columns > 0 && rows > 0 => Size { columns, rows },
        Ok(_) | Err(_) => Size { columns: 80, rows: 24 },
    }
}
