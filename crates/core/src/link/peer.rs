//! How is one question asked and its raw answer received? Owns the smallest step over the protocol library: a request
//! with its notices, and what the server is told when nobody waits for the answer any more.

use std::time::Duration;

use rmcp::{
    ErrorData, Peer, RoleClient,
    model::{
        ClientNotification, ClientRequest, CustomNotification, CustomRequest, GetExtensions,
        RequestMetaObject, ServerResult,
    },
    service::{PeerRequestOptions, RequestHandle, ServiceError},
};
use serde_json::{Value, json};

use super::{items::Marks, tap::NoticeTo};
use crate::{
    failure::Failure,
    said::{self, Said},
    transport::undelivered::{Ends, Refusal, Undelivered},
};

/// What a server that does not read gets to hear of a cancellation.
const TELL: Duration = Duration::from_secs(1);

/// Why a question has no answer.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum AskError {
    /// The server answered with an error. Text and data are masked.
    Refused { code: i64, text: String, data: Option<Value>, beside: Option<Beside> },
    /// There was an answer, but none in the protocol's own way. The connection may be as good as before.
    Unanswered { failure: Failure, status: Option<u16> },
    /// The connection is gone, or the message could not be written.
    Gone(String),
}

/// The HTTP status that came with a protocol error, and what it means by itself.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Beside {
    pub(super) status: Option<u16>,
    pub(super) failure: Failure,
}

impl AskError {
    /// JSON-RPC: the server does not know the method.
    pub(super) const UNKNOWN_METHOD: i64 = -32601;

    pub(super) fn is_unknown_method(&self) -> bool {
        matches!(self, Self::Refused { code: Self::UNKNOWN_METHOD, .. })
    }

    /// The HTTP status of the answer, where it was no success.
    pub(super) fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { beside, .. } => beside.as_ref().and_then(|beside| beside.status),
            Self::Unanswered { status, .. } => *status,
            Self::Gone(_) => None,
        }
    }
}

impl std::fmt::Display for AskError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused { code, text, .. } => write!(f, "error {code}: {}", said::cause(text)),
            Self::Unanswered { failure, .. } => write!(f, "{failure}"),
            Self::Gone(why) => f.write_str(why),
        }
    }
}

/// The questions that one connection can be asked.
#[derive(Clone, Debug)]
pub(super) struct Asker {
    peer: Peer<RoleClient>,
    said: Said,
    /// What each request must carry in the protocol era without a handshake.
    meta: Option<RequestMetaObject>,
    /// Whether what is asked goes over HTTP.
    over: Over,
}

/// What a question travels over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Over {
    Pipes,
    Http,
}

/// A question on its way. Dropping it unanswered tells the server, unless it must not be told.
#[derive(Debug)]
pub(super) struct Question {
    handle: Option<RequestHandle<RoleClient>>,
    said: Said,
    abandoned: Abandoned,
}

/// What the server hears when nobody waits any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Abandoned {
    Told,
    /// A client must not cancel its `initialize` request, says the specification.
    Silent,
}

impl Asker {
    /// `said` is what the words of this server go through.
    pub(super) fn new(peer: Peer<RoleClient>, said: Said, over: Over) -> Self {
        Self { peer, said, meta: None, over }
    }

    pub(super) fn said(&self) -> &Said {
        &self.said
    }

    /// Only requests that say by themselves what they are have headers for a tool's arguments.
    pub(super) fn marks(&self) -> Marks {
        match (self.over, &self.meta) {
            (Over::Http, Some(_)) => Marks::Heeded,
            (Over::Http | Over::Pipes, _) => Marks::Ignored,
        }
    }

    #[must_use]
    pub(super) fn with_meta(mut self, meta: RequestMetaObject) -> Self {
        self.meta = Some(meta);
        self
    }

