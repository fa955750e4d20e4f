//! What does our client do when the conformance suite of the protocol plays the server? One run is one scenario: it is
//! named by `MCP_CONFORMANCE_SCENARIO`, the URL of the server is the last argument, and what is to be called may stand
//! in `MCP_CONFORMANCE_CONTEXT`. It uses core as every other program does, and knows nothing of what the suite checks.

use std::{collections::BTreeMap, process::ExitCode, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use qwen_core::{
    CallOptions, Catalogue, Client, Config, DirectConnector, Entry, FolderTrust, Guard, LaunchBound, Manager,
    Phase, Pool, PoolMode, ProcessEnv, QuestionReply, Questions, Remote, Scope, ServerName, ServerQuestion,
    ServerSpec, VersionNegotiation, View, Wire,
};
use serde_json::{Map, Value, json};

const SERVER: &str = "suite";
/// The suite waits for half a minute.
const READY: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    let Some(url) = std::env::args().next_back() else { return ExitCode::from(2) };
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context = serde_json::from_str(&context).unwrap_or_default();
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("failed to start: {error}");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(play(&url, &scenario, &context)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{scenario}: {why}");
            ExitCode::FAILURE
        }
    }
}

async fn play(url: &str, scenario: &str, context: &Value) -> Result<(), String> {
    let client = Client { name: "qwen".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    let env = ProcessEnv { root: "/".into(), ..ProcessEnv::default() };
    let direct = DirectConnector::new(env, Guard::without_process(), client);
    let pool = Arc::new(Pool::new(Arc::new(direct)));
    let config = Manager::with_questions(LaunchBound::Unbounded, pool, Arc::new(TakesDefaults));
    config.initialize();
    let mut update = config.begin_mcp_update().await;
    update.set_folder_trust(FolderTrust::Trusted);
    let negotiation = match scenario {
        // It is about what the first request says already, and its server answers no other era.
        "request-metadata" => VersionNegotiation::Modern,
        _ => VersionNegotiation::Auto,
    };
    let servers = [(ServerName::from(SERVER), Entry::Valid(Arc::new(entry(url, negotiation))))];
    let planned = update.reinitialize_mcp_servers(servers.into_iter().collect()).await;
    planned.map_err(|error| error.to_string())?;
    let played = match connected(&config).await {
        Ok(()) => act(&config, scenario, context).await,
        Err(why) => Err(why),
    };
    config.shutdown(Duration::from_secs(5)).await;
    played
}

fn entry(url: &str, version_negotiation: VersionNegotiation) -> ServerSpec {
    let wire = Wire::Http(Remote {
        url: url.into(),
        headers: BTreeMap::new(),
        oauth: None,
        auth_provider: BTreeMap::new(),
        sse_fallback: false,
        version_negotiation,
        pool: PoolMode::Session,
    });
    ServerSpec::new(Scope::User, wire, View::default())
}

async fn connected(config: &Manager) -> Result<(), String> {
    let mut status = config.status();
    let ended = |phase: &Phase| match phase {
        Phase::Connecting(_) => None,
        Phase::Connected(_) => Some(Ok(())),
        Phase::Failed { failure, .. } => Some(Err(failure.to_string())),
        Phase::Refused(refusal) => Some(Err(refusal.as_str().to_owned())),
    };
    let outcome =
        |status: &Arc<qwen_core::Status>| status.servers.get(SERVER).and_then(|server| ended(&server.phase));
    let waited = tokio::time::timeout(READY, status.wait_for(|status| outcome(status).is_some())).await;
    match waited {
        Ok(Ok(status)) => outcome(&status).unwrap_or(Ok(())),
        Ok(Err(_)) => Err("the session ended".to_owned()),
        Err(_) => Err(format!("not connected within {READY:?}")),
    }
}

/// Connecting has listed everything. What is used is what the scenario names, or each tool once.
async fn act(config: &Manager, scenario: &str, context: &Value) -> Result<(), String> {
    let catalogue = Arc::clone(&config.status().borrow().catalogue);
    let named = context.get("toolCalls").and_then(Value::as_array);
    let calls: Vec<(String, Value)> = match (scenario, named) {
        ("initialize" | "request-metadata" | "json-schema-ref-no-deref", _) => Vec::new(),
        ("json-schema-2020-12-preservation", _) => echo_of_a_schema(&catalogue).into_iter().collect(),
        (_, Some(calls)) => calls.iter().filter_map(|call| named_call(&catalogue, call)).collect(),
        (_, None) => every_tool(&catalogue),
    };
    let mut failed = Vec::new();
    for (tool, arguments) in calls {
        if let Err(error) = config.call_tool(&tool, Some(arguments), CallOptions::default()).await {
            failed.push(format!("{tool}: {error}"));
        }
    }
    for prompt in catalogue.prompts.keys() {
        if let Err(error) = config.get_prompt(prompt, None, CallOptions::default()).await {
            failed.push(format!("{prompt}: {error}"));
        }
    }
    for resource in catalogue.resources.values() {
        let read = config.read_resource(&resource.server, &resource.uri, CallOptions::default()).await;
        if let Err(error) = read {
            failed.push(format!("{}: {error}", resource.uri));
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}

fn every_tool(catalogue: &Catalogue) -> Vec<(String, Value)> {
    let tools = catalogue.tools.values();
    tools.map(|tool| (tool.name.to_string(), fitting(&tool.input_schema))).collect()
}

fn named_call(catalogue: &Catalogue, call: &Value) -> Option<(String, Value)> {
    let name = call.get("name")?.as_str()?;
    let tool = catalogue.tools.values().find(|tool| tool.tool == name)?;
    Some((tool.name.to_string(), call.get("arguments").cloned().unwrap_or_else(|| json!({}))))
}

/// The schema of one tool as the argument of another.
fn echo_of_a_schema(catalogue: &Catalogue) -> Option<(String, Value)> {
    let find = |name: &str| catalogue.tools.values().find(|tool| tool.tool == name);
    let (echo, shown) = (find("json_schema_echo")?, find("json_schema_2020_12_tool")?);
    Some((echo.name.to_string(), json!({ "schema": shown.input_schema })))
}

/// The least that fits a schema: a value for each property that must be there.
fn fitting(schema: &Value) -> Value {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let value = |name: &str| {
        let kind = schema.get("properties")?.get(name)?.get("type")?.as_str()?;
        Some(match kind {
            "integer" | "number" => json!(1),
            "boolean" => json!(true),
            "array" => json!([]),
            "object" => json!({}),
            "null" => Value::Null,
            _ => json!("text"),
        })
    };
    let pairs = required
        .filter_map(Value::as_str)
        .map(|name| (name.to_owned(), value(name).unwrap_or_else(|| json!("text"))));
    Value::Object(pairs.collect::<Map<_, _>>())
}

/// A person who accepts every question with the defaults that it names.
#[derive(Debug)]
struct TakesDefaults;

impl Questions for TakesDefaults {
    fn ask(&self, question: ServerQuestion) -> BoxFuture<'static, QuestionReply> {
        let properties = question.schema.get("properties").and_then(Value::as_object).cloned();
        let defaults = properties.into_iter().flatten().filter_map(|(name, property)| {
            let default = property.get("default")?.clone();
            Some((name, default))
        });
        Box::pin(std::future::ready(QuestionReply::Accept(Value::Object(defaults.collect()))))
    }
}
