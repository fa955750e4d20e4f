//! What does the settings side of a session have to tell? Plain values; how they are printed is `events`' business.

use std::{path::PathBuf, sync::Arc};

use qwen_core::{Scope, ServerName, Status};

/// What of a file that is no good counts meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Counts {
    /// Nothing: it was no good from the start.
    Nothing,
    /// What it said when it was last good.
    LastGood,
    /// All but the entry or key that is wrong.
    TheRest,
    /// All but a restricting key, which still says what it said when it was last good.
    TheRestAndLastGood,
}

/// One thing that happened to files, approvals or the reload itself. What happened to servers is told by core's
/// `changes`.
#[derive(Clone, Debug)]
pub enum CliEvent {
    /// Files changed in meaning. Empty where a reload was asked for and nothing differs.
    SettingsChanged {
        /// One for each file.
        changes: Vec<SettingsChange>,
    },
    /// A file, or something in it, is no good; told once for each distinct content.
    SettingsInvalid {
        /// The file as configured; `None` for JSON given on the command line.
        path: Option<PathBuf>,
        /// From 1.
        line: Option<u32>,
        /// From 1, in Unicode scalar values.
        column: Option<u32>,
        /// One sentence, without any value of the file.
        message: String,
        /// What counts meanwhile.
        counts: Counts,
    },
    /// A file that was no good is good again.
    SettingsRecovered {
        /// The file as configured.
        path: Option<PathBuf>,
    },
    /// A change touched keys that count only after a restart.
    RestartRequired {
        /// The file as configured.
        path: PathBuf,
        /// The keys, as segments.
        keys: Vec<Vec<String>>,
    },
    /// A commit was planned. Its status stands here so that what core has to tell about it is told between what led
    /// to it and what follows from it: whoever has not told of this generation yet prints
    /// `changes(&last_told, &status)` now and keeps it as the last told.
    Planned {
        /// The number of the commit.
        generation: u64,
        /// As published when the commit was planned, or newer.
        status: Arc<Status>,
    },
    /// Who waits for the user is not who it was.
    PendingApprovalChanged {
        /// Every name that should be asked about now, sorted.
        servers: Vec<ServerName>,
    },
    /// Other entries of these names wait or were rejected than before, above the ones that count. It says nothing by
    /// itself: what is said about a connected server names them.
    ShadowsChanged {
        /// Sorted.
        servers: Vec<ServerName>,
    },
    /// Anything else a person should read once.
    Notice {
        /// Which.
        code: NoticeCode,
        /// One sentence.
        message: String,
    },
}

/// One file that changed in meaning. Never a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingsChange {
    /// Whose file it is.
    pub scope: Scope,
    /// As configured.
    pub path: PathBuf,
    /// What happened to the file.
    pub kind: ChangeKind,
    /// The leaves that differ, as segments; of the user's variables their names.
    pub keys: Vec<Vec<String>>,
}

/// What happened to a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ChangeKind {
    /// It was not there before.
    Created,
    /// It says something else.
    Modified,
    /// It is gone.
    Deleted,
}

impl ChangeKind {
    /// The word used in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
        }
    }
}

/// What a notice is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NoticeCode {
    /// Files are polled, or no longer watched at all.
    WatchDegraded,
    /// Files are watched by events again.
    WatchRestored,
    /// Edits wait for `/reload`.
    EditsHeld,
    /// A commit failed and is tried again.
    ReloadFailed,
    /// A decision holds for this session only, since it could not be written.
    DecisionNotSaved,
    /// Nobody is asked in this session.
    Yolo,
}

impl NoticeCode {
    /// The word used in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WatchDegraded => "watch-degraded",
            Self::WatchRestored => "watch-restored",
            Self::EditsHeld => "edits-held",
            Self::ReloadFailed => "reload-failed",
            Self::DecisionNotSaved => "decision-not-saved",
            Self::Yolo => "yolo",
        }
    }
}
