//! Where are the files of one session? The process's environment and the project root as values, read and resolved
//! once; nothing here reads the content of a file.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use super::source::{Origin, SourceId, SourceSpec};

#[cfg(windows)]
const HOME: &str = "USERPROFILE";
#[cfg(not(windows))]
const HOME: &str = "HOME";

/// The process's surroundings as a value: read once at start and passed on, so that everything else is told them.
#[derive(Clone, Default)]
pub struct Environment {
    /// Variables whose name and value are text; others cannot be named in a settings file.
    pub variables: BTreeMap<String, String>,
    /// The user's home folder (`HOME`), where there is one.
    pub home: Option<PathBuf>,
    /// The running executable.
    pub exe: PathBuf,
    /// The folder in which the process was started; relative paths on the command line start here.
    pub cwd: PathBuf,
}

impl Environment {
    /// Reads the surroundings of this process. For `main` alone.
    ///
    /// # Errors
    /// The working folder or the executable cannot be found.
    pub fn of_process() -> Result<Self, std::io::Error> {
        let variables: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        // What the variable says and nothing else, so that `~` means what a shell makes of it.
        let home = variables.get(HOME).map(PathBuf::from).filter(|home| home.is_absolute());
        Ok(Self { variables, home, exe: std::env::current_exe()?, cwd: std::env::current_dir()? })
    }

    /// The value of a variable; an empty one counts as unset.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(|text| self.cwd.join(text))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("variables", &self.variables.len())
            .field("home", &self.home)
            .field("exe", &self.exe)
            .field("cwd", &self.cwd)
            .finish()
    }
}

/// The canonical working folder, resolved once and used for everything: approvals are written and read under it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProjectRoot(Arc<Path>);

impl ProjectRoot {
    /// Resolves `folder`, relative to the process's folder. The only way to make one.
    ///
    /// # Errors
    /// The folder does not exist, cannot be entered, or is not a folder.
    pub fn resolve(environment: &Environment, folder: Option<&Path>) -> Result<Self, PathError> {
        let wanted = folder.map_or_else(|| environment.cwd.clone(), |folder| environment.cwd.join(folder));
        let canonical = std::fs::canonicalize(&wanted)
            .map_err(|source| PathError::NoProjectFolder { path: wanted.clone(), source })?;
        if !canonical.is_dir() {
            return Err(PathError::ProjectIsNoFolder { path: wanted });
        }
        Ok(Self(canonical.into()))
    }

    /// The folder.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for ProjectRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

/// Why a session cannot start here.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// The working folder cannot be resolved.
    #[error("open the project folder {}; name an existing folder with --cwd", path.display())]
    NoProjectFolder {
        /// As asked for.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The working folder is a file.
    #[error("use {} as the project folder, since it is not a folder; name a folder with --cwd", path.display())]
    ProjectIsNoFolder {
        /// As asked for.
        path: PathBuf,
    },
    /// A repository must not hold its own approvals or its user's settings. Exit code 4.
    #[error(
        "use {} as the {what}, since it lies inside the project {root}; move it out of the project or unset {variable}",
        path.display()
    )]
    InsideProject {
        /// Which file, in words.
        what: &'static str,
        /// Where it was looked for.
        path: PathBuf,
        /// The project.
        root: ProjectRoot,
        /// The variable that leads there.
        variable: &'static str,
    },
    /// Neither `HOME` nor `QWEN_HOME` says where the user's files are. Exit code 4.
    #[error("find the home folder; set HOME or QWEN_HOME")]
    NoHome,
}

/// Every file of one session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Paths {
    /// The canonical working folder.
    pub root: ProjectRoot,
    /// `system-defaults.json`
    pub system_defaults: PathBuf,
    /// `~/.qwen/settings.json`
    pub user: PathBuf,
    /// `~/.qwen/.env`
    pub user_env: PathBuf,
    /// `<root>/.mcp.json`
    pub mcp_json: PathBuf,
    /// `<root>/.qwen/settings.json`; `None` where the root is the home folder.
    pub workspace: Option<PathBuf>,
    /// `/etc/qwen-code/settings.json`
    pub system: PathBuf,
    /// `~/.qwen/mcpApprovals.json`
    pub approvals: PathBuf,
    /// `~/.qwen/trustedFolders.json`
    pub trusted_folders: PathBuf,
}

#[cfg(target_os = "macos")]
const SYSTEM_FOLDER: &str = "/Library/Application Support/QwenCode";
#[cfg(windows)]
const SYSTEM_FOLDER: &str = r"C:\ProgramData\qwen-code";
#[cfg(not(any(target_os = "macos", windows)))]
const SYSTEM_FOLDER: &str = "/etc/qwen-code";

