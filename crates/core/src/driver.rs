//! The one task that owns a session: it feeds the machine, carries out its effects and publishes its status.
//!
//! Nothing is decided here. What the machine cannot know is only how long things take.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::{
    admission::Refusal,
    connector::{Attempt, Caller, Connector, Lease, LinkEvent, OpenRequest, Teardown},
    domain::{Desired, LaunchBound, ServerName, ServerSpec, Time},
    failure::Failure,
    questions::Questions,
    session::{Effect, Opened, Session},
    status::Status,
};

/// A committed desired state and its number.
pub(crate) type Committed = Option<(u64, Arc<Desired>)>;

/// What a call needs of an open connection.
#[derive(Clone)]
pub(crate) struct Route {
    pub(crate) spec: Arc<ServerSpec>,
    pub(crate) caller: Arc<dyn Caller>,
    attempt: Attempt,
}

/// Every open connection by name, derived from the session like the status.
pub(crate) type Routes = BTreeMap<ServerName, Route>;

/// What somebody asks of the session.
pub(crate) enum Request {
    Reconnect(ServerName, oneshot::Sender<Result<(), Option<Refusal>>>),
    /// Ends everything; answered when all is gone or the deadline has passed.
    ShutDown(Duration, oneshot::Sender<()>),
}

enum Answer {
    Opened(Attempt, Result<Lease, Failure>),
    Gone(Attempt),
}

/// The driver's ends of its channels.
pub(crate) struct Inputs {
    pub(crate) desired: watch::Receiver<Committed>,
    pub(crate) requests: mpsc::UnboundedReceiver<Request>,
    pub(crate) status: watch::Sender<Arc<Status>>,
    pub(crate) routes: watch::Sender<Arc<Routes>>,
}

pub(crate) struct Driver {
    session: Session<Lease>,
    connector: Arc<dyn Connector>,
    questions: Option<Arc<dyn Questions>>,
    inputs: Inputs,
    started: Instant,
    /// The way out of each attempt that has not ended: of its start, or of the calls that it is left to finish.
    attempts: HashMap<Attempt, CancellationToken>,
    answers: (mpsc::UnboundedSender<Answer>, mpsc::UnboundedReceiver<Answer>),
    events: (mpsc::UnboundedSender<LinkEvent>, mpsc::UnboundedReceiver<LinkEvent>),
    ending: Option<Ending>,
}

/// Set once the session is to end.
struct Ending {
    deadline: Instant,
    done: oneshot::Sender<()>,
}

impl Driver {
    pub(crate) fn new(
        bound: LaunchBound,
        connector: Arc<dyn Connector>,
        questions: Option<Arc<dyn Questions>>,
        inputs: Inputs,
    ) -> Self {
        Self {
            session: Session::new(bound, fastrand::u64(..)),
            connector,
            questions,
            inputs,
            started: Instant::now(),
            attempts: HashMap::new(),
            answers: mpsc::unbounded_channel(),
            events: mpsc::unbounded_channel(),
            ending: None,
        }
    }

    /// Runs until it is shut down, or until nobody can ask anything of it any more.
    pub(crate) async fn run(mut self) {
        loop {
            let Some(effects) = self.next().await else { break };
            self.carry_out(effects);
            // Whatever else is there already belongs into the same status: readers see one step, not a flicker.
            while let Some(effects) = self.ready() {
                self.carry_out(effects);
            }
            self.publish();
            if let Some(ending) = self.ending.take() {
                if self.session.is_quiet() || Instant::now() >= ending.deadline {
                    // Whoever asked may have gone; the end does not depend on it.
                    ending.done.send(()).ok();
                    return;
                }
                self.ending = Some(ending);
            }
        }
        // The owner went without a word: every connection gets the way a program's end gives it.
        let effects = self.session.shut_down(self.now());
        self.carry_out(effects);
        self.publish();
    }

    /// Waits for one input; `None` when the session has no owner any more.
    async fn next(&mut self) -> Option<Vec<Effect<Lease>>> {
        let due = self.session.next_due().map(|due| self.started + due);
        let deadline = self.ending.as_ref().map(|ending| ending.deadline);
        let wake = [due, deadline].into_iter().flatten().min();
        tokio::select! {
            biased;
            changed = self.inputs.desired.changed(), if self.ending.is_none() => {
                changed.ok()?;
                Some(self.commit())
            }
            request = self.inputs.requests.recv(), if self.ending.is_none() => Some(self.request(request?)),
            Some(answer) = self.answers.1.recv() => Some(self.answer(answer)),
            Some(event) = self.events.1.recv() => Some(self.event(event)),
            () = sleep_until(wake), if wake.is_some() => Some(self.session.due(self.now())),
        }
    }

