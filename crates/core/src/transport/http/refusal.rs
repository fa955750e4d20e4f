//! What does an HTTP status mean for the request that it answers? Owns the step from a status to a failure with its
//! words; pure, and it knows neither sessions nor streams.

use std::time::Duration;

use http::StatusCode;
use serde_json::Value;

use super::{challenge, proxy::Via};
use crate::{
    failure::{Failure, FailureKind},
    retry::LONGEST_HINT,
    said::{self, Said},
    transport::{
        mend::{Message, decode},
        undelivered::{Ends, Refusal, Undelivered},
    },
};

/// The head and the beginning of the body of an answer that is no success.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    pub(crate) content_type: Option<&'a str>,
    pub(crate) challenge: Option<&'a str>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: &'a [u8],
}

/// How it was asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    /// The name of the header that carried credentials.
    pub(crate) credentials: Option<&'a str>,
    /// The proxy that may have answered in the server's place.
    pub(crate) proxy: Option<&'a Via>,
    /// What the server's words go through.
    pub(crate) said: &'a Said,
}

/// What it means.
pub(crate) fn judge(answer: Answer<'_>, asked: Asked<'_>) -> Undelivered {
    let Answer { status, content_type, challenge, retry_after, body } = answer;
    let Asked { credentials, proxy, said } = asked;
    let own = own_words(content_type, body).map(|words| said.cause(&words));
    let words = own.as_ref().map_or_else(String::new, |words| format!(": {words}"));
    let name = named(status);
    // These are what proxies answer for themselves.
    let who = match (status, proxy) {
        (403 | 502..=504, Some(via)) => format!("the server, or the proxy {via} before it,"),
        _ => "the server".to_owned(),
    };
    let (kind, message, ends) = match (status, proxy) {
        (401, _) => {
            let message = match credentials {
                Some(header) => {
                    format!("the server answered {name}: it does not accept what the header {header} holds")
                }
                None => format!("the server answered {name}: it wants credentials"),
            };
            let challenge =
                challenge.and_then(challenge::read).map(|challenge| Box::new(said.value(challenge)));
            let why = challenge.as_ref().and_then(|challenge| challenge.get("error_description"));
            let why = why
                .and_then(Value::as_str)
                .map_or_else(String::new, |why| format!(" ({})", said::cause(why)));
            let header = credentials.map(str::to_owned);
            (FailureKind::NeedsAuth { challenge, header }, format!("{message}{why}"), Ends::Connection)
        }
        (407, Some(via)) => {
            let kind = FailureKind::Proxy { variable: via.variable.to_owned() };
            (kind, format!("the proxy {via} wants credentials"), Ends::Request)
        }
        (403, _) => (FailureKind::Forbidden, format!("{who} answered {name}{words}"), Ends::Request),
        (408 | 425 | 429 | 500 | 502..=504 | 506.., _) => {
            let longest = LONGEST_HINT.as_secs();
            let wait = match retry_after {
                Some(wait) if wait > LONGEST_HINT => {
                    format!("; it asks to wait longer than {longest} s, after which it is asked again")
                }
                Some(wait) => format!("; it asks to wait {} s", wait.as_secs()),
                None => String::new(),
            };
            (
                FailureKind::Unavailable { retry_after },
                format!("{who} answered {name}{words}{wait}"),
                Ends::Request,
            )
        }
        _ => {
            let kind = FailureKind::WrongEndpoint { status: Some(status) };
            let ask = if is_html(content_type) || own.is_none() {
                "; is its URL that of an MCP endpoint?"
            } else {
                ""
            };
            (kind, format!("the server answered {name}{words}{ask}"), Ends::Request)
        }
    };
    Undelivered {
        failure: Box::new(Failure::new(kind, message)),
        status: Some(status),
        refusal: refusal(body, said).map(Box::new),
        ends,
    }
}

