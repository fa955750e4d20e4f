//! When is an instant reached, to the fraction of a millisecond? Owns one timer of the operating system; the runtime's
//! own timers count whole milliseconds and come one to two late, which every edit would wait for.

use tokio::time::{Instant, sleep_until};

#[cfg(target_os = "linux")]
use system::Timer;

/// A timer that can be set again and again. Where the system has none, the runtime's is as good as it gets.
pub(super) struct Alarm(Option<Timer>);

impl Alarm {
    pub(super) fn new() -> Self {
        let timer = Timer::new().inspect_err(|error| tracing::debug!(%error, "no timer of the system"));
        Self(timer.ok())
    }

    /// Resolves at `at` by the runtime's clock, which decides: in tests it is not the system's.
    pub(super) async fn reached(&mut self, at: Instant) {
        let coarse = sleep_until(at);
        tokio::pin!(coarse);
        if let Some(timer) = &mut self.0 {
            tokio::select! {
                biased;
                _ = timer.fired(at.saturating_duration_since(Instant::now())) => {}
                () = &mut coarse => return,
            }
            if Instant::now() >= at {
                return;
            }
        }
        coarse.await;
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::{io, time::Duration};

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::{io::AsyncReadExt, net::unix::pipe};

    /// A timer is read like a pipe in which a number stands once it has fired, and the runtime has no other safe way to
    /// wait for a descriptor.
    pub(super) struct Timer(pipe::Receiver);

    impl Timer {
        pub(super) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            pipe::Receiver::from_owned_fd_unchecked(timer).map(Self)
        }

        /// Resolves after `left`. Whoever stops waiting may set it anew.
        pub(super) async fn fired(&mut self, left: Duration) -> io::Result<()> {
            let once = Itimerspec {
                it_interval: Timespec::default(),
                // Nothing at all would switch it off.
                it_value: Timespec::try_from(left.max(Duration::from_nanos(1))).map_err(io::Error::other)?,
            };
            timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once)?;
            self.0.read_u64_le().await.map(drop)
        }
    }
}

#[cfg(not(target_os = "linux"))]
struct Timer(std::convert::Infallible);

#[cfg(not(target_os = "linux"))]
impl Timer {
    fn new() -> std::io::Result<Self> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    async fn fired(&mut self, _left: std::time::Duration) -> std::io::Result<()> {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const WAIT: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn it_is_reached_and_never_early_however_often_it_is_set() {
        let mut alarm = Alarm::new();
        assert!(alarm.0.is_some() || !cfg!(target_os = "linux"));
        // Given up once, and set to a time that is over.
        let far = Instant::now() + Duration::from_secs(3600);
        assert!(tokio::time::timeout(Duration::from_millis(1), alarm.reached(far)).await.is_err());
        alarm.reached(Instant::now()).await;
        for _ in 0..5 {
            let at = Instant::now() + WAIT;
            alarm.reached(at).await;
            assert!(Instant::now() >= at);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_runtimes_clock_decides() {
        let (mut alarm, began) = (Alarm::new(), Instant::now());
        alarm.reached(began + Duration::from_secs(3600)).await;
        assert_eq!(began.elapsed(), Duration::from_secs(3600));
    }

    #[tokio::test(start_paused = true)]
    async fn a_timer_that_fires_before_the_runtimes_clock_is_there_is_waited_out() {
        let (mut alarm, began) = (Alarm::new(), Instant::now());
        // The runtime's clock stands still for as long as something runs.
        let busy = async {
            let begun = std::time::Instant::now();
            while begun.elapsed() < 3 * WAIT {
                tokio::task::yield_now().await;
            }
        };
        let reached = async {
            alarm.reached(began + WAIT).await;
            began.elapsed()
        };
        assert_eq!(tokio::join!(busy, reached).1, WAIT);
    }
}
