//! Why something that somebody names is not there: the reason as a value, the words at the edge.

use crate::{
    admission::Refusal,
    catalog::sanitised_prefix,
    domain::ServerName,
    failure::Failure,
    status::{Phase, Status},
};

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

/// Why a server is not there, from the verdict that was acted on; `None` when it is connected.
pub(crate) fn server_unavailable(status: &Status, name: &ServerName) -> Option<Unavailable> {
    let server = name.clone();
    Some(match status.servers.get(name).map(|server| &server.phase) {
        Some(Phase::Connected(_)) => return None,
        Some(Phase::Connecting(_)) => Unavailable::Connecting { server },
        Some(Phase::Failed { failure, .. }) => Unavailable::Failed { server, failure: failure.clone() },
        Some(Phase::Refused(refusal)) => Unavailable::Refused { server, refusal: refusal.clone() },
        None if status.removed.contains(name) => Unavailable::Removed { server },
        None => Unavailable::Unknown {
            nearest: nearest(name.as_str(), status.servers.keys().map(ServerName::as_str)),
        },
    })
}

/// Why a tool is not in the catalogue; `None` when it is, or when the name is not one of a server's tool at all.
pub(crate) fn tool_unavailable(status: &Status, tool: &str) -> Option<Unavailable> {
    if !tool.starts_with("mcp__") || status.catalogue.tools.contains_key(tool) {
        return None;
    }
    let tools = || status.catalogue.tools.keys().map(|name| &**name);
    let Some(owner) = owner(status, tool) else {
        return Some(Unavailable::Unknown { nearest: nearest(tool, tools()) });
    };
    let not_offered = || {
        let own = status.catalogue.tools.values().filter(|tool| tool.server == owner).map(|tool| &*tool.name);
        Unavailable::NotOffered { server: owner.clone(), nearest: nearest(tool, own) }
    };
    Some(server_unavailable(status, &owner).unwrap_or_else(not_offered))
}

/// Who provided the tool, or would by its name: the catalogue's history first, then the longest matching prefix.
fn owner(status: &Status, tool: &str) -> Option<ServerName> {
    if let Some(owner) = status.past_tools.get(tool) {
        return Some(owner.clone());
    }
    let known = status.servers.keys().chain(&status.removed);
    let prefixes = known.map(|name| (sanitised_prefix(name.as_str()), name));
    let owning = prefixes.filter(|(prefix, _)| tool.starts_with(prefix));
    owning.max_by_key(|(prefix, _)| prefix.len()).map(|(_, name)| name.clone())
}

/// The names that come nearest, best first, three at most; what has little in common is not named.
#[must_use]
pub fn nearest<'a>(asked: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut near: Vec<_> = names
        .filter_map(|name| {
            // What both begin with is no likeness: the tools of one server share most of their names.
            let shared = asked.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
            let within = (asked.chars().count() - shared) / 3 + 1;
            let distance = distance(asked, name);
            let is_like = distance < asked.chars().count().max(name.chars().count());
            (is_like && distance <= within).then_some((distance, name))
        })
        .collect();
    near.sort();
    near.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}

/// How many characters must be put in, left out, replaced or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut next = vec![i + 1];
        for j in 0..b.len() {
            let replaced = row[j] + usize::from(a[i] != b[j]);
            let mut least = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests;
