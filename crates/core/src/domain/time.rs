//! Time as a value: pure code is told what time it is and never asks.

use std::time::Duration;

/// One reading of both clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Time {
    /// Since an arbitrary start; never goes back. For deadlines and durations.
    pub monotonic: Duration,
    /// Milliseconds since 1970-01-01 UTC. For people.
    pub unix_ms: u64,
}
