//! Tools, prompts and resources by the names that a model sees: a fold over what is open, never a registration.

mod name;
mod offer;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;

use crate::domain::ServerName;

pub use name::{catalogue_name, sanitised_prefix};
pub(crate) use offer::Offer;

/// Everything on offer at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Catalogue {
    /// Grows with each change of content; equal content, equal revision.
    pub revision: u64,
    /// By catalogue name, sorted.
    pub tools: BTreeMap<Arc<str>, Arc<CatalogueTool>>,
    /// By catalogue name, sorted.
    pub prompts: BTreeMap<Arc<str>, Arc<CataloguePrompt>>,
    /// By server and URI, sorted.
    pub resources: BTreeMap<(ServerName, Arc<str>), Arc<CatalogueResource>>,
    /// Pairs whose names still met; both are left out. One sentence each.
    pub clashes: Vec<String>,
}

/// A tool under its catalogue name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CatalogueTool {
    /// `mcp__<server>__<tool>`, sanitised and shortened where it must be.
    pub name: Arc<str>,
    /// Who provides it.
    pub server: ServerName,
    /// The server's own name for it.
    pub tool: String,
    /// For people and models.
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    pub input_schema: Arc<Value>,
    /// Whether it runs without asking, in a trusted folder.
    pub trust: bool,
    /// Whether it is offered at once rather than on demand.
    pub always_load: bool,
}

/// A prompt under its catalogue name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CataloguePrompt {
    /// Built like a tool's name.
    pub name: Arc<str>,
    /// Who provides it.
    pub server: ServerName,
    /// The server's own name for it.
    pub prompt: String,
    /// For people and models.
    pub description: Option<String>,
    /// As the server sent it, arguments included.
    pub raw: Arc<Value>,
}

/// A resource of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CatalogueResource {
    /// Who provides it.
    pub server: ServerName,
    /// Identifies it within the server.
    pub uri: Arc<str>,
    /// The server's own name for it.
    pub name: String,
    /// As the server sent it.
    pub raw: Arc<Value>,
}

/// Which names came, went or changed between two revisions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Delta {
    /// New names.
    pub added: Vec<String>,
    /// Names that went.
    pub removed: Vec<String>,
    /// Same name, other content.
    pub changed: Vec<String>,
}

/// The difference between two revisions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CatalogueChange {
    /// The new revision.
    pub revision: u64,
    /// By catalogue name.
    pub tools: Delta,
    /// By catalogue name.
    pub prompts: Delta,
    /// As `server uri`.
    pub resources: Delta,
}

impl Catalogue {
    /// Folds what every open server offers into one catalogue. Names that two pairs share are left out of both and
    /// reported; since a name depends on one pair only, that does not depend on the order.
    pub(crate) fn fold<'a>(offers: impl Iterator<Item = &'a Offer>) -> Self {
        let (mut tools, mut prompts, mut resources) = (Vec::new(), Vec::new(), Vec::new());
        for offer in offers {
            tools.extend(offer.tools.iter().map(|tool| (Arc::clone(&tool.name), Arc::clone(tool))));
            prompts.extend(offer.prompts.iter().map(|prompt| (Arc::clone(&prompt.name), Arc::clone(prompt))));
            resources.extend(offer.resources.iter().map(|resource| {
                ((resource.server.clone(), Arc::clone(&resource.uri)), Arc::clone(resource))
            }));
        }
        let clashes = without_clashes(&mut tools).into_iter();
        let clashes = clashes.map(|name| format!("two tools are both named {name}; neither is listed"));
        let more = without_clashes(&mut prompts).into_iter();
        let more = more.map(|name| format!("two prompts are both named {name}; neither is listed"));
        Self {
            revision: 0,
            clashes: clashes.chain(more).collect(),
            tools: tools.into_iter().collect(),
            prompts: prompts.into_iter().collect(),
            resources: resources.into_iter().collect(),
        }
    }

    /// Whether both hold the same, whatever their revisions.
    pub(crate) fn same_content(&self, other: &Self) -> bool {
        self.tools == other.tools
            && self.prompts == other.prompts
            && self.resources == other.resources
            && self.clashes == other.clashes
    }

    /// What changed from `self` to `newer`.
    #[must_use]
    pub fn change_to(&self, newer: &Self) -> CatalogueChange {
        CatalogueChange {
            revision: newer.revision,
            tools: delta(&self.tools, &newer.tools, |name| name.to_string()),
            prompts: delta(&self.prompts, &newer.prompts, |name| name.to_string()),
            resources: delta(&self.resources, &newer.resources, |(server, uri)| format!("{server} {uri}")),
        }
    }
}

/// Sorts by name, and takes out every item whose name is not its own alone; the names of these. What comes from one
/// server is sorted, so that this costs little more than one look at each name.
fn without_clashes<T>(named: &mut Vec<(Arc<str>, T)>) -> BTreeSet<Arc<str>> {
    named.sort_by(|(a, _), (b, _)| a.cmp(b));
    let meet = named.windows(2).filter_map(|two| match two {
        [(a, _), (b, _)] if a == b => Some(Arc::clone(a)),
        _ => None,
    });
    let clashes: BTreeSet<Arc<str>> = meet.collect();
    if !clashes.is_empty() {
        named.retain(|(name, _)| !clashes.contains(name));
    }
    clashes
}

/// One walk over both sorted maps.
fn delta<K: Ord, T: Eq>(
    old: &BTreeMap<K, Arc<T>>,
    new: &BTreeMap<K, Arc<T>>,
    show: impl Fn(&K) -> String,
) -> Delta {
    let mut delta = Delta::default();
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return delta,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some((a, _)), Some((b, _))) => a.cmp(b),
        };
        match order {
            std::cmp::Ordering::Less => delta.removed.extend(old.next().map(|(key, _)| show(key))),
            std::cmp::Ordering::Greater => delta.added.extend(new.next().map(|(key, _)| show(key))),
            std::cmp::Ordering::Equal => {
                if let (Some((key, was)), Some((_, is))) = (old.next(), new.next())
                    && was != is
                {
                    delta.changed.push(show(key));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
