//! How is core told? The few calls that hot reload makes, in the one order in which they mean something.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use qwen_core::{CommitError, Config, Desired, LaunchBound, ServerName, Status, Unavailable};

/// What hot reload needs of core; in tests something that fails when it is told to.
pub(super) trait Target: Send + Sync + 'static {
    /// The bound given at launch.
    fn bound(&self) -> LaunchBound;
    /// Commits one desired state as a whole and resolves when it is planned; it never waits for a connection.
    fn commit(&self, desired: Desired) -> BoxFuture<'_, Result<u64, CommitError>>;
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

    fn status(&self) -> Arc<Status> {
        Arc::clone(&Config::status(&**self).borrow())
    }

    fn reconnect(&self, name: ServerName) -> BoxFuture<'static, Result<(), Unavailable>> {
        let config = Self::clone(self);
        async move { Config::reconnect(&*config, &name).await }.boxed()
    }
}
