//! How does one call run from its first byte to its answer? Owns the limits of a call and the count of running ones;
//! never sends a request twice, and never decides when a connection ends.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use serde_json::{Map, Value};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until, timeout},
};

use super::{
    peer::{AskError, Asker, Question},
    tap::{CANCELLED, Notice, NoticeTo},
    vitals::REASON,
};
use crate::{
    connector::{CallError, CallLimits, Caller},
    said,
};

/// A limit that cannot be added to a clock is none.
const FOREVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// Whether a connection takes calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Live,
    /// Running calls go on, new ones are refused.
    Draining,
    /// Ended on purpose.
    Interrupted,
    /// Broke, with the reason.
    Lost(String),
}

impl Phase {
    fn end(&self) -> Option<CallError> {
        match self {
            Self::Live | Self::Draining => None,
            Self::Interrupted => Some(CallError::Interrupted),
            Self::Lost(why) => Some(CallError::Lost(why.clone())),
        }
    }

    fn refusal(&self) -> Option<CallError> {
        match self {
            Self::Draining => Some(CallError::Interrupted),
            Self::Live | Self::Interrupted | Self::Lost(_) => self.end(),
        }
    }
}

/// The callers' end of a connection. It outlives the connection and answers with an error then.
#[derive(Debug)]
pub(super) struct Calls {
    asker: Asker,
    phase: watch::Sender<Phase>,
    running: watch::Sender<usize>,
}

/// One running call in the count.
struct Running(Arc<Calls>);

impl Calls {
    pub(super) fn new(asker: Asker) -> Self {
        let (phase, _) = watch::channel(Phase::Live);
        let (running, _) = watch::channel(0);
        Self { asker, phase, running }
    }

    pub(super) fn running(&self) -> usize {
        *self.running.borrow()
    }

    /// Resolves when no call is running and none is being called off.
    pub(super) async fn quiet(&self) {
        // The sender is ours, so waiting cannot fail.
        self.running.subscribe().wait_for(|running| *running == 0).await.ok();
    }

