//! When is time itself a reason to wake up? A tick that was set stays where it is, however much happens before it. It
//! reads no clock and waits for nothing.

use std::time::Duration;

use tokio::time::Instant;

/// The next tick, where something moves.
#[derive(Debug, Default)]
pub(super) struct Clock {
    tick: Option<Instant>,
}

impl Clock {
    /// When to wake up; `every` is how often something moves, `due` when something is to be drawn.
    pub(super) fn wakes_at(
        &mut self,
        every: Option<Duration>,
        due: Option<Instant>,
        now: Instant,
    ) -> Option<Instant> {
        match every {
            // What began to move faster does not wait for a slower tick.
            Some(every) => self.tick = Some(self.tick.map_or(now + every, |tick| tick.min(now + every))),
            None => self.tick = None,
        }
        match (due, self.tick) {
            (Some(due), Some(tick)) => Some(due.min(tick)),
            (due, tick) => due.or(tick),
        }
    }

    /// Whether the tick has come; the next one is set at the next look.
    pub(super) fn has_ticked(&mut self, now: Instant) -> bool {
        self.tick.take_if(|tick| *tick <= now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_without_end_put_no_tick_off() {
        let (every, step) = (Duration::from_millis(200), Duration::from_millis(1));
        let (mut clock, mut now, mut ticks) = (Clock::default(), Instant::now(), 0);
        for _ in 0..2000 {
            let wakes_at = clock.wakes_at(Some(every), None, now).unwrap();
            assert!(wakes_at <= now + every);
            ticks += u32::from(clock.has_ticked(now));
            now += step;
        }
        assert_eq!(ticks, 9);
        assert_eq!(clock.wakes_at(None, Some(now), now), Some(now));
        assert_eq!(clock.wakes_at(None, None, now), None);
    }
}
