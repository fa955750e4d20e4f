//! The protocol side: reads messages, answers them, and takes the scripted actions at their points.

use std::{
    collections::BTreeMap,
    io::BufRead as _,
    process::ExitCode,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    control, lists,
    log::Log,
    options::{Options, Script},
    script::{Out, Point, sleep_for_ever},
};

struct Server {
    options: Options,
    log: Log,
    out: Arc<Out>,
    count: AtomicU64,
    /// Slow calls under way, by id; dropping the sender cancels one.
    running: Mutex<BTreeMap<String, mpsc::Sender<()>>>,
}

/// One life.
pub(crate) fn run(options: Options) -> ExitCode {
    let log = match Log::open(options.log.as_deref(), &options.name) {
        Ok(log) => log,
        Err(problem) => {
            eprintln!("fake-mcp: log: {problem}");
            return ExitCode::from(66);
        }
    };
    let out = Arc::new(Out::new(options.split));
    if let Some(prefix) = &options.control
        && let Err(problem) = control::listen(prefix, Arc::clone(&out))
    {
        eprintln!("fake-mcp: control: {problem}");
    }
    let server = Arc::new(Server {
        options,
        log,
        out,
        count: AtomicU64::new(0),
        running: Mutex::new(BTreeMap::new()),
    });
    server.say_hello_to_the_log();
    server.at(Point::Start);
    if server.options.deaf == Script::Yes {
        sleep_for_ever();
    }
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if let Ok(message) = serde_json::from_str::<Value>(&line) {
            server.receive(&message);
        }
    }
    server.log.write("eof", json!({}));
    server.at(Point::Eof);
    if server.options.ignore_eof == Script::Yes {
        sleep_for_ever();
    }
    ExitCode::SUCCESS
}

impl Server {
    fn say_hello_to_the_log(&self) {
        let mut fields = json!({
            "argv": std::env::args().collect::<Vec<_>>(),
            "cwd": std::env::current_dir().ok(),
        });
        if self.options.dump_env == Script::Yes {
            fields["env"] = std::env::vars().map(|(name, value)| (name, json!(value))).collect();
        }
        self.log.write("spawn", fields);
    }

    fn at(&self, point: Point) {
        for (_, action) in self.options.script.iter().filter(|(at, _)| *at == point) {
            action.perform(&self.out);
        }
    }

    fn receive(self: &Arc<Self>, message: &Value) {
        let method = message.get("method").and_then(Value::as_str);
        let id = message.get("id");
        let params = message.get("params").cloned().unwrap_or(Value::Null);
        match (method, id) {
            (None, _) => self.log.write("response", json!({ "message": message })),
            (Some(method), None) => self.notified(method, &params),
            (Some(method), Some(id)) => {
                if method != "tools/call" {
                    self.log.write("request", json!({ "method": method, "id": id }));
                }
                if self.options.mute == Script::No {
                    self.requested(method, id, params);
                }
            }
        }
    }

    fn notified(&self, method: &str, params: &Value) {
        self.log.write("notification", json!({ "method": method, "params": params }));
        match method {
            "notifications/initialized" => self.at(Point::Ready),
            "notifications/cancelled" => {
                let id = params.get("requestId").map(Value::to_string).unwrap_or_default();
                if let Ok(mut running) = self.running.lock() {
                    running.remove(&id);
                }
            }
            _ => {}
        }
    }

    fn requested(self: &Arc<Self>, method: &str, id: &Value, params: Value) {
        match method {
            "initialize" => self.at(Point::Initialize),
            "tools/list" => self.at(Point::List),
            _ => {}
        }
        if let Some(file) = self.options.answers.get(method) {
            return self.answer_from(file, id);
        }
        let answer = match method {
            "initialize" => Ok(self.initialize(&params)),
            "ping" => Ok(json!({})),
            "tools/list" => lists::tools(&self.options, &params),
            "prompts/list" if self.options.prompts > 0 => Ok(lists::prompts(self.options.prompts)),
            "resources/list" if self.options.resources > 0 => Ok(lists::resources(self.options.resources)),
            "prompts/get" => Ok(json!({
                "messages": [{ "role": "user", "content": { "type": "text", "text": "hello" } }],
            })),
            "resources/read" => Ok(json!({
                "contents": [{ "uri": params["uri"], "text": "content" }],
            })),
            "tools/call" => return self.call(id, params),
            _ => Err(json!({ "code": -32601, "message": "method not found" })),
        };
        self.answer(id, answer);
        if method == "tools/list" {
            self.at(Point::Listed);
        }
    }

