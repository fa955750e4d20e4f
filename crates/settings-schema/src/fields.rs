//! Which fields does a server entry have? Owns the one table from which entries are parsed, described and hashed
//! apart; knows no value of a document.

use crate::table::Kind;

mod rows;

pub use rows::FIELDS;
pub(crate) use rows::{DISCOVERY, OAUTH_FIELDS, TIMEOUT, TYPE_ALIASES, TYPE_WORDS};

/// One field of a server entry: everything that the rest of the crate knows about it.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name, as written.
    pub name: &'static str,
    /// Which values it takes.
    pub kind: Kind,
    /// Which entries it is for.
    pub of: Of,
    /// What it is part of.
    pub part: Part,
    /// Whether an edit of it asks for a new approval.
    pub hashed: Hashed,
    /// What an edit of it causes in a running session.
    pub effect: Effect,
    /// What it does, in a sentence.
    pub text: &'static str,
    /// A value as it would be written in JSON.
    pub example: &'static str,
}

/// Which entries a field is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    /// Those that run a program.
    Stdio,
    /// Those that reach a URL.
    Remote,
    /// All.
    Both,
}

/// What a field is part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// What defines the connection.
    Wire,
    /// What filters, labels or limits what the connection offers.
    View,
    /// Which transport is meant.
    Transport,
    /// Whether the entry counts.
    Switch,
    /// Nothing: it is ignored.
    Nothing,
}

/// Whether an edit of a field asks for a new approval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hashed {
    /// Yes.
    Yes,
    /// No.
    No,
    /// In settings files as written; in `.mcp.json` only as far as it decides the transport of a `url`.
    AsTransport,
}

/// What an edit of a field causes in a running session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// The connection is closed and opened again.
    Reconnect,
    /// It holds from the next call.
    NextCall,
    /// It holds from the next connect.
    NextConnect,
    /// The tools are filtered anew; the connection stays.
    Rescope,
    /// The label changes.
    Label,
    /// The connection is opened or closed.
    OpenOrClose,
    /// Nothing.
    Nothing,
}

/// The row of exactly this field.
#[must_use]
pub fn field(name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.name == name)
}
