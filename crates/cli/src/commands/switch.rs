//! `qwen mcp enable` and `qwen mcp disable`: a name goes into `mcp.excluded` or leaves it, and what else keeps the
//! server from connecting is said.

use qwen_core::{Entry, Refusal, ServerName, Switch, admit_one};
use serde_json::Value;

use super::{
    approve::unknown,
    target::{Done, Edited, SERVERS, Target, TargetError, Telling, render, tell},
};
use crate::{
    app::App,
    args::{EditScope, Global, SwitchArgs},
    derive::{Row, Screen},
    exit::Exit,
    output,
    settings::edit::{add_to_list, change_file, line_of, remove_entry, remove_from_list, root_of},
    words::{self, Background},
};

const EXCLUDED: [&str; 2] = ["mcp", "excluded"];

/// Why nothing was switched.
#[derive(Debug, thiserror::Error)]
enum SwitchError {
    #[error("switch it: {0}")]
    Unknown(String),
    #[error("exclude a name in .mcp.json, which holds servers only; use --scope user or --scope workspace")]
    NoListThere,
    #[error(transparent)]
    Target(#[from] TargetError),
}

impl SwitchError {
    fn exit(&self) -> Exit {
        match self {
            Self::NoListThere => Exit::Usage,
            Self::Unknown(_) | Self::Target(_) => Exit::Failed,
        }
    }
}

/// Which way a name is switched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Switched {
    /// It may connect again.
    On,
    /// It may not.
    Off,
}

/// Switches a name in the user's settings for a session that runs, and says what was done, as `mcp enable` and
/// `mcp disable` say it.
///
/// # Errors
/// The one line to show: the name is not known, or the file cannot be edited.
pub(crate) fn switch_in(app: &App, name: &str, way: Switched) -> Result<String, String> {
    let switch = || {
        let target = Target::of(app, EditScope::User)?;
        match way {
            Switched::Off => switch_off(app, &target, name),
            Switched::On => switch_on_in(app, &target, name),
        }
    };
    // The transcript breaks lines by its own width.
    switch().map(|edited| render(&edited, usize::MAX)).map_err(|error| output::chain(&error))
}

/// `qwen mcp disable`.
pub(crate) fn disable(global: &Global, args: &SwitchArgs) -> Exit {
    run(global, args, |app, target| switch_off(app, target, &args.name))
}

fn switch_off(app: &App, target: &Target, name: &str) -> Result<Edited, SwitchError> {
    if !is_known(app, name) {
        return Err(SwitchError::Unknown(unknown(app.derived(), name)));
    }
    edit_list(target, name, Done::Disabled, |text| add_to_list(text, &EXCLUDED, name))
}

fn switch_on_in(app: &App, target: &Target, name: &str) -> Result<Edited, SwitchError> {
    let mut edited = edit_list(target, name, Done::Enabled, |text| remove_from_list(text, &EXCLUDED, name))?;
    if edited.status == Done::Unchanged && !is_known(app, name) {
        return Err(SwitchError::Unknown(unknown(app.derived(), name)));
    }
    if let Some(note) = switch_on(app, name)? {
        edited.status = Done::Enabled;
        edited.notes.push(note);
    }
    Ok(edited)
}

/// `qwen mcp enable`.
pub(crate) fn enable(global: &Global, args: &SwitchArgs) -> Exit {
    run(global, args, |app, target| {
        let mut edited = switch_on_in(app, target, &args.name)?;
        // Who still holds it is read from the files as they are now.
        if let Ok(app) = App::reread(global, Screen::Headless) {
            still_held(&app, &mut edited);
        }
        Ok(edited)
    })
}

fn run(
    global: &Global,
    args: &SwitchArgs,
    edit: impl FnOnce(&App, &Target) -> Result<Edited, SwitchError>,
) -> Exit {
    let app = match App::open(global, Screen::Headless) {
        Ok(app) => app,
        Err(error) => return output::fail(&error, error.exit()),
    };
    let telling = if args.json { Telling::Json } else { Telling::Text };
    let target = match args.scope {
        EditScope::Project => Err(SwitchError::NoListThere),
        EditScope::User | EditScope::Workspace => Target::of(&app, args.scope).map_err(SwitchError::Target),
    };
    match target.and_then(|target| edit(&app, &target)) {
        Ok(edited) => tell(&edited, telling),
        Err(error) => output::fail(&error, error.exit()),
    }
}

