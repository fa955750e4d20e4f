//! What happens to one message from its POST to its answer? Owns the exchange: the answer as JSON or as events, taking a
//! broken stream up again, and the one repetition after a lost session. Never sends a request twice otherwise.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Method};
use reqwest::Response;
use rmcp::model::RequestId;
use serde_json::Value;
use tokio::time::{Duration, Instant, sleep, timeout};

use super::{
    LINGER,
    body::{self, Holds},
    client::Ask,
    events::{Cut, Event, Events},
    headers::{self, Agreement},
    renew,
    session::{Era, Session},
};
use crate::{
    failure::{Failure, FailureKind},
    transport::{
        mend::{Message, decode},
        reopen::{Brought, Reopen},
        undelivered::{Ends, Undelivered},
    },
};

/// The answer to a request, and the session that came with it.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) message: Message,
    pub(super) session: Option<HeaderValue>,
}

/// Sends a request and delivers its answer.
pub(super) async fn request(
    session: &Arc<Session>,
    message: &Value,
    id: &RequestId,
) -> Result<(), Undelivered> {
    let outcome = answered(session, message, id).await;
    match outcome {
        Ok(answered) => {
            if is(message, "initialize") {
                session.agreed(message, &answered.message, answered.session);
            } else if is(message, "tools/list") && session.era() == Era::Stateless {
                session.listed(&answered.message);
            }
            session.deliver(answered.message).await;
            Ok(())
        }
        Err(undelivered) => {
            if undelivered.ends == Ends::Connection {
                session.fate.lose(&undelivered.failure);
            }
            Err(undelivered)
        }
    }
}

async fn answered(session: &Arc<Session>, message: &Value, id: &RequestId) -> Result<Answered, Undelivered> {
    if headers::own_version(message).is_some() {
        session.is_stateless();
        return ask(session, message, id, &Agreement::default()).await;
    }
    let first = session.now();
    if is(message, "initialize") {
        return ask(session, message, id, &first.agreement).await;
    }
    match ask(session, message, id, &first.agreement).await {
        // The server does not know the session, so it did not execute the request.
        Err(refused) if refused.status == Some(404) && first.agreement.session.is_some() => {
            renew::renew(session, first.epoch).await?;
            let second = session.now();
            let again = ask(session, message, id, &second.agreement).await;
            again.map_err(|refused| match refused.status {
                Some(404) if second.agreement.session.is_some() => renew::lost_again(),
                Some(_) | None => refused,
            })
        }
        Err(refused) => {
            // Some servers say 400 of a session that they do not know. That does not allow to send it again. What broke
            // below HTTP may be the end of the server.
            let is_in_doubt =
                matches!(refused.failure.kind, FailureKind::StreamClosed | FailureKind::Network);
            if refused.status == Some(400) || is_in_doubt {
                renew::check_soon(session);
            }
            Err(refused)
        }
        Ok(answered) => Ok(answered),
    }
}

/// Tells the server that a request is no longer waited for. Without sessions, closing its exchange says so.
pub(super) async fn cancellation(session: &Arc<Session>, message: &Value) {
    match session.era() {
        Era::Sessions => {
            // Whoever gave up does not want to know.
            other(session, message).await.ok();
        }
        Era::Stateless => {}
    }
}

/// Sends what has no answer. Only the message that completes the handshake can fail; whoever shakes hands bounds it.
pub(super) async fn other(session: &Arc<Session>, message: &Value) -> Result<(), Undelivered> {
    let completes = is(message, "notifications/initialized");
    let agreement = session.now().agreement;
    let sent = tell(session, message, &agreement);
    let sent = if completes { sent.await } else { super::noticed(sent).await };
    match sent {
        Ok(()) => {
            if completes {
                session.listen();
            }
            Ok(())
        }
        Err(undelivered) => {
            if undelivered.ends == Ends::Connection {
                session.fate.lose(&undelivered.failure);
            }
            tracing::debug!(error = %undelivered, "a message was not taken");
            if completes { Err(undelivered) } else { Ok(()) }
        }
    }
}

pub(super) fn is(message: &Value, method: &str) -> bool {
    message.get("method").and_then(Value::as_str) == Some(method)
}

/// POSTs what has no answer: any success says that it was taken, whatever else the server adds.
pub(super) async fn tell(
    session: &Session,
    message: &Value,
    agreement: &Agreement,
) -> Result<(), Undelivered> {
    let response = post(session, message, agreement).await?;
    if response.status().is_success() {
        return Ok(());
    }
    body::open(&session.client, response).await.map(drop)
}

async fn post(session: &Session, message: &Value, agreement: &Agreement) -> Result<Response, Undelivered> {
    let ask = Ask {
        method: Method::POST,
        url: session.client.url().clone(),
        headers: headers::of_message(message, agreement, session.params(message)),
        body: Some(Bytes::from(message.to_string())),
    };
    session.client.send(&ask).await
}

