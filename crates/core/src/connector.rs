//! The seam to the outside world: how an admitted server becomes an open connection, and how it ends.

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    admission::Admitted, domain::View, failure::Failure, inventory::Inventory, questions::Questions,
};

/// The number of one attempt to connect. Everything about a connection names its attempt, so that a late answer for
/// an old edit can never land on a new one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Attempt(pub u64);

/// The parent's environment as a value: core never reads it itself.
#[derive(Clone, Debug, Default)]
pub struct ProcessEnv {
    /// For the user's own entries: everything but the tool's own secrets.
    pub full: Vec<(String, String)>,
    /// For gated entries: what a program needs to run.
    pub restricted: Vec<(String, String)>,
    /// The folder against which a relative `cwd` was resolved; where nothing else is said, children start here.
    pub root: PathBuf,
}

/// What a connection reports after it opened, in order.
#[derive(Debug)]
pub enum LinkEvent {
    /// The server's lists changed.
    Inventory(Attempt, Arc<Inventory>),
    /// The connection is gone; the handle must still be retired.
    Lost(Attempt, Failure),
}

/// One request to open a connection.
#[derive(Debug)]
pub struct OpenRequest {
    /// Which attempt this is.
    pub attempt: Attempt,
    /// The proof that the server may connect. It lives as long as the connection.
    pub admitted: Admitted,
    /// Cancelled when the attempt is superseded: the open ends soon, with everything it started gone. Once it is live,
    /// cancelled when a call that its end waits for may go on no longer.
    pub cancel: CancellationToken,
    /// Where to report what happens later.
    pub events: mpsc::UnboundedSender<LinkEvent>,
    /// Who shows the server's questions; `None` where nobody can.
    pub questions: Option<Arc<dyn Questions>>,
}

/// Opens connections. The future resolves once: to a live lease, or to a failure with nothing left behind.
pub trait Connector: Send + Sync + 'static {
    /// Connects, shakes hands and lists, within the discovery limit of the entry's view.
    fn open(&self, request: OpenRequest) -> BoxFuture<'static, Result<Lease, Failure>>;
}

/// A live connection, owned by one slot. Dropping it without [`Link::retire`] ends it as a program exit would.
pub struct Lease {
    /// The process id of the direct child, which is its process group; `None` for remote servers.
    pub pid: Option<u32>,
    /// What it offered when it opened.
    pub inventory: Arc<Inventory>,
    /// The connection itself.
    pub link: Box<dyn Link>,
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lease").field("pid", &self.pid).finish_non_exhaustive()
    }
}

/// The owner's end of a connection.
pub trait Link: Send + Sync + 'static {
    /// A handle for calls; it stays valid, and answers with an error once the connection is gone.
    fn caller(&self) -> Arc<dyn Caller>;
    /// How many calls are running.
    fn calls_in_flight(&self) -> usize;
    /// Ends the connection by the ladder of its cause; resolves when its process group is gone.
    fn retire(self: Box<Self>, teardown: Teardown) -> BoxFuture<'static, ()>;
}

/// Why a connection ends; decides how much time it gets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Teardown {
    /// It answered an attempt that nobody wants any more: SIGTERM at once, SIGKILL after 250 ms.
    NeverLive,
    /// Its entry changed or left: a running call may finish for 5 s, then stdin is closed, SIGTERM after 300 ms,
    /// SIGKILL after 2 s.
    Drain,
    /// Somebody asked for a new connection: as [`Teardown::Drain`], and nobody joins the old one any more.
    Renew,
    /// It may no longer be connected: as idle; a running call ends at once with the interruption error.
    Verdict,
    /// It broke by itself: what is left of its group is ended.
    Lost,
    /// The program ends.
    Exit,
}

