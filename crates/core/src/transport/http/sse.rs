//! How do messages travel to and from a server of the older kind, over two connections? Owns the legacy SSE transport: one
//! stream for all that the server says, begun by the address to which everything else is posted. Knows no list and no
//! call, and never opens a lost stream again: a new stream is a new session.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use futures::FutureExt;
use http::{
    HeaderMap, HeaderValue, Method,
    header::{ACCEPT, CONTENT_TYPE},
};
use rmcp::{
    RoleClient,
    model::RequestId,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    sync::{mpsc, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{
    LINGER, Outgoing, TELLING, WAITING,
    body::{self, Holds},
    client::{Ask, HttpClient},
    events::{Cut, Event, Events},
    fate::Fate,
    headers::{EVENTS, JSON},
    noticed,
    redirect::origin,
};
use crate::{
    failure::{Failure, FailureKind},
    transport::{
        mend::{Message, decode},
        remote::RemoteEnd,
        undelivered::{Ends, Undelivered},
    },
};

/// The messages' end of a connection.
#[derive(Debug)]
pub(crate) struct SseTransport {
    shared: Arc<Shared>,
    inbound: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
}

#[derive(Debug)]
struct Shared {
    client: HttpClient,
    fate: Fate,
    /// Where messages go, once the server has said so.
    endpoint: watch::Sender<Option<Url>>,
    /// Whether the server ever took a message: one that does not know us from then on forgot us.
    accepted: AtomicBool,
    /// The requests that are being posted.
    posting: Mutex<HashMap<RequestId, CancellationToken>>,
    inbound: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
}

/// Opens the stream; messages wait until the server has named its endpoint.
pub(crate) fn connect(client: HttpClient) -> (SseTransport, RemoteEnd) {
    let (sender, inbound) = mpsc::channel(WAITING);
    let shared = Arc::new(Shared {
        client,
        fate: Fate::new(),
        endpoint: watch::Sender::new(None),
        accepted: AtomicBool::new(false),
        posting: Mutex::default(),
        inbound: sender,
    });
    // The stream is the session: closing it is the whole goodbye.
    let farewell = Box::new(|| std::future::ready(()).boxed());
    let end = RemoteEnd::new(shared.fate.stop().clone(), shared.fate.lost(), farewell);
    let listener = Arc::clone(&shared);
    tokio::spawn(async move {
        tokio::select! {
            () = listener.fate.stop().cancelled() => {}
            failure = listen(&listener) => listener.fate.lose(&failure),
        }
    });
    (SseTransport { shared, inbound }, end)
}

impl Transport<RoleClient> for SseTransport {
    type Error = Undelivered;

    /// The future resolves when the message was taken; what is answered to it comes over the stream.
    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Undelivered>> + Send + 'static {
        let shared = Arc::clone(&self.shared);
        let message = serde_json::to_vec(&item);
        let outgoing = Outgoing::of(&item);
        // Entered here and not in the future, so that a cancellation that follows finds it.
        let stopped = match &outgoing {
            Outgoing::Request(id) => shared.begin(id),
            Outgoing::Cancellation(_) | Outgoing::Other => shared.fate.stop().clone(),
        };
        async move {
            let message = message.map_err(|error| {
                let why = format!("the message cannot be written as JSON: {error}");
                Undelivered::request(Failure::new(FailureKind::StreamClosed, why))
            })?;
            let posting = post(&shared, Bytes::from(message));
            let posted = match outgoing {
                Outgoing::Request(id) => {
                    let posted = tokio::select! {
                        biased;
                        () = stopped.cancelled() => Ok(()),
                        posted = posting => posted,
                    };
                    shared.cancel(&id);
                    posted
                }
                Outgoing::Cancellation(id) => {
                    let mut told = std::pin::pin!(noticed(posting));
                    // A server that does not take the word is told by the end of the exchange.
                    let in_time = timeout(TELLING, &mut told).await;
                    shared.cancel(&id);
                    match in_time {
                        Ok(told) => told,
                        Err(_) => told.await,
                    }
                }
                Outgoing::Other => noticed(posting).await,
            };
            if let Err(Undelivered { failure, ends: Ends::Connection, .. }) = &posted {
                shared.fate.lose(failure);
            }
            posted
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        tokio::select! {
            biased;
            message = self.inbound.recv() => message,
            _ = self.shared.fate.over() => None,
        }
    }

    async fn close(&mut self) -> Result<(), Undelivered> {
        // The stream is closed by its owner.
        Ok(())
    }
}

impl Shared {
    /// Enters a request that is posted; the token is cancelled when nobody waits for it any more.
    fn begin(&self, id: &RequestId) -> CancellationToken {
        let token = self.fate.stop().child_token();
        self.posting.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), token.clone());
        token
    }

    /// Closes the exchange of a request, where it is still posted.
    fn cancel(&self, id: &RequestId) {
        if let Some(token) = self.posting.lock().unwrap_or_else(PoisonError::into_inner).remove(id) {
            token.cancel();
        }
    }

    /// Why nothing more will be said, once that is so.
    async fn over(&self) -> Failure {
        let closed = || Failure::new(FailureKind::StreamClosed, "the connection is closed");
        self.fate.over().await.unwrap_or_else(closed)
    }

    /// Where messages go. The wait is the caller's to bound.
    async fn endpoint(&self) -> Result<Url, Undelivered> {
        let mut endpoint = self.endpoint.subscribe();
        let named = tokio::select! {
            biased;
            named = endpoint.wait_for(Option::is_some) => named.ok().and_then(|url| url.clone()),
            failure = self.over() => return Err(Undelivered::connection(failure)),
        };
        named.ok_or_else(|| Undelivered::connection(Failure::new(FailureKind::StreamClosed, "it is closed")))
    }
}

