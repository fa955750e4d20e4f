//! How are the parts put together? The only file that names a constructor: it reads the process's surroundings, finds
//! the files, reads them once, and hands out the borders of the libraries as trait objects.

mod probe;
mod session;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use qwen_approvals::{ApprovalStore, FileStore};
use qwen_core::{
    Client, CommitError, Config, DirectConnector, Guard, LaunchBound, Manager, Pattern, Pool, ProcessEnv,
    Questions, ServerName,
};
use qwen_settings_schema::SettingsSchema;
use serde_json::Value;
use tokio::runtime::Runtime;

pub(crate) use probe::{Probed, commit, final_phase};
pub(crate) use session::Session;

use crate::{
    args::{ColorChoice, Global},
    derive::{ApproveMcp, Derived, Flags, Launch, Promptable, Screen, ServerSources, Yolo, derive},
    exit::Exit,
    logging::{self, LogError},
    output,
    question::{Question, Surroundings, render_question},
    sessions::Sessions,
    settings::{
        Environment, Origin, PathError, Paths, Presence, ProjectRoot, SettingsWatcher, Snapshot, SourceId,
        WatchOptions, load,
    },
    text::{Paint, visible},
    words::{Background, Prompt},
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
    /// What the files mean, once somebody asked.
    derived: OnceLock<Derived>,
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
    /// The log cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Core ended before it did anything.
    #[error("plan the connections")]
    Core(#[from] CommitError),
    /// A server that this session started would start the session again.
    #[error(
        "start a session in {} below another one of the same project: a server entry there starts qwen itself",
        root.display()
    )]
    Nested {
        /// The project.
        root: PathBuf,
    },
}

