//! Everything one commit says: which servers there are, the gate, and whether the folder is trusted.

use indexmap::IndexMap;

use super::{Entry, Gating, ServerName};

/// Whether the user trusts the project folder.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FolderTrust {
    /// Servers may be admitted.
    #[default]
    Trusted,
    /// Nothing is admitted.
    Untrusted,
}

/// What should be connected. One value, committed once: gating and servers can never be out of step.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Desired {
    /// In the order written; opens start in this order.
    pub servers: IndexMap<ServerName, Entry>,
    /// The three lists.
    pub gating: Gating,
    /// Losing trust closes everything.
    pub folder: FolderTrust,
    /// Names the sources that may restrict servers and could not be read at start; while there are any, nothing is
    /// admitted.
    pub unreadable: Vec<String>,
}
