//! What does a session hold of a connection that others may hold too? Owns the calls of one lease, how they end with it,
//! and its return to the pool; the connection itself belongs to the task.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use serde_json::Value;
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    machine::{Holder, Proof},
    task::Command,
};
use crate::connector::{CallError, CallLimits, Caller, Link, Teardown};

/// A session's end of a connection.
pub(super) struct Leased {
    back: GiveBack,
    /// Cancelled when a call that a drain waits for may go on no longer.
    hurry: CancellationToken,
    /// Nobody holds a connection without having been admitted; this is kept for as long as it is held.
    _proof: Proof,
}

/// Returns the lease when it goes, however that happens.
struct GiveBack {
    calls: Arc<Calls>,
    holder: Holder,
    commands: mpsc::UnboundedSender<Command>,
    teardown: Teardown,
    done: Option<oneshot::Sender<()>>,
}

impl Drop for GiveBack {
    fn drop(&mut self) {
        self.calls.enter(Phase::Over);
        let (holder, teardown, done) = (self.holder, self.teardown, self.done.take());
        // A pool that has ended has closed everything.
        self.commands.send(Command::Release { holder, teardown, done }).ok();
    }
}

impl Leased {
    pub(super) fn new(
        holder: Holder,
        caller: Arc<dyn Caller>,
        proof: Proof,
        hurry: CancellationToken,
        commands: mpsc::UnboundedSender<Command>,
    ) -> Self {
        let calls = Arc::new(Calls::new(caller));
        // Without a word it ends as a program's end would end it.
        let back = GiveBack { calls, holder, commands, teardown: Teardown::Exit, done: None };
        Self { back, hurry, _proof: proof }
    }

    async fn end(mut self, teardown: Teardown) {
        self.back.teardown = teardown;
        if teardown.lets_calls_finish() {
            self.back.calls.enter(Phase::Draining);
            // Whatever still runs after that is interrupted.
            tokio::select! {
                () = self.hurry.cancelled() => {}
                _ = timeout(Teardown::DRAIN, self.back.calls.quiet()) => {}
            }
        }
        let (done, ended) = oneshot::channel();
        self.back.done = Some(done);
        drop(self);
        // A pool that has ended has closed everything.
        ended.await.ok();
    }
}

impl Link for Leased {
    fn caller(&self) -> Arc<dyn Caller> {
        Arc::new(LeaseCaller(Arc::clone(&self.back.calls)))
    }

    fn calls_in_flight(&self) -> usize {
        *self.back.calls.running.borrow()
    }

    fn retire(self: Box<Self>, teardown: Teardown) -> BoxFuture<'static, ()> {
        if teardown == Teardown::Renew {
            // Said at once, and not when the running calls have ended: what opens in its place is asked for next.
            self.back.commands.send(Command::Supersede(self.back.holder)).ok();
        }
        self.end(teardown).boxed()
    }
}

/// Whether a lease takes calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Live,
    /// Running calls go on, new ones are refused.
    Draining,
    Over,
}

/// The calls of one lease. It outlives the lease and answers with an error then.
struct Calls {
    caller: Arc<dyn Caller>,
    phase: watch::Sender<Phase>,
    running: watch::Sender<usize>,
}

impl Calls {
    fn new(caller: Arc<dyn Caller>) -> Self {
        let (phase, _) = watch::channel(Phase::Live);
        let (running, _) = watch::channel(0);
        Self { caller, phase, running }
    }

    fn enter(&self, next: Phase) {
        self.phase.send_if_modified(|phase| {
            let moves = *phase != Phase::Over && *phase != next;
            if moves {
                *phase = next;
            }
            moves
        });
    }

    async fn quiet(&self) {
        // The sender is ours, so waiting cannot fail.
        self.running.subscribe().wait_for(|running| *running == 0).await.ok();
    }

    async fn call(
        self: Arc<Self>,
        limits: CallLimits,
        call: impl FnOnce(&dyn Caller, CallLimits) -> BoxFuture<'static, Result<Value, CallError>>,
    ) -> Result<Value, CallError> {
        // Counted before the phase is read: whoever starts to drain sees this call or this call sees the drain.
        let _running = Running::new(&self);
        let mut phase = self.phase.subscribe();
        let now = *phase.borrow_and_update();
        match now {
            Phase::Live => {}
            Phase::Draining | Phase::Over => return Err(CallError::Interrupted),
        }
        let cancel = limits.cancel.child_token();
        let mut call = call(&*self.caller, CallLimits { cancel: cancel.clone(), ..limits });
        tokio::select! {
            biased;
            answer = &mut call => answer,
            () = over(&mut phase) => {
                cancel.cancel();
                // The server is told. An answer that is there already counts, and so does a better reason.
                match call.await {
                    Err(CallError::Cancelled) => Err(CallError::Interrupted),
                    answer => answer,
                }
            }
        }
    }
}

async fn over(phase: &mut watch::Receiver<Phase>) {
    // A sender that is gone is an end as well.
    phase.wait_for(|phase| *phase == Phase::Over).await.ok();
}

/// One running call in the count.
struct Running(Arc<Calls>);

impl Running {
    fn new(calls: &Arc<Calls>) -> Self {
        calls.running.send_modify(|running| *running += 1);
        Self(Arc::clone(calls))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.send_modify(|running| *running -= 1);
    }
}

/// A way to use a lease.
struct LeaseCaller(Arc<Calls>);

impl Caller for LeaseCaller {
    fn call_tool(
        &self,
        tool: String,
        arguments: Option<Value>,
        limits: CallLimits,
    ) -> BoxFuture<'static, Result<Value, CallError>> {
        let calls = Arc::clone(&self.0);
        calls.call(limits, |caller, limits| caller.call_tool(tool, arguments, limits)).boxed()
    }

    fn get_prompt(
        &self,
        prompt: String,
        arguments: Option<Value>,
        limits: CallLimits,
    ) -> BoxFuture<'static, Result<Value, CallError>> {
        let calls = Arc::clone(&self.0);
        calls.call(limits, |caller, limits| caller.get_prompt(prompt, arguments, limits)).boxed()
    }

    fn read_resource(&self, uri: String, limits: CallLimits) -> BoxFuture<'static, Result<Value, CallError>> {
        let calls = Arc::clone(&self.0);
        calls.call(limits, |caller, limits| caller.read_resource(uri, limits)).boxed()
    }
}
