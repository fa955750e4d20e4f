//! Everything between a file and core's connector, with nothing left out: real files, the real watcher, the real record
//! of approvals, and a connector that opens what it is told to.

use std::{collections::BTreeMap, fs, path::PathBuf, time::Duration};

use qwen_approvals::{Dialect, FileStore, approval_hash};
use qwen_core::{Manager, State, testing::FakeConnector};
use qwen_settings_schema::schema;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::{
    derive::{Flags, WatchMode},
    settings::{Environment, Paths, ProjectRoot, WatchOptions, load},
};

/// Longer than anything that is waited for; a test that waits this long has failed.
const BOUND: Duration = Duration::from_secs(10);

struct World {
    folder: TempDir,
}

struct Session {
    config: Arc<dyn Config>,
    connector: FakeConnector,
    reload: HotReload,
    events: mpsc::UnboundedReceiver<CliEvent>,
    told: Vec<CliEvent>,
}

impl World {
    fn new() -> Self {
        let world = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(world.at("home/.qwen")).unwrap();
        fs::create_dir_all(world.at("project")).unwrap();
        world
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    fn write(&self, path: &str, content: &Value) {
        fs::write(self.at(path), content.to_string()).unwrap();
    }

    fn user(&self, content: &Value) {
        self.write("home/.qwen/settings.json", content);
    }

    fn project(&self, content: &Value) {
        self.write("project/.mcp.json", content);
    }

    fn store(&self) -> FileStore {
        FileStore::open(self.at("home/.qwen/mcpApprovals.json"))
    }

    async fn start(&self) -> Session {
        let environment = Environment {
            variables: BTreeMap::from([(
                "QWEN_CODE_SYSTEM_SETTINGS_PATH".to_owned(),
                self.at("etc/settings.json").display().to_string(),
            )]),
            home: Some(self.at("home")),
            exe: self.at("qwen"),
            cwd: self.at("project"),
        };
        let root = ProjectRoot::resolve(&environment, None).unwrap();
        let paths = Paths::find(&environment, root).unwrap();
        let sources = paths.sources(&[]);
        let booted = load(&sources);
        let launch = Launch::capture(Flags::default(), Arc::new(environment), Arc::new(paths), &booted);
        let connector = FakeConnector::default();
        let manager = Manager::new(launch.flags.bound.clone(), Arc::new(connector.clone()));
        let config: Arc<dyn Config> = Arc::new(manager);
        let watcher = SettingsWatcher::start(WatchOptions {
            sources,
            booted: booted.clone(),
            mode: WatchMode::Auto,
            debounce: Duration::from_millis(50),
        })
        .await;
        let (reload, events) = HotReload::start(HotReloadOptions {
            config: Arc::clone(&config),
            launch,
            schema: schema().into(),
            store: Arc::new(self.store()),
            watcher,
            booted,
        })
        .await;
        Session { config, connector, reload, events, told: Vec::new() }
    }
}

impl Session {
    /// Waits until something is told; what was told before it is kept.
    async fn until_told(&mut self, what: &str, is: impl Fn(&CliEvent) -> bool) -> CliEvent {
        let waited = tokio::time::timeout(BOUND, async {
            loop {
                let event = self.events.recv().await.unwrap();
                self.told.push(event.clone());
                if is(&event) {
                    return event;
                }
            }
        });
        let Ok(event) = waited.await else { panic!("{what}: {:?}", self.told) };
        event
    }

    async fn until_pending(&mut self, wanted: &[&str]) {
        self.until_told(&format!("pending {wanted:?}"), |event| {
            let CliEvent::PendingApprovalChanged { servers } = event else { return false };
            servers.iter().map(ServerName::as_str).eq(wanted.iter().copied())
        })
        .await;
    }

