//! A running `fake-mcp --http`: its address, which stays the same through restarts, orders to it, and what it was asked.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    sandbox::{Sandbox, kill, program},
    wait::BOUND,
};

/// A server behind a URL. Dropping it ends it.
#[derive(Debug)]
pub struct Remote {
    name: String,
    flags: Vec<String>,
    log: PathBuf,
    home: PathBuf,
    url: String,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    /// The server ends when this closes, so it never outlives the test.
    _stdin: Option<ChildStdin>,
}

impl Remote {
    /// Starts one with this name and these flags at a free port.
    ///
    /// # Panics
    /// When it cannot be started or names no address.
    #[must_use]
    pub fn start(sandbox: &Sandbox, name: &str, flags: &[&str]) -> Self {
        let mut remote = Self {
            name: name.to_owned(),
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            log: sandbox.log_path(),
            home: sandbox.home(),
            url: String::new(),
            running: None,
        };
        (remote.running, remote.url) = remote.spawn("0");
        remote
    }

    /// The certificate authority that signed what `--tls` shows.
    #[must_use]
    pub fn authority() -> PathBuf {
        certificates().join("ca.pem")
    }

    /// Starts one that speaks TLS with a certificate of [`Remote::authority`].
    #[must_use]
    pub fn start_with_tls(sandbox: &Sandbox, name: &str, flags: &[&str]) -> Self {
        Self::start_with_certificate(sandbox, name, "server", flags)
    }

    /// The same with another of its certificates: `elsewhere` or `expired`.
    #[must_use]
    pub fn start_with_certificate(sandbox: &Sandbox, name: &str, certificate: &str, flags: &[&str]) -> Self {
        let chain = certificates().join(format!("{certificate}.pem"));
        let key = certificates().join("server.key");
        let (chain, key) = (chain.display().to_string(), key.display().to_string());
        let mut all = vec!["--tls", &chain, &key];
        all.extend(flags);
        Self::start(sandbox, name, &all)
    }

    fn spawn(&self, port: &str) -> (Option<Running>, String) {
        let mut child = Command::new(program("fake-mcp"))
            .args(["--name", &self.name, "--http", "--port", port, "--log"])
            .arg(&self.log)
            .args(&self.flags)
            .env("HOME", &self.home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server can be started");
        let mut url = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut url).expect("it names its address");
        assert!(url.starts_with("http"), "{} started without an address: {url:?}", self.name);
        let stdin = child.stdin.take();
        (Some(Running { child, _stdin: stdin }), url.trim_end().to_owned())
    }

    /// What it calls itself, in its record too.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its streamable HTTP is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Another path of it.
    #[must_use]
    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url.trim_end_matches("/mcp"))
    }

    /// Its address as `host:port`.
    #[must_use]
    pub fn authority_part(&self) -> &str {
        let rest = self.url.split("://").nth(1).unwrap_or_default();
        rest.split('/').next().unwrap_or_default()
    }

    /// An entry for streamable HTTP.
    #[must_use]
    pub fn entry(&self) -> Value {
        json!({ "httpUrl": self.url })
    }

    /// An entry for legacy server-sent events.
    #[must_use]
    pub fn sse_entry(&self) -> Value {
        json!({ "url": self.at("/sse"), "type": "sse" })
    }

    /// Gives it an order and waits until it is carried out.
    ///
    /// # Panics
    /// When it does not answer `done`.
    pub fn order(&self, order: &str) {
        let mut stream = TcpStream::connect(self.authority_part()).expect("the server listens");
        stream.set_read_timeout(Some(BOUND)).expect("a socket has time-outs");
        let length = order.len();
        let request = format!(
            "POST /control HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{order}"
        );
        stream.write_all(request.as_bytes()).expect("the order can be sent");
        stream.shutdown(std::net::Shutdown::Write).expect("nothing more is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the server answers");
        assert!(answer.ends_with("\r\n\r\ndone"), "{order}: {answer}");
    }

    /// Ends it at once; its address is refused until [`Remote::restart`].
    pub fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.child.kill().ok();
            running.child.wait().ok();
        }
    }

    /// A new life at the same address.
    pub fn restart(&mut self) {
        self.kill();
        let port = self.authority_part().rsplit(':').next().unwrap_or_default().to_owned();
        (self.running, self.url) = self.spawn(&port);
    }

    /// Sends it a signal: `STOP` makes every connection half-open.
    pub fn signal(&self, signal: Signal) {
        if let Some(running) = &self.running {
            kill(running.child.id(), signal);
        }
    }

    /// Every request that reached it in any life: `method`, `target`, `rpc`, `headers`.
    #[must_use]
    pub fn seen(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["name"] == self.name.as_str() && line["event"] == "http").collect()
    }

    /// How many requests of this HTTP method and, unless it is empty, this method in the body.
    #[must_use]
    pub fn count(&self, method: &str, rpc: &str) -> usize {
        let is_meant = |line: &&Value| line["method"] == method && (rpc.is_empty() || line["rpc"] == rpc);
        self.seen().iter().filter(is_meant).count()
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.kill();
    }
}

fn certificates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("certs")
}
