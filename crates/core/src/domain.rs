//! What a server, a gate and a desired state are. Values only: nothing here acts, waits or reads.

mod desired;
mod entry;
mod gating;
mod name;
mod secret;
mod time;

pub use desired::{Desired, FolderTrust};
pub use entry::{
    Approval, Entry, EnvPolicy, InvalidEntry, OAuth, PoolMode, Remote, ServerSpec, Stdio, Switch,
    VersionNegotiation, View, Wire,
};
pub use gating::{AllowList, AllowedNames, Decision, Gating, LaunchBound, Pattern, Pending};
pub use name::{Scope, ServerName};
pub use secret::Secret;
pub use time::Time;
