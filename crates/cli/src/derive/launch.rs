//! What was said on the command line, and what was fixed at the moment of start? Values, and the one function that
//! takes them down.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use qwen_approvals::Records;
use qwen_core::{Decision, LaunchBound, ServerName};
use qwen_settings_schema::Setting;
use serde_json::Value;

use super::{candidates, decide};
use crate::settings::{
    Broken, Environment, Origin, Paths, Snapshot, SourceFile, SourceId, is_inside, mended_restricting,
};

/// The command line as values.
#[derive(Clone, Debug)]
pub struct Flags {
    /// `--allowed-mcp-server-names`
    pub bound: LaunchBound,
    /// `--mcp-config`, in order; relative paths already joined to the process's folder.
    pub mcp_config: Vec<Origin>,
    /// `--strict-mcp-config`
    pub servers_from: ServerSources,
    /// `--approve-mcp`
    pub approve: Vec<ApproveMcp>,
    /// `--yolo`
    pub yolo: Yolo,
    /// Whether somebody can be asked.
    pub screen: Screen,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            bound: LaunchBound::Unbounded,
            mcp_config: Vec::new(),
            servers_from: ServerSources::All,
            approve: Vec::new(),
            yolo: Yolo::Off,
            screen: Screen::Headless,
        }
    }
}

/// Which sources bring servers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ServerSources {
    /// Every file.
    #[default]
    All,
    /// `--mcp-config` alone.
    SessionOnly,
}

/// One value of `--approve-mcp`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ApproveMcp {
    /// The entry that this name has at start, also a rejected one.
    Name(ServerName),
    /// `*`: every undecided gated entry present at start.
    EveryUndecided,
}

/// Whether undecided gated entries count as approved for the run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Yolo {
    /// They wait.
    #[default]
    Off,
    /// They count as approved; nobody is asked.
    On,
}

/// Whether somebody can be asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Screen {
    /// Nobody.
    #[default]
    Headless,
    /// A person sits in front of it.
    Interactive,
}

/// The flags with everything that is fixed at start: the surroundings, the hashes of what was vouched for, and the
/// settings that need a restart.
#[derive(Clone, Debug)]
pub struct Launch {
    /// As given.
    pub flags: Flags,
    /// The process's surroundings.
    pub environment: Arc<Environment>,
    /// Every file.
    pub paths: Arc<Paths>,
    /// What `--approve-mcp` approved: exactly these bytes, for this run.
    pub approved: BTreeSet<(ServerName, String)>,
    /// Of these, what the record rejected at start. A rejection that comes later counts.
    pub approved_although_rejected: BTreeSet<(ServerName, String)>,
    /// Decisions of this session that could not be written. They count over the record and the flags.
    pub decided: BTreeMap<(ServerName, String), Decision>,
    /// `--mcp-config` files inside the project, with the entries they had at start.
    pub vouched: BTreeMap<SourceId, BTreeSet<(ServerName, String)>>,
    /// What each readable settings file said at start about the keys that need a restart.
    pub fixed: BTreeMap<SourceId, Fixed>,
}

/// Decisions that only this session knows, by name and hash.
pub type SessionDecisions = BTreeMap<(ServerName, String), SessionDecision>;

/// A decision that could not be written. It ends for good once the record says something about the entry that it did
/// not say at that moment: whoever decides later, in whichever terminal, is heard.
#[derive(Clone, Debug)]
pub struct SessionDecision {
    /// What was decided.
    pub decision: Decision,
    over: Arc<Records>,
}

impl SessionDecision {
    /// Decided while the files said this.
    #[must_use]
    pub fn new(decision: Decision, now: &Snapshot) -> Self {
        Self { decision, over: decide::records(now) }
    }
}

/// What one file said at start about the keys of ours that need a restart.
#[derive(Clone, PartialEq, Debug)]
pub struct Fixed {
    /// `mcp.serverCommand`
    pub server_command: Held,
    /// `security.folderTrust.enabled`
    pub folder_trust: Held,
}

/// The value of a key that needs a restart.
#[derive(Clone, PartialEq)]
pub enum Held {
    /// What the file said at start; `None` where it said nothing.
    AtStart(Option<Value>),
    /// The file said nothing that could be used: what it says once it is mended counts.
    Live,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A command line may hold secrets.
        f.write_str(match self {
            Self::AtStart(_) => "AtStart(•••)",
            Self::Live => "Live",
        })
    }
}

/// The settings files, from the lowest scope up.
pub(super) const SETTINGS_FILES: [SourceId; 4] =
    [SourceId::SystemDefaults, SourceId::User, SourceId::Workspace, SourceId::System];

impl Launch {
    /// Captures what is fixed at start from the first snapshot. Follows links once, to know which `--mcp-config`
    /// files lie inside the project.
    #[must_use]
    pub fn capture(
        flags: Flags,
        environment: Arc<Environment>,
        paths: Arc<Paths>,
        at_start: &Snapshot,
    ) -> Self {
        let mut launch = Self {
            flags,
            environment,
            paths,
            approved: BTreeSet::new(),
            approved_although_rejected: BTreeSet::new(),
            decided: BTreeMap::new(),
            vouched: BTreeMap::new(),
            fixed: BTreeMap::new(),
        };
        launch.fixed = fixed(at_start);
        launch.vouched = launch.vouch(at_start);
        launch.approve(at_start);
        launch
    }

    /// The names in `--approve-mcp` that no entry waits for at start.
    pub(crate) fn approves_nothing(&self) -> impl Iterator<Item = &ServerName> {
        self.flags.approve.iter().filter_map(|wanted| match wanted {
            ApproveMcp::Name(name) => {
                Some(name).filter(|name| !self.approved.iter().any(|(of, _)| of == *name))
            }
            ApproveMcp::EveryUndecided => None,
        })
    }

