//! A whole session with a fake connector and a paused clock: what is asked of the outside world, in which order, and
//! what is published.

use serde_json::json;

use super::*;
use crate::{
    domain::Scope,
    failure::{Failure, FailureKind},
    pool::Pool,
    status::{McpEvent, changes},
    testing::{FakeConnector, entry, spec},
};

struct Bench {
    config: Arc<Manager>,
    world: FakeConnector,
    seen: Arc<Status>,
}

impl Bench {
    fn recording() -> Self {
        let world = FakeConnector::default();
        // The pool is in between, as it is in the program.
        let pool = Pool::new(Arc::new(world.clone()));
        let config = Arc::new(Manager::new(LaunchBound::Unbounded, Arc::new(pool)));
        Self { config, world, seen: Arc::default() }
    }

    fn started() -> Self {
        let bench = Self::recording();
        bench.config.initialize();
        bench
    }

    async fn commit(&self, servers: &[(&str, &str)]) -> Commit {
        let update = self.config.begin_mcp_update().await;
        update.reinitialize_mcp_servers(map(servers)).await.unwrap()
    }

    /// Waits until the published status satisfies the predicate; the paused clock moves on only when all is idle.
    async fn until(&self, predicate: impl FnMut(&Arc<Status>) -> bool) {
        let mut status = self.config.status();
        let waited = tokio::time::timeout(Duration::from_secs(600), status.wait_for(predicate)).await;
        waited.expect("within ten minutes of the paused clock").unwrap();
    }

    async fn until_state(&self, name: &str, state: &str) {
        self.until(|status| {
            status.servers.get(name).is_some_and(|server| server.phase.state().as_str() == state)
        })
        .await;
    }

    /// Lets every task run until nothing moves any more.
    async fn idle(&self) {
        for _ in 0..64 {
            tokio::task::yield_now().await;
        }
    }

    fn events(&mut self) -> Vec<McpEvent> {
        let status = self.config.status().borrow().clone();
        let events = changes(&self.seen, &status);
        self.seen = status;
        events
    }
}

fn map(servers: &[(&str, &str)]) -> IndexMap<ServerName, Entry> {
    servers.iter().map(|(name, command)| entry(name, command)).collect()
}

fn refusal(reason: Option<Unavailable>) -> &'static str {
    match reason {
        None => "none",
        Some(Unavailable::Refused { refusal, .. }) => refusal.as_str(),
        Some(Unavailable::Removed { .. }) => "removed",
        Some(Unavailable::Connecting { .. }) => "connecting",
        Some(Unavailable::Failed { .. }) => "failed",
        Some(Unavailable::Unknown { .. } | Unavailable::NotOffered { .. }) => "unknown",
    }
}

#[tokio::test(start_paused = true)]
async fn updates_before_initialize_are_recorded_and_connect_nothing() {
    let bench = Bench::recording();
    assert_eq!(bench.commit(&[("a", "x")]).await.generation, 0);
    bench.idle().await;
    assert_eq!(bench.world.log(), Vec::<String>::new());
    assert_eq!(bench.config.get_settings_mcp_servers().len(), 1);
    bench.config.initialize();
    bench.until(|status| status.observed == 1).await;
    bench.idle().await;
    assert_eq!(bench.world.log(), ["open a"]);
}

#[tokio::test(start_paused = true)]
async fn a_commit_resolves_when_it_is_planned_and_settles_when_nothing_is_opening_for_it() {
    let bench = Bench::started();
    let mut commit = bench.commit(&[("a", "x"), ("b", "x")]).await;
    assert!(commit.settled.as_mut().now_or_never().is_none());
    bench.idle().await;
    bench.world.answer("a", Ok(()));
    bench.until_state("a", "connected").await;
    assert!(commit.settled.as_mut().now_or_never().is_none());
    bench.world.answer("b", Err(Failure::new(FailureKind::CommandNotFound, "no such command")));
    commit.settled.await;
}

#[tokio::test(start_paused = true)]
async fn one_edit_among_many_restarts_that_one_server() {
    let mut bench = Bench::started();
    let before: Vec<(String, &str)> = (0..50).map(|n| (format!("s{n}"), "x")).collect();
    let before: Vec<(&str, &str)> = before.iter().map(|(name, command)| (name.as_str(), *command)).collect();
    bench.commit(&before).await;
    bench.idle().await;
    for (name, _) in &before {
        bench.world.answer(name, Ok(()));
    }
    bench.until(|status| status.catalogue.tools.len() == 50).await;
    bench.world.log();
    bench.events();
    let mut after = before.clone();
    after[7].1 = "y";
    bench.commit(&after).await;
    bench.idle().await;
    assert_eq!(bench.world.log(), ["retire s7 Drain", "open s7"]);
    let events = bench.events();
    let Some(McpEvent::Reloaded(record)) = events.first() else { panic!("{events:?}") };
    assert_eq!((record.restarted.len(), record.kept), (1, 49));
}

#[tokio::test(start_paused = true)]
async fn staged_gating_is_visible_only_with_the_commit_and_a_dropped_update_is_discarded() {
    let bench = Bench::started();
    bench.commit(&[("a", "x")]).await;
    let mut update = bench.config.begin_mcp_update().await;
    update.set_excluded_mcp_servers(Pattern::new("a").into_iter().collect());
    bench.idle().await;
    assert_eq!(bench.config.get_mcp_gating(), Gating::default());
    drop(update);
    assert_eq!(refusal(bench.config.get_mcp_server_unavailable_reason(&"a".into())), "connecting");
    let mut update = bench.config.begin_mcp_update().await;
    update.set_excluded_mcp_servers(Pattern::new("a").into_iter().collect());
    update.reinitialize_mcp_servers(map(&[("a", "x")])).await.unwrap();
    assert_eq!(refusal(bench.config.get_mcp_server_unavailable_reason(&"a".into())), "excluded");
    bench.idle().await;
    assert_eq!(bench.world.log(), ["open a", "abort a"]);
}