    pub(super) fn phase(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    /// Moves on, and never back: an end that was told stays.
    pub(super) fn enter(&self, next: Phase) {
        self.phase.send_if_modified(|phase| {
            let moves = match (&*phase, &next) {
                (Phase::Live, _) => true,
                (Phase::Draining, Phase::Interrupted | Phase::Lost(_)) => true,
                (Phase::Draining, Phase::Live | Phase::Draining) => false,
                (Phase::Interrupted | Phase::Lost(_), _) => false,
            };
            if moves {
                *phase = next;
            }
            moves
        });
    }

    async fn call(
        self: Arc<Self>,
        method: &'static str,
        params: Value,
        limits: CallLimits,
    ) -> Result<Value, CallError> {
        // Counted before the phase is read: whoever starts to drain sees this call or this call sees the drain.
        let running = Running::new(Arc::clone(&self));
        if let Some(refusal) = self.phase.borrow().refusal() {
            return Err(refusal);
        }
        if limits.cancel.is_cancelled() {
            return Err(CallError::Cancelled);
        }
        let (notices_in, notices) = mpsc::unbounded_channel();
        let question = self.asker.ask(method, Some(params), Some(NoticeTo(notices_in))).await;
        match question {
            Ok(question) => self.wait(question, notices, limits, running).await,
            Err(error) => Err(self.failed(error).await),
        }
    }

    async fn wait(
        &self,
        mut question: Question,
        mut notices: mpsc::UnboundedReceiver<Notice>,
        limits: CallLimits,
        running: Running,
    ) -> Result<Value, CallError> {
        let mut phase = self.phase.subscribe();
        let started = Instant::now();
        let end = after(started, limits.total);
        let mut idle = after(started, limits.idle);
        // An answer that is there counts, whatever else happened. Notices come late in the order: a server that sends
        // them without end must not keep the limits from being looked at.
        let given_up = loop {
            tokio::select! {
                biased;
                answer = question.answer() => {
                    while let Ok(notice) = notices.try_recv() {
                        take(notice, &limits)?;
                    }
                    return match answer {
                        Ok(value) => Ok(value),
                        Err(error) => Err(self.failed(error).await),
                    };
                }
                error = ended(&mut phase) => break error,
                () = limits.cancel.cancelled() => break CallError::Cancelled,
                () = sleep_until(end) => break CallError::TimedOut(limits.total),
                Some(notice) = notices.recv() => match take(notice, &limits) {
                    Ok(()) => idle = after(Instant::now(), limits.idle),
                    Err(error) => {
                        question.forget();
                        return Err(error);
                    }
                },
                () = sleep_until(idle) => break CallError::Idle(limits.idle),
            }
        };
        // The call counts as running until the server was told, or a polite end could close the pipe before.
        question.give_up(reason(&given_up), running);
        Err(given_up)
    }

    async fn failed(&self, error: AskError) -> CallError {
        match error {
            AskError::Refused { code, text, .. } if code == i64::from(CANCELLED) => {
                CallError::CancelledByServer(Some(said::cause(&text)))
            }
            AskError::Refused { code, text, data, .. } => CallError::Protocol { code, message: text, data },
            AskError::Unanswered { failure, .. } => CallError::Unanswered(failure.message),
            AskError::Gone(why) => {
                let mut phase = self.phase.subscribe();
                timeout(REASON, ended(&mut phase)).await.unwrap_or(CallError::Lost(why))
            }
        }
    }
}

impl Running {
    fn new(calls: Arc<Calls>) -> Self {
        calls.running.send_modify(|running| *running += 1);
        Self(calls)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.send_modify(|running| *running -= 1);
    }
}

/// Passes progress on; an error when the server gave the call up.
fn take(notice: Notice, limits: &CallLimits) -> Result<(), CallError> {
    match notice {
        Notice::Progress(progress) => {
            if let Some(listener) = &limits.progress {
                // Who stopped listening may still want the answer.
                listener.send(progress).ok();
            }
            Ok(())
        }
        Notice::CancelledByServer(reason) => Err(CallError::CancelledByServer(reason)),
    }
}

async fn ended(phase: &mut watch::Receiver<Phase>) -> CallError {
    let end = phase.wait_for(|phase| phase.end().is_some()).await.ok().and_then(|phase| phase.end());
    end.unwrap_or(CallError::Interrupted)
}

fn after(now: Instant, limit: Duration) -> Instant {
    now.checked_add(limit).unwrap_or(now + FOREVER)
}

fn reason(error: &CallError) -> &'static str {
    match error {
        CallError::TimedOut(_) => "no answer within the time limit",
        CallError::Idle(_) => "no progress within the time limit",
        CallError::Interrupted => "the connection is being closed",
        CallError::Cancelled
        | CallError::Lost(_)
        | CallError::Unanswered(_)
        | CallError::CancelledByServer(_)
        | CallError::Protocol { .. } => "cancelled by the user",
    }
}

/// A way to use a connection.
#[derive(Clone, Debug)]
pub(super) struct LinkCaller(pub(super) Arc<Calls>);

impl LinkCaller {
    fn call(
        &self,
        method: &'static str,
        fields: [(&str, Option<Value>); 2],
        limits: CallLimits,
    ) -> BoxFuture<'static, Result<Value, CallError>> {
        let params: Map<String, Value> =
            fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        Arc::clone(&self.0).call(method, Value::Object(params), limits).boxed()
    }
}

impl Caller for LinkCaller {
    fn call_tool(
        &self,
        tool: String,
        arguments: Option<Value>,
        limits: CallLimits,
    ) -> BoxFuture<'static, Result<Value, CallError>> {
        self.call("tools/call", [("name", Some(tool.into())), ("arguments", arguments)], limits)
    }

    fn get_prompt(
        &self,
        prompt: String,
        arguments: Option<Value>,
        limits: CallLimits,
    ) -> BoxFuture<'static, Result<Value, CallError>> {
        self.call("prompts/get", [("name", Some(prompt.into())), ("arguments", arguments)], limits)
    }

    fn read_resource(&self, uri: String, limits: CallLimits) -> BoxFuture<'static, Result<Value, CallError>> {
        self.call("resources/read", [("uri", Some(uri.into())), ("", None)], limits)
    }
}
