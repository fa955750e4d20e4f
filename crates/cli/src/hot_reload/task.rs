//! In which order are edits and requests taken? The task itself: it wakes up for a reason and makes a pass. It never
//! waits for a connection, and it must not know how files are read.

mod step;

use std::{future::Future, sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use qwen_approvals::Verdict;
use qwen_core::{Decision, Desired, ServerName, Unavailable};
use qwen_settings_schema::SettingsSchema;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    Answer,
    decisions::Deriving,
    event::{CliEvent, NoticeCode},
    pass::Asked,
    target::{Files, Target},
    told::Told,
};
use crate::{
    derive::{Derived, SessionDecision, SessionDecisions},
    settings::{Seen, Snapshot},
};

/// What somebody asks of the task.
pub(super) enum Request {
    /// Read everything now and hold nothing back.
    Reload(oneshot::Sender<()>),
    /// Read everything now.
    Look(oneshot::Sender<()>),
    /// Apply a decision that could not be written.
    Unsaved { answer: Answer, because: String, done: oneshot::Sender<()> },
    /// Try a server again.
    Reconnect { server: ServerName, answer: oneshot::Sender<Result<(), Unavailable>> },
}

/// What the task is made of.
pub(super) struct Parts<T> {
    pub(super) target: T,
    pub(super) derive: Deriving,
    pub(super) schema: Arc<dyn SettingsSchema>,
    pub(super) seen: watch::Receiver<Seen>,
    pub(super) files: Arc<dyn Files>,
    pub(super) events: mpsc::UnboundedSender<CliEvent>,
    pub(super) requests: mpsc::UnboundedReceiver<Request>,
    pub(super) stop: CancellationToken,
}

/// The task.
pub(super) struct Task<T> {
    parts: Parts<T>,
    told: Told,
    decisions: SessionDecisions,
    derived: watch::Sender<Arc<Derived>>,
    /// What core was told last; nothing before the first commit.
    sent: Option<Desired>,
    /// Who the user was last told is waiting.
    asked: Asked,
    /// The edits that the user was last told are held back.
    held: Option<Desired>,
    looking: Option<Looking>,
    retry: Option<Retry>,
}

/// A look that somebody asked for.
struct Looking {
    look: BoxFuture<'static, ()>,
    extent: Extent,
    changes: ChangesTold,
    done: Vec<oneshot::Sender<()>>,
}

/// Whether a change of settings was told since a look began.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChangesTold {
    NotYet,
    Already,
}

#[derive(Clone, Copy)]
struct Retry {
    at: Instant,
    delay: Duration,
    extent: Extent,
}

/// How much of an edit is applied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// All of it, unless `mcp.autoReload` holds back what opens or restarts.
    AsSet,
    /// All of it.
    Whole,
}

/// Why the task woke up.
enum Wake {
    Stopped,
    Asked(Request),
    Looked,
    Changed,
    WatcherEnded,
    RetryDue(Extent),
}

impl<T: Target> Task<T> {
    /// Takes over what the session booted from; nothing is committed yet.
    pub(super) fn new(mut parts: Parts<T>, booted: &Snapshot) -> (Self, watch::Receiver<Arc<Derived>>) {
        let (told, events) = Told::booted(booted);
        let at_boot = (parts.derive)(booted, &mut SessionDecisions::new(), None);
        let (derived, published) = watch::channel(Arc::new(at_boot));
        let task = Self {
            parts,
            told,
            decisions: SessionDecisions::new(),
            derived,
            sent: None,
            asked: Asked::new(),
            held: None,
            looking: None,
            retry: None,
        };
        events.into_iter().for_each(|event| task.tell(event));
        (task, published)
    }

    /// The commit that a session starts with, of what the files say by now.
    pub(super) async fn first_pass(&mut self) {
        self.pass(Extent::Whole).await;
    }

