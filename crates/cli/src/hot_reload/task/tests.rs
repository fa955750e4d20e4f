//! The task under a paused clock, with a core that does what a test says.

use qwen_settings_schema::schema;
use serde_json::json;
use tokio::task::JoinHandle;

use super::{
    super::testing::{FakeCore, FakeFiles, derived, desired, settings, snapshot},
    *,
};
use crate::settings::Watching;

struct Bench {
    core: FakeCore,
    files: Arc<FakeFiles>,
    seen: watch::Sender<Seen>,
    requests: mpsc::UnboundedSender<Request>,
    events: mpsc::UnboundedReceiver<CliEvent>,
    stop: CancellationToken,
    decisions: Arc<std::sync::Mutex<SessionDecisions>>,
    task: JoinHandle<()>,
}

fn seen(snapshot: Snapshot) -> Seen {
    Seen { snapshot: Arc::new(snapshot), watching: Watching::Events }
}

impl Bench {
    async fn start(mini: &str) -> Self {
        let booted = snapshot(mini, "dark");
        Self::start_with(FakeCore::new(), booted.clone(), booted).await
    }

    async fn start_with(core: FakeCore, booted: Snapshot, armed: Snapshot) -> Self {
        let (seen_tx, seen_rx) = watch::channel(seen(armed));
        let (events_tx, events) = mpsc::unbounded_channel();
        let (requests, requests_rx) = mpsc::unbounded_channel();
        let (files, stop) = (Arc::new(FakeFiles::new()), CancellationToken::new());
        let decisions = Arc::new(std::sync::Mutex::new(SessionDecisions::new()));
        let given = Arc::clone(&decisions);
        let parts = Parts {
            target: core.clone(),
            derive: Box::new(move |snapshot, decisions, _| {
                given.lock().unwrap().clone_from(decisions);
                derived(snapshot)
            }),
            schema: Arc::from(schema()),
            seen: seen_rx,
            files: files.clone(),
            events: events_tx,
            requests: requests_rx,
            stop: stop.clone(),
        };
        let (mut task, _) = Task::new(parts, &booted);
        let task = tokio::spawn(async move {
            task.first_pass().await;
            task.run().await;
        });
        let bench = Self { core, files, seen: seen_tx, requests, events, stop, decisions, task };
        quiet().await;
        bench
    }

    fn save(&self, snapshot: Snapshot) {
        self.seen.send_replace(seen(snapshot));
    }

    async fn edit(&mut self, mini: &str) -> Vec<String> {
        self.save(snapshot(mini, "dark"));
        self.told().await
    }

    fn ask(&self, request: impl FnOnce(oneshot::Sender<()>) -> Request) -> oneshot::Receiver<()> {
        let (done, is_done) = oneshot::channel();
        assert!(self.requests.send(request(done)).is_ok());
        is_done
    }

    /// Everything that was told since this was last asked, once nothing moves any more.
    async fn told(&mut self) -> Vec<String> {
        quiet().await;
        std::iter::from_fn(|| self.events.try_recv().ok()).map(|event| text(&event)).collect()
    }

    fn last_commit(&self) -> Desired {
        self.core.state().commits.last().unwrap().clone()
    }

    fn commits(&self) -> usize {
        self.core.state().commits.len()
    }
}

/// Lets everything run that can run without the clock moving on by more than a moment.
async fn quiet() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

