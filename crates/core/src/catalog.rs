//! Tools, prompts and resources by the names that a model sees: a fold over what is open, never a registration.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use crate::domain::ServerName;

/// Everything on offer at one moment.
#[derive(Clone, PartialEq, Debug, Default)]
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
#[derive(Clone, PartialEq, Debug)]
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
    pub input_schema: Value,
    /// Whether it runs without asking, in a trusted folder.
    pub trust: bool,
    /// Whether it is offered at once rather than on demand.
    pub always_load: bool,
}

/// A prompt under its catalogue name.
#[derive(Clone, PartialEq, Debug)]
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
    pub raw: Value,
}

/// A resource of a server.
#[derive(Clone, PartialEq, Debug)]
pub struct CatalogueResource {
    /// Who provides it.
    pub server: ServerName,
    /// Identifies it within the server.
    pub uri: Arc<str>,
    /// The server's own name for it.
    pub name: String,
    /// As the server sent it.
    pub raw: Value,
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
