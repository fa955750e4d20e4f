//! Does the reference server of the protocol offer and do the same over every transport, through a restart as well? It is
//! installed by `cargo xtask real-servers`, pinned; without it these tests are ignored.
#![expect(clippy::unwrap_used, reason = "a helper of a test fails it by panicking")]

use std::{
    collections::BTreeMap,
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command},
    sync::Arc,
    time::Duration,
};

use qwen_core::{
    CallError, CallOptions, Config, EnvPolicy, Phase, PoolMode, ServerName, State, Status, UseError,
    VersionNegotiation, Wire,
};
use qwen_tests::{BOUND, Sandbox, commit_wires, core_session, program, remote, state_of, until, wait_until};
use serde_json::{Value, json};

/// `server-everything`, where it is installed: beside what cargo built.
fn script() -> PathBuf {
    let built = program("fake-mcp");
    let target = built.ancestors().nth(2).unwrap();
    let package = "real-servers/npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    let script = target.join(package);
    assert!(script.exists(), "{} is not there: run `cargo xtask real-servers`", script.display());
    script
}

/// It, behind a URL. Dropping it ends it.
struct Everything {
    transport: &'static str,
    port: u16,
    child: Child,
}

impl Everything {
    fn start(transport: &'static str) -> Self {
        let free = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        Self { transport, port: free, child: Self::spawn(transport, free) }
    }

    fn spawn(transport: &str, port: u16) -> Child {
        let child = Command::new("node")
            .arg(script())
            .arg(transport)
            .env("PORT", port.to_string())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        wait_until(BOUND, "the server to listen", || TcpStream::connect(("127.0.0.1", port)).ok());
        child
    }

    fn kill(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }

    fn restart(&mut self) {
        self.kill();
        self.child = Self::spawn(self.transport, self.port);
    }

    fn wire(&self) -> Wire {
        let remote = |path: &str| remote(&format!("http://127.0.0.1:{}{path}", self.port), &[]);
        if self.transport == "sse" { Wire::Sse(remote("/sse")) } else { Wire::Http(remote("/mcp")) }
    }
}

impl Drop for Everything {
    fn drop(&mut self) {
        self.kill();
    }
}

fn local(sandbox: &Sandbox) -> Wire {
    Wire::Stdio(qwen_core::Stdio {
        command: "node".to_owned(),
        args: vec![script().display().to_string(), "stdio".to_owned()],
        env: BTreeMap::new(),
        cwd: sandbox.project(),
        env_policy: EnvPolicy::Full,
        version_negotiation: VersionNegotiation::Auto,
        pool: PoolMode::Session,
    })
}

fn resources(status: &Status, name: &str) -> usize {
    match status.servers.get(&ServerName::from(name)).map(|server| &server.phase) {
        Some(Phase::Connected(connected)) => connected.resources,
        _ => 0,
    }
}

async fn call(
    config: &Arc<dyn Config>,
    server: &str,
    tool: &str,
    arguments: Value,
) -> Result<Value, UseError> {
    config.call_tool(&format!("mcp__{server}__{tool}"), Some(arguments), CallOptions::default()).await
}

const NAMES: [&str; 3] = ["local", "http", "sse"];

async fn everything(sandbox: &Sandbox) -> (Arc<dyn Config>, [Everything; 2]) {
    let (http, sse) = (Everything::start("streamableHttp"), Everything::start("sse"));
    let config = core_session(sandbox);
    config.initialize();
    let wires = vec![("local", local(sandbox)), ("http", http.wire()), ("sse", sse.wire())];
    commit_wires(&config, wires).await;
    for name in NAMES {
        until(&config, name, |status| state_of(status, name) == Some(State::Connected)).await;
    }
    (config, [http, sse])
}

