//! How does a one-shot command connect? The same derived state, gate and engine as a session, for as long as it takes,
//! without a watcher. It decides nothing and prints nothing.

use std::{collections::BTreeSet, io, sync::Arc, time::Duration};

use qwen_core::{Config, Desired, Guard, Phase, ServerName, Status};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
    time::Instant,
};

use crate::{
    app::{App, StartError, commit},
    derive::Derived,
};

/// How long servers get at the end.
const TEARDOWN: Duration = Duration::from_secs(5);

/// Core, with a desired state committed to it.
pub(crate) struct OneShot {
    pub(crate) config: Arc<dyn Config>,
    pub(crate) status: watch::Receiver<Arc<Status>>,
}

/// Runs `work` while everything that `desired` admits is connected or on its way. Everything is closed before this returns; a second
/// interrupt ends it at once, and so does one that `work` does not take.
///
/// # Errors
/// The process gets no threads or no signals.
pub(crate) fn run<T>(
    app: &App,
    desired: Desired,
    work: impl AsyncFnOnce(&mut OneShot, &mut Interrupts) -> T,
) -> Result<Outcome<T>, StartError> {
    let runtime = app.runtime()?;
    let guard = app.guard();
    let done = runtime.block_on(connected(app, guard.clone(), desired, work));
    // What the polite way did not reach; the runtime is not needed for it.
    guard.kill_all_groups();
    runtime.shutdown_background();
    done.map_err(StartError::Surroundings)
}

/// How the work ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Outcome<T> {
    /// By itself.
    Done(T),
    /// By an interrupt.
    Interrupted,
}

async fn connected<T>(
    app: &App,
    guard: Guard,
    desired: Desired,
    work: impl AsyncFnOnce(&mut OneShot, &mut Interrupts) -> T,
) -> io::Result<Outcome<T>> {
    let mut interrupts = Interrupts::listen()?;
    let mut closing = Interrupts::listen()?;
    let config = app.config(guard.clone());
    config.initialize();
    if let Err(error) = commit(&*config, desired).await {
        tracing::debug!(%error, "nothing is connected");
    }
    let mut one_shot = OneShot { status: config.status(), config: Arc::clone(&config) };
    let done = work(&mut one_shot, &mut interrupts).await;
    let outcome = if interrupts.was_taken { Outcome::Interrupted } else { Outcome::Done(done) };
    // Only interrupts that come from here on cut the polite way short.
    closing.forget();
    tokio::select! {
        () = config.shutdown(TEARDOWN) => {}
        () = closing.next() => guard.kill_all_groups(),
    }
    Ok(outcome)
}

impl OneShot {
    /// Waits until nothing is on its way any more, or what is looked for is there, or the time is up, or an interrupt
    /// comes; gives the status then.
    pub(crate) async fn settled(
        &mut self,
        limit: Duration,
        interrupts: &mut Interrupts,
        found: impl Fn(&Status) -> bool,
    ) -> Arc<Status> {
        let deadline = Instant::now() + limit;
        let mut status = self.status.clone();
        let is_opening = |status: &Status| {
            status.servers.values().any(|server| matches!(server.phase, Phase::Connecting(_)))
        };
        let quiet = status.wait_for(|status| found(status) || !is_opening(status));
        tokio::select! {
            _ = quiet => {}
            () = tokio::time::sleep_until(deadline) => {}
            () = interrupts.next() => {}
        }
        Arc::clone(&self.status.borrow())
    }
}

/// Ctrl-C and requests to end.
pub(crate) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    was_taken: bool,
}

impl Interrupts {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            was_taken: false,
        })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
        self.was_taken = true;
    }

    fn forget(&mut self) {
        use futures::FutureExt as _;
        while self.interrupt.recv().now_or_never().is_some() || self.terminate.recv().now_or_never().is_some()
        {
        }
    }

    /// Whether one was taken.
    pub(crate) fn was_taken(&self) -> bool {
        self.was_taken
    }
}

/// The desired state with these servers alone: no other process is started.
pub(crate) fn only(derived: &Derived, names: &BTreeSet<ServerName>) -> Desired {
    let mut desired = derived.desired();
    desired.servers.retain(|name, _| names.contains(name));
    desired
}
