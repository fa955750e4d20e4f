//! A state as a line of text, and the files, the meaning and the core of a world that tests can hold in their hands.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use qwen_core::{
    AllowList, AllowedNames, CommitError, Decision, Desired, Entry, FolderTrust, InvalidEntry, LaunchBound,
    Pattern, Pending, Scope, ServerName, Status, Switch, Unavailable, testing,
};
use serde_json::json;
use tokio::sync::Semaphore;

use super::target::{Files, Target};
use crate::{
    derive::{AutoReload, Derived, Promptable, Source, Written},
    fixtures,
    settings::{Snapshot, SourceId},
};

/// An entry as a few letters: its command, then `-` off, `!` invalid, `?` gated and undecided, `+` gated and approved.
pub(super) fn entry(text: &str) -> Entry {
    let (command, marks) = text.split_at(1);
    let mut spec = testing::spec(Scope::User, command);
    for mark in marks.chars() {
        spec = match mark {
            '-' => spec.switched(Switch::Off),
            '?' => spec.decided(Decision::Undecided),
            '+' => spec.decided(Decision::Approved),
            '!' => {
                return Entry::Invalid(InvalidEntry {
                    scope: Scope::User,
                    switch: Switch::On,
                    why: "no".to_owned(),
                });
            }
            'v' => {
                spec.view.trust = true;
                spec
            }
            other => panic!("{other}"),
        };
    }
    Entry::Valid(Arc::new(spec))
}

/// A state as text: `a=x b=y+ excluded:c allowed:a,b untrusted`.
pub(super) fn desired(text: &str) -> Desired {
    let mut desired = Desired::default();
    for word in text.split_whitespace() {
        if let Some((name, text)) = word.split_once('=') {
            desired.servers.insert(name.into(), entry(text));
        } else if let Some(names) = word.strip_prefix("excluded:") {
            desired.gating.excluded = names.split(',').filter_map(Pattern::new).collect();
        } else if let Some(names) = word.strip_prefix("allowed:") {
            let patterns = names.split(',').filter_map(Pattern::new).collect();
            desired.gating.allowed = AllowList::Every(vec![AllowedNames { scope: Scope::User, patterns }]);
        } else if let Some(name) = word.strip_prefix("pending:") {
            desired.gating.pending.insert(name.into(), Pending::Undecided);
        } else if word == "untrusted" {
            desired.folder = FolderTrust::Untrusted;
        } else if word == "unreadable" {
            desired.unreadable = vec!["system".to_owned()];
        } else {
            panic!("{word}");
        }
    }
    desired
}

/// What the user's settings mean: their `mini` text, with `auto:off` and `debounce:MS` beside the words of [`desired`].
/// Every undecided entry is promptable, under a hash of its text.
pub(super) fn derived(snapshot: &Snapshot) -> Derived {
    let root = snapshot.get(SourceId::User).map(|file| Arc::clone(&file.root)).unwrap_or_default();
    let text = root.get("mini").and_then(|text| text.as_str()).unwrap_or_default();
    let (options, words): (Vec<&str>, Vec<&str>) =
        text.split_whitespace().partition(|word| *word == "auto:off" || word.starts_with("debounce:"));
    let Desired { servers, gating, folder, unreadable } = desired(&words.join(" "));
    let mut derived = Derived { servers, gating, folder, unreadable, ..Derived::default() };
    for option in options {
        match option.strip_prefix("debounce:") {
            Some(ms) => derived.options.debounce = Duration::from_millis(ms.parse().unwrap()),
            None => derived.options.auto_reload = AutoReload::Off,
        }
    }
    for word in words.iter().filter(|word| word.ends_with('?')) {
        let (name, hash) = word.split_once('=').unwrap();
        let name = ServerName::from(name);
        let promptable = Promptable {
            name: name.clone(),
            hash: hash.to_owned(),
            scope: Scope::Project,
            source: Source::default(),
            written: Written::new(Arc::new(json!({}))),
            entry: entry(hash),
            variables: Vec::new(),
            replaces: None,
        };
        derived.promptable.insert(name, promptable);
    }
    derived
}

