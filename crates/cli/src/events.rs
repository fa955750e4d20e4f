//! What happened, as `mcp watch` tells it: one line of JSON for programs, one sentence for people, from the same
//! value. It prints nothing and knows no terminal.

mod human;
mod human_cli;
mod json;
mod json_cli;

use std::{path::PathBuf, sync::Arc};

use qwen_core::{CatalogueChange, CommitRecord, ServerName, ServerStatus, Settling};

use crate::{hot_reload::CliEvent, words::Words};

pub(crate) use human::{human_line, sentence};
pub(crate) use json::json_line;

/// One thing that happened in a session.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// The watcher is armed and the first commit is planned. Always first.
    Started(Started),
    /// Something about files, approvals or the reload. A planned commit among them says nothing by itself.
    Cli(CliEvent),
    /// A commit was planned.
    Reloaded(Arc<CommitRecord>),
    /// The catalogue has a new revision.
    Catalogue(CatalogueChange),
    /// A server's state, cause, counts or process changed.
    Server {
        /// Which.
        name: ServerName,
        /// What it is now; `None` when it left the map.
        status: Option<Arc<ServerStatus>>,
        /// Why, and what to do.
        words: Words,
    },
    /// Nothing is opening for a generation any more.
    Settled(Arc<Settling>),
    /// The session is over. Always last.
    Ended(EndReason),
}

/// What a session starts with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Started {
    /// The canonical folder.
    pub(crate) project_root: PathBuf,
    /// This process.
    pub(crate) pid: u32,
    /// Every file that is watched, as configured.
    pub(crate) watched: Vec<PathBuf>,
    /// Every configured name, sorted.
    pub(crate) servers: Vec<ServerName>,
}

/// Why a session ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EndReason {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// The terminal went away.
    Hangup,
    /// Stdin was closed, and `--stdin-close` was given.
    StdinClosed,
    /// By itself: nobody reads what it says any more.
    Quit,
}

impl EndReason {
    /// The word used in JSON.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Interrupt => "interrupt",
            Self::Terminate => "terminate",
            Self::Hangup => "hangup",
            Self::StdinClosed => "stdin-closed",
            Self::Quit => "quit",
        }
    }
}

#[cfg(test)]
mod tests;
