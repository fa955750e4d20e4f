//! How long tests wait, and for what: always a predicate with a bound, never a length of time.

use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

/// The bound of a wait whose length is no claim: long enough for a busy machine.
pub const BOUND: Duration = Duration::from_secs(30);

/// A bound that the product states. On a machine that runs other tests beside this one it is stretched threefold;
/// `QWEN_TEST_SLACK=1` holds the program to the letter.
#[must_use]
pub fn stated(bound: Duration) -> Duration {
    let slack = std::env::var("QWEN_TEST_SLACK").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    bound * slack
}

/// Asks again and again until there is an answer.
///
/// # Panics
/// With `what` when there is none within the bound.
pub fn wait_until<T>(bound: Duration, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + bound;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "waited {bound:?} for {what}");
        pause(Duration::from_millis(15));
    }
}

/// The pause between two questions, or between the two halves of a save: never a way to wait for a result.
pub fn pause(time: Duration) {
    let (_keep, nobody) = mpsc::channel::<()>();
    assert!(nobody.recv_timeout(time).is_err());
}
