//! What did a server mean by the bytes it sent? Owns the step between bytes and messages: it mends what can be mended
//! and isolates the rest, so that one odd message never costs the connection or its neighbours. Pure.
//!
//! The protocol library decodes all or nothing: `error: null` beside a result, a missing `jsonrpc`, a batch or one tool
//! with an odd schema would lose the whole message and leave its request hanging. So results stay raw here; whoever
//! asked reads them part by part.

use std::borrow::Cow;

use rmcp::model::{
    CustomNotification, CustomRequest, CustomResult, ErrorCode, ErrorData, JsonRpcMessage, RequestId,
    ServerJsonRpcMessage, ServerNotification, ServerRequest, ServerResult,
};
use serde_json::{Map, Value};

mod repair;

/// JSON-RPC's code for an error that says nothing about itself.
const INTERNAL_ERROR: i64 = -32603;

/// One message of a server, whatever form it came in.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Message {
    Request { id: RequestId, method: String, params: Option<Value> },
    Notification { method: String, params: Option<Value> },
    Answer { id: RequestId, result: Value },
    Refusal { id: Option<RequestId>, code: i64, text: String, data: Option<Value> },
}

/// Why bytes were skipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Noise {
    /// A log line or half a message.
    NotJson,
    /// JSON that is no message.
    NotAMessage,
}

/// The messages in one line, in order; several only in a batch.
pub(crate) fn decode(line: &[u8]) -> Vec<Result<Message, Noise>> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_start_matches('\u{feff}').trim();
    // Cheap, and it keeps log lines away from the parser.
    if !text.starts_with(['{', '[']) {
        return vec![Err(Noise::NotJson)];
    }
    let parsed = serde_json::from_str(text).or_else(|_| serde_json::from_str(&repair::repair(text)));
    match parsed {
        Ok(Value::Array(batch)) => batch.into_iter().map(message).collect(),
        Ok(value) => vec![message(value)],
        Err(_) => vec![Err(Noise::NotJson)],
    }
}

/// Mends one message.
fn message(value: Value) -> Result<Message, Noise> {
    let Value::Object(mut object) = value else { return Err(Noise::NotAMessage) };
    let id = object.remove("id").as_ref().and_then(request_id);
    if let Some(Value::String(method)) = object.remove("method") {
        let params = object.remove("params").filter(|params| !params.is_null());
        return Ok(match id {
            Some(id) => Message::Request { id, method, params },
            None => Message::Notification { method, params },
        });
    }
    let error = object.remove("error").filter(|error| !error.is_null());
    match (error, object.remove("result"), id) {
        (Some(error), _, id) => Ok(refusal(id, error)),
        (None, Some(Value::Null), Some(id)) => Ok(Message::Answer { id, result: Value::Object(Map::new()) }),
        (None, Some(result), Some(id)) => Ok(Message::Answer { id, result }),
        (None, None, Some(id)) => Ok(Message::Refusal {
            id: Some(id),
            code: INTERNAL_ERROR,
            text: "the answer has neither a result nor an error".to_owned(),
            data: None,
        }),
        (None, _, None) => Err(Noise::NotAMessage),
    }
}

/// Numbers that are whole are whole, however they are written; `null` and other types identify nothing.
fn request_id(value: &Value) -> Option<RequestId> {
    match value {
        Value::String(text) => Some(RequestId::String(text.as_str().into())),
        Value::Number(number) => number.as_i64().or_else(|| whole(number.as_f64()?)).map(RequestId::Number),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn whole(number: f64) -> Option<i64> {
    // 2^53: beyond it a double does not name one integer.
    let exact = number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0;
    exact.then(|| format!("{number:.0}").parse().ok()).flatten()
}

fn refusal(id: Option<RequestId>, error: Value) -> Message {
    let (code, text, data) = match error {
        Value::Object(mut error) => {
            let code = error.get("code").and_then(error_code).unwrap_or(INTERNAL_ERROR);
            let text = match error.remove("message") {
                Some(Value::String(text)) => text,
                Some(other) if !other.is_null() => other.to_string(),
                Some(_) | None => "no message".to_owned(),
            };
            (code, text, error.remove("data"))
        }
        Value::String(text) => (INTERNAL_ERROR, text, None),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) => {
            (INTERNAL_ERROR, other.to_string(), None)
        }
    };
    Message::Refusal { id, code, text, data }
}

fn error_code(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

impl Message {
    /// Whether it answers this request. A refusal without an id does too: whoever asks here asked for nothing else.
    pub(crate) fn answers(&self, asked: &RequestId) -> bool {
        match self {
            Self::Answer { id, .. } => same(id, asked),
            Self::Refusal { id, .. } => id.as_ref().is_none_or(|id| same(id, asked)),
            Self::Request { .. } | Self::Notification { .. } => false,
        }
    }

    /// The answer with the id of the request, however the server wrote it.
    pub(crate) fn answering(self, asked: &RequestId) -> Self {
        match self {
            Self::Answer { result, .. } => Self::Answer { id: asked.clone(), result },
            Self::Refusal { code, text, data, .. } => {
                Self::Refusal { id: Some(asked.clone()), code, text, data }
            }
            other @ (Self::Request { .. } | Self::Notification { .. }) => other,
        }
    }

    /// The message as the protocol library's type. Everything stays raw: whoever answers goes by the method's name.
    pub(crate) fn into_rmcp(self) -> ServerJsonRpcMessage {
        match self {
            Self::Request { id, method, params } => {
                let request = ServerRequest::CustomRequest(CustomRequest::new(method, params));
                JsonRpcMessage::request(request, id)
            }
            Self::Notification { method, params } => JsonRpcMessage::notification(
                ServerNotification::CustomNotification(CustomNotification::new(method, params)),
            ),
            Self::Answer { id, result } => {
                JsonRpcMessage::response(ServerResult::CustomResult(CustomResult::new(result)), id)
            }
            Self::Refusal { id, code, text, data } => {
                let code = ErrorCode(i32::try_from(code).unwrap_or(-32603));
                JsonRpcMessage::error(ErrorData::new(code, Cow::Owned(text), data), id)
            }
        }
    }
}

/// Whether two ids mean the same request: some servers give numbers back as text.
fn same(id: &RequestId, asked: &RequestId) -> bool {
    id == asked
        || matches!((id, asked), (RequestId::String(text), RequestId::Number(number)) if text.parse() == Ok(*number))
}

#[cfg(test)]
mod tests;
