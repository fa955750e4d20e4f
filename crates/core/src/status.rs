//! What a session looks like at one moment. Everything that anybody reports is read from here.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use crate::{
    admission::Refusal,
    catalog::Catalogue,
    domain::{Scope, ServerName},
    failure::Failure,
};

/// The published state of a session. Cheap to clone: readers keep the last one they saw.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// The generation whose plan is the newest that was carried out.
    pub observed: u64,
    /// Nothing is opening for this generation or any before it.
    pub settled: u64,
    /// The generations for which something is still opening.
    pub unsettled: BTreeSet<u64>,
    /// Every server of the merged map.
    pub servers: BTreeMap<ServerName, Arc<ServerStatus>>,
    /// Names that were in the merged map during this session and no longer are.
    pub removed: BTreeSet<ServerName>,
    /// The fold over everything that is open and admitted.
    pub catalogue: Arc<Catalogue>,
    /// Tools that were in the catalogue during this session, with the server that provided them last.
    pub past_tools: Arc<BTreeMap<Arc<str>, ServerName>>,
    /// The newest commits, oldest first, so that a slow reader misses none of them.
    pub commits: Vec<Arc<CommitRecord>>,
    /// The newest settlings, oldest first.
    pub settlings: Vec<Arc<Settling>>,
}

/// One server at one moment.
#[derive(Clone, PartialEq, Debug)]
pub struct ServerStatus {
    /// Where its entry came from.
    pub scope: Scope,
    /// What it is doing.
    pub phase: Phase,
    /// When it entered this phase, in milliseconds since 1970-01-01 UTC.
    pub since_unix_ms: u64,
    /// The newest ten changes of phase, oldest first.
    pub transitions: Vec<Transition>,
}

/// What a server is doing.
#[derive(Clone, PartialEq, Debug)]
pub enum Phase {
    /// It is open; its tools are in the catalogue.
    Connected(Connected),
    /// An attempt is under way or waits for what was there before.
    Connecting(Connecting),
    /// It could not be opened or was lost.
    Failed {
        /// Why.
        failure: Failure,
        /// When it is tried again, in milliseconds since 1970; `None` waits for an edit or a manual reconnect.
        retry_at_unix_ms: Option<u64>,
    },
    /// The gate refuses it.
    Refused(Refusal),
}

/// What is known of an open connection.
#[derive(Clone, PartialEq, Debug)]
pub struct Connected {
    /// The direct child, which is its process group; `None` for remote servers.
    pub pid: Option<u32>,
    /// How many tools the catalogue holds of it, after the view's filters.
    pub tools: usize,
    /// How many prompts it listed.
    pub prompts: usize,
    /// How many resources it listed.
    pub resources: usize,
    /// What could not be listed or was dropped, and why.
    pub warnings: Vec<String>,
    /// Which of `tools`, `prompts` and `resources` could not be listed. Each has its warning too.
    pub unlisted: Vec<&'static str>,
}

/// Why a server is not open yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Connecting {
    /// The attempt is under way.
    Handshake,
    /// The process it replaces is still ending.
    WaitingForTeardown,
    /// A call on the connection it replaces may still finish.
    WaitingForCall,
}

/// One change of phase.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transition {
    /// Milliseconds since 1970-01-01 UTC.
    pub at_unix_ms: u64,
    /// The state entered.
    pub state: State,
    /// One sentence, where there is something to say.
    pub cause: Option<String>,
}

/// What one commit did.
#[derive(Clone, PartialEq, Debug)]
pub struct CommitRecord {
    /// Its number; the first commit is 1.
    pub generation: u64,
    /// Names new in the merged map.
    pub added: Vec<ServerName>,
    /// Names that left the merged map.
    pub removed: Vec<ServerName>,
    /// Closed and opened again because their wire changed.
    pub restarted: Vec<ServerName>,
    /// Edited in a way that needs no reconnect.
    pub rescoped: Vec<ServerName>,
    /// How many connections, open or opening, were not touched.
    pub kept: usize,
    /// Every refused entry with its reason.
    pub skipped: Vec<(ServerName, Refusal)>,
}

/// The end of a generation: nothing is opening for it any more.
#[derive(Clone, PartialEq, Debug)]
pub struct Settling {
    /// Its number.
    pub generation: u64,
    /// What did not open for it, with the error.
    pub failed: Vec<(ServerName, Failure)>,
    /// Since it was planned.
    pub duration: Duration,
}

