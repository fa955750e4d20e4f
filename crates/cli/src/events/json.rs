//! Events as lines of JSON, with exactly the keys that programs rely on.

use std::path::Path;

use qwen_core::{Delta, Failure, Phase, Refusal, ServerName, ServerStatus, State};
use serde_json::{Map, Value, json};

use super::Event;
use crate::{
    row::{path_text, rfc3339},
    words::Words,
};

/// One line, without its line break; `None` where there is nothing to tell.
pub(crate) fn json_line(event: &Event, at_unix_ms: u64) -> Option<String> {
    let (name, fields) = fields(event)?;
    let mut line = Map::new();
    line.insert("v".to_owned(), json!(1));
    line.insert("time".to_owned(), json!(rfc3339(at_unix_ms)));
    line.insert("event".to_owned(), json!(name));
    if let Value::Object(fields) = fields {
        line.extend(fields);
    }
    Some(Value::Object(line).to_string())
}

fn fields(event: &Event) -> Option<(&'static str, Value)> {
    let fields = match event {
        Event::Started(started) => (
            "session-started",
            json!({
                "projectRoot": path_text(&started.project_root),
                "pid": started.pid,
                "watched": started.watched.iter().map(|path| path_text(path)).collect::<Vec<_>>(),
                "servers": names(&started.servers),
            }),
        ),
        Event::Cli(event) => return super::json_cli::fields(event),
        Event::Reloaded(record) => (
            "mcp-reload",
            json!({
                "generation": record.generation,
                "added": names(&record.added),
                "removed": names(&record.removed),
                "restarted": names(&record.restarted),
                "rescoped": names(&record.rescoped),
                "kept": record.kept,
                "skipped": record.skipped.iter().map(skipped).collect::<Vec<_>>(),
            }),
        ),
        Event::Catalogue(change) => (
            "catalogue-changed",
            json!({
                "revision": change.revision,
                "tools": delta(&change.tools),
                "prompts": delta(&change.prompts),
                "resources": delta(&change.resources),
            }),
        ),
        Event::Server { name, status, words } => {
            ("mcp-client-update", server(name, status.as_deref(), words))
        }
        Event::Settled(settling) => (
            "mcp-settled",
            json!({
                "generation": settling.generation,
                "failed": settling.failed.iter().map(failed).collect::<Vec<_>>(),
                "durationMs": u64::try_from(settling.duration.as_millis()).unwrap_or(u64::MAX),
            }),
        ),
        Event::Ended(reason) => ("session-ended", json!({ "reason": reason.as_str() })),
    };
    Some(fields)
}

fn server(name: &ServerName, status: Option<&ServerStatus>, words: &Words) -> Value {
    let phase = status.map(|status| &status.phase);
    let state = phase.map_or(State::Removed, Phase::state);
    let connected = match phase {
        Some(Phase::Connected(connected)) => Some(connected),
        Some(Phase::Connecting(_) | Phase::Failed { .. } | Phase::Refused(_)) | None => None,
    };
    let error = match phase {
        Some(Phase::Failed { failure, .. }) => Some(failure.in_full()),
        Some(Phase::Connected(_) | Phase::Connecting(_) | Phase::Refused(_)) | None => None,
    };
    json!({
        "server": name.as_str(),
        "state": state.as_str(),
        "cause": words.cause,
        "error": error,
        "tools": connected.map(|connected| connected.tools),
        "prompts": connected.map(|connected| connected.prompts),
        "resources": connected.map(|connected| connected.resources),
        "pid": connected.and_then(|connected| connected.pid),
    })
}

fn skipped((name, refusal): &(ServerName, Refusal)) -> Value {
    json!({ "server": name.as_str(), "reason": refusal.as_str() })
}

fn failed((name, failure): &(ServerName, Failure)) -> Value {
    json!({ "server": name.as_str(), "error": failure.in_full() })
}

fn delta(delta: &Delta) -> Value {
    json!({ "added": delta.added, "removed": delta.removed, "changed": delta.changed })
}

pub(super) fn names(names: &[ServerName]) -> Vec<&str> {
    let mut names: Vec<&str> = names.iter().map(ServerName::as_str).collect();
    names.sort_unstable();
    names
}

pub(super) fn path_or_null(path: Option<&Path>) -> Value {
    path.map_or(Value::Null, |path| Value::from(path_text(path)))
}