    /// Takes down what a settings file says that was no good at start and is good now. What it says then about keys
    /// that need a restart is fixed like that of the others.
    pub(crate) fn fix_repaired(&mut self, now: &Snapshot) {
        for (id, said) in fixed(now) {
            self.fixed.entry(id).or_insert(said);
        }
    }

    /// Takes over the decisions of this session, and ends those that somebody decided anew in the record.
    pub(crate) fn hear(&mut self, decisions: &mut SessionDecisions, now: &Snapshot) {
        let records = decide::records(now);
        let said = |records: &Records, (name, hash): &(ServerName, String)| {
            decide::recorded(records, self, name, hash)
        };
        decisions.retain(|about, own| said(&own.over, about) == said(&records, about));
        self.decided = decisions.iter().map(|(about, own)| (about.clone(), own.decision)).collect();
    }

    fn vouch(&self, at_start: &Snapshot) -> BTreeMap<SourceId, BTreeSet<(ServerName, String)>> {
        let root = self.paths.root.as_path();
        let in_project = at_start.sources.values().filter(|source| match source.id {
            SourceId::Session(_) => source.path.as_deref().is_some_and(|path| is_inside(path, root)),
            SourceId::SystemDefaults
            | SourceId::User
            | SourceId::McpJson
            | SourceId::Workspace
            | SourceId::System
            | SourceId::UserEnv
            | SourceId::Approvals
            | SourceId::TrustedFolders => false,
        });
        let entries = |source: &Arc<SourceFile>| {
            candidates::of_source(source).map(|entry| (entry.name.clone(), entry.hash())).collect()
        };
        in_project.map(|source| (source.id, entries(source))).collect()
    }

    fn approve(&mut self, at_start: &Snapshot) {
        let records = decide::records(at_start);
        let gated: Vec<_> = candidates::by_name(at_start, self)
            .into_iter()
            .map(|(name, entries)| {
                let decided: Vec<_> = entries
                    .iter()
                    .filter(|entry| decide::is_gated(entry, self))
                    .map(|entry| {
                        let hash = entry.hash();
                        let decision = decide::recorded(&records, self, &name, &hash).decision;
                        (hash, decision)
                    })
                    .collect();
                (name, decided)
            })
            .collect();
        for wanted in &self.flags.approve {
            for (name, decided) in &gated {
                match wanted {
                    // The highest one is what the question about this name would be about.
                    ApproveMcp::Name(wanted) => {
                        let Some((hash, decision)) = decided.last().filter(|_| name == wanted) else {
                            continue;
                        };
                        let key = (name.clone(), hash.clone());
                        if *decision == Decision::Rejected {
                            self.approved_although_rejected.insert(key.clone());
                        }
                        self.approved.insert(key);
                    }
                    ApproveMcp::EveryUndecided => {
                        let undecided = decided.iter().filter(|(_, decision)| decision.asks());
                        self.approved.extend(undecided.map(|(hash, _)| (name.clone(), hash.clone())));
                    }
                }
            }
        }
    }
}

/// A file that was no good at start has said nothing yet: what it says once it is repaired counts.
fn fixed(at_start: &Snapshot) -> BTreeMap<SourceId, Fixed> {
    let files = SETTINGS_FILES.iter().filter_map(|&id| at_start.get(id));
    files
        .filter(|file| file.broken != Some(Broken::Empty))
        .map(|file| {
            let at_start = |key: &[&str]| Held::AtStart(file.root.pointer(&pointer(key)).cloned());
            let was_wrong = mended_restricting(file).is_some_and(|keys| keys.folder_trust == Setting::Wrong);
            let folder_trust = if was_wrong { Held::Live } else { at_start(FOLDER_TRUST) };
            (file.id, Fixed { server_command: at_start(SERVER_COMMAND), folder_trust })
        })
        .collect()
}

impl Fixed {
    /// The document with what needs a restart as it was at start.
    pub(super) fn hold(&self, root: &Arc<Value>) -> Arc<Value> {
        let keys = [(SERVER_COMMAND, &self.server_command), (FOLDER_TRUST, &self.folder_trust)];
        let held = keys.into_iter().filter_map(|(key, held)| match held {
            Held::AtStart(value) => Some((key, value.as_ref())),
            Held::Live => None,
        });
        let changed: Vec<_> = held.filter(|(key, value)| root.pointer(&pointer(key)) != *value).collect();
        if changed.is_empty() {
            return Arc::clone(root);
        }
        let mut held = (**root).clone();
        for (key, value) in changed {
            put(&mut held, key, value);
        }
        Arc::new(held)
    }
}

const SERVER_COMMAND: &[&str] = &["mcp", "serverCommand"];
const FOLDER_TRUST: &[&str] = &["security", "folderTrust", "enabled"];

fn pointer(key: &[&str]) -> String {
    key.iter().flat_map(|segment| ["/", segment]).collect()
}

fn put(node: &mut Value, key: &[&str], value: Option<&Value>) {
    let Some((first, below)) = key.split_first() else { return };
    if !node.is_object() {
        if value.is_none() {
            return;
        }
        *node = Value::Object(serde_json::Map::new());
    }
    let Some(members) = node.as_object_mut() else { return };
    match (below.is_empty(), value) {
        (true, Some(value)) => {
            members.insert((*first).to_owned(), value.clone());
        }
        (true, None) => {
            members.shift_remove(*first);
        }
        (false, Some(_)) => put(members.entry(*first).or_insert(Value::Null), below, value),
        (false, None) => {
            if let Some(inner) = members.get_mut(*first) {
                put(inner, below, None);
            }
        }
    }
}
