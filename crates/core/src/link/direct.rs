//! How does an admitted server become an open connection? Owns the order of the steps and what is undone when one of
//! them fails; each step itself is elsewhere.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use rmcp::service::serve_directly;
use serde_json::Value;
use tokio::{
    process::ChildStdout,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    answers::Answers,
    call::Calls,
    handshake::{Agreed, NoAgreement, shake},
    listing::{self, NoList, Offered},
    live::{Lister, Live, Service, Watcher},
    peer::Asker,
    permits::{Permits, Ticket},
    tap::{Changes, Tap},
    vitals::{REASON, Vitals},
};
use crate::{
    connector::{Connector, Lease, OpenRequest, ProcessEnv, Teardown},
    domain::{ServerSpec, Stdio, VersionNegotiation, Wire},
    failure::{Failure, FailureKind},
    transport::{
        Guard,
        launch::{prepare, spawn_failure},
        outbox::Outbox,
        process::ServerProcess,
        spawn::spawn_server,
        stderr::Stderr,
        stdio::StdioTransport,
    },
};

/// So many processes may be starting at a time.
const STARTING: usize = 16;
/// A process that runs for this long no longer counts as starting, whether it answers or not.
const STARTED: Duration = Duration::from_millis(250);
/// What a start that was given up gets to come to its end by itself.
const GIVEN_UP: Duration = Duration::from_millis(500);

/// Who we say we are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Client {
    /// The program's name, which servers see and may log.
    pub name: String,
    /// The program's version.
    pub version: String,
}

/// Opens one connection for each request, shared with nobody.
///
/// ```
/// use qwen_core::{Client, DirectConnector, Guard, ProcessEnv};
/// let client = Client { name: "qwen".to_owned(), version: "1.0.0".to_owned() };
/// let env = ProcessEnv { root: "/project".into(), ..ProcessEnv::default() };
/// let connector = DirectConnector::new(env, Guard::without_process(), client);
/// ```
#[derive(Clone, Debug)]
pub struct DirectConnector {
    shared: Arc<Shared>,
    permits: Permits,
}

#[derive(Debug)]
struct Shared {
    env: ProcessEnv,
    guard: Guard,
    client: Client,
}

impl DirectConnector {
    /// A connector whose children get what `env` says, are known to `guard`, and hear of `client`.
    #[must_use]
    pub fn new(env: ProcessEnv, guard: Guard, client: Client) -> Self {
        Self { shared: Arc::new(Shared { env, guard, client }), permits: Permits::new(STARTING) }
    }
}

impl Connector for DirectConnector {
    fn open(&self, request: OpenRequest) -> BoxFuture<'static, Result<Lease, Failure>> {
        match request.admitted.spec().wire() {
            Wire::Stdio(_) => {
                // The place in the queue is taken now, not when the future is first polled.
                let ticket = self.permits.ticket();
                open_stdio(Arc::clone(&self.shared), ticket, request).boxed()
            }
            Wire::Http(_) | Wire::Sse(_) => {
                let failure = Failure::new(FailureKind::Unsupported, "remote servers are not supported yet");
                std::future::ready(Err(failure)).boxed()
            }
        }
    }
}

/// A process that was just started, with its ends of the pipes.
struct Started {
    process: ServerProcess,
    output: ChildStdout,
    outbox: Outbox,
    stderr: Stderr,
}

async fn open_stdio(shared: Arc<Shared>, ticket: Ticket, request: OpenRequest) -> Result<Lease, Failure> {
    let cancel = request.cancel.clone();
    let permit = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(aborted()),
        permit = ticket.permit() => permit,
    };
    let spec = Arc::clone(request.admitted.spec());
    let limit = spec.view.discovery_timeout;
    let deadline = Instant::now() + limit;
    let started = start(&shared, &spec, &cancel, deadline).await?;
    tokio::spawn(async move {
        tokio::time::sleep(STARTED).await;
        drop(permit);
    });
    tracing::debug!(
        server = %request.admitted.name(), attempt = request.attempt.0, pid = started.process.pid(),
        "the server's process runs"
    );

    let root = file_uri(&shared.env.root);
    let answers = Answers::new(request.admitted.name(), &spec, root, request.questions.clone());
    let conversation = Conversation::begin(answers, &spec, started);
    let talked = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(aborted()),
        // First the talk: what a server said before it ended tells how far it came.
        talked = conversation.talk(&shared.client, &spec, deadline) => talked,
        failure = conversation.vitals.lost() => Err(conversation.ended(failure)),
    };
    match talked {
        Ok((agreed, offered)) => Ok(conversation.go_live(request, agreed, offered, limit)),
        Err(failure) => Err(conversation.give_up(failure).await),
    }
}

