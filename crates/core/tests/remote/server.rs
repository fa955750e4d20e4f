//! A server that answers as its script says, down to the byte, and remembers what it was asked.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// `POST`, `GET`, …
    pub(crate) verb: String,
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) message: Value,
    /// The how-manieth with this verb and this method, from 1.
    pub(crate) nth: usize,
}

impl Request {
    pub(crate) fn method(&self) -> &str {
        self.message["method"].as_str().unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// `POST tools/call`, `GET`.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.verb, self.method()).trim_end().to_owned()
    }
}

/// One step of an answer.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Step {
    Bytes(Vec<u8>),
    /// Until the test opens this gate.
    Wait(&'static str),
    /// Says nothing more and does not close.
    Hang,
    Close,
}

/// An answer.
pub(crate) type Reply = Vec<Step>;

type Script = dyn Fn(&Request) -> Reply + Send + Sync;

#[derive(Default)]
struct Seen {
    requests: Mutex<Vec<Request>>,
    /// How many exchanges the client closed while they were being answered.
    dropped: Mutex<Vec<String>>,
}

/// A running server. It ends with its handle.
pub(crate) struct Server {
    pub(crate) port: u16,
    seen: Arc<Seen>,
    gates: Arc<watch::Sender<Vec<&'static str>>>,
    script: Arc<Script>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, script): (Arc<Seen>, Arc<Script>) = (Arc::default(), Arc::new(script));
        let gates = Arc::new(watch::channel(Vec::new()).0);
        let task = tokio::spawn(serve(listener, Arc::clone(&script), Arc::clone(&seen), Arc::clone(&gates)));
        Self { port, seen, gates, script, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Lets every answer that waits for this go on.
    pub(crate) fn open(&self, gate: &'static str) {
        self.gates.send_modify(|gates| gates.push(gate));
    }

    /// Everything that was asked so far, in order.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.seen.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.requests().iter().map(Request::name).collect()
    }

    /// How often this was asked.
    pub(crate) fn times(&self, name: &str) -> usize {
        self.names().iter().filter(|asked| *asked == name).count()
    }

    pub(crate) fn last(&self, name: &str) -> Request {
        self.requests().into_iter().rfind(|request| request.name() == name).unwrap()
    }

    /// Every time that this was asked, in order.
    pub(crate) fn all(&self, name: &str) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.name() == name).collect()
    }

    /// Exchanges that the client closed before their answer was complete.
    pub(crate) fn dropped(&self) -> Vec<String> {
        self.seen.dropped.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends every connection at once, and refuses new ones until [`Server::revive`].
    pub(crate) async fn kill(&mut self) {
        self.task.abort();
        (&mut self.task).await.ok();
    }

    /// Listens at the same port again.
    pub(crate) async fn revive(&mut self) {
        let listener = TcpListener::bind(("127.0.0.1", self.port)).await.unwrap();
        let (script, seen) = (Arc::clone(&self.script), Arc::clone(&self.seen));
        self.task = tokio::spawn(serve(listener, script, seen, Arc::clone(&self.gates)));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    listener: TcpListener,
    script: Arc<Script>,
    seen: Arc<Seen>,
    gates: Arc<watch::Sender<Vec<&'static str>>>,
) {
    // The set ends its tasks when this one is aborted.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (script, seen, gates) = (Arc::clone(&script), Arc::clone(&seen), gates.subscribe());
        connections.spawn(connection(stream, script, seen, gates));
    }
}

async fn connection(
    mut stream: TcpStream,
    script: Arc<Script>,
    seen: Arc<Seen>,
    gates: watch::Receiver<Vec<&'static str>>,
) {
    let mut buffer = Vec::new();
    while let Some(mut request) = read(&mut stream, &mut buffer).await {
        {
            let mut requests = seen.requests.lock().unwrap_or_else(PoisonError::into_inner);
            let same = |earlier: &&Request| earlier.name() == request.name();
            request.nth = requests.iter().filter(same).count() + 1;
            requests.push(request.clone());
        }
        for step in script(&request) {
            let mut byte = [0];
            let done = match step {
                Step::Bytes(bytes) => stream.write_all(&bytes).await.is_ok(),
                Step::Close => return,
                Step::Wait(gate) => {
                    let mut gates = gates.clone();
                    tokio::select! {
                        _ = gates.wait_for(|open| open.contains(&gate)) => true,
                        _ = stream.read(&mut byte) => false,
                    }
                }
                Step::Hang => {
                    stream.read_exact(&mut byte).await.ok();
                    false
                }
            };
            if !done {
                seen.dropped.lock().unwrap_or_else(PoisonError::into_inner).push(request.name());
                return;
            }
        }
    }
}

