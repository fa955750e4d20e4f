//! What was said on the command line, and what was fixed at the moment of start? Values only.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use qwen_core::{LaunchBound, ServerName};

use crate::settings::{Environment, Origin, Paths, Snapshot, SourceId};

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

/// The flags with everything that is fixed at start: the surroundings, and the hashes of what was vouched for.
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
    /// `--mcp-config` files inside the project, with the entries they had at start.
    pub vouched: BTreeMap<SourceId, BTreeSet<(ServerName, String)>>,
}

impl Launch {
    /// Captures what is fixed at start from the first snapshot.
    #[must_use]
    pub fn capture(
        flags: Flags,
        environment: Arc<Environment>,
        paths: Arc<Paths>,
        _at_start: &Snapshot,
    ) -> Self {
        Self { flags, environment, paths, approved: BTreeSet::new(), vouched: BTreeMap::new() }
    }
}
