//! One server entry, resolved: its wire (what defines the connection), its view (what filters and limits it), and
//! whether it may be connected without asking.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use super::{Decision, Scope, Secret};
use crate::fingerprint::Fingerprint;

/// An entry of the server map, good or not. Both are listed; only a valid one can be admitted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// It says what to run or where to connect.
    Valid(Arc<ServerSpec>),
    /// It is listed with its reason and never started.
    Invalid(InvalidEntry),
}

/// An entry that does not say what to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InvalidEntry {
    /// Where it came from.
    pub scope: Scope,
    /// A switched-off entry is `disabled`, whatever else is wrong with it.
    pub switch: Switch,
    /// One sentence for people, without secrets.
    pub why: String,
}

/// Whether the entry is switched on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Switch {
    /// It counts.
    #[default]
    On,
    /// `enabled: false`, `disabled: true`, or switched off by an extension.
    Off,
}

/// Whether the user must approve an entry, and what they said.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Approval {
    /// The entry is the user's own, the operator's, or a program's.
    NotGated,
    /// The entry is somebody else's, and this is the user's decision about exactly these bytes.
    Gated(Decision),
}

/// A valid entry. Built by scope, so that an entry of a gated scope is undecided until somebody says otherwise.
#[derive(Clone, Debug)]
pub struct ServerSpec {
    scope: Scope,
    approval: Approval,
    wire: Wire,
    /// What filters, labels and limits the connection; an edit of it never restarts anything.
    pub view: View,
    /// Whether it is switched on.
    pub switch: Switch,
    /// Values that must not appear in any error or stderr tail of this server.
    pub masks: Vec<Secret>,
    fingerprint: OnceLock<Fingerprint>,
}

impl PartialEq for ServerSpec {
    fn eq(&self, other: &Self) -> bool {
        // The cached fingerprint is a function of the wire; masks are a function of the wire and its sources.
        self.scope == other.scope
            && self.approval == other.approval
            && self.switch == other.switch
            && self.view == other.view
            && self.wire == other.wire
    }
}
impl Eq for ServerSpec {}

impl ServerSpec {
    /// An entry of `scope`. Of a gated scope it is undecided; see [`ServerSpec::decided`].
    #[must_use]
    pub fn new(scope: Scope, wire: Wire, view: View) -> Self {
        let approval =
            if scope.is_gated() { Approval::Gated(Decision::Undecided) } else { Approval::NotGated };
        Self {
            scope,
            approval,
            wire,
            view,
            switch: Switch::On,
            masks: Vec::new(),
            fingerprint: OnceLock::new(),
        }
    }

    /// The same entry with the decision that the user made about exactly its bytes. It makes an entry of any scope
    /// gated: a session entry that changed since start is asked about like a project's.
    #[must_use]
    pub fn decided(mut self, decision: Decision) -> Self {
        self.approval = Approval::Gated(decision);
        self
    }

    /// The same entry, switched on or off.
    #[must_use]
    pub fn switched(mut self, switch: Switch) -> Self {
        self.switch = switch;
        self
    }

    /// The same entry with values to hide.
    #[must_use]
    pub fn masking(mut self, masks: Vec<Secret>) -> Self {
        self.masks = masks;
        self
    }

    /// Where it came from.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Whether it needs approval, and what was said.
    #[must_use]
    pub fn approval(&self) -> Approval {
        self.approval
    }

    /// What defines the connection.
    #[must_use]
    pub fn wire(&self) -> &Wire {
        &self.wire
    }

    /// The digest of the wire; computed once per entry.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        *self.fingerprint.get_or_init(|| Fingerprint::of(&self.wire))
    }
}

/// What defines the connection. Two equal wires are one connection; any difference is a restart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wire {
    /// A child process that speaks over its standard streams.
    Stdio(Stdio),
    /// Streamable HTTP, with or without the fallback to SSE.
    Http(Remote),
    /// Legacy server-sent events.
    Sse(Remote),
}

/// A child process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stdio {
    /// A name looked up in `PATH`, or a path.
    pub command: String,
    /// Order counts. May hold secrets that came from variables, which `masks` lists.
    pub args: Vec<String>,
    /// On top of what the policy passes on.
    pub env: BTreeMap<String, Secret>,
    /// The effective folder: the entry's own or the project root.
    pub cwd: PathBuf,
    /// What the child gets of the parent's environment.
    pub env_policy: EnvPolicy,
    /// Which protocol eras are tried.
    pub version_negotiation: VersionNegotiation,
    /// Whether the process may be shared between sessions.
    pub pool: PoolMode,
}

/// A server behind a URL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remote {
    /// May hold credentials in its query.
    pub url: Secret,
    /// Names in lower case.
    pub headers: BTreeMap<String, Secret>,
    /// `None` unless enabled.
    pub oauth: Option<OAuth>,
    /// Provider, audience and service account, as written; part of the connection's identity.
    pub auth_provider: BTreeMap<String, String>,
    /// Whether a refused streamable HTTP connection may fall back to SSE.
    pub sse_fallback: bool,
    /// Which protocol eras are tried.
    pub version_negotiation: VersionNegotiation,
    /// Whether the connection may be shared between sessions.
    pub pool: PoolMode,
}

/// Enabled OAuth settings of a remote server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OAuth {
    /// Text fields by name, secrets included.
    pub fields: BTreeMap<String, Secret>,
    /// Compared as a set.
    pub scopes: BTreeSet<String>,
    /// Compared as a set.
    pub audiences: BTreeSet<String>,
}

/// What a child gets of the parent's environment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum EnvPolicy {
    /// Everything but the tool's own secrets.
    Full,
    /// Only what programs need to run: paths, locale, proxies, caches.
    #[default]
    Restricted,
}

/// Which protocol eras are tried.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum VersionNegotiation {
    /// `initialize` first, then `server/discover` once.
    #[default]
    Auto,
    /// `initialize` only.
    Legacy,
    /// `server/discover` only, for programs that know their server. No settings file says it.
    Modern,
}

/// Whether a connection may serve several sessions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum PoolMode {
    /// One connection for this session alone.
    #[default]
    Session,
    /// One connection for every session with the same fingerprint.
    Shared,
}

/// What filters, labels and limits what a connection offers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// `None` is every tool, an empty list none. `name(args…)` means `name`.
    pub include_tools: Option<Vec<String>>,
    /// Wins over `include_tools`.
    pub exclude_tools: Vec<String>,
    /// Whether tools are offered to the model at once rather than on demand.
    pub always_load_tools: bool,
    /// Whether tools run without asking, in a trusted folder.
    pub trust: bool,
    /// A label.
    pub description: Option<String>,
    /// For one whole call.
    pub call_timeout: Duration,
    /// Without progress in a call.
    pub idle_timeout: Duration,
    /// For connecting and listing.
    pub discovery_timeout: Duration,
}

impl View {
    /// The time a stdio server has to connect and list, unless the entry says otherwise.
    pub const STDIO_DISCOVERY: Duration = Duration::from_secs(30);
    /// The time a remote server has to connect and list, unless the entry says otherwise.
    pub const REMOTE_DISCOVERY: Duration = Duration::from_secs(5);
}

impl Default for View {
    fn default() -> Self {
        Self {
            include_tools: None,
            exclude_tools: Vec::new(),
            always_load_tools: false,
            trust: false,
            description: None,
            call_timeout: Duration::from_secs(600),
            idle_timeout: Duration::from_secs(300),
            discovery_timeout: Self::STDIO_DISCOVERY,
        }
    }
}
