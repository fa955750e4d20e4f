//! Whom does hot reload talk to? The few calls that it makes of core and of the watcher, in the one order in which they
//! mean something.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use qwen_core::{CommitError, Config, Desired, LaunchBound, ServerName, Status, Unavailable};

use crate::settings::WatchControl;

/// What hot reload needs of core; in tests something that fails when it is told to.
pub(super) trait Target: Send + Sync + 'static {
    /// The bound given at launch.
    fn bound(&self) -> LaunchBound;
    /// Commits one desired state as a whole and resolves when it is planned; it never waits for a connection.
    fn commit(&self, desired: Desired) -> BoxFuture<'_, Result<u64, CommitError>>;
    /// Starts the session with what was committed, if it has not started yet, and resolves when that is planned: to the
    /// newest generation.
    fn initialize(&self) -> BoxFuture<'_, u64>;
    /// The newest published state.
    fn status(&self) -> Arc<Status>;
    /// Tries one server again now.
    fn reconnect(&self, name: ServerName) -> BoxFuture<'static, Result<(), Unavailable>>;
}

impl Target for Arc<dyn Config> {
    fn bound(&self) -> LaunchBound {
        self.get_cli_allowed_mcp_server_names()
    }

    fn commit(&self, desired: Desired) -> BoxFuture<'_, Result<u64, CommitError>> {
        async move {
            let Desired { servers, gating, folder, unreadable } = desired;
            let mut update = self.begin_mcp_update().await;
            update.set_excluded_mcp_servers(gating.excluded);
            update.set_allowed_mcp_servers(gating.allowed);
            update.set_pending_mcp_servers(gating.pending);
            update.set_folder_trust(folder);
            update.set_unreadable_sources(unreadable);
            Ok(update.reinitialize_mcp_servers(servers).await?.generation)
        }
        .boxed()
    }

    fn initialize(&self) -> BoxFuture<'_, u64> {
        async move {
            Config::initialize(&**self);
            let mut status = Config::status(&**self);
            // An ended session plans nothing any more.
            status.wait_for(|status| status.observed > 0).await.map_or(0, |status| status.observed)
        }
        .boxed()
    }

    fn status(&self) -> Arc<Status> {
        Arc::clone(&Config::status(&**self).borrow())
    }

    fn reconnect(&self, name: ServerName) -> BoxFuture<'static, Result<(), Unavailable>> {
        let config = Self::clone(self);
        async move { Config::reconnect(&*config, &name).await }.boxed()
    }
}

/// What hot reload needs of the watcher.
pub(super) trait Files: Send + Sync + 'static {
    /// Reads every file now and resolves when what they say is published.
    fn look_now(&self) -> BoxFuture<'static, ()>;
    /// Sets how long a burst of events must be over.
    fn set_debounce(&self, debounce: Duration);
}

impl Files for WatchControl {
    fn look_now(&self) -> BoxFuture<'static, ()> {
        let control = self.clone();
        async move { Self::look_now(&control).await }.boxed()
    }

    fn set_debounce(&self, debounce: Duration) {
        Self::set_debounce(self, debounce);
    }
}
