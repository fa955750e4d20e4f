//! What becomes of calls while servers are reloaded: none of another server is touched, none of this one hangs or is
//! executed twice. Through core itself, since a call is what a program in the same process makes.
#![expect(clippy::unwrap_used, reason = "a helper of a test fails it by panicking")]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use indexmap::IndexMap;
use qwen_core::{
    CallError, CallOptions, Config, Entry, EnvPolicy, FolderTrust, Pattern, PoolMode, Scope, ServerName,
    ServerSpec, State, Stdio, UseError, VersionNegotiation, View, Wire,
};
use qwen_tests::{BOUND, Sandbox, connected, core_session, program, stated, wait_until};
use serde_json::{Value, json};

fn entry(sandbox: &Sandbox, scope: Scope, name: &str, tag: usize, limit: Duration) -> Entry {
    let tag = tag.to_string();
    let written = sandbox.fake(
        name,
        &["--tool", "echo", "--tool", "slow", "--tool", "silent", "--tool", "cancel_me", "--tag", &tag],
    );
    let args = written["args"].as_array().into_iter().flatten();
    let wire = Wire::Stdio(Stdio {
        command: program("fake-mcp").display().to_string(),
        args: args.filter_map(|arg| Some(arg.as_str()?.to_owned())).collect(),
        env: BTreeMap::new(),
        cwd: sandbox.project(),
        env_policy: EnvPolicy::Full,
        version_negotiation: VersionNegotiation::Auto,
        pool: PoolMode::Session,
    });
    let view = View { call_timeout: limit, ..View::default() };
    Entry::Valid(Arc::new(ServerSpec::new(scope, wire, view)))
}

fn map(entries: Vec<(&str, Entry)>) -> IndexMap<ServerName, Entry> {
    entries.into_iter().map(|(name, entry)| (ServerName::from(name), entry)).collect()
}

/// Commits and waits until the commit is planned; returns its settling.
async fn commit(config: &Arc<dyn Config>, servers: IndexMap<ServerName, Entry>) -> qwen_core::Commit {
    let mut update = config.begin_mcp_update().await;
    update.set_folder_trust(FolderTrust::Trusted);
    update.reinitialize_mcp_servers(servers).await.unwrap()
}

