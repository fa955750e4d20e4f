//! Is a connection over, and why? Owns the two ways in which one ends, for everything that belongs to it: its owner wants
//! it, or it is lost. Sends nothing and closes nothing.

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

/// The end of one connection, before and after it came.
#[derive(Debug)]
pub(super) struct Fate {
    stop: CancellationToken,
    lost: watch::Sender<Option<Failure>>,
}

impl Fate {
    /// Of a connection that begins.
    pub(super) fn new() -> Self {
        Self { stop: CancellationToken::new(), lost: watch::Sender::new(None) }
    }

    /// Cancelled when its owner ends it.
    pub(super) fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Tells of the loss, and why.
    pub(super) fn lost(&self) -> watch::Receiver<Option<Failure>> {
        self.lost.subscribe()
    }

    /// The connection is of no use any more. The first reason counts.
    pub(super) fn lose(&self, failure: &Failure) {
        self.lost.send_if_modified(|lost| {
            let first = lost.is_none();
            if first {
                *lost = Some(failure.clone());
            }
            first
        });
    }

    /// Resolves when nothing more will be said, with the reason where it is lost.
    pub(super) async fn over(&self) -> Option<Failure> {
        let mut lost = self.lost.subscribe();
        tokio::select! {
            () = self.stop.cancelled() => None,
            lost = lost.wait_for(Option::is_some) => lost.ok().and_then(|lost| lost.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureKind;

    #[tokio::test]
    async fn the_first_reason_of_a_loss_counts_and_an_end_on_purpose_has_none() {
        let fate = Fate::new();
        for why in ["first", "second"] {
            fate.lose(&Failure::new(FailureKind::Network, why));
        }
        assert_eq!(fate.over().await.map(|failure| failure.message), Some("first".to_owned()));
        let fate = Fate::new();
        fate.stop().cancel();
        assert_eq!(fate.over().await, None);
    }
}
