//! How are the parts put together? The only file that names a constructor: it reads the process's surroundings, finds
//! the files, reads them once, and hands out the borders of the libraries as trait objects.

use std::{path::Path, sync::Arc};

use qwen_approvals::{ApprovalStore, FileStore};
use qwen_core::{LaunchBound, Pattern, ServerName};
use qwen_settings_schema::SettingsSchema;

use crate::{
    args::{ColorChoice, Global},
    derive::{ApproveMcp, Derived, Flags, Launch, Screen, ServerSources, Yolo, derive},
    exit::Exit,
    settings::{Environment, Origin, PathError, Paths, ProjectRoot, Snapshot, load},
    text::Paint,
    words::Background,
};

/// Everything that a command starts with: the files as they were at start, and where decisions are kept.
pub(crate) struct App {
    /// The flags and what was fixed at start.
    pub(crate) launch: Launch,
    /// The files as they were at start.
    pub(crate) snapshot: Snapshot,
    /// The settings as data.
    pub(crate) schema: Arc<dyn SettingsSchema>,
    /// Where decisions are kept.
    pub(crate) store: Arc<dyn ApprovalStore>,
    color: ColorChoice,
}

/// Why a command could not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// The process has no working folder, or cannot find its own executable.
    #[error("find out where this process runs")]
    Surroundings(#[source] std::io::Error),
    /// The files of this session cannot be where they are.
    #[error(transparent)]
    Paths(#[from] PathError),
}

impl StartError {
    /// How the command ends.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Surroundings(_) => Exit::Failed,
            Self::Paths(PathError::InsideProject { .. } | PathError::NoHome) => Exit::Configuration,
            Self::Paths(PathError::NoProjectFolder { .. } | PathError::ProjectIsNoFolder { .. }) => {
                Exit::Usage
            }
        }
    }
}

impl App {
    /// Reads every file once.
    ///
    /// # Errors
    /// There is no such project folder, or a file of the user's lies where a project could write it.
    pub(crate) fn open(global: &Global, screen: Screen) -> Result<Self, StartError> {
        let environment = Environment::of_process().map_err(StartError::Surroundings)?;
        Self::open_in(environment, global, screen)
    }

    /// The same in given surroundings.
    ///
    /// # Errors
    /// As for [`App::open`].
    pub(crate) fn open_in(
        environment: Environment,
        global: &Global,
        screen: Screen,
    ) -> Result<Self, StartError> {
        let root = ProjectRoot::resolve(&environment, global.cwd.as_deref())?;
        let paths = Paths::find(&environment, root)?;
        let flags = flags(global, &environment.cwd, screen);
        let snapshot = load(&paths.sources(&flags.mcp_config));
        let store: Arc<dyn ApprovalStore> = Arc::new(FileStore::open(paths.approvals.clone()));
        let launch = Launch::capture(flags, Arc::new(environment), Arc::new(paths), &snapshot);
        Ok(Self {
            launch,
            snapshot,
            schema: qwen_settings_schema::schema().into(),
            store,
            color: global.color,
        })
    }

    /// What the files mean.
    pub(crate) fn derived(&self) -> Derived {
        derive(&self.snapshot, &self.launch, None)
    }

    /// What the words point to.
    pub(crate) fn background(&self) -> Background<'_> {
        Background { snapshot: &self.snapshot, root: self.root() }
    }

    /// The project.
    pub(crate) fn root(&self) -> &Path {
        self.launch.paths.root.as_path()
    }

    /// Whether output to a stream is coloured.
    pub(crate) fn paint(&self, stream: &impl std::io::IsTerminal) -> Paint {
        let no_color = self.launch.environment.get("NO_COLOR").is_some();
        match self.color {
            ColorChoice::Always => Paint::Colour,
            ColorChoice::Never => Paint::Plain,
            ColorChoice::Auto if no_color || !stream.is_terminal() => Paint::Plain,
            ColorChoice::Auto => Paint::Colour,
        }
    }

    /// The bound given at launch.
    pub(crate) fn bound(&self) -> &LaunchBound {
        &self.launch.flags.bound
    }
}

/// What the command line means. Relative paths are relative to the process's folder, not to `--cwd`.
fn flags(global: &Global, cwd: &Path, screen: Screen) -> Flags {
    let bound = match &global.allowed_mcp_server_names {
        None => LaunchBound::Unbounded,
        Some(names) => LaunchBound::Names(names.iter().filter_map(|name| Pattern::new(name)).collect()),
    };
    let mcp_config = global.mcp_config.iter().map(|text| origin(text, cwd)).collect();
    let approve = global.approve_mcp.iter().map(|name| approve_mcp(name)).collect();
    Flags {
        bound,
        mcp_config,
        servers_from: if global.strict_mcp_config { ServerSources::SessionOnly } else { ServerSources::All },
        approve,
        yolo: if global.yolo { Yolo::On } else { Yolo::Off },
        screen,
    }
}

fn origin(text: &str, cwd: &Path) -> Origin {
    if text.trim_start().starts_with('{') {
        Origin::Inline(text.to_owned())
    } else {
        Origin::File(cwd.join(text))
    }
}

fn approve_mcp(name: &str) -> ApproveMcp {
    match name {
        "*" => ApproveMcp::EveryUndecided,
        name => ApproveMcp::Name(ServerName::from(name)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn an_empty_launch_bound_admits_nobody_and_an_absent_one_everybody() {
        let bound = |names: Option<&[&str]>| {
            let names = names.map(|names| names.iter().map(|&name| name.to_owned()).collect());
            let global = Global { allowed_mcp_server_names: names, ..Global::default() };
            flags(&global, Path::new("/"), Screen::Headless).bound
        };
        assert_eq!(bound(None), LaunchBound::Unbounded);
        assert_eq!(bound(Some(&[""])), LaunchBound::Names(BTreeSet::new()));
        let one = LaunchBound::Names(Pattern::new("a").into_iter().collect());
        assert_eq!(bound(Some(&[" a ", ""])), one);
    }

    #[test]
    fn a_relative_mcp_config_belongs_to_the_folder_of_the_process() {
        assert_eq!(origin("x.json", Path::new("/here")), Origin::File("/here/x.json".into()));
        assert_eq!(origin(" {}", Path::new("/here")), Origin::Inline(" {}".to_owned()));
    }

    #[test]
    fn a_star_approves_every_undecided_server_and_any_other_word_is_a_name() {
        assert_eq!(approve_mcp("*"), ApproveMcp::EveryUndecided);
        assert_eq!(approve_mcp("a*"), ApproveMcp::Name(ServerName::from("a*")));
    }
}
