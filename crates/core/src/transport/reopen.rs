//! When is a stream that ended opened again? A pure function of how long it lived and what the server asked for.

use std::time::Duration;

/// Not sooner than this, whatever the server says.
const FIRST: Duration = Duration::from_secs(1);
/// A stream that keeps ending at once is opened this rarely in the end.
const CEILING: Duration = Duration::from_secs(60);
/// A server that asks for a longer wait is asked again all the same.
const LONGEST_HINT: Duration = Duration::from_secs(300);
/// A stream that lived this long starts the back-off afresh.
const HEALTHY: Duration = Duration::from_secs(30);

/// What is remembered of a stream's ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Reopen {
    short: u32,
}

impl Reopen {
    /// A stream ended, or could not be opened, after `lived`: how long to wait before the next try.
    pub(crate) fn after(&mut self, lived: Duration, hint: Option<Duration>) -> Duration {
        if lived >= HEALTHY {
            self.short = 0;
        }
        let doubled = FIRST.saturating_mul(1_u32.checked_shl(self.short.min(16)).unwrap_or(u32::MAX));
        self.short = self.short.saturating_add(1);
        doubled.min(CEILING).max(hint.unwrap_or_default().min(LONGEST_HINT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_keeps_ending_at_once_is_opened_ever_more_rarely() {
        let mut reopen = Reopen::default();
        let waits: Vec<_> = (0..8).map(|_| reopen.after(Duration::ZERO, None).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(reopen.after(HEALTHY, None), FIRST);
    }

    #[test]
    fn a_hint_makes_the_wait_longer_and_never_shorter() {
        for (hint, wait) in [(0, 1), (1, 1), (5, 5), (86_400, 300)] {
            let hint = Some(Duration::from_secs(hint));
            assert_eq!(Reopen::default().after(Duration::ZERO, hint), Duration::from_secs(wait));
        }
    }
}
