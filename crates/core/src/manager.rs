//! The one implementation of [`Config`]: stages, numbers and commits what is desired, and routes what is used.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use indexmap::IndexMap;
use serde_json::Value;
use tokio::sync::{OwnedMutexGuard, mpsc, oneshot, watch};

use crate::{
    config::{CallOptions, Commit, CommitError, Config, McpUpdate, RuntimeAdded, RuntimeRemoved, UseError},
    connector::Connector,
    domain::{
        AllowList, Desired, Entry, FolderTrust, Gating, LaunchBound, Pattern, Pending, ServerName, ServerSpec,
    },
    driver::{Committed, Driver, Inputs, Request, Route, Routes},
    layers::Layers,
    questions::Questions,
    status::{Phase, Status},
    unavailable::{Unavailable, nearest, server_unavailable, tool_unavailable},
};

/// One session. Made by [`Manager::new`]; starts with [`Config::initialize`].
pub struct Manager {
    shared: Arc<Shared>,
    /// One update at a time; whoever holds the guard is the update.
    updates: Arc<tokio::sync::Mutex<()>>,
}

struct Shared {
    bound: LaunchBound,
    connector: Arc<dyn Connector>,
    questions: Option<Arc<dyn Questions>>,
    state: Mutex<State>,
    desired: watch::Sender<Committed>,
    requests: mpsc::UnboundedSender<Request>,
    status: watch::Receiver<Arc<Status>>,
    routes: watch::Receiver<Arc<Routes>>,
}

/// What was committed last, and how often.
struct State {
    layers: Layers,
    desired: Arc<Desired>,
    generation: u64,
    phase: Life,
}

enum Life {
    /// Updates are recorded and connect nothing. Holds what the driver will own.
    Recording(Option<Inputs>, Recorded),
    Running,
}

/// Whether there is anything to start with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Recorded {
    Nothing,
    Something,
}

impl Manager {
    /// A session that connects nothing until it is initialised. `bound` holds for its whole life.
    #[must_use]
    pub fn new(bound: LaunchBound, connector: Arc<dyn Connector>) -> Self {
        Self::made(bound, connector, None)
    }

    /// The same, with somebody who shows what servers ask the person.
    #[must_use]
    pub fn with_questions(
        bound: LaunchBound,
        connector: Arc<dyn Connector>,
        questions: Arc<dyn Questions>,
    ) -> Self {
        Self::made(bound, connector, Some(questions))
    }

    fn made(
        bound: LaunchBound,
        connector: Arc<dyn Connector>,
        questions: Option<Arc<dyn Questions>>,
    ) -> Self {
        let (desired, desired_rx) = watch::channel(None);
        let (requests, requests_rx) = mpsc::unbounded_channel();
        let (status_tx, status) = watch::channel(Arc::default());
        let (routes_tx, routes) = watch::channel(Arc::default());
        let inputs =
            Inputs { desired: desired_rx, requests: requests_rx, status: status_tx, routes: routes_tx };
        let state = State {
            layers: Layers::default(),
            desired: Arc::default(),
            generation: 0,
            phase: Life::Recording(Some(inputs), Recorded::Nothing),
        };
        let state = Mutex::new(state);
        let shared = Shared { bound, connector, questions, state, desired, requests, status, routes };
        Self { shared: Arc::new(shared), updates: Arc::default() }
    }
}

/// What an update stages beside the servers.
#[derive(Default)]
struct Staged {
    excluded: Option<BTreeSet<Pattern>>,
    allowed: Option<AllowList>,
    pending: Option<BTreeMap<ServerName, Pending>>,
    folder: Option<FolderTrust>,
    unreadable: Option<Vec<String>>,
}

struct Update {
    shared: Arc<Shared>,
    staged: Staged,
    _guard: OwnedMutexGuard<()>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while it was held cannot have left it half-written: every change is one assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes one new desired state of the old one and commits it. Before `initialize` it is only recorded.
    fn commit(&self, edit: impl FnOnce(&mut Layers, &mut Desired)) -> u64 {
        let mut state = self.state();
        let mut desired = Desired { servers: IndexMap::new(), ..without_servers(&state.desired) };
        edit(&mut state.layers, &mut desired);
        desired.servers = state.layers.effective();
        state.desired = Arc::new(desired);
        match &mut state.phase {
            Life::Recording(_, recorded) => {
                *recorded = Recorded::Something;
                0
            }
            Life::Running => self.send(&mut state),
        }
    }

    fn send(&self, state: &mut State) -> u64 {
        state.generation += 1;
        self.desired.send_replace(Some((state.generation, Arc::clone(&state.desired))));
        state.generation
    }

    async fn planned(&self, generation: u64) -> Result<(), CommitError> {
        let mut status = self.status.clone();
        let planned = status.wait_for(|status| status.observed >= generation).await;
        planned.map(|_| ()).map_err(|_| CommitError::Ended)
    }