/// The status with its name: `404 Not Found`.
fn named(status: u16) -> String {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    reason.map_or_else(|| status.to_string(), |reason| format!("{status} {reason}"))
}

/// The protocol's own error, where the body is one: many servers answer with an `error` of their own making.
fn refusal(body: &[u8], said: &Said) -> Option<Refusal> {
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    parsed?.pointer("/error/code")?.as_i64()?;
    decode(body).into_iter().flatten().find_map(|message| match message {
        Message::Refusal { code, text, data, .. } => {
            Some(Refusal { code, text: said.answer(&text), data: data.map(|data| said.value(data)) })
        }
        Message::Request { .. } | Message::Notification { .. } | Message::Answer { .. } => None,
    })
}

/// What the server says about it. Pages for browsers say nothing useful.
fn own_words(content_type: Option<&str>, body: &[u8]) -> Option<String> {
    if is_html(content_type) {
        return None;
    }
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    let told = match serde_json::from_str::<Value>(text) {
        Ok(value) => ["/error/message", "/message", "/error_description", "/detail", "/error", "/title"]
            .into_iter()
            .find_map(|place| value.pointer(place)?.as_str().map(str::to_owned)),
        Err(_) if text.starts_with(['{', '[', '<']) => None,
        Err(_) => Some(text.to_owned()),
    };
    told.filter(|words| !words.trim().is_empty())
}

