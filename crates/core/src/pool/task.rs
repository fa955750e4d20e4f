//! The one task that owns the pool: it feeds the machine, carries out its effects and tells each holder what concerns it.
//!
//! Nothing is decided here. It ends when nobody can ask for a connection and nobody holds one.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    lease::Leased,
    machine::{Effect, EntryId, Holder, Machine, News, Offer, Proof},
};
use crate::{
    connector::{Attempt, Connector, Lease, Link, LinkEvent, OpenRequest, Teardown},
    failure::Failure,
    questions::Questions,
};

/// What somebody wants of the pool.
pub(super) enum Command {
    Acquire(Box<Ask>),
    /// A holder does not want to wait any longer.
    Cancel(Holder),
    /// A holder wants another connection in place of the one it has.
    Supersede(Holder),
    /// A lease ends; `done` is answered when nothing is left that its holder must wait for.
    Release {
        holder: Holder,
        teardown: Teardown,
        done: Option<oneshot::Sender<()>>,
    },
}

/// One question for a lease.
pub(super) struct Ask {
    pub(super) holder: Holder,
    pub(super) request: OpenRequest,
    pub(super) reply: oneshot::Sender<Result<Lease, Failure>>,
    /// The way back to the pool, for the lease. The pool itself has none, or it would never end.
    pub(super) commands: mpsc::UnboundedSender<Command>,
}

enum Answer {
    Opened(EntryId, Result<Lease, Failure>),
    Gone(EntryId),
}

/// What a holder is to be told, and how.
struct Seat {
    attempt: Attempt,
    events: mpsc::UnboundedSender<LinkEvent>,
    questions: Option<Arc<dyn Questions>>,
    /// Until the answer.
    waiting: Option<Waiting>,
    /// From the release.
    done: Option<oneshot::Sender<()>>,
}

struct Waiting {
    reply: oneshot::Sender<Result<Lease, Failure>>,
    cancel: CancellationToken,
    commands: mpsc::UnboundedSender<Command>,
}

pub(super) struct Task {
    machine: Machine<Box<dyn Link>>,
    inner: Arc<dyn Connector>,
    commands: mpsc::UnboundedReceiver<Command>,
    answers: (mpsc::UnboundedSender<Answer>, mpsc::UnboundedReceiver<Answer>),
    /// What connections report; each names its entry as the attempt.
    events: (mpsc::UnboundedSender<LinkEvent>, mpsc::UnboundedReceiver<LinkEvent>),
    seats: HashMap<Holder, Seat>,
    /// The way out of each attempt that has not ended.
    attempts: HashMap<EntryId, CancellationToken>,
}

impl Task {
    pub(super) fn new(inner: Arc<dyn Connector>, commands: mpsc::UnboundedReceiver<Command>) -> Self {
        Self {
            machine: Machine::new(),
            inner,
            commands,
            answers: mpsc::unbounded_channel(),
            events: mpsc::unbounded_channel(),
            seats: HashMap::new(),
            attempts: HashMap::new(),
        }
    }

    pub(super) async fn run(mut self) {
        let started = Instant::now();
        loop {
            let due = self.machine.next_due();
            let effects = tokio::select! {
                biased;
                command = self.commands.recv() => match command {
                    Some(command) => self.command(command, started.elapsed()),
                    None => break,
                },
                Some(answer) = self.answers.1.recv() => self.answer(answer, started.elapsed()),
                Some(event) = self.events.1.recv() => self.event(event),
                () = tokio::time::sleep_until(started + due.unwrap_or_default()), if due.is_some() => {
                    self.machine.due(started.elapsed())
                }
            };
            self.carry_out(effects);
        }
        let effects = self.machine.end();
        self.carry_out(effects);
    }

    fn command(&mut self, command: Command, now: Duration) -> Vec<Effect<Box<dyn Link>>> {
        match command {
            Command::Acquire(ask) => {
                let Ask { holder, request, reply, commands } = *ask;
                let OpenRequest { attempt, admitted, cancel, events, questions } = request;
                let waiting = Some(Waiting { reply, cancel, commands });
                self.seats.insert(holder, Seat { attempt, events, questions, waiting, done: None });
                self.machine.acquire(holder, admitted, now)
            }
            Command::Cancel(holder) => self.machine.cancel(holder),
            Command::Supersede(holder) => {
                self.machine.supersede(holder);
                Vec::new()
            }
            Command::Release { holder, teardown, done } => {
                if let Some(seat) = self.seats.get_mut(&holder) {
                    seat.done = done;
                }
                self.machine.release(holder, teardown, now)
            }
        }
    }

