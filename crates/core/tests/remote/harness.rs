//! One door for all tests of remote connections: an entry, opened, and what it reports.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use qwen_core::{
    Attempt, CallLimits, Caller, Client, Connector, Desired, DirectConnector, Entry, Failure, FolderTrust,
    Guard, LaunchBound, Lease, LinkEvent, OpenRequest, PoolMode, ProcessEnv, Remote, Scope, Secret,
    ServerName, ServerSpec, VersionNegotiation, View, Wire, admit_one,
};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub(crate) const SOON: Duration = Duration::from_secs(10);

/// An entry to be opened.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) url: String,
    pub(crate) headers: BTreeMap<String, Secret>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) limit: Duration,
    pub(crate) negotiation: VersionNegotiation,
    pub(crate) masks: Vec<Secret>,
}

impl Target {
    pub(crate) fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            headers: BTreeMap::new(),
            env: Vec::new(),
            limit: Duration::from_secs(20),
            negotiation: VersionNegotiation::Auto,
            masks: Vec::new(),
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_owned(), value.into());
        self.masks.push(value.into());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn in_the_newer_era(mut self) -> Self {
        self.negotiation = VersionNegotiation::Modern;
        self
    }

    pub(crate) fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    fn spec(&self) -> ServerSpec {
        let remote = Remote {
            url: self.url.as_str().into(),
            headers: self.headers.clone(),
            oauth: None,
            auth_provider: BTreeMap::new(),
            sse_fallback: false,
            version_negotiation: self.negotiation,
            pool: PoolMode::Session,
        };
        let view = View { discovery_timeout: self.limit, ..View::default() };
        ServerSpec::new(Scope::User, Wire::Http(remote), view).masking(self.masks.clone())
    }

    pub(crate) async fn open(&self) -> Result<Opened, Failure> {
        self.open_with(CancellationToken::new()).await
    }

    pub(crate) async fn open_with(&self, cancel: CancellationToken) -> Result<Opened, Failure> {
        let env = ProcessEnv { full: self.env.clone(), restricted: Vec::new(), root: "/p".into() };
        let client = Client { name: "qwen".to_owned(), version: "0".to_owned() };
        let connector = DirectConnector::new(env, Guard::without_process(), client);
        let name = ServerName::from("s");
        let mut desired = Desired { folder: FolderTrust::Trusted, ..Desired::default() };
        desired.servers.insert(name.clone(), Entry::Valid(Arc::new(self.spec())));
        let admitted = admit_one(&desired, &LaunchBound::Unbounded, &name).unwrap();
        let (sender, events) = mpsc::unbounded_channel();
        let request = OpenRequest { attempt: Attempt(7), admitted, cancel, events: sender, questions: None };
        connector.open(request).await.map(|lease| Opened { lease, events })
    }
}

/// An open connection and what it reports.
pub(crate) struct Opened {
    pub(crate) lease: Lease,
    pub(crate) events: mpsc::UnboundedReceiver<LinkEvent>,
}

impl Opened {
    pub(crate) async fn event(&mut self) -> LinkEvent {
        tokio::time::timeout(SOON, self.events.recv()).await.unwrap().unwrap()
    }

    pub(crate) async fn loss(&mut self) -> Failure {
        let LinkEvent::Lost(Attempt(7), failure) = self.event().await else { panic!("it is not lost") };
        failure
    }

    pub(crate) async fn relisted(&mut self) -> Vec<String> {
        let LinkEvent::Inventory(Attempt(7), inventory) = self.event().await else {
            panic!("nothing was listed")
        };
        inventory.tools.items().iter().map(|tool| tool.name.clone()).collect()
    }

    pub(crate) fn tools(&self) -> Vec<String> {
        self.lease.inventory.tools.items().iter().map(|tool| tool.name.clone()).collect()
    }

    pub(crate) fn caller(&self) -> Arc<dyn Caller> {
        self.lease.link.caller()
    }
}

pub(crate) fn limits() -> CallLimits {
    CallLimits { total: SOON, idle: SOON, cancel: CancellationToken::new(), progress: None }
}

pub(crate) async fn call(caller: &Arc<dyn Caller>, arguments: Value) -> Result<Value, qwen_core::CallError> {
    caller.call_tool("echo".to_owned(), Some(arguments), limits()).await
}
