//! Why something that somebody names is not there: the reason as a value, the words at the edge.

use crate::{admission::Refusal, domain::ServerName, failure::Failure};

/// Why a tool or a server is not available.
#[derive(Clone, PartialEq, Debug)]
pub enum Unavailable {
    /// No server provides it and none of that name is configured.
    Unknown {
        /// The names that come nearest, best first, three at most.
        nearest: Vec<String>,
    },
    /// The server was in the map during this session and left it.
    Removed {
        /// Which.
        server: ServerName,
    },
    /// The gate refuses the server.
    Refused {
        /// Which.
        server: ServerName,
        /// Why.
        refusal: Refusal,
    },
    /// It is admitted and on its way.
    Connecting {
        /// Which.
        server: ServerName,
    },
    /// It is admitted and could not be opened, or was lost.
    Failed {
        /// Which.
        server: ServerName,
        /// Why.
        failure: Failure,
    },
    /// The server is connected and has nothing of that name.
    NotOffered {
        /// Which.
        server: ServerName,
        /// The names that come nearest, best first, three at most.
        nearest: Vec<String>,
    },
}

impl std::fmt::Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown { .. } => f.write_str("no MCP server that provides it is configured"),
            Self::Removed { server } => write!(f, "the server {server} was removed during this session"),
            Self::Refused { server, refusal } => {
                write!(f, "the server {server} may not connect: {}", refusal.as_str())
            }
            Self::Connecting { server } => write!(f, "the server {server} is still connecting"),
            Self::Failed { server, failure } => write!(f, "the server {server} failed: {failure}"),
            Self::NotOffered { server, .. } => write!(f, "the server {server} does not offer it"),
        }
    }
}