    /// Sends a request; notices about it go to `notices`.
    pub(super) async fn ask(
        &self,
        method: &str,
        params: Option<Value>,
        notices: Option<NoticeTo>,
    ) -> Result<Question, AskError> {
        let mut request = ClientRequest::CustomRequest(CustomRequest::new(method, params));
        if let Some(notices) = notices {
            request.extensions_mut().insert(notices);
        }
        let mut options = PeerRequestOptions::no_options();
        options.meta.clone_from(&self.meta);
        let sent = self.peer.send_request_with_option(request, options).await;
        let handle = sent.map_err(|error| ask_error(error, &self.said))?;
        Ok(Question { handle: Some(handle), said: self.said.clone(), abandoned: Abandoned::Told })
    }

    /// Sends a request and waits for its answer, for as long as the caller does.
    pub(super) async fn answer(
        &self,
        method: &str,
        params: Option<Value>,
        abandoned: Abandoned,
    ) -> Result<Value, AskError> {
        let mut question = self.ask(method, params, None).await?;
        question.abandoned = abandoned;
        question.answer().await
    }

    pub(super) async fn notify(&self, method: &str) -> Result<(), AskError> {
        let notification =
            ClientNotification::CustomNotification(CustomNotification::new(method, Some(json!({}))));
        self.peer.send_notification(notification).await.map_err(|error| ask_error(error, &self.said))
    }
}

impl Question {
    /// Waits for the answer. Cancel-safe: the question stays open until it is dropped.
    pub(super) async fn answer(&mut self) -> Result<Value, AskError> {
        let Some(handle) = &mut self.handle else { return Err(gone()) };
        let answered = (&mut handle.rx).await;
        // Whatever came, the server need not hear of it again.
        self.handle = None;
        match answered {
            Ok(Ok(ServerResult::CustomResult(raw))) => Ok(raw.0),
            // Other transports may decode by themselves.
            Ok(Ok(typed)) => serde_json::to_value(&typed)
                .map_err(|error| AskError::Gone(format!("the answer cannot be read: {error}"))),
            Ok(Err(error)) => Err(ask_error(error, &self.said)),
            Err(_) => Err(gone()),
        }
    }

    /// Forgets the question without a word to the server, which gave it up itself.
    pub(super) fn forget(mut self) {
        self.handle = None;
    }

    /// Tells the server that nobody waits any more; `until` lives until it was told.
    pub(super) fn give_up(mut self, reason: &str, until: impl Send + 'static) {
        if let Some(handle) = self.handle.take() {
            tell(handle, reason, until);
        }
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        // Outside a runtime there is nobody left to tell.
        if self.abandoned == Abandoned::Told && tokio::runtime::Handle::try_current().is_ok() {
            tell(handle, "nobody waits for the answer any more", ());
        }
    }
}

fn tell(handle: RequestHandle<RoleClient>, reason: &str, until: impl Send + 'static) {
    let reason = reason.to_owned();
    tokio::spawn(async move {
        // A server that does not read is not told; there is no other way to reach it.
        drop(tokio::time::timeout(TELL, handle.cancel(Some(reason))).await);
        drop(until);
    });
}

fn gone() -> AskError {
    AskError::Gone("the connection is closed".to_owned())
}

fn ask_error(error: ServiceError, said: &Said) -> AskError {
    if let ServiceError::McpError(ErrorData { code, message, data, .. }) = error {
        let data = data.map(|data| said.value(data));
        return AskError::Refused { code: code.0.into(), text: said.answer(&message), data, beside: None };
    }
    let ServiceError::TransportSend(error) = error else { return AskError::Gone(error.to_string()) };
    match error.error.downcast::<Undelivered>() {
        Ok(undelivered) => not_delivered(*undelivered),
        Err(other) => AskError::Gone(other.to_string()),
    }
}

fn not_delivered(undelivered: Undelivered) -> AskError {
    let Undelivered { failure, status, refusal, ends } = undelivered;
    match (ends, refusal) {
        // Whoever watches the connection tells why it ends.
        (Ends::Connection, _) => AskError::Gone(failure.message),
        (Ends::Request, Some(refusal)) => {
            let Refusal { code, text, data } = *refusal;
            AskError::Refused { code, text, data, beside: Some(Beside { status, failure: *failure }) }
        }
        (Ends::Request, None) => AskError::Unanswered { failure: *failure, status },
    }
}
