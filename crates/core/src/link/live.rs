//! What happens on a connection between its opening and its end? Owns the task that watches it, refreshes its lists and
//! reports; decides neither when it opens nor why it ends.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use rmcp::service::{RoleClient, RunningService};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    answers::Answers,
    calls::{Calls, LinkCaller},
    ground::Ground,
    handshake::Era,
    listing::Offered,
    peer::Asker,
    phase::Phase,
    subscribe,
    tap::{Changes, Lists},
    vitals::Vitals,
};
use crate::{
    admission::Admitted,
    connector::{Attempt, Caller, Link, LinkEvent, Teardown},
    failure::Failure,
    protocol::Offers,
};

/// A list change is acted on when no other came for this long …
const QUIET: Duration = Duration::from_millis(300);
/// … but not later than this after the first.
const LATEST: Duration = Duration::from_secs(2);
/// What calls that were interrupted get to tell their server.
const FAREWELL: Duration = Duration::from_millis(100);

/// The library's task, which reads, writes and matches answers to requests.
pub(super) type Service = RunningService<RoleClient, Answers>;

/// The owner's end of a live connection.
pub(super) struct Live {
    calls: EndsCalls,
    ground: Ground,
    /// The proof that it may be open lives as long as it does.
    admitted: Admitted,
    /// Cancelled when a call that a drain waits for may go on no longer.
    hurry: CancellationToken,
}

/// Calls do not go on without the owner of their connection, however that went.
struct EndsCalls(Arc<Calls>);

impl Drop for EndsCalls {
    fn drop(&mut self) {
        self.0.enter(Phase::Interrupted);
    }
}

impl Live {
    pub(super) fn new(
        calls: Arc<Calls>,
        ground: Ground,
        admitted: Admitted,
        hurry: CancellationToken,
    ) -> Self {
        ground.mark_live();
        Self { calls: EndsCalls(calls), ground, admitted, hurry }
    }

    async fn end(self, teardown: Teardown) {
        let calls = &self.calls.0;
        if teardown.lets_calls_finish() {
            calls.enter(Phase::Draining);
            // Whatever still runs after that is interrupted.
            tokio::select! {
                () = self.hurry.cancelled() => {}
                _ = timeout(Teardown::DRAIN, calls.quiet()) => {}
            }
        }
        calls.enter(Phase::Interrupted);
        timeout(FAREWELL, calls.quiet()).await.ok();
        self.ground.end(teardown).await;
        tracing::debug!(server = %self.admitted.name(), ?teardown, "nothing is left of the server");
    }
}

impl Link for Live {
    fn caller(&self) -> Arc<dyn Caller> {
        Arc::new(LinkCaller(Arc::clone(&self.calls.0)))
    }

    fn calls_in_flight(&self) -> usize {
        self.calls.0.running()
    }

    fn retire(self: Box<Self>, teardown: Teardown) -> BoxFuture<'static, ()> {
        self.end(teardown).boxed()
    }
}

/// The task beside a live connection.
pub(super) struct Watcher {
    pub(super) attempt: Attempt,
    pub(super) events: mpsc::UnboundedSender<LinkEvent>,
    pub(super) vitals: Vitals,
    pub(super) calls: Arc<Calls>,
    pub(super) changes: Arc<Changes>,
    pub(super) lister: Lister,
    pub(super) era: Era,
    pub(super) gone: watch::Receiver<bool>,
    pub(super) service: Service,
    /// Takes back the questions that wait for a person.
    pub(super) over: CancellationToken,
}

/// Reads the lists again.
pub(super) struct Lister {
    pub(super) asker: Asker,
    pub(super) offers: Offers,
    /// What the server offers since it was opened anew, where it can be.
    pub(super) renewed: Option<watch::Receiver<Option<Offers>>>,
    pub(super) offered: Offered,
    /// For one refresh.
    pub(super) limit: Duration,
}

