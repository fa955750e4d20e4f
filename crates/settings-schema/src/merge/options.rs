//! Which of the merged values are this program's own? Owns their typed form and defaults; merges nothing.

use serde_json::{Map, Value};

use crate::{
    key::KeyPath,
    kind::clamped,
    path::{Found, find_member},
    restrict::{FOLDER_TRUST, FolderTrust},
    table::{Kind, setting},
};

/// The settings of this program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Whether an edit connects and restarts servers by itself.
    pub auto_reload: AutoReload,
    /// How long the files must be quiet, in milliseconds.
    pub reload_debounce_ms: u64,
    /// How files are watched.
    pub watch: WatchMode,
    /// How long a call may go without progress, in milliseconds.
    pub tool_idle_timeout_ms: u64,
    /// Whether a project's folder must be trusted.
    pub folder_trust: FolderTrust,
}

/// Whether an edit connects and restarts servers by itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AutoReload {
    /// It does.
    On,
    /// It waits until it is asked for; what narrows does not wait.
    Off,
}

/// How files are watched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WatchMode {
    /// The operating system tells, where it can.
    Auto,
    /// They are read every so often.
    Poll,
}

impl Options {
    /// What a merged document says, defaults filled in.
    pub(super) fn of(root: &Map<String, Value>) -> Self {
        Self {
            auto_reload: match boolean(root, &["mcp", "autoReload"]) {
                true => AutoReload::On,
                false => AutoReload::Off,
            },
            reload_debounce_ms: integer(root, &["mcp", "reloadDebounceMs"]),
            watch: match find_member(root, &["mcp", "watch"]) {
                Found::Value(Value::String(word)) if word == "poll" => WatchMode::Poll,
                Found::Value(_) | Found::Absent | Found::Blocked => WatchMode::Auto,
            },
            tool_idle_timeout_ms: integer(root, &["mcp", "toolIdleTimeoutMs"]),
            folder_trust: match boolean(root, FOLDER_TRUST) {
                true => FolderTrust::On,
                false => FolderTrust::Off,
            },
        }
    }
}

fn boolean(root: &Map<String, Value>, key: &[&str]) -> bool {
    match (find_member(root, key), setting(&KeyPath::new(key.iter().copied())).map(|row| row.kind)) {
        (Found::Value(Value::Bool(value)), _) => *value,
        (_, Some(Kind::Boolean { default })) => default.unwrap_or(false),
        (_, _) => false,
    }
}

fn integer(root: &Map<String, Value>, key: &[&str]) -> u64 {
    let value =
        match (find_member(root, key), setting(&KeyPath::new(key.iter().copied())).map(|row| row.kind)) {
            (Found::Value(value), Some(Kind::Integer(range))) => clamped(range, value).or(range.default),
            (_, Some(Kind::Integer(range))) => range.default,
            (_, _) => None,
        };
    value.and_then(|value| u64::try_from(value).ok()).unwrap_or(0)
}
