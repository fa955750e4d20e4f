//! How many processes may be starting at a time, and who is next? Owns the queue of opens in the order in which they
//! were asked for; knows nothing of what is opened.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::oneshot, time::timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

/// A process that runs for this long no longer counts as starting, whether it answers or not.
const STARTED: Duration = Duration::from_millis(250);

/// A number of permits, handed out strictly in the order of the tickets. A semaphore orders by first poll, and polls
/// happen in any order on several threads.
#[derive(Clone, Debug)]
pub(super) struct Permits(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    free: usize,
    waiting: VecDeque<oneshot::Sender<Permit>>,
}

/// The right to start a process. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct Permit(Option<Permits>);

/// A place in the queue.
#[derive(Debug)]
pub(super) struct Ticket(oneshot::Receiver<Permit>);

impl Permits {
    pub(super) fn new(number: usize) -> Self {
        Self(Arc::new(Mutex::new(State { free: number, waiting: VecDeque::new() })))
    }

    /// Takes a place in the queue at once.
    pub(super) fn ticket(&self) -> Ticket {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting.push_back(sender);
        self.hand_out(state);
        Ticket(receiver)
    }

    fn give_back(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.free += 1;
        self.hand_out(state);
    }

    fn hand_out(&self, mut state: std::sync::MutexGuard<'_, State>) {
        while state.free > 0 {
            let Some(next) = state.waiting.pop_front() else { return };
            // Whoever gave up waiting is skipped; disarmed, or its drop would take the lock again.
            if let Err(mut refused) = next.send(Permit(Some(self.clone()))) {
                refused.0 = None;
            } else {
                state.free -= 1;
            }
        }
    }
}

impl Ticket {
    /// Waits for the permit; `None` never happens while the queue exists.
    pub(super) async fn permit(self) -> Option<Permit> {
        self.0.await.ok()
    }
}

impl Permit {
    /// Comes back with the drop of what is returned, or by itself when the process has had its time.
    pub(super) fn lend(self) -> DropGuard {
        let over = CancellationToken::new();
        let guard = over.clone().drop_guard();
        tokio::spawn(async move {
            timeout(STARTED, over.cancelled()).await.ok();
            drop(self);
        });
        guard
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(permits) = self.0.take() {
            permits.give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn permits_go_out_in_the_order_of_the_tickets_and_come_back() {
        let permits = Permits::new(2);
        let mut tickets: VecDeque<_> = (0..4).map(|_| permits.ticket()).collect();
        let first = tickets.pop_front().unwrap().permit().now_or_never().flatten();
        let second = tickets.pop_front().unwrap().permit().now_or_never().flatten();
        assert!(first.is_some() && second.is_some());
        let mut third = Box::pin(tickets.pop_front().unwrap().permit());
        let mut fourth = Box::pin(tickets.pop_front().unwrap().permit());
        assert!((&mut fourth).now_or_never().is_none());
        drop(second);
        assert!((&mut fourth).now_or_never().is_none(), "it is the third's turn, whoever polls first");
        assert!((&mut third).now_or_never().is_some());
        drop(first);
        assert!((&mut fourth).now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_permit_comes_back_when_its_start_is_over_and_at_the_latest_after_its_time() {
        let permits = Permits::new(1);
        let began = tokio::time::Instant::now();
        let slow = permits.ticket().permit().await.unwrap().lend();
        let quick = permits.ticket().permit().await.unwrap().lend();
        assert_eq!(began.elapsed(), STARTED);
        drop(quick);
        let last = permits.ticket().permit().await;
        assert_eq!(began.elapsed(), STARTED);
        drop((slow, last));
        assert_eq!(permits.0.lock().unwrap().free, 1);
    }

    #[test]
    fn who_gives_up_waiting_costs_nobody_a_permit() {
        let permits = Permits::new(1);
        let held = permits.ticket();
        drop(permits.ticket());
        let last = permits.ticket();
        drop(held.permit().now_or_never());
        assert!(last.permit().now_or_never().flatten().is_some());
        let state = permits.0.lock().unwrap();
        assert_eq!((state.free, state.waiting.len()), (1, 0));
    }
}
