//! The settings of the qwen MCP runtime as data: which keys there are, what they take, how several files become one,
//! which edits need a restart, and which keys of two documents differ in meaning. Everything is a pure function of
//! values; no file is read, no clock and no environment.

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
