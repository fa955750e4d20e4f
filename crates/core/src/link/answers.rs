//! What do servers get to hear when they ask us? Owns what we offer them and the answers to it, whether a server asks by
//! a request of its own or in place of an answer; shows nothing itself.

use std::sync::Arc;

use futures::future::join_all;
use rmcp::{
    ErrorData, RoleClient, Service,
    model::{ClientConfig, ClientResult, CustomResult, ErrorCode, ServerNotification, ServerRequest},
    service::{NotificationContext, RequestContext},
};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    domain::{PoolMode, ServerName, ServerSpec, Wire},
    questions::{QuestionReply, Questions, ServerQuestion},
    said::Said,
};

/// Answers what servers ask of us: roots and questions where offered, and nothing else.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    server: ServerName,
    said: Said,
    /// The folder of the project, as a `file:` URI.
    root: Option<String>,
    questions: Option<Arc<dyn Questions>>,
    /// Cancelled when no answer to a request of the server is of use any more.
    over: CancellationToken,
}

impl Answers {
    /// What a connection offers for its whole life. One that serves several sessions offers nothing of any of them: no
    /// server could tell whose folder it sees and which person answers.
    pub(super) fn new(
        server: &ServerName,
        spec: &ServerSpec,
        root: String,
        questions: Option<Arc<dyn Questions>>,
    ) -> Self {
        let pool = match spec.wire() {
            Wire::Stdio(stdio) => stdio.pool,
            Wire::Http(remote) | Wire::Sse(remote) => remote.pool,
        };
        let (root, questions) = match pool {
            PoolMode::Session => (Some(root), questions),
            PoolMode::Shared => (None, None),
        };
        let over = CancellationToken::new();
        Self { server: server.clone(), said: Said::new(&spec.masks), root, questions, over }
    }

    /// Does not change while the connection lives: some servers list other tools for other capabilities.
    pub(super) fn capabilities(&self) -> Value {
        let mut offered = serde_json::Map::new();
        if self.root.is_some() {
            offered.insert("roots".to_owned(), json!({}));
        }
        if self.questions.is_some() {
            offered.insert("elicitation".to_owned(), json!({}));
        }
        Value::Object(offered)
    }

    /// The way to take back every question that the server asked by a request and that still waits.
    pub(super) fn over(&self) -> CancellationToken {
        self.over.clone()
    }

    /// What a request of the server comes to; `None` where that was not offered.
    pub(super) fn offered(&self, method: &str, params: Value) -> Option<Offered> {
        match method {
            "roots/list" => {
                self.root.as_ref().map(|root| Offered::Known(json!({ "roots": [{ "uri": root }] })))
            }
            "elicitation/create" => {
                self.questions.as_ref().map(|questions| self.question(questions, &params))
            }
            _ => None,
        }
    }

    fn question(&self, questions: &Arc<dyn Questions>, params: &Value) -> Offered {
        if params.get("mode").and_then(Value::as_str).is_some_and(|mode| mode != "form") {
            tracing::info!(server = %self.server, "declined a question that is no form, which was not offered");
            return Offered::Known(json!({ "action": "decline" }));
        }
        let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
        let schema = params.get("requestedSchema").cloned();
        let question = ServerQuestion {
            server: self.server.clone(),
            message: self.said.masked(message),
            schema: schema.unwrap_or_else(|| json!({ "type": "object", "properties": {} })),
        };
        Offered::Question { questions: Arc::clone(questions), question }
    }
}

/// What a request of a server comes to that may be answered.
#[derive(Debug)]
pub(super) enum Offered {
    /// Without asking anybody.
    Known(Value),
    /// The person answers.
    Question { questions: Arc<dyn Questions>, question: ServerQuestion },
}

impl Offered {
    /// Answers. Whoever stops waiting lets the question go.
    async fn answer(self) -> Value {
        let (questions, question) = match self {
            Self::Known(answer) => return answer,
            Self::Question { questions, question } => (questions, question),
        };
        match questions.ask(question).await {
            QuestionReply::Accept(content) => json!({ "action": "accept", "content": content }),
            QuestionReply::Decline => json!({ "action": "decline" }),
            QuestionReply::Cancel => taken_back(),
        }
    }
}

/// Answers everything that stands in a result, at the same time, by the server's names for it.
pub(super) async fn answer_all(asked: Vec<(String, Offered)>) -> Map<String, Value> {
    let answers = asked.into_iter().map(|(key, offered)| async move { (key, offered.answer().await) });
    join_all(answers).await.into_iter().collect()
}

/// What the server hears when there is no answer.
fn taken_back() -> Value {
    json!({ "action": "cancel" })
}

impl Service<RoleClient> for Answers {
    async fn handle_request(
        &self,
        request: ServerRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        // Our transports leave every request raw. Each is answered by a task of its own, so a question that waits for
        // a person holds up nothing else.
        let (method, params) = if let ServerRequest::CustomRequest(request) = request {
            (request.method, request.params)
        } else {
            Default::default()
        };
        let offered = match method.as_str() {
            "ping" => Some(Offered::Known(json!({}))),
            method => self.offered(method, params.unwrap_or_default()),
        };
        let Some(offered) = offered else {
            let text = "this client does not offer that";
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None));
        };
        let answer = tokio::select! {
            biased;
            answer = offered.answer() => answer,
            () = self.over.cancelled() => taken_back(),
            () = context.ct.cancelled() => taken_back(),
        };
        Ok(ClientResult::CustomResult(CustomResult::new(answer)))
    }

    async fn handle_notification(
        &self,
        _: ServerNotification,
        _: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        ClientConfig::default()
    }
}