async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Request> {
    let head = loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8(buffer[..head].to_vec()).unwrap();
    let mut lines = text.split("\r\n");
    let mut first = lines.next().unwrap().split(' ');
    let (verb, path) = (first.next().unwrap().to_owned(), first.next().unwrap().to_owned());
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    while buffer.len() < head + 4 + length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let body: Vec<u8> = buffer.drain(..head + 4 + length).skip(head + 4).collect();
    let message = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Request { verb, path, headers, message, nth: 0 })
}

/// What a well-behaved server without streams says.
pub(crate) fn plain(request: &Request) -> Reply {
    match (request.verb.as_str(), request.method()) {
        ("POST", "initialize") => initialized(request, Some("s1")),
        ("POST", "tools/list") => json(200, &answer(request, tools(&["echo"]))),
        ("POST", "tools/call") => json(
            200,
            &answer(request, json!({"content": [], "echo": request.message["params"]["arguments"]})),
        ),
        ("POST", "ping") => json(200, &answer(request, json!({}))),
        ("POST", method) if method.starts_with("notifications/") || method.is_empty() => status(202),
        ("POST", _) => json(200, &refusal(request, -32601, "unknown method")),
        ("DELETE", _) => status(200),
        _ => status(405),
    }
}

/// What a well-behaved server of the era without sessions says.
pub(crate) fn modern(request: &Request) -> Reply {
    match request.method() {
        "initialize" => status(400),
        "server/discover" => {
            let result = json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}});
            json(200, &answer(request, result))
        }
        _ => plain(request),
    }
}

pub(crate) fn initialized(request: &Request, session: Option<&str>) -> Reply {
    let result = json!({
        "protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "s", "version": "0"},
    });
    let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
    with_headers(
        200,
        &format!("Content-Type: application/json\r\n{session}"),
        &answer(request, result).to_string(),
    )
}

pub(crate) fn tools(names: &[&str]) -> Value {
    let tools: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
    json!({ "tools": tools })
}

pub(crate) fn answer(request: &Request, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request.message["id"], "result": result})
}

pub(crate) fn refusal(request: &Request, code: i64, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": request.message["id"], "error": {"code": code, "message": text}})
}

pub(crate) fn json(status: u16, message: &Value) -> Reply {
    with_headers(status, "Content-Type: application/json\r\n", &message.to_string())
}

pub(crate) fn status(status: u16) -> Reply {
    with_headers(status, "", "")
}

/// An answer with these header lines, each with its line end.
pub(crate) fn with_headers(status: u16, headers: &str, body: &str) -> Reply {
    let length = body.len();
    vec![Step::Bytes(
        format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\n\r\n{body}").into_bytes(),
    )]
}

/// The head of a stream of events, and its pieces.
pub(crate) fn events(steps: impl IntoIterator<Item = Step>) -> Reply {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    std::iter::once(Step::Bytes(head.into())).chain(steps).collect()
}

/// One chunk of a stream.
pub(crate) fn chunk(text: impl AsRef<[u8]>) -> Step {
    let text = text.as_ref();
    let mut bytes = format!("{:x}\r\n", text.len()).into_bytes();
    bytes.extend_from_slice(text);
    bytes.extend_from_slice(b"\r\n");
    Step::Bytes(bytes)
}

/// The end of a stream, in good order.
pub(crate) fn end() -> Step {
    Step::Bytes(b"0\r\n\r\n".to_vec())
}

pub(crate) fn event(message: &Value) -> Step {
    chunk(format!("data: {message}\n\n"))
}

/// Waits until something holds, and fails when it does not in time.
pub(crate) async fn until(limit: Duration, holds: impl Fn() -> bool) {
    let mut looks = tokio::time::interval(Duration::from_millis(5));
    let looking = async {
        while !holds() {
            looks.tick().await;
        }
    };
    assert!(tokio::time::timeout(limit, looking).await.is_ok(), "it did not happen within {limit:?}");
}