/// Starts the process on a thread that may block: the folder may lie on a file system that hangs.
async fn start(
    shared: &Arc<Shared>,
    spec: &Arc<ServerSpec>,
    cancel: &CancellationToken,
    deadline: Instant,
) -> Result<Started, Failure> {
    let (shared, spec) = (Arc::clone(shared), Arc::clone(spec));
    let masks = spec.masks.clone();
    let mut starting = tokio::task::spawn_blocking(move || match spec.wire() {
        Wire::Stdio(stdio) => start_now(stdio, &shared),
        Wire::Http(_) | Wire::Sse(_) => Err(Failure::new(FailureKind::Unsupported, "not a process")),
    });
    let outcome = tokio::select! {
        biased;
        () = cancel.cancelled() => {
            // Whatever comes of it later ends by the drop of its handle.
            if let Ok(Ok(Ok(started))) = timeout(GIVEN_UP, starting).await {
                started.process.end(Teardown::NeverLive).await;
            }
            return Err(aborted());
        }
        outcome = timeout_at(deadline, &mut starting) => outcome,
    };
    match outcome {
        Ok(Ok(started)) => started.map_err(|mut failure| {
            failure.message = crate::mask::mask_text(&failure.message, &masks);
            failure
        }),
        Ok(Err(error)) => {
            Err(Failure::new(FailureKind::Spawn, format!("starting the server broke down: {error}")))
        }
        Err(_) => Err(Failure::new(
            FailureKind::Spawn,
            "the process could not be started in time; is its folder on a file system that hangs?",
        )),
    }
}

fn start_now(stdio: &Stdio, shared: &Shared) -> Result<Started, Failure> {
    let launch = prepare(stdio, &shared.env)?;
    let mut spawned =
        spawn_server(&launch, &shared.guard).map_err(|error| spawn_failure(&stdio.command, &error))?;
    let child = &mut spawned.child;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(input), Some(output), Some(errors)) = pipes else {
        return Err(Failure::new(FailureKind::Spawn, "the process started without its pipes"));
    };
    let stop = CancellationToken::new();
    let outbox = Outbox::start(input, stop.clone());
    let process = ServerProcess::adopt(spawned, outbox.clone(), stop);
    Ok(Started { process, output, outbox, stderr: Stderr::drain(errors) })
}

/// A process that is being talked to for the first time.
struct Conversation {
    process: ServerProcess,
    service: Service,
    vitals: Vitals,
    changes: Arc<Changes>,
    shook_hands: AtomicBool,
    capabilities: Value,
    over: CancellationToken,
}

impl Conversation {
    fn begin(answers: Answers, spec: &ServerSpec, started: Started) -> Self {
        let transport =
            StdioTransport::new(started.output, started.outbox.clone(), Arc::new(AtomicU64::new(0)));
        let vitals = Vitals {
            exit: started.process.exit(),
            stream: transport.ended(),
            outbox: started.outbox,
            stderr: started.stderr,
            secrets: spec.masks.clone(),
        };
        let changes = Arc::new(Changes::default());
        let (capabilities, over) = (answers.capabilities(), answers.over());
        // The handshake is ours, since the library's cannot be bounded, checked or answered during.
        let service = serve_directly(answers, Tap::new(transport, Arc::clone(&changes)), None);
        Self {
            process: started.process,
            service,
            vitals,
            changes,
            shook_hands: AtomicBool::new(false),
            capabilities,
            over,
        }
    }

