//! What a connection offers, as it said so: tools, prompts, resources, before any view filters them. What a server may
//! say at length is shared with the catalogue, not copied.

use std::sync::Arc;

use serde_json::Value;

/// One list of a server: the difference between "has none" and "could not be listed" is kept.
#[derive(Clone, PartialEq, Debug)]
pub enum Listing<T> {
    /// The server listed these, possibly none.
    Listed(Vec<Arc<T>>),
    /// The server does not offer this kind at all.
    NotOffered,
    /// The list could not be read; the text says why.
    Failed(String),
}

impl<T> Listing<T> {
    /// The items; none unless listed.
    #[must_use]
    pub fn items(&self) -> &[Arc<T>] {
        match self {
            Self::Listed(items) => items,
            Self::NotOffered | Self::Failed(_) => &[],
        }
    }
}

/// Everything a connection offers at one moment.
#[derive(Clone, PartialEq, Debug)]
pub struct Inventory {
    /// Tools, in the server's order.
    pub tools: Listing<Tool>,
    /// Prompts, in the server's order.
    pub prompts: Listing<Prompt>,
    /// Resources, in the server's order.
    pub resources: Listing<Resource>,
    /// What was dropped and why, such as a tool with a schema nobody can use.
    pub warnings: Vec<String>,
    /// What the server said about how to use it.
    pub instructions: Option<String>,
}

impl Inventory {
    /// Nothing at all.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            tools: Listing::NotOffered,
            prompts: Listing::NotOffered,
            resources: Listing::NotOffered,
            warnings: Vec::new(),
            instructions: None,
        }
    }
}

/// A tool as the server describes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Tool {
    /// The server's own name for it.
    pub name: String,
    /// For people and models.
    pub description: Option<String>,
    /// JSON Schema of the arguments, always an object with `type: object`.
    pub input_schema: Arc<Value>,
    /// What else the server sent: title, annotations, output schema.
    pub raw: Value,
}

/// A prompt as the server describes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Prompt {
    /// The server's own name for it.
    pub name: String,
    /// For people and models.
    pub description: Option<String>,
    /// The whole prompt as the server sent it, arguments included.
    pub raw: Arc<Value>,
}

/// A resource as the server describes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Resource {
    /// Identifies it within its server.
    pub uri: String,
    /// The server's own name for it.
    pub name: String,
    /// The whole resource as the server sent it.
    pub raw: Arc<Value>,
}
