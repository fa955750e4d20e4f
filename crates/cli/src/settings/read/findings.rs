//! How is what is wrong with a text or its values said to people? Turns problems of the text and findings of the
//! schema into diagnostics with a place. It finds nothing itself.

use std::path::Path;

use qwen_approvals::Corrupt;
use qwen_settings_schema as schema;
use serde_json::Value;

use super::document::{self, Document, ProblemKind};
use crate::settings::{
    diagnostic::{Diagnostic, Severity},
    source::{Positions, SourceId},
};

/// More than this many of one file help nobody.
pub(super) const AT_MOST: usize = 200;

/// How a source's keys are judged; `None` where any key is a name.
pub(super) fn kind(id: SourceId) -> Option<schema::Document> {
    use schema::{
        Document::{McpJson, Settings},
        SettingsScope,
    };
    match id {
        SourceId::SystemDefaults => Some(Settings(SettingsScope::SystemDefaults)),
        SourceId::User => Some(Settings(SettingsScope::User)),
        SourceId::Workspace => Some(Settings(SettingsScope::Workspace)),
        SourceId::System => Some(Settings(SettingsScope::System)),
        SourceId::McpJson | SourceId::Session(_) => Some(McpJson),
        SourceId::UserEnv | SourceId::Approvals | SourceId::TrustedFolders => None,
    }
}

/// Nothing at all in a file is most often a save that went wrong.
pub(super) fn blank(path: Option<&Path>) -> Diagnostic {
    let message = "the file is empty and counts as an empty object".to_owned();
    Diagnostic::new(path, Severity::Warning, "empty", message)
        .hint(Some("write {} into it, or remove it".to_owned()))
}

/// Nothing in a record that cannot be read counts as a decision.
pub(super) fn of_record(path: Option<&Path>, problem: &Corrupt) -> Diagnostic {
    let message = format!("the record of approvals is {problem}, so nothing in it counts");
    Diagnostic::new(path, Severity::Error, "corrupt", message)
        .hint(Some("mend it, or decide again: the next decision sets it aside".to_owned()))
}

/// What is wrong with the text.
pub(super) fn of_text(path: Option<&Path>, text: &str, document: &Document) -> Vec<Diagnostic> {
    let said = document.problems.iter().enumerate().map(|(nth, problem)| {
        let (severity, code, message, hint) = match &problem.kind {
            ProblemKind::Syntax { message, hint } => {
                (Severity::Error, "syntax", message.clone(), hint.map(str::to_owned))
            }
            ProblemKind::RootNotObject { found } => (
                Severity::Error,
                "root_not_object",
                format!("the file must hold an object, not {found}"),
                Some("put { at its start and } at its end".to_owned()),
            ),
            ProblemKind::TooDeep => (
                Severity::Error,
                "too_deep",
                format!("values are nested more than {} deep", document::MAX_DEPTH),
                None,
            ),
            ProblemKind::DuplicateKey { key, first_line } => (
                Severity::Warning,
                "duplicate_key",
                format!(
                    "the key {key:?} stands on line {first_line} and again on line {}; the last one counts",
                    problem.place.line
                ),
                Some("remove one of them".to_owned()),
            ),
        };
        Diagnostic::new(path, severity, code, message).hint(hint).at_as_nth(text, problem.place, nth)
    });
    said.collect()
}

/// What is wrong with the values.
pub(super) fn of_root(
    path: Option<&Path>,
    kind: schema::Document,
    root: &Value,
    positions: &Positions,
) -> Vec<Diagnostic> {
    let found = schema::check(root, kind).into_iter().take(AT_MOST).enumerate();
    found.map(|(nth, finding)| of_finding(path, &finding, positions, nth)).collect()
}

fn of_finding(
    path: Option<&Path>,
    finding: &schema::Finding,
    positions: &Positions,
    nth: usize,
) -> Diagnostic {
    let severity = match finding.severity {
        schema::Severity::Error => Severity::Error,
        schema::Severity::Warning => Severity::Warning,
    };
    let message = if finding.key == schema::KeyPath::root() {
        finding.message.clone()
    } else {
        format!("`{}`: {}", finding.key, finding.message)
    };
    let diagnostic =
        Diagnostic::new(path, severity, finding.code.as_str(), message).hint(finding.hint.clone());
    match positions.nearest(finding.key.segments()) {
        Some(place) => diagnostic.at_as_nth(positions.text(), place, nth),
        None => diagnostic,
    }
}
