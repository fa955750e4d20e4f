//! HTTP/1.1 and event streams as bytes. It reads what clients send and writes what it is told, odd or not; it knows no
//! path and no message.

use std::{
    io::{self, BufRead as _, BufReader, Read, Write},
    path::Path,
    sync::Arc,
};

use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use serde_json::{Map, Value};

use super::fault::Then;
use crate::options::Script;

/// A connection, in clear or not.
pub(crate) trait Bytes: Read + Write + Send {}
impl<T: Read + Write + Send> Bytes for T {}

/// How the lines of a stream end.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum LineEnd {
    #[default]
    Lf,
    CrLf,
    Cr,
}

impl LineEnd {
    pub(crate) fn parse(word: &str) -> Result<Self, String> {
        Ok(match word {
            "lf" => Self::Lf,
            "crlf" => Self::CrLf,
            "cr" => Self::Cr,
            other => return Err(format!("unknown line end {other}")),
        })
    }

    fn text(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
        }
    }
}

/// How streams are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// In pieces of three bytes, which cuts characters and line ends in two.
    pub(crate) cut: Script,
    /// A comment and an event of no known name before each message.
    pub(crate) comments: Script,
    pub(crate) line_end: LineEnd,
}

/// One request, read to its end.
pub(crate) struct Request {
    pub(crate) method: String,
    /// With its query.
    pub(crate) target: String,
    /// Names in lower case.
    pub(crate) headers: Map<String, Value>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        let query = self.target.split_once('?')?.1;
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.as_str()
    }
}

/// A client, from its first byte to its last.
pub(crate) struct Connection {
    bytes: BufReader<Box<dyn Bytes>>,
    shape: Shape,
}

impl Connection {
    pub(crate) fn new(bytes: Box<dyn Bytes>, shape: Shape) -> Self {
        Self { bytes: BufReader::new(bytes), shape }
    }

    /// The next request; `None` when the client closed, or sent what is none, as one does that begins with TLS.
    pub(crate) fn read(&mut self) -> io::Result<Option<Request>> {
        match self.bytes.fill_buf()?.first() {
            None => return Ok(None),
            Some(first) if first.is_ascii_uppercase() => {}
            Some(_) => {
                self.status(400, &[("Connection", "close")], "")?;
                return Ok(None);
            }
        }
        let mut first = String::new();
        self.bytes.read_line(&mut first)?;
        let mut words = first.split_whitespace();
        let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
        let mut headers = Map::new();
        loop {
            let mut line = String::new();
            self.bytes.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), Value::String(value.trim().to_owned()));
        }
        let length = headers.get("content-length").and_then(Value::as_str);
        let mut body = vec![0; length.and_then(|length| length.parse().ok()).unwrap_or(0)];
        self.bytes.read_exact(&mut body)?;
        Ok(Some(Request { method: method.to_owned(), target: origin_form(target), headers, body }))
    }

    /// A whole answer.
    pub(crate) fn status(&mut self, code: u16, headers: &[(&str, &str)], body: &str) -> io::Result<Then> {
        let mut head = format!("HTTP/1.1 {code} Fake\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        self.write(format!("{head}\r\n{body}").as_bytes())?;
        Ok(Then::Next)
    }

    /// The head of a stream.
    pub(crate) fn begin(&mut self, headers: &[(&str, &str)]) -> io::Result<()> {
        let mut head = "HTTP/1.1 200 Fake\r\nContent-Type: text/event-stream\r\n".to_owned();
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        self.write(format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes())
    }

    /// One event of the stream.
    pub(crate) fn event(&mut self, name: &str, id: Option<u64>, data: &str) -> io::Result<()> {
        let mut lines = Vec::new();
        if self.shape.comments == Script::Yes {
            lines.extend([": ping", "", "event: weather", "data: {\"sky\":\"grey\"}", ""].map(str::to_owned));
        }
        lines.push(format!("event: {name}"));
        lines.extend(id.map(|id| format!("id: {id}")));
        lines.push(format!("data: {data}"));
        let end = self.shape.line_end.text();
        self.chunk(format!("{}{end}{end}", lines.join(end)).as_bytes())
    }

    /// These bytes of the stream.
    pub(crate) fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        let size = if self.shape.cut == Script::Yes { 3 } else { bytes.len().max(1) };
        for piece in bytes.chunks(size) {
            let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
            chunk.extend_from_slice(piece);
            chunk.extend_from_slice(b"\r\n");
            self.write(&chunk)?;
        }
        Ok(())
    }

    /// The end of the stream; the connection can be used again.
    pub(crate) fn end(&mut self) -> io::Result<Then> {
        self.write(b"0\r\n\r\n")?;
        Ok(Then::Next)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let stream = self.bytes.get_mut();
        stream.write_all(bytes)?;
        stream.flush()
    }
}

/// A proxy's client names the whole URL.
fn origin_form(target: &str) -> String {
    match target.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/".to_owned(), |at| rest[at..].to_owned()),
        None => target.to_owned(),
    }
}

/// The certificate that an `https` server shows.
pub(crate) fn tls(chain: &Path, key: &Path) -> io::Result<Arc<rustls::ServerConfig>> {
    let unreadable = |problem: rustls::pki_types::pem::Error| io::Error::other(problem.to_string());
    let chain = CertificateDer::pem_file_iter(chain).map_err(unreadable)?;
    let chain = chain.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(unreadable)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(io::Error::other)?;
    Ok(Arc::new(config))
}
