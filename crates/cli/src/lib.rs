//! The `qwen` command: live reload, approvals and one shared view of MCP servers in a terminal.
//!
//! Everything that touches a file, a terminal or a process of the user's goes through here; the engine is
//! `qwen-core`, which knows none of these. The one entry point is [`main`].

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking"))]

mod app;
mod args;
mod asking;
mod commands;
mod deciding;
mod derive;
mod events;
mod exit;
#[cfg(test)]
mod fixtures;
mod hide;
mod hot_reload;
mod logging;
mod output;
mod question;
mod row;
mod sessions;
mod settings;
mod signals;
mod teller;
mod text;
mod tui;
mod words;

use std::process::ExitCode;

pub use derive::{
    ApproveMcp, AutoReload, Derived, Fixed, Flags, FolderQuestion, GatedEntry, Held, Launch, Loser, Options,
    Promptable, ReadVariable, Row, RowApproval, Screen, ServerSources, SessionDecision, SessionDecisions,
    ShadowedBy, Source, Transport, VariableState, WatchMode, Written, Yolo, derive,
};
pub use hot_reload::{
    Answer, ChangeKind, CliEvent, Counts, Holds, HotReload, HotReloadOptions, NoticeCode, SettingsChange,
};
pub use settings::{
    Broken, Content, Diagnostic, Environment, Excerpt, FolderRule, FolderRules, FolderVerdict, InotifyLimit,
    Moment, Origin, Paint, PathError, Paths, Place, PollingBecause, Positions, Presence, ProjectRoot,
    RuleSays, Seen, SettingsWatcher, Severity, Snapshot, SourceFile, SourceId, SourceSpec, WatchControl,
    WatchOptions, Watching, load, read_source,
};

/// Runs the command that the process's arguments name and gives its exit code.
#[must_use]
pub fn main() -> ExitCode {
    qwen_core::run_guard_if_asked(std::env::args_os());
    commands::completions::answer_if_asked();
    let cli = match args::parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => {
            // Nobody is left to tell when the help text itself cannot be written.
            drop(error.print());
            return ExitCode::from(if error.use_stderr() { exit::Exit::Usage } else { exit::Exit::Ok });
        }
    };
    commands::run(&cli).into()
}