    /// One input that is there already. Commits are not among them: each is published on its own.
    fn ready(&mut self) -> Option<Vec<Effect<Lease>>> {
        if let Ok(answer) = self.answers.1.try_recv() {
            return Some(self.answer(answer));
        }
        self.events.1.try_recv().ok().map(|event| self.event(event))
    }

    fn commit(&mut self) -> Vec<Effect<Lease>> {
        let committed = self.inputs.desired.borrow_and_update().clone();
        committed
            .map(|(generation, desired)| self.session.desire(generation, desired, self.now()))
            .unwrap_or_default()
    }

    fn request(&mut self, request: Request) -> Vec<Effect<Lease>> {
        match request {
            Request::Reconnect(name, reply) => {
                let (answer, effects) = match self.session.reconnect(&name, self.now()) {
                    Ok(effects) => (Ok(()), effects),
                    Err(refusal) => (Err(refusal), Vec::new()),
                };
                // The asker may have gone; the reconnect happens all the same.
                reply.send(answer).ok();
                effects
            }
            Request::ShutDown(within, done) => {
                self.ending = Some(Ending { deadline: Instant::now() + within, done });
                self.session.shut_down(self.now())
            }
        }
    }

    fn answer(&mut self, answer: Answer) -> Vec<Effect<Lease>> {
        match answer {
            Answer::Opened(attempt, outcome) => {
                if outcome.is_err() {
                    self.attempts.remove(&attempt);
                }
                let outcome = outcome.map(|lease| Opened {
                    pid: lease.pid,
                    inventory: Arc::clone(&lease.inventory),
                    link: lease,
                });
                self.session.opened(attempt, outcome, self.now())
            }
            Answer::Gone(attempt) => {
                self.attempts.remove(&attempt);
                self.session.gone(attempt, self.now())
            }
        }
    }

    fn event(&mut self, event: LinkEvent) -> Vec<Effect<Lease>> {
        match event {
            LinkEvent::Inventory(attempt, inventory) => {
                self.session.relisted(attempt, inventory);
                Vec::new()
            }
            LinkEvent::Lost(attempt, failure) => self.session.lost(attempt, failure, self.now()),
        }
    }

    fn carry_out(&mut self, effects: Vec<Effect<Lease>>) {
        for effect in effects {
            match effect {
                Effect::Open { attempt, admitted } => {
                    tracing::debug!(server = %admitted.name(), attempt = attempt.0, "opening");
                    let cancel = CancellationToken::new();
                    self.attempts.insert(attempt, cancel.clone());
                    let events = self.events.0.clone();
                    let questions = self.questions.clone();
                    let request = OpenRequest { attempt, admitted, cancel, events, questions };
                    let open = self.connector.open(request);
                    let answers = self.answers.0.clone();
                    tokio::spawn(async move {
                        if let Err(unheard) = answers.send(Answer::Opened(attempt, open.await))
                            && let Answer::Opened(_, Ok(lease)) = unheard.0
                        {
                            lease.link.retire(Teardown::Exit).await;
                        }
                    });
                }
                Effect::Abort(attempt) | Effect::Interrupt(attempt) => {
                    if let Some(cancel) = self.attempts.get(&attempt) {
                        cancel.cancel();
                    }
                }
                Effect::Retire { attempt, link, teardown } => {
                    if teardown.lets_calls_finish() && link.link.calls_in_flight() > 0 {
                        self.session.draining(attempt, self.now());
                    }
                    let answers = self.answers.0.clone();
                    let gone = link.link.retire(teardown);
                    tokio::spawn(async move {
                        gone.await;
                        // Nobody listens once the session has ended.
                        answers.send(Answer::Gone(attempt)).ok();
                    });
                }
            }
        }
    }

    fn publish(&mut self) {
        let Some(status) = self.session.publish(self.now()) else { return };
        self.publish_routes();
        self.inputs.status.send_replace(status);
    }

    fn publish_routes(&self) {
        let old = self.inputs.routes.borrow().clone();
        let routes: Routes = self
            .session
            .open_links()
            .map(|(name, spec, attempt, lease)| {
                let caller = match old.get(name) {
                    Some(route) if route.attempt == attempt => Arc::clone(&route.caller),
                    Some(_) | None => lease.link.caller(),
                };
                (name.clone(), Route { spec: Arc::clone(spec), caller, attempt })
            })
            .collect();
        self.inputs.routes.send_replace(Arc::new(routes));
    }

    fn now(&self) -> Time {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let unix_ms = u64::try_from(unix.as_millis()).unwrap_or(u64::MAX);
        Time { monotonic: self.started.elapsed(), unix_ms }
    }
}

/// Never, where there is nothing to wait for.
async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake).await,
        None => std::future::pending().await,
    }
}
