//! When is a failed server tried again? A pure function of how often and how it failed.

use std::time::Duration;

use crate::failure::{Failure, FailureKind};

/// What is remembered of a server's failures between attempts. An edit or a manual reconnect starts it afresh.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Retry {
    failures: u32,
    short_lives: u32,
}

/// The longest time between two attempts.
const CEILING: Duration = Duration::from_secs(60);
/// The longest time before the first retry.
const FIRST: Duration = Duration::from_secs(1);
/// A server that asks us to stay away longer than this is asked again all the same.
pub(crate) const LONGEST_HINT: Duration = Duration::from_secs(600);
/// A connection that lived this long starts the back-off afresh.
const HEALTHY: Duration = Duration::from_secs(60);
/// A connection that ended sooner than this after its handshake is a short life.
const SHORT_LIFE: Duration = Duration::from_secs(5);
/// So many short lives in a row are a crash loop.
const SHORT_LIVES: u32 = 5;

/// A random number in `0.0..1.0` that the caller drew.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Jitter(pub(crate) f64);

impl Retry {
    /// An attempt failed: the failure to show and how long to wait before the next one; `None` waits for an edit or a
    /// manual reconnect.
    pub(crate) fn after_failed_open(
        &mut self,
        failure: Failure,
        jitter: Jitter,
    ) -> (Failure, Option<Duration>) {
        // It never went live, but it shook hands: five of these in a row are a crash loop like any other.
        if failure.kind == FailureKind::EndedEarly {
            return self.after_loss(failure, Duration::ZERO, jitter);
        }
        let delay = self.wait(&failure.kind, jitter);
        (failure, delay)
    }

    /// A live connection ended after `lived`: the failure to show and how long to wait.
    pub(crate) fn after_loss(
        &mut self,
        failure: Failure,
        lived: Duration,
        jitter: Jitter,
    ) -> (Failure, Option<Duration>) {
        if lived >= HEALTHY {
            self.failures = 0;
        }
        self.short_lives = if lived < SHORT_LIFE { self.short_lives + 1 } else { 0 };
        if self.short_lives >= SHORT_LIVES {
            let message = format!(
                "crash loop: it ended within {} s of its handshake {SHORT_LIVES} times in a row; edit its entry or \
                 reconnect it to try again; last: {}",
                SHORT_LIFE.as_secs(),
                failure.message
            );
            return (Failure { kind: FailureKind::CrashLoop, message, ..failure }, None);
        }
        let delay = self.wait(&failure.kind, jitter);
        (failure, delay)
    }

    /// How long to wait where trying again makes sense: not shorter than the server asked for.
    fn wait(&mut self, kind: &FailureKind, jitter: Jitter) -> Option<Duration> {
        let delay = kind.is_retried().then(|| self.delay(jitter))?;
        if let FailureKind::Unavailable { retry_after: Some(asked) } = kind {
            return Some(delay.max((*asked).min(LONGEST_HINT)));
        }
        Some(delay)
    }

    /// Doubles with each failure up to the ceiling; the jitter takes off up to half.
    fn delay(&mut self, jitter: Jitter) -> Duration {
        let doubled = FIRST.saturating_mul(1u32.checked_shl(self.failures.min(16)).unwrap_or(u32::MAX));
        self.failures = self.failures.saturating_add(1);
        doubled.min(CEILING).mul_f64(1.0 - jitter.0.clamp(0.0, 1.0) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::TlsFault;

    const NO_JITTER: Jitter = Jitter(0.0);

    fn failed(kind: FailureKind) -> Failure {
        Failure::new(kind, "it failed")
    }

    fn lost() -> Failure {
        Failure::new(FailureKind::Exited, "exited with code 1")
    }

    #[test]
    fn the_wait_doubles_from_one_second_to_a_minute() {
        let mut retry = Retry::default();
        let waits: Vec<_> = (0..9)
            .filter_map(|_| retry.after_failed_open(failed(FailureKind::HandshakeTimeout), NO_JITTER).1)
            .map(|wait| wait.as_secs())
            .collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    }

    #[test]
    fn jitter_only_shortens_and_by_half_at_most() {
        let wait = Retry::default().after_failed_open(failed(FailureKind::Exited), Jitter(1.0)).1;
        assert_eq!(wait, Some(Duration::from_millis(500)));
    }

    #[test]
    fn what_a_retry_cannot_mend_waits_for_an_edit() {
        for kind in [
            FailureKind::CommandNotFound,
            FailureKind::CwdMissing,
            FailureKind::CwdNotAFolder,
            FailureKind::InvalidHandshake,
            FailureKind::NeedsAuth { challenge: None, header: None },
            FailureKind::Forbidden,
            FailureKind::WrongEndpoint { status: Some(404) },
            FailureKind::Tls(TlsFault::NotTls),
            FailureKind::Unsupported,
        ] {
            let (failure, wait) = Retry::default().after_failed_open(failed(kind), NO_JITTER);
            assert_eq!(wait, None, "{failure:?}");
        }
    }

    #[test]
    fn a_server_that_says_how_long_is_left_alone_so_long_up_to_ten_minutes() {
        for (asked, waited) in [(None, 1), (Some(0), 1), (Some(30), 30), (Some(86_400), 600)] {
            let retry_after = asked.map(Duration::from_secs);
            let failure = failed(FailureKind::Unavailable { retry_after });
            let wait = Retry::default().after_failed_open(failure, NO_JITTER).1;
            assert_eq!(wait, Some(Duration::from_secs(waited)), "{asked:?}");
        }
    }

    #[test]
    fn a_minute_of_health_starts_the_wait_afresh() {
        let mut retry = Retry::default();
        for _ in 0..5 {
            retry.after_failed_open(failed(FailureKind::Exited), NO_JITTER);
        }
        assert_eq!(retry.after_loss(lost(), HEALTHY, NO_JITTER).1, Some(FIRST));
    }

    #[test]
    fn the_fifth_short_life_in_a_row_parks_the_server() {
        let mut retry = Retry::default();
        for _ in 0..4 {
            assert!(retry.after_loss(lost(), Duration::from_secs(1), NO_JITTER).1.is_some());
        }
        let (failure, wait) = retry.after_loss(lost(), Duration::from_secs(1), NO_JITTER);
        assert_eq!((failure.kind, wait), (FailureKind::CrashLoop, None));
        assert!(failure.message.starts_with("crash loop"));
    }

    #[test]
    fn ends_between_handshake_and_lists_are_short_lives_too() {
        let mut retry = Retry::default();
        for _ in 0..4 {
            assert!(retry.after_failed_open(failed(FailureKind::EndedEarly), NO_JITTER).1.is_some());
        }
        let (failure, wait) = retry.after_failed_open(failed(FailureKind::EndedEarly), NO_JITTER);
        assert_eq!((failure.kind, wait), (FailureKind::CrashLoop, None));
    }

    #[test]
    fn one_longer_life_between_short_ones_is_no_crash_loop() {
        let mut retry = Retry::default();
        for lived in [1, 1, 1, 1, 6, 1, 1, 1, 1] {
            assert!(retry.after_loss(lost(), Duration::from_secs(lived), NO_JITTER).1.is_some());
        }
    }
}
