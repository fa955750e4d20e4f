//! A home, a project and a system in a temporary folder, and a session started there.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use qwen_approvals::{ApprovalStore as _, FileStore, Verdict};
use qwen_core::{Entry, LaunchBound, Pattern, Wire, admit};
use serde_json::Value;

use crate::{
    derive::{ApproveMcp, Derived, Flags, Launch, Screen, ServerSources, Yolo, derive},
    settings::{Environment, Moment, Origin, Paths, ProjectRoot, Snapshot, load, read_source},
};

pub(super) struct Site {
    folder: Arc<tempfile::TempDir>,
    variables: BTreeMap<String, String>,
    flags: Flags,
}

/// A running session: what it booted from and what it last derived.
pub(super) struct Running {
    pub(super) launch: Launch,
    pub(super) snapshot: Snapshot,
}

impl Site {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home/.qwen", "project/.qwen"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let site = Self { folder: Arc::new(folder), variables: BTreeMap::new(), flags: Flags::default() };
        let system = site.path("system.json").display().to_string();
        site.env("QWEN_CODE_SYSTEM_SETTINGS_PATH", &system)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(super) fn text(self, name: &str, text: &str) -> Self {
        self.write(name, text);
        self
    }

    pub(super) fn file(self, name: &str, content: Value) -> Self {
        self.text(name, &content.to_string())
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(super) fn remove(&self, name: &str) {
        std::fs::remove_file(self.path(name)).unwrap();
    }

    pub(super) fn link(&self, target: &str, name: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).unwrap();
    }

    pub(super) fn env(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(super) fn flag_config(mut self, name: &str, content: Value) -> Self {
        self = self.file(name, content);
        self.flags.mcp_config.push(Origin::File(self.path(name)));
        self
    }

    pub(super) fn flag_inline(mut self, text: &str) -> Self {
        self.flags.mcp_config.push(Origin::Inline(text.to_owned()));
        self
    }

    pub(super) fn with(&self, change: impl FnOnce(&mut Flags)) -> Self {
        let mut flags = self.flags.clone();
        change(&mut flags);
        Self { folder: Arc::clone(&self.folder), variables: self.variables.clone(), flags }
    }

    pub(super) fn strict(&self) -> Self {
        self.with(|flags| flags.servers_from = ServerSources::SessionOnly)
    }

    pub(super) fn yolo(&self) -> Self {
        self.with(|flags| flags.yolo = Yolo::On)
    }

    pub(super) fn interactive(&self) -> Self {
        self.with(|flags| flags.screen = Screen::Interactive)
    }

    pub(super) fn approving(&self, name: &str) -> Self {
        let approve = match name {
            "*" => ApproveMcp::EveryUndecided,
            name => ApproveMcp::Name(name.into()),
        };
        self.with(|flags| flags.approve.push(approve))
    }

    pub(super) fn bound(&self, patterns: &[&str]) -> Self {
        let patterns = patterns.iter().filter_map(|text| Pattern::new(text)).collect();
        self.with(|flags| flags.bound = LaunchBound::Names(patterns))
    }

    pub(super) fn paths(&self) -> (Environment, Paths) {
        let environment = Environment {
            variables: self.variables.clone(),
            home: Some(self.path("home")),
            exe: "/opt/qwen".into(),
            cwd: self.path("project"),
        };
        let root = ProjectRoot::resolve(&environment, None).unwrap();
        let paths = Paths::find(&environment, root).unwrap();
        (environment, paths)
    }

    pub(super) fn start(&self) -> (Running, Derived) {
        let (environment, paths) = self.paths();
        let snapshot = load(&paths.sources(&self.flags.mcp_config));
        let launch = Launch::capture(self.flags.clone(), Arc::new(environment), Arc::new(paths), &snapshot);
        let derived = derive(&snapshot, &launch, None);
        (Running { launch, snapshot }, derived)
    }

    /// Reads everything again, as the running session does.
    pub(super) fn reload(&self, running: &mut Running, previous: &Derived) -> Derived {
        for spec in running.launch.paths.sources(&self.flags.mcp_config) {
            let before = running.snapshot.get(spec.id).cloned();
            let file = read_source(&spec, before.as_deref(), Moment::Reload);
            running.snapshot = running.snapshot.with(Arc::new(file));
        }
        let derived = derive(&running.snapshot, &running.launch, Some(previous));
        // Whatever is kept of the last time, the result is that of a derivation which keeps nothing.
        let fresh = derive(&running.snapshot, &running.launch, None);
        assert_eq!(format!("{derived:?}"), format!("{fresh:?}"));
        assert!(derived.servers == fresh.servers && derived.diagnostics == fresh.diagnostics);
        derived
    }

    /// Decides about the entry of this name that waits, or that counts.
    pub(super) fn decide(&self, derived: &Derived, name: &str, verdict: Verdict) {
        let (hash, written) = question(derived, name);
        let store = FileStore::open(self.path("home/.qwen/mcpApprovals.json"));
        store.decide(&self.path("project"), name, hash.parse().unwrap(), verdict, &written).unwrap();
    }

    /// `name reason` for each server, as core would decide.
    pub(super) fn verdicts(&self, derived: &Derived) -> String {
        let verdicts = admit(&derived.desired(), &self.flags.bound);
        let words = verdicts.iter().map(|(name, verdict)| {
            format!("{name} {}", verdict.as_ref().map_or_else(|refusal| refusal.as_str(), |_| "connect"))
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// The command line that would run.
    pub(super) fn argv<'a>(&self, derived: &'a Derived, name: &str) -> Vec<&'a str> {
        let Wire::Stdio(stdio) = wire(derived, name) else { panic!("{name} is no program") };
        std::iter::once(&stdio.command).chain(&stdio.args).map(String::as_str).collect()
    }
}

pub(super) fn wire<'a>(derived: &'a Derived, name: &str) -> &'a Wire {
    match &derived.servers[name] {
        Entry::Valid(spec) => spec.wire(),
        Entry::Invalid(invalid) => panic!("{name} is invalid: {}", invalid.why),
    }
}

pub(super) fn root_of(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Hash and entry of what `approve NAME` means, or of the entry that counts.
fn question(derived: &Derived, name: &str) -> (String, Value) {
    match derived.promptable.get(name) {
        Some(asked) => (asked.hash.clone(), (**asked.written.value()).clone()),
        None => {
            let row = &derived.rows[name];
            (row.approval.as_ref().unwrap().hash.clone(), (**row.written.value()).clone())
        }
    }
}
