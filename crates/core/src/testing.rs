//! Small builders and a connector that does what a test says: for tests of this crate and of its users.

use std::{collections::BTreeMap, sync::Arc};

use crate::domain::{
    Entry, EnvPolicy, PoolMode, Scope, ServerName, ServerSpec, Stdio, VersionNegotiation, View, Wire,
};

/// A child process with this command, no arguments and the full environment.
#[must_use]
pub fn stdio(command: &str) -> Stdio {
    Stdio {
        command: command.to_owned(),
        args: Vec::new(),
        env: BTreeMap::new(),
        cwd: "/".into(),
        env_policy: EnvPolicy::Full,
        version_negotiation: VersionNegotiation::Auto,
        pool: PoolMode::Session,
    }
}

/// An entry of `scope` that runs `command`.
#[must_use]
pub fn spec(scope: Scope, command: &str) -> ServerSpec {
    ServerSpec::new(scope, Wire::Stdio(stdio(command)), View::default())
}

/// A named, valid entry of the user's own.
#[must_use]
pub fn entry(name: &str, command: &str) -> (ServerName, Entry) {
    (name.into(), Entry::Valid(Arc::new(spec(Scope::User, command))))
}