/// The state of a server by its name in JSON and in messages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// Open.
    Connected,
    /// An attempt is under way.
    Connecting,
    /// Could not be opened or was lost.
    Failed,
    /// Wants credentials.
    NeedsAuth,
    /// Waits for the user.
    PendingApproval,
    /// The user said no.
    Rejected,
    /// Matches the excluded list.
    Excluded,
    /// Does not match the launch bound or an allow list.
    NotAllowed,
    /// Switched off.
    Disabled,
    /// The folder is not trusted.
    UntrustedFolder,
    /// Does not say what to run.
    Invalid,
    /// A source that may restrict servers could not be read.
    SettingsUnreadable,
    /// Left the map during this session.
    Removed,
}

impl State {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Connecting => "connecting",
            Self::Failed => "failed",
            Self::NeedsAuth => "needs_auth",
            Self::PendingApproval => "pending_approval",
            Self::Rejected => "rejected",
            Self::Excluded => "excluded",
            Self::NotAllowed => "not_allowed",
            Self::Disabled => "disabled",
            Self::UntrustedFolder => "untrusted_folder",
            Self::Invalid => "invalid",
            Self::SettingsUnreadable => "settings_unreadable",
            Self::Removed => "removed",
        }
    }
}

impl Phase {
    /// The state's name.
    #[must_use]
    pub fn state(&self) -> State {
        use crate::failure::FailureKind;
        match self {
            Self::Connected(_) => State::Connected,
            Self::Connecting(_) => State::Connecting,
            Self::Failed { failure: Failure { kind: FailureKind::NeedsAuth { .. }, .. }, .. } => {
                State::NeedsAuth
            }
            Self::Failed { .. } => State::Failed,
            Self::Refused(refusal) => match refusal {
                Refusal::SettingsUnreadable { .. } => State::SettingsUnreadable,
                Refusal::UntrustedFolder => State::UntrustedFolder,
                Refusal::NotAllowed(_) => State::NotAllowed,
                Refusal::Excluded { .. } => State::Excluded,
                Refusal::Disabled => State::Disabled,
                Refusal::Invalid { .. } => State::Invalid,
                Refusal::Rejected => State::Rejected,
                Refusal::PendingApproval => State::PendingApproval,
            },
        }
    }
}

/// One thing that happened between two statuses, in the order in which it should be told.
#[derive(Clone, PartialEq, Debug)]
pub enum McpEvent {
    /// A commit was planned.
    Reloaded(Arc<CommitRecord>),
    /// The catalogue has a new revision; told before the servers whose tools it brings.
    CatalogueChanged(crate::catalog::CatalogueChange),
    /// A server's state, cause, counts or process changed.
    ServerChanged {
        /// Which.
        name: ServerName,
        /// What it is now; `None` when it left the map.
        status: Option<Arc<ServerStatus>>,
    },
    /// Nothing is opening for a generation any more.
    Settled(Arc<Settling>),
}

/// What happened between two statuses. Applied to consecutive statuses it tells every commit and settling once.
#[must_use]
pub fn changes(old: &Status, new: &Status) -> Vec<McpEvent> {
    let mut events = Vec::new();
    let last = old.commits.last().map_or(0, |record| record.generation);
    let commits = new.commits.iter().filter(|record| record.generation > last);
    events.extend(commits.map(|record| McpEvent::Reloaded(Arc::clone(record))));
    if old.catalogue.revision != new.catalogue.revision {
        events.push(McpEvent::CatalogueChanged(old.catalogue.change_to(&new.catalogue)));
    }
    let gone = old.servers.keys().filter(|name| !new.servers.contains_key(*name));
    events.extend(gone.map(|name| McpEvent::ServerChanged { name: name.clone(), status: None }));
    for (name, status) in &new.servers {
        if !old
            .servers
            .get(name)
            .is_some_and(|old| Arc::ptr_eq(old, status) || old.phase.looks_like(&status.phase))
        {
            events.push(McpEvent::ServerChanged { name: name.clone(), status: Some(Arc::clone(status)) });
        }
    }
    let is_new =
        |settling: &&Arc<Settling>| !old.settlings.iter().any(|old| old.generation == settling.generation);
    events
        .extend(new.settlings.iter().filter(is_new).map(|settling| McpEvent::Settled(Arc::clone(settling))));
    events
}

impl Phase {
    /// Whether state, cause, counts and process are the same; when the next try is due is not told.
    fn looks_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Failed { failure: a, .. }, Self::Failed { failure: b, .. }) => a == b,
            (a, b) => a == b,
        }
    }
}

#[cfg(test)]
mod tests;
