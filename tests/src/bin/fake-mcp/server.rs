//! The protocol side: answers messages, wherever they come from, and takes the scripted actions at their points.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    lists,
    log::Log,
    options::{Options, Script},
    script::{Out, Point},
};

/// What all peers of one life share.
pub(crate) struct Server {
    pub(crate) options: Options,
    pub(crate) log: Log,
    count: AtomicU64,
}

impl Server {
    /// Opens the record and says hello to it.
    ///
    /// # Errors
    /// The record cannot be opened: a test would count wrongly.
    pub(crate) fn new(options: Options) -> std::io::Result<Self> {
        let log = Log::open(options.log.as_deref(), &options.name)?;
        log.write("spawn", || {
            let mut fields = json!({
                "argv": std::env::args().collect::<Vec<_>>(),
                "cwd": std::env::current_dir().ok(),
            });
            if options.dump_env == Script::Yes {
                fields["env"] = std::env::vars().map(|(name, value)| (name, json!(value))).collect();
            }
            fields
        });
        Ok(Self { options, log, count: AtomicU64::new(0) })
    }
}

/// One client, with the way to it that is open whether it asks or not.
pub(crate) struct Peer {
    server: Arc<Server>,
    /// Where the script speaks.
    out: Arc<Out>,
    /// Slow calls under way, by id; dropping the sender cancels one.
    running: Mutex<BTreeMap<String, mpsc::Sender<()>>>,
    /// The ways to answer what is never answered: they stay open.
    unanswered: Mutex<Vec<Arc<Out>>>,
}

impl Peer {
    pub(crate) fn new(server: Arc<Server>, out: Arc<Out>) -> Self {
        Self { server, out, running: Mutex::default(), unanswered: Mutex::default() }
    }

    pub(crate) fn at(&self, point: Point) {
        for (_, action) in self.server.options.script.iter().filter(|(at, _)| *at == point) {
            action.perform(&self.out);
        }
    }

    /// Takes one message; what it asks for is answered on `reply`.
    pub(crate) fn receive(self: &Arc<Self>, message: &Value, reply: &Arc<Out>) {
        let server = &self.server;
        let method = message.get("method").and_then(Value::as_str);
        let id = message.get("id");
        let params = message.get("params").cloned().unwrap_or(Value::Null);
        match (method, id) {
            (None, _) => server.log.write("response", || json!({ "message": message })),
            (Some(method), None) => self.notified(method, &params),
            (Some(method), Some(id)) => {
                if method != "tools/call" {
                    server.log.write("request", || json!({ "method": method, "id": id }));
                }
                if server.options.mute == Script::No {
                    self.requested(method, id, params, reply);
                } else {
                    self.leave_unanswered(reply);
                }
            }
        }
    }

    fn notified(&self, method: &str, params: &Value) {
        self.server.log.write("notification", || json!({ "method": method, "params": params }));
        match method {
            "notifications/initialized" => self.at(Point::Ready),
            "notifications/cancelled" => {
                let id = &params["requestId"];
                // Said here: the call's own thread may come to it after the end of the input, which ends us all.
                if self.stops(id) {
                    self.server.log.write("call-cancelled", || json!({ "id": id }));
                }
            }
            _ => {}
        }
    }

    fn requested(self: &Arc<Self>, method: &str, id: &Value, params: Value, reply: &Arc<Out>) {
        let options = &self.server.options;
        match method {
            "initialize" => self.at(Point::Initialize),
            "tools/list" => self.at(Point::List),
            _ => {}
        }
        if let Some(file) = options.answers.get(method) {
            return answer_from(file, id, reply);
        }
        let answer = match method {
            "initialize" if options.modern == Script::No => Ok(self.initialize(&params)),
            "server/discover" if options.modern == Script::Yes => Ok(json!({
                "supportedVersions": ["2026-07-28"],
                "capabilities": self.capabilities(),
                "serverInfo": { "name": options.name, "version": "1.0.0" },
            })),
            "ping" => Ok(json!({})),
            "tools/list" => lists::tools(options, &params),
            "prompts/list" if options.prompts > 0 => Ok(lists::prompts(options.prompts)),
            "resources/list" if options.resources > 0 => Ok(lists::resources(options.resources)),
            "prompts/get" => Ok(json!({
                "messages": [{ "role": "user", "content": { "type": "text", "text": "hello" } }],
            })),
            "resources/read" => Ok(json!({
                "contents": [{ "uri": params["uri"], "text": "content" }],
            })),
            "tools/call" => return self.call(id, params, reply),
            _ => Err(json!({ "code": -32601, "message": "method not found" })),
        };
        answer_with(id, answer, reply);
        if method == "tools/list" {
            self.at(Point::Listed);
        }
    }

