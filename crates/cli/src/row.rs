//! What does `mcp list` say about one server? The row as a value with the exact keys of its JSON, of which `mcp plan`
//! shows a part; how people see it is below. It opens nothing and asks nobody.

mod table;

use std::path::Path;

use chrono::{DateTime, SecondsFormat, Utc};
use qwen_core::{Approval, Decision, FolderTrust, Phase, State};
use serde::Serialize;

use crate::{
    derive::{Derived, Row, Source},
    settings::Diagnostic,
    words::{self, Background, Prompt, Words},
};

pub(crate) use self::table::{ServerLine, last_words, render_list, table, tone_of};

/// The document of `mcp list --json`, and of `mcp plan --json` with rows of its own.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document<R> {
    /// Sorted by name.
    pub(crate) servers: Vec<R>,
    /// Every problem of every file.
    pub(crate) diagnostics: Vec<DiagnosticJson>,
    /// Whether servers may be admitted in this folder at all.
    pub(crate) folder_trusted: bool,
    /// The canonical folder.
    pub(crate) project_root: String,
}

impl<R> Document<R> {
    /// The rows of what is derived.
    pub(crate) fn new(derived: &Derived, root: &Path, row: impl FnMut(&Row) -> R) -> Self {
        let mut rows: Vec<&Row> = derived.rows.values().collect();
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            servers: rows.into_iter().map(row).collect(),
            diagnostics: derived.diagnostics.iter().map(DiagnosticJson::new).collect(),
            folder_trusted: derived.folder == FolderTrust::Trusted,
            project_root: path_text(root),
        }
    }
}

/// One server of the list.
#[derive(Clone, Serialize, PartialEq, Debug)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListRow {
    /// What needs no connection to be known.
    #[serde(flatten)]
    pub(crate) entry: EntryRow,
    /// Why it could not be connected.
    pub(crate) error: Option<String>,
    /// What it wrote to stderr last, masked.
    pub(crate) stderr_tail: Option<String>,
    /// The direct child.
    pub(crate) pid: Option<u32>,
    /// How many tools it offers.
    pub(crate) tools: Option<usize>,
    /// How many prompts it offers.
    pub(crate) prompts: Option<usize>,
    /// How many resources it offers.
    pub(crate) resources: Option<usize>,
}

/// The part of a row that needs no connection to be known.
#[derive(Clone, Serialize, PartialEq, Debug)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EntryRow {
    /// As written.
    pub(crate) name: String,
    /// Where its entry came from; `None` where only a saved plan has it.
    pub(crate) scope: Option<&'static str>,
    /// Where its entry stands.
    pub(crate) source: Option<SourceJson>,
    /// `stdio`, `http` or `sse`.
    pub(crate) transport: Option<&'static str>,
    /// The command line or URL, masked.
    pub(crate) target: Option<String>,
    /// A name of a state; `None` where it was not tried.
    pub(crate) state: Option<&'static str>,
    /// One sentence.
    pub(crate) cause: Option<String>,
    /// RFC 3339.
    pub(crate) since: Option<String>,
    /// What to do.
    pub(crate) next_step: Option<String>,
    /// Over the wire as written.
    pub(crate) fingerprint: Option<String>,
    /// Only of gated entries.
    pub(crate) approval: Option<ApprovalJson>,
    /// Entries of the same name that lose.
    pub(crate) shadows: Vec<EntryPlace>,
    /// The gated entry that takes the name once it is approved.
    pub(crate) shadowed_by: Option<EntryPlace>,
}

/// A place in a file.
#[derive(Clone, Serialize, PartialEq, Debug)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SourceJson {
    /// As configured; `None` for JSON on the command line.
    pub(crate) path: Option<String>,
    /// Where a link leads, where that is elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resolved_path: Option<String>,
    /// From 1.
    pub(crate) line: Option<u32>,
}

/// What was decided about a gated entry.
#[derive(Clone, Serialize, PartialEq, Debug)]
pub(crate) struct ApprovalJson {
    /// `approved`, `rejected` or `undecided`.
    pub(crate) decision: &'static str,
    /// 64 hex digits.
    pub(crate) hash: String,
}

/// Another entry of the same name.
#[derive(Clone, Serialize, PartialEq, Debug)]
pub(crate) struct EntryPlace {
    /// Where it came from.
    pub(crate) scope: &'static str,
    /// As configured.
    pub(crate) path: Option<String>,
    /// From 1.
    pub(crate) line: Option<u32>,
}

/// A problem of a file, as `mcp list` shows it.
#[derive(Clone, Serialize, PartialEq, Debug)]
pub(crate) struct DiagnosticJson {
    /// As configured; `None` for JSON on the command line.
    pub(crate) path: Option<String>,
    /// From 1.
    pub(crate) line: Option<u32>,
    /// From 1, in Unicode scalar values.
    pub(crate) column: Option<u32>,
    /// `error` or `warning`.
    pub(crate) severity: &'static str,
    /// One sentence.
    pub(crate) message: String,
    /// What to do.
    pub(crate) hint: Option<String>,
}

