//! Which settings are there? Owns the one table from which validation, merge, restart flags, JSON Schema and the
//! reference are made; knows no value of a document.

use crate::key::KeyPath;

mod foreign;
mod rows;

pub(crate) use foreign::TOP_LEVEL_OF_QWEN_CODE;
pub use rows::SETTINGS;

/// One setting: everything that the rest of the crate knows about it.
#[derive(Clone, Copy, Debug)]
pub struct SettingRow {
    /// Its path, a segment each.
    pub key: &'static [&'static str],
    /// Which values it takes.
    pub kind: Kind,
    /// How the values of several scopes become one.
    pub merge: MergeRule,
    /// Which settings files may hold it.
    pub settable: Settable,
    /// Whether an edit takes effect in a running session.
    pub restart: Restart,
    /// When two values of it count as the same.
    pub compare: Compare,
    /// What it does, in a sentence or two.
    pub text: &'static str,
    /// A value as it would be written in JSON.
    pub example: &'static str,
}

impl SettingRow {
    /// Its path as a value.
    #[must_use]
    pub fn path(&self) -> KeyPath {
        KeyPath::new(self.key.iter().copied())
    }
}

/// Which values a key takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `true` or `false`, and nothing that looks like them.
    Boolean {
        /// What counts when nobody sets it; `None` when nothing does.
        default: Option<bool>,
    },
    /// A whole number.
    Integer(Range),
    /// Any text.
    Text,
    /// One of a few words.
    Word {
        /// The words, as written.
        words: &'static [&'static str],
        /// Other spellings, compared without regard to case, and the word each stands for.
        aliases: &'static [(&'static str, &'static str)],
        /// What counts when nobody sets it; `None` when nothing does.
        default: Option<&'static str>,
    },
    /// A list of names or globs.
    Names,
    /// A list of texts whose order counts.
    Texts,
    /// A map from names to texts.
    TextMap,
    /// An object with keys of its own.
    Object,
    /// Server entries by name.
    Servers,
    /// Whatever its owner makes of it; not looked into here.
    Any,
}

/// The range of a whole number, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The lowest value that counts as written.
    pub min: i64,
    /// The highest value that counts as written.
    pub max: i64,
    /// What counts when nobody sets it; `None` when it depends on something else.
    pub default: Option<i64>,
}

/// How the values of several scopes become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MergeRule {
    /// Key by key, at every depth; anything but an object is taken from the highest scope that has it.
    Deep,
    /// Name by name; a collision takes the whole value of the higher scope.
    ByName,
    /// The highest scope that sets it.
    HighestWins,
    /// Everything that any scope lists.
    Union,
    /// Each scope keeps its own list, and a name must match all of them. The list of the system defaults yields to one
    /// of the user or the system.
    EveryScopeMustAdmit,
}

/// Which settings files may hold a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Settable {
    /// All of them.
    Everywhere,
    /// All but those of a project, whose author is somebody else.
    NotWorkspace,
}

/// Whether an edit takes effect in a running session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Restart {
    /// At once.
    Live,
    /// At the next start.
    Required,
}

/// When two values of a key count as the same, beyond meaning the same as JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compare {
    /// By value; absent equals nothing but absent.
    ByValue,
    /// By value; absent equals an empty object.
    AbsentIsEmpty,
    /// As sets; absent and the empty list differ.
    Set,
    /// As sets; absent equals the empty list.
    SetAbsentIsEmpty,
}

/// The row of exactly this key.
#[must_use]
pub fn setting(key: &KeyPath) -> Option<&'static SettingRow> {
    SETTINGS.iter().find(|row| is_same(row.key, key.segments()))
}

/// Whether an edit of this key takes effect only at the next start: what the longest known prefix of it says. An
/// unknown key needs none.
///
/// ```
/// use qwen_settings_schema::{KeyPath, requires_restart};
///
/// assert!(requires_restart(&KeyPath::new(["mcp"])));
/// assert!(requires_restart(&KeyPath::new(["mcp", "foo"])));
/// assert!(!requires_restart(&KeyPath::new(["mcp", "allowed"])));
/// ```
#[must_use]
pub fn requires_restart(key: &KeyPath) -> bool {
    SETTINGS
        .iter()
        .filter(|row| {
            key.segments().len() >= row.key.len() && is_same(row.key, &key.segments()[..row.key.len()])
        })
        .max_by_key(|row| row.key.len())
        .is_some_and(|row| row.restart == Restart::Required)
}

/// The changed leaves that take effect at once, and those that need a restart.
#[must_use]
pub fn split_restart(leaves: &[KeyPath]) -> RestartSplit {
    let (restart, live) = leaves.iter().cloned().partition(requires_restart);
    RestartSplit { live, restart }
}

/// Changed leaves, by when they take effect.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RestartSplit {
    /// At once.
    pub live: Vec<KeyPath>,
    /// At the next start.
    pub restart: Vec<KeyPath>,
}

fn is_same(row: &[&str], segments: &[String]) -> bool {
    row.len() == segments.len() && row.iter().zip(segments).all(|(row, segment)| row == segment)
}

#[cfg(test)]
mod tests;
