//! What if the server forgot the session? Owns opening a new one, once for everybody who needs it, and the question
//! whether the server is still there at all. Repeats nothing by itself.

use std::sync::{Arc, atomic::Ordering};

use futures::FutureExt;
use rmcp::model::RequestId;
use serde_json::{Value, json};
use tokio::time::{Duration, timeout};

use super::{
    exchange::{ask, tell},
    headers::Agreement,
    session::{Era, Session},
};
use crate::{
    failure::{Failure, FailureKind},
    protocol::{self, Offers},
    transport::{
        mend::Message,
        undelivered::{Ends, Undelivered},
    },
};

/// What a server that is in doubt gets to answer a ping.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);
/// What a server with a new session may offer anew.
const LISTS: [&str; 3] = [
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
];

/// Opens a new session in place of the one with this number, unless somebody else did or is at it.
///
/// # Errors
/// There is none; the connection is lost then.
pub(super) async fn renew(session: &Arc<Session>, epoch: u64) -> Result<(), Undelivered> {
    let renewal = {
        let mut state = session.state();
        match (&state.renewal, Session::opening_of(&state, epoch)) {
            (Some(under_way), _) => under_way.clone(),
            (None, None) => return Ok(()),
            (None, Some(opening)) => {
                // A task of its own: whoever needed it first may give up, and the others still wait.
                let task = tokio::spawn(run(Arc::clone(session), opening, epoch));
                let renewal = async { task.await.unwrap_or_else(|_| Err(not_renewed("it was interrupted"))) };
                state.renewal.insert(renewal.boxed().shared()).clone()
            }
        }
    };
    renewal.await
}

async fn run(session: Arc<Session>, opening: Value, epoch: u64) -> Result<(), Undelivered> {
    let opened = tokio::select! {
        () = session.fate.stop().cancelled() => Err(not_renewed("the connection is being closed")),
        opened = timeout(session.limit, open(&session, opening, epoch)) => opened.unwrap_or_else(|_| {
            Err(not_renewed(&format!("no answer to initialize after {} ms", session.limit.as_millis())))
        }),
    };
    session.state().renewal = None;
    match &opened {
        Ok(()) => {
            session.listen();
            for method in LISTS {
                session.deliver(Message::Notification { method: method.to_owned(), params: None }).await;
            }
        }
        Err(undelivered) => session.fate.lose(&undelivered.failure),
    }
    opened
}

async fn open(session: &Arc<Session>, mut opening: Value, epoch: u64) -> Result<(), Undelivered> {
    let id = RequestId::String(format!("renew-{epoch}").into());
    opening["id"] = json!(id);
    let answered = ask(session, &opening, &id, &Agreement::default()).await.map_err(|refused| {
        let (FailureKind::NeedsAuth { .. } | FailureKind::Unavailable { .. }) = refused.failure.kind else {
            // It worked before, so another try may well find it mended.
            return not_renewed(&refused.failure.message);
        };
        Undelivered { ends: Ends::Connection, ..refused }
    })?;
    let said = session.client.said();
    let offers = match &answered.message {
        Message::Refusal { text, .. } => return Err(not_renewed(&said.cause(text))),
        Message::Answer { result, .. } => {
            // A whole handshake judges what else there may be to agree on.
            protocol::check_version(result, said).map_err(|why| not_renewed(&why))?;
            Offers::of(result)
        }
        Message::Request { .. } | Message::Notification { .. } => {
            return Err(not_renewed("it did not answer"));
        }
    };
    session.agreed(&opening, &answered.message, answered.session);
    let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}});
    tell(session, &done, &session.now().agreement)
        .await
        .map_err(|refused| not_renewed(&refused.failure.message))?;
    session.renewed.send_replace(Some(offers));
    Ok(())
}

/// Asks for a sign of life, in a task of its own, unless one is asked for already.
pub(super) fn check_soon(session: &Arc<Session>) {
    if session.checking.swap(true, Ordering::AcqRel) {
        return;
    }
    let session = Arc::clone(session);
    tokio::spawn(async move {
        tokio::select! {
            _ = session.fate.over() => {}
            () = check(&session) => {}
        }
        session.checking.store(false, Ordering::Release);
    });
}

/// Asks for a sign of life after something broke. A server that forgot the session gets a new one; one that cannot be
/// reached or does not answer is lost.
pub(super) async fn check(session: &Arc<Session>) {
    // Without sessions there is nothing to forget, and no ping.
    if session.era() == Era::Stateless {
        return;
    }
    let moment = session.now();
    let id = RequestId::String(format!("check-{}", moment.epoch).into());
    let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    match timeout(SIGN_OF_LIFE, ask(session, &ping, &id, &moment.agreement)).await {
        Ok(Ok(_)) => {}
        Ok(Err(refused)) => match (refused.status, refused.ends) {
            (Some(400 | 404), _) if moment.agreement.session.is_some() && !understood(&refused) => {
                // A failure is told to everybody by the loss that it causes.
                renew(session, moment.epoch).await.ok();
            }
            (_, Ends::Connection) => session.fate.lose(&refused.failure),
            (_, Ends::Request) => {}
        },
        Err(_) => {
            let message = format!("the server gave no sign of life within {} s", SIGN_OF_LIFE.as_secs());
            session.fate.lose(&Failure::new(FailureKind::Network, message));
        }
    }
}

/// Whether the server knew the session and refused the ping itself, in the protocol's own codes for that. A code of the
/// server's own is how many servers speak of a session that they do not know.
fn understood(refused: &Undelivered) -> bool {
    refused.status == Some(400)
        && refused.refusal.as_ref().is_some_and(|refusal| matches!(refusal.code, -32603..=-32600))
}

/// The server does not know the session that it gave a moment ago.
pub(super) fn lost_again() -> Undelivered {
    let message = "the server lost the session twice in a row; the connection is opened afresh";
    Undelivered::connection(Failure::new(FailureKind::Network, message))
}

fn not_renewed(why: &str) -> Undelivered {
    let message = format!("the server lost the session and gave no new one: {why}");
    Undelivered::connection(Failure::new(FailureKind::Network, message))
}
