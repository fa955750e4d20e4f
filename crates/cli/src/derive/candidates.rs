//! Which entries claim a name? Collects what every source says about servers, with scope and place, from the lowest
//! rank up. It decides nothing and resolves nothing.

use std::sync::Arc;

use indexmap::IndexMap;
use qwen_approvals::{ApprovalHash, approval_hash};
use qwen_core::{Scope, ServerName};
use qwen_settings_schema::Dialect;
use serde_json::{Value, json};

use super::{
    launch::{Launch, SETTINGS_FILES, ServerSources},
    row::Source,
    words,
};
use crate::settings::{Snapshot, SourceFile, SourceId};

/// One entry of one source.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) name: ServerName,
    pub(super) scope: Scope,
    /// Which file it stands in.
    pub(super) file: Arc<SourceFile>,
    /// Where in the file, as segments.
    pub(super) key: Vec<String>,
    pub(super) written: Written,
    pub(super) dialect: Dialect,
}

/// What stands there.
#[derive(Clone)]
pub(super) enum Written {
    /// An entry, good or not.
    Entry(Arc<Value>),
    /// A command line that is none, as an entry that holds the text, and why.
    NoCommand { entry: Arc<Value>, why: &'static str },
}

impl std::fmt::Debug for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("•••")
    }
}

impl Written {
    /// As a value.
    pub(super) fn value(&self) -> &Arc<Value> {
        match self {
            Self::Entry(entry) | Self::NoCommand { entry, .. } => entry,
        }
    }
}

impl Candidate {
    /// What was written, as a value.
    pub(super) fn value(&self) -> &Arc<Value> {
        self.written.value()
    }

    /// What its approval binds to, as 64 digits.
    pub(super) fn hash(&self) -> String {
        self.approval_hash().to_string()
    }

    fn approval_hash(&self) -> ApprovalHash {
        let dialect = match self.dialect {
            Dialect::Settings => qwen_approvals::Dialect::Settings,
            Dialect::McpJson => qwen_approvals::Dialect::McpJson,
        };
        approval_hash(self.value(), dialect)
    }

    /// Where it stands.
    pub(super) fn source(&self) -> Source {
        let place = self.file.positions.nearest(&self.key);
        Source {
            path: self.file.path.clone(),
            resolved_path: self.file.resolved_path.clone(),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
        }
    }
}

/// Every entry by name, from the lowest rank to the highest. A source has at most one entry of a name.
pub(super) fn by_name(snapshot: &Snapshot, launch: &Launch) -> IndexMap<ServerName, Vec<Candidate>> {
    let mut found: IndexMap<ServerName, Vec<Candidate>> = IndexMap::new();
    for file in ranked(snapshot, launch) {
        for entry in of_source(&file) {
            found.entry(entry.name.clone()).or_default().push(entry);
        }
    }
    found
}

/// The sources that bring servers, from the lowest rank to the highest.
fn ranked(snapshot: &Snapshot, launch: &Launch) -> Vec<Arc<SourceFile>> {
    let shared =
        [SourceId::SystemDefaults, SourceId::User, SourceId::McpJson, SourceId::Workspace, SourceId::System];
    let shared = match launch.flags.servers_from {
        ServerSources::All => &shared[..],
        ServerSources::SessionOnly => &[],
    };
    let session = (0..launch.flags.mcp_config.len()).map(SourceId::Session);
    let ids = shared.iter().copied().chain(session);
    ids.filter_map(|id| held(snapshot.get(id)?, launch)).collect()
}

/// The source with the keys that need a restart as they were at start.
pub(super) fn held(file: &Arc<SourceFile>, launch: &Launch) -> Option<Arc<SourceFile>> {
    let Some(fixed) = launch.fixed.get(&file.id) else { return Some(Arc::clone(file)) };
    let root = fixed.hold(&file.root);
    if Arc::ptr_eq(&root, &file.root) {
        return Some(Arc::clone(file));
    }
    Some(Arc::new(SourceFile { root, ..(**file).clone() }))
}

/// The entries of one source, in the order written.
pub(super) fn of_source(file: &Arc<SourceFile>) -> impl Iterator<Item = Candidate> {
    let servers = file.root.get("mcpServers").and_then(Value::as_object);
    let named = servers.into_iter().flatten().map(|(name, entry)| Candidate {
        name: ServerName::from(name.as_str()),
        scope: file.id.scope(),
        file: Arc::clone(file),
        key: vec!["mcpServers".to_owned(), name.clone()],
        written: Written::Entry(Arc::new(entry.clone())),
        dialect: dialect(file.id),
    });
    let has_own = servers.is_some_and(|servers| servers.contains_key("mcp"));
    let command = server_command(file).filter(|_| !has_own);
    named.chain(command)
}

/// `mcp.serverCommand` of a settings file: an entry named `mcp`.
fn server_command(file: &Arc<SourceFile>) -> Option<Candidate> {
    if !SETTINGS_FILES.contains(&file.id) {
        return None;
    }
    let text = file.root.pointer("/mcp/serverCommand")?.as_str()?;
    if text.trim().is_empty() {
        return None;
    }
    let written = match words::split(text) {
        Ok(words) => {
            let (command, args) = words.split_first()?;
            Written::Entry(Arc::new(json!({ "command": command, "args": args })))
        }
        Err(why) => Written::NoCommand { entry: Arc::new(json!({ "command": text, "args": [] })), why },
    };
    Some(Candidate {
        name: ServerName::from("mcp"),
        scope: file.id.scope(),
        file: Arc::clone(file),
        key: vec!["mcp".to_owned(), "serverCommand".to_owned()],
        written,
        dialect: Dialect::Settings,
    })
}

fn dialect(id: SourceId) -> Dialect {
    match id {
        SourceId::McpJson | SourceId::Session(_) => Dialect::McpJson,
        SourceId::SystemDefaults
        | SourceId::User
        | SourceId::Workspace
        | SourceId::System
        | SourceId::UserEnv
        | SourceId::Approvals
        | SourceId::TrustedFolders => Dialect::Settings,
    }
}
