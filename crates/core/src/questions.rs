//! What may a server ask the person? The seam to whoever can show a question; knows neither screens nor connections.

use futures::future::BoxFuture;
use serde_json::Value;

use crate::domain::ServerName;

/// A question of a server to the person in front of the program (`elicitation/create` of the protocol).
#[derive(Clone, PartialEq, Debug)]
pub struct ServerQuestion {
    /// Who asks. Show it: the person must know to whom the answer goes.
    pub server: ServerName,
    /// The server's words, with this server's secrets hidden. Text of a stranger: escape it before it is shown.
    pub message: String,
    /// JSON Schema of the answer as the server sent it: an object whose properties are texts, numbers, booleans and
    /// enumerations, says the specification. Nothing checked that it is.
    pub schema: Value,
}

/// What the person did with a question.
#[derive(Clone, PartialEq, Debug)]
pub enum QuestionReply {
    /// Answered: an object that fits the schema.
    Accept(Value),
    /// Said no.
    Decline,
    /// Went away without saying anything.
    Cancel,
}

/// Shows questions. A session that has one offers elicitation to every server that it does not share.
///
/// ```
/// use futures::future::BoxFuture;
/// use qwen_core::{QuestionReply, Questions, ServerQuestion};
///
/// #[derive(Debug)]
/// struct NobodyIsThere;
///
/// impl Questions for NobodyIsThere {
///     fn ask(&self, _: ServerQuestion) -> BoxFuture<'static, QuestionReply> {
///         Box::pin(std::future::ready(QuestionReply::Cancel))
///     }
/// }
/// ```
pub trait Questions: std::fmt::Debug + Send + Sync + 'static {
    /// Asks. Several questions may wait at a time. The future is dropped as soon as the answer is of no use: the server
    /// took the question back, or its connection ends. Whoever shows it takes it off the screen then.
    fn ask(&self, question: ServerQuestion) -> BoxFuture<'static, QuestionReply>;
}