impl Teardown {
    /// How long a running call may go on before the ladder begins.
    pub const DRAIN: Duration = Duration::from_secs(5);
    /// Whether a running call may go on for a while.
    #[must_use]
    pub fn lets_calls_finish(self) -> bool {
        match self {
            Self::Drain | Self::Renew => true,
            Self::NeverLive | Self::Verdict | Self::Lost | Self::Exit => false,
        }
    }

    /// How long after the ladder began the next connection of the same name is held back at most.
    pub const LADDER: Duration = Duration::from_millis(2500);
}

/// A limit and a way out for one call.
#[derive(Clone, Debug)]
pub struct CallLimits {
    /// For the whole call.
    pub total: Duration,
    /// Without progress.
    pub idle: Duration,
    /// Cancels the call; the server is told.
    pub cancel: CancellationToken,
    /// Where progress goes, if anybody wants it.
    pub progress: Option<mpsc::UnboundedSender<Progress>>,
}

impl CallLimits {
    /// The limits of a view, with a fresh way out and nobody listening to progress.
    #[must_use]
    pub fn of(view: &View) -> Self {
        Self {
            total: view.call_timeout,
            idle: view.idle_timeout,
            cancel: CancellationToken::new(),
            progress: None,
        }
    }
}

/// One progress notice of a running call.
#[derive(Clone, PartialEq, Debug)]
pub struct Progress {
    /// Grows with each notice, and begins anew where the server asked something in between.
    pub progress: f64,
    /// The end, where the server knows it.
    pub total: Option<f64>,
    /// What the server is doing.
    pub message: Option<String>,
}

/// Uses a connection. Never sends a request twice: a server that asks something back before it answers has given the
/// request up, and what follows is a new one with the answers, up to ten in all.
pub trait Caller: Send + Sync + 'static {
    /// `tools/call` with the server's own tool name; the result is the server's, `isError` included.
    fn call_tool(
        &self,
        tool: String,
        arguments: Option<Value>,
        limits: CallLimits,
    ) -> BoxFuture<'static, Result<Value, CallError>>;
    /// `prompts/get`.
    fn get_prompt(
        &self,
        prompt: String,
        arguments: Option<Value>,
        limits: CallLimits,
    ) -> BoxFuture<'static, Result<Value, CallError>>;
    /// `resources/read`.
    fn read_resource(&self, uri: String, limits: CallLimits) -> BoxFuture<'static, Result<Value, CallError>>;
}

/// Why a call did not answer.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum CallError {
    /// The connection was replaced or closed by an edit or a decision while the call ran.
    #[error(
        "the call was interrupted: its server was reloaded or closed while it ran; the outcome is unknown"
    )]
    Interrupted,
    /// The connection broke while the call ran, or was gone before it was sent.
    #[error("the connection was lost while the call ran: {0}")]
    Lost(String),
    /// The server did answer, but not in the protocol's own way: a status, another content type, too large. The
    /// connection may be as good as before.
    #[error("the call was not answered: {0}")]
    Unanswered(String),
    /// The server wanted to know something first, in place of an answer, and did not get it: it is nothing that it may ask,
    /// it does not stop asking, or nobody answered in time. It has nothing left to do.
    #[error("the server asked back instead of answering: {0}")]
    AskedBack(String),
    /// The whole time was used up; the server was told.
    #[error("no answer within {0:?}; the server was told to stop")]
    TimedOut(Duration),
    /// No progress for too long; the server was told.
    #[error("no progress for {0:?}; the server was told to stop")]
    Idle(Duration),
    /// The caller gave up; the server was told.
    #[error("cancelled")]
    Cancelled,
    /// The server gave up, with its reason.
    #[error("cancelled by the server{}", .0.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default())]
    CancelledByServer(Option<String>),
    /// The server answered with a protocol error.
    #[error("the server answered with error {code}: {message}")]
    Protocol {
        /// JSON-RPC code.
        code: i64,
        /// The server's text, masked.
        message: String,
        /// The server's data.
        data: Option<Value>,
    },
}
