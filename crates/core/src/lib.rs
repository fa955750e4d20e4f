//! An MCP runtime that never needs a restart: what should be connected, what is, and the one path between.
//!
//! Core knows no file, no environment and no settings format. A caller hands it a [`Desired`] state through
//! [`Config`]; core admits or refuses each server, plans, opens and closes connections, and publishes one
//! [`Status`] from which every reader derives its own events.

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
mod questions;
mod retry;
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
pub use failure::{Failure, FailureKind};
pub use fingerprint::Fingerprint;
pub use inventory::{Inventory, Listing, Prompt, Resource, Tool};
#[cfg(unix)]
pub use link::{Client, DirectConnector};
pub use manager::Manager;
pub use mask::{mask_args, mask_text};
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