fn is_html(content_type: Option<&str>) -> bool {
    content_type.is_some_and(|kind| kind.to_ascii_lowercase().contains("html"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::transport::http::proxy::Named;

    fn asked(said: &Said) -> Asked<'_> {
        Asked { credentials: None, proxy: None, said }
    }

    fn answer(status: u16) -> Answer<'static> {
        Answer { status, content_type: None, challenge: None, retry_after: None, body: b"" }
    }

    #[test]
    fn each_status_has_its_kind_its_words_and_its_reach() {
        let wrong = |status| FailureKind::WrongEndpoint { status: Some(status) };
        let busy = FailureKind::Unavailable { retry_after: None };
        let needs_auth = FailureKind::NeedsAuth { challenge: None, header: None };
        for (status, kind, words, ends) in [
            (400, wrong(400), "400 Bad Request; is its URL that of an MCP endpoint?", Ends::Request),
            (401, needs_auth, "401 Unauthorized: it wants credentials", Ends::Connection),
            (403, FailureKind::Forbidden, "403 Forbidden", Ends::Request),
            (404, wrong(404), "404 Not Found; is its URL", Ends::Request),
            (405, wrong(405), "405 Method Not Allowed; is its URL", Ends::Request),
            (407, wrong(407), "407 Proxy Authentication Required", Ends::Request),
            (429, busy.clone(), "429 Too Many Requests", Ends::Request),
            (500, busy.clone(), "500 Internal Server Error", Ends::Request),
            (502, busy.clone(), "502 Bad Gateway", Ends::Request),
            (599, busy, "answered 599", Ends::Request),
            (501, wrong(501), "501 Not Implemented; is its URL", Ends::Request),
            (505, wrong(505), "505 HTTP Version Not Supported; is its URL", Ends::Request),
        ] {
            let judged = judge(answer(status), asked(&Said::default()));
            assert_eq!((judged.failure.kind, judged.status, judged.ends), (kind, Some(status), ends));
            assert!(judged.failure.message.contains(words), "{}", judged.failure.message);
        }
    }

    #[test]
    fn a_refused_header_is_named_and_the_challenge_is_kept() {
        let challenge = r#"Bearer error="invalid_token", error_description="it
expired", resource_metadata="https://a/x""#;
        let judged = judge(
            Answer { challenge: Some(challenge), ..answer(401) },
            Asked { credentials: Some("authorization"), ..asked(&Said::default()) },
        );
        assert_eq!(
            judged.failure.message,
            "the server answered 401 Unauthorized: it does not accept what the header authorization holds (it expired)"
        );
        let FailureKind::NeedsAuth { challenge: Some(kept), header } = judged.failure.kind else { panic!() };
        assert_eq!(header.as_deref(), Some("authorization"));
        assert_eq!(kept["resource_metadata"], json!("https://a/x"));
    }

    #[test]
    fn what_a_proxy_may_have_answered_is_not_put_on_the_server_alone() {
        let via = Via::of(Named { variable: "HTTP_PROXY", value: "http://me:secret@p:3128" });
        let said = Said::default();
        let through = Asked { proxy: Some(&via), ..asked(&said) };
        let proxy = FailureKind::Proxy { variable: "HTTP_PROXY".to_owned() };
        let or_proxy = "the server, or the proxy http://p:3128 (of HTTP_PROXY) before it, answered";
        for (status, kind, words) in [
            (407, proxy, "the proxy http://p:3128 (of HTTP_PROXY) wants credentials"),
            (403, FailureKind::Forbidden, or_proxy),
            (502, FailureKind::Unavailable { retry_after: None }, or_proxy),
            (504, FailureKind::Unavailable { retry_after: None }, or_proxy),
            (500, FailureKind::Unavailable { retry_after: None }, "the server answered 500"),
            (404, FailureKind::WrongEndpoint { status: Some(404) }, "the server answered 404"),
        ] {
            let failure = judge(answer(status), through).failure;
            assert_eq!(failure.kind, kind, "{status}");
            assert!(failure.message.starts_with(words), "{failure}");
        }
    }

    #[test]
    fn a_hint_is_kept_and_told() {
        let retry_after = Some(Duration::from_secs(30));
        let judged = judge(Answer { retry_after, ..answer(503) }, asked(&Said::default()));
        assert_eq!(judged.failure.kind, FailureKind::Unavailable { retry_after });
        assert!(judged.failure.message.ends_with("it asks to wait 30 s"), "{}", judged.failure.message);
    }

    #[test]
    fn a_hint_that_is_not_followed_is_not_told_as_if_it_were() {
        let retry_after = Some(Duration::from_secs(86_400));
        let judged = judge(Answer { retry_after, ..answer(503) }, asked(&Said::default()));
        let message = judged.failure.message;
        assert!(message.ends_with("longer than 600 s, after which it is asked again"), "{message}");
    }

    #[test]
    fn an_error_of_the_servers_own_making_is_no_error_of_the_protocol() {
        for body in [r#"{"error":"oops"}"#, r#"{"error":{"message":"oops"}}"#, r#"{"id":1}"#, "oops"] {
            let judged = judge(Answer { body: body.as_bytes(), ..answer(500) }, asked(&Said::default()));
            assert_eq!(judged.refusal, None, "{body}");
        }
    }

    #[test]
    fn the_servers_own_words_are_shown_and_its_pages_are_not() {
        let json = "application/json";
        for (content_type, body, words) in [
            (json, r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"no seat"},"id":null}"#, ": no seat"),
            (json, r#"{"error":"quota","error_description":"used up"}"#, ": used up"),
            (json, r#"{"detail":"nope"}"#, ": nope"),
            (json, r#"{"a":1}"#, "403 Forbidden"),
            ("text/plain", "go\r\n\u{1b}[31m away", ": go [31m away"),
            ("text/html; charset=utf-8", "<h1>Forbidden</h1>", "403 Forbidden"),
        ] {
            let judged = judge(
                Answer { content_type: Some(content_type), body: body.as_bytes(), ..answer(403) },
                asked(&Said::default()),
            );
            assert!(judged.failure.message.ends_with(words), "{body}: {}", judged.failure.message);
        }
        let body = r#"{"jsonrpc":"2.0","error":{"code":-32601,"message":"no"},"id":null}"#.as_bytes();
        let refusal = judge(Answer { body, ..answer(404) }, asked(&Said::default())).refusal.unwrap();
        assert_eq!((refusal.code, refusal.text.as_str()), (-32601, "no"));
    }
}
