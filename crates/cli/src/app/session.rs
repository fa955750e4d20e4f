//! What is a running session made of, and how does it begin and end? It tells nobody anything.

use std::{path::PathBuf, sync::Arc, time::Duration};

use qwen_core::{Config, Guard, Questions};
use tokio::sync::{mpsc, watch};

use super::App;
use crate::{
    hot_reload::{CliEvent, HotReload, HotReloadOptions},
    sessions::SessionNote,
    settings::Seen,
};

/// A running session: core, the watcher, and the task between them.
pub(crate) struct Session {
    /// Core.
    pub(crate) config: Arc<dyn Config>,
    /// The task that commits what the files say.
    pub(crate) reload: Arc<HotReload>,
    /// What happened to files, from the first commit on.
    pub(crate) events: mpsc::UnboundedReceiver<CliEvent>,
    /// The files as they are believed.
    pub(crate) seen: watch::Receiver<Seen>,
    /// Every file that is watched, as configured.
    pub(crate) watched: Vec<PathBuf>,
    /// Ends what the polite way does not reach.
    pub(crate) guard: Guard,
    _note: Option<SessionNote>,
}

impl App {
    /// Starts a session; comes back when the watcher is armed and the first commit is planned. What servers ask goes to
    /// `questions`, where there is somebody to ask.
    pub(crate) async fn session(&self, guard: Guard, questions: Option<Arc<dyn Questions>>) -> Session {
        let config = self.config_with(guard.clone(), questions);
        let watcher = self.watcher(self.derived()).await;
        let seen = watcher.seen();
        let options = HotReloadOptions {
            config: Arc::clone(&config),
            launch: self.launch.clone(),
            schema: Arc::clone(&self.schema),
            store: Arc::clone(&self.store),
            watcher,
            booted: self.snapshot.clone(),
        };
        let (reload, events) = HotReload::start(options).await;
        let watched = self.sources().iter().filter_map(|spec| spec.path().map(PathBuf::from)).collect();
        let note = self.sessions().and_then(|sessions| {
            sessions
                .note(self.root(), std::process::id())
                .inspect_err(|error| tracing::debug!(%error, "the session could not be noted"))
                .ok()
        });
        Session { config, reload: Arc::new(reload), events, seen, watched, guard, _note: note }
    }
}

impl Session {
    /// Reads every file again without waiting for it.
    pub(crate) fn reload_soon(&self) {
        let reload = Arc::clone(&self.reload);
        tokio::spawn(async move { reload.reload().await });
    }

    /// Ends every connection within the deadline. Files may go on changing: nothing is committed any more.
    pub(crate) async fn shutdown(&self, deadline: Duration) {
        self.reload.end();
        self.config.shutdown(deadline).await;
    }
}
