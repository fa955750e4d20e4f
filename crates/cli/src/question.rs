//! What is a person asked before somebody else's server may run? The question as a value that a screen and a line of
//! text draw alike: the entry in full, what it reads, what to beware of. It decides nothing and reads no file.

mod credential;
mod render;
mod warnings;

use std::path::PathBuf;

use qwen_core::{Scope, ServerName};
use serde_json::Value;

use crate::derive::{Loser, Promptable, ReadVariable, Source, VariableState};

pub(crate) use render::{question_lines, render_question};

/// Everything a person needs to say yes or no. Texts are shown as they are: nothing in here needs escaping again but
/// by the renderer, which escapes everything.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Question {
    /// Whose.
    pub(crate) name: ServerName,
    /// Where the entry came from.
    pub(crate) scope: Scope,
    /// Where it stands.
    pub(crate) source: Source,
    /// What the answer binds to: all 64 digits.
    pub(crate) hash: String,
    /// The entry as written, in full, one field after the other.
    pub(crate) fields: Vec<Field>,
    /// What it reads.
    pub(crate) variables: Vec<VariableRow>,
    /// What to beware of, one sentence each.
    pub(crate) warnings: Vec<String>,
    /// Whose server it would replace.
    pub(crate) replaces: Option<Loser>,
    /// What differs from what was last decided; `None` where nothing was.
    pub(crate) since_last: Option<SinceLast>,
}

/// One field of the entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    /// As written.
    pub(crate) name: String,
    /// One line per element; credentials are cut.
    pub(crate) lines: Vec<String>,
}

/// One variable that the entry reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct VariableRow {
    /// Its name.
    pub(crate) name: String,
    /// Whether it has a value.
    pub(crate) state: VariableState,
    /// Where it goes, in words.
    pub(crate) goes_to: String,
}

/// What was decided before about this name, and what changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SinceLast {
    /// `approved` or `rejected`.
    pub(crate) decision: &'static str,
    /// RFC 3339, where the record says.
    pub(crate) time: Option<String>,
    /// The fields, with what happened to each; empty where the record does not say.
    pub(crate) changes: Vec<FieldChange>,
}

/// What happened to one field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FieldChange {
    /// How.
    pub(crate) kind: ChangeKind,
    /// Such as `env.TOKEN` or `args[1]`.
    pub(crate) field: String,
}

/// How a field differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChangeKind {
    /// It was not there.
    Added,
    /// It is gone.
    Removed,
    /// It says something else.
    Changed,
}

/// What the question looks up beside the entry.
pub(crate) struct Surroundings<'a> {
    /// Whether this text, as a path from the folder the server runs in, names a file of the project.
    pub(crate) project_file: &'a dyn Fn(&str) -> Option<PathBuf>,
    /// What was decided last about the name, if anything.
    pub(crate) since_last: Option<SinceLast>,
}

impl Question {
    /// Puts the question about one entry. The value that is shown here is the one that was hashed and that runs.
    pub(crate) fn about(asked: &Promptable, around: Surroundings<'_>) -> Self {
        let written = asked.written.value();
        Self {
            name: asked.name.clone(),
            scope: asked.scope,
            source: asked.source.clone(),
            hash: asked.hash.clone(),
            fields: fields(written),
            variables: asked.variables.iter().map(|variable| variable_row(variable, written)).collect(),
            warnings: warnings::warnings(written, around.project_file),
            replaces: asked.replaces.clone(),
            since_last: around.since_last,
        }
    }
}

/// What defines the connection comes first, in an order that reads like a command; then everything else as written.
const FIRST: [&str; 11] = [
    "type",
    "command",
    "args",
    "cwd",
    "httpUrl",
    "url",
    "serverUrl",
    "headers",
    "env",
    "inheritEnv",
    "oauth",
];

fn fields(written: &Value) -> Vec<Field> {
    let Value::Object(entry) = written else {
        return vec![Field { name: "entry".to_owned(), lines: vec![written.to_string()] }];
    };
    let first = FIRST.into_iter().filter_map(|name| entry.get_key_value(name));
    let rest = entry.iter().filter(|(name, _)| !FIRST.contains(&name.as_str()));
    first
        .map(|(name, value)| field(name, value))
        .chain(rest.map(|(name, value)| field(name, value)))
        .collect()
}

fn field(name: &str, value: &Value) -> Field {
    let lines = match value {
        Value::String(text) => vec![unmistakable(credential::cut(name, text))],
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| {
                let option = index.checked_sub(1).and_then(|before| items[before].as_str());
                item.as_str().map_or_else(
                    || item.to_string(),
                    |text| unmistakable(credential::cut_argument(option, text)),
                )
            })
            .collect(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| {
                let separator = if name == "headers" { ": " } else { "=" };
                let text =
                    value.as_str().map_or_else(|| value.to_string(), |text| credential::cut(key, text));
                format!("{key}{separator}{text}")
            })
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => vec![value.to_string()],
    };
    Field { name: name.to_owned(), lines }
}

/// What the record says about the last decision, as the question shows it.
pub(crate) fn since_last(previous: &qwen_approvals::Previous) -> SinceLast {
    let changes = previous.changes.as_deref().unwrap_or_default();
    SinceLast {
        decision: match previous.verdict {
            qwen_approvals::Verdict::Approve => "approved",
            qwen_approvals::Verdict::Reject => "rejected",
        },
        time: previous.time.clone(),
        changes: changes
            .iter()
            .map(|change| FieldChange {
                kind: match change.change {
                    qwen_approvals::Change::Added => ChangeKind::Added,
                    qwen_approvals::Change::Removed => ChangeKind::Removed,
                    qwen_approvals::Change::Changed => ChangeKind::Changed,
                },
                field: change.path.join("."),
            })
            .collect(),
    }
}

/// A text whose ends cannot be seen gets quotes.
fn unmistakable(text: String) -> String {
    if text.trim() == text && !text.is_empty() { text } else { format!("\"{text}\"") }
}

fn variable_row(variable: &ReadVariable, written: &Value) -> VariableRow {
    VariableRow {
        name: variable.name.clone(),
        state: variable.set,
        goes_to: destination(&variable.field, written),
    }
}

/// Where the value of a variable ends up, in words.
fn destination(field: &[String], written: &Value) -> String {
    let to = |what: &str| match remote_origin(written) {
        Some(origin) => format!("{what} of {origin}"),
        None => what.to_owned(),
    };
    let process = written["command"].as_str().unwrap_or("the process");
    match field.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["headers", name] => to(&format!("header {name}")),
        ["env", name] => format!("environment {name} of {process}"),
        ["args", index] => match index.parse::<usize>() {
            Ok(index) => format!("argument {} of {process}", index + 1),
            Err(_) => format!("arguments of {process}"),
        },
        ["args", ..] => format!("arguments of {process}"),
        ["command"] => "the command itself".to_owned(),
        ["cwd"] => format!("the folder of {process}"),
        ["url" | "httpUrl" | "serverUrl"] => to("the URL"),
        ["oauth", name] => to(&format!("OAuth {name}")),
        _ => field.join("."),
    }
}

/// Scheme, host and port of the entry's URL, as far as it is written; what follows may hold a secret.
fn remote_origin(written: &Value) -> Option<String> {
    let url = ["httpUrl", "url", "serverUrl"].into_iter().find_map(|field| written[field].as_str())?;
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    Some(format!("{scheme}://{host}"))
}

#[cfg(test)]
mod tests;
