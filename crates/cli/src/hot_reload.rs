//! How does an edit reach the servers? One task takes what the watcher saw and what the user asked for, and commits it
//! to core. It must not know how files are read, nor what a connection is.

mod changes;
mod decisions;
mod event;
mod pass;
mod target;
mod task;
#[cfg(test)]
mod testing;
mod told;

use std::{path::Path, sync::Arc};

use qwen_approvals::{ApprovalHash, ApprovalStore, StoreError, Verdict};
use qwen_core::{Config, ServerName, Unavailable};
use qwen_settings_schema::SettingsSchema;
use serde_json::Value;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::{
    decisions::deriving,
    task::{Parts, Request, Task},
};
use crate::{
    derive::{Derived, Launch},
    settings::{SettingsWatcher, Snapshot},
};

pub use event::{ChangeKind, CliEvent, Counts, NoticeCode, SettingsChange};

/// What hot reload is started with.
pub struct HotReloadOptions {
    /// The session, not initialised: it starts with the first commit.
    pub config: Arc<dyn Config>,
    /// The command line and what was fixed at start.
    pub launch: Launch,
    /// The settings as data.
    pub schema: Arc<dyn SettingsSchema>,
    /// Where decisions are kept.
    pub store: Arc<dyn ApprovalStore>,
    /// Armed; what it has seen since the boot is compared at once.
    pub watcher: SettingsWatcher,
    /// What the session booted from.
    pub booted: Snapshot,
}

/// The running task. Dropping it ends it; the session goes on with what it was told last.
pub struct HotReload {
    requests: mpsc::UnboundedSender<Request>,
    derived: watch::Receiver<Arc<Derived>>,
    store: Arc<dyn ApprovalStore>,
    root: crate::settings::ProjectRoot,
    watcher: SettingsWatcher,
    task: JoinHandle<()>,
    stop: CancellationToken,
    _guard: DropGuard,
}

/// One answer to the question, about exactly what was shown.
#[derive(Clone)]
pub struct Answer {
    /// The name that was asked about.
    pub server: ServerName,
    /// Of the entry that was shown.
    pub hash: ApprovalHash,
    /// What the user said.
    pub verdict: Verdict,
    /// The entry that was shown.
    pub shown: Arc<Value>,
}

/// How long an answer holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// It is in the record, for every session of the project.
    ForGood,
    /// It could not be written.
    ThisSession,
}

impl HotReload {
    /// Commits what the files say now, initialises the session with it, and comes back when that is planned; from then
    /// on every change is committed by itself. What there is to tell comes out of the channel, from the first commit on.
    pub async fn start(options: HotReloadOptions) -> (Self, mpsc::UnboundedReceiver<CliEvent>) {
        let HotReloadOptions { config, launch, schema, store, watcher, booted } = options;
        let root = launch.paths.root.clone();
        let (events, told) = mpsc::unbounded_channel();
        let (requests, asked) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let parts = Parts {
            target: config,
            derive: deriving(launch),
            schema,
            seen: watcher.seen(),
            files: Arc::new(watcher.control()),
            events,
            requests: asked,
            stop: stop.clone(),
        };
        let (mut task, derived) = Task::new(parts, &booted);
        task.first_pass().await;
        let task = tokio::spawn(task.run());
        let guard = stop.clone().drop_guard();
        (Self { requests, derived, store, root, watcher, task, stop, _guard: guard }, told)
    }

    /// What the files mean, as it was last committed or is about to be.
    #[must_use]
    pub fn derived(&self) -> watch::Receiver<Arc<Derived>> {
        self.derived.clone()
    }

    /// Reads every file now and applies what they say, edits that were held back included. Answered by exactly one
    /// [`CliEvent::SettingsChanged`], empty when nothing differs. Comes back when the commit is planned.
    pub async fn reload(&self) {
        self.ask(Request::Reload).await;
    }

    /// Reads every file now, since this process wrote one. Comes back when the commit is planned.
    pub async fn look(&self) {
        self.ask(Request::Look).await;
    }

    /// Records an answer and applies it. Where it cannot be written it holds for this session, and a notice says why.
    pub async fn decide(&self, answer: Answer) -> Holds {
        let (store, root, written) = (Arc::clone(&self.store), self.root.clone(), answer.clone());
        let saved = tokio::task::spawn_blocking(move || save(&*store, root.as_path(), &written)).await;
        let unsaved = match saved {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(with_sources(&error)),
            Err(error) => Some(error.to_string()),
        };
        match unsaved {
            None => {
                self.look().await;
                Holds::ForGood
            }
            Some(because) => {
                self.ask(|done| Request::Unsaved { answer, because, done }).await;
                Holds::ThisSession
            }
        }
    }

    /// Tries a server again now, through the gate like every other attempt.
    ///
    /// # Errors
    /// The reason why it may not connect.
    pub async fn reconnect(&self, server: ServerName) -> Result<(), Unavailable> {
        let (answer, answered) = oneshot::channel();
        let nobody = Unavailable::Unknown { nearest: Vec::new() };
        if self.requests.send(Request::Reconnect { server, answer }).is_err() {
            return Err(nobody);
        }
        answered.await.unwrap_or(Err(nobody))
    }

    /// Ends the task without waiting: nothing is committed or told any more. For a session that is about to end.
    pub fn end(&self) {
        self.stop.cancel();
    }

    /// Ends the task and the watcher and waits for both.
    pub async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "hot reload did not end well");
        }
        self.watcher.stop().await;
    }

    async fn ask(&self, request: impl FnOnce(oneshot::Sender<()>) -> Request) {
        let (done, is_done) = oneshot::channel();
        if self.requests.send(request(done)).is_ok() {
            // A task that ended in the meantime will do nothing more.
            is_done.await.unwrap_or(());
        }
    }
}

fn save(store: &dyn ApprovalStore, root: &Path, answer: &Answer) -> Result<(), StoreError> {
    store.decide(root, answer.server.as_str(), answer.hash, answer.verdict, &answer.shown).map(|_| ())
}

/// The whole chain in one line, for a person who reads it once.
fn with_sources(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests;
