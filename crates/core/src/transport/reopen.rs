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

/// An answer that ended in the middle is not taken up again sooner than this, whatever the server says.
const SOONEST: Duration = Duration::from_millis(250);
/// An answer that was taken up again so often in a row, and brought nothing, is given up.
const FRUITLESS: u32 = 10;

/// What the stream of an answer brought before it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Brought {
    Something,
    Nothing,
}

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

    /// The stream of an answer ended after `lived`: how long to wait before it is taken up again, which is what the
    /// server asks for while it goes on, and longer each time that it brings nothing. `None` gives the answer up.
    pub(crate) fn resume_after(
        &mut self,
        lived: Duration,
        brought: Brought,
        hint: Option<Duration>,
    ) -> Option<Duration> {
        if lived >= HEALTHY || brought == Brought::Something {
            self.short = 0;
        }
        if self.short >= FRUITLESS {
            return None;
        }
        let wait = hint.unwrap_or(FIRST).max(SOONEST).saturating_mul(1 << self.short);
        self.short += 1;
        // Somebody waits for the answer, so a hint for longer is not believed.
        Some(wait.min(CEILING))
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
    fn an_answer_is_taken_up_as_hinted_then_ever_more_rarely_and_in_the_end_no_more() {
        use Brought::{Nothing, Something};
        let mut reopen = Reopen::default();
        let mut after = |lived, brought, hint| {
            let hint = Option::map(hint, Duration::from_millis);
            reopen.resume_after(Duration::from_secs(lived), brought, hint).map(|wait| wait.as_millis())
        };
        let waits: Vec<_> = (0..11).map(|_| after(0, Nothing, Some(0))).collect();
        let grown = [250, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000];
        assert_eq!(waits[..10], grown.map(Some));
        assert_eq!(waits[10], None);
        for (lived, brought, hint, wait) in [
            (0, Something, Some(0), 250),
            (0, Something, Some(500), 500),
            (0, Nothing, Some(500), 1000),
            (30, Nothing, Some(500), 500),
            (0, Something, None, 1000),
            (0, Something, Some(86_400_000), 60_000),
            (0, Something, Some(u64::MAX), 60_000),
        ] {
            assert_eq!(after(lived, brought, hint), Some(wait), "{lived} {brought:?} {hint:?}");
        }
    }

    #[test]
    fn a_hint_makes_the_wait_longer_and_never_shorter() {
        for (hint, wait) in [(0, 1), (1, 1), (5, 5), (86_400, 300)] {
            let hint = Some(Duration::from_secs(hint));
            assert_eq!(Reopen::default().after(Duration::ZERO, hint), Duration::from_secs(wait));
        }
    }
}