impl Watcher {
    /// Runs until nothing is left of the server.
    pub(super) async fn run(mut self) {
        let mut phase = self.calls.phase();
        let vitals = self.vitals.clone();
        let listening =
            subscribe::listen(self.lister.asker.clone(), self.era, self.lister.offers, &self.changes);
        let lost = tokio::select! {
            biased;
            // Whoever ends it knows; a loss after that is news to the running calls only.
            _ = phase.wait_for(|phase| *phase != Phase::Live) => None,
            failure = vitals.lost() => Some(failure),
            () = listening => None,
            () = self.lister.keep_fresh(&self.changes, self.attempt, &self.events) => None,
        };
        match lost {
            Some(failure) => self.report(failure),
            None => {
                tokio::select! {
                    failure = vitals.lost() => self.calls.enter(Phase::Lost(failure.message)),
                    _ = phase.wait_for(|phase| *phase == Phase::Interrupted) => {}
                }
            }
        }
        self.over.cancel();
        // It reads on while the server ends, since a server that cannot write may not notice that it should.
        self.gone.wait_for(|gone| *gone).await.ok();
        self.service.cancellation_token().cancel();
    }

    fn report(&self, failure: Failure) {
        self.calls.enter(Phase::Lost(failure.message.clone()));
        // A session that ended has no use for it.
        self.events.send(LinkEvent::Lost(self.attempt, failure)).ok();
    }
}

impl Lister {
    /// Acts on list changes for as long as it is polled: one refresh at a time, and one more for what came meanwhile.
    async fn keep_fresh(
        &mut self,
        changes: &Changes,
        attempt: Attempt,
        events: &mpsc::UnboundedSender<LinkEvent>,
    ) {
        loop {
            let lists = settled(changes).await;
            let deadline = Instant::now() + self.limit;
            let worth = self.worth_asking();
            // On the heap while it lasts: every live connection would hold its room else.
            let refreshed = Box::pin(self.offered.refreshed(&self.asker, worth, lists, deadline)).await;
            // An error means that the connection is going; whoever watches it says so.
            let Ok(next) = refreshed else { continue };
            if next != self.offered {
                self.offered = next;
                events.send(LinkEvent::Inventory(attempt, self.offered.inventory())).ok();
            }
        }
    }

    /// A server that says that a list changed has it, whatever it declared. One that was opened anew may be another one,
    /// and is asked for what it declares.
    fn worth_asking(&mut self) -> Offers {
        let renewed = self.renewed.as_mut().filter(|renewed| renewed.has_changed().unwrap_or(false));
        match renewed.and_then(|renewed| *renewed.borrow_and_update()) {
            Some(offers) => offers,
            None => Offers::ALL,
        }
    }
}

/// Waits for list changes and until they stop coming.
async fn settled(changes: &Changes) -> Lists {
    let mut lists = Lists::default();
    while lists.is_empty() {
        changes.news().await;
        lists = changes.take();
    }
    let latest = Instant::now() + LATEST;
    let mut quiet = Instant::now() + QUIET;
    loop {
        tokio::select! {
            () = changes.news() => {
                lists = lists.and(changes.take());
                quiet = Instant::now() + QUIET;
            }
            () = sleep_until(quiet.min(latest)) => return lists.and(changes.take()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_of_changes_is_one_refresh_after_it_ends() {
        let changes = Changes::default();
        for _ in 0..200 {
            changes.add(Lists::TOOLS);
        }
        let began = Instant::now();
        assert_eq!(settled(&changes).await, Lists::TOOLS);
        assert_eq!(began.elapsed(), QUIET);
    }

    #[tokio::test(start_paused = true)]
    async fn steady_changes_cannot_starve_the_refresh() {
        let changes = Arc::new(Changes::default());
        let steady = Arc::clone(&changes);
        let sender = tokio::spawn(async move {
            for lists in [Lists::TOOLS, Lists::PROMPTS].into_iter().cycle() {
                steady.add(lists);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        let began = Instant::now();
        assert_eq!(settled(&changes).await, Lists::TOOLS.and(Lists::PROMPTS));
        assert_eq!(began.elapsed(), LATEST);
        sender.abort();
    }
}