    /// Runs until it is stopped. Whatever arrives during a pass leads to one further pass.
    pub(super) async fn run(mut self) {
        let stop = self.parts.stop.clone();
        let mut watched = true;
        loop {
            let wake = tokio::select! {
                biased;
                () = stop.cancelled() => Wake::Stopped,
                request = self.parts.requests.recv() => request.map_or(Wake::Stopped, Wake::Asked),
                () = or_never(self.looking.as_mut().map(|looking| &mut looking.look)) => Wake::Looked,
                changed = self.parts.seen.changed(), if watched => {
                    changed.map_or(Wake::WatcherEnded, |()| Wake::Changed)
                }
                extent = or_never(self.retry.map(due)) => Wake::RetryDue(extent),
            };
            let step = async {
                match wake {
                    Wake::Stopped => return false,
                    Wake::Asked(request) => self.take(request),
                    Wake::Looked => self.looked().await,
                    Wake::Changed => self.pass(Extent::AsSet).await,
                    Wake::WatcherEnded => {
                        watched = false;
                        let message = "settings files are no longer watched; restart qwen";
                        self.notice(NoticeCode::WatchDegraded, message.to_owned());
                    }
                    Wake::RetryDue(extent) => self.pass(extent).await,
                }
                true
            };
            let goes_on = tokio::select! {
                biased;
                () = stop.cancelled() => false,
                goes_on = step => goes_on,
            };
            if !goes_on {
                return;
            }
        }
    }

    fn take(&mut self, request: Request) {
        match request {
            Request::Reload(done) => self.look(Extent::Whole, done),
            Request::Look(done) => self.look(Extent::AsSet, done),
            Request::Unsaved { answer, because, done } => {
                let message = format!(
                    "the decision about {} holds for this session only: failed to {because}",
                    answer.server
                );
                self.notice(NoticeCode::DecisionNotSaved, message);
                let decision = match answer.verdict {
                    Verdict::Approve => Decision::Approved,
                    Verdict::Reject => Decision::Rejected,
                };
                let decision = SessionDecision::new(decision, &self.parts.seen.borrow().snapshot);
                self.decisions.insert((answer.server, answer.hash.to_string()), decision);
                self.look(Extent::AsSet, done);
            }
            Request::Reconnect { server, answer } => {
                // The attempt is core's, and nobody here waits for it.
                let attempt = self.parts.target.reconnect(server);
                tokio::spawn(attempt.map(|outcome| answer.send(outcome).unwrap_or(())));
            }
        }
    }

    /// Begins a look; one that is under way is begun again, since it may have read too early.
    fn look(&mut self, extent: Extent, done: oneshot::Sender<()>) {
        let look = self.parts.files.look_now();
        let before = self.looking.take();
        let mut looking = Looking { look, extent, changes: ChangesTold::NotYet, done: vec![done] };
        if let Some(before) = before {
            looking.done.extend(before.done);
            looking.changes = before.changes;
            if before.extent == Extent::Whole {
                looking.extent = Extent::Whole;
            }
        }
        self.looking = Some(looking);
    }

    async fn looked(&mut self) {
        let extent = self.looking.as_ref().map_or(Extent::AsSet, |looking| looking.extent);
        self.pass(extent).await;
        let Some(Looking { look: _, extent, changes, done }) = self.looking.take() else { return };
        match (extent, changes) {
            (Extent::Whole, ChangesTold::NotYet) => {
                self.tell(CliEvent::SettingsChanged { changes: Vec::new() })
            }
            (Extent::Whole, ChangesTold::Already) | (Extent::AsSet, _) => {}
        }
        let tasks = Handle::current().metrics().num_alive_tasks();
        tracing::debug!(tasks, "everything was read again");
        for done in done {
            // Whoever asked may have stopped waiting.
            done.send(()).unwrap_or(());
        }
    }

    fn notice(&self, code: NoticeCode, message: String) {
        self.tell(CliEvent::Notice { code, message });
    }

    fn tell(&self, event: CliEvent) {
        if self.parts.events.send(event).is_err() {
            tracing::trace!("nobody listens any more");
        }
    }
}

async fn or_never<F: Future>(future: Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

async fn due(retry: Retry) -> Extent {
    tokio::time::sleep_until(retry.at).await;
    retry.extent
}

#[cfg(test)]
mod tests;
