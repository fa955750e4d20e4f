//! What does this crate offer where it has no process layer? Owns the one sentence that says so, behind the same names
//! as on Unix; starts nothing.

use std::{ffi::OsString, io, path::PathBuf};

use futures::{FutureExt, future::BoxFuture};

use crate::{
    connector::{Connector, Lease, OpenRequest, ProcessEnv},
    failure::{Failure, FailureKind},
};

/// A registry of process groups, of which there are none here.
#[derive(Clone, Debug)]
pub struct Guard;

impl Guard {
    /// Nothing to guard.
    ///
    /// # Errors
    /// None.
    pub fn start(_: PathBuf) -> io::Result<Self> {
        Ok(Self)
    }

    /// Nothing to register.
    #[must_use]
    pub fn without_process() -> Self {
        Self
    }

    /// Nothing to kill.
    pub fn kill_all_groups(&self) {}

    /// None.
    #[must_use]
    pub fn live_groups(&self) -> usize {
        0
    }

    /// Never.
    #[must_use]
    pub fn is_watching(&self) -> bool {
        false
    }
}

/// There is no guard process here.
pub fn run_guard_if_asked(_: impl IntoIterator<Item = OsString>) {}

/// Who we say we are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Client {
    /// The program's name.
    pub name: String,
    /// The program's version.
    pub version: String,
}

/// Refuses every open with a reason.
#[derive(Clone, Debug)]
pub struct DirectConnector;

impl DirectConnector {
    /// A connector that cannot connect here.
    #[must_use]
    pub fn new(_: ProcessEnv, _: Guard, _: Client) -> Self {
        Self
    }
}

impl Connector for DirectConnector {
    fn open(&self, _: OpenRequest) -> BoxFuture<'static, Result<Lease, Failure>> {
        let failure =
            Failure::new(FailureKind::Unsupported, "servers are not supported on this platform yet");
        std::future::ready(Err(failure)).boxed()
    }
}
