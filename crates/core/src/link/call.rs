//! How does one call run from its first byte to its answer? Owns its limits and its rounds; never sends a request twice,
//! and never decides when a connection ends.
//!
//! A server of the newer era may ask back instead of answering. With that it has given the request up, by its own word, and
//! what it gets then is another request with another id, never the same one again. All of them together are the call.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, sleep_until, timeout},
};

use super::{
    answers::{Answers, Offered, answer_all},
    calls::{Calls, Running},
    peer::{AskError, Question},
    phase::ended,
    rounds::{self, Answer, AsksBack, InputRequest, ROUNDS, Unreadable},
    tap::{CANCELLED, Notice, NoticeTo},
    vitals::REASON,
};
use crate::{
    connector::{CallError, CallLimits},
    said,
};

/// A limit that cannot be added to a clock is none.
const FOREVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// A call under way.
pub(super) struct Call {
    calls: Arc<Calls>,
    method: &'static str,
    limits: CallLimits,
    /// When the whole call is over.
    end: Instant,
    running: Arc<Running>,
}

impl Call {
    /// Begins to count its time.
    pub(super) fn new(
        calls: Arc<Calls>,
        method: &'static str,
        limits: CallLimits,
        running: Arc<Running>,
    ) -> Self {
        let end = after(Instant::now(), limits.total);
        Self { calls, method, limits, end, running }
    }

    pub(super) async fn run(self, params: Map<String, Value>) -> Result<Value, CallError> {
        let Some(answers) = &self.calls.asked_back else { return self.request(params).await };
        let mut next = params.clone();
        for nth in 1..=ROUNDS {
            match self.read(self.request(next).await?)? {
                Answer::Complete(result) => return Ok(result),
                // Nobody is asked for what is not sent.
                Answer::AsksBack(_) if nth == ROUNDS => break,
                Answer::AsksBack(back) => {
                    let pause = back.pause(nth);
                    next = self.reply(answers, back, pause, &params).await?;
                }
            }
        }
        Err(CallError::AskedBack(format!("it still does after {ROUNDS} requests")))
    }

    async fn request(&self, params: Map<String, Value>) -> Result<Value, CallError> {
        let (notices_in, notices) = mpsc::unbounded_channel();
        let params = Some(Value::Object(params));
        match self.calls.asker.ask(self.method, params, Some(NoticeTo(notices_in))).await {
            Ok(question) => self.wait(question, notices).await,
            Err(error) => Err(self.failed(error).await),
        }
    }

    async fn wait(
        &self,
        mut question: Question,
        mut notices: mpsc::UnboundedReceiver<Notice>,
    ) -> Result<Value, CallError> {
        let limits = &self.limits;
        let mut phase = self.calls.phase();
        let mut idle = after(Instant::now(), limits.idle);
        // An answer that is there counts, whatever else happened. Notices come late in the order: a server that sends
        // them without end must not keep the limits from being looked at.
        let given_up = loop {
            tokio::select! {
                biased;
                answer = question.answer() => {
                    while let Ok(notice) = notices.try_recv() {
                        take(notice, limits)?;
                    }
                    return match answer {
                        Ok(value) => Ok(value),
                        Err(error) => Err(self.failed(error).await),
                    };
                }
                error = ended(&mut phase) => break error,
                () = limits.cancel.cancelled() => break CallError::Cancelled,
                () = sleep_until(self.end) => break CallError::TimedOut(limits.total),
                Some(notice) = notices.recv() => match take(notice, limits) {
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
        question.give_up(reason(&given_up), Arc::clone(&self.running));
        Err(given_up)
    }

    fn read(&self, result: Value) -> Result<Answer, CallError> {
        rounds::read(result).map_err(|why| {
            let words = self.calls.asker.said().cause(&why.to_string());
            match why {
                Unreadable::Kind(_) => CallError::Unanswered(words),
                Unreadable::Question(_) => CallError::AskedBack(words),
            }
        })
    }

    /// Answers what the server wants to know: the parameters of the request that follows. A question does not stop the
    /// clocks of its call, and is let go when the call ends.
    async fn reply(
        &self,
        answers: &Answers,
        mut back: AsksBack,
        pause: Duration,
        params: &Map<String, Value>,
    ) -> Result<Map<String, Value>, CallError> {
        let wants_time = back.requests.is_empty();
        // What was not offered is found before anybody is asked anything.
        let asked = self.offered(answers, std::mem::take(&mut back.requests))?;
        let answering = async {
            sleep(pause).await;
            answer_all(asked).await
        };
        let mut phase = self.calls.phase();
        let late = |limit| {
            CallError::AskedBack(match wants_time {
                true => format!("it asked for more time than {limit:?}"),
                false => format!("it was not answered within {limit:?}"),
            })
        };
        let idle = after(Instant::now(), self.limits.idle);
        tokio::select! {
            biased;
            error = ended(&mut phase) => Err(error),
            () = self.limits.cancel.cancelled() => Err(CallError::Cancelled),
            responses = answering => Ok(back.next(params, responses)),
            () = sleep_until(self.end) => Err(late(self.limits.total)),
            () = sleep_until(idle) => Err(late(self.limits.idle)),
        }
    }

    fn offered(
        &self,
        answers: &Answers,
        requests: Vec<InputRequest>,
    ) -> Result<Vec<(String, Offered)>, CallError> {
        let offered = |InputRequest { key, method, params }| match answers.offered(&method, params) {
            Some(offered) => Ok((key, offered)),
            None => {
                let method = self.calls.asker.said().cause(&method);
                Err(CallError::AskedBack(format!("it asks for {method}, which was not offered to it")))
            }
        };
        requests.into_iter().map(offered).collect()
    }

    async fn failed(&self, error: AskError) -> CallError {
        match error {
            AskError::Refused { code, text, .. } if code == i64::from(CANCELLED) => {
                CallError::CancelledByServer(Some(said::cause(&text)))
            }
            AskError::Refused { code, text, data, .. } => CallError::Protocol { code, message: text, data },
            AskError::Unanswered { failure, .. } => CallError::Unanswered(failure.message),
            AskError::Gone(why) => {
                let mut phase = self.calls.phase();
                timeout(REASON, ended(&mut phase)).await.unwrap_or(CallError::Lost(why))
            }
        }
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
        | CallError::AskedBack(_)
        | CallError::CancelledByServer(_)
        | CallError::Protocol { .. } => "cancelled by the user",
    }
}