    async fn until_state(&self, name: &str, wanted: Option<State>) {
        let name = ServerName::from(name);
        let mut status = self.config.status();
        let state =
            |status: &Arc<qwen_core::Status>| status.servers.get(&name).map(|server| server.phase.state());
        let waited = tokio::time::timeout(BOUND, status.wait_for(|status| state(status) == wanted)).await;
        assert!(waited.is_ok(), "{name}: wanted {wanted:?}, is {:?}", state(&self.config.status().borrow()));
    }
}

fn servers(servers: &[(&str, &str)]) -> Value {
    let servers: serde_json::Map<String, Value> =
        servers.iter().map(|&(name, command)| (name.to_owned(), json!({ "command": command }))).collect();
    json!({ "mcpServers": servers })
}

#[tokio::test]
async fn an_edit_reaches_the_connector_and_only_what_changed_moves() {
    let world = World::new();
    world.user(&servers(&[("a", "true"), ("b", "true")]));
    let mut session = world.start().await;
    session.until_state("b", Some(State::Connecting)).await;
    session.connector.answer("a", Ok(()));
    session.connector.answer("b", Ok(()));
    session.until_state("a", Some(State::Connected)).await;
    session.until_state("b", Some(State::Connected)).await;
    session.connector.log();
    world.user(&servers(&[("c", "true"), ("b", "true"), ("a", "false")]));
    session.until_told("a commit", |event| matches!(event, CliEvent::Planned { generation: 2, .. })).await;
    session.until_state("c", Some(State::Connecting)).await;
    let log = session.connector.log();
    assert!(log.iter().all(|line| !line.ends_with(" b")), "{log:?}");
    world.user(&servers(&[]));
    session.until_state("b", None).await;
    assert!(session.config.get_settings_mcp_servers().is_empty());
    session.reload.stop().await;
}

#[tokio::test]
async fn a_project_server_waits_until_it_is_approved_here_or_in_another_terminal() {
    let world = World::new();
    world.user(&servers(&[("mine", "true")]));
    let mut session = world.start().await;
    world.project(&servers(&[("theirs", "true"), ("others", "true")]));
    session.until_pending(&["others", "theirs"]).await;
    session.until_state("theirs", Some(State::PendingApproval)).await;

    let asked = session.reload.derived().borrow().promptable[&ServerName::from("theirs")].clone();
    let shown = Arc::clone(asked.written.value());
    let hash = approval_hash(&shown, Dialect::McpJson);
    assert_eq!(hash.to_string(), asked.hash);
    let answer = Answer { server: "theirs".into(), hash, verdict: Verdict::Approve, shown: shown.clone() };
    assert_eq!(session.reload.decide(answer).await, Holds::ForGood);
    session.until_state("theirs", Some(State::Connecting)).await;
    session.until_pending(&["others"]).await;

    world.store().decide(&world.at("project"), "others", hash, Verdict::Reject, &shown).unwrap();
    session.until_pending(&[]).await;
    session.until_state("others", Some(State::Rejected)).await;

    world.store().revoke(&world.at("project"), "theirs").unwrap();
    session.until_pending(&["theirs"]).await;
    session.until_state("theirs", Some(State::PendingApproval)).await;
    assert_eq!(session.connector.log().iter().filter(|line| *line == "open others").count(), 0);
}

#[tokio::test]
async fn a_decision_that_cannot_be_written_holds_for_this_session() {
    let world = World::new();
    world.project(&servers(&[("theirs", "true"), ("others", "false")]));
    let mut session = world.start().await;
    session.until_pending(&["others", "theirs"]).await;
    // A folder where the record should be.
    fs::create_dir(world.at("home/.qwen/mcpApprovals.json")).unwrap();
    for (name, verdict, state) in
        [("theirs", Verdict::Approve, State::Connecting), ("others", Verdict::Reject, State::Rejected)]
    {
        let asked = session.reload.derived().borrow().promptable[&ServerName::from(name)].clone();
        let shown = Arc::clone(asked.written.value());
        let hash = approval_hash(&shown, Dialect::McpJson);
        let answer = Answer { server: name.into(), hash, verdict, shown };
        assert_eq!(session.reload.decide(answer).await, Holds::ThisSession);
        session
            .until_told("the notice", |event| {
                matches!(event, CliEvent::Notice { code: NoticeCode::DecisionNotSaved, .. })
            })
            .await;
        session.until_state(name, Some(state)).await;
    }
    session.until_pending(&[]).await;
}

#[tokio::test]
async fn a_variable_of_the_user_restarts_what_reads_it_and_is_told_by_its_name() {
    let world = World::new();
    world.user(&json!({"mcpServers": {"a": {"command": "true", "env": {"KEY": "${A_TOKEN:-none}"}}}}));
    let mut session = world.start().await;
    session.until_state("a", Some(State::Connecting)).await;
    fs::write(world.at("home/.qwen/.env"), "A_TOKEN=secret-text\n").unwrap();
    let told =
        session.until_told("the change", |event| matches!(event, CliEvent::SettingsChanged { .. })).await;
    let CliEvent::SettingsChanged { changes } = &told else { panic!("{told:?}") };
    assert_eq!(changes.len(), 1);
    assert_eq!((changes[0].scope, changes[0].kind), (qwen_core::Scope::User, ChangeKind::Created));
    assert_eq!(changes[0].keys, [["A_TOKEN"]]);
    assert!(!format!("{:?}", session.told).contains("secret-text"));
    let planned = session
        .until_told("a commit", |event| matches!(event, CliEvent::Planned { generation: 2, .. }))
        .await;
    let CliEvent::Planned { status, .. } = planned else { panic!() };
    let commit = status.commits.last().unwrap();
    assert_eq!((commit.restarted.len(), commit.kept), (1, 0));
}

#[tokio::test]
async fn a_broken_file_changes_nothing_and_its_repair_is_picked_up() {
    let world = World::new();
    world.user(&servers(&[("a", "true")]));
    let mut session = world.start().await;
    session.until_told("the start", |event| matches!(event, CliEvent::Planned { .. })).await;
    fs::write(world.at("home/.qwen/settings.json"), "{\n  \"mcpServers\": {\n    \"a\": {").unwrap();
    let told =
        session.until_told("the report", |event| matches!(event, CliEvent::SettingsInvalid { .. })).await;
    let CliEvent::SettingsInvalid { line: Some(line), counts, .. } = told else { panic!("{told:?}") };
    assert!(line >= 1);
    assert_eq!(counts, crate::hot_reload::Counts::LastGood);
    session.until_state("a", Some(State::Connecting)).await;
    world.user(&servers(&[("a", "true"), ("b", "true")]));
    session.until_told("the repair", |event| matches!(event, CliEvent::SettingsRecovered { .. })).await;
    session.until_state("b", Some(State::Connecting)).await;
    assert_eq!(session.connector.log().iter().filter(|line| *line == "open a").count(), 1);
}

#[tokio::test]
async fn a_restart_only_key_counts_neither_now_nor_with_the_next_edit() {
    let world = World::new();
    world.user(&json!({"mcp": {"serverCommand": "true one"}}));
    let mut session = world.start().await;
    let command = |session: &Session| {
        let servers = session.config.get_settings_mcp_servers();
        format!("{:?}", servers[&ServerName::from("mcp")])
    };
    let at_start = command(&session);
    world.user(&json!({"mcp": {"serverCommand": "true two"}}));
    session.until_told("the notice", |event| matches!(event, CliEvent::RestartRequired { .. })).await;
    world.user(&json!({"mcp": {"serverCommand": "true two", "excluded": ["x"]}}));
    session.until_told("a commit", |event| matches!(event, CliEvent::Planned { generation: 2, .. })).await;
    assert_eq!(command(&session), at_start);
    assert!(session.told.iter().all(|event| {
        let CliEvent::SettingsChanged { changes } = event else { return true };
        changes.iter().all(|change| change.keys == [["mcp", "excluded"]])
    }));
}
