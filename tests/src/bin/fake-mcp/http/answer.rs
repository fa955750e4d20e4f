//! What a decent server does at each of its paths.

use std::{
    io,
    sync::{Arc, mpsc},
};

use serde_json::{Value, json};

use super::{
    Host,
    fault::Then,
    sessions::Session,
    streams,
    wire::{Connection, Request},
};
use crate::{options::Script, script::Out};

/// A message of a client of streamable HTTP.
pub(super) fn post(
    host: &Host,
    request: &Request,
    message: Option<Value>,
    connection: &mut Connection,
) -> io::Result<Then> {
    let Some(message) = message else { return connection.status(400, &[], "not JSON") };
    if host.site.legacy == Script::Yes {
        return connection.status(405, &[], "");
    }
    let method = message["method"].as_str();
    let session = match (method, whose(host, request)) {
        (Some("initialize"), _) if host.site.stateless == Script::No => host.sessions.open(),
        (_, Ok(session)) => session,
        (_, Err(code)) => return connection.status(code, &[], "no such session"),
    };
    match (method, message.get("id").cloned()) {
        (Some("subscriptions/listen"), Some(id)) => listen(host, id, &session, connection),
        (Some(_), Some(id)) => {
            let (sender, receiver) = mpsc::channel();
            session.peer.receive(&message, &Arc::new(Out::messages(sender)));
            let given = (!session.id.is_empty()).then_some(session.id.as_str());
            streams::answer(connection, &id, &receiver, given, host.site.streams)
        }
        (_, _) => {
            session.peer.receive(&message, &session.out);
            connection.status(202, &[], "")
        }
    }
}

/// The stream for what the server says unasked.
pub(super) fn get(host: &Host, request: &Request, connection: &mut Connection) -> io::Result<Then> {
    if host.site.legacy == Script::Yes || is_without_sessions(host) {
        return connection.status(405, &[], "");
    }
    match whose(host, request) {
        Ok(session) => {
            connection.begin(&[])?;
            streams::pump(connection, &session)
        }
        Err(code) => connection.status(code, &[], "no such session"),
    }
}

/// The end of a session.
pub(super) fn delete(host: &Host, request: &Request, connection: &mut Connection) -> io::Result<Then> {
    match whose(host, request) {
        Ok(session) => {
            host.sessions.close(&session.id);
            connection.status(200, &[], "")
        }
        Err(code) => connection.status(code, &[], "no such session"),
    }
}

/// The one stream of a legacy client.
pub(super) fn sse(host: &Host, connection: &mut Connection) -> io::Result<Then> {
    let session = host.sessions.open();
    let endpoint = match &host.site.endpoint {
        Some(endpoint) => endpoint.replace("$ID", &session.id),
        None => format!("/message?session={}", session.id),
    };
    connection.begin(&[])?;
    connection.event("endpoint", None, &endpoint)?;
    let ended = streams::pump(connection, &session);
    host.sessions.close(&session.id);
    ended
}

/// A message of a legacy client; its answer comes on the stream.
pub(super) fn message(
    host: &Host,
    request: &Request,
    message: Option<Value>,
    connection: &mut Connection,
) -> io::Result<Then> {
    let session = request.query("session").and_then(|id| host.sessions.get(id));
    let (Some(session), Some(message)) = (session, message) else {
        return connection.status(404, &[], "no such session");
    };
    let then = connection.status(202, &[], "Accepted")?;
    session.peer.receive(&message, &session.out);
    Ok(then)
}

/// Change notices of the era without sessions.
fn listen(host: &Host, id: Value, session: &Session, connection: &mut Connection) -> io::Result<Then> {
    host.server.log.write("request", || json!({ "method": "subscriptions/listen", "id": id }));
    connection.begin(&[])?;
    let acknowledged = json!({
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": { "_meta": { "io.modelcontextprotocol/subscriptionId": id } },
    });
    connection.event("message", None, &acknowledged.to_string())?;
    streams::pump(connection, session)
}

fn whose(host: &Host, request: &Request) -> Result<Arc<Session>, u16> {
    if is_without_sessions(host) {
        return Ok(host.sessions.shared());
    }
    let id = request.header("mcp-session-id").ok_or(400_u16)?;
    host.sessions.get(id).ok_or(404)
}

fn is_without_sessions(host: &Host) -> bool {
    host.site.stateless == Script::Yes || host.server.options.modern == Script::Yes
}
