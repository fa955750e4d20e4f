//! How a playground comes to be: a home and a project with demo servers in a folder, and what to type in a second
//! terminal. Files that are already there stay as they are.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    args::{DemoArgs, Global},
    exit::Exit,
    output,
    settings::Environment,
    text::shell_word,
    tui,
};

/// The folders of a playground.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Playground {
    /// The folder that holds both.
    pub(crate) folder: PathBuf,
    /// What `QWEN_HOME` is in it.
    pub(crate) qwen_home: PathBuf,
    /// The project folder.
    pub(crate) project: PathBuf,
}

/// Why there is no playground.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlaygroundError {
    /// A folder or a file could not be made.
    #[error("make the playground in {}; name another folder with `qwen demo DIR`", folder.display())]
    Write {
        /// Where.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Makes the playground, says what to type, and runs a session in it.
pub(crate) fn run(global: &Global, args: &DemoArgs) -> Exit {
    let environment = match Environment::of_process() {
        Ok(environment) => environment,
        Err(error) => return output::fail(&error, Exit::Failed),
    };
    let playground = match make(args.dir.as_deref()) {
        Ok(playground) => playground,
        Err(error) => return output::fail(&error, Exit::Failed),
    };
    output::print(&playground.instructions(&environment.exe));
    let global = Global { cwd: Some(playground.project.clone()), ..global.clone() };
    tui::run_in(playground.surroundings(environment), &global)
}

/// Makes the playground in `folder`, or in a new temporary folder that is kept.
///
/// # Errors
/// The folder cannot be written.
pub(crate) fn make(folder: Option<&Path>) -> Result<Playground, PlaygroundError> {
    let wanted = folder.map_or_else(std::env::temp_dir, Path::to_path_buf);
    let failed = |source| PlaygroundError::Write { folder: wanted.clone(), source };
    let folder = match folder {
        Some(folder) => folder.to_path_buf(),
        None => tempfile::Builder::new().prefix("qwen-demo-").tempdir().map_err(failed)?.keep(),
    };
    let playground = Playground::below(&folder);
    playground.write().map_err(failed)?;
    Ok(Playground::below(&fs::canonicalize(&folder).map_err(failed)?))
}

impl Playground {
    fn below(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            qwen_home: folder.join("home").join(".qwen"),
            project: folder.join("project"),
        }
    }

    fn write(&self) -> io::Result<()> {
        fs::create_dir_all(&self.qwen_home)?;
        fs::create_dir_all(&self.project)?;
        write_new(&self.settings(), USER_SETTINGS)?;
        write_new(&self.mcp_json(), PROJECT_SERVERS)
    }

    /// The process's surroundings with the playground's home: decisions made here stay here.
    fn surroundings(&self, mut environment: Environment) -> Environment {
        let home = self.qwen_home.display().to_string();
        environment.variables.insert("QWEN_HOME".to_owned(), home);
        for elsewhere in ["QWEN_CODE_MCP_APPROVALS_PATH", "QWEN_CODE_TRUSTED_FOLDERS_PATH"] {
            environment.variables.remove(elsewhere);
        }
        environment
    }

    fn settings(&self) -> PathBuf {
        self.qwen_home.join("settings.json")
    }

    fn mcp_json(&self) -> PathBuf {
        self.project.join(".mcp.json")
    }

    /// What to read and what to type, `exe` being this program.
    pub(crate) fn instructions(&self, exe: &Path) -> String {
        let word = |path: &Path| shell_word(&path.display().to_string());
        let settings = word(&self.settings());
        let qwen = format!("QWEN_HOME={} {} -C {}", word(&self.qwen_home), word(exe), word(&self.project));
        format!(
            "A playground is in {folder}; it is kept.\n\
             \n\
             Two of its servers are yours and connect at once. A third stands in the project's\n\
             .mcp.json: it waits until you approve it. While the session below runs, type this in a\n\
             second terminal and watch what happens here:\n\
             \n\
             \x20 # change one server: it restarts, the other keeps its process\n\
             \x20 sed -i 's/{TOOLS_BEFORE}/{TOOLS_AFTER}/' {settings}\n\
             \n\
             \x20 # see every server with its state, the cause and the next step\n\
             \x20 {qwen} mcp list\n\
             \n\
             \x20 # allow the project's server\n\
             \x20 {qwen} mcp approve notes\n\
             \n\
             \x20 # break a file: nothing changes; mend it: nothing was lost\n\
             \x20 echo '{{' >> {settings}\n\
             \x20 sed -i '$ d' {settings}\n\
             \n\
             /quit, or Ctrl-C twice, ends the session.\n\n",
            folder = self.folder.display(),
        )
    }
}

/// Writes a file that is not there yet.
fn write_new(path: &Path, content: &str) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    match options.write(true).create_new(true).open(path) {
        Ok(mut file) => io::Write::write_all(&mut file, content.as_bytes()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// One array on one line, as people write it, so that the suggested `sed` finds it.
const USER_SETTINGS: &str = r#"{
  // Your own servers: they connect at once.
  "mcpServers": {
    "clock": { "command": "${QWEN_EXE}", "args": ["demo-server", "--name", "clock", "--tools", "2"] },
    "slow": { "command": "${QWEN_EXE}", "args": ["demo-server", "--name", "slow", "--delay-ms", "1500"] },
  },
}
"#;
const PROJECT_SERVERS: &str = r#"{
  "mcpServers": {
    "notes": { "command": "${QWEN_EXE}", "args": ["demo-server", "--name", "notes"] }
  }
}
"#;
/// What the suggested edit of the user's settings replaces.
const TOOLS_BEFORE: &str = r#""--tools", "2""#;
const TOOLS_AFTER: &str = r#""--tools", "5""#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_playground_has_servers_of_the_user_and_one_of_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let playground = make(Some(&folder.path().join("new"))).unwrap();
        let read = |path: PathBuf| {
            let text = fs::read_to_string(path).unwrap();
            let parsed = jsonc_parser::parse_to_value(&text, &jsonc_parser::ParseOptions::default());
            let Ok(Some(jsonc_parser::JsonValue::Object(root))) = parsed else { panic!("{text}") };
            let servers = root.get_object("mcpServers").unwrap();
            let mut names: Vec<String> =
                servers.clone().into_iter().map(|(name, _)| name.into_owned()).collect();
            names.sort();
            names
        };
        assert_eq!(read(playground.settings()), ["clock", "slow"]);
        assert_eq!(read(playground.mcp_json()), ["notes"]);
    }

    #[test]
    fn a_playground_that_is_there_keeps_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let playground = make(Some(folder.path())).unwrap();
        fs::write(playground.mcp_json(), "{}").unwrap();
        make(Some(folder.path())).unwrap();
        assert_eq!(fs::read_to_string(playground.mcp_json()).unwrap(), "{}");
    }

    #[test]
    fn what_to_type_names_the_playground_in_every_command() {
        let playground = Playground::below(Path::new("/tmp/it's here"));
        insta::assert_snapshot!(playground.instructions(Path::new("/usr/bin/qwen")));
    }

    #[test]
    fn the_edit_that_is_suggested_changes_the_file() {
        assert!(USER_SETTINGS.contains(TOOLS_BEFORE));
    }
}