mod npm {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "needs what `cargo xtask real-servers` installs from npm"]
    async fn smoke_the_reference_server_offers_and_does_the_same_over_every_transport() {
        let sandbox = Sandbox::new();
        let (config, _servers) = everything(&sandbox).await;
        // It lists more tools a moment after it was told that we are ready.
        until(&config, "the same tools everywhere", |status| {
            let of = |name: &str| {
                let tools =
                    status.catalogue.tools.values().filter(|tool| tool.server == ServerName::from(name));
                tools.map(|tool| tool.tool.clone()).collect::<Vec<_>>()
            };
            of("local").len() > 10 && of("local") == of("http") && of("local") == of("sse")
        })
        .await;
        for name in NAMES {
            let said = call(&config, name, "echo", json!({ "message": "日本語 🦀" })).await.unwrap();
            assert_eq!(said["content"][0]["text"], "Echo: 日本語 🦀", "{name}");
            let prompt = format!("mcp__{name}__simple-prompt");
            let prompt = config.get_prompt(&prompt, None, CallOptions::default()).await.unwrap();
            assert!(prompt["messages"].is_array(), "{name}: {prompt}");
            let uri = config.status().borrow().catalogue.resources.values().find_map(|resource| {
                (resource.server == ServerName::from(name)).then(|| resource.uri.to_string())
            });
            let read =
                config.read_resource(&ServerName::from(name), &uri.unwrap(), CallOptions::default()).await;
            assert!(read.unwrap()["contents"].is_array(), "{name}");
        }
        config.shutdown(Duration::from_secs(5)).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "needs what `cargo xtask real-servers` installs from npm"]
    async fn progress_cancels_and_change_notices_pass_over_every_transport() {
        let sandbox = Sandbox::new();
        let (config, _servers) = everything(&sandbox).await;
        for name in NAMES {
            let tool = format!("mcp__{name}__trigger-long-running-operation");
            let (sender, mut progress) = tokio::sync::mpsc::unbounded_channel();
            let options = CallOptions { progress: Some(sender), ..CallOptions::default() };
            let done =
                config.call_tool(&tool, Some(json!({ "duration": 1, "steps": 4 })), options).await.unwrap();
            assert!(done["content"][0]["text"].as_str().unwrap().contains("completed"), "{name}: {done}");
            let mut steps = Vec::new();
            while let Some(step) = progress.recv().await {
                steps.push((step.progress, step.total));
            }
            assert_eq!(steps.last(), Some(&(4.0, Some(4.0))), "{name}: {steps:?}");

            let (sender, mut progress) = tokio::sync::mpsc::unbounded_channel();
            let options = CallOptions { progress: Some(sender), ..CallOptions::default() };
            let cancel = options.cancel.clone();
            let running = config.call_tool(&tool, Some(json!({ "duration": 600, "steps": 6000 })), options);
            let cancelling = async {
                progress.recv().await.expect("it runs");
                cancel.cancel();
            };
            let (ended, ()) = tokio::join!(running, cancelling);
            assert_eq!(ended.unwrap_err(), UseError::Call(CallError::Cancelled), "{name}");

            let before = resources(&config.status().borrow(), name);
            let arguments =
                json!({ "name": "news.gz", "data": "data:text/plain,news", "outputType": "resourceLink" });
            call(&config, name, "gzip-file-as-resource", arguments).await.unwrap();
            until(&config, "one more resource", |status| resources(status, name) == before + 1).await;
        }
        config.shutdown(Duration::from_secs(5)).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    #[ignore = "needs what `cargo xtask real-servers` installs from npm"]
    async fn a_restart_of_the_reference_server_is_lived_through_over_every_transport() {
        let sandbox = Sandbox::new();
        let (config, mut servers) = everything(&sandbox).await;
        for server in &mut servers {
            let name = if server.transport == "sse" { "sse" } else { "http" };
            server.kill();
            until(&config, "the loss", |status| state_of(status, name) == Some(State::Failed)).await;
            server.restart();
            until(&config, "the new session", |status| state_of(status, name) == Some(State::Connected))
                .await;
            let said = call(&config, name, "echo", json!({ "message": "again" })).await.unwrap();
            assert_eq!(said["content"][0]["text"], "Echo: again", "{name}");
        }
        let name = ServerName::from("local");
        config.reconnect(&name).await.unwrap();
        until(&config, "the local one", |status| state_of(status, "local") == Some(State::Connected)).await;
        config.shutdown(Duration::from_secs(5)).await;
    }
}