    /// A commit of a layer other than the settings; when the session has ended there is nothing to wait for.
    async fn commit_layer(&self, edit: impl FnOnce(&mut Layers)) {
        let generation = self.commit(|layers, _| edit(layers));
        if self.planned(generation).await.is_err() {
            tracing::debug!(generation, "the session ended before the commit was planned");
        }
    }

    fn current(&self) -> Arc<Status> {
        Arc::clone(&self.status.borrow())
    }

    fn route(&self, server: &ServerName) -> Option<Route> {
        self.routes.borrow().get(server).cloned()
    }
}

/// The desired state without its servers, which the layers give.
fn without_servers(desired: &Desired) -> Desired {
    let Desired { servers: _, gating, folder, unreadable } = desired;
    Desired {
        servers: IndexMap::new(),
        gating: gating.clone(),
        folder: *folder,
        unreadable: unreadable.clone(),
    }
}

impl Config for Manager {
    fn initialize(&self) {
        let mut state = self.shared.state();
        if let Life::Recording(inputs, recorded) = &mut state.phase
            && let Some(inputs) = inputs.take()
        {
            let recorded = *recorded;
            let Shared { bound, connector, questions, .. } = &*self.shared;
            let driver = Driver::new(bound.clone(), Arc::clone(connector), questions.clone(), inputs);
            tokio::spawn(driver.run());
            state.phase = Life::Running;
            // Where nothing was recorded the first commit is the caller's, and its number is 1.
            if recorded == Recorded::Something {
                self.shared.send(&mut state);
            }
        }
    }

    fn begin_mcp_update(&self) -> BoxFuture<'_, Box<dyn McpUpdate>> {
        async move {
            let guard = Arc::clone(&self.updates).lock_owned().await;
            let update =
                Update { shared: Arc::clone(&self.shared), staged: Staged::default(), _guard: guard };
            Box::new(update) as Box<dyn McpUpdate>
        }
        .boxed()
    }

    fn get_mcp_servers(&self) -> Arc<Desired> {
        Arc::clone(&self.shared.state().desired)
    }

    fn get_settings_mcp_servers(&self) -> Arc<IndexMap<ServerName, Entry>> {
        Arc::clone(&self.shared.state().layers.settings)
    }

    fn get_mcp_gating(&self) -> Gating {
        self.shared.state().desired.gating.clone()
    }

    fn get_cli_allowed_mcp_server_names(&self) -> LaunchBound {
        self.shared.bound.clone()
    }

    fn get_mcp_server_unavailable_reason(&self, name: &ServerName) -> Option<Unavailable> {
        server_unavailable(&self.shared.current(), name)
    }

    fn get_tool_unavailable_reason(&self, tool: &str) -> Option<Unavailable> {
        tool_unavailable(&self.shared.current(), tool)
    }

    fn status(&self) -> watch::Receiver<Arc<Status>> {
        self.shared.status.clone()
    }

    fn add_runtime_mcp_server(&self, name: ServerName, spec: ServerSpec) -> BoxFuture<'_, RuntimeAdded> {
        async move {
            let entry = Entry::Valid(Arc::new(spec));
            let (mut replaced, mut shadows_settings) = (false, false);
            let key = name.clone();
            self.shared
                .commit_layer(|layers| {
                    shadows_settings = layers.settings.contains_key(&key);
                    replaced = layers.runtime.insert(key, entry).is_some();
                })
                .await;
            let refusal = match self.shared.current().servers.get(&name).map(|server| &server.phase) {
                Some(Phase::Refused(refusal)) => Some(refusal.clone()),
                Some(Phase::Connected(_) | Phase::Connecting(_) | Phase::Failed { .. }) | None => None,
            };
            RuntimeAdded { replaced, shadows_settings, refusal }
        }
        .boxed()
    }

    fn remove_runtime_mcp_server(&self, name: &ServerName) -> BoxFuture<'_, RuntimeRemoved> {
        let name = name.clone();
        async move {
            if !self.shared.state().layers.runtime.contains_key(&name) {
                return RuntimeRemoved::NotPresent;
            }
            let mut removed = RuntimeRemoved::NotPresent;
            self.shared
                .commit_layer(|layers| {
                    if layers.runtime.shift_remove(&name).is_some() {
                        let uncovered_settings = layers.settings.contains_key(&name);
                        removed = RuntimeRemoved::Removed { uncovered_settings };
                    }
                })
                .await;
            removed
        }
        .boxed()
    }

    fn set_extension_mcp_servers(&self, servers: IndexMap<ServerName, Entry>) -> BoxFuture<'_, ()> {
        self.shared.commit_layer(|layers| layers.extensions = servers).boxed()
    }

    fn call_tool(
        &self,
        tool: &str,
        arguments: Option<Value>,
        options: CallOptions,
    ) -> BoxFuture<'_, Result<Value, UseError>> {
        let status = self.shared.current();
        let found = status.catalogue.tools.get(tool).cloned();
        let missing = tool_unavailable(&status, tool).unwrap_or_else(|| Unavailable::Unknown {
            nearest: nearest(tool, status.catalogue.tools.keys().map(|name| &**name)),
        });
        async move {
            let Some(found) = found else { return Err(UseError::Unavailable(Box::new(missing))) };
            let route = self.route(&found.server)?;
            let limits = options.limits(&route.spec.view);
            Ok(route.caller.call_tool(found.tool.clone(), arguments, limits).await?)
        }
        .boxed()
    }

    fn get_prompt(
        &self,
        prompt: &str,
        arguments: Option<Value>,
        options: CallOptions,
    ) -> BoxFuture<'_, Result<Value, UseError>> {
        let status = self.shared.current();
        let found = status.catalogue.prompts.get(prompt).cloned();
        let nearest = nearest(prompt, status.catalogue.prompts.keys().map(|name| &**name));
        async move {
            let Some(found) = found else {
                return Err(UseError::Unavailable(Box::new(Unavailable::Unknown { nearest })));
            };
            let route = self.route(&found.server)?;
            let limits = options.limits(&route.spec.view);
            Ok(route.caller.get_prompt(found.prompt.clone(), arguments, limits).await?)
        }
        .boxed()
    }

    fn read_resource(
        &self,
        server: &ServerName,
        uri: &str,
        options: CallOptions,
    ) -> BoxFuture<'_, Result<Value, UseError>> {
        let (server, uri) = (server.clone(), uri.to_owned());
        async move {
            let route = self.route(&server)?;
            let limits = options.limits(&route.spec.view);
            Ok(route.caller.read_resource(uri, limits).await?)
        }
        .boxed()
    }

    fn reconnect(&self, name: &ServerName) -> BoxFuture<'_, Result<(), Unavailable>> {
        let name = name.clone();
        async move {
            let (reply, answer) = oneshot::channel();
            let sent = self.shared.requests.send(Request::Reconnect(name.clone(), reply));
            match (sent, answer.await) {
                (Ok(()), Ok(Ok(()))) => Ok(()),
                (Ok(()), Ok(Err(Some(refusal)))) => Err(Unavailable::Refused { server: name, refusal }),
                (Ok(()), Ok(Err(None))) | (Ok(()), Err(_)) | (Err(_), _) => {
                    let unknown = Unavailable::Unknown { nearest: Vec::new() };
                    Err(server_unavailable(&self.shared.current(), &name).unwrap_or(unknown))
                }
            }
        }
        .boxed()
    }

    fn shutdown(&self, deadline: Duration) -> BoxFuture<'_, ()> {
        async move {
            let (done, ended) = oneshot::channel();
            // Where the driver has gone already, so has everything it opened.
            if self.shared.requests.send(Request::ShutDown(deadline, done)).is_ok() {
                ended.await.ok();
            }
        }
        .boxed()
    }
}