/// Asks once. What else the server says in its answer is delivered on the way.
pub(super) async fn ask(
    session: &Arc<Session>,
    message: &Value,
    id: &RequestId,
    agreement: &Agreement,
) -> Result<Answered, Undelivered> {
    let response = post(session, message, agreement).await?;
    let (holds, response) = body::open(&session.client, response).await?;
    let given = response.headers().get(headers::SESSION).cloned();
    let message = match holds {
        Holds::Json => in_body(session, response, id).await?,
        Holds::Events => {
            // A session that is given with this answer is the one in which it is taken up again.
            let session_then = given.clone().or_else(|| agreement.session.clone());
            let agreement = Agreement { session: session_then, ..agreement.clone() };
            in_events(session, Events::of(response), id, &agreement).await?
        }
        Holds::Nothing => {
            let status = response.status().as_u16();
            return Err(nonsense(&format!(
                "the server answered {status} and sent no response to the request"
            )));
        }
    };
    Ok(Answered { message, session: given })
}

async fn in_body(session: &Session, response: Response, id: &RequestId) -> Result<Message, Undelivered> {
    let body = body::whole(&session.client, response).await?;
    if body.iter().all(u8::is_ascii_whitespace) {
        return Err(nonsense("the server answered with an empty body"));
    }
    let mut answer = None;
    for message in decode(&body) {
        match message {
            Ok(found) if answer.is_none() && found.answers(id) => answer = Some(found.answering(id)),
            Ok(other) => session.deliver(other).await,
            Err(_) => return Err(nonsense("the server answered with a body that is no JSON-RPC message")),
        }
    }
    answer.ok_or_else(|| nonsense("the server's answer holds no response to the request"))
}

async fn in_events(
    session: &Arc<Session>,
    mut events: Events,
    id: &RequestId,
    agreement: &Agreement,
) -> Result<Message, Undelivered> {
    let mut reopen = Reopen::default();
    let mut place: Option<String> = None;
    let mut hint = None;
    loop {
        let began = Instant::now();
        let mut brought = Brought::Nothing;
        let cut = loop {
            match events.next().await {
                Ok(Some(event)) => {
                    if let Some(answer) = take(session, &event, Some(id)).await {
                        linger(session, events);
                        return Ok(answer);
                    }
                    if !event.data.trim().is_empty() {
                        brought = Brought::Something;
                    }
                }
                Ok(None) => break no_answer("the server ended its answer before the response came"),
                Err(Cut::TooLarge) => return Err(body::too_large("an event")),
                Err(Cut::Broken(error)) => break session.client.broken(&error),
            }
        };
        place = events.last_id().map(str::to_owned).or(place);
        let Some(from) = &place else { return Err(cut) };
        hint = events.retry().or(hint);
        let Some(mut wait) = reopen.resume_after(began.elapsed(), brought, hint) else { return Err(cut) };
        events = loop {
            sleep(wait).await;
            match resume(session, agreement, from).await {
                Ok(events) => break events,
                // It numbers its events and offers no way to go on with them.
                Err(Undelivered { status: Some(405), .. }) => return Err(cut),
                Err(undelivered) => {
                    let FailureKind::Unavailable { retry_after } = undelivered.failure.kind else {
                        return Err(undelivered);
                    };
                    let next = reopen.resume_after(Duration::ZERO, Brought::Nothing, retry_after.or(hint));
                    wait = match next {
                        Some(next) => next,
                        None => return Err(undelivered),
                    };
                }
            }
        };
    }
}

/// Takes a stream up again where it broke.
async fn resume(session: &Session, agreement: &Agreement, from: &str) -> Result<Events, Undelivered> {
    let ask = Ask {
        method: Method::GET,
        url: session.client.url().clone(),
        headers: headers::of_stream(agreement, Some(from)),
        body: None,
    };
    match body::open(&session.client, session.client.send(&ask).await?).await? {
        (Holds::Events, response) => Ok(Events::of(response)),
        (Holds::Json | Holds::Nothing, _) => {
            Err(no_answer("the server ended its answer before the response came, and does not go on with it"))
        }
    }
}

/// Delivers what an event holds, but for the answer to this request, which is returned.
pub(super) async fn take(session: &Session, event: &Event, id: Option<&RequestId>) -> Option<Message> {
    if event.name != "message" || event.data.trim().is_empty() {
        return None;
    }
    let mut answer = None;
    for message in decode(event.data.as_bytes()) {
        match (message, id) {
            (Ok(found), Some(id)) if answer.is_none() && found.answers(id) => {
                answer = Some(found.answering(id));
            }
            (Ok(other), _) => session.deliver(other).await,
            (Err(noise), _) => {
                tracing::debug!(?noise, bytes = event.data.len(), "skipped an event that is no message");
            }
        }
    }
    answer
}

/// Reads an answered stream to its end for a moment, or its connection could not be used again.
fn linger(session: &Arc<Session>, mut events: Events) {
    let session = Arc::clone(session);
    tokio::spawn(timeout(LINGER, async move {
        while let Ok(Some(event)) = events.next().await {
            take(&session, &event, None).await;
        }
    }));
}

/// A whole answer that is none; asking again would give the same.
fn nonsense(why: &str) -> Undelivered {
    Undelivered::request(Failure::new(FailureKind::InvalidHandshake, why))
}

fn no_answer(why: &str) -> Undelivered {
    Undelivered::request(Failure::new(FailureKind::StreamClosed, why))
}
