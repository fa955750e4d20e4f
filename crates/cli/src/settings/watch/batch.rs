//! When is a burst of events over, so that the files are read? Pure: time comes in as a value, and it must not know
//! what a file is.

use std::time::Duration;

/// How long a doubtful file is left alone before it is read again.
pub(super) const SECOND_LOOK: Duration = Duration::from_millis(150);

/// The longest that a batch stays open, counted from its first event: steady saving cannot starve it.
pub(super) fn ceiling(debounce: Duration) -> Duration {
    Duration::from_secs(2).max(debounce * 2)
}

/// Gathers events, over all files together, into looks at the disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Batch {
    debounce: Duration,
    open: Option<Open>,
    again_at: Option<Duration>,
}

/// A burst that is not over yet. It keeps the debounce it began with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Open {
    quiet_at: Duration,
    latest: Duration,
    debounce: Duration,
}

impl Batch {
    /// Nothing has happened yet.
    pub(super) fn new(debounce: Duration) -> Self {
        Self { debounce, open: None, again_at: None }
    }

    /// Counts from the next batch on.
    pub(super) fn set_debounce(&mut self, debounce: Duration) {
        self.debounce = debounce;
    }

    /// Something changed.
    pub(super) fn touched(&mut self, now: Duration) {
        let open = self.open.get_or_insert(Open {
            quiet_at: now,
            latest: now + ceiling(self.debounce),
            debounce: self.debounce,
        });
        open.quiet_at = now + open.debounce;
    }

    /// A file was doubtful: it is looked at again then, whatever happens in between.
    pub(super) fn look_again(&mut self, at: Duration) {
        self.again_at = Some(self.again_at.map_or(at, |earlier| earlier.min(at)));
    }

    /// Whether a second look is still to come.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.again_at.is_some()
    }

    /// When the disk is to be read next, if at all.
    pub(super) fn due(&self) -> Option<Duration> {
        let quiet = self.open.map(|open| open.quiet_at.min(open.latest));
        quiet.into_iter().chain(self.again_at).min()
    }

    /// The disk is about to be read, since it is due or was asked for: what this look covers is no longer due. A
    /// burst that is not over stays open, so that a second look in its middle does not take its end from it.
    pub(super) fn looking(&mut self, now: Duration) {
        self.open = self.open.filter(|open| open.quiet_at.min(open.latest) > now);
        self.again_at = self.again_at.filter(|&at| at > now);
    }
}

#[cfg(test)]
mod tests;