    /// Shakes hands and lists, within the deadline.
    async fn talk(
        &self,
        client: &Client,
        spec: &ServerSpec,
        deadline: Instant,
    ) -> Result<(Agreed, Offered), Failure> {
        let limit = spec.view.discovery_timeout.as_millis();
        let asker = Asker::new(self.service.peer().clone());
        let shaken = {
            let shaking =
                shake(asker, client, self.capabilities.clone(), negotiation(spec.wire()), &self.shook_hands);
            timeout_at(deadline, shaking).await
        };
        let mut agreed = match shaken {
            Ok(Ok(agreed)) => agreed,
            Ok(Err(NoAgreement::Failed(mut failure))) => {
                failure.message = crate::mask::mask_text(&failure.message, &self.vitals.secrets);
                return Err(failure);
            }
            Ok(Err(NoAgreement::Gone(why))) => return Err(self.reason(why).await),
            Err(_) => {
                return Err(Failure::new(
                    FailureKind::HandshakeTimeout,
                    format!("no answer to initialize after {limit} ms"),
                ));
            }
        };
        let instructions = agreed.instructions.take();
        match listing::all(&agreed.asker, agreed.offers, instructions, deadline).await {
            Ok(offered) => Ok((agreed, offered)),
            Err(NoList::Late) => {
                Err(Failure::new(FailureKind::Listing, format!("no answer to tools/list within {limit} ms")))
            }
            Err(NoList::Gone(why)) => Err(self.reason(why).await),
        }
    }

    /// A write failed: the reason for that is on its way.
    async fn reason(&self, why: String) -> Failure {
        match timeout(REASON, self.vitals.lost()).await {
            Ok(failure) => self.ended(failure),
            Err(_) => Failure::new(FailureKind::StreamClosed, why),
        }
    }

    fn go_live(self, request: OpenRequest, agreed: Agreed, offered: Offered, limit: Duration) -> Lease {
        let OpenRequest { attempt, admitted, events, cancel, questions: _ } = request;
        let calls = Arc::new(Calls::new(agreed.asker.clone(), self.vitals.secrets.clone()));
        let inventory = offered.inventory();
        let watcher = Watcher {
            attempt,
            events,
            vitals: self.vitals,
            calls: Arc::clone(&calls),
            changes: self.changes,
            lister: Lister { asker: agreed.asker, offers: agreed.offers, offered, limit },
            gone: self.process.gone(),
            service: self.service,
            over: self.over,
        };
        tokio::spawn(watcher.run());
        let pid = Some(self.process.pid());
        Lease { pid, inventory, link: Box::new(Live::new(calls, self.process, admitted, cancel)) }
    }

    /// The failure of a process that ended before it was ready.
    fn ended(&self, mut failure: Failure) -> Failure {
        if failure.kind == FailureKind::Exited {
            let shook_hands = self.shook_hands.load(Ordering::Relaxed);
            failure.kind = if shook_hands { FailureKind::EndedEarly } else { FailureKind::Exited };
            failure.message.push_str(if shook_hands {
                " after its handshake, before its lists were read"
            } else {
                " before it answered initialize"
            });
        }
        failure
    }

    /// Leaves nothing behind, and adds to the failure what the server said.
    async fn give_up(self, failure: Failure) -> Failure {
        let is_complete = failure.kind == FailureKind::Aborted || failure.stderr_tail.is_some();
        let failure = if is_complete { failure } else { self.vitals.with_tail(failure) };
        self.process.end(Teardown::NeverLive).await;
        self.service.cancellation_token().cancel();
        failure
    }
}

fn aborted() -> Failure {
    Failure::new(FailureKind::Aborted, "the attempt was given up")
}

fn negotiation(wire: &Wire) -> VersionNegotiation {
    match wire {
        Wire::Stdio(stdio) => stdio.version_negotiation,
        Wire::Http(remote) | Wire::Sse(remote) => remote.version_negotiation,
    }
}

/// The folder as a URI; what a URI cannot hold is percent-encoded.
fn file_uri(path: &Path) -> String {
    use std::fmt::Write;
    let mut uri = String::from("file://");
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(byte.into())
            }
            // Writing to a text cannot fail.
            other => drop(write!(uri, "%{other:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_a_uri_whatever_its_name() {
        assert_eq!(file_uri(Path::new("/home/a b/ä#")), "file:///home/a%20b/%C3%A4%23");
    }
}
