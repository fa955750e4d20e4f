//! The least that a proxy does: it takes `CONNECT` and whole URLs, writes down who asked for what, and passes bytes on
//! unless it was told to refuse.

use std::{
    io::{self, Read as _, Write as _},
    net::{Shutdown, TcpStream},
    thread,
};

use serde_json::json;

use crate::log::Log;

/// Serves one connection to its end.
pub(crate) fn pass(mut client: TcpStream, log: &Log, refuses: Option<u16>) -> io::Result<()> {
    let head = head(&mut client)?;
    let text = String::from_utf8_lossy(&head).into_owned();
    let mut words = text.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    log.write("proxied", || json!({ "method": method, "target": target }));
    if let Some(code) = refuses {
        let answer = format!("HTTP/1.1 {code} Fake\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        client.write_all(answer.as_bytes())?;
        return client.shutdown(Shutdown::Both);
    }
    let authority = target.split_once("://").map_or(target, |(_, rest)| rest);
    let mut server = TcpStream::connect(authority.split('/').next().unwrap_or_default())?;
    server.set_nodelay(true)?;
    if method == "CONNECT" {
        client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n")?;
    } else {
        server.write_all(&head)?;
    }
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        drop(io::copy(&mut from, &mut to));
        to.shutdown(Shutdown::Write)
    });
    drop(io::copy(&mut server, &mut client));
    client.shutdown(Shutdown::Both)
}

/// The request up to its empty line, and whatever else has not been sent by then.
fn head(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte)? == 1 {
        head.push(byte[0]);
    }
    Ok(head)
}
