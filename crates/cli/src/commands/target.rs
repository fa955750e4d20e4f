//! Which file does an edit go to, and what came of it? The editable scopes by their files, the keys in them, and what is
//! told after an edit. It decides nothing about servers.

use std::path::PathBuf;

use qwen_core::Scope;
use qwen_settings_schema::Dialect;
use serde::Serialize;
use serde_json::Value;

use crate::{
    app::App,
    args::EditScope,
    exit::Exit,
    output,
    row::path_text,
    settings::{
        SourceId,
        edit::{FileError, NewFile},
    },
    text::{below, visible},
};

/// Where the servers of a file stand.
pub(super) const SERVERS: &str = "mcpServers";

/// A file that can be edited.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Target {
    pub(super) scope: Scope,
    pub(super) source: SourceId,
    pub(super) path: PathBuf,
    pub(super) new_file: NewFile,
    pub(super) dialect: Dialect,
}

/// Why an edit was not made.
#[derive(Debug, thiserror::Error)]
pub(super) enum TargetError {
    #[error(
        "write workspace settings in the home folder, where .qwen/settings.json are your own; use --scope user"
    )]
    HomeHasNoWorkspace,
    #[error(transparent)]
    File(#[from] FileError),
}

impl Target {
    pub(super) fn of(app: &App, scope: EditScope) -> Result<Self, TargetError> {
        let paths = &app.launch.paths;
        Ok(match scope {
            EditScope::User => Self {
                scope: Scope::User,
                source: SourceId::User,
                path: paths.user.clone(),
                new_file: NewFile::Private,
                dialect: Dialect::Settings,
            },
            EditScope::Project => Self {
                scope: Scope::Project,
                source: SourceId::McpJson,
                path: paths.mcp_json.clone(),
                new_file: NewFile::Shared,
                dialect: Dialect::McpJson,
            },
            EditScope::Workspace => Self {
                scope: Scope::Workspace,
                source: SourceId::Workspace,
                path: paths.workspace.clone().ok_or(TargetError::HomeHasNoWorkspace)?,
                new_file: NewFile::Shared,
                dialect: Dialect::Settings,
            },
        })
    }

    /// Every file that can be edited here.
    pub(super) fn all(app: &App) -> Vec<Self> {
        [EditScope::User, EditScope::Project, EditScope::Workspace]
            .into_iter()
            .filter_map(|scope| Self::of(app, scope).ok())
            .collect()
    }

    /// Whether its text is no good, as it was read at start.
    pub(super) fn is_broken(&self, app: &App) -> bool {
        app.snapshot.get(self.source).is_some_and(|file| file.broken.is_some())
    }

    /// Whether an entry of this name stands in it, as it was read at start.
    pub(super) fn has(&self, app: &App, name: &str) -> bool {
        app.snapshot
            .get(self.source)
            .and_then(|file| file.root.get(SERVERS))
            .and_then(Value::as_object)
            .is_some_and(|servers| servers.contains_key(name))
    }
}

/// What an edit did, in one word.
#[derive(Clone, Copy, Serialize, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(super) enum Done {
    Added,
    Replaced,
    Removed,
    Enabled,
    Disabled,
    /// The file says so already.
    Unchanged,
}

/// What an edit did: one line for people, one object for programs.
#[derive(Clone, Serialize, PartialEq, Debug)]
#[serde(rename_all = "camelCase")]
pub(super) struct Edited {
    /// Which.
    pub(super) server: String,
    /// In one word.
    pub(super) status: Done,
    /// Whose file.
    pub(super) scope: &'static str,
    /// As configured.
    pub(super) path: String,
    /// From 1; `None` where nothing is left to point at.
    pub(super) line: Option<u32>,
    /// Of a gated entry that waits or was decided about: 64 hex digits.
    pub(super) hash: Option<String>,
    /// Why it does not connect all the same.
    pub(super) cause: Option<String>,
    /// What to do about that.
    pub(super) next_step: Option<String>,
    /// What else a person should know.
    pub(super) notes: Vec<String>,
}

impl Edited {
    pub(super) fn new(server: &str, status: Done, target: &Target) -> Self {
        Self {
            server: server.to_owned(),
            status,
            scope: target.scope.as_str(),
            path: path_text(&target.path),
            line: None,
            hash: None,
            cause: None,
            next_step: None,
            notes: Vec::new(),
        }
    }
}

