//! What in the stream of messages is not an answer to the protocol library's own business? Owns the routing of
//! progress, of list changes and of a server's cancellations, by watching both directions; answers nothing itself.
//!
//! The library spawns a task for each notification, so their order would be lost, and it has no way to end a request
//! that the server gave up. Here both are seen in order, before it and without a race: a request is registered before
//! its bytes leave.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
};

use rmcp::{
    RoleClient,
    model::{
        CancelledNotification, CancelledNotificationParam, ClientNotification, CustomNotification, ErrorCode,
        ErrorData, GetExtensions, GetMeta, JsonRpcMessage, ProgressToken, RequestId, ServerJsonRpcMessage,
        ServerNotification,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::Value;
use tokio::sync::{Notify, mpsc};

use crate::{connector::Progress, said::Said};

/// The code of the error that stands for a request which the server gave up.
pub(super) const CANCELLED: i32 = -32800;
/// Ids that servers used for their own requests; enough to tell whose request a cancellation means.
const REMEMBERED: usize = 1024;

/// What a running call is told beside its answer.
#[derive(Debug)]
pub(super) enum Notice {
    Progress(Progress),
    /// The server gave up, with its reason.
    CancelledByServer(Option<String>),
}

/// Where a request wants its notices; travels in the request's extensions, which never leave this process.
#[derive(Clone, Debug)]
pub(super) struct NoticeTo(pub(super) mpsc::UnboundedSender<Notice>);

/// Which lists changed since anybody looked.
#[derive(Debug, Default)]
pub(super) struct Changes {
    bits: AtomicU8,
    news: Notify,
}

/// A set of the three lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Lists(u8);

impl Lists {
    pub(super) const TOOLS: Self = Self(1);
    pub(super) const PROMPTS: Self = Self(2);
    pub(super) const RESOURCES: Self = Self(4);

    pub(super) fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[must_use]
    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Changes {
    pub(super) fn add(&self, lists: Lists) {
        self.bits.fetch_or(lists.0, Ordering::AcqRel);
        self.news.notify_one();
    }

    /// What changed, which is forgotten by asking.
    pub(super) fn take(&self) -> Lists {
        Lists(self.bits.swap(0, Ordering::AcqRel))
    }

    /// Resolves when there is news since the last time.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }
}

/// A transport that watches what passes through another one.
pub(super) struct Tap<T> {
    inner: T,
    watched: Arc<Mutex<Watched>>,
    changes: Arc<Changes>,
}

#[derive(Default)]
struct Watched {
    /// Requests without an answer, and who wants to know about them.
    open: HashMap<RequestId, Open>,
    by_token: HashMap<ProgressToken, mpsc::UnboundedSender<Notice>>,
    of_the_server: HashSet<RequestId>,
    /// What the server's words go through before anybody is told.
    said: Said,
}

#[derive(Default)]
struct Open {
    token: Option<ProgressToken>,
    notices: Option<mpsc::UnboundedSender<Notice>>,
}

impl<T> Tap<T> {
    pub(super) fn new(inner: T, changes: Arc<Changes>, said: Said) -> Self {
        let watched = Arc::new(Mutex::new(Watched { said, ..Watched::default() }));
        Self { inner, watched, changes }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Tap<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let request =
            if let JsonRpcMessage::Request(request) = &item { Some(request.id.clone()) } else { None };
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).sent(&item);
        let watched = Arc::clone(&self.watched);
        let sending = self.inner.send(item);
        async move {
            let sent = sending.await;
            if let (Err(_), Some(id)) = (&sent, request) {
                // It has no answer to wait for.
                watched.lock().unwrap_or_else(PoisonError::into_inner).close(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.inner.receive().await?;
            let passed =
                self.watched.lock().unwrap_or_else(PoisonError::into_inner).received(message, &self.changes);
            if passed.is_some() {
                return passed;
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), T::Error>> + Send {
        self.inner.close()
    }
}

impl Watched {
    fn sent(&mut self, item: &TxJsonRpcMessage<RoleClient>) {
        if let JsonRpcMessage::Request(request) = item {
            let notices = request.request.extensions().get::<NoticeTo>().map(|to| to.0.clone());
            let token = request.request.get_meta().get_progress_token();
            if let (Some(token), Some(notices)) = (&token, &notices) {
                self.by_token.insert(token.clone(), notices.clone());
            }
            self.open.insert(request.id.clone(), Open { token, notices });
        } else if let JsonRpcMessage::Notification(notification) = item
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(id) = &cancelled.params.request_id
        {
            self.close(id);
        }
    }

    /// The message as it goes on, if it does.
    fn received(&mut self, message: ServerJsonRpcMessage, changes: &Changes) -> Option<ServerJsonRpcMessage> {
        match message {
            JsonRpcMessage::Request(request) => {
                if self.of_the_server.len() >= REMEMBERED {
                    self.of_the_server.clear();
                }
                self.of_the_server.insert(request.id.clone());
                Some(JsonRpcMessage::Request(request))
            }
            JsonRpcMessage::Response(mut response) => {
                response.id = self.our_id(response.id);
                self.close(&response.id);
                Some(JsonRpcMessage::Response(response))
            }
            JsonRpcMessage::Error(mut error) => {
                // A server that could not read the id leaves it out; with one request open it can mean no other.
                error.id = error.id.map(|id| self.our_id(id)).or_else(|| self.only_open());
                if let Some(id) = &error.id {
                    self.close(id);
                }
                Some(JsonRpcMessage::Error(error))
            }
            JsonRpcMessage::Notification(notification) => {
                // Our transports leave every notification raw.
                if let ServerNotification::CustomNotification(notification) = notification.notification {
                    self.notified(notification, changes)
                } else {
                    None
                }
            }
        }
    }

    fn notified(
        &mut self,
        notification: CustomNotification,
        changes: &Changes,
    ) -> Option<ServerJsonRpcMessage> {
        let params = notification.params.unwrap_or_default();
        match notification.method.as_str() {
            "notifications/tools/list_changed" => changes.add(Lists::TOOLS),
            "notifications/prompts/list_changed" => changes.add(Lists::PROMPTS),
            "notifications/resources/list_changed" => changes.add(Lists::RESOURCES),
            "notifications/progress" => self.progress(&params),
            "notifications/cancelled" => return self.cancelled(&params),
            _ => {}
        }
        None
    }

    fn progress(&self, params: &Value) {
        let token = params.get("progressToken").cloned().and_then(|token| serde_json::from_value(token).ok());
        let Some(to) = token.and_then(|token: ProgressToken| self.by_token.get(&token)) else { return };
        let progress = Progress {
            progress: params.get("progress").and_then(Value::as_f64).unwrap_or_default(),
            total: params.get("total").and_then(Value::as_f64),
            message: params.get("message").and_then(Value::as_str).map(|text| self.said.cause(text)),
        };
        // The call may have ended in this very moment.
        to.send(Notice::Progress(progress)).ok();
    }

    /// A server may only cancel what it asked for itself; some cancel what they were asked instead, and never answer.
    fn cancelled(&mut self, params: &Value) -> Option<ServerJsonRpcMessage> {
        let id: RequestId = serde_json::from_value(params.get("requestId")?.clone()).ok()?;
        let reason = params.get("reason").and_then(Value::as_str).map(|text| self.said.cause(text));
        if self.of_the_server.remove(&id) {
            // The library gives up whatever answers that request.
            let params = CancelledNotificationParam::new(Some(id), reason);
            let notification = ServerNotification::CancelledNotification(CancelledNotification::new(params));
            return Some(JsonRpcMessage::notification(notification));
        }
        let id = self.our_id(id);
        let open = self.close(&id)?;
        let text = reason.clone().unwrap_or_else(|| "cancelled by the server".to_owned());
        if let Some(notices) = open.notices {
            notices.send(Notice::CancelledByServer(reason)).ok();
        }
        Some(JsonRpcMessage::error(ErrorData::new(ErrorCode(CANCELLED), text, None), Some(id)))
    }

    fn close(&mut self, id: &RequestId) -> Option<Open> {
        let open = self.open.remove(id)?;
        if let Some(token) = &open.token {
            self.by_token.remove(token);
        }
        Some(open)
    }

    /// Our ids are numbers; some servers give them back as text.
    fn our_id(&self, id: RequestId) -> RequestId {
        match &id {
            RequestId::String(text) if !self.open.contains_key(&id) => match text.parse() {
                Ok(number) => RequestId::Number(number),
                Err(_) => id,
            },
            RequestId::String(_) | RequestId::Number(_) => id,
        }
    }

    fn only_open(&self) -> Option<RequestId> {
        let mut ids = self.open.keys();
        match (ids.next(), ids.next()) {
            (Some(only), None) => Some(only.clone()),
            (Some(_), Some(_)) | (None, _) => None,
        }
    }
}
