//! A place of its own for one test: a home, a project, an empty system folder, and a cleared environment.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    processes::{Process, marked},
    save::replace,
    wait::{BOUND, wait_until},
    watch::Watch,
};

/// A program of this package, built beside the test that asks.
///
/// # Panics
/// When it was not built.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    let exe = std::env::current_exe().expect("a test knows its own path");
    let mut folder = exe.parent().expect("a file has a folder");
    if folder.ends_with("deps") {
        folder = folder.parent().expect("deps has a parent");
    }
    let path = folder.join(name);
    assert!(path.exists(), "{} is not built: run the tests of the whole package", path.display());
    path
}

/// A home and a project for one test. Dropping it ends every process that carries its mark.
#[derive(Debug)]
pub struct Sandbox {
    root: PathBuf,
    _folder: TempDir,
}

/// A command that ran to its end.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it said beside.
    pub stderr: String,
}

impl Ran {
    /// Its output as one JSON document.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|problem| panic!("{problem} in {self:#?}"))
    }

    /// The row of one server in `mcp list --json` or `mcp plan --json`.
    ///
    /// # Panics
    /// When there is not exactly one.
    #[must_use]
    pub fn row(&self, server: &str) -> Value {
        let document = self.json();
        let rows = document["servers"].as_array().unwrap_or_else(|| panic!("no servers in {self:#?}"));
        let named: Vec<&Value> = rows.iter().filter(|row| row["name"] == server).collect();
        assert_eq!(named.len(), 1, "one row of {server} in {document:#}");
        named[0].clone()
    }

    /// The state of one server in `mcp list --json`.
    ///
    /// # Panics
    /// When it has no row.
    #[must_use]
    pub fn state(&self, server: &str) -> String {
        self.row(server)["state"].as_str().unwrap_or("null").to_owned()
    }

    /// Itself, when it ended with this code.
    ///
    /// # Panics
    /// When it did not.
    pub fn ended_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Sandbox {
    /// An empty home and an empty project.
    ///
    /// # Panics
    /// When the temporary folder cannot be used.
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("qwen-test-").tempdir().expect("a temporary folder");
        let root = fs::canonicalize(folder.path()).expect("it exists");
        let sandbox = Self { root, _folder: folder };
        for folder in [sandbox.home(), sandbox.project(), sandbox.temp(), sandbox.root.join("etc")] {
            fs::create_dir_all(folder).expect("the sandbox can be made");
        }
        sandbox
    }

    /// The folder that holds everything; also the mark of its processes.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
    /// The home folder.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }
    /// The project folder, where commands run.
    #[must_use]
    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }
    /// `TMPDIR` of everything that runs here.
    #[must_use]
    pub fn temp(&self) -> PathBuf {
        self.root.join("tmp")
    }
    /// User settings.
    #[must_use]
    pub fn user(&self) -> PathBuf {
        self.home().join(".qwen/settings.json")
    }
    /// Workspace settings.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.project().join(".qwen/settings.json")
    }
    /// The project's servers.
    #[must_use]
    pub fn mcp_json(&self) -> PathBuf {
        self.project().join(".mcp.json")
    }
    /// System settings.
    #[must_use]
    pub fn system(&self) -> PathBuf {
        self.root.join("etc/settings.json")
    }
    /// System defaults; the harness's barrier lives here.
    #[must_use]
    pub fn system_defaults(&self) -> PathBuf {
        self.root.join("etc/system-defaults.json")
    }
    /// The approvals record.
    #[must_use]
    pub fn approvals(&self) -> PathBuf {
        self.home().join(".qwen/mcpApprovals.json")
    }
    /// The trusted-folders record.
    #[must_use]
    pub fn trusted_folders(&self) -> PathBuf {
        self.home().join(".qwen/trustedFolders.json")
    }
    /// Where the servers of this sandbox write their lives.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.root.join("fake.log")
    }

    /// Saves a document in one step, as by a rename.
    pub fn write(&self, path: &Path, document: &Value) {
        replace(path, &format!("{document:#}\n"));
    }

    /// Makes these the servers of the user settings, and nothing else.
    pub fn user_servers(&self, servers: &Value) {
        self.write(&self.user(), &json!({ "mcpServers": servers }));
    }

    /// Makes these the servers of `.mcp.json`.
    pub fn project_servers(&self, servers: &Value) {
        self.write(&self.mcp_json(), &json!({ "mcpServers": servers }));
    }

    /// An entry that runs `fake-mcp` with this name, its record, and these flags.
    #[must_use]
    pub fn fake(&self, name: &str, flags: &[&str]) -> Value {
        let mut args = vec![json!("--name"), json!(name), json!("--log"), json!(self.log_path())];
        args.extend(flags.iter().map(|flag| json!(flag)));
        json!({ "command": program("fake-mcp"), "args": args })
    }

    /// An entry that runs `fake-mcp` under a shell script, in which `$0 "$@"` is the server.
    #[must_use]
    pub fn fake_under_sh(&self, name: &str, script: &str, flags: &[&str]) -> Value {
        let inner = self.fake(name, flags);
        let mut args = vec![json!("-c"), json!(script), inner["command"].clone()];
        args.extend(inner["args"].as_array().cloned().unwrap_or_default());
        json!({ "command": "sh", "args": args })
    }

    /// What the servers wrote so far.
    #[must_use]
    pub fn log(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.log_path()).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The lines of one server and one kind, such as `spawn` or `call`.
    #[must_use]
    pub fn logged(&self, server: &str, event: &str) -> Vec<Value> {
        self.log().into_iter().filter(|line| line["name"] == server && line["event"] == event).collect()
    }

    /// How often each call of a server was executed, by the text it was called with.
    #[must_use]
    pub fn executions(&self, server: &str) -> BTreeMap<String, usize> {
        let mut count = BTreeMap::new();
        for call in self.logged(server, "call") {
            let text = call["arguments"]["text"].as_str().unwrap_or_default().to_owned();
            *count.entry(text).or_default() += 1;
        }
        count
    }

    /// How often a server was started.
    #[must_use]
    pub fn spawns(&self, server: &str) -> usize {
        self.logged(server, "spawn").len()
    }

    /// The program with these arguments, in the project, with nothing but this sandbox in its environment.
    #[must_use]
    pub fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        // No controlling terminal, and its process id names its process group.
        setsid(&self.command_of_this_session(args), &[])
    }

    /// The same in the session of the test itself.
    pub(crate) fn command_of_this_session<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
    ) -> Command {
        let mut command = Command::new(program("qwen-under-test"));
        command
            .args(args)
            .current_dir(self.project())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LANG", "C.UTF-8")
            .env("HOME", self.home())
            .env("TMPDIR", self.temp())
            .env("XDG_STATE_HOME", self.root.join("state"))
            .env("QWEN_CODE_SYSTEM_SETTINGS_PATH", self.system())
            .env("QWEN_CODE_SYSTEM_DEFAULTS_PATH", self.system_defaults())
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    ///
    /// # Panics
    /// When it does not end within the bound.
    pub fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ran {
        finish(&mut self.command(args))
    }

    /// Starts `mcp watch --json`.
    #[must_use]
    pub fn watch(&self) -> Watch {
        self.watch_with(&[])
    }

    /// Starts `mcp watch --json` with these arguments as well.
    #[must_use]
    pub fn watch_with(&self, args: &[&str]) -> Watch {
        let mut command = self.command(args);
        command.args(["mcp", "watch", "--json"]);
        Watch::start(command, self)
    }

    /// Everything alive that belongs to this sandbox.
    #[must_use]
    pub fn processes(&self) -> Vec<Process> {
        marked(&self.root)
    }

    /// Waits until nothing of this sandbox runs.
    ///
    /// # Panics
    /// When something still does at the bound.
    pub fn wait_for_no_process(&self, bound: std::time::Duration) {
        let mut last = Vec::new();
        let end = std::time::Instant::now() + bound;
        wait_until(bound + BOUND, "the sandbox to be empty", || {
            last = self.processes();
            assert!(
                last.is_empty() || std::time::Instant::now() < end,
                "still there after {bound:?}: {last:#?}"
            );
            last.is_empty().then_some(())
        });
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // A process may start another one while this looks; a few rounds catch it.
        for _ in 0..3 {
            for process in self.processes() {
                kill(process.pid, Signal::KILL);
            }
        }
    }
}

/// The same command in a session of its own. `setsid` becomes the program, so its process id is the program's.
pub(crate) fn setsid(command: &Command, flags: &[&str]) -> Command {
    let mut inner = Command::new("setsid");
    inner.args(flags).arg(command.get_program()).args(command.get_args());
    inner.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        inner.current_dir(folder);
    }
    inner.stdin(Stdio::null());
    inner
}

/// Sends a signal to a process that may already be gone.
pub(crate) fn kill(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // Gone is as good as killed.
        kill_process(pid, signal).ok();
    }
}

fn finish(command: &mut Command) -> Ran {
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be started");
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let read = |stream: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut stream) = stream {
                stream.read_to_end(&mut bytes).ok();
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let stdout = read(stdout.map(|stream| Box::new(stream) as Box<dyn std::io::Read + Send>));
    let stderr = read(stderr.map(|stream| Box::new(stream) as Box<dyn std::io::Read + Send>));
    let status = wait_until(BOUND, &format!("{command:?} to end"), || child.try_wait().ok().flatten());
    Ran {
        code: status.code(),
        stdout: stdout.join().expect("the reader ends"),
        stderr: stderr.join().expect("the reader ends"),
    }
}