/// The user's settings that say this, and a theme.
pub(super) fn snapshot(mini: &str, theme: &str) -> Snapshot {
    settings(json!({ "mini": mini, "ui": { "theme": theme } }))
}

/// The user's settings with this content.
pub(super) fn settings(root: serde_json::Value) -> Snapshot {
    let file = fixtures::settings_file(SourceId::User, "/home/.qwen/settings.json", root);
    Snapshot { sources: BTreeMap::from([(SourceId::User, Arc::new(file))]) }
}

/// A core that remembers what it was told, and plans a commit only when a test lets it.
#[derive(Clone)]
pub(super) struct FakeCore(Arc<Core>);

struct Core {
    state: Mutex<CoreState>,
    /// One permit for each commit that may be planned.
    plans: Semaphore,
}

#[derive(Default)]
pub(super) struct CoreState {
    /// Every commit that was planned.
    pub(super) commits: Vec<Desired>,
    /// How many commits were asked for, planned or not.
    pub(super) asked: usize,
    /// How many of the next commits fail.
    pub(super) failing: usize,
}

impl FakeCore {
    /// One that plans at once.
    pub(super) fn new() -> Self {
        Self(Arc::new(Core { state: Mutex::default(), plans: Semaphore::new(1_000_000) }))
    }

    /// One that plans only as many commits as [`FakeCore::plan`] says.
    pub(super) fn slow() -> Self {
        Self(Arc::new(Core { state: Mutex::default(), plans: Semaphore::new(0) }))
    }

    pub(super) fn plan(&self, commits: usize) {
        self.0.plans.add_permits(commits);
    }

    pub(super) fn state(&self) -> MutexGuard<'_, CoreState> {
        self.0.state.lock().unwrap()
    }
}

impl Target for FakeCore {
    fn bound(&self) -> LaunchBound {
        LaunchBound::Unbounded
    }

    fn commit(&self, desired: Desired) -> BoxFuture<'_, Result<u64, CommitError>> {
        self.state().asked += 1;
        async move {
            self.0.plans.acquire().await.unwrap().forget();
            let mut state = self.state();
            if state.failing > 0 {
                state.failing -= 1;
                return Err(CommitError::Ended);
            }
            state.commits.push(desired);
            Ok(u64::try_from(state.commits.len()).unwrap())
        }
        .boxed()
    }

    fn initialize(&self) -> BoxFuture<'_, u64> {
        let planned = u64::try_from(self.state().commits.len()).unwrap();
        futures::future::ready(planned).boxed()
    }

    fn status(&self) -> Arc<Status> {
        let observed = u64::try_from(self.state().commits.len()).unwrap();
        Arc::new(Status { observed, ..Status::default() })
    }

    fn reconnect(&self, _: ServerName) -> BoxFuture<'static, Result<(), Unavailable>> {
        // A server that never answers.
        futures::future::pending().boxed()
    }
}

/// Files that remember their debounce, and are looked at as soon as a test lets them.
pub(super) struct FakeFiles {
    pub(super) debounce: Mutex<Duration>,
    pub(super) looks: Arc<Semaphore>,
}

impl FakeFiles {
    pub(super) fn new() -> Self {
        Self { debounce: Mutex::default(), looks: Arc::new(Semaphore::new(1_000_000)) }
    }
}

impl Files for FakeFiles {
    fn look_now(&self) -> BoxFuture<'static, ()> {
        let looks = Arc::clone(&self.looks);
        async move { looks.acquire().await.unwrap().forget() }.boxed()
    }

    fn set_debounce(&self, debounce: Duration) {
        *self.debounce.lock().unwrap() = debounce;
    }
}
