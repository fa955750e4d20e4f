//! What does a connection stand on? Owns the difference between a process of ours and a server elsewhere, for whoever
//! ends a connection; knows nothing of what is said over it.

use tokio::sync::watch;

use super::peer::Over;
use crate::{
    connector::Teardown,
    protocol::Offers,
    transport::{process::ServerProcess, remote::RemoteEnd},
};

/// What must be gone when the connection is.
pub(super) enum Ground {
    /// A process and whatever it started.
    Process(ServerProcess),
    /// A server that goes on without us.
    Remote(RemoteEnd),
}

impl Ground {
    /// The direct child, where there is one.
    pub(super) fn pid(&self) -> Option<u32> {
        match self {
            Self::Process(process) => Some(process.pid()),
            Self::Remote(_) => None,
        }
    }

    /// What questions travel over.
    pub(super) fn over(&self) -> Over {
        match self {
            Self::Process(_) => Over::Pipes,
            Self::Remote(_) => Over::Http,
        }
    }

    /// From now on it ends as something that was in use.
    pub(super) fn mark_live(&self) {
        match self {
            Self::Process(process) => process.mark_live(),
            Self::Remote(_) => {}
        }
    }

    /// Tells when nothing is left of it.
    pub(super) fn gone(&self) -> watch::Receiver<bool> {
        match self {
            Self::Process(process) => process.gone(),
            Self::Remote(end) => end.gone(),
        }
    }

    /// Tells what the server offers whenever it was opened anew below the connection, where it can be.
    pub(super) fn renewed(&self) -> Option<watch::Receiver<Option<Offers>>> {
        match self {
            Self::Process(_) => None,
            Self::Remote(end) => end.renewed(),
        }
    }

    /// Ends it by the ladder of this cause.
    pub(super) async fn end(self, teardown: Teardown) {
        match self {
            Self::Process(process) => process.end(teardown).await,
            Self::Remote(end) => end.end(teardown).await,
        }
    }
}
