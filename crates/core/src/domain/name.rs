//! What a server is called and where its entry came from.

use std::{borrow::Borrow, fmt, sync::Arc};

/// The name of a server entry, exactly as written. Any text is a name, `__proto__` and the empty text included.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName(Arc<str>);

impl ServerName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ServerName {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for ServerName {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl Borrow<str> for ServerName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

/// Where a server entry came from. The order is the one in which settings scopes outrank each other, low to high.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope {
    /// Entries of an extension; they only fill names that are still missing.
    Extension,
    /// Defaults an operator ships.
    SystemDefaults,
    /// The user's own settings.
    User,
    /// `.mcp.json` of the project: gated.
    Project,
    /// The project's own settings: gated.
    Workspace,
    /// Settings an operator enforces.
    System,
    /// Given on the command line for this run.
    Session,
    /// Added by a program while the session runs.
    Runtime,
}

impl Scope {
    /// The word used in JSON and in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Extension => "extension",
            Self::SystemDefaults => "system-defaults",
            Self::User => "user",
            Self::Project => "project",
            Self::Workspace => "workspace",
            Self::System => "system",
            Self::Session => "session",
            Self::Runtime => "runtime",
        }
    }

    /// Whether an entry of this scope needs the user's approval before it may connect.
    #[must_use]
    pub fn is_gated(self) -> bool {
        matches!(self, Self::Project | Self::Workspace)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