    fn leave_unanswered(&self, reply: &Arc<Out>) {
        if let Ok(mut unanswered) = self.unanswered.lock() {
            unanswered.push(Arc::clone(reply));
        }
    }

    fn capabilities(&self) -> Value {
        let options = &self.server.options;
        let mut capabilities = json!({});
        if options.declare_nothing == Script::No {
            capabilities["tools"] = json!({ "listChanged": true });
            if options.prompts > 0 {
                capabilities["prompts"] = json!({ "listChanged": true });
            }
            if options.resources > 0 {
                capabilities["resources"] = json!({ "listChanged": true });
            }
        }
        capabilities
    }

    fn initialize(&self, params: &Value) -> Value {
        let options = &self.server.options;
        let version = options.protocol.clone().map_or(params["protocolVersion"].clone(), Value::String);
        json!({
            "protocolVersion": version,
            "capabilities": self.capabilities(),
            "serverInfo": { "name": options.name, "version": "1.0.0" },
        })
    }

    /// Every execution is written down before it is answered, so that a test can say "executed once".
    fn call(self: &Arc<Self>, id: &Value, params: Value, reply: &Arc<Out>) {
        let tool = params["name"].as_str().unwrap_or_default().to_owned();
        self.server.log.write("call", || json!({ "tool": tool, "id": id, "arguments": params["arguments"] }));
        self.at(Point::Call);
        match tool.as_str() {
            "slow" => self.slow(id, &params, reply),
            "ask" => answer_with(id, Ok(asked(&params)), reply),
            "silent" => self.leave_unanswered(reply),
            "cancel_me" => reply.line(
                &json!({
                    "jsonrpc": "2.0",
                    "method": "notifications/cancelled",
                    "params": { "requestId": id, "reason": "the server has no time" },
                })
                .to_string(),
            ),
            "die" => std::process::exit(7),
            "count" => {
                let count = self.server.count.fetch_add(1, Ordering::SeqCst) + 1;
                answer_with(id, Ok(text(&count.to_string())), reply);
            }
            "fail" => answer_with(
                id,
                Ok(json!({ "content": [{ "type": "text", "text": "it failed" }], "isError": true })),
                reply,
            ),
            _ => answer_with(id, Ok(text(params["arguments"]["text"].as_str().unwrap_or(""))), reply),
        }
    }

    /// Takes `ms`, tells progress every `progress_ms`, and stops without an answer when it is cancelled.
    fn slow(self: &Arc<Self>, id: &Value, params: &Value, reply: &Arc<Out>) {
        let total = params["arguments"]["ms"].as_u64().unwrap_or(1000);
        let step = params["arguments"]["progress_ms"].as_u64().unwrap_or(total).max(1);
        let token = params["_meta"]["progressToken"].clone();
        let (id, this, reply) = (id.clone(), Arc::clone(self), Arc::clone(reply));
        let (cancel, cancelled) = mpsc::channel::<()>();
        if let Ok(mut running) = self.running.lock() {
            running.insert(id.to_string(), cancel);
        }
        std::thread::spawn(move || {
            let mut done = 0;
            while done < total {
                let now = step.min(total - done);
                if cancelled.recv_timeout(Duration::from_millis(now)) == Err(RecvTimeoutError::Disconnected) {
                    return;
                }
                done += now;
                if !token.is_null() {
                    let params = json!({ "progressToken": token, "progress": done, "total": total });
                    let message =
                        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
                    reply.line(&message.to_string());
                }
            }
            if this.stops(&id) {
                this.server.log.write("call-done", || json!({ "id": id }));
                answer_with(&id, Ok(text("slow but done")), &reply);
            }
        });
    }

    /// Takes a running call off the list; false when it is not on it any more. Its thread notices.
    fn stops(&self, id: &Value) -> bool {
        self.running.lock().is_ok_and(|mut running| running.remove(&id.to_string()).is_some())
    }
}

/// Asks for a name in place of an answer, as servers of the era after `initialize` do, until it is answered.
fn asked(params: &Value) -> Value {
    match params.pointer("/inputResponses/who") {
        Some(reply) => text(&format!("told {reply} and {}", params["requestState"])),
        None => json!({
            "resultType": "input_required",
            "requestState": "held for you",
            "inputRequests": { "who": { "method": "elicitation/create", "params": {
                "message": "Who are you?",
                "requestedSchema": {
                    "type": "object",
                    "properties": { "name": { "type": "string" } },
                    "required": ["name"],
                },
            } } },
        }),
    }
}

fn answer_with(id: &Value, answer: Result<Value, Value>, reply: &Out) {
    let message = match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
    };
    reply.line(&message.to_string());
}

fn answer_from(file: &std::path::Path, id: &Value, reply: &Out) {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    reply.line(text.trim_end().replace("\"$ID\"", &id.to_string()).as_str());
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}