fn text(id: usize) -> Option<Value> {
    Some(json!({ "text": format!("call {id}") }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_calls_over_a_hundred_reloads_of_other_servers_all_answer() {
    let sandbox = Sandbox::new();
    let config = core_session(&sandbox);
    config.initialize();
    let limit = Duration::from_secs(60);
    let servers = |n: usize| {
        map(vec![
            ("called", entry(&sandbox, Scope::User, "called", 0, limit)),
            ("other", entry(&sandbox, Scope::User, "other", n, limit)),
        ])
    };
    commit(&config, servers(0)).await;
    connected(&config, "called").await;
    let callers = (0..10).map(|caller| {
        let config = Arc::clone(&config);
        tokio::spawn(async move {
            for n in 0..1000 {
                let id = caller * 1000 + n;
                let answer = config.call_tool("mcp__called__echo", text(id), CallOptions::default()).await;
                assert_eq!(answer.unwrap()["content"][0]["text"], format!("call {id}"));
            }
        })
    });
    let callers: Vec<_> = callers.collect();
    for n in 1..=100 {
        commit(&config, servers(n)).await;
        if n % 10 == 0 {
            connected(&config, "other").await;
        }
    }
    for caller in callers {
        tokio::time::timeout(Duration::from_secs(120), caller).await.expect("no call hangs").unwrap();
    }
    let executed = sandbox.executions("called");
    assert_eq!((executed.len(), executed.values().max()), (10_000, Some(&1)));
    assert_eq!(sandbox.spawns("called"), 1);
    config.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_calls_over_fifty_reloads_of_their_own_server_answer_or_are_interrupted_and_run_once() {
    let sandbox = Sandbox::new();
    let config = core_session(&sandbox);
    config.initialize();
    let limit = Duration::from_secs(60);
    let servers = |n: usize| map(vec![("called", entry(&sandbox, Scope::User, "called", n, limit))]);
    commit(&config, servers(0)).await;
    connected(&config, "called").await;
    let callers = (0..10).map(|caller| {
        let config = Arc::clone(&config);
        tokio::spawn(async move {
            let mut answered = BTreeSet::new();
            let mut made = 0;
            while made < 100 {
                let id = caller * 1000 + made;
                match config.call_tool("mcp__called__echo", text(id), CallOptions::default()).await {
                    Ok(_) => drop(answered.insert(format!("call {id}"))),
                    Err(UseError::Call(CallError::Interrupted)) => {}
                    // Nothing was sent: the server is between two lives.
                    Err(UseError::Unavailable(_)) => {
                        connected(&config, "called").await;
                        continue;
                    }
                    Err(other) => panic!("call {id}: {other}"),
                }
                made += 1;
            }
            answered
        })
    });
    let callers: Vec<_> = callers.collect();
    for n in 1..=50 {
        commit(&config, servers(n)).await;
        connected(&config, "called").await;
    }
    let mut answered = BTreeSet::new();
    for caller in callers {
        let of_one = tokio::time::timeout(Duration::from_secs(120), caller).await.expect("no call hangs");
        answered.extend(of_one.unwrap());
    }
    let executed = sandbox.executions("called");
    assert_eq!(executed.values().max(), Some(&1), "executed twice");
    assert!(answered.iter().all(|call| executed.get(call) == Some(&1)));
    assert!(answered.len() > 500, "{} answered", answered.len());
    config.shutdown(Duration::from_secs(5)).await;
}

/// Waits until so many lines of one kind are in the server's record.
fn recorded(sandbox: &Sandbox, server: &str, event: &str, count: usize) -> Vec<Value> {
    tokio::task::block_in_place(|| {
        wait_until(BOUND, &format!("{count} {event} of {server}"), || {
            let lines = sandbox.logged(server, event);
            (lines.len() >= count).then_some(lines)
        })
    })
}

/// A session with one connected server, and the means to edit it.
async fn one_server(sandbox: &Sandbox, limit: Duration) -> Arc<dyn Config> {
    let config = core_session(sandbox);
    config.initialize();
    commit(&config, map(vec![("a", entry(sandbox, Scope::User, "a", 0, limit))])).await;
    connected(&config, "a").await;
    config
}

type Answer = tokio::task::JoinHandle<Result<Value, UseError>>;

fn call(config: &Arc<dyn Config>, tool: &str, arguments: Value, options: CallOptions) -> Answer {
    let (config, tool) = (Arc::clone(config), format!("mcp__a__{tool}"));
    tokio::spawn(async move { config.call_tool(&tool, Some(arguments), options).await })
}

const LONG: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_runs_while_its_server_is_edited_may_finish() {
    let sandbox = Sandbox::new();
    let config = one_server(&sandbox, LONG).await;
    let running = call(&config, "slow", json!({ "ms": 1500 }), CallOptions::default());
    recorded(&sandbox, "a", "call", 1);
    commit(&config, map(vec![("a", entry(&sandbox, Scope::User, "a", 1, LONG))])).await;
    let answer = running.await.unwrap();
    assert!(answer.is_ok(), "{answer:?}");
    connected(&config, "a").await;
    assert_eq!((recorded(&sandbox, "a", "call-done", 1).len(), sandbox.logged("a", "call").len()), (1, 1));
    config.shutdown(LONG).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_outlives_the_drain_ends_with_the_interruption_error() {
    let sandbox = Sandbox::new();
    let config = one_server(&sandbox, LONG).await;
    let running = call(&config, "slow", json!({ "ms": 60_000 }), CallOptions::default());
    recorded(&sandbox, "a", "call", 1);
    commit(&config, map(vec![("a", entry(&sandbox, Scope::User, "a", 1, LONG))])).await;
    let answer = tokio::time::timeout(BOUND, running).await.expect("the drain is bounded").unwrap();
    assert!(matches!(answer, Err(UseError::Call(CallError::Interrupted))), "{answer:?}");
    connected(&config, "a").await;
    config.shutdown(LONG).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_on_a_server_that_is_closed_by_a_verdict_ends_at_once() {
    let sandbox = Sandbox::new();
    let config = one_server(&sandbox, LONG).await;
    let running = call(&config, "slow", json!({ "ms": 60_000 }), CallOptions::default());
    recorded(&sandbox, "a", "call", 1);
    let mut update = config.begin_mcp_update().await;
    update.set_excluded_mcp_servers(Pattern::new("a").into_iter().collect());
    let servers = map(vec![("a", entry(&sandbox, Scope::User, "a", 0, LONG))]);
    update.reinitialize_mcp_servers(servers).await.unwrap();
    let bound = stated(Duration::from_secs(1));
    let answer = tokio::time::timeout(bound, running).await.expect("no drain for a verdict").unwrap();
    assert!(matches!(answer, Err(UseError::Call(CallError::Interrupted))), "{answer:?}");
    config.shutdown(LONG).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_drains_ends_at_once_when_the_program_does() {
    let sandbox = Sandbox::new();
    let config = one_server(&sandbox, LONG).await;
    let running = call(&config, "slow", json!({ "ms": 60_000 }), CallOptions::default());
    recorded(&sandbox, "a", "call", 1);
    commit(&config, IndexMap::new()).await;
    let bound = stated(Duration::from_secs(1));
    tokio::time::timeout(bound, config.shutdown(LONG)).await.expect("no drain at the end");
    let answer = running.await.unwrap();
    assert!(matches!(answer, Err(UseError::Call(CallError::Interrupted))), "{answer:?}");
    recorded(&sandbox, "a", "call-cancelled", 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_and_a_time_out_reach_the_server_and_the_late_answer_is_nobodys() {
    let sandbox = Sandbox::new();
    let config = one_server(&sandbox, Duration::from_millis(700)).await;
    let options = CallOptions::default();
    let cancelled = call(&config, "slow", json!({ "ms": 60_000 }), options.clone());
    recorded(&sandbox, "a", "call", 1);
    options.cancel.cancel();
    let answer = cancelled.await.unwrap();
    assert!(matches!(answer, Err(UseError::Call(CallError::Cancelled))), "{answer:?}");
    let seen = recorded(&sandbox, "a", "call-cancelled", 1);
    assert_eq!(seen[0]["id"], sandbox.logged("a", "call")[0]["id"]);

    let timed_out = call(&config, "slow", json!({ "ms": 60_000 }), CallOptions::default());
    let answer = tokio::time::timeout(BOUND, timed_out).await.expect("it is bounded").unwrap();
    assert!(matches!(answer, Err(UseError::Call(CallError::TimedOut(_)))), "{answer:?}");
    recorded(&sandbox, "a", "call-cancelled", 2);

    let after = call(&config, "echo", json!({ "text": "still here" }), CallOptions::default());
    assert_eq!(after.await.unwrap().unwrap()["content"][0]["text"], "still here");
    assert_eq!(sandbox.logged("a", "call").len(), 3, "nothing was sent twice");
    config.shutdown(LONG).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_extends_the_idle_time_out_and_silence_does_not() {
    let sandbox = Sandbox::new();
    let config = core_session(&sandbox);
    config.initialize();
    let Entry::Valid(spec) = entry(&sandbox, Scope::User, "a", 0, LONG) else { unreachable!("it is valid") };
    let mut spec = (*spec).clone();
    spec.view.idle_timeout = Duration::from_millis(1200);
    commit(&config, map(vec![("a", Entry::Valid(Arc::new(spec)))])).await;
    connected(&config, "a").await;
    let (progress, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let options = CallOptions { progress: Some(progress), ..CallOptions::default() };
    let alive = call(&config, "slow", json!({ "ms": 3000, "progress_ms": 200 }), options);
    let silent = call(&config, "silent", json!({}), CallOptions::default());
    let answer = tokio::time::timeout(BOUND, silent).await.expect("it is bounded").unwrap();
    assert!(matches!(answer, Err(UseError::Call(CallError::Idle(_)))), "{answer:?}");
    assert!(alive.await.unwrap().is_ok());
    assert!(heard.recv().await.is_some_and(|told| told.total == Some(3000.0)));
    config.shutdown(LONG).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_the_server_cancels_fails_at_once_with_its_reason() {
    let sandbox = Sandbox::new();
    let config = one_server(&sandbox, LONG).await;
    let answer = call(&config, "cancel_me", json!({}), CallOptions::default());
    let answer = tokio::time::timeout(BOUND, answer).await.expect("it fails at once").unwrap();
    let Err(UseError::Call(CallError::CancelledByServer(reason))) = answer else { panic!("{answer:?}") };
    assert_eq!(reason.as_deref(), Some("the server has no time"));
    config.shutdown(LONG).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_of_core_that_stages_nothing_starts_nothing_gated() {
    let sandbox = Sandbox::new();
    let config = core_session(&sandbox);
    config.initialize();
    let entries = [Scope::Project, Scope::Workspace, Scope::User]
        .map(|scope| (scope.as_str(), entry(&sandbox, scope, scope.as_str(), 0, LONG)));
    let update = config.begin_mcp_update().await;
    update.reinitialize_mcp_servers(map(entries.into())).await.unwrap().settled.await;
    connected(&config, "user").await;
    for scope in ["project", "workspace"] {
        let status = config.status().borrow().servers[&ServerName::from(scope)].clone();
        assert_eq!(status.phase.state(), State::PendingApproval);
        assert!(config.reconnect(&ServerName::from(scope)).await.is_err());
        assert_eq!(sandbox.spawns(scope), 0);
    }
    config.shutdown(LONG).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_committed_before_the_start_is_recorded_and_connects_nothing() {
    let sandbox = Sandbox::new();
    let config = core_session(&sandbox);
    let servers = |name: &str| map(vec![(name, entry(&sandbox, Scope::User, name, 0, LONG))]);
    assert_eq!(commit(&config, servers("early")).await.generation, 0);
    assert_eq!(commit(&config, servers("a")).await.generation, 0);
    assert!(config.get_mcp_servers().servers.contains_key(&ServerName::from("a")));
    config.initialize();
    connected(&config, "a").await;
    assert_eq!((sandbox.spawns("early"), sandbox.spawns("a")), (0, 1));
    config.shutdown(LONG).await;
}
