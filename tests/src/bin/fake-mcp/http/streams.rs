//! What a stream carries: the notices and the answer of one request, or whatever waits for a session.

use std::{io, sync::mpsc::Receiver};

use serde_json::Value;

use super::{fault::Then, sessions::Session, wire::Connection};
use crate::options::Script;

/// Answers one request: with JSON when the answer is the first thing that comes, else with a stream of all that comes.
pub(super) fn answer(
    connection: &mut Connection,
    id: &Value,
    messages: &Receiver<Vec<u8>>,
    session: Option<&str>,
    streams: Script,
) -> io::Result<Then> {
    let headers: Vec<(&str, &str)> = session.map(|id| ("Mcp-Session-Id", id)).into_iter().collect();
    let mut began = false;
    while let Ok(message) = messages.recv() {
        let text = String::from_utf8_lossy(&message);
        let is_answer = is_answer_to(id, &text);
        if is_answer && !began && streams == Script::No {
            let mut headers = headers;
            headers.push(("Content-Type", "application/json"));
            return connection.status(200, &headers, &text);
        }
        if !began {
            connection.begin(&headers)?;
            began = true;
        }
        connection.event("message", None, &text)?;
        if is_answer {
            return connection.end();
        }
    }
    // Nobody will answer: it was cancelled.
    if !began {
        connection.begin(&headers)?;
    }
    connection.end()
}

fn is_answer_to(id: &Value, text: &str) -> bool {
    serde_json::from_str::<Value>(text)
        .is_ok_and(|message| message["id"] == *id && message["method"].is_null())
}

/// Sends on what waits for the session until the stream is ended.
pub(super) fn pump(connection: &mut Connection, session: &Session) -> io::Result<Then> {
    let reader = session.reader();
    while let Some(message) = session.next(reader) {
        connection.event("message", Some(session.number()), &message)?;
    }
    connection.end()
}
