//! The server behind a URL: streamable HTTP at `…/mcp`, legacy server-sent events at `…/sse` and `…/message`, orders at
//! `/control`. One thread for each connection and bytes written by hand, since what is tested are the answers that no
//! HTTP library would give.

mod answer;
mod control;
mod fault;
mod sessions;
mod site;
mod streams;
mod wire;

use std::{
    io::{self, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError, mpsc},
};

use serde_json::{Value, json};

pub(crate) use site::Site;

use crate::{
    options::{Options, Script},
    proxy,
    script::{Out, Point},
    server::Server,
};
use fault::{Fault, Then};
use sessions::Sessions;
use wire::{Bytes, Connection, Request};

/// One life behind one port.
pub(crate) struct Host {
    server: Arc<Server>,
    site: Site,
    sessions: Sessions,
    faults: Mutex<Vec<Fault>>,
}

/// Serves until standard input ends: whoever started it holds the other end, so it never outlives its test.
///
/// # Errors
/// The port is taken, the record or the certificate cannot be read.
pub(crate) fn serve(options: Options, site: Site) -> io::Result<()> {
    let tls = site.tls.as_ref().map(|(chain, key)| wire::tls(chain, key)).transpose()?;
    let listener = TcpListener::bind(("127.0.0.1", site.port))?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let address = listener.local_addr()?;
    let server = Arc::new(Server::new(options)?);
    let host = Arc::new(Host {
        sessions: Sessions::new(Arc::clone(&server)),
        faults: Mutex::new(site.faults.clone()),
        server,
        site,
    });
    host.at_start();
    println!("{scheme}://{address}/mcp");
    io::stdout().flush()?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (host, tls) = (Arc::clone(&host), tls.clone());
            std::thread::spawn(move || {
                // A client that goes away is the client's business.
                drop(host.accept(stream, tls));
            });
        }
    });
    io::stdin().lock().read_to_end(&mut Vec::new())?;
    Ok(())
}

impl Host {
    fn at_start(&self) {
        let (nobody, _) = mpsc::channel();
        let out = Out::messages(nobody);
        for (_, action) in self.server.options.script.iter().filter(|(at, _)| *at == Point::Start) {
            action.perform(&out);
        }
    }

    fn accept(self: &Arc<Self>, stream: TcpStream, tls: Option<Arc<rustls::ServerConfig>>) -> io::Result<()> {
        stream.set_nodelay(true)?;
        if self.site.proxy == Script::Yes {
            return proxy::pass(stream, &self.server.log, self.site.proxy_refuses);
        }
        let bytes: Box<dyn Bytes> = match tls {
            Some(config) => {
                let session = rustls::ServerConnection::new(config).map_err(io::Error::other)?;
                Box::new(rustls::StreamOwned::new(session, stream))
            }
            None => Box::new(stream),
        };
        let mut connection = Connection::new(bytes, self.site.shape());
        while let Some(request) = connection.read()? {
            match self.take(&request, &mut connection)? {
                Then::Next => {}
                Then::Close => break,
            }
        }
        Ok(())
    }

    fn take(self: &Arc<Self>, request: &Request, connection: &mut Connection) -> io::Result<Then> {
        if request.path() == "/control" {
            return control::obey(self, request, connection);
        }
        let message: Option<Value> = serde_json::from_slice(&request.body).ok();
        let rpc = message.as_ref().and_then(|message| message["method"].as_str()).unwrap_or_default();
        self.server.log.write("http", || {
            json!({ "method": request.method, "target": request.target, "rpc": rpc, "headers": request.headers })
        });
        if let Some(fault) = self.fault(request, rpc) {
            return fault.commit(connection);
        }
        match (request.method.as_str(), request.path().rsplit('/').next().unwrap_or_default()) {
            ("POST", "mcp") => answer::post(self, request, message, connection),
            ("GET", "mcp") => answer::get(self, request, connection),
            ("DELETE", "mcp") => answer::delete(self, request, connection),
            ("GET", "sse") => answer::sse(self, connection),
            ("POST", "message") => answer::message(self, request, message, connection),
            (_, "mcp" | "sse" | "message") => connection.status(405, &[], ""),
            _ => connection.status(404, &[], "no such path"),
        }
    }

    /// The first fault for such a request, once less often from now on.
    fn fault(&self, request: &Request, rpc: &str) -> Option<fault::Answer> {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.iter_mut().find_map(|fault| fault.takes(&request.method, request.path(), rpc))
    }
}
