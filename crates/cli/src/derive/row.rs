//! What is known about one configured name, before anything connects? Values for `mcp list`, `plan` and the question.

use std::{fmt, path::PathBuf, sync::Arc};

use qwen_core::{Decision, Entry, Refusal, Scope, ServerName};
use serde_json::Value;

/// One name of the map: the entry that counts, with where it stands and who else has the name.
#[derive(Clone, Debug)]
pub struct Row {
    /// The name.
    pub name: ServerName,
    /// Where the entry that counts came from.
    pub scope: Scope,
    /// Where it stands.
    pub source: Source,
    /// The entry as written, variables and all. It may hold secrets: show it only through the question or masked.
    pub written: Written,
    /// Only of a gated entry: what was decided about exactly these bytes.
    pub approval: Option<RowApproval>,
    /// `None` where the entry does not say.
    pub transport: Option<Transport>,
    /// The command line or URL, masked.
    pub target: Option<String>,
    /// What core is told.
    pub entry: Entry,
    /// Of an invalid entry the field at fault, from the entry down; empty where it is the entry as a whole.
    pub wrong: Vec<String>,
    /// Of an invalid entry the variable in that field which has no value.
    pub unset: Option<String>,
    /// Warnings about this entry, for people.
    pub warnings: Vec<String>,
    /// Entries of this name that this one wins over, highest first.
    pub shadows: Vec<Loser>,
    /// The candidate above it that is not approved.
    pub shadowed_by: Option<ShadowedBy>,
    /// 16 hex digits over the wire as written: what is shown as a fingerprint.
    pub written_fingerprint: String,
}

/// An entry as it stands in its file. It may hold secrets, so printing it in any way shows nothing.
#[derive(Clone, PartialEq)]
pub struct Written(Arc<Value>);

impl Written {
    /// Wraps one entry.
    #[must_use]
    pub fn new(entry: Arc<Value>) -> Self {
        Self(entry)
    }

    /// The entry, for the hash, the question and the writer.
    #[must_use]
    pub fn value(&self) -> &Arc<Value> {
        &self.0
    }
}

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("•••")
    }
}

/// What was decided about a gated entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowApproval {
    /// The effective decision, flags included.
    pub decision: Decision,
    /// 64 hex digits over the entry as written.
    pub hash: String,
    /// When, as the store says (RFC 3339).
    pub decided_at: Option<String>,
}

/// Where an entry stands.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Source {
    /// The file as configured; `None` for JSON on the command line.
    pub path: Option<PathBuf>,
    /// Where a link leads, where that is elsewhere.
    pub resolved_path: Option<PathBuf>,
    /// From 1.
    pub line: Option<u32>,
    /// From 1, in Unicode scalar values.
    pub column: Option<u32>,
}

/// How the server is reached.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Transport {
    /// A child process.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// Legacy server-sent events.
    Sse,
}

impl Transport {
    /// The word used in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

/// An entry of the same name that does not count because a higher one does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loser {
    /// Where it came from.
    pub scope: Scope,
    /// Where it stands.
    pub source: Source,
}

/// A gated entry of a higher scope that takes the name once it is approved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShadowedBy {
    /// Where it came from.
    pub scope: Scope,
    /// Where it stands.
    pub source: Source,
    /// Undecided or rejected.
    pub decision: Decision,
    /// 64 hex digits over the entry as written.
    pub hash: String,
}

/// A gated entry that the user should be asked about: the one value that is shown, hashed and, once approved, run.
#[derive(Clone, Debug)]
pub struct Promptable {
    /// The name.
    pub name: ServerName,
    /// 64 hex digits over `written`.
    pub hash: String,
    /// Where it came from.
    pub scope: Scope,
    /// Where it stands.
    pub source: Source,
    /// As written.
    pub written: Written,
    /// As it would run.
    pub entry: Entry,
    /// The variables it reads.
    pub variables: Vec<ReadVariable>,
    /// The entry that counts now and would be replaced.
    pub replaces: Option<Loser>,
}

/// The highest gated entry of a name, whatever was decided about it: what a decision by name means when nobody has
/// to be asked.
#[derive(Clone, Debug)]
pub struct GatedEntry {
    /// The entry as it would be asked about.
    pub asked: Promptable,
    /// What was decided about exactly these bytes.
    pub decision: Decision,
    /// The first check, other than that of the decision, that refuses it.
    pub barrier: Option<Refusal>,
}

/// One variable that an entry reads.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ReadVariable {
    /// Its name.
    pub name: String,
    /// Whether it has a value.
    pub set: VariableState,
    /// The field it goes into, as segments (`headers`, `X-Api-Key`).
    pub field: Vec<String>,
}

/// Whether a variable has a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum VariableState {
    /// From the environment or the user's `.env`.
    Set,
    /// It has none; the default that is written counts.
    Default,
    /// It has none.
    Unset,
}