impl Paths {
    /// Finds every file, and refuses a store or user settings that the project could have written.
    ///
    /// # Errors
    /// There is no home folder, or a file that belongs to the user lies inside the project.
    pub fn find(environment: &Environment, root: ProjectRoot) -> Result<Self, PathError> {
        let tool_home = match (environment.path("QWEN_HOME"), &environment.home) {
            (Some(folder), _) => folder,
            (None, Some(home)) => home.join(".qwen"),
            (None, None) => return Err(PathError::NoHome),
        };
        let system = environment
            .path("QWEN_CODE_SYSTEM_SETTINGS_PATH")
            .unwrap_or_else(|| Path::new(SYSTEM_FOLDER).join("settings.json"));
        let system_defaults = environment.path("QWEN_CODE_SYSTEM_DEFAULTS_PATH").unwrap_or_else(|| {
            system.parent().unwrap_or_else(|| Path::new("/")).join("system-defaults.json")
        });
        let at_home =
            environment.home.as_deref().is_some_and(|home| canonical_or_lexical(home) == root.as_path());
        let paths = Self {
            system_defaults,
            user: tool_home.join("settings.json"),
            user_env: tool_home.join(".env"),
            mcp_json: root.as_path().join(".mcp.json"),
            workspace: (!at_home).then(|| root.as_path().join(".qwen").join("settings.json")),
            system,
            approvals: environment
                .path("QWEN_CODE_MCP_APPROVALS_PATH")
                .unwrap_or_else(|| tool_home.join("mcpApprovals.json")),
            trusted_folders: environment
                .path("QWEN_CODE_TRUSTED_FOLDERS_PATH")
                .unwrap_or_else(|| tool_home.join("trustedFolders.json")),
            root,
        };
        paths.refuse_inside_project(environment)?;
        Ok(paths)
    }

    /// Every source of a session with these `--mcp-config` values, in order.
    #[must_use]
    pub fn sources(&self, session: &[Origin]) -> Vec<SourceSpec> {
        let files = [
            (SourceId::SystemDefaults, Some(&self.system_defaults)),
            (SourceId::User, Some(&self.user)),
            (SourceId::McpJson, Some(&self.mcp_json)),
            (SourceId::Workspace, self.workspace.as_ref()),
            (SourceId::System, Some(&self.system)),
            (SourceId::UserEnv, Some(&self.user_env)),
            (SourceId::Approvals, Some(&self.approvals)),
            (SourceId::TrustedFolders, Some(&self.trusted_folders)),
        ];
        let files = files
            .into_iter()
            .filter_map(|(id, path)| Some(SourceSpec { id, origin: Origin::File(path?.clone()) }));
        let session = session
            .iter()
            .enumerate()
            .map(|(n, origin)| SourceSpec { id: SourceId::Session(n), origin: origin.clone() });
        files.chain(session).collect()
    }

    /// Exempt: the root is the home folder or an ancestor of it, where everything of the user's lies inside.
    fn refuse_inside_project(&self, environment: &Environment) -> Result<(), PathError> {
        let root = self.root.as_path();
        if environment.home.as_deref().is_some_and(|home| canonical_or_lexical(home).starts_with(root)) {
            return Ok(());
        }
        let guarded = [
            ("user settings", &self.user, "QWEN_HOME"),
            ("user variables", &self.user_env, "QWEN_HOME"),
            ("approval store", &self.approvals, "QWEN_CODE_MCP_APPROVALS_PATH"),
            ("trusted folders", &self.trusted_folders, "QWEN_CODE_TRUSTED_FOLDERS_PATH"),
        ];
        for (what, path, variable) in guarded {
            if is_inside(path, root) {
                return Err(PathError::InsideProject {
                    what,
                    path: path.clone(),
                    root: self.root.clone(),
                    variable,
                });
            }
        }
        Ok(())
    }
}

/// Whether `path` lies below `root`, as spelt or with links followed. `root` is canonical.
#[must_use]
pub(crate) fn is_inside(path: &Path, root: &Path) -> bool {
    lexical(path).starts_with(root) || canonical_or_lexical(path).starts_with(root)
}

/// The canonical form of the longest existing part of a path, with the rest appended.
#[must_use]
pub(crate) fn canonical_or_lexical(path: &Path) -> PathBuf {
    let path = lexical(path);
    for ancestor in path.ancestors() {
        if let Ok(canonical) = std::fs::canonicalize(ancestor) {
            // An empty remainder must not add a trailing separator.
            return match path.strip_prefix(ancestor) {
                Ok(rest) if rest.as_os_str().is_empty() => canonical,
                Ok(rest) => canonical.join(rest),
                Err(_) => path,
            };
        }
    }
    path
}

/// The path without `.` and with `..` taken literally; for paths that need not exist.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests;
