//! What do servers get to hear when they ask us? Owns what we offer them and the answers to it; shows nothing itself.

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleClient, Service,
    model::{ClientConfig, ClientResult, CustomResult, ErrorCode, ServerNotification, ServerRequest},
    service::{NotificationContext, RequestContext},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    domain::{PoolMode, ServerName, ServerSpec, Wire},
    questions::{QuestionReply, Questions, ServerQuestion},
    said::Said,
};

/// Answers what servers ask of us: pings always, roots and questions where offered. Everything else is refused.
#[derive(Clone, Debug)]
pub(super) struct Answers {
    server: ServerName,
    said: Said,
    /// The folder of the project, as a `file:` URI.
    root: Option<String>,
    questions: Option<Arc<dyn Questions>>,
    /// Cancelled when no answer is of use any more.
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

    /// The way to take back every question that still waits.
    pub(super) fn over(&self) -> CancellationToken {
        self.over.clone()
    }

    fn roots(&self) -> Option<Value> {
        self.root.as_ref().map(|root| json!({ "roots": [{ "uri": root }] }))
    }

    async fn elicit(&self, params: Value, taken_back: &CancellationToken) -> Option<Value> {
        let questions = self.questions.as_ref()?;
        if params.get("mode").and_then(Value::as_str).is_some_and(|mode| mode != "form") {
            tracing::info!(server = %self.server, "declined a question that is no form, which was not offered");
            return Some(json!({ "action": "decline" }));
        }
        let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
        let schema = params.get("requestedSchema").cloned();
        let question = ServerQuestion {
            server: self.server.clone(),
            message: self.said.masked(message),
            schema: schema.unwrap_or_else(|| json!({ "type": "object", "properties": {} })),
        };
        let asked = questions.ask(question);
        let reply = tokio::select! {
            biased;
            () = self.over.cancelled() => QuestionReply::Cancel,
            () = taken_back.cancelled() => QuestionReply::Cancel,
            reply = asked => reply,
        };
        Some(match reply {
            QuestionReply::Accept(content) => json!({ "action": "accept", "content": content }),
            QuestionReply::Decline => json!({ "action": "decline" }),
            QuestionReply::Cancel => json!({ "action": "cancel" }),
        })
    }
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
        let result = match method.as_str() {
            "ping" => Some(json!({})),
            "roots/list" => self.roots(),
            "elicitation/create" => self.elicit(params.unwrap_or_default(), &context.ct).await,
            _ => None,
        };
        result.map(|result| ClientResult::CustomResult(CustomResult::new(result))).ok_or_else(|| {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "this client does not offer that", None)
        })
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
