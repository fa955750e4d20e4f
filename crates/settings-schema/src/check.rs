//! What is wrong with a document? Owns the findings of a whole document; decides nothing by them.

use serde_json::{Map, Value};

use crate::{
    finding::{Code, Finding, Findings},
    key::KeyPath,
    kind::{check_kind, wrong_type},
    mcp::{parse_entry, unknown},
    near::nearest,
    path::{Found, find},
    restrict::RESTRICTING,
    scope::{Document, SettingsScope},
    table::{Kind, SETTINGS, Settable, TOP_LEVEL_OF_QWEN_CODE},
};

/// The most errors, and the most warnings, that one document is told.
const MOST: usize = 1000;

const STRICT_UNTIL_MENDED: &str =
    "until it is mended a running session keeps its last good value, and a new one takes the strictest";

/// Everything there is to say about a document, with keys from its root. An unknown key is told only below `mcp`, in a
/// server entry, and at the top level where it looks like a slip of a known one.
///
/// ```
/// use qwen_settings_schema::{Document, SettingsScope, check};
/// use serde_json::json;
///
/// let findings = check(&json!({"mcpServer": {}}), Document::Settings(SettingsScope::User));
/// assert_eq!(findings[0].hint.as_deref(), Some("did you mean `mcpServers`?"));
/// ```
#[must_use]
pub fn check(root: &Value, document: Document) -> Vec<Finding> {
    let mut findings = Findings::up_to(MOST);
    let Value::Object(members) = root else {
        return vec![wrong_type(&KeyPath::root(), "an object", root)];
    };
    match document {
        Document::Settings(scope) => {
            check_settings(root, scope, &mut findings);
            check_top_level(members, known_top_level(), &mut findings);
        }
        Document::McpJson => {
            let at = KeyPath::new(["mcpServers"]);
            if let Some(value) = members.get("mcpServers") {
                check_kind(&at, Kind::Servers, value, &mut findings);
            }
            check_top_level(members, ["mcpServers"], &mut findings);
            check_flat(members, &mut findings);
        }
    }
    if let Some(Value::Object(servers)) = members.get("mcpServers") {
        for (name, entry) in servers {
            let at = KeyPath::new(["mcpServers", name]);
            let entry = parse_entry(entry, document.dialect());
            for finding in entry.findings {
                findings.push(finding.below(&at));
            }
        }
    }
    findings.into_kept()
}

fn check_settings(root: &Value, scope: SettingsScope, findings: &mut Findings) {
    for row in SETTINGS {
        let Found::Value(value) = find(root, row.key) else { continue };
        let at = row.path();
        if scope == SettingsScope::Workspace && row.settable == Settable::NotWorkspace {
            findings.push(
                Finding::warning(at, Code::IgnoredHere, "ignored in the settings of a project")
                    .hinting("set it in the user settings"),
            );
            continue;
        }
        let mut own = Findings::up_to(MOST);
        check_kind(&at, row.kind, value, &mut own);
        let restricts = RESTRICTING.iter().any(|key| key.starts_with(row.key));
        for finding in own.into_kept() {
            findings.push(if restricts { finding.hinting(STRICT_UNTIL_MENDED) } else { finding });
        }
    }
    if let Found::Value(Value::Object(mcp)) = find(root, &["mcp"]) {
        let known =
            || SETTINGS.iter().filter(|row| row.key.len() == 2 && row.key[0] == "mcp").map(|row| row.key[1]);
        for name in mcp.keys().filter(|name| known().all(|known| known != *name)) {
            findings.warn_with(|| unknown(KeyPath::new(["mcp", name]), name, "setting", known()));
        }
    }
}

fn check_top_level<'a>(
    members: &Map<String, Value>,
    known: impl IntoIterator<Item = &'a str> + Clone,
    findings: &mut Findings,
) {
    for (name, value) in members {
        if known.clone().into_iter().any(|known| known == name) {
            continue;
        }
        let at = KeyPath::new([name]);
        if name == "servers" && value.is_object() {
            findings.push(
                Finding::warning(
                    at,
                    Code::OtherDialect,
                    "not read: this is another program's name for `mcpServers`",
                )
                .hinting("rename it to `mcpServers`"),
            );
        } else if nearest(name, known.clone()).is_some() {
            findings.push(unknown(at, name, "setting", known.clone()));
        }
    }
}

/// A file whose entries stand at the top level, as some programs write it.
fn check_flat(members: &Map<String, Value>, findings: &mut Findings) {
    if members.contains_key("mcpServers") {
        return;
    }
    for (name, value) in members.iter().filter(|(name, _)| *name != "servers") {
        if ["command", "url", "httpUrl"].iter().any(|field| value.get(field).is_some_and(Value::is_string)) {
            findings.push(
                Finding::warning(
                    KeyPath::new([name]),
                    Code::OtherDialect,
                    "not read: a server entry stands below `mcpServers`",
                )
                .hinting("move it below `mcpServers`"),
            );
        }
    }
}

fn known_top_level() -> impl IntoIterator<Item = &'static str> + Clone {
    SETTINGS
        .iter()
        .filter(|row| row.key.len() == 1)
        .map(|row| row.key[0])
        .chain(TOP_LEVEL_OF_QWEN_CODE.iter().copied())
}

#[cfg(test)]
mod tests;
