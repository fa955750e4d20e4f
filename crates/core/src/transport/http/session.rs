//! What is shared by everything that belongs to one HTTP connection? Owns the agreement with the server, the requests
//! that are running, the way in for messages; sends nothing by itself but goodbye.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use futures::future::{BoxFuture, Shared};
use http::{HeaderName, HeaderValue, Method};
use rmcp::model::{RequestId, ServerJsonRpcMessage};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::{
    client::{Ask, HttpClient},
    fate::Fate,
    headers::{self, Agreement},
    params::Params,
    stream,
};
use crate::{
    protocol::Offers,
    transport::{mend::Message, undelivered::Undelivered},
};

/// A new session on its way, for everyone who waits for it.
pub(super) type Renewal = Shared<BoxFuture<'static, Result<(), Undelivered>>>;

#[derive(Debug)]
pub(crate) struct Session {
    pub(super) client: HttpClient,
    /// For a new session.
    pub(super) limit: Duration,
    pub(super) fate: Fate,
    /// What the server offers in the newest session, once there was another one.
    pub(super) renewed: watch::Sender<Option<Offers>>,
    /// Whether a sign of life is being asked for.
    pub(super) checking: AtomicBool,
    inbound: mpsc::Sender<ServerJsonRpcMessage>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    agreement: Agreement,
    /// Which session this is: a request that met the end of an older one needs no new one.
    epoch: u64,
    /// The request that opens a session, once one was opened by it.
    opening: Option<Value>,
    era: Era,
    params: Params,
    pub(super) renewal: Option<Renewal>,
    /// Ends the stream of the current session.
    stream: CancellationToken,
    running: HashMap<RequestId, CancellationToken>,
}

/// Which way of talking was agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Era {
    /// With `initialize`, perhaps with a session.
    #[default]
    Sessions,
    /// Every message stands for itself.
    Stateless,
}

/// The agreement at one moment.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    pub(super) agreement: Agreement,
    pub(super) epoch: u64,
}

impl Session {
    pub(super) fn new(
        client: HttpClient,
        limit: Duration,
        inbound: mpsc::Sender<ServerJsonRpcMessage>,
    ) -> Self {
        Self {
            client,
            limit,
            fate: Fate::new(),
            renewed: watch::Sender::new(None),
            checking: AtomicBool::new(false),
            inbound,
            state: Mutex::default(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a request; the token is cancelled when nobody waits for it any more.
    pub(super) fn begin(&self, id: &RequestId) -> CancellationToken {
        let token = self.fate.stop().child_token();
        self.state().running.insert(id.clone(), token.clone());
        token
    }

    pub(super) fn finish(&self, id: &RequestId) {
        self.state().running.remove(id);
    }

    /// Closes the exchange of a request that nobody waits for.
    pub(super) fn cancel(&self, id: &RequestId) {
        if let Some(token) = self.state().running.remove(id) {
            token.cancel();
        }
    }

    pub(super) fn now(&self) -> Moment {
        let state = self.state();
        Moment { agreement: state.agreement.clone(), epoch: state.epoch }
    }

    pub(super) fn era(&self) -> Era {
        self.state().era
    }

    /// A message that names its version itself was sent.
    pub(super) fn is_stateless(&self) {
        self.state().era = Era::Stateless;
    }

    /// Tools were listed, some of which may want arguments as headers.
    pub(super) fn listed(&self, answer: &Message) {
        if let Message::Answer { result, .. } = answer {
            self.state().params.learn(result);
        }
    }

    /// The arguments of this message that go as headers too.
    pub(super) fn params(&self, message: &Value) -> Vec<(HeaderName, String)> {
        self.state().params.of(message)
    }

    /// The server answered `opening`: from now on this is what was agreed.
    pub(super) fn agreed(&self, opening: &Value, answer: &Message, session: Option<HeaderValue>) {
        let Message::Answer { result, .. } = answer else { return };
        let version = result.get("protocolVersion").and_then(Value::as_str);
        let version = version.and_then(|version| HeaderValue::from_str(version).ok());
        let mut state = self.state();
        state.agreement = Agreement { session, version };
        state.opening = Some(opening.clone());
        state.epoch += 1;
    }

    /// The request that opened the session of this number; `None` when there is a newer one.
    pub(super) fn opening_of(state: &State, epoch: u64) -> Option<Value> {
        state.opening.clone().filter(|_| state.epoch == epoch)
    }

    /// Listens to what the server says by itself, in the session that was just opened.
    pub(super) fn listen(self: &Arc<Self>) {
        let token = self.fate.stop().child_token();
        let before = std::mem::replace(&mut self.state().stream, token.clone());
        before.cancel();
        let session = Arc::clone(self);
        tokio::spawn(async move {
            tokio::select! {
                () = token.cancelled() => {}
                () = stream::listen(&session) => {}
            }
        });
    }

    /// Hands a message on.
    pub(super) async fn deliver(&self, message: Message) {
        // An error means that nobody reads any more.
        self.inbound.send(message.into_rmcp()).await.ok();
    }

    /// Ends the session on the server's side, where there is one.
    pub(super) async fn say_goodbye(&self) {
        let agreement = self.now().agreement;
        if agreement.session.is_none() {
            return;
        }
        let ask = Ask {
            method: Method::DELETE,
            url: self.client.url().clone(),
            headers: headers::of_end(&agreement),
            body: None,
        };
        // A server may refuse to end it, and there is nothing to be done about that.
        if let Err(error) = self.client.send(&ask).await {
            tracing::debug!(%error, "the server was not told of the end");
        }
    }
}