    fn answer(&mut self, answer: Answer, now: Duration) -> Vec<Effect<Box<dyn Link>>> {
        match answer {
            Answer::Opened(entry, outcome) => {
                self.attempts.remove(&entry);
                let outcome = outcome.map(|Lease { pid, inventory, link }| {
                    let caller = link.caller();
                    (link, Offer { pid, caller, inventory })
                });
                self.machine.opened(entry, outcome, now)
            }
            Answer::Gone(entry) => self.machine.gone(entry),
        }
    }

    fn event(&mut self, event: LinkEvent) -> Vec<Effect<Box<dyn Link>>> {
        match event {
            LinkEvent::Inventory(Attempt(entry), inventory) => {
                self.machine.relisted(EntryId(entry), inventory)
            }
            LinkEvent::Lost(Attempt(entry), failure) => self.machine.lost(EntryId(entry), failure),
        }
    }

    fn carry_out(&mut self, effects: Vec<Effect<Box<dyn Link>>>) {
        for effect in effects {
            match effect {
                Effect::Open { entry, holder, admitted } => {
                    let cancel = CancellationToken::new();
                    self.attempts.insert(entry, cancel.clone());
                    let request = OpenRequest {
                        attempt: Attempt(entry.0),
                        admitted,
                        cancel,
                        events: self.events.0.clone(),
                        questions: self.seats.get(&holder).and_then(|seat| seat.questions.clone()),
                    };
                    let open = self.inner.open(request);
                    let answers = self.answers.0.clone();
                    tokio::spawn(async move {
                        if let Err(unheard) = answers.send(Answer::Opened(entry, open.await))
                            && let Answer::Opened(_, Ok(lease)) = unheard.0
                        {
                            lease.link.retire(Teardown::Exit).await;
                        }
                    });
                }
                Effect::Abort(entry) => {
                    if let Some(cancel) = self.attempts.get(&entry) {
                        cancel.cancel();
                    }
                }
                Effect::Close { entry, link, teardown } => {
                    let answers = self.answers.0.clone();
                    let gone = link.retire(teardown);
                    tokio::spawn(async move {
                        gone.await;
                        // Nobody listens once the pool has ended.
                        answers.send(Answer::Gone(entry)).ok();
                    });
                }
                Effect::Grant { holder, offer, proof } => self.grant(holder, offer, proof),
                Effect::Refuse { holder, failure } => {
                    if let Some(Waiting { reply, .. }) =
                        self.seats.remove(&holder).and_then(|seat| seat.waiting)
                    {
                        // Whoever gave up does not hear it.
                        reply.send(Err(failure)).ok();
                    }
                }
                Effect::Tell { holder, news } => {
                    if let Some(Seat { attempt, events, .. }) = self.seats.get(&holder) {
                        // A session that ended has no use for it.
                        events
                            .send(match news {
                                News::Inventory(inventory) => LinkEvent::Inventory(*attempt, inventory),
                                News::Lost(failure) => LinkEvent::Lost(*attempt, failure),
                            })
                            .ok();
                    }
                }
                Effect::Released(holder) => {
                    if let Some(done) = self.seats.remove(&holder).and_then(|seat| seat.done) {
                        // Nobody has to wait for it.
                        done.send(()).ok();
                    }
                }
            }
        }
    }

    fn grant(&mut self, holder: Holder, offer: Offer, proof: Proof) {
        let Some(Waiting { reply, cancel, commands }) =
            self.seats.get_mut(&holder).and_then(|seat| seat.waiting.take())
        else {
            return;
        };
        let Offer { pid, caller, inventory } = offer;
        let link = Box::new(Leased::new(holder, caller, proof, cancel, commands));
        // Where nobody waits any more the lease comes back, and is released by being dropped.
        drop(reply.send(Ok(Lease { pid, inventory, link })));
    }
}
