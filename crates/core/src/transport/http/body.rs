//! What does an answer hold, and may it be read? Owns the bounded reading of bodies and the judgement of their type.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::header::{CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::Response;
use tokio::time::timeout;

use super::{
    client::HttpClient,
    events::LARGEST,
    headers::{EVENTS, JSON},
    hint::retry_after,
    refusal::{self, Answer, Asked},
};
use crate::{
    failure::{Failure, FailureKind},
    said,
    transport::undelivered::Undelivered,
};

/// So much of a refusal is read, and not for longer than this: it is only for people.
const MOST_OF_A_REFUSAL: usize = 64 * 1024;
const REFUSAL: Duration = Duration::from_secs(2);

/// What a successful answer holds, by its head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holds {
    Json,
    Events,
    /// It says so, or says nothing.
    Nothing,
}

/// What the head of a successful answer promises. What it says of itself is masked already.
///
/// # Errors
/// It is something that cannot be a message, in words that name what it is.
pub(crate) fn promise(
    status: u16,
    content_type: Option<&str>,
    encoding: Option<&str>,
) -> Result<Holds, String> {
    if let Some(encoding) = encoding.filter(|encoding| !encoding.eq_ignore_ascii_case("identity")) {
        return Err(format!("the server answered in {}, which was not asked for", said::cause(encoding)));
    }
    if matches!(status, 202 | 204) {
        return Ok(Holds::Nothing);
    }
    let Some(content_type) = content_type else { return Ok(Holds::Json) };
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match kind.as_str() {
        EVENTS => Ok(Holds::Events),
        JSON | "" => Ok(Holds::Json),
        other if other.ends_with("+json") => Ok(Holds::Json),
        other => {
            Err(format!("the server answered {}; is its URL that of an MCP endpoint?", said::cause(other)))
        }
    }
}

/// What this answer promises; a refusal is read for its words.
///
/// # Errors
/// A status that is no success, or a body that cannot be a message.
pub(crate) async fn open(client: &HttpClient, response: Response) -> Result<(Holds, Response), Undelivered> {
    let status = response.status();
    if !status.is_success() {
        return Err(refused(client, response).await);
    }
    let head = |name| text(&response, name).map(|value| client.said().masked(value));
    let (content_type, encoding) = (head(CONTENT_TYPE), head(CONTENT_ENCODING));
    match promise(status.as_u16(), content_type.as_deref(), encoding.as_deref()) {
        Ok(holds) => Ok((holds, response)),
        Err(why) => {
            let kind = FailureKind::WrongEndpoint { status: None };
            Err(Undelivered::request(Failure::new(kind, why)))
        }
    }
}

/// The whole body.
///
/// # Errors
/// It is too large, or the connection broke.
pub(crate) async fn whole(client: &HttpClient, mut response: Response) -> Result<Vec<u8>, Undelivered> {
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(bytes)) if body.len() + bytes.len() > LARGEST => return Err(too_large("an answer")),
            Ok(Some(bytes)) => body.extend_from_slice(&bytes),
            Ok(None) => return Ok(body),
            Err(error) => return Err(client.broken(&error)),
        }
    }
}

/// The server sent more than is read.
pub(crate) fn too_large(what: &str) -> Undelivered {
    let message =
        format!("the server sent {what} of more than {} MiB; it was not read", LARGEST / 1024 / 1024);
    Undelivered::request(Failure::new(FailureKind::StreamClosed, message))
}

async fn refused(client: &HttpClient, mut response: Response) -> Undelivered {
    let mut body = Vec::new();
    // Whatever was read when the time is up counts.
    let reading = timeout(REFUSAL, async {
        while body.len() < MOST_OF_A_REFUSAL
            && let Ok(Some(bytes)) = response.chunk().await
        {
            body.extend_from_slice(&bytes);
        }
    });
    reading.await.ok();
    body.truncate(MOST_OF_A_REFUSAL);
    let challenges = response.headers().get_all(WWW_AUTHENTICATE).iter();
    let challenges = challenges.filter_map(|value| value.to_str().ok()).collect::<Vec<_>>().join(", ");
    let answer = Answer {
        status: response.status().as_u16(),
        content_type: text(&response, CONTENT_TYPE),
        challenge: Some(challenges.as_str()).filter(|challenges| !challenges.is_empty()),
        retry_after: text(&response, RETRY_AFTER).and_then(|value| retry_after(value, now())),
        body: &body,
    };
    let asked = Asked { credentials: client.credentials(), proxy: client.in_between(), said: client.said() };
    refusal::judge(answer, asked)
}

fn text(response: &Response, name: http::HeaderName) -> Option<&str> {
    response.headers().get(name).and_then(|value| value.to_str().ok())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_an_answer_says_whether_it_can_be_a_message() {
        for (status, content_type, encoding, expected) in [
            (200, Some("application/json"), None, Ok(Holds::Json)),
            (200, Some("Application/JSON; charset=utf-8"), Some("identity"), Ok(Holds::Json)),
            (200, Some("application/vnd.x+json"), None, Ok(Holds::Json)),
            (200, Some("text/event-stream;charset=utf-8"), None, Ok(Holds::Events)),
            (200, None, None, Ok(Holds::Json)),
            (202, Some("text/plain"), None, Ok(Holds::Nothing)),
            (204, None, None, Ok(Holds::Nothing)),
            (200, Some("text/html"), None, Err("answered text/html; is its URL")),
            (200, Some("text/plain"), None, Err("answered text/plain")),
            (200, Some("application/json"), Some("gzip"), Err("answered in gzip")),
        ] {
            match (promise(status, content_type, encoding), expected) {
                (promised, Ok(expected)) => assert_eq!(promised, Ok(expected), "{content_type:?}"),
                (Err(why), Err(words)) => assert!(why.contains(words), "{why}"),
                (promised, Err(_)) => panic!("{content_type:?}: {promised:?}"),
            }
        }
    }
}