#[tokio::test(start_paused = true)]
async fn what_was_not_staged_stays_as_it_was() {
    let bench = Bench::started();
    let mut update = bench.config.begin_mcp_update().await;
    update.set_excluded_mcp_servers(Pattern::new("a").into_iter().collect());
    update.set_folder_trust(FolderTrust::Untrusted);
    update.reinitialize_mcp_servers(map(&[("a", "x"), ("b", "x")])).await.unwrap();
    bench.commit(&[("a", "x"), ("b", "x")]).await;
    assert_eq!(refusal(bench.config.get_mcp_server_unavailable_reason(&"b".into())), "untrusted_folder");
    let mut update = bench.config.begin_mcp_update().await;
    update.set_folder_trust(FolderTrust::Trusted);
    update.reinitialize_mcp_servers(map(&[("a", "x"), ("b", "x")])).await.unwrap();
    assert_eq!(refusal(bench.config.get_mcp_server_unavailable_reason(&"a".into())), "excluded");
}

#[tokio::test(start_paused = true)]
async fn an_update_waits_for_the_one_that_is_open() {
    let bench = Bench::started();
    let first = bench.config.begin_mcp_update().await;
    let mut second = bench.config.begin_mcp_update();
    assert!(second.as_mut().now_or_never().is_none());
    drop(first);
    assert!(second.now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_gated_server_is_never_opened_for_a_caller_that_stages_nothing() {
    let bench = Bench::started();
    let gated = Entry::Valid(Arc::new(spec(Scope::Project, "x")));
    let update = bench.config.begin_mcp_update().await;
    update.reinitialize_mcp_servers([("p".into(), gated)].into()).await.unwrap();
    bench.idle().await;
    assert_eq!(bench.world.log(), Vec::<String>::new());
    let refused = bench.config.reconnect(&"p".into()).await;
    assert_eq!(refusal(refused.err()), "pending_approval");
}

#[tokio::test(start_paused = true)]
async fn a_runtime_server_overrides_and_its_removal_brings_the_settings_entry_back() {
    let bench = Bench::started();
    bench.commit(&[("a", "settings")]).await;
    let added = bench.config.add_runtime_mcp_server("a".into(), spec(Scope::Runtime, "runtime")).await;
    assert_eq!(added, RuntimeAdded { replaced: false, shadows_settings: true, refusal: None });
    assert_eq!(bench.config.get_settings_mcp_servers().get("a"), Some(&entry("a", "settings").1));
    assert_ne!(bench.config.get_mcp_servers().servers.get("a"), Some(&entry("a", "settings").1));
    bench.commit(&[("a", "settings"), ("b", "x")]).await;
    let removed = bench.config.remove_runtime_mcp_server(&"a".into()).await;
    assert_eq!(removed, RuntimeRemoved::Removed { uncovered_settings: true });
    assert_eq!(bench.config.get_mcp_servers().servers.get("a"), Some(&entry("a", "settings").1));
    assert_eq!(bench.config.remove_runtime_mcp_server(&"a".into()).await, RuntimeRemoved::NotPresent);
}

#[tokio::test(start_paused = true)]
async fn a_runtime_server_passes_the_same_gate() {
    let world = FakeConnector::default();
    let bound = LaunchBound::Names(Pattern::new("a").into_iter().collect());
    let config = Manager::new(bound, Arc::new(world.clone()));
    config.initialize();
    let added = config.add_runtime_mcp_server("b".into(), spec(Scope::Runtime, "x")).await;
    assert_eq!(added.refusal.map(|refusal| refusal.as_str()), Some("not_allowed"));
    assert_eq!(world.log(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_lost_server_is_tried_again_and_a_call_meanwhile_says_why_it_cannot_be_made() {
    let bench = Bench::started();
    bench.commit(&[("a", "x")]).await;
    bench.idle().await;
    bench.world.answer("a", Ok(()));
    bench.until_state("a", "connected").await;
    let answer = bench.config.call_tool("mcp__a__t", None, CallOptions::default()).await;
    assert_eq!(answer, Ok(json!({"called": "t"})));
    bench.world.lose("a", Failure::new(FailureKind::Exited, "exited with code 3"));
    bench.until_state("a", "failed").await;
    let answer = bench.config.call_tool("mcp__a__t", None, CallOptions::default()).await;
    let Err(UseError::Unavailable(why)) = answer else { panic!("{answer:?}") };
    assert!(matches!(*why, Unavailable::Failed { .. }));
    bench.world.log();
    bench.until_state("a", "connecting").await;
    bench.idle().await;
    assert_eq!(bench.world.log(), ["open a"]);
}

#[tokio::test(start_paused = true)]
async fn shutting_down_ends_everything_and_dropping_the_config_does_too() {
    let bench = Bench::started();
    bench.commit(&[("a", "x"), ("b", "x")]).await;
    bench.idle().await;
    bench.world.answer("a", Ok(()));
    bench.until_state("a", "connected").await;
    bench.world.log();
    bench.config.shutdown(Duration::from_secs(5)).await;
    let mut log = bench.world.log();
    log.sort();
    assert_eq!(log, ["abort b", "retire a Exit"]);

    let bench = Bench::started();
    bench.commit(&[("a", "x")]).await;
    bench.idle().await;
    bench.world.answer("a", Ok(()));
    bench.until_state("a", "connected").await;
    bench.world.log();
    let Bench { config, world, .. } = bench;
    drop(config);
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.log(), ["retire a Exit"]);
}
