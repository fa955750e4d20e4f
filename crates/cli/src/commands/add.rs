//! `qwen mcp add` and `qwen mcp add-json`: write one entry into one file, and say what a session makes of it.

mod entry;
mod grammar;

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

use qwen_approvals::{ApprovalHash, Verdict};
use qwen_core::{Scope, ServerName, admit_one};
use qwen_settings_schema::{Code, Finding, Invalid, parse_entry};
use serde_json::Value;

use self::entry::EntryError;
use super::target::{Done, Edited, SERVERS, Target, TargetError, Telling, tell};
use crate::{
    app::App,
    args::{AddArgs, AddJsonArgs, EditScope, Global},
    derive::{Promptable, Screen},
    exit::Exit,
    output,
    settings::edit::{change_file, line_of, root_of, set_entry},
    words::{self, Prompt},
};

/// Why nothing was added.
#[derive(Debug, thiserror::Error)]
enum AddError {
    #[error(transparent)]
    Entry(#[from] EntryError),
    #[error("understand the entry as JSON; quote it for the shell, such as '{{\"command\": \"uvx\"}}'")]
    Json(#[source] serde_json::Error),
    #[error("read the entry from stdin")]
    Stdin(#[source] io::Error),
    #[error("add an entry that says nothing to run: {why}{misspelt}; nothing was written")]
    Invalid { why: Invalid, misspelt: String },
    #[error(transparent)]
    Target(#[from] TargetError),
}

impl AddError {
    fn exit(&self) -> Exit {
        match self {
            Self::Entry(_) | Self::Json(_) | Self::Invalid { .. } => Exit::Usage,
            Self::Stdin(_) | Self::Target(_) => Exit::Failed,
        }
    }
}

/// `qwen mcp add`.
pub(crate) fn run(global: &Global, args: &AddArgs) -> Exit {
    let typed = match grammar::typed(args) {
        Ok(typed) => typed,
        Err(error) => return output::fail(&error, Exit::Usage),
    };
    let telling = if typed.options.json { Telling::Json } else { Telling::Text };
    finish(global, telling, |app| {
        let target = Target::of(app, typed.options.scope.unwrap_or(EditScope::User))?;
        let entry = entry::entry(&typed, target.dialect)?;
        Ok(Addition { name: typed.name, entry, target })
    })
}

/// `qwen mcp add-json`.
pub(crate) fn run_json(global: &Global, args: &AddJsonArgs) -> Exit {
    let telling = if args.json { Telling::Json } else { Telling::Text };
    finish(global, telling, |app| {
        let target = Target::of(app, args.scope)?;
        let text = match args.entry.as_str() {
            "-" => {
                let mut text = String::new();
                io::stdin().lock().read_to_string(&mut text).map_err(AddError::Stdin)?;
                text
            }
            text => text.to_owned(),
        };
        let entry = serde_json::from_str(&text).map_err(AddError::Json)?;
        Ok(Addition { name: args.name.clone(), entry, target })
    })
}

/// One entry and where it goes.
struct Addition {
    name: String,
    entry: Value,
    target: Target,
}

fn finish(
    global: &Global,
    telling: Telling,
    addition: impl FnOnce(&App) -> Result<Addition, AddError>,
) -> Exit {
    let app = match App::open(global, Screen::Headless) {
        Ok(app) => app,
        Err(error) => return output::fail(&error, error.exit()),
    };
    let done = addition(&app).and_then(|addition| Ok((add(&addition)?, addition)));
    let (edited, addition) = match done {
        Ok(done) => done,
        Err(error) => return output::fail(&error, error.exit()),
    };
    // What a session makes of it is read from the files as they are now, by the rules of every session.
    match App::reread(global, Screen::Headless) {
        Ok(app) => offer(&app, &addition, outlook(&app, &addition, edited), telling),
        Err(error) => output::fail(&error, error.exit()),
    }
}

/// Writes the entry. Warnings about it are told, an entry that says nothing to run is not written.
fn add(addition: &Addition) -> Result<Edited, AddError> {
    let Addition { name, entry, target } = addition;
    let parsed = parse_entry(entry, target.dialect);
    if let Err(invalid) = parsed.server {
        return Err(AddError::Invalid { why: invalid, misspelt: misspelt(&parsed.findings) });
    }
    let path = [SERVERS, name.as_str()];
    let (replaced, line) = change_file(&target.path, target.new_file, |text| {
        let replaced = root_of(text)?.get(SERVERS).and_then(|servers| servers.get(name)).is_some();
        let edited = set_entry(text, &path, entry)?;
        let line = line_of(&edited, &path);
        Ok((edited, (replaced, line)))
    })
    .map_err(TargetError::File)?;
    let mut edited = Edited::new(name, if replaced { Done::Replaced } else { Done::Added }, target);
    edited.line = line;
    edited.notes = parsed.findings.iter().map(note).collect();
    if target.scope == Scope::User && is_relative_program(entry) {
        edited.notes.push(
            "its command is looked for in the folder of each session; write a whole path to mean one file"
                .to_owned(),
        );
    }
    Ok(edited)
}

/// What a finding says, with what was probably meant.
fn note(finding: &Finding) -> String {
    let hint = finding.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("`{}`: {}{hint}", finding.key, finding.message)
}

/// The unknown fields that are near a known one: any of them may be why an entry says nothing to run.
fn misspelt(findings: &[Finding]) -> String {
    let unknown = findings.iter().filter(|finding| finding.code == Code::UnknownKey);
    let near = unknown
        .filter_map(|finding| finding.hint.as_ref().map(|hint| format!(" (`{}`: {hint})", finding.key)));
    near.collect()
}

fn is_relative_program(entry: &Value) -> bool {
    let command = entry.get("command").and_then(Value::as_str);
    command.is_some_and(|command| command.starts_with("./") || command.starts_with("../"))
}

/// What a session that reads the files now makes of the entry.
fn outlook(app: &App, addition: &Addition, mut edited: Edited) -> Edited {
    let derived = app.derived();
    let name = ServerName::from(addition.name.as_str());
    if let Some(waiting) = waiting(app, addition) {
        edited.hash = Some(waiting.hash.clone());
        edited.cause = Some("awaits approval".to_owned());
        edited.next_step = Some(Prompt::Shell.decide(&name, &waiting.hash));
        return edited;
    }
    let Some(row) = derived.rows.get(&name) else { return edited };
    if row.source.path.as_ref() != Some(&addition.target.path) {
        edited.cause = Some(format!("the entry in {} counts", words::place(&row.source)));
        return edited;
    }
    edited.hash = row.approval.as_ref().map(|approval| approval.hash.clone());
    if let Err(refusal) = admit_one(&derived.desired(), app.bound(), &name) {
        let words = words::of_refusal(&refusal, &name, Some(row), app.background());
        edited.cause = words.cause;
        edited.next_step = words.next_step;
    }
    edited
}

/// The question about exactly what was typed, where it waits for one.
fn waiting(app: &App, addition: &Addition) -> Option<Promptable> {
    let asked = app.derived().promptable.get(addition.name.as_str())?;
    (asked.source.path.as_ref() == Some(&addition.target.path) && **asked.written.value() == addition.entry)
        .then(|| asked.clone())
}

/// Tells what was done, and on a terminal offers to approve what was just typed.
fn offer(app: &App, addition: &Addition, edited: Edited, telling: Telling) -> Exit {
    let person = telling == Telling::Text && io::stdin().is_terminal() && io::stderr().is_terminal();
    let Some(asked) = waiting(app, addition).filter(|_| person) else { return tell(&edited, telling) };
    let shown = Edited { cause: None, next_step: None, ..edited.clone() };
    tell(&shown, telling);
    let mut err = io::stderr().lock();
    let question = format!("{}approve it now? [y/N] ", app.question(&asked, &io::stderr()));
    drop(err.write_all(question.as_bytes()).and_then(|()| err.flush()));
    drop(err);
    let mut answer = String::new();
    let yes = io::stdin().lock().read_line(&mut answer).is_ok()
        && ["y", "yes"].contains(&answer.trim().to_lowercase().as_str());
    if !yes {
        output::print(&format!("it waits; {}\n", Prompt::Shell.decide(&asked.name, &asked.hash)));
        return Exit::Ok;
    }
    let decided = asked.hash.parse::<ApprovalHash>().map_err(|_| ()).map(|hash| {
        app.store.decide(app.root(), asked.name.as_str(), hash, Verdict::Approve, asked.written.value())
    });
    match decided {
        Ok(Ok(_)) => {
            output::print(&format!("approved {}\n", crate::text::visible(asked.name.as_str())));
            Exit::Ok
        }
        Ok(Err(error)) => output::fail(&error, Exit::Failed),
        Err(()) => Exit::Failed,
    }
}

#[cfg(test)]
mod tests;
