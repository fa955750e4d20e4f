//! What does a person do about a connection that failed? Owns the next step of every kind of failure; the cause is
//! core's own sentence. It knows no refusal of the gate.

use std::time::Duration;

use qwen_core::{Entry, Failure, FailureKind, ServerName, TlsFault, Wire};
use serde_json::Value;

use super::{Background, field_place, place};
use crate::{
    derive::{Row, Transport},
    text::visible,
};

/// Longer waits are told in minutes.
const SECONDS: u64 = 120;

/// What a person does after a failed connection. `retry_at` is `None` where nobody tries again by themselves: the kind
/// forbids it, or the command ends.
pub(super) fn next_step(
    failure: &Failure,
    retry_at: Option<u64>,
    name: &ServerName,
    row: Option<&Row>,
    back: Background<'_>,
) -> String {
    let entry = row.map_or_else(|| "its entry".to_owned(), |row| place(&row.source));
    let again = back.prompt.reconnect(name);
    match &failure.kind {
        FailureKind::CommandNotFound => format!("install it, or mend command in {entry}"),
        FailureKind::CwdMissing | FailureKind::CwdNotAFolder => {
            format!("make the folder, or mend cwd in {entry}")
        }
        FailureKind::NeedsAuth { header: None, .. } => format!("give it credentials in headers in {entry}"),
        FailureKind::NeedsAuth { header: Some(header), .. } | FailureKind::BadHeader { header } => {
            replace_header(header, row, back)
        }
        FailureKind::Forbidden => format!("give it other credentials in headers in {entry}, or {again}"),
        FailureKind::WrongEndpoint { status: Some(400 | 404 | 405 | 406 | 415 | 501) } => {
            match row.and_then(other_transport) {
                Some((other, write)) => {
                    format!("check its URL in {entry}; if it speaks {other}, {write} there; then {again}")
                }
                None => format!("check its URL in {entry}, then {again}"),
            }
        }
        FailureKind::WrongEndpoint { .. } => format!("check its URL in {entry}, then {again}"),
        FailureKind::Proxy { variable } => {
            let mend = format!("check the proxy, or mend {variable} or NO_PROXY and start again");
            match retry_at {
                Some(_) => format!("{mend}; until then a running session keeps trying"),
                None => mend,
            }
        }
        FailureKind::Tls(fault) => after_tls(*fault, &entry, &again),
        FailureKind::Unsupported => format!("switch it off in {entry} until this version can do it"),
        FailureKind::InvalidHandshake => format!("check in {entry} that it is an MCP server, then {again}"),
        FailureKind::CrashLoop => format!("mend {entry}, which tries it again at once, or {again}"),
        FailureKind::HandshakeTimeout | FailureKind::Listing => {
            let patience = format!("give it more time with discoveryTimeoutMs in {entry}, or {again}");
            // A server of streamable HTTP may open the stream of the older transport and never say a word on it.
            match (row.and_then(other_transport), row.and_then(|row| row.transport)) {
                (Some((other, write)), Some(Transport::Sse)) => {
                    format!("{patience}; if it speaks {other}, {write}")
                }
                (Some(_) | None, _) => patience,
            }
        }
        FailureKind::Unavailable { retry_after } => by_itself(retry_at, &entry, || match retry_after {
            Some(wait) => format!("it may pass: try again in {}", told(*wait)),
            None => "it may pass: try again in a minute; if it stays so, ask who runs the server".to_owned(),
        }),
        FailureKind::Network => by_itself(retry_at, &entry, || may_pass(&entry)),
        FailureKind::StreamClosed if row.is_some_and(is_remote) => {
            by_itself(retry_at, &entry, || may_pass(&entry))
        }
        FailureKind::Spawn
        | FailureKind::Exited
        | FailureKind::EndedEarly
        | FailureKind::StreamClosed
        | FailureKind::Aborted => by_itself(retry_at, &entry, || format!("mend {entry}, or {again}")),
    }
}

/// Nothing, in a session that tries again; a command ends before that.
fn by_itself(retry_at: Option<u64>, entry: &str, otherwise: impl FnOnce() -> String) -> String {
    match retry_at {
        Some(_) => {
            format!("nothing; a running session keeps trying, and tries at once after an edit of {entry}")
        }
        None => otherwise(),
    }
}

fn may_pass(entry: &str) -> String {
    format!("it may pass: try again in a minute; if it stays so, check its URL in {entry}")
}

fn is_remote(row: &Row) -> bool {
    row.transport.is_some_and(|transport| match transport {
        Transport::Http | Transport::Sse => true,
        Transport::Stdio => false,
    })
}

/// The step that names a header of an entry and where it stands.
pub(super) fn replace_header(header: &str, row: Option<&Row>, back: Background<'_>) -> String {
    let written = row.and_then(|row| written_header(row, header)).unwrap_or(header);
    let at = row.map_or_else(|| "its entry".to_owned(), |row| field_place(back, row, &["headers", written]));
    format!("replace the header {} in {at}", visible(written))
}

/// The name as somebody wrote it: core knows it in lower case.
fn written_header<'a>(row: &'a Row, header: &str) -> Option<&'a str> {
    let headers = row.written.value().get("headers").and_then(Value::as_object)?;
    headers.keys().find(|name| name.eq_ignore_ascii_case(header)).map(String::as_str)
}

/// Rounded up, so that nobody comes too early.
fn told(wait: Duration) -> String {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    if seconds <= SECONDS { format!("{seconds} s") } else { format!("{} minutes", seconds.div_ceil(60)) }
}

fn after_tls(fault: TlsFault, entry: &str, again: &str) -> String {
    match fault {
        TlsFault::UnknownIssuer => {
            "name its certificate authority in NODE_EXTRA_CA_CERTS or SSL_CERT_FILE and start again"
                .to_owned()
        }
        TlsFault::Expired => {
            format!("have its certificate renewed, unless the clock here is wrong; then {again}")
        }
        TlsFault::NotYetValid => format!("check the clock of this machine, then {again}"),
        TlsFault::OtherHost => format!("write the host that its certificate is for into its URL in {entry}"),
        TlsFault::NotTls => format!("write http:// in its URL in {entry}, or the port that speaks TLS"),
        TlsFault::WantsOurs => format!("switch it off in {entry} until this version can do it"),
        TlsFault::Authorities => {
            "mend or unset NODE_EXTRA_CA_CERTS, SSL_CERT_FILE and SSL_CERT_DIR and start again".to_owned()
        }
        TlsFault::Other => format!("check its URL in {entry} and how it speaks TLS, then {again}"),
    }
}

/// The other way in which the server may want to be spoken to, and how an entry says so; `None` where both are tried.
fn other_transport(row: &Row) -> Option<(&'static str, &'static str)> {
    let Entry::Valid(spec) = &row.entry else { return None };
    let has = |field: &str| row.written.value().get(field).is_some();
    match spec.wire() {
        Wire::Stdio(_) => None,
        Wire::Http(remote) if remote.sse_fallback => None,
        Wire::Http(_) if has("httpUrl") => Some(("only SSE", "write url with type: sse in place of httpUrl")),
        Wire::Http(_) => Some(("only SSE", "write type: sse")),
        Wire::Sse(_) if has("type") => Some(("streamable HTTP", "write type: http")),
        Wire::Sse(_) => Some(("streamable HTTP", "write httpUrl in place of url, or type: http")),
    }
}

#[cfg(test)]
mod tests;