impl StartError {
    /// How the command ends.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Surroundings(_) | Self::Core(_) => Exit::Failed,
            Self::Log(_) => Exit::Usage,
            Self::Paths(PathError::InsideProject { .. } | PathError::NoHome) => Exit::Configuration,
            Self::Paths(PathError::NoProjectFolder { .. } | PathError::ProjectIsNoFolder { .. })
            | Self::Nested { .. } => Exit::Usage,
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
        let app = Self::reread_in(environment, global, screen)?;
        app.note_flags();
        Ok(app)
    }

    /// The same once more, after this command changed a file: what there is to say about the flags was said.
    ///
    /// # Errors
    /// As for [`App::open`].
    pub(crate) fn reread(global: &Global, screen: Screen) -> Result<Self, StartError> {
        let environment = Environment::of_process().map_err(StartError::Surroundings)?;
        Self::reread_in(environment, global, screen)
    }

    /// Says on stderr which flags mean more or less than somebody may think.
    fn note_flags(&self) {
        if self.launch.flags.yolo == Yolo::On {
            output::say("qwen: --yolo approves every undecided server for this run; nobody is asked");
        }
        let missing = self.snapshot.sources.values().filter(|source| {
            matches!(source.id, SourceId::Session(_)) && source.presence == Presence::Missing
        });
        for path in missing.filter_map(|source| source.path.as_ref()) {
            let path = path.display().to_string();
            output::say(&format!(
                "qwen: --mcp-config {}: the file does not exist, so that it brings no server",
                visible(&path)
            ));
        }
        for name in self.launch.approves_nothing() {
            let known = self.derived().rows.contains_key(name);
            let why = if known { "that server needs no approval" } else { "no server has that name" };
            output::say(&format!(
                "qwen: --approve-mcp {} changes nothing: {why}; see `qwen mcp list --no-connect`",
                visible(name.as_str())
            ));
        }
    }

    /// As [`App::reread`], in given surroundings.
    ///
    /// # Errors
    /// As for [`App::open`].
    pub(crate) fn reread_in(
        environment: Environment,
        global: &Global,
        screen: Screen,
    ) -> Result<Self, StartError> {
        let log_file = global.log_file.as_ref().map(|file| environment.cwd.join(file));
        logging::start(global.verbose, environment.get("QWEN_LOG"), log_file.as_deref())?;
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
            derived: OnceLock::new(),
        })
    }

    /// What the files mean.
    pub(crate) fn derived(&self) -> &Derived {
        self.derived.get_or_init(|| derive(&self.snapshot, &self.launch, None))
    }

    /// What the words point to.
    pub(crate) fn background(&self) -> Background<'_> {
        Background { snapshot: &self.snapshot, root: self.root(), prompt: Prompt::Shell }
    }

    /// The project.
    pub(crate) fn root(&self) -> &Path {
        self.launch.paths.root.as_path()
    }

    /// The sessions that run on this machine.
    pub(crate) fn sessions(&self) -> Option<Sessions> {
        Sessions::of(&self.launch.environment)
    }

    /// Refuses a session that a server of a session of the same project starts: it would start itself for ever.
    ///
    /// # Errors
    /// This process is such a one.
    pub(crate) fn refuse_inside_own_session(&self) -> Result<(), StartError> {
        let environment = &self.launch.environment;
        let depth: u32 = environment.get(DEPTH).and_then(|depth| depth.parse().ok()).unwrap_or(0);
        // Who does not say of which project it is may be of this one.
        let same = environment.get(ABOVE).is_none_or(|above| Path::new(above) == self.root());
        if depth > 0 && same {
            return Err(StartError::Nested { root: self.root().to_path_buf() });
        }
        Ok(())
    }

    /// What drives everything that waits.
    ///
    /// # Errors
    /// The system gives no threads.
    pub(crate) fn runtime(&self) -> Result<Runtime, StartError> {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(StartError::Surroundings)
    }

    /// Does something that starts servers, until it is done or somebody presses Ctrl-C, which gives `None`. Nothing is
    /// left behind either way.
    ///
    /// # Errors
    /// The system gives no threads, or core ended.
    pub(crate) fn interruptible<T>(
        &self,
        work: impl AsyncFnOnce(Guard) -> Result<T, CommitError>,
    ) -> Result<Option<T>, StartError> {
        let runtime = self.runtime()?;
        let guard = self.guard();
        let done = runtime.block_on(async {
            tokio::select! {
                done = work(guard.clone()) => Ok(Some(done?)),
                _ = tokio::signal::ctrl_c() => Ok(None),
            }
        });
        guard.kill_all_groups();
        match &done {
            // All is done and ended. What is left are threads that wait: they end with the process, and to wake each of
            // them first would only cost time.
            Ok(Some(_)) => std::mem::forget(runtime),
            Ok(None) | Err(_) => runtime.shutdown_background(),
        }
        done
    }

    /// What ends every child when this process ends, however that happens: also on a panic, of which a session could
    /// not recover.
    pub(crate) fn guard(&self) -> Guard {
        let guard = Guard::start(own_executable(&self.launch.environment)).unwrap_or_else(|error| {
            tracing::warn!(%error, "the guard process could not be started; a kill -9 may leave servers behind");
            Guard::without_process()
        });
        let hook_guard = guard.clone();
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            before(panic);
            hook_guard.kill_all_groups();
            std::process::exit(PANICKED);
        }));
        guard
    }

    /// A session of core that connects nothing yet.
    pub(crate) fn config(&self, guard: Guard) -> Arc<dyn Config> {
        self.config_with(guard, None)
    }

    /// The same with somebody who shows what servers ask, where there is one.
    fn config_with(&self, guard: Guard, questions: Option<Arc<dyn Questions>>) -> Arc<dyn Config> {
        let environment = &self.launch.environment;
        let vars = environment.variables.iter().map(|(name, value)| (name.clone(), value.clone()));
        let keys = model_keys(&self.derived().merged.value);
        let mut env = ProcessEnv::from_parent(vars, self.root().to_path_buf(), &keys);
        let above = (ABOVE.to_owned(), self.root().display().to_string());
        for list in [&mut env.full, &mut env.restricted] {
            list.retain(|(name, _)| name != ABOVE);
            list.push(above.clone());
        }
        let client = Client { name: "qwen".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
        let pool = Pool::new(Arc::new(DirectConnector::new(env, guard, client)));
        let connector = Arc::new(pool);
        Arc::new(match questions {
            Some(questions) => Manager::with_questions(self.bound().clone(), connector, questions),
            None => Manager::new(self.bound().clone(), connector),
        })
    }

    /// Watches every file.
    pub(crate) async fn watcher(&self, derived: &Derived) -> SettingsWatcher {
        SettingsWatcher::start(WatchOptions {
            sources: self.sources(),
            booted: self.snapshot.clone(),
            mode: derived.options.watch,
            debounce: derived.options.debounce,
        })
        .await
    }

    fn sources(&self) -> Vec<crate::settings::SourceSpec> {
        self.launch.paths.sources(&self.launch.flags.mcp_config)
    }

    /// The question about an entry, as text for a stream.
    pub(crate) fn question(&self, asked: &Promptable, stream: &impl io::IsTerminal) -> String {
        render_question(&self.question_about(asked), self.paint(stream))
    }

    /// The question about an entry, with what this project and the record know of it.
    pub(crate) fn question_about(&self, asked: &Promptable) -> Question {
        let folder = self.root();
        let project_file = |text: &str| {
            let path = folder.join(text);
            (path.starts_with(folder) && path.is_file()).then_some(path)
        };
        let previous = self.store.previous(folder, asked.name.as_str(), asked.written.value());
        let around = Surroundings {
            project_file: &project_file,
            since_last: previous.as_ref().map(crate::question::since_last),
        };
        Question::about(asked, around)
    }

    /// Whether output to a stream is coloured.
    pub(crate) fn paint(&self, stream: &impl std::io::IsTerminal) -> Paint {
        let environment = &self.launch.environment;
        let no_color = environment.get("NO_COLOR").is_some()
            || environment.get("TERM").is_some_and(|term| term == "dumb");
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

/// How many `qwen` processes stand above this one; core counts it.
const DEPTH: &str = "QWEN_MCP_DEPTH";
/// The project of the session above this process.
const ABOVE: &str = "QWEN_MCP_ROOT";
/// The exit code of a Rust program that panicked.
const PANICKED: i32 = 101;

/// This executable, also after it was replaced by an upgrade.
fn own_executable(environment: &Environment) -> PathBuf {
    if cfg!(target_os = "linux") { PathBuf::from("/proc/self/exe") } else { environment.exe.clone() }
}

/// The variables that settings name as keys of models (`envKey`); no server gets them.
fn model_keys(fields: &serde_json::Map<String, Value>) -> Vec<String> {
    let mut keys = Vec::new();
    // A server entry may use the same word for something of its own.
    for (name, value) in fields.iter().filter(|(name, _)| *name != "mcpServers") {
        match value {
            Value::String(key) if name == "envKey" => keys.push(key.clone()),
            Value::Object(below) => keys.extend(model_keys(below)),
            Value::Array(items) => {
                keys.extend(items.iter().filter_map(Value::as_object).flat_map(model_keys));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    keys
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
