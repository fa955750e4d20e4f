//! One door for all connection tests: describe a server, open it, look at what is left. Waits are on predicates.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use qwen_core::{
    Attempt, Client, Connector, Desired, DirectConnector, Entry, EnvPolicy, Failure, FolderTrust, Guard,
    LaunchBound, Lease, LinkEvent, OpenRequest, PoolMode, ProcessEnv, Questions, Scope, ServerName,
    ServerSpec, Stdio, VersionNegotiation, View, Wire, admit_one,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Marks every process of a test, so that what is left of it can be found whatever became of its parents.
const MARK: &str = "QWEN_CORE_TEST_MARK";

/// A server to be opened.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) limit: Duration,
    pub(crate) masks: Vec<String>,
    pub(crate) policy: EnvPolicy,
    pub(crate) negotiation: VersionNegotiation,
    pub(crate) cwd: PathBuf,
    pub(crate) pool: PoolMode,
    pub(crate) questions: Option<Arc<dyn Questions>>,
    pub(crate) log: PathBuf,
    mark: String,
}

/// The arguments that make this executable the scripted server.
const AS_SERVER: [&str; 3] = ["--exact", "scripted_server", "--nocapture"];

impl Server {
    /// A server that behaves as `mode` says.
    pub(crate) fn scripted(mode: &str) -> Self {
        let mut server = Self::command(&exe(), &AS_SERVER);
        server.env.insert("SERVER_MODE".to_owned(), mode.to_owned());
        server
    }

    /// A shell script; `$SERVER` in it is the command line of a scripted server.
    pub(crate) fn shell(script: &str) -> Self {
        let mut server = Self::command("sh", &["-c", script]);
        let line = format!("{} {}", exe(), AS_SERVER.join(" "));
        server.env.insert("SERVER".to_owned(), line);
        server.env.insert("SERVER_MODE".to_owned(), "plain".to_owned());
        server
    }

    pub(crate) fn command(command: &str, args: &[&str]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let log = std::env::temp_dir().join(format!("qwen-core-test-{mark}.log"));
        let env = [
            (MARK.to_owned(), mark.clone()),
            ("SERVER_LOG".to_owned(), log.to_string_lossy().into_owned()),
            ("RUST_BACKTRACE".to_owned(), "0".to_owned()),
        ];
        Self {
            command: command.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: env.into(),
            limit: Duration::from_secs(20),
            masks: Vec::new(),
            policy: EnvPolicy::Full,
            negotiation: VersionNegotiation::Auto,
            cwd: std::env::temp_dir(),
            pool: PoolMode::Session,
            questions: None,
            log,
            mark,
        }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    pub(crate) fn spec(&self) -> ServerSpec {
        let wire = Wire::Stdio(Stdio {
            command: self.command.clone(),
            args: self.args.clone(),
            env: self.env.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect(),
            cwd: self.cwd.clone(),
            env_policy: self.policy,
            version_negotiation: self.negotiation,
            pool: self.pool,
        });
        let view = View { discovery_timeout: self.limit, ..View::default() };
        let masks = self.masks.iter().map(|mask| mask.as_str().into()).collect();
        ServerSpec::new(Scope::User, wire, view).masking(masks)
    }

    /// What the server has been told so far, one method a line.
    pub(crate) fn told(&self) -> Vec<String> {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    /// How often the server was told something that begins with this.
    pub(crate) fn times(&self, what: &str) -> usize {
        self.told().iter().filter(|line| line.starts_with(what)).count()
    }

    /// Every process that carries this server's mark and is not just waiting to be reaped.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let wanted = format!("{MARK}={}", self.mark);
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut found: Vec<u32> = processes
            .filter_map(|process| {
                let pid = process.file_name().to_str()?.parse().ok()?;
                let environment = std::fs::read(process.path().join("environ")).ok()?;
                let marked = environment.split(|byte| *byte == 0).any(|pair| pair == wanted.as_bytes());
                marked.then_some(pid)
            })
            .collect();
        found.sort_unstable();
        found
    }

    /// Fails unless nothing of the server is left within this time.
    pub(crate) async fn is_gone_within(&self, limit: Duration) {
        until(limit, || self.processes().is_empty()).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        std::fs::remove_file(&self.log).ok();
    }
}

/// An open connection and what it reports.
pub(crate) struct Opened {
    pub(crate) lease: Lease,
    pub(crate) events: mpsc::UnboundedReceiver<LinkEvent>,
}

impl Opened {
    pub(crate) async fn event(&mut self) -> LinkEvent {
        tokio::time::timeout(Duration::from_secs(10), self.events.recv()).await.unwrap().unwrap()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.lease.pid.unwrap()
    }

    pub(crate) fn tools(&self) -> Vec<String> {
        self.lease.inventory.tools.items().iter().map(|tool| tool.name.clone()).collect()
    }
}

pub(crate) fn connector() -> DirectConnector {
    connector_with(Guard::without_process())
}

pub(crate) fn connector_with(guard: Guard) -> DirectConnector {
    let env = ProcessEnv::from_parent(std::env::vars(), std::env::temp_dir(), &[]);
    DirectConnector::new(env, guard, Client { name: "qwen".to_owned(), version: "0".to_owned() })
}

pub(crate) async fn open(server: &Server) -> Result<Opened, Failure> {
    open_on(&connector(), server, CancellationToken::new()).await
}

pub(crate) async fn open_on(
    connector: &DirectConnector,
    server: &Server,
    cancel: CancellationToken,
) -> Result<Opened, Failure> {
    let name = ServerName::from("s");
    let mut desired = Desired { folder: FolderTrust::Trusted, ..Desired::default() };
    desired.servers.insert(name.clone(), Entry::Valid(Arc::new(server.spec())));
    let admitted = admit_one(&desired, &LaunchBound::Unbounded, &name).unwrap();
    let (sender, events) = mpsc::unbounded_channel();
    let request = OpenRequest {
        attempt: Attempt(7),
        admitted,
        cancel,
        events: sender,
        questions: server.questions.clone(),
    };
    connector.open(request).await.map(|lease| Opened { lease, events })
}

/// Waits until something holds, and fails when it does not in time.
pub(crate) async fn until(limit: Duration, holds: impl Fn() -> bool) {
    let mut looks = tokio::time::interval(Duration::from_millis(5));
    let looking = async {
        while !holds() {
            looks.tick().await;
        }
    };
    assert!(tokio::time::timeout(limit, looking).await.is_ok(), "it did not happen within {limit:?}");
}

pub(crate) fn exe() -> String {
    std::env::current_exe().unwrap().to_string_lossy().into_owned()
}

pub(crate) fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}
