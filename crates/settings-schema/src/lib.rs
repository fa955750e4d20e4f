//! The settings of the qwen MCP runtime as data: which keys there are, what they take, how several files become one,
//! which edits need a restart, and which keys of two documents differ in meaning. Everything is a pure function of
//! values; no file is read, no clock and no environment.
//!
//! For a program that reads settings of this kind, or writes them, or wants to know what an edit means, without the rest
//! of the workspace. [`SettingsSchema`] is the border and [`schema`] the one implementation; the functions can be called
//! by themselves too.
//!
//! - *What may stand in a file?* [`SETTINGS`] and [`FIELDS`] are the tables of which everything else is made:
//!   [`json_schema`] for editors, [`settings_markdown`] for people, [`check`] for what is wrong with a document.
//! - *What do several files say together?* [`merge`], by each key's own rule: `mcp.allowed` only narrows, a server entry
//!   is replaced as a whole.
//! - *What did an edit change?* [`changed_leaves`], by meaning: order of keys and layout do not count.
//!   [`requires_restart`] says which of it is acted on at once.
//! - *What does a server entry say?* [`parse_entry`], where nothing is coerced.
//!
//! ```
//! use qwen_settings_schema::{Document, Layer, SettingsScope, schema};
//! use serde_json::json;
//!
//! let schema = schema();
//! let user = json!({ "mcp": { "allowed": ["git*", "time"] }, "mcpServers": { "time": { "command": "uvx" } } });
//! let workspace = json!({ "mcp": { "allowed": ["time", "lint"] }, "mcpServers": { "lint": { "comand": "x" } } });
//!
//! // Each file is looked at by itself, and what is wrong has its key and what to do.
//! let found = schema.check(&workspace, Document::Settings(SettingsScope::Workspace));
//! assert!(found.iter().any(|finding| finding.key.to_string() == "mcpServers.lint.comand"));
//!
//! // Together they hold both servers, and a name must match both lists.
//! let merged = schema.merge(&[
//!     Layer { scope: SettingsScope::User, root: &user },
//!     Layer { scope: SettingsScope::Workspace, root: &workspace },
//! ]);
//! assert_eq!(merged.allowed.len(), 2);
//!
//! // An edit is told by its leaves. None of these needs a restart.
//! let edited = json!({ "mcpServers": { "time": { "command": "npx" } }, "mcp": { "allowed": ["git*", "time"] } });
//! let changed = schema.changed_leaves(&user, &edited);
//! assert_eq!(changed[0].to_string(), "mcpServers.time.command");
//! assert!(!schema.requires_restart(&changed[0]));
//! ```

mod check;
mod diff;
mod fields;
mod finding;
mod json_schema;
mod key;
mod kind;
mod markdown;
mod mcp;
mod merge;
mod near;
mod path;
mod restrict;
mod same;
mod schema;
mod scope;
mod table;
mod value;

pub use check::check;
pub use diff::changed_leaves;
pub use fields::{Effect, FIELDS, Field, Hashed, Of, Part, field};
pub use finding::{Code, Finding, Severity};
pub use json_schema::json_schema;
pub use key::KeyPath;
pub use markdown::settings_markdown;
pub use mcp::{
    InheritEnv, Invalid, PoolMode, RemoteProtocol, Switch, VersionNegotiation, WrittenEntry, WrittenOAuth,
    WrittenRemote, WrittenServer, WrittenStdio, WrittenTransport, WrittenUrl, WrittenView, parse_entry,
};
pub use merge::{AutoReload, Layer, Leaf, Merged, Options, ScopedList, WatchMode, merge};
pub use restrict::{FolderTrust, Restricting, Setting, mend_restricting, restricting};
pub use same::same_setting;
pub use schema::{SettingsSchema, schema};
pub use scope::{Dialect, Document, SettingsScope};
pub use table::{
    Compare, Kind, MergeRule, Range, Restart, RestartSplit, SETTINGS, Settable, SettingRow, requires_restart,
    setting, split_restart,
};
pub use value::same_value;
