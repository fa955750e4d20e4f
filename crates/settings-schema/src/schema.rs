//! What may a program ask of the settings as data? Owns the one seam of this crate; every answer is a pure function
//! of its arguments.

use std::fmt;

use serde_json::Value;

use crate::{
    Dialect, Document, Field, Finding, KeyPath, Layer, Merged, Restricting, SettingRow, SettingsScope,
    WrittenEntry,
};

/// The settings as data. Object-safe, so that a program holds it as a value and a test can hold another.
pub trait SettingsSchema: fmt::Debug + Send + Sync {
    /// Every setting, nodes before what is below them.
    fn entries(&self) -> &'static [SettingRow];

    /// Every field of a server entry.
    fn fields(&self) -> &'static [Field];

    /// See [`requires_restart`](crate::requires_restart).
    fn requires_restart(&self, key: &KeyPath) -> bool;

    /// See [`check`](crate::check).
    fn check(&self, root: &Value, document: Document) -> Vec<Finding>;

    /// See [`restricting`](crate::restricting).
    fn restricting(&self, root: &Value) -> Restricting;

    /// See [`mend_restricting`](crate::mend_restricting).
    fn mend_restricting(&self, root: Value, scope: SettingsScope, last_good: Option<&Value>) -> Value;

    /// See [`merge`](crate::merge).
    fn merge<'a>(&self, layers: &[Layer<'a>]) -> Merged<'a>;

    /// See [`parse_entry`](crate::parse_entry).
    fn parse_entry(&self, entry: &Value, dialect: Dialect) -> WrittenEntry;

    /// See [`changed_leaves`](crate::changed_leaves).
    fn changed_leaves(&self, old: &Value, new: &Value) -> Vec<KeyPath>;

    /// See [`same_setting`](crate::same_setting).
    fn same_setting(&self, key: &KeyPath, old: Option<&Value>, new: Option<&Value>) -> bool;
}

/// The settings of this program.
///
/// ```
/// use qwen_settings_schema::{KeyPath, schema};
///
/// let schema = schema();
/// assert!(schema.entries().iter().any(|row| row.path() == KeyPath::new(["mcp", "allowed"])));
/// assert!(!schema.requires_restart(&KeyPath::new(["mcpServers", "a.b", "env"])));
/// ```
#[must_use]
pub fn schema() -> Box<dyn SettingsSchema> {
    Box::new(Table)
}

/// The table of this crate.
#[derive(Debug)]
struct Table;

impl SettingsSchema for Table {
    fn entries(&self) -> &'static [SettingRow] {
        crate::SETTINGS
    }

    fn fields(&self) -> &'static [Field] {
        crate::FIELDS
    }

    fn requires_restart(&self, key: &KeyPath) -> bool {
        crate::requires_restart(key)
    }

    fn check(&self, root: &Value, document: Document) -> Vec<Finding> {
        crate::check(root, document)
    }

    fn restricting(&self, root: &Value) -> Restricting {
        crate::restricting(root)
    }

    fn mend_restricting(&self, root: Value, scope: SettingsScope, last_good: Option<&Value>) -> Value {
        crate::mend_restricting(root, scope, last_good)
    }

    fn merge<'a>(&self, layers: &[Layer<'a>]) -> Merged<'a> {
        crate::merge(layers)
    }

    fn parse_entry(&self, entry: &Value, dialect: Dialect) -> WrittenEntry {
        crate::parse_entry(entry, dialect)
    }

    fn changed_leaves(&self, old: &Value, new: &Value) -> Vec<KeyPath> {
        crate::changed_leaves(old, new)
    }

    fn same_setting(&self, key: &KeyPath, old: Option<&Value>, new: Option<&Value>) -> bool {
        crate::same_setting(key, old, new)
    }
}
