//! An MCP runtime that never needs a restart: what should be connected, what is, and the one path between.
//!
//! Core knows no file, no environment and no settings format. A caller hands it a [`Desired`] state through
//! [`Config`]; core admits or refuses each server, plans, opens and closes connections, and publishes one
//! [`Status`] from which every reader derives its own events.
//!
//! For a program that wants MCP servers which follow its own configuration while it runs. Three values are all it needs
//! to make: a [`Connector`] (here [`DirectConnector`] in a [`Pool`]), the [`LaunchBound`] that nothing widens later, and
//! the entries.
//!
//! ```
//! # #[cfg(unix)]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::{collections::BTreeMap, sync::Arc, time::Duration};
//!
//! use qwen_core::{
//!     Client, Config, DirectConnector, Entry, EnvPolicy, FailureKind, Guard, LaunchBound, Manager, Phase, Pool,
//!     PoolMode, ProcessEnv, Refusal, Scope, ServerSpec, Stdio, VersionNegotiation, View, Wire,
//! };
//!
//! fn entry(scope: Scope, command: &str) -> Entry {
//!     let stdio = Stdio {
//!         command: command.to_owned(),
//!         args: Vec::new(),
//!         env: BTreeMap::new(),
//!         cwd: "/".into(),
//!         env_policy: EnvPolicy::Restricted,
//!         version_negotiation: VersionNegotiation::Auto,
//!         pool: PoolMode::Session,
//!     };
//!     Entry::Valid(Arc::new(ServerSpec::new(scope, Wire::Stdio(stdio), View::default())))
//! }
//!
//! let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! runtime.block_on(async {
//!     let env = ProcessEnv::from_parent([("PATH".into(), "/usr/bin:/bin".into())], "/".into(), &[]);
//!     let client = Client { name: "example".to_owned(), version: "1.0".to_owned() };
//!     // A program that can start itself again uses `Guard::start`, so that a `kill -9` leaves no server behind.
//!     let connector = Pool::new(Arc::new(DirectConnector::new(env, Guard::without_process(), client)));
//!     let config: Arc<dyn Config> = Arc::new(Manager::new(LaunchBound::Unbounded, Arc::new(connector)));
//!     config.initialize();
//!
//!     // An edit is staged and committed as one; it does not wait for a connection, whoever wants to can.
//!     let update = config.begin_mcp_update().await;
//!     let servers = [
//!         ("mine".into(), entry(Scope::User, "no-such-program")),
//!         ("theirs".into(), entry(Scope::Project, "no-such-program")),
//!     ];
//!     let commit = update.reinitialize_mcp_servers(servers.into_iter().collect()).await?;
//!     commit.settled.await;
//!
//!     // Mine was tried. Theirs comes with a project, and nobody approved it, so it was not.
//!     let status = config.status().borrow().clone();
//!     let phase = |name: &str| status.servers.get(name).map(|server| server.phase.clone());
//!     let Some(Phase::Failed { failure, .. }) = phase("mine") else { panic!("{status:?}") };
//!     assert_eq!(failure.kind, FailureKind::CommandNotFound);
//!     assert_eq!(phase("theirs"), Some(Phase::Refused(Refusal::PendingApproval)));
//!
//!     config.shutdown(Duration::from_secs(5)).await;
//!     Ok(())
//! })
//! # }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking"))]

mod admission;
mod catalog;
mod config;
mod connector;
mod domain;
mod driver;
#[cfg(not(unix))]
mod elsewhere;
mod failure;
mod fingerprint;
mod inventory;
mod layers;
#[cfg(unix)]
mod link;
mod manager;
mod mask;
mod plan;
mod pool;
#[cfg(unix)]
mod protocol;
mod questions;
mod retry;
#[cfg(unix)]
mod said;
mod session;
mod status;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod transport;
mod unavailable;

pub use admission::{Admitted, Check, NotAllowedBy, Refusal, Verdicts, admit, admit_one, explain};
pub use catalog::{
    Catalogue, CatalogueChange, CataloguePrompt, CatalogueResource, CatalogueTool, Delta, catalogue_name,
    sanitised_prefix,
};
pub use config::{
    CallOptions, Commit, CommitError, Config, McpUpdate, RuntimeAdded, RuntimeRemoved, UseError,
};
pub use connector::{
    Attempt, CallError, CallLimits, Caller, Connector, Lease, Link, LinkEvent, OpenRequest, ProcessEnv,
    Progress, Teardown,
};
pub use domain::{
    AllowList, AllowedNames, Approval, Decision, Desired, Entry, EnvPolicy, FolderTrust, Gating,
    InvalidEntry, LaunchBound, OAuth, Pattern, Pending, PoolMode, Remote, Scope, Secret, ServerName,
    ServerSpec, Stdio, Switch, Time, VersionNegotiation, View, Wire,
};
#[cfg(not(unix))]
pub use elsewhere::{Client, DirectConnector, Guard, run_guard_if_asked};
pub use failure::{Failure, FailureKind, TlsFault};
pub use fingerprint::Fingerprint;
pub use inventory::{Inventory, Listing, Prompt, Resource, Tool};
#[cfg(unix)]
pub use link::{Client, DirectConnector};
pub use manager::Manager;
pub use mask::{is_worth_masking, mask_args, mask_text};
pub use plan::{Action, CloseCause, LiveView, plan};
pub use pool::Pool;
pub use questions::{QuestionReply, Questions, ServerQuestion};
pub use status::{
    CommitRecord, Connected, Connecting, McpEvent, Phase, ServerStatus, Settling, State, Status, Transition,
    changes,
};
#[cfg(unix)]
pub use transport::{Guard, run_guard_if_asked};
pub use unavailable::{Unavailable, nearest};