/// How an edit is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Telling {
    Text,
    Json,
}

/// Prints what was done.
pub(super) fn tell(edited: &Edited, telling: Telling) -> Exit {
    match telling {
        Telling::Json => output::print_json(edited),
        Telling::Text => output::print(&render(edited, output::width())),
    }
    Exit::Ok
}

/// What was done, one line, and below it what it does not do.
pub(super) fn render(edited: &Edited, width: usize) -> String {
    let name = visible(&edited.server);
    let line = edited.line.map(|line| format!(":{line}")).unwrap_or_default();
    let place = format!("{}{line}", visible(&edited.path));
    let mut out = match edited.status {
        Done::Added => format!("added {name} to {place}\n"),
        Done::Replaced => format!("replaced {name} in {place}\n"),
        Done::Removed => format!("removed {name} from {place}\n"),
        Done::Disabled => format!("disabled {name}: it is in mcp.excluded of {place}\n"),
        Done::Enabled => format!("enabled {name} in {place}\n"),
        Done::Unchanged => format!("nothing to change for {name} in {place}\n"),
    };
    for note in &edited.notes {
        out.push_str(&below("", &visible(note), width));
    }
    if let Some(cause) = &edited.cause {
        out.push_str(&below("it does not connect: ", &visible(cause), width));
    }
    if let Some(step) = &edited.next_step {
        out.push_str(&below("next: ", &visible(step), width));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> Target {
        Target {
            scope: Scope::Project,
            source: SourceId::McpJson,
            path: "/p/.mcp.json".into(),
            new_file: NewFile::Shared,
            dialect: Dialect::McpJson,
        }
    }

    #[test]
    fn what_was_done_is_said_with_its_place_and_with_what_it_does_not_do() {
        let mut edited = Edited::new("x", Done::Added, &target());
        edited.line = Some(3);
        assert_eq!(render(&edited, output::WIDTH), "added x to /p/.mcp.json:3\n");
        edited.cause = Some("awaits approval".to_owned());
        edited.next_step = Some("run `qwen mcp approve x`".to_owned());
        edited.notes = vec!["`timeot`: unknown".to_owned()];
        assert_eq!(
            render(&edited, output::WIDTH),
            "added x to /p/.mcp.json:3\n    `timeot`: unknown\n    it does not connect: awaits approval\n    next: run `qwen mcp approve x`\n"
        );
        insta::assert_json_snapshot!(edited);
        let lines = [Done::Replaced, Done::Removed, Done::Enabled, Done::Disabled, Done::Unchanged]
            .map(|done| render(&Edited::new("x\u{1b}", done, &target()), output::WIDTH));
        insta::assert_snapshot!(lines.concat(), @r"
        replaced x\u{1b} in /p/.mcp.json
        removed x\u{1b} from /p/.mcp.json
        enabled x\u{1b} in /p/.mcp.json
        disabled x\u{1b}: it is in mcp.excluded of /p/.mcp.json
        nothing to change for x\u{1b} in /p/.mcp.json
        ");
    }

    #[test]
    fn each_outcome_of_an_edit_has_its_form_for_programs() {
        for done in
            [Done::Added, Done::Replaced, Done::Removed, Done::Enabled, Done::Disabled, Done::Unchanged]
        {
            let mut edited = Edited::new("gh", done, &target());
            match done {
                Done::Added | Done::Replaced => {
                    edited.line = Some(3);
                    edited.hash = Some(crate::fixtures::HASH.to_owned());
                    edited.cause = Some("awaits approval".to_owned());
                    edited.next_step =
                        Some(crate::words::Prompt::Shell.decide(&"gh".into(), crate::fixtures::HASH));
                }
                Done::Disabled => edited.line = Some(2),
                Done::Removed | Done::Enabled | Done::Unchanged => {}
            }
            insta::with_settings!({ snapshot_suffix => format!("{done:?}").to_lowercase() }, {
                insta::assert_snapshot!("text", render(&edited, output::WIDTH));
                insta::assert_json_snapshot!("json", edited);
            });
        }
    }
}
