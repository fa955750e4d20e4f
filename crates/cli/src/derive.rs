//! What do we desire, given what the files say? One pure function, used at start, on every reload, by `mcp list` and
//! by `mcp plan`. It reads no file and knows no connection.

mod candidates;
mod decide;
mod gate;
mod launch;
mod resolutions;
mod resolve;
mod row;
mod shown;
mod weigh;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::Duration,
};

use indexmap::IndexMap;
use qwen_core::{Desired, Entry, FolderTrust, Gating, ServerName};
use qwen_settings_schema as schema;

use self::{gate::Settings, resolutions::Resolutions, weigh::Weighing};
use crate::settings::{Diagnostic, Snapshot, SourceId};

pub use launch::{
    ApproveMcp, Fixed, Flags, Held, Launch, Screen, ServerSources, SessionDecision, SessionDecisions, Yolo,
};
pub use row::{
    GatedEntry, Loser, Promptable, ReadVariable, Row, RowApproval, ShadowedBy, Source, Transport,
    VariableState, Written,
};

/// What the files and flags mean.
#[derive(Clone)]
pub struct Derived {
    /// Every name that stands in a file that counts, exactly one row each, in the order in which entries open.
    pub rows: IndexMap<ServerName, Row>,
    /// The entries that count, for core.
    pub servers: IndexMap<ServerName, Entry>,
    /// The three lists, for core.
    pub gating: Gating,
    /// Whether the folder is trusted.
    pub folder: FolderTrust,
    /// Whether somebody should be asked about the folder: the check is on and no rule covers it.
    pub folder_question: FolderQuestion,
    /// Sources that may restrict servers and could not be read at start.
    pub unreadable: Vec<String>,
    /// Who should be asked about, with what they would be asked.
    pub promptable: BTreeMap<ServerName, Promptable>,
    /// The highest gated entry of each name that has one, whatever was decided about it.
    pub gated: BTreeMap<ServerName, GatedEntry>,
    /// Every problem of every source that counts, in the order of sources and lines.
    pub diagnostics: Vec<Diagnostic>,
    /// What the session itself does by.
    pub options: Options,
    /// The merged settings files but for their servers, with the scope that each value comes from.
    pub merged: Arc<schema::Merged<'static>>,
    /// What each entry was resolved to, for the next derivation.
    pub(crate) resolutions: Arc<Resolutions>,
}

impl Default for Derived {
    /// What no file at all means.
    fn default() -> Self {
        Self {
            rows: IndexMap::new(),
            servers: IndexMap::new(),
            gating: Gating::default(),
            folder: FolderTrust::Trusted,
            folder_question: FolderQuestion::Settled,
            unreadable: Vec::new(),
            promptable: BTreeMap::new(),
            gated: BTreeMap::new(),
            diagnostics: Vec::new(),
            options: Options::default(),
            merged: Arc::new(schema::merge(&[])),
            resolutions: Arc::default(),
        }
    }
}

impl fmt::Debug for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The merged settings may hold secrets.
        f.debug_struct("Derived")
            .field("rows", &self.rows)
            .field("gating", &self.gating)
            .field("folder", &self.folder)
            .field("unreadable", &self.unreadable)
            .field("promptable", &self.promptable)
            .finish_non_exhaustive()
    }
}

impl Derived {
    /// The part that core is told.
    #[must_use]
    pub fn desired(&self) -> Desired {
        Desired {
            servers: self.servers.clone(),
            gating: self.gating.clone(),
            folder: self.folder,
            unreadable: self.unreadable.clone(),
        }
    }

    /// The promptable set as it is compared: names with hashes.
    #[must_use]
    pub fn promptable_set(&self) -> BTreeSet<(ServerName, String)> {
        self.promptable.iter().map(|(name, asked)| (name.clone(), asked.hash.clone())).collect()
    }
}

/// Whether the user should be asked to trust the folder.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FolderQuestion {
    /// It is decided, or the check is off, or nobody is there to ask.
    #[default]
    Settled,
    /// An interactive session asks.
    Ask,
}

/// What the session itself does by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// `mcp.autoReload`
    pub auto_reload: AutoReload,
    /// `mcp.reloadDebounceMs`
    pub debounce: Duration,
    /// `mcp.watch`; fixed at start.
    pub watch: WatchMode,
    /// `mcp.toolIdleTimeoutMs`
    pub tool_idle: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            auto_reload: AutoReload::On,
            debounce: Duration::from_millis(300),
            watch: WatchMode::Auto,
            tool_idle: Duration::from_millis(300_000),
        }
    }
}

/// Whether edits that open or restart something are applied by themselves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AutoReload {
    /// At once.
    #[default]
    On,
    /// On `/reload`; what narrows is applied at once all the same.
    Off,
}

/// How files are watched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum WatchMode {
    /// By events, and by polling where events do not come.
    #[default]
    Auto,
    /// By polling.
    Poll,
}

/// Derives what is desired. `previous` is the last result of the same session and the same launch: entries that did not
/// change are not resolved again and keep their identity (the same `Arc`), so that comparing them costs nothing.
#[must_use]
pub fn derive(snapshot: &Snapshot, launch: &Launch, previous: Option<&Derived>) -> Derived {
    let settings = Settings::of(snapshot, launch);
    let options = settings.options();
    let weighed = Weighing::new(snapshot, launch, &settings, &options, previous).all();
    let mut diagnostics: Vec<(SourceId, Diagnostic)> = snapshot
        .sources
        .values()
        .filter(|source| counts(source.id, launch))
        .flat_map(|source| source.diagnostics.iter().map(|said| (source.id, said.clone())))
        .chain(weighed.diagnostics)
        .collect();
    // What resolving found to be wrong says more than what reading found to be doubtful at the same place.
    let wrong: BTreeSet<_> = diagnostics
        .iter()
        .filter(|(_, said)| said.severity == crate::settings::Severity::Error)
        .map(|(id, said)| (*id, said.line, said.column))
        .collect();
    let redundant = schema::Code::RedundantField.as_str();
    diagnostics
        .retain(|(id, said)| said.code != redundant || !wrong.contains(&(*id, said.line, said.column)));
    diagnostics.sort_by_key(|(id, said)| (*id, said.line, said.column));
    Derived {
        rows: weighed.rows,
        servers: weighed.servers,
        gating: Gating { pending: weighed.pending, ..settings.gating() },
        folder: settings.folder,
        folder_question: settings.question,
        unreadable: settings.unreadable,
        promptable: weighed.promptable,
        gated: weighed.gated,
        diagnostics: diagnostics.into_iter().map(|(_, said)| said).collect(),
        options,
        merged: settings.merged,
        resolutions: Arc::new(weighed.resolutions),
    }
}

/// Whether a source has any say: `.mcp.json` holds nothing but servers.
fn counts(id: SourceId, launch: &Launch) -> bool {
    match launch.flags.servers_from {
        ServerSources::All => true,
        ServerSources::SessionOnly => id != SourceId::McpJson,
    }
}

#[cfg(test)]
mod tests;
