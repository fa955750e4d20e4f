//! Small builders and a connector that does what a test says: for tests of this crate and of its users.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::{FutureExt, future::BoxFuture};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::{
    admission::Admitted,
    catalog::{Catalogue, Offer},
    connector::{
        Attempt, CallError, CallLimits, Caller, Connector, Lease, Link, LinkEvent, OpenRequest, Teardown,
    },
    domain::{
        Entry, EnvPolicy, PoolMode, Scope, ServerName, ServerSpec, Stdio, VersionNegotiation, View, Wire,
    },
    failure::{Failure, FailureKind},
    inventory::{Inventory, Listing, Tool},
};

/// A child process with this command, no arguments and the full environment.
#[must_use]
pub fn stdio(command: &str) -> Stdio {
    Stdio {
        command: command.to_owned(),
        args: Vec::new(),
        env: BTreeMap::new(),
        cwd: "/".into(),
        env_policy: EnvPolicy::Full,
        version_negotiation: VersionNegotiation::Auto,
        pool: PoolMode::Session,
    }
}

/// An entry of `scope` that runs `command`.
#[must_use]
pub fn spec(scope: Scope, command: &str) -> ServerSpec {
    ServerSpec::new(scope, Wire::Stdio(stdio(command)), View::default())
}

/// A named, valid entry of the user's own.
#[must_use]
pub fn entry(name: &str, command: &str) -> (ServerName, Entry) {
    (name.into(), Entry::Valid(Arc::new(spec(Scope::User, command))))
}

/// A connector whose every open waits until the test says how it ends.
#[derive(Debug, Default, Clone)]
pub struct FakeConnector(Arc<Mutex<World>>);

type Reply = oneshot::Sender<Result<(), Failure>>;
type Events = mpsc::UnboundedSender<LinkEvent>;

#[derive(Debug, Default)]
struct World {
    waiting: Vec<(ServerName, Attempt, Reply, Events)>,
    live: Vec<(ServerName, Attempt, Events)>,
    log: Vec<String>,
}

impl FakeConnector {
    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was opened and ended so far, in order; the log starts afresh.
    pub fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.world().log)
    }

    /// Who is waiting for an answer.
    pub fn waiting(&self) -> Vec<String> {
        let mut names: Vec<_> = self.world().waiting.iter().map(|(name, ..)| name.to_string()).collect();
        names.sort();
        names
    }

    /// The newest attempt of this server ends so. Does nothing when none is waiting.
    pub fn answer(&self, name: &str, outcome: Result<(), Failure>) {
        let mut world = self.world();
        let newest = world.waiting.iter().rposition(|(waiting, ..)| waiting.as_str() == name);
        if let Some((name, attempt, reply, events)) = newest.map(|at| world.waiting.remove(at)) {
            if outcome.is_ok() {
                world.live.push((name, attempt, events));
            }
            // The attempt may have been given up meanwhile.
            reply.send(outcome).ok();
        }
    }

    /// The newest connection of this server breaks.
    pub fn lose(&self, name: &str, failure: Failure) {
        let mut world = self.world();
        let newest = world.live.iter().rposition(|(live, ..)| live.as_str() == name);
        if let Some((_, attempt, events)) = newest.map(|at| world.live.remove(at)) {
            events.send(LinkEvent::Lost(attempt, failure)).ok();
        }
    }

    /// The newest connection of this server offers this tool from now on. A tool named `hang` answers only when it is
    /// cancelled, any other at once.
    pub fn relist(&self, name: &str, tool: &str) {
        let world = self.world();
        if let Some((_, attempt, events)) = world.live.iter().rfind(|(live, ..)| live.as_str() == name) {
            events.send(LinkEvent::Inventory(*attempt, Arc::new(offering(tool)))).ok();
        }
    }
}

