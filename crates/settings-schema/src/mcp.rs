//! What does a server entry say, as written? Owns the written form of an entry and its parts; knows no variable, no
//! folder and no approval: every text here may still hold `${…}`.

use std::{collections::BTreeMap, fmt};

use crate::{finding::Finding, key::KeyPath};

mod parse;
mod transport;

pub use parse::parse_entry;
pub(crate) use parse::unknown;

/// One server entry as written. There is one for every name of a file, whatever stands there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrittenEntry {
    /// Whether it is switched on. It is known even when the rest makes no sense, so that a broken entry that is
    /// switched off is just that.
    pub switch: Switch,
    /// What it says, or the first reason why it says nothing that could be started.
    pub server: Result<WrittenServer, Invalid>,
    /// Everything there is to say about it, with keys that start at the entry. In an entry that is switched off
    /// nothing is worse than a warning.
    pub findings: Vec<Finding>,
}

/// Whether an entry is switched on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Switch {
    /// It counts.
    On,
    /// `disabled: true` or `enabled: false`.
    Off,
}

/// Why an entry says nothing that could be started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invalid {
    /// The field at fault, from the entry down; the root when it is the entry as a whole.
    pub key: KeyPath,
    /// One sentence for people, without a value of the document.
    pub why: String,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key == KeyPath::root() {
            f.write_str(&self.why)
        } else {
            write!(f, "`{}`: {}", self.key, self.why)
        }
    }
}

impl std::error::Error for Invalid {}

/// An entry that says what to run or where to connect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrittenServer {
    /// What defines the connection.
    pub transport: WrittenTransport,
    /// What filters, labels and limits it.
    pub view: WrittenView,
    /// Which protocol eras are tried.
    pub version_negotiation: VersionNegotiation,
    /// Whether the connection may be shared.
    pub pool: PoolMode,
    /// `inheritEnv`, when it is written at all: an entry that needs approval may not have it.
    pub inherit_env: Option<InheritEnv>,
}

/// What a program gets of the parent's environment, as far as the entry says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum InheritEnv {
    /// `inheritEnv: true`.
    Full,
    /// `inheritEnv: false`.
    Restricted,
}

/// Which protocol eras are tried.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum VersionNegotiation {
    /// `initialize`, then `server/discover`.
    #[default]
    Auto,
    /// `initialize` only.
    Legacy,
}

/// Whether a connection may serve several sessions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum PoolMode {
    /// It is one session's own.
    #[default]
    Session,
    /// Sessions with the same wire may share it.
    Shared,
}

/// What defines a connection, as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WrittenTransport {
    /// A program that speaks over its standard streams.
    Stdio(WrittenStdio),
    /// A server behind a URL.
    Remote(WrittenRemote),
}

/// A program, as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrittenStdio {
    /// A name or a path; never empty.
    pub command: String,
    /// In order.
    pub args: Vec<String>,
    /// Names are plain, values may hold variables.
    pub env: BTreeMap<String, String>,
    /// The folder, when written.
    pub cwd: Option<String>,
}

/// A server behind a URL, as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrittenRemote {
    /// How it is spoken to.
    pub protocol: RemoteProtocol,
    /// Where it is.
    pub url: WrittenUrl,
    /// The `url` beside an `httpUrl`: not used, but the entry is invalid when its origin is another one, which shows
    /// only once variables are resolved.
    pub unused_url: Option<WrittenUrl>,
    /// Names as written, of which no two differ in case only; values may hold variables.
    pub headers: BTreeMap<String, String>,
    /// `None` unless enabled.
    pub oauth: Option<WrittenOAuth>,
    /// `authProviderType`, `targetAudience` and `targetServiceAccount`, as far as written.
    pub auth_provider: BTreeMap<String, String>,
}

/// How a remote server is spoken to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RemoteProtocol {
    /// Streamable HTTP.
    Http,
    /// Streamable HTTP, and SSE where the server refuses it with 400, 404 or 405.
    HttpOrSse,
    /// Legacy server-sent events.
    Sse,
}

/// An address and the field that holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrittenUrl {
    /// `httpUrl`, `url` or `serverUrl`.
    pub field: &'static str,
    /// As written; never empty.
    pub text: String,
}

/// Enabled OAuth, as written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WrittenOAuth {
    /// Text fields by name, those that nothing here knows included, so that no part of the wire is lost.
    pub fields: BTreeMap<String, String>,
    /// To be compared as a set.
    pub scopes: Vec<String>,
    /// To be compared as a set.
    pub audiences: Vec<String>,
}

/// What filters, labels and limits a connection, as written; limits are within their ranges.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrittenView {
    /// `None` is every tool, an empty list none.
    pub include_tools: Option<Vec<String>>,
    /// Wins over `include_tools`.
    pub exclude_tools: Vec<String>,
    /// Whether tools are offered to the model at once.
    pub always_load_tools: bool,
    /// Whether tools run without asking.
    pub trust: bool,
    /// A label.
    pub description: Option<String>,
    /// Of a whole call, in milliseconds.
    pub timeout_ms: u64,
    /// For connecting and listing, in milliseconds; the transport's default unless written.
    pub discovery_timeout_ms: u64,
}

#[cfg(test)]
mod tests;
