//! What does a document forbid, and what when it does not say so clearly? Owns the restricting keys and the rule that
//! a wrong type never admits more; knows no server.

use serde_json::{Value, json};

use crate::{
    key::KeyPath,
    kind::{Fit, fits},
    path::{Found, find, put, take},
    scope::SettingsScope,
    table::{Kind, setting},
};

/// What one document says about one key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Setting<T> {
    /// Nothing.
    Absent,
    /// This.
    Set(T),
    /// Something of the wrong type, `null` included, here or in a node above.
    Wrong,
}

/// Whether a project's folder must be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FolderTrust {
    /// It must.
    On,
    /// Every folder counts as trusted.
    Off,
}

/// What one document says about the keys that restrict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restricting {
    /// `mcp.allowed`.
    pub allowed: Setting<Vec<String>>,
    /// `mcp.excluded`.
    pub excluded: Setting<Vec<String>>,
    /// `security.folderTrust.enabled`.
    pub folder_trust: Setting<FolderTrust>,
}

pub(crate) const ALLOWED: &[&str] = &["mcp", "allowed"];
pub(crate) const EXCLUDED: &[&str] = &["mcp", "excluded"];
pub(crate) const FOLDER_TRUST: &[&str] = &["security", "folderTrust", "enabled"];

/// The keys that restrict.
pub(crate) const RESTRICTING: [&[&str]; 3] = [ALLOWED, EXCLUDED, FOLDER_TRUST];

/// What one document says about the keys that restrict.
#[must_use]
pub fn restricting(root: &Value) -> Restricting {
    let names = |key| match read(root, key) {
        Setting::Set(Value::Array(items)) => {
            Setting::Set(items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
        }
        Setting::Absent => Setting::Absent,
        Setting::Set(_) | Setting::Wrong => Setting::Wrong,
    };
    Restricting {
        allowed: names(ALLOWED),
        excluded: names(EXCLUDED),
        folder_trust: match read(root, FOLDER_TRUST) {
            Setting::Set(Value::Bool(true)) => Setting::Set(FolderTrust::On),
            Setting::Set(Value::Bool(false)) => Setting::Set(FolderTrust::Off),
            Setting::Absent => Setting::Absent,
            Setting::Set(_) | Setting::Wrong => Setting::Wrong,
        },
    }
}

/// The document in which each restricting key of the wrong type has its last good value, or, without a last good
/// document, its strictest: `[]` for `mcp.allowed`, `["*"]` for `mcp.excluded`, `true` for the trust check. A key that
/// the last good document left unset is unset again. What else is wrong stays for [`merge`](crate::merge) to drop.
///
/// ```
/// use qwen_settings_schema::{SettingsScope, mend_restricting};
/// use serde_json::json;
///
/// let broken = json!({"mcp": {"allowed": "a"}, "ui": {}});
/// let at_start = mend_restricting(broken.clone(), SettingsScope::User, None);
/// assert_eq!(at_start, json!({"mcp": {"allowed": []}, "ui": {}}));
///
/// let last = json!({"mcp": {"allowed": ["b"]}});
/// let on_reload = mend_restricting(broken, SettingsScope::User, Some(&last));
/// assert_eq!(on_reload["mcp"]["allowed"], json!(["b"]));
/// ```
#[must_use]
pub fn mend_restricting(root: Value, scope: SettingsScope, last_good: Option<&Value>) -> Value {
    if !root.is_object() {
        return last_good.cloned().unwrap_or_else(|| strictest(scope));
    }
    let counts = |key| key != FOLDER_TRUST || scope != SettingsScope::Workspace;
    // All of them before one is mended: a node above that is none of ours goes with the first.
    let wrong = RESTRICTING.map(|key| counts(key) && matches!(read(&root, key), Setting::Wrong));
    let Value::Object(mut mended) = root else { return root };
    for (key, _) in RESTRICTING.into_iter().zip(wrong).filter(|(_, wrong)| *wrong) {
        match last_good.map(|last| read(last, key)) {
            Some(Setting::Set(value)) => put(&mut mended, key, value.clone()),
            Some(Setting::Absent) => take(&mut mended, key),
            Some(Setting::Wrong) | None => put(&mut mended, key, strictest_of(key)),
        }
    }
    Value::Object(mended)
}

fn strictest(scope: SettingsScope) -> Value {
    mend_restricting(json!({"mcp": null, "security": null}), scope, None)
}

fn strictest_of(key: &[&str]) -> Value {
    match key {
        ALLOWED => json!([]),
        EXCLUDED => json!(["*"]),
        _ => json!(true),
    }
}

/// The value of a restricting key as far as its type is right.
fn read<'a>(root: &'a Value, key: &[&str]) -> Setting<&'a Value> {
    let path = KeyPath::new(key.iter().copied());
    match find(root, key) {
        Found::Absent => Setting::Absent,
        Found::Blocked => Setting::Wrong,
        Found::Value(value) => {
            let kind = setting(&path).map_or(Kind::Any, |row| row.kind);
            match fits(kind, value) {
                Fit::Good => Setting::Set(value),
                Fit::Wrong => Setting::Wrong,
            }
        }
    }
}

#[cfg(test)]
mod tests;