/// Reads the stream to its end, which is the end of the connection.
async fn listen(shared: &Shared) -> Failure {
    let (mut events, at) = match open(shared).await {
        Ok(opened) => opened,
        Err(failure) => return failure,
    };
    loop {
        match events.next().await {
            Ok(Some(Event { name, data })) if name == "endpoint" => match endpoint(&at, &data) {
                Ok(url) => drop(shared.endpoint.send_replace(Some(url))),
                Err(why) => {
                    let kind = FailureKind::WrongEndpoint { status: None };
                    return Failure::new(kind, shared.client.said().masked(&why));
                }
            },
            Ok(Some(event)) => deliver(shared, &event).await,
            Ok(None) => return ended(shared.endpoint.borrow().as_ref()),
            Err(Cut::TooLarge) => return *body::too_large("an event").failure,
            Err(Cut::Broken(error)) => return *shared.client.broken(&error).failure,
        }
    }
}

async fn open(shared: &Shared) -> Result<(Events, Url), Failure> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static(EVENTS));
    let ask = Ask { method: Method::GET, url: shared.client.url().clone(), headers, body: None };
    let response = shared.client.send(&ask).await.map_err(|undelivered| *undelivered.failure)?;
    match body::open(&shared.client, response).await.map_err(|undelivered| *undelivered.failure)? {
        (Holds::Events, response) => {
            let at = response.url().clone();
            Ok((Events::of(response), at))
        }
        (Holds::Json | Holds::Nothing, _) => {
            let kind = FailureKind::WrongEndpoint { status: None };
            let message = "the server answered without an event stream; is its URL that of an SSE endpoint?";
            Err(Failure::new(kind, message))
        }
    }
}

/// What the server calls its endpoint, seen from the stream's address. Headers carry credentials, so nothing is ever sent
/// to another origin.
fn endpoint(stream: &Url, named: &str) -> Result<Url, String> {
    let url = stream
        .join(named.trim())
        .map_err(|_| "the server names an endpoint that is no address".to_owned())?;
    if url.origin() != stream.origin() {
        return Err(format!(
            "{} names an endpoint of another origin, {}; nothing was sent there",
            origin(stream),
            origin(&url)
        ));
    }
    Ok(url)
}

fn ended(endpoint: Option<&Url>) -> Failure {
    match endpoint {
        Some(_) => Failure::new(FailureKind::StreamClosed, "the server ended the event stream"),
        None => Failure::new(
            FailureKind::StreamClosed,
            "the server ended the event stream before it named its endpoint; is its URL that of an SSE endpoint?",
        ),
    }
}

async fn deliver(shared: &Shared, event: &Event) {
    if event.name != "message" {
        return;
    }
    for message in decode(event.data.as_bytes()) {
        match message {
            // An error means that nobody reads any more.
            Ok(message) => drop(shared.inbound.send(Message::into_rmcp(message)).await),
            Err(noise) => {
                tracing::debug!(?noise, bytes = event.data.len(), "skipped an event that is no message");
            }
        }
    }
}

async fn post(shared: &Arc<Shared>, message: Bytes) -> Result<(), Undelivered> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static(JSON));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    let ask = Ask { method: Method::POST, url: shared.endpoint().await?, headers, body: Some(message) };
    let response = shared.client.send(&ask).await?;
    if response.status().is_success() {
        shared.accepted.store(true, Ordering::Relaxed);
        // Servers add a word of their own, which says nothing.
        let shared = Arc::clone(shared);
        tokio::spawn(async move { timeout(LINGER, body::whole(&shared.client, response)).await });
        return Ok(());
    }
    match body::open(&shared.client, response).await {
        Ok(_) => Ok(()),
        Err(Undelivered { status: Some(404), .. }) if shared.accepted.load(Ordering::Relaxed) => {
            let message = "the server does not know this connection any more; it is opened afresh";
            Err(Undelivered::connection(Failure::new(FailureKind::Network, message)))
        }
        Err(undelivered) => Err(undelivered),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_only_to_an_endpoint_of_the_streams_own_origin() {
        let stream = Url::parse("https://a.example/x/sse?key=k").unwrap();
        for (named, expected) in [
            ("/message?session=1", Ok("https://a.example/message?session=1")),
            ("message?session=1", Ok("https://a.example/x/message?session=1")),
            ("?session=1", Ok("https://a.example/x/sse?session=1")),
            (" https://a.example:443/m\n", Ok("https://a.example/m")),
            ("//b.example/m", Err("another origin, https://b.example;")),
            ("http://a.example/m", Err("another origin, http://a.example;")),
            ("https://a.example:8443/m", Err("another origin, https://a.example:8443;")),
            ("file:///etc/passwd", Err("another origin")),
            ("https://u:p@b.example/m", Err("another origin, https://b.example;")),
            ("https://", Err("no address")),
        ] {
            match (endpoint(&stream, named), expected) {
                (Ok(url), Ok(expected)) => assert_eq!(url.as_str(), expected, "{named}"),
                (Err(why), Err(words)) => {
                    assert!(why.contains(words) && !why.contains("key"), "{named}: {why}")
                }
                (judged, _) => panic!("{named}: {judged:?}"),
            }
        }
    }
}