fn is_known(app: &App, name: &str) -> bool {
    app.derived().rows.contains_key(name)
}

fn edit_list(
    target: &Target,
    name: &str,
    done: Done,
    edit: impl FnOnce(&str) -> Result<String, crate::settings::edit::EditError>,
) -> Result<Edited, SwitchError> {
    let (changed, line) = change_file(&target.path, target.new_file, |text| {
        let edited = edit(text)?;
        let line = line_of(&edited, &EXCLUDED);
        let changed = edited != text;
        Ok((edited, (changed, line)))
    })
    .map_err(TargetError::File)?;
    let mut edited = Edited::new(name, if changed { done } else { Done::Unchanged }, target);
    edited.line = line;
    Ok(edited)
}

/// Takes `enabled: false` and `disabled: true` out of the entry that counts, where it stands in a file of ours, and says
/// so.
fn switch_on(app: &App, name: &str) -> Result<Option<String>, SwitchError> {
    let derived = app.derived();
    let Some(row) = derived.rows.get(name) else { return Ok(None) };
    let switch = match &row.entry {
        Entry::Valid(spec) => spec.switch,
        Entry::Invalid(invalid) => invalid.switch,
    };
    let target = Target::all(app).into_iter().find(|target| Some(&target.path) == row.source.path.as_ref());
    let (Switch::Off, Some(target)) = (switch, target) else { return Ok(None) };
    let changed = change_file(&target.path, target.new_file, |text| {
        let entry =
            |text: &str| Ok(root_of(text)?.get(SERVERS).and_then(|servers| servers.get(name)).cloned());
        let mut edited = text.to_owned();
        for (field, off) in [("disabled", Value::Bool(true)), ("enabled", Value::Bool(false))] {
            if entry(&edited)?.is_some_and(|entry| entry.get(field) == Some(&off)) {
                edited = remove_entry(&edited, &[SERVERS, name, field])?;
            }
        }
        let changed = edited != text;
        Ok((edited, changed))
    })
    .map_err(TargetError::File)?;
    Ok(changed.then(|| format!("its entry in {} no longer switches it off", words::place(&row.source))))
}

/// Says which other list, pattern or decision still keeps it from connecting.
fn still_held(app: &App, edited: &mut Edited) {
    let derived = app.derived();
    let name = ServerName::from(edited.server.as_str());
    let Some(row) = derived.rows.get(&name) else { return };
    let Err(refusal) = admit_one(&derived.desired(), app.bound(), &name) else { return };
    held(edited, row, refusal, app.background());
}

/// Puts what holds it into the answer.
fn held(edited: &mut Edited, row: &Row, refusal: Refusal, back: Background<'_>) {
    let words = words::of_refusal(&refusal, &row.name, Some(row), back);
    edited.cause = words.cause;
    edited.next_step = words.next_step;
    edited.hash = match refusal {
        Refusal::PendingApproval | Refusal::Rejected => {
            row.approval.as_ref().map(|approval| approval.hash.clone())
        }
        Refusal::SettingsUnreadable { .. }
        | Refusal::UntrustedFolder
        | Refusal::NotAllowed(_)
        | Refusal::Excluded { .. }
        | Refusal::Disabled
        | Refusal::Invalid { .. } => None,
    };
}

#[cfg(test)]
mod tests {
    use qwen_core::Scope;
    use qwen_settings_schema::Dialect;

    use super::*;
    use crate::{
        fixtures,
        settings::{SourceId, edit::NewFile},
    };

    #[test]
    fn who_is_enabled_and_still_held_is_told_by_what() {
        let snapshot = fixtures::restricting_files();
        let target = Target {
            scope: Scope::User,
            source: SourceId::User,
            path: "/home/u/.qwen/settings.json".into(),
            new_file: NewFile::Private,
            dialect: Dialect::Settings,
        };
        for shown in fixtures::every_state() {
            let Some(refusal) = shown.refusal().cloned() else { continue };
            let mut edited = Edited::new("gh", Done::Enabled, &target);
            held(&mut edited, &shown.row, refusal, fixtures::background(&snapshot));
            insta::with_settings!({ snapshot_suffix => shown.label }, {
                fixtures::assert_fits(&render(&edited, output::WIDTH));
                insta::assert_snapshot!("text", render(&edited, output::WIDTH));
                insta::assert_json_snapshot!("json", edited);
            });
        }
    }
}