fn text(event: &CliEvent) -> String {
    match event {
        CliEvent::SettingsChanged { changes } => {
            let keys: Vec<String> =
                changes.iter().flat_map(|change| &change.keys).map(|key| key.join(".")).collect();
            format!("changed {}", keys.join(" ")).trim_end().to_owned()
        }
        CliEvent::SettingsInvalid { message, .. } => format!("invalid {message}"),
        CliEvent::SettingsRecovered { .. } => "recovered".to_owned(),
        CliEvent::RestartRequired { keys, .. } => {
            format!("restart {}", keys.iter().map(|key| key.join(".")).collect::<Vec<_>>().join(" "))
        }
        CliEvent::Planned { generation, status } => {
            assert!(status.observed >= *generation);
            format!("planned {generation}")
        }
        CliEvent::PendingApprovalChanged { servers } => {
            let names: Vec<&str> = servers.iter().map(ServerName::as_str).collect();
            format!("pending {}", names.join(" ")).trim_end().to_owned()
        }
        CliEvent::ShadowsChanged { servers } => {
            let names: Vec<&str> = servers.iter().map(ServerName::as_str).collect();
            format!("shadows {}", names.join(" "))
        }
        CliEvent::Notice { code, .. } => format!("notice {}", code.as_str()),
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_starts_with_one_commit_also_of_nothing() {
    let mut bench = Bench::start("").await;
    assert_eq!(bench.told().await, ["planned 1"]);
    assert_eq!(bench.last_commit(), desired(""));
    let mut bench = Bench::start("a=x b=y?").await;
    assert_eq!(bench.told().await, ["planned 1", "pending b"]);
}

#[tokio::test(start_paused = true)]
async fn an_edit_between_the_boot_and_the_start_of_the_watch_is_told_and_applied() {
    let (booted, armed) = (snapshot("a=x", "dark"), snapshot("a=x b=y", "dark"));
    let mut bench = Bench::start_with(FakeCore::new(), booted, armed).await;
    assert_eq!(bench.told().await, ["changed mini", "planned 1"]);
    assert_eq!(bench.last_commit(), desired("a=x b=y"));
}

#[tokio::test(start_paused = true)]
async fn what_led_to_a_commit_is_told_before_it_and_who_waits_after_it() {
    let mut bench = Bench::start("a=x").await;
    bench.told().await;
    assert_eq!(bench.edit("a=x b=y?").await, ["changed mini", "planned 2", "pending b"]);
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_means_nothing_to_servers_is_told_and_not_committed() {
    let mut bench = Bench::start("a=x").await;
    bench.told().await;
    bench.save(snapshot("a=x", "light"));
    assert_eq!(bench.told().await, ["changed ui.theme"]);
    bench.save(snapshot("a=x", "light"));
    assert_eq!(bench.told().await, Vec::<String>::new());
    assert_eq!(bench.commits(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_told_when_names_or_hashes_differ_and_when_nobody_waits_any_more() {
    let mut bench = Bench::start("a=x").await;
    bench.told().await;
    for (mini, expected) in [
        ("a=y", vec!["changed mini", "planned 2"]),
        ("a=y b=x?", vec!["changed mini", "planned 3", "pending b"]),
        ("a=y b=x? excluded:c", vec!["changed mini", "planned 4"]),
        ("a=y b=y? excluded:c", vec!["changed mini", "planned 5", "pending b"]),
        ("a=y b=y+ excluded:c", vec!["changed mini", "planned 6", "pending"]),
        ("a=y b=y+ excluded:c", vec![]),
    ] {
        assert_eq!(bench.edit(mini).await, expected, "{mini}");
    }
}

#[tokio::test(start_paused = true)]
async fn two_edits_that_land_while_a_commit_is_planned_give_one_further_commit() {
    let core = FakeCore::slow();
    let booted = snapshot("a=x", "dark");
    let mut bench = Bench::start_with(core.clone(), booted.clone(), booted).await;
    core.plan(1);
    bench.told().await;
    assert_eq!(bench.edit("a=y").await, ["changed mini"], "the commit is on its way");
    bench.edit("a=z").await;
    bench.edit("a=z b=y").await;
    assert_eq!(core.state().asked, 2);
    core.plan(100);
    assert_eq!(bench.told().await, ["planned 2", "changed mini", "planned 3"]);
    assert_eq!(bench.last_commit(), desired("a=z b=y"));
}

#[tokio::test(start_paused = true)]
async fn a_pass_that_fails_is_told_and_tried_again_ever_more_slowly() {
    let mut bench = Bench::start("a=x").await;
    bench.told().await;
    bench.core.state().failing = 3;
    let failed = "notice reload-failed";
    assert_eq!(bench.edit("a=y b=x?").await, ["changed mini", failed, "pending b"]);
    let mut tried = Vec::new();
    for second in 1..=10 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        tried.extend(bench.told().await.into_iter().map(|told| (second, told)));
    }
    assert_eq!(tried, [(1, failed.to_owned()), (3, failed.to_owned()), (7, "planned 2".to_owned())]);
    assert_eq!(bench.last_commit(), desired("a=y b=x?"));
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_undoes_a_failed_one_leaves_nothing_to_retry() {
    let mut bench = Bench::start("a=x").await;
    bench.told().await;
    bench.core.state().failing = 1;
    bench.edit("a=y").await;
    assert_eq!(bench.edit("a=x").await, ["changed mini"]);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(bench.told().await, Vec::<String>::new());
    assert_eq!(bench.core.state().asked, 2);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_needs_a_restart_is_told_and_commits_nothing() {
    let root = |command: &str, mini: &str| settings(json!({"mcp": {"serverCommand": command}, "mini": mini}));
    let mut bench = Bench::start_with(FakeCore::new(), root("x", "a=x"), root("x", "a=x")).await;
    bench.told().await;
    bench.save(root("y", "a=x"));
    assert_eq!(bench.told().await, ["restart mcp.serverCommand"]);
    bench.save(root("y", "a=y"));
    assert_eq!(bench.told().await, ["changed mini", "planned 2"]);
}

#[tokio::test(start_paused = true)]
async fn without_automatic_reload_edits_wait_for_a_reload_and_what_narrows_does_not() {
    let mut bench = Bench::start("a=x b=y auto:off").await;
    assert_eq!(bench.told().await, ["planned 1"]);
    for (mini, expected, committed) in [
        ("a=z b=y auto:off", vec!["changed mini", "notice edits-held"], "a=x b=y"),
        ("a=z b=y auto:off", vec![], "a=x b=y"),
        ("a=z c=y auto:off", vec!["changed mini", "planned 2", "notice edits-held"], "a=x"),
        ("a=x auto:off", vec!["changed mini"], "a=x"),
        ("a=z auto:off", vec!["changed mini", "notice edits-held"], "a=x"),
    ] {
        assert_eq!(bench.edit(mini).await, expected, "{mini}");
        assert_eq!(bench.last_commit(), desired(committed), "{mini}");
    }
    bench.ask(Request::Reload).await.unwrap();
    assert_eq!(bench.told().await, ["planned 3", "changed"]);
    assert_eq!(bench.last_commit(), desired("a=z"));
}

#[tokio::test(start_paused = true)]
async fn switching_automatic_reload_on_applies_what_was_held() {
    let mut bench = Bench::start("a=x auto:off").await;
    bench.edit("a=y auto:off").await;
    bench.told().await;
    assert_eq!(bench.edit("a=y").await, ["changed mini", "planned 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_reload_is_answered_by_exactly_one_change_that_is_empty_when_nothing_differs() {
    let mut bench = Bench::start("a=x").await;
    bench.told().await;
    bench.ask(Request::Reload).await.unwrap();
    assert_eq!(bench.told().await, ["changed"]);
    bench.files.looks.forget_permits(1_000_000);
    let done = bench.ask(Request::Reload);
    assert_eq!(bench.edit("a=y").await, ["changed mini", "planned 2"], "found while the files are read");
    bench.files.looks.add_permits(1);
    done.await.unwrap();
    assert_eq!(bench.told().await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_look_for_a_file_that_was_just_written_tells_nothing_by_itself() {
    let mut bench = Bench::start("a=x").await;
    bench.told().await;
    bench.ask(Request::Look).await.unwrap();
    assert_eq!(bench.told().await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_decision_that_cannot_be_written_holds_for_this_session_and_says_so() {
    let mut bench = Bench::start("a=x?").await;
    bench.told().await;
    let hash = qwen_approvals::approval_hash(&json!({}), qwen_approvals::Dialect::Settings);
    let answer = Answer { server: "a".into(), hash, verdict: Verdict::Approve, shown: Arc::new(json!({})) };
    bench.ask(|done| Request::Unsaved { answer, because: "write the file".to_owned(), done }).await.unwrap();
    assert_eq!(bench.told().await, ["notice decision-not-saved"]);
    let known = bench.decisions.lock().unwrap().clone();
    let known: Vec<_> = known.into_iter().map(|(about, own)| (about, own.decision)).collect();
    assert_eq!(known, [(("a".into(), hash.to_string()), Decision::Approved)]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_a_reconnect_holds_no_edit_back() {
    let mut bench = Bench::start("a=x").await;
    bench.told().await;
    let (answer, _answered) = oneshot::channel();
    assert!(bench.requests.send(Request::Reconnect { server: "a".into(), answer }).is_ok());
    assert_eq!(bench.edit("a=y").await, ["changed mini", "planned 2"]);
}

#[tokio::test(start_paused = true)]
async fn an_edited_debounce_reaches_the_watcher() {
    let mut bench = Bench::start("a=x").await;
    assert_eq!(*bench.files.debounce.lock().unwrap(), Duration::from_millis(300));
    bench.edit("a=x debounce:1500").await;
    assert_eq!(*bench.files.debounce.lock().unwrap(), Duration::from_millis(1500));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_committed_after_the_stop_not_even_what_was_on_its_way() {
    let core = FakeCore::slow();
    let booted = snapshot("a=x", "dark");
    let mut bench = Bench::start_with(core.clone(), booted.clone(), booted).await;
    core.plan(1);
    bench.told().await;
    bench.edit("a=y").await;
    bench.stop.cancel();
    quiet().await;
    core.plan(100);
    bench.edit("a=z").await;
    bench.task.await.unwrap();
    assert_eq!(core.state().commits.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_ended_is_told_once_and_requests_still_work() {
    let mut bench = Bench::start("a=x").await;
    bench.told().await;
    bench.seen = watch::channel(seen(Snapshot::default())).0;
    assert_eq!(bench.told().await, ["notice watch-degraded"]);
    bench.ask(Request::Reload).await.unwrap();
    assert_eq!(bench.told().await, ["changed"]);
}
