//! `qwen mcp remove`: takes one entry out of one file.

use super::{
    approve::unknown,
    target::{Done, Edited, SERVERS, Target, TargetError, Telling, tell},
};
use crate::{
    app::App,
    args::{Global, RemoveArgs},
    derive::Screen,
    exit::Exit,
    output,
    settings::edit::{change_file, remove_entry, root_of},
    text::visible,
    words,
};

/// Why nothing was removed.
#[derive(Debug, thiserror::Error)]
enum RemoveError {
    #[error("choose between {}; name one with --scope", .0.join(" and "))]
    Several(Vec<String>),
    #[error(
        "remove {name} from {place}, which is not one of your project's or your own files; edit it by hand"
    )]
    NotOurs { name: String, place: String },
    #[error("remove it: {0}")]
    Unknown(String),
    #[error("find {name} in {place}{elsewhere}")]
    NotThere { name: String, place: String, elsewhere: String },
    #[error(transparent)]
    Target(#[from] TargetError),
}

impl RemoveError {
    fn exit(&self) -> Exit {
        match self {
            Self::Several(_) => Exit::Usage,
            Self::NotOurs { .. } | Self::Unknown(_) | Self::NotThere { .. } | Self::Target(_) => Exit::Failed,
        }
    }
}

/// Removes the entry.
pub(crate) fn run(global: &Global, args: &RemoveArgs) -> Exit {
    let app = match App::open(global, Screen::Headless) {
        Ok(app) => app,
        Err(error) => return output::fail(&error, error.exit()),
    };
    let telling = if args.json { Telling::Json } else { Telling::Text };
    match target(&app, args).and_then(|target| remove(&app, &args.name, &target)) {
        Ok(edited) => tell(&edited, telling),
        Err(error) => output::fail(&error, error.exit()),
    }
}

/// The one file that has the name, unless it was said which.
fn target(app: &App, args: &RemoveArgs) -> Result<Target, RemoveError> {
    if let Some(scope) = args.scope {
        return Ok(Target::of(app, scope)?);
    }
    let mut holders: Vec<Target> =
        Target::all(app).into_iter().filter(|target| target.has(app, &args.name)).collect();
    match (holders.pop(), holders.as_slice()) {
        (Some(only), []) => Ok(only),
        (Some(last), more) => {
            let said = more
                .iter()
                .chain([&last])
                .map(|target| format!("{} ({})", target.scope, target.path.display()));
            Err(RemoveError::Several(said.collect()))
        }
        (None, _) => {
            // A file that cannot be read shows no name; whoever edits it is told what is wrong with it.
            let broken = Target::all(app).into_iter().find(|target| target.is_broken(app));
            match (app.derived().rows.get(args.name.as_str()), broken) {
                (_, Some(broken)) => Ok(broken),
                (Some(row), None) => Err(RemoveError::NotOurs {
                    name: visible(&args.name).into_owned(),
                    place: words::place(&row.source),
                }),
                (None, None) => Err(RemoveError::Unknown(unknown(app.derived(), &args.name))),
            }
        }
    }
}

fn remove(app: &App, name: &str, target: &Target) -> Result<Edited, RemoveError> {
    let path = [SERVERS, name];
    let was_there = change_file(&target.path, target.new_file, |text| {
        let was_there = root_of(text)?.get(SERVERS).and_then(|servers| servers.get(name)).is_some();
        Ok((if was_there { remove_entry(text, &path)? } else { text.to_owned() }, was_there))
    })
    .map_err(TargetError::File)?;
    if was_there {
        return Ok(Edited::new(name, Done::Removed, target));
    }
    let elsewhere = Target::all(app).into_iter().find(|other| other.has(app, name));
    Err(RemoveError::NotThere {
        name: visible(name).into_owned(),
        place: visible(&target.path.display().to_string()).into_owned(),
        elsewhere: elsewhere.map(|other| there(&other)).unwrap_or_default(),
    })
}

fn there(other: &Target) -> String {
    format!("; it stands in {}: use --scope {}", other.path.display(), other.scope)
}

#[cfg(test)]
mod tests {
    use std::{io, path::PathBuf};

    use qwen_core::Scope;
    use qwen_settings_schema::Dialect;

    use super::*;
    use crate::settings::{
        Place, SourceId,
        edit::{EditError, FileError, NewFile},
    };

    #[test]
    fn whatever_is_not_removed_is_said_with_what_to_do_instead() {
        let (name, place) = (|| "gh".to_owned(), || "/p/.mcp.json".to_owned());
        let other = Target {
            scope: Scope::User,
            source: SourceId::User,
            path: "/home/u/.qwen/settings.json".into(),
            new_file: NewFile::Private,
            dialect: Dialect::Settings,
        };
        let path = || PathBuf::from("/p/.mcp.json");
        let broken = || EditError::Broken {
            place: Place { line: 3, column: 7 },
            message: "expected a comma".to_owned(),
        };
        let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
        let several = ["project (/p/.mcp.json)", "user (/home/u/.qwen/settings.json)"];
        let errors = [
            RemoveError::Several(several.map(str::to_owned).to_vec()),
            RemoveError::NotOurs { name: name(), place: "/etc/qwen-code/settings.json:3".to_owned() },
            RemoveError::Unknown("no server named gh is configured; did you mean git?".to_owned()),
            RemoveError::NotThere { name: name(), place: place(), elsewhere: String::new() },
            RemoveError::NotThere { name: name(), place: place(), elsewhere: there(&other) },
            RemoveError::Target(TargetError::HomeHasNoWorkspace),
            RemoveError::Target(FileError::Edit { path: path(), source: broken() }.into()),
            RemoveError::Target(FileError::Busy { path: path(), lock: "/p/.mcp.json.lock".into() }.into()),
            RemoveError::Target(FileError::Write { path: path(), source: denied() }.into()),
        ];
        let said =
            errors.map(|error| format!("{} (exit {})\n", output::failure(&error), error.exit().code()));
        insta::assert_snapshot!(said.concat());
    }
}
