//! Which calls run on a connection? Owns the callers' end of it: the count of running calls, whether new ones are taken,
//! and the three ways to use a server. How one call runs is not its business, nor when the connection ends.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::{answers::Answers, call::Call, peer::Asker, phase::Phase};
use crate::connector::{CallError, CallLimits, Caller};

/// The callers' end of a connection. It outlives the connection and answers with an error then.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) asker: Asker,
    /// Who answers a server that asks back; `None` where a result is always an answer.
    pub(super) asked_back: Option<Answers>,
    phase: watch::Sender<Phase>,
    running: watch::Sender<usize>,
}

/// One running call in the count.
#[derive(Debug)]
pub(super) struct Running(Arc<Calls>);

impl Calls {
    pub(super) fn new(asker: Asker, asked_back: Option<Answers>) -> Self {
        let (phase, _) = watch::channel(Phase::Live);
        let (running, _) = watch::channel(0);
        Self { asker, asked_back, phase, running }
    }

    pub(super) fn running(&self) -> usize {
        *self.running.borrow()
    }

    /// Resolves when no call is running and none is being called off.
    pub(super) async fn quiet(&self) {
        // The sender is ours, so waiting cannot fail.
        self.running.subscribe().wait_for(|running| *running == 0).await.ok();
    }

    pub(super) fn phase(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    /// Moves on, and never back: an end that was told stays.
    pub(super) fn enter(&self, next: Phase) {
        self.phase.send_if_modified(|phase| {
            let moves = match (&*phase, &next) {
                (Phase::Live, _) => true,
                (Phase::Draining, Phase::Interrupted | Phase::Lost(_)) => true,
                (Phase::Draining, Phase::Live | Phase::Draining) => false,
                (Phase::Interrupted | Phase::Lost(_), _) => false,
            };
            if moves {
                *phase = next;
            }
            moves
        });
    }

    async fn call(
        self: Arc<Self>,
        method: &'static str,
        params: Map<String, Value>,
        limits: CallLimits,
    ) -> Result<Value, CallError> {
        // Counted before the phase is read: whoever starts to drain sees this call or this call sees the drain.
        let running = Arc::new(Running::new(Arc::clone(&self)));
        if let Some(refusal) = self.phase.borrow().refusal() {
            return Err(refusal);
        }
        if limits.cancel.is_cancelled() {
            return Err(CallError::Cancelled);
        }
        Call::new(self, method, limits, running).run(params).await
    }
}

impl Running {
    fn new(calls: Arc<Calls>) -> Self {
        calls.running.send_modify(|running| *running += 1);
        Self(calls)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.send_modify(|running| *running -= 1);
    }
}

/// A way to use a connection.
#[derive(Clone, Debug)]
pub(super) struct LinkCaller(pub(super) Arc<Calls>);

impl LinkCaller {
    fn call(
        &self,
        method: &'static str,
        fields: [(&str, Option<Value>); 2],
        limits: CallLimits,
    ) -> BoxFuture<'static, Result<Value, CallError>> {
        let params: Map<String, Value> =
            fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        Arc::clone(&self.0).call(method, params, limits).boxed()
    }
}

impl Caller for LinkCaller {
    fn call_tool(
        &self,
        tool: String,
        arguments: Option<Value>,
        limits: CallLimits,
    ) -> BoxFuture<'static, Result<Value, CallError>> {
        self.call("tools/call", [("name", Some(tool.into())), ("arguments", arguments)], limits)
    }

    fn get_prompt(
        &self,
        prompt: String,
        arguments: Option<Value>,
        limits: CallLimits,
    ) -> BoxFuture<'static, Result<Value, CallError>> {
        self.call("prompts/get", [("name", Some(prompt.into())), ("arguments", arguments)], limits)
    }

    fn read_resource(&self, uri: String, limits: CallLimits) -> BoxFuture<'static, Result<Value, CallError>> {
        self.call("resources/read", [("uri", Some(uri.into())), ("", None)], limits)
    }
}
