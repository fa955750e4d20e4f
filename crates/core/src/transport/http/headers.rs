//! Which headers does the protocol want on a message? Owns the names and the rule for each protocol era; pure.

use http::{HeaderMap, HeaderName, HeaderValue, header::ACCEPT, header::CONTENT_TYPE};
use serde_json::Value;

pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

pub(crate) const EVENTS: &str = "text/event-stream";
pub(crate) const JSON: &str = "application/json";
const BOTH: &str = "application/json, text/event-stream";

/// What was agreed with a server so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Agreement {
    /// The session that the server gave us, if it keeps one.
    pub(crate) session: Option<HeaderValue>,
    /// The version that it answered `initialize` with.
    pub(crate) version: Option<HeaderValue>,
}

/// The version that a message names itself, which makes it one of the era without sessions.
pub(crate) fn own_version(message: &Value) -> Option<&str> {
    message.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion")?.as_str()
}

/// The headers of a POST of this message. `params` are those of its arguments that go as headers too.
pub(crate) fn of_message(
    message: &Value,
    agreement: &Agreement,
    params: Vec<(HeaderName, String)>,
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static(BOTH));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    let method = message.get("method").and_then(Value::as_str);
    if let Some(version) = own_version(message) {
        put(&mut headers, VERSION, version);
        if let Some(method) = method {
            put(&mut headers, METHOD, method);
            if let Some(name) = name(method, message.get("params")) {
                put(&mut headers, NAME, &sendable(name));
            }
        }
        for (name, value) in params {
            put(&mut headers, name, &sendable(&value));
        }
    } else if method == Some("initialize") {
        // It may reach a server of the newer era, which wants this of every message; others do not know it.
        put(&mut headers, METHOD, "initialize");
    } else {
        add(&mut headers, agreement);
    }
    headers
}

/// The headers of a GET for a stream of events, from the beginning or from where it broke.
pub(crate) fn of_stream(agreement: &Agreement, last_id: Option<&str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static(EVENTS));
    add(&mut headers, agreement);
    if let Some(id) = last_id {
        put(&mut headers, LAST_EVENT_ID, id);
    }
    headers
}

/// The headers of a DELETE of the session.
pub(crate) fn of_end(agreement: &Agreement) -> HeaderMap {
    let mut headers = HeaderMap::new();
    add(&mut headers, agreement);
    headers
}

fn add(headers: &mut HeaderMap, agreement: &Agreement) {
    headers.extend(agreement.session.clone().map(|session| (SESSION, session)));
    headers.extend(agreement.version.clone().map(|version| (VERSION, version)));
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    // What no header can hold is left out: the body says the same.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// What a message is about, for those between us and the server (SEP-2243).
fn name<'a>(method: &str, params: Option<&'a Value>) -> Option<&'a str> {
    let key = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return None,
    };
    params?.get(key)?.as_str()
}

/// The value as a header can hold it: what is not plain text goes as `=?base64?…?=` (SEP-2243).
fn sendable(value: &str) -> String {
    const BEGIN: &str = "=?base64?";
    const END: &str = "?=";
    let plain = value.bytes().all(|byte| (0x20..=0x7e).contains(&byte)) && value.trim_matches(' ') == value;
    let like_encoded = value.starts_with(BEGIN) && value.ends_with(END);
    if plain && !like_encoded {
        value.to_owned()
    } else {
        format!("{BEGIN}{}{END}", base64(value.as_bytes()))
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0_u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = (group >> (18 - 6 * place)) as usize & 63;
            text.push(if place <= chunk.len() {
                DIGITS.get(digit).copied().unwrap_or(b'=').into()
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(headers: &HeaderMap) -> Vec<(&str, &str)> {
        let mut shown: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        shown.retain(|(name, _)| name.starts_with("mcp-") || *name == "last-event-id");
        shown.sort_unstable();
        shown
    }

    #[test]
    fn each_era_has_its_headers_and_the_first_message_agrees_on_nothing() {
        let agreement = Agreement {
            session: Some(HeaderValue::from_static("s1")),
            version: Some(HeaderValue::from_static("2025-06-18")),
        };
        let session = vec![("mcp-protocol-version", "2025-06-18"), ("mcp-session-id", "s1")];
        let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
        for (message, expected) in [
            (json!({"method": "initialize", "params": {}}), vec![("mcp-method", "initialize")]),
            (json!({"method": "tools/list"}), session.clone()),
            (json!({"id": 1, "result": {}}), session.clone()),
            (
                json!({"method": "server/discover", "params": {"_meta": meta}}),
                vec![("mcp-method", "server/discover"), ("mcp-protocol-version", "2026-07-28")],
            ),
            (
                json!({"method": "tools/call", "params": {"_meta": meta, "name": "run"}}),
                vec![
                    ("mcp-method", "tools/call"),
                    ("mcp-name", "run"),
                    ("mcp-protocol-version", "2026-07-28"),
                ],
            ),
            (
                json!({"method": "resources/read", "params": {"_meta": meta, "uri": "file:///ä"}}),
                vec![
                    ("mcp-method", "resources/read"),
                    ("mcp-name", "=?base64?ZmlsZTovLy/DpA==?="),
                    ("mcp-protocol-version", "2026-07-28"),
                ],
            ),
        ] {
            assert_eq!(shown(&of_message(&message, &agreement, Vec::new())), expected, "{message}");
        }
        let mut resumed = session;
        resumed.insert(0, ("last-event-id", "e7"));
        assert_eq!(shown(&of_stream(&agreement, Some("e7"))), resumed);
    }

    #[test]
    fn text_that_no_header_can_hold_is_encoded() {
        for (text, encoded) in [
            ("a b", "a b"),
            (" a", "=?base64?IGE=?="),
            ("é", "=?base64?w6k=?="),
            ("日本", "=?base64?5pel5pys?="),
        ] {
            assert_eq!(sendable(text), encoded);
        }
        assert_eq!(sendable("=?base64?x?="), "=?base64?PT9iYXNlNjQ/eD89?=");
    }
}
