//! What a demo server answers: a small real MCP server as a value. It knows no stream, no thread and no clock.

use std::time::Duration;

use serde_json::{Value, json};

/// The versions of the protocol that have `initialize`, newest last.
const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const LONGEST_NAP: Duration = Duration::from_secs(3600);

/// The server's state: what it is called, and how far it has counted.
#[derive(Debug)]
pub(crate) struct DemoServer {
    name: String,
    numbered_tools: u32,
    delay: Duration,
    count: i64,
}

/// What to do about one message.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Step {
    /// Send this message now.
    Say(Value),
    /// Sleep, then answer.
    Nap(Nap),
    /// The client gave up on this request.
    Wake(Value),
    /// Notifications and answers need nothing.
    Nothing,
}

/// A request that is answered after a while.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Nap {
    /// The request's id.
    pub(crate) id: Value,
    /// How long.
    pub(crate) duration: Duration,
    /// Where progress goes, if the client wants any.
    pub(crate) progress_token: Option<Value>,
    /// The answer at the end.
    pub(crate) answer: Answer,
}

/// The answer to a request.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Answer {
    /// It worked.
    Result(Value),
    /// The request makes no sense.
    Error {
        /// JSON-RPC code.
        code: i64,
        /// For people.
        message: String,
    },
}

/// The answer to a line that is not JSON.
pub(crate) fn parse_error(why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32700, "message": why } })
}

impl DemoServer {
    /// A server that waits for `delay` before it answers `initialize`.
    pub(crate) fn new(name: String, numbered_tools: u32, delay: Duration) -> Self {
        Self { name, numbered_tools, delay, count: 0 }
    }

    /// Takes one message.
    pub(crate) fn receive(&mut self, message: &Value) -> Step {
        let Some(method) = message["method"].as_str() else { return Step::Nothing };
        let params = &message["params"];
        let Some(id) = message.get("id") else {
            return match method {
                "notifications/cancelled" => Step::Wake(params["requestId"].clone()),
                _ => Step::Nothing,
            };
        };
        let answer = self.answer(method, params);
        let duration = match method {
            "initialize" => self.delay,
            "tools/call" if params["name"] == "sleep" => nap_length(&params["arguments"]),
            _ => Duration::ZERO,
        };
        if duration.is_zero() {
            Step::Say(answer.into_message(id))
        } else {
            let progress_token = params.pointer("/_meta/progressToken").cloned();
            Step::Nap(Nap { id: id.clone(), duration, progress_token, answer })
        }
    }

    fn answer(&mut self, method: &str, params: &Value) -> Answer {
        match method {
            "initialize" => self.initialize(params),
            "ping" => Answer::Result(json!({})),
            "tools/list" => Answer::Result(json!({ "tools": self.tools() })),
            "tools/call" => self.call(params),
            "prompts/list" => Answer::Result(json!({ "prompts": [{
                "name": "greet",
                "description": "A friendly greeting",
                "arguments": [{ "name": "who", "description": "Whom to greet", "required": false }],
            }] })),
            "prompts/get" => self.prompt(params),
            "resources/list" => Answer::Result(json!({ "resources": [{
                "uri": self.readme_uri(),
                "name": "readme",
                "description": "What this server is",
                "mimeType": "text/plain",
            }] })),
            "resources/templates/list" => Answer::Result(json!({ "resourceTemplates": [] })),
            "resources/read" => self.read(params),
            _ => Answer::Error { code: -32601, message: format!("there is no method {method}") },
        }
    }

    fn initialize(&self, params: &Value) -> Answer {
        let asked = params["protocolVersion"].as_str().unwrap_or_default();
        let newest = VERSIONS[VERSIONS.len() - 1];
        let version = VERSIONS.into_iter().find(|&known| known == asked).unwrap_or(newest);
        Answer::Result(json!({
            "protocolVersion": version,
            "capabilities": { "tools": {}, "prompts": {}, "resources": {} },
            "serverInfo": { "name": self.name, "version": env!("CARGO_PKG_VERSION") },
        }))
    }

    fn tools(&self) -> Vec<Value> {
        let text =
            json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
        let by = json!({ "type": "object", "properties": { "by": { "type": "integer", "default": 1 } } });
        let ms = json!({
            "type": "object",
            "properties": { "ms": { "type": "integer", "minimum": 0 } },
            "required": ["ms"],
        });
        let mut tools = vec![
            json!({ "name": "echo", "description": "Says what it is told", "inputSchema": text }),
            json!({
                "name": "count",
                "description": "Counts up; starts at zero with each new process",
                "inputSchema": by,
            }),
            json!({ "name": "sleep", "description": "Sleeps and reports progress", "inputSchema": ms }),
        ];
        tools.extend((1..=self.numbered_tools).map(|number| {
            json!({
                "name": format!("tool_{number}"),
                "description": format!("Numbered tool {number}"),
                "inputSchema": { "type": "object" },
            })
        }));
        tools
    }

    fn call(&mut self, params: &Value) -> Answer {
        let arguments = &params["arguments"];
        let name = params["name"].as_str().unwrap_or_default();
        match name {
            "echo" => match arguments["text"].as_str() {
                Some(said) => text(said),
                None => tool_error("the argument text is missing"),
            },
            "count" => {
                self.count = self.count.saturating_add(arguments["by"].as_i64().unwrap_or(1));
                text(&self.count.to_string())
            }
            "sleep" if arguments["ms"].as_u64().is_none() => {
                tool_error("the argument ms must be a number of milliseconds")
            }
            "sleep" => text(&format!("slept {} ms", nap_length(arguments).as_millis())),
            _ if self.has_numbered(name) => text(name),
            _ => Answer::Error { code: -32602, message: format!("there is no tool {name}") },
        }
    }