    fn answer(&self, id: &Value, answer: Result<Value, Value>) {
        let message = match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
        };
        self.out.line(&message.to_string());
    }

    fn answer_from(&self, file: &std::path::Path, id: &Value) {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        self.out.line(text.trim_end().replace("\"$ID\"", &id.to_string()).as_str());
    }

    fn initialize(&self, params: &Value) -> Value {
        let version = self.options.protocol.clone().map_or(params["protocolVersion"].clone(), Value::String);
        let mut capabilities = json!({});
        if self.options.declare_nothing == Script::No {
            capabilities["tools"] = json!({ "listChanged": true });
            if self.options.prompts > 0 {
                capabilities["prompts"] = json!({ "listChanged": true });
            }
            if self.options.resources > 0 {
                capabilities["resources"] = json!({ "listChanged": true });
            }
        }
        json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "serverInfo": { "name": self.options.name, "version": "1.0.0" },
        })
    }

    /// Every execution is written down before it is answered, so that a test can say "executed once".
    fn call(self: &Arc<Self>, id: &Value, params: Value) {
        let tool = params["name"].as_str().unwrap_or_default().to_owned();
        self.log.write("call", json!({ "tool": tool, "id": id, "arguments": params["arguments"] }));
        self.at(Point::Call);
        match tool.as_str() {
            "slow" => self.slow(id, &params),
            "silent" => {}
            "cancel_me" => self.out.line(
                &json!({
                    "jsonrpc": "2.0",
                    "method": "notifications/cancelled",
                    "params": { "requestId": id, "reason": "the server has no time" },
                })
                .to_string(),
            ),
            "die" => std::process::exit(7),
            "count" => {
                let count = self.count.fetch_add(1, Ordering::SeqCst) + 1;
                self.answer(id, Ok(text(&count.to_string())));
            }
            "fail" => self.answer(
                id,
                Ok(json!({ "content": [{ "type": "text", "text": "it failed" }], "isError": true })),
            ),
            _ => self.answer(id, Ok(text(params["arguments"]["text"].as_str().unwrap_or("")))),
        }
    }

    /// Takes `ms`, tells progress every `progress_ms`, and stops without an answer when it is cancelled.
    fn slow(self: &Arc<Self>, id: &Value, params: &Value) {
        let total = params["arguments"]["ms"].as_u64().unwrap_or(1000);
        let step = params["arguments"]["progress_ms"].as_u64().unwrap_or(total).max(1);
        let token = params["_meta"]["progressToken"].clone();
        let (id, this) = (id.clone(), Arc::clone(self));
        let (cancel, cancelled) = mpsc::channel::<()>();
        if let Ok(mut running) = self.running.lock() {
            running.insert(id.to_string(), cancel);
        }
        std::thread::spawn(move || {
            let mut done = 0;
            while done < total {
                let now = step.min(total - done);
                if cancelled.recv_timeout(Duration::from_millis(now)) == Err(RecvTimeoutError::Disconnected) {
                    return this.log.write("call-cancelled", json!({ "id": id }));
                }
                done += now;
                if !token.is_null() {
                    let params = json!({ "progressToken": token, "progress": done, "total": total });
                    let message =
                        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
                    this.out.line(&message.to_string());
                }
            }
            this.log.write("call-done", json!({ "id": id }));
            this.answer(&id, Ok(text("slow but done")));
        });
    }
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}
