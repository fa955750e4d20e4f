//! When did something happen? Carries the moment of an event from the thread that heard of it to the task that waits.

use std::sync::{Mutex, PoisonError};

use tokio::{sync::Notify, time::Instant};

/// Wakes the task that waits for events. The quiet that must follow counts from the event itself, not from the moment
/// at which a thread was free to hear of it.
#[derive(Debug, Default)]
pub(super) struct Touch {
    happened: Notify,
    latest: Mutex<Option<Instant>>,
}

impl Touch {
    /// Something that matters happened just now.
    pub(super) fn tell(&self) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.happened.notify_one();
    }

    /// Waits until something has happened since this was last asked; when the latest of it was.
    pub(super) async fn told(&self) -> Instant {
        self.happened.notified().await;
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner).take();
        latest.unwrap_or_else(Instant::now)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt as _;
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_latest_event_counts_from_its_own_moment_however_late_somebody_hears_of_it() {
        let touch = Touch::default();
        touch.tell();
        advance(Duration::from_millis(100)).await;
        touch.tell();
        let latest = Instant::now();
        advance(Duration::from_millis(100)).await;
        assert_eq!(touch.told().await, latest);
        assert!(touch.told().now_or_never().is_none());
        touch.tell();
        assert_eq!(touch.told().await, Instant::now());
    }
}