    fn has_numbered(&self, name: &str) -> bool {
        (1..=self.numbered_tools).any(|number| name.strip_prefix("tool_") == Some(&number.to_string()))
    }

    fn prompt(&self, params: &Value) -> Answer {
        if params["name"] != "greet" {
            return Answer::Error { code: -32602, message: "there is one prompt, greet".to_owned() };
        }
        let who = params.pointer("/arguments/who").and_then(Value::as_str).unwrap_or("world");
        Answer::Result(json!({ "messages": [{
            "role": "user",
            "content": { "type": "text", "text": format!("Say hello to {who} from {}.", self.name) },
        }] }))
    }

    fn read(&self, params: &Value) -> Answer {
        let uri = self.readme_uri();
        if params["uri"] != uri.as_str() {
            return Answer::Error { code: -32002, message: format!("there is one resource, {uri}") };
        }
        let about = format!("{} is a demo server. It has {} tools.", self.name, self.tools().len());
        Answer::Result(json!({ "contents": [{ "uri": uri, "mimeType": "text/plain", "text": about }] }))
    }

    fn readme_uri(&self) -> String {
        format!("demo://{}/readme", self.name)
    }
}

fn text(text: &str) -> Answer {
    Answer::Result(json!({ "content": [{ "type": "text", "text": text }], "isError": false }))
}

fn tool_error(why: &str) -> Answer {
    Answer::Result(json!({ "content": [{ "type": "text", "text": why }], "isError": true }))
}

fn nap_length(arguments: &Value) -> Duration {
    Duration::from_millis(arguments["ms"].as_u64().unwrap_or_default()).min(LONGEST_NAP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> DemoServer {
        DemoServer::new("demo".to_owned(), 2, Duration::ZERO)
    }

    fn ask(server: &mut DemoServer, method: &str, params: Value) -> Value {
        match server.receive(&json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })) {
            Step::Say(message) => message,
            other @ (Step::Nap(_) | Step::Wake(_) | Step::Nothing) => {
                panic!("expected an answer, got {other:?}")
            }
        }
    }

    #[test]
    fn a_version_it_knows_is_taken_and_an_unknown_one_answered_with_the_newest() {
        for (asked, expected) in [("2025-03-26", "2025-03-26"), ("2099-01-01", "2025-11-25")] {
            let answer = ask(&mut server(), "initialize", json!({ "protocolVersion": asked }));
            assert_eq!(answer["result"]["protocolVersion"], expected);
        }
    }

    #[test]
    fn it_offers_its_own_tools_and_as_many_numbered_ones_as_asked_for() {
        let answer = ask(&mut server(), "tools/list", json!({}));
        let names: Vec<_> =
            answer["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["echo", "count", "sleep", "tool_1", "tool_2"]);
    }

    #[test]
    fn the_counter_keeps_its_state_between_calls() {
        let mut server = server();
        let call = json!({ "name": "count", "arguments": {} });
        ask(&mut server, "tools/call", call.clone());
        let answer = ask(&mut server, "tools/call", call);
        assert_eq!(answer["result"]["content"][0]["text"], "2");
    }

    #[test]
    fn every_listed_tool_can_be_called_and_no_other() {
        let mut server = server();
        for name in ["echo", "count", "tool_1", "tool_2"] {
            let answer =
                ask(&mut server, "tools/call", json!({ "name": name, "arguments": { "text": "hi" } }));
            assert_eq!(answer["result"]["isError"], false, "{name}");
        }
        for name in ["tool_3", "tool_", "nothing"] {
            let answer = ask(&mut server, "tools/call", json!({ "name": name }));
            assert_eq!(answer["error"]["code"], -32602, "{name}");
        }
    }

    #[test]
    fn a_call_that_sleeps_is_answered_later_with_progress_and_can_be_cancelled() {
        let mut server = server();
        let step = server.receive(&json!({ "id": "s", "method": "tools/call", "params": {
            "name": "sleep", "arguments": { "ms": 50 }, "_meta": { "progressToken": 1 } } }));
        let Step::Nap(nap) = step else { panic!("expected a nap, got {step:?}") };
        assert_eq!((nap.duration, nap.progress_token), (Duration::from_millis(50), Some(json!(1))));
        let cancelled = json!({ "method": "notifications/cancelled", "params": { "requestId": "s" } });
        assert_eq!(server.receive(&cancelled), Step::Wake(json!("s")));
    }

    #[test]
    fn a_delay_holds_back_only_the_answer_to_initialize() {
        let mut server = DemoServer::new("demo".to_owned(), 0, Duration::from_millis(5));
        assert!(matches!(server.receive(&json!({ "id": 1, "method": "initialize" })), Step::Nap(_)));
        assert!(matches!(server.receive(&json!({ "id": 2, "method": "ping" })), Step::Say(_)));
    }

    #[test]
    fn an_unknown_request_is_refused_and_an_unknown_notification_skipped() {
        let answer = ask(&mut server(), "server/discover", json!({}));
        assert_eq!(answer["error"]["code"], -32601);
        assert_eq!(server().receive(&json!({ "method": "notifications/initialized" })), Step::Nothing);
    }

    #[test]
    fn the_listed_prompt_and_resource_can_be_read() {
        let mut server = server();
        let uri = ask(&mut server, "resources/list", json!({}))["result"]["resources"][0]["uri"].clone();
        let read = ask(&mut server, "resources/read", json!({ "uri": uri }));
        assert_eq!(read["result"]["contents"][0]["text"], "demo is a demo server. It has 5 tools.");
        let prompt = ask(&mut server, "prompts/get", json!({ "name": "greet" }));
        assert!(prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap().contains("world"));
    }
}
