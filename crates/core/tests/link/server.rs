//! A server with a fault on demand. It is a child of the test, so its state is what its environment says.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

/// Serves, and never returns, when the environment asks for it.
pub(crate) fn run_if_asked() {
    let Ok(mode) = std::env::var("SERVER_MODE") else { return };
    Server { mode, list_calls: 0, offered: Value::Null, asked: None, rounds: 0 }.run();
    std::process::exit(0);
}

struct Server {
    mode: String,
    list_calls: usize,
    /// What the client offered.
    offered: Value,
    /// The request that waits for the answer to a question of ours.
    asked: Option<Value>,
    /// How often it answered with a question.
    rounds: usize,
}

impl Server {
    fn is(&self, word: &str) -> bool {
        self.mode.split(',').any(|mode| mode == word)
    }

    fn run(&mut self) {
        if self.is("dies-at-once") {
            eprintln!("Error: FOO_TOKEN missing, got {}", std::env::var("FOO_SECRET").unwrap_or_default());
            std::process::exit(3);
        }
        if self.is("stderr-flood") {
            let flood = vec![b'x'; 5 * 1024 * 1024];
            std::io::stderr().write_all(&flood).unwrap();
        }
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            let message: Value = serde_json::from_str(&line).unwrap();
            // As strict as servers are: to them `null` is not the same as nothing, and every message says its version.
            assert_ne!(message.get("params"), Some(&Value::Null), "{line}");
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
            self.log(&message);
            self.take(&message);
        }
        if self.is("ignores-eof") {
            loop {
                std::thread::park();
            }
        }
    }

    fn log(&self, message: &Value) {
        let Ok(path) = std::env::var("SERVER_LOG") else { return };
        let mut log = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        let method = message["method"].as_str().unwrap_or("answer");
        let detail = match method {
            "notifications/cancelled" => format!(" {}", message["params"]["requestId"]),
            "tools/call" => format!(" {} {}", message["params"]["name"].as_str().unwrap(), message["id"]),
            "answer" => format!(" {message}"),
            _ => String::new(),
        };
        writeln!(log, "{method}{detail}").unwrap();
    }

    fn take(&mut self, message: &Value) {
        let id = &message["id"];
        match message["method"].as_str() {
            Some("initialize") => {
                self.offered = message["params"]["capabilities"].clone();
                self.initialize(id);
            }
            Some("server/discover") if self.is("modern") || self.is("answers-newer") => {
                self.offered =
                    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"].clone();
                answer(
                    id,
                    json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete"}),
                );
            }
            Some("tools/call" | "prompts/get" | "resources/read") if self.is("asks-back") => {
                self.ask_back(message);
            }
            Some("tools/list") => self.tools(id),
            Some("prompts/list") if self.is("prompts-hang") => {}
            // Reads nothing more until it has an answer, which never comes.
            Some("prompts/list") if self.is("prompts-block") => loop {
                std::thread::park();
            },
            Some("prompts/list") => answer(id, json!({"prompts": [{"name": "p"}]})),
            Some("resources/list") if self.is("resources-fail") => error(id, -32000, "no disk"),
            Some("prompts/get") => answer(id, json!({"messages": []})),
            Some("resources/read") => answer(id, json!({"contents": [{"uri": message["params"]["uri"]}]})),
            Some("tools/call") => self.call(message),
            Some(method) if !method.starts_with("notifications/") => error(id, -32601, "unknown method"),
            Some(_) => {}
            // The answer to our question: pass it on as the answer to the call that asked for it.
            None => {
                if let Some(call) = self.asked.take() {
                    answer(&call, json!({"content": [], "answer": message}));
                }
            }
        }
    }

    /// Answers with the results that it was given, one after the other; where none is given, with what it was asked with.
    fn ask_back(&mut self, message: &Value) {
        let results: Value =
            std::env::var("SERVER_ROUNDS").map(|rounds| serde_json::from_str(&rounds).unwrap()).unwrap();
        let result = results.get(self.rounds).or_else(|| results.get("always"));
        let result = result.filter(|result| !result.is_null()).cloned();
        self.rounds += 1;
        answer(&message["id"], result.unwrap_or_else(|| json!({"asked": message["params"]})));
    }

    fn initialize(&mut self, id: &Value) {
        if self.is("silent") {
            return;
        }
        if self.is("modern") || self.is("knows-nothing") {
            return error(id, -32601, "unknown method");
        }
        if self.is("answers-newer") && self.is("refuses") {
            let supported = json!({"supported": [std::env::var("SERVER_VERSION").unwrap()]});
            return say(
                &json!({"id": id, "error": {"code": -32602, "message": "Unsupported", "data": supported}}),
            );
        }
        if self.is("signals-itself") {
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
        }
        if self.is("huge-line") {
            let chunk = vec![b'x'; 1024 * 1024];
            for _ in 0..18 {
                if std::io::stdout().write_all(&chunk).is_err() {
                    return;
                }
            }
        }
        if self.is("noisy") {
            raw("Server listening on stdio\n\u{feff}\n");
            std::io::stdout().write_all(b"\xff\xfe broken\n").unwrap();
            say(&json!({"method": "notifications/message", "params": {"level": "info", "data": "x"}}));
            say(&json!({"method": "notifications/tools/list_changed"}));
            say(&json!({"id": "ping-1", "method": "ping"}));
            raw(&format!("[{}]\n", json!({"jsonrpc": "2.0", "method": "notifications/x"})));
        }
        let version = std::env::var("SERVER_VERSION").unwrap_or_else(|_| "2025-06-18".to_owned());
        let result = json!({
            "protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "s", "version": "0"},
            "instructions": "use it",
        });
        if self.is("noisy") {
            // No `jsonrpc`, an error that is none, an id as text, and a carriage return.
            raw(&format!("{}\r\n", json!({"id": id.to_string(), "result": result, "error": null})));
        } else {
            answer(id, result);
        }
        if self.is("dies-after") {
            std::process::exit(4);
        }
    }

    fn tools(&mut self, id: &Value) {
        self.list_calls += 1;
        if self.is("tools-hang") {
            return;
        }
        if self.is("tools-refused") {
            return error(id, -32000, &format!("not with hunter2hunter2 {}", "x".repeat(200_000)));
        }
        if self.is("tools-telling") {
            return answer(id, json!({"tools": [{"name": "hunter2hunter2", "inputSchema": 1}]}));
        }
        if self.is("tools-null") {
            return answer(id, json!({"tools": null}));
        }
        if self.is("bad-tool") {
            return answer(
                id,
                json!({"tools": [{"name": "good"}, {"name": "bad", "inputSchema": {"type": "string"}}]}),
            );
        }
        if self.is("endless") {
            return answer(id, json!({"tools": [{"name": "a"}], "nextCursor": "same"}));
        }
        answer(id, json!({"tools": [{"name": "echo"}, {"name": format!("list-{}", self.list_calls)}]}));
    }

    fn call(&mut self, message: &Value) {
        let (id, arguments) = (&message["id"], &message["params"]["arguments"]);
        let token = &message["params"]["_meta"]["progressToken"];
        let progress = |n: u32| {
            say(&json!({"method": "notifications/progress",
                "params": {"progressToken": token, "progress": n, "total": 3, "message": "at work"}}));
        };
        match message["params"]["name"].as_str().unwrap() {
            "echo" => answer(id, json!({"content": [], "echo": arguments})),
            "fail" => answer(id, json!({"content": [], "isError": true})),
            "refuse" => error(id, -32042, "refused with hunter2hunter2"),
            "refuse-at-length" => say(&json!({"id": id, "error": {
                "code": -32042, "message": "x".repeat(200_000), "data": {"given": ["hunter2hunter2"]}}})),
            "tell" => {
                say(&json!({"method": "notifications/progress", "params": {
                    "progressToken": token, "progress": 1, "message": "at work with hunter2hunter2"}}));
                say(&json!({"method": "notifications/cancelled",
                    "params": {"requestId": id, "reason": "no more of hunter2hunter2"}}));
            }
            "never" => {}
            "late" => {
                std::thread::park_timeout(std::time::Duration::from_millis(400));
                answer(id, json!({"late": true}));
            }
            "progress" => {
                for n in 1..=3 {
                    // Real work takes time; the limit under test is longer than one step and shorter than all.
                    std::thread::park_timeout(std::time::Duration::from_millis(150));
                    progress(n);
                }
                answer(id, json!({"content": []}));
            }
            "progress-flood" => {
                for n in 0..u32::MAX {
                    progress(n);
                }
            }
            "sleep" => loop {
                std::thread::park();
            },
            "slow" => {
                std::thread::park_timeout(std::time::Duration::from_millis(300));
                answer(id, json!({"content": []}));
            }
            "give-up" => say(&json!({"method": "notifications/cancelled",
                "params": {"requestId": id, "reason": "too busy"}})),
            "ask" => {
                self.asked = Some(id.clone());
                let params = arguments.get("params").cloned().unwrap_or_else(|| json!({}));
                say(&json!({"id": "q", "method": arguments["method"], "params": params}));
            }
            "take-back" => {
                say(&json!({"method": "notifications/cancelled", "params": {"requestId": "q"}}));
                answer(id, json!({"content": []}));
            }
            "offered" => answer(id, self.offered.clone()),
            "change" => {
                answer(id, json!({"content": []}));
                for _ in 0..200 {
                    say(&json!({"method": "notifications/tools/list_changed"}));
                }
            }
            "die" => std::process::exit(5),
            "close-output" => close_output(),
            "environment" => {
                let vars: serde_json::Map<_, _> =
                    std::env::vars().map(|(name, value)| (name, Value::String(value))).collect();
                answer(id, Value::Object(vars));
            }
            "stderr" => {
                std::io::stderr().write_all(&vec![b'e'; 1024 * 1024]).unwrap();
                answer(id, json!({"content": []}));
            }
            other => error(id, -32602, &format!("unknown tool {other}")),
        }
    }
}

/// Closes the pipe and goes on running.
fn close_output() {
    let null = std::fs::File::options().write(true).open("/dev/null").unwrap();
    rustix::stdio::dup2_stdout(&null).unwrap();
}

fn say(message: &Value) {
    raw(&format!("{message}\n"));
}

fn raw(text: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).unwrap();
    out.flush().unwrap();
}

fn answer(id: &Value, result: Value) {
    say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn error(id: &Value, code: i64, text: &str) {
    say(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}));
}
