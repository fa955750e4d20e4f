//! What does the owner of a connection to a remote server hold? Owns the end of such a connection: the news that it is
//! lost, and how it is closed; knows neither HTTP nor messages.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{connector::Teardown, failure::Failure, protocol::Offers};

/// What a server gets to hear that we go.
const FAREWELL: Duration = Duration::from_millis(500);

/// How a server is told that we go.
pub(crate) type Farewell = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send + Sync>;

/// The owner's end. Dropping it ends everything that belongs to the connection, without a word to the server.
pub(crate) struct RemoteEnd {
    stop: CancellationToken,
    lost: watch::Receiver<Option<Failure>>,
    renewed: Option<watch::Receiver<Option<Offers>>>,
    gone: watch::Sender<bool>,
    farewell: Option<Farewell>,
}

impl RemoteEnd {
    /// The end of a connection whose tasks end with `stop`, which tells of its loss through `lost`, and which says
    /// goodbye by `farewell`.
    pub(crate) fn new(
        stop: CancellationToken,
        lost: watch::Receiver<Option<Failure>>,
        farewell: Farewell,
    ) -> Self {
        let (gone, _) = watch::channel(false);
        Self { stop, lost, renewed: None, gone, farewell: Some(farewell) }
    }

    /// The same of a connection that tells through `renewed` what the server offers in another session.
    #[must_use]
    pub(crate) fn renewing(mut self, renewed: watch::Receiver<Option<Offers>>) -> Self {
        self.renewed = Some(renewed);
        self
    }

    /// Tells why the connection was lost, once it is.
    pub(crate) fn lost(&self) -> watch::Receiver<Option<Failure>> {
        self.lost.clone()
    }

    /// Tells what the server offers whenever another session was opened, where there are sessions.
    pub(crate) fn renewed(&self) -> Option<watch::Receiver<Option<Offers>>> {
        self.renewed.clone()
    }

    /// Tells when nothing is left.
    pub(crate) fn gone(&self) -> watch::Receiver<bool> {
        self.gone.subscribe()
    }

    /// Closes everything. A server that may no longer be connected, or never was, is told without anybody waiting.
    pub(crate) async fn end(mut self, teardown: Teardown) {
        self.stop.cancel();
        if let Some(farewell) = self.farewell.take() {
            let farewell = timeout(FAREWELL, farewell());
            match teardown {
                Teardown::Drain | Teardown::Renew | Teardown::Exit => drop(farewell.await),
                Teardown::Verdict | Teardown::NeverLive => drop(tokio::spawn(farewell)),
                Teardown::Lost => {}
            }
        }
        self.gone.send_replace(true);
    }
}

impl Drop for RemoteEnd {
    fn drop(&mut self) {
        self.stop.cancel();
        self.gone.send_replace(true);
    }
}
