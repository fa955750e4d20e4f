//! What does the watcher tell, and how does it notice changes? Plain values and their words.

use std::{path::PathBuf, sync::Arc};

use crate::settings::Snapshot;

/// What the watcher has seen. Level-triggered: a slow reader gets the newest, and finds what changed by comparing it
/// with what it saw last.
#[derive(Clone, Debug)]
pub struct Seen {
    /// What every file says, the last good content where one is broken.
    pub snapshot: Arc<Snapshot>,
    /// How changes are noticed.
    pub watching: Watching,
}

/// How changes are noticed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Watching {
    /// By events of the operating system.
    Events,
    /// Every file is read every two seconds.
    Polling(PollingBecause),
}

/// Why files are polled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PollingBecause {
    /// `mcp.watch` says so.
    Asked,
    /// A limit of the system is used up.
    Limit(InotifyLimit),
    /// The file system does not tell of changes that others make.
    Silent {
        /// One such folder.
        folder: PathBuf,
        /// `NFS`, `SMB`, `9p` or `FUSE`.
        file_system: &'static str,
    },
    /// The folder may not be watched.
    Denied {
        /// Which.
        folder: PathBuf,
    },
    /// The system has no events for another reason.
    Unavailable {
        /// What it says.
        message: String,
    },
}

/// A limit of inotify.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum InotifyLimit {
    /// `fs.inotify.max_user_instances`, or the number of files this process may have open.
    Instances,
    /// `fs.inotify.max_user_watches`
    Watches,
}

impl std::fmt::Display for PollingBecause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Asked => f.write_str("mcp.watch is \"poll\""),
            Self::Limit(InotifyLimit::Instances) => f.write_str(
                "the inotify limit fs.inotify.max_user_instances (or the limit of open files) is used up; raise it \
                 with sysctl",
            ),
            Self::Limit(InotifyLimit::Watches) => {
                f.write_str("the inotify limit fs.inotify.max_user_watches is used up; raise it with sysctl")
            }
            Self::Silent { folder, file_system } => {
                write!(f, "{} is on {file_system}, which does not tell of changes made elsewhere", folder.display())
            }
            Self::Denied { folder } => {
                write!(f, "the folder {} may not be watched; make it readable", folder.display())
            }
            Self::Unavailable { message } => write!(f, "the system gives no file events: {message}"),
        }
    }
}
