//! How do messages travel to and from a server behind a URL? Owns the streamable HTTP transport: one POST for each
//! message, a stream for what the server says by itself, and the session in between. Knows no list and no call.

mod body;
mod challenge;
pub(crate) mod client;
mod events;
mod exchange;
mod fate;
mod headers;
mod hint;
mod params;
mod proxy;
mod reach;
mod redirect;
mod refusal;
mod renew;
mod session;
pub(crate) mod sse;
mod stream;
mod trust;

use std::{sync::Arc, time::Duration};

use futures::FutureExt;
use rmcp::{
    RoleClient,
    model::{ClientNotification, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::Value;
use tokio::{sync::mpsc, time::timeout};

pub(crate) use self::params::wrong_mark;
use self::{client::HttpClient, session::Session};
use super::{remote::RemoteEnd, undelivered::Undelivered};
use crate::failure::{Failure, FailureKind};

/// So many messages may wait to be read; a server that sends more is not read from meanwhile.
const WAITING: usize = 64;

/// An exchange that nobody waits for is closed when the server took the word of it, and after this long in any case.
const TELLING: Duration = Duration::from_secs(1);
/// What an answered exchange gets to end by itself, so that its connection can be used again.
const LINGER: Duration = Duration::from_millis(50);
/// What has no answer is taken within this time, or not sent: nobody waits for it, and its connection is wanted back.
const NOTICE: Duration = Duration::from_secs(10);

/// The messages' end of a connection.
#[derive(Debug)]
pub(crate) struct HttpTransport {
    session: Arc<Session>,
    inbound: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
}

/// A connection that has yet to shake hands. `limit` is the time that a new session may take when the server lost one.
pub(crate) fn connect(client: HttpClient, limit: Duration) -> (HttpTransport, RemoteEnd) {
    let (outbound, inbound) = mpsc::channel(WAITING);
    let session = Arc::new(Session::new(client, limit, outbound));
    let goodbye = Arc::clone(&session);
    let farewell = Box::new(|| async move { goodbye.say_goodbye().await }.boxed());
    let end = RemoteEnd::new(session.fate.stop().clone(), session.fate.lost(), farewell)
        .renewing(session.renewed.subscribe());
    (HttpTransport { session, inbound }, end)
}

/// Chooses the cryptography of every TLS connection of this process, once; without a choice the first one would panic.
pub(crate) fn use_our_cryptography() {
    // An error says that it was chosen before.
    rustls::crypto::ring::default_provider().install_default().ok();
}

/// Sends what has no answer, for as long as that is worth it.
async fn noticed<T>(sent: impl Future<Output = Result<T, Undelivered>>) -> Result<T, Undelivered> {
    timeout(NOTICE, sent).await.unwrap_or_else(|_| {
        let why = format!("the server did not take a message within {} s", NOTICE.as_secs());
        Err(Undelivered::request(Failure::new(FailureKind::StreamClosed, why)))
    })
}

/// What a message asks of this transport.
enum Outgoing {
    /// Its answer comes with the answer to the POST.
    Request(RequestId),
    /// This request is no longer waited for.
    Cancellation(RequestId),
    /// It is sent, and that is all.
    Other,
}

impl Outgoing {
    fn of(item: &TxJsonRpcMessage<RoleClient>) -> Self {
        match item {
            JsonRpcMessage::Request(request) => Self::Request(request.id.clone()),
            JsonRpcMessage::Notification(notification) => {
                let id = if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                {
                    cancelled.params.request_id.clone()
                } else {
                    None
                };
                id.map_or(Self::Other, Self::Cancellation)
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Self::Other,
        }
    }
}

impl Transport<RoleClient> for HttpTransport {
    type Error = Undelivered;

    /// Of a request the future resolves when it was answered, so that an error is the error of that request.
    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Undelivered>> + Send + 'static {
        let session = Arc::clone(&self.session);
        let outgoing = Outgoing::of(&item);
        let message: Result<Value, _> = serde_json::to_value(&item);
        // Entered here and not in the future, so that a cancellation that follows finds it.
        let running = match &outgoing {
            Outgoing::Request(id) => Some(session.begin(id)),
            Outgoing::Cancellation(_) | Outgoing::Other => None,
        };
        async move {
            let message = message.map_err(|error| {
                let why = format!("the message cannot be written as JSON: {error}");
                Undelivered::request(Failure::new(FailureKind::StreamClosed, why))
            })?;
            match outgoing {
                Outgoing::Request(id) => {
                    let stopped = running.unwrap_or_default();
                    let outcome = tokio::select! {
                        biased;
                        () = stopped.cancelled() => Ok(()),
                        outcome = exchange::request(&session, &message, &id) => outcome,
                    };
                    session.finish(&id);
                    outcome
                }
                Outgoing::Cancellation(id) => {
                    let mut told = std::pin::pin!(exchange::cancellation(&session, &message));
                    // A server that does not take the word is told by the end of the exchange.
                    let in_time = timeout(TELLING, &mut told).await;
                    session.cancel(&id);
                    if in_time.is_err() {
                        told.await;
                    }
                    Ok(())
                }
                Outgoing::Other => exchange::other(&session, &message).await,
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        tokio::select! {
            biased;
            message = self.inbound.recv() => message,
            _ = self.session.fate.over() => None,
        }
    }

    async fn close(&mut self) -> Result<(), Undelivered> {
        // The session is ended by its owner, within the time of the teardown's cause.
        Ok(())
    }
}
