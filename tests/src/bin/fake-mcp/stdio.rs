//! The server at the other end of a pipe: one peer, lines in, lines out, until standard input ends.

use std::{io::BufRead as _, sync::Arc};

use serde_json::{Value, json};

use crate::{
    control,
    options::{Options, Script},
    script::{Out, Point, sleep_for_ever},
    server::{Peer, Server},
};

/// One life.
///
/// # Errors
/// The record or the control socket cannot be opened.
pub(crate) fn serve(options: Options) -> std::io::Result<()> {
    let out = Arc::new(Out::stdout(options.split));
    if let Some(prefix) = &options.control {
        control::listen(prefix, Arc::clone(&out))?;
    }
    let server = Arc::new(Server::new(options)?);
    let peer = Arc::new(Peer::new(Arc::clone(&server), Arc::clone(&out)));
    peer.at(Point::Start);
    if server.options.deaf == Script::Yes {
        sleep_for_ever();
    }
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if let Ok(message) = serde_json::from_str::<Value>(&line) {
            peer.receive(&message, &out);
        }
    }
    server.log.write("eof", || json!({}));
    peer.at(Point::Eof);
    if server.options.ignore_eof == Script::Yes {
        sleep_for_ever();
    }
    Ok(())
}
