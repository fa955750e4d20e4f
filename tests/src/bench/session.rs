//! When does what happen in a running session? A watch whose lines carry the moment at which they were read, and a
//! server without a client between.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::Instant,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    sandbox::{Sandbox, kill},
    wait::{BOUND, wait_until},
};

/// A running `mcp watch --json`. Dropping it kills it.
pub(super) struct Session {
    child: Child,
    lines: mpsc::Receiver<(Instant, String)>,
    /// The connected servers.
    pids: BTreeMap<String, u64>,
}

impl Session {
    pub(super) fn start(sandbox: &Sandbox) -> Self {
        let mut command = sandbox.command_of_this_session(["mcp", "watch", "--json"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("the program can be started");
        let stdout = child.stdout.take().expect("it is piped");
        let (said, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // Nobody listens any more once the session has ended.
                said.send((Instant::now(), line)).ok();
            }
        });
        Self { child, lines, pids: BTreeMap::new() }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The connected servers, as far as was listened.
    pub(super) fn pids(&self) -> BTreeMap<String, u64> {
        self.pids.clone()
    }

    /// Listens until so many servers are connected; when the last of them was.
    pub(super) fn live(&mut self, count: usize) -> Instant {
        self.until(|pids| pids.len() == count)
    }

    /// Listens until this server is connected with another process than this one; when it was.
    pub(super) fn restarted(&mut self, server: &str, old: Option<u64>) -> Instant {
        self.until(|pids| pids.get(server).is_some_and(|pid| Some(*pid) != old))
    }

    fn until(&mut self, holds: impl Fn(&BTreeMap<String, u64>) -> bool) -> Instant {
        loop {
            let (at, line) = self.lines.recv_timeout(BOUND).expect("the session goes on and says something");
            let event: Value = serde_json::from_str(&line).unwrap_or_default();
            if event["event"] != "mcp-client-update" {
                continue;
            }
            let server = event["server"].as_str().unwrap_or_default().to_owned();
            match event["pid"].as_u64() {
                Some(pid) if event["state"] == "connected" => self.pids.insert(server, pid),
                _ => self.pids.remove(&server),
            };
            if holds(&self.pids) {
                return at;
            }
        }
    }

    /// Ends it politely.
    pub(super) fn end(mut self) {
        kill(self.pid(), Signal::TERM);
        wait_until(BOUND, "the session to end", || self.child.try_wait().ok().flatten());
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// How long a server of the fleet needs by itself, from its start until it has listed all it has; it has ended when this
/// returns.
pub(super) fn own_start(entry: &Value) -> std::time::Duration {
    let args = entry["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut command = Command::new(entry["command"].as_str().unwrap_or_default());
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().expect("the server can be started");
    let mut stdin = child.stdin.take().expect("it is piped");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let mut ask = |messages: &[Value], answers: usize| {
        for message in messages {
            writeln!(stdin, "{message}").expect("the server reads");
        }
        let read = lines.by_ref().take(answers).filter(Result::is_ok).count();
        assert_eq!(read, answers, "the server answers");
    };
    let initialize = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" },
    });
    ask(&[json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize })], 1);
    let list = |id: u64, what: &str| json!({ "jsonrpc": "2.0", "id": id, "method": format!("{what}/list") });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    ask(&[ready, list(1, "tools"), list(2, "prompts"), list(3, "resources")], 3);
    let time = start.elapsed();
    drop(stdin);
    child.wait().ok();
    time
}
