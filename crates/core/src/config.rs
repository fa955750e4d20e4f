//! The border of core: everything a program may call, as object-safe traits over plain values.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use futures::future::BoxFuture;
use indexmap::IndexMap;
use serde_json::Value;
use tokio::sync::watch;

use crate::{
    admission::Refusal,
    connector::{CallError, CallLimits},
    domain::{
        AllowList, Desired, Entry, FolderTrust, Gating, LaunchBound, Pattern, Pending, ServerName, ServerSpec,
    },
    status::Status,
    unavailable::Unavailable,
};

/// One session of the runtime. Dropping it ends the session; [`Config::shutdown`] is the polite way.
pub trait Config: Send + Sync + 'static {
    /// Starts connecting: what was recorded so far becomes generation 1. Before this, updates are recorded and connect
    /// nothing. Calling it again does nothing. Needs a running tokio runtime.
    fn initialize(&self);

    /// Opens an update. One at a time: it waits while another one is open. Dropping the update discards it.
    fn begin_mcp_update(&self) -> BoxFuture<'_, Box<dyn McpUpdate>>;

    /// The desired state as last committed; its map is the effective one, runtime over settings over extensions.
    fn get_mcp_servers(&self) -> Arc<Desired>;
    /// The settings layer, as last committed.
    fn get_settings_mcp_servers(&self) -> Arc<IndexMap<ServerName, Entry>>;
    /// The three lists, as last committed.
    fn get_mcp_gating(&self) -> Gating;
    /// The bound given at launch.
    fn get_cli_allowed_mcp_server_names(&self) -> LaunchBound;
    /// Why a server that somebody asks for is not there, from the verdict that was acted on; `None` when it is
    /// admitted or was never known.
    fn get_mcp_server_unavailable_reason(&self, name: &ServerName) -> Option<Unavailable>;
    /// Why a tool that somebody names is not in the catalogue; `None` when it is there, or when the name is not that of
    /// a server's tool.
    fn get_tool_unavailable_reason(&self, tool: &str) -> Option<Unavailable>;
    /// The published state; level-triggered, so a slow reader sees the newest.
    fn status(&self) -> watch::Receiver<Arc<Status>>;

    /// Adds or replaces a server of the runtime layer, which overrides every other. Resolves to the server it
    /// shadows, if any.
    fn add_runtime_mcp_server(&self, name: ServerName, spec: ServerSpec) -> BoxFuture<'_, RuntimeAdded>;
    /// Removes a server of the runtime layer; the settings entry of that name, if any, is back.
    fn remove_runtime_mcp_server(&self, name: &ServerName) -> BoxFuture<'_, RuntimeRemoved>;
    /// Replaces the extension layer; its entries only fill names that are missing.
    fn set_extension_mcp_servers(&self, servers: IndexMap<ServerName, Entry>) -> BoxFuture<'_, ()>;

    /// Calls a tool by its catalogue name.
    fn call_tool(
        &self,
        tool: &str,
        arguments: Option<Value>,
        options: CallOptions,
    ) -> BoxFuture<'_, Result<Value, UseError>>;
    /// Gets a prompt by its catalogue name.
    fn get_prompt(
        &self,
        prompt: &str,
        arguments: Option<Value>,
        options: CallOptions,
    ) -> BoxFuture<'_, Result<Value, UseError>>;
    /// Reads a resource of a server.
    fn read_resource(
        &self,
        server: &ServerName,
        uri: &str,
        options: CallOptions,
    ) -> BoxFuture<'_, Result<Value, UseError>>;

    /// Tries a server again now, through the gate like every other attempt.
    ///
    /// # Errors
    /// The reason why it may not connect.
    fn reconnect(&self, name: &ServerName) -> BoxFuture<'_, Result<(), Unavailable>>;

    /// Ends every connection in parallel, within the deadline.
    fn shutdown(&self, deadline: Duration) -> BoxFuture<'_, ()>;
}

/// One update: setters stage, committing consumes. Nothing staged is visible before the commit.
pub trait McpUpdate: Send {
    /// Stages `mcp.excluded`.
    fn set_excluded_mcp_servers(&mut self, excluded: BTreeSet<Pattern>);
    /// Stages `mcp.allowed`.
    fn set_allowed_mcp_servers(&mut self, allowed: AllowList);
    /// Stages who waits for the user; it can only add refusals.
    fn set_pending_mcp_servers(&mut self, pending: BTreeMap<ServerName, Pending>);
    /// Stages whether the folder is trusted.
    fn set_folder_trust(&mut self, folder: FolderTrust);
    /// Stages which sources that may restrict servers cannot be read; while there are any, nothing is admitted.
    fn set_unreadable_sources(&mut self, sources: Vec<String>);
    /// Replaces the settings layer as a whole and commits everything as one generation. Resolves when the commit is
    /// planned: closes have begun and opens are on their way; it never waits for a connection.
    fn reinitialize_mcp_servers(
        self: Box<Self>,
        servers: IndexMap<ServerName, Entry>,
    ) -> BoxFuture<'static, Result<Commit, CommitError>>;
}

/// A planned commit.
pub struct Commit {
    /// Its number; 0 before `initialize`.
    pub generation: u64,
    /// Resolves when nothing is opening for it any more, at once when a newer commit superseded it.
    pub settled: BoxFuture<'static, ()>,
}

impl std::fmt::Debug for Commit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Commit").field("generation", &self.generation).finish_non_exhaustive()
    }
}

/// Why a commit was not planned.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CommitError {
    /// The session has ended.
    #[error("the session has ended")]
    Ended,
}

/// What adding a runtime server did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuntimeAdded {
    /// A runtime server of that name was replaced.
    pub replaced: bool,
    /// A settings entry of that name no longer counts.
    pub shadows_settings: bool,
    /// Why it may not connect, where the gate refuses it.
    pub refusal: Option<Refusal>,
}

/// What removing a runtime server did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuntimeRemoved {
    /// There was none.
    NotPresent,
    /// It is gone.
    Removed {
        /// A settings entry of that name counts again.
        uncovered_settings: bool,
    },
}

/// What one use of the catalogue may take and how it ends early.
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// Cancels the call; the server is told.
    pub cancel: tokio_util::sync::CancellationToken,
    /// Where progress goes, if anybody wants it.
    pub progress: Option<tokio::sync::mpsc::UnboundedSender<crate::connector::Progress>>,
}

impl CallOptions {
    pub(crate) fn limits(self, view: &crate::domain::View) -> CallLimits {
        CallLimits { cancel: self.cancel, progress: self.progress, ..CallLimits::of(view) }
    }
}

/// Why a tool, prompt or resource could not be used.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum UseError {
    /// It is not there; the reason says why.
    #[error("{0}")]
    Unavailable(Box<Unavailable>),
    /// The call was made and did not answer.
    #[error(transparent)]
    Call(#[from] CallError),
}