impl Manager {
    /// The way to an open connection, or why there is none. It is asked at every use: the gate may have closed since.
    fn route(&self, server: &ServerName) -> Result<Route, UseError> {
        self.shared.route(server).ok_or_else(|| {
            let gone = Unavailable::Connecting { server: server.clone() };
            UseError::Unavailable(Box::new(
                server_unavailable(&self.shared.current(), server).unwrap_or(gone),
            ))
        })
    }
}

impl McpUpdate for Update {
    fn set_excluded_mcp_servers(&mut self, excluded: BTreeSet<Pattern>) {
        self.staged.excluded = Some(excluded);
    }

    fn set_allowed_mcp_servers(&mut self, allowed: AllowList) {
        self.staged.allowed = Some(allowed);
    }

    fn set_pending_mcp_servers(&mut self, pending: BTreeMap<ServerName, Pending>) {
        self.staged.pending = Some(pending);
    }

    fn set_folder_trust(&mut self, folder: FolderTrust) {
        self.staged.folder = Some(folder);
    }

    fn set_unreadable_sources(&mut self, sources: Vec<String>) {
        self.staged.unreadable = Some(sources);
    }

    fn reinitialize_mcp_servers(
        self: Box<Self>,
        servers: IndexMap<ServerName, Entry>,
    ) -> BoxFuture<'static, Result<Commit, CommitError>> {
        async move {
            let Self { shared, staged, _guard } = *self;
            let generation = shared.commit(|layers, desired| {
                layers.settings = Arc::new(servers);
                let Staged { excluded, allowed, pending, folder, unreadable } = staged;
                let gating = &mut desired.gating;
                gating.excluded = excluded.unwrap_or_else(|| std::mem::take(&mut gating.excluded));
                gating.allowed = allowed.unwrap_or_else(|| std::mem::take(&mut gating.allowed));
                gating.pending = pending.unwrap_or_else(|| std::mem::take(&mut gating.pending));
                desired.folder = folder.unwrap_or(desired.folder);
                desired.unreadable = unreadable.unwrap_or_else(|| std::mem::take(&mut desired.unreadable));
            });
            shared.planned(generation).await?;
            let mut status = shared.status.clone();
            let settled = async move {
                let is_settled = |status: &Arc<Status>| {
                    status.observed >= generation && !status.unsettled.contains(&generation)
                };
                // An ended session opens nothing any more.
                status.wait_for(is_settled).await.ok();
            };
            Ok(Commit { generation, settled: settled.boxed() })
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