fn offering(tool: &str) -> Inventory {
    let tool = Tool {
        name: tool.to_owned(),
        description: None,
        input_schema: Arc::new(json!({"type": "object"})),
        raw: json!({ "name": tool }),
    };
    Inventory { tools: Listing::Listed(vec![Arc::new(tool)]), ..Inventory::empty() }
}

impl Connector for FakeConnector {
    fn open(&self, request: OpenRequest) -> BoxFuture<'static, Result<Lease, Failure>> {
        let OpenRequest { attempt, admitted, cancel, events, questions: _ } = request;
        let name = admitted.name().clone();
        let (reply, answer) = oneshot::channel();
        {
            let mut world = self.world();
            world.log.push(format!("open {name}"));
            world.waiting.push((name.clone(), attempt, reply, events));
        }
        let this = self.clone();
        async move {
            tokio::select! {
                () = cancel.cancelled() => {
                    let mut world = this.world();
                    world.log.push(format!("abort {name}"));
                    world.waiting.retain(|(waiting, number, ..)| (waiting, *number) != (&name, attempt));
                    Err(Failure::new(FailureKind::Aborted, "given up"))
                }
                answer = answer => {
                    answer.unwrap_or_else(|_| Err(Failure::new(FailureKind::Aborted, "forgotten")))?;
                    let link = FakeLink { name, world: this, _admitted: admitted };
                    Ok(Lease { pid: u32::try_from(attempt.0).ok(), inventory: Arc::new(offering("t")), link: Box::new(link) })
                }
            }
        }
        .boxed()
    }
}

/// A connection that answers calls with the name of what was called.
struct FakeLink {
    name: ServerName,
    world: FakeConnector,
    _admitted: Admitted,
}

impl Link for FakeLink {
    fn caller(&self) -> Arc<dyn Caller> {
        Arc::new(FakeCaller)
    }

    fn calls_in_flight(&self) -> usize {
        0
    }

    fn retire(self: Box<Self>, teardown: Teardown) -> BoxFuture<'static, ()> {
        async move { self.world.world().log.push(format!("retire {} {teardown:?}", self.name)) }.boxed()
    }
}

/// Answers calls with the name of what was called; see [`FakeConnector::relist`] for the exception.
pub(crate) struct FakeCaller;

impl Caller for FakeCaller {
    fn call_tool(
        &self,
        tool: String,
        _: Option<Value>,
        limits: CallLimits,
    ) -> BoxFuture<'static, Result<Value, CallError>> {
        async move {
            if tool == "hang" {
                limits.cancel.cancelled().await;
                return Err(CallError::Cancelled);
            }
            Ok(json!({ "called": tool }))
        }
        .boxed()
    }

    fn get_prompt(
        &self,
        prompt: String,
        _: Option<Value>,
        _: CallLimits,
    ) -> BoxFuture<'static, Result<Value, CallError>> {
        async move { Ok(json!({ "prompt": prompt })) }.boxed()
    }

    fn read_resource(&self, uri: String, _: CallLimits) -> BoxFuture<'static, Result<Value, CallError>> {
        async move { Ok(json!({ "resource": uri })) }.boxed()
    }
}

/// What many open servers offer, to fold again and again.
pub struct Offers(Vec<Offer>);

impl Offers {
    /// Each server offers this many tools.
    #[must_use]
    pub fn of(servers: impl IntoIterator<Item = ServerName>, tools: usize) -> Self {
        let tool = |index| {
            let name = format!("tool_{index}");
            let raw = json!({ "name": name });
            let input_schema = Arc::new(json!({ "type": "object" }));
            Arc::new(Tool { name, description: None, input_schema, raw })
        };
        let tools = Listing::Listed((0..tools).map(tool).collect());
        let inventory = Inventory { tools, ..Inventory::empty() };
        let view = View::default();
        Self(servers.into_iter().map(|server| Offer::of(&server, &inventory, &view)).collect())
    }

    /// The catalogue of all of them.
    #[must_use]
    pub fn fold(&self) -> Catalogue {
        Catalogue::fold(self.0.iter())
    }
}