impl DiagnosticJson {
    /// The same as JSON shows it.
    pub(crate) fn new(diagnostic: &Diagnostic) -> Self {
        Self {
            path: diagnostic.path.as_deref().map(path_text),
            line: diagnostic.line,
            column: diagnostic.column,
            severity: diagnostic.severity.as_str(),
            message: diagnostic.message.clone(),
            hint: diagnostic.hint.clone(),
        }
    }
}

/// What is known of one server's connection at the moment of the listing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome<'a> {
    /// Nobody tried.
    NotTried,
    /// It was tried, or the gate refused it.
    Phase {
        /// What came of it.
        phase: &'a Phase,
        /// Milliseconds since 1970.
        since_unix_ms: u64,
    },
}

/// One row of the list.
pub(crate) fn list_row(row: &Row, outcome: Outcome<'_>, back: Background<'_>) -> ListRow {
    let phase = match outcome {
        Outcome::NotTried => None,
        Outcome::Phase { phase, .. } => Some(phase),
    };
    let connected = match phase {
        Some(Phase::Connected(connected)) => Some(connected),
        Some(Phase::Connecting(_) | Phase::Failed { .. } | Phase::Refused(_)) | None => None,
    };
    let failure = match phase {
        Some(Phase::Failed { failure, .. }) => Some(failure),
        Some(Phase::Connecting(_) | Phase::Connected(_) | Phase::Refused(_)) | None => None,
    };
    ListRow {
        entry: entry_row(row, outcome, back),
        error: failure.map(|failure| failure.message.clone()),
        stderr_tail: failure.and_then(|failure| failure.stderr_tail.clone()),
        pid: connected.and_then(|connected| connected.pid),
        tools: connected.map(|connected| connected.tools),
        prompts: connected.map(|connected| connected.prompts),
        resources: connected.map(|connected| connected.resources),
    }
}

/// The part of a row that needs no connection to be known.
pub(crate) fn entry_row(row: &Row, outcome: Outcome<'_>, back: Background<'_>) -> EntryRow {
    let (state, since, words) = match outcome {
        Outcome::NotTried => (None, None, not_tried(row)),
        Outcome::Phase { phase, since_unix_ms } => {
            let words = words::of_phase(phase, &row.name, Some(row), back);
            (Some(phase.state()), Some(since(row, phase.state(), since_unix_ms)), words)
        }
    };
    EntryRow {
        name: row.name.as_str().to_owned(),
        scope: Some(row.scope.as_str()),
        source: Some(source_json(&row.source)),
        transport: row.transport.map(crate::derive::Transport::as_str),
        target: row.target.clone(),
        state: state.map(State::as_str),
        cause: words.cause,
        since,
        next_step: words.next_step,
        fingerprint: (!row.written_fingerprint.is_empty()).then(|| row.written_fingerprint.clone()),
        approval: row.approval.as_ref().map(|approval| ApprovalJson {
            decision: decision_word(approval.decision),
            hash: approval.hash.clone(),
        }),
        shadows: row.shadows.iter().map(|loser| entry_place(loser.scope, &loser.source)).collect(),
        shadowed_by: row
            .shadowed_by
            .as_ref()
            .map(|candidate| entry_place(candidate.scope, &candidate.source)),
    }
}

fn not_tried(row: &Row) -> Words {
    let candidate = row.shadowed_by.as_ref();
    Words {
        cause: Some("not tried".to_owned()),
        next_step: candidate.map(|candidate| Prompt::Shell.decide(&row.name, &candidate.hash)),
    }
}

/// When it began: a decision has its time in the store, everything else began with this state.
fn since(row: &Row, state: State, since_unix_ms: u64) -> String {
    let decided = row.approval.as_ref().and_then(|approval| approval.decided_at.clone());
    match (state, decided) {
        (State::Rejected, Some(time)) => time,
        _ => rfc3339(since_unix_ms),
    }
}

/// The word of a decision in JSON.
pub(crate) fn decision_word(decision: Decision) -> &'static str {
    match decision {
        Decision::Approved => "approved",
        Decision::Rejected => "rejected",
        Decision::Undecided => "undecided",
    }
}

/// RFC 3339 in UTC with milliseconds.
pub(crate) fn rfc3339(unix_ms: u64) -> String {
    i64::try_from(unix_ms)
        .ok()
        .and_then(DateTime::<Utc>::from_timestamp_millis)
        .unwrap_or_default()
        .to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// A path as JSON holds it.
pub(crate) fn path_text(path: &Path) -> String {
    path.display().to_string()
}

fn source_json(source: &Source) -> SourceJson {
    SourceJson {
        path: source.path.as_deref().map(path_text),
        resolved_path: source.resolved_path.as_deref().map(path_text),
        line: source.line,
    }
}

fn entry_place(scope: qwen_core::Scope, source: &Source) -> EntryPlace {
    EntryPlace { scope: scope.as_str(), path: source.path.as_deref().map(path_text), line: source.line }
}

/// Whether the user must approve an entry at all.
pub(crate) fn is_gated(row: &Row) -> bool {
    match &row.entry {
        qwen_core::Entry::Valid(spec) => matches!(spec.approval(), Approval::Gated(_)),
        qwen_core::Entry::Invalid(_) => row.approval.is_some(),
    }
}

/// The time of this moment as rows hold it.
pub(crate) fn now_unix_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
