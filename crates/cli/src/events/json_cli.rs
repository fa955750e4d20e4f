//! What happened to files and approvals, with exactly the keys that programs rely on.

use std::path::Path;

use serde_json::{Value, json};

use super::json::{names, path_or_null};
use crate::hot_reload::{CliEvent, Counts, SettingsChange};

/// The event's name and its fields.
pub(super) fn fields(event: &CliEvent) -> Option<(&'static str, Value)> {
    let fields = match event {
        CliEvent::SettingsChanged { changes } => {
            ("settings-change", json!({ "changes": changes.iter().map(change).collect::<Vec<_>>() }))
        }
        CliEvent::SettingsInvalid { path, line, column, message, counts } => (
            "settings-invalid",
            json!({
                "path": path_or_null(path.as_deref()),
                "line": line,
                "column": column,
                "message": message,
                "keptLastGood": matches!(counts, Counts::LastGood | Counts::TheRestAndLastGood),
            }),
        ),
        CliEvent::SettingsRecovered { path } => {
            ("settings-recovered", json!({ "path": path_or_null(path.as_deref()) }))
        }
        CliEvent::RestartRequired { path, keys } => {
            ("restart-required", json!({ "path": path_or_null(Some(Path::new(path))), "keys": keys }))
        }
        CliEvent::PendingApprovalChanged { servers } => {
            ("mcp-pending-approval-changed", json!({ "servers": names(servers) }))
        }
        CliEvent::Notice { code, message } => {
            ("notice", json!({ "code": code.as_str(), "message": message }))
        }
        // What they bring is told as changes of servers.
        CliEvent::Planned { .. } | CliEvent::ShadowsChanged { .. } => return None,
    };
    Some(fields)
}

fn change(change: &SettingsChange) -> Value {
    json!({
        "scope": change.scope.as_str(),
        "path": path_or_null(Some(&change.path)),
        "change": change.kind.as_str(),
        "keys": change.keys,
    })
}
