//! Who shares a connection with whom? A [`Connector`] over another one that opens at most one connection per key and
//! lends it out, one lease for each attempt of each session. Knows no transport, and never decides who may connect.
//!
//! There is one path: a connection that is not shared is an entry whose key nobody else can name. What happens to
//! entries is decided by `machine`, without I/O; `task` is the thin shell around it, and `lease` is what a session holds.

mod acquire;
mod lease;
mod machine;
mod task;

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use futures::{FutureExt, future::BoxFuture};
use tokio::sync::mpsc;

use crate::{
    connector::{Connector, Lease, OpenRequest},
    failure::Failure,
};
use acquire::acquire;
use machine::Holder;
use task::{Command, Task};

/// Lends connections that another connector opens. One per process: clone it for every session.
///
/// An entry with `pool: "shared"` is connected once for all sessions that have it under the same name with the same
/// fingerprint, and stays for [`Pool::LINGER`] after the last of them ended while other sessions go on. Every other connection belongs to one
/// session and ends with its lease.
///
/// ```
/// use std::sync::Arc;
/// use qwen_core::{Client, DirectConnector, Guard, LaunchBound, Manager, Pool, ProcessEnv};
/// let client = Client { name: "qwen".to_owned(), version: "1.0.0".to_owned() };
/// let direct = DirectConnector::new(ProcessEnv::default(), Guard::without_process(), client);
/// let pool = Pool::new(Arc::new(direct));
/// let one = Manager::new(LaunchBound::Unbounded, Arc::new(pool.clone()));
/// let other = Manager::new(LaunchBound::Unbounded, Arc::new(pool));
/// ```
#[derive(Clone)]
pub struct Pool(Arc<Shared>);

struct Shared {
    commands: mpsc::UnboundedSender<Command>,
    /// Until the first connection: only then is there a runtime for certain.
    unstarted: Mutex<Option<Task>>,
    last_holder: AtomicU64,
}

impl Pool {
    /// How long a shared connection stays after the last session that had it ended.
    pub const LINGER: std::time::Duration = machine::LINGER;

    /// A pool over the connector that does the connecting.
    #[must_use]
    pub fn new(inner: Arc<dyn Connector>) -> Self {
        let (commands, inbox) = mpsc::unbounded_channel();
        let task = Task::new(inner, inbox);
        Self(Arc::new(Shared { commands, unstarted: Mutex::new(Some(task)), last_holder: AtomicU64::new(0) }))
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").finish_non_exhaustive()
    }
}

impl Connector for Pool {
    fn open(&self, request: OpenRequest) -> BoxFuture<'static, Result<Lease, Failure>> {
        let Shared { commands, unstarted, last_holder } = &*self.0;
        let unstarted = unstarted.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = unstarted {
            tokio::spawn(task.run());
        }
        let holder = Holder(last_holder.fetch_add(1, Ordering::Relaxed) + 1);
        // It is asked for now, not when the future is first polled: connections start in the order they were asked for.
        acquire(holder, request, commands.clone()).boxed()
    }
}

#[cfg(test)]
mod tests;
