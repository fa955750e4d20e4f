//! How does an edit reach the servers? One task takes what the watcher saw and what the user asked for, and commits it
//! to core. It must not know how files are read, nor what a connection is.

mod event;

pub use event::{ChangeKind, CliEvent, NoticeCode, SettingsChange};
