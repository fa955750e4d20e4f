//! How does an entry that names a command become an open connection? Owns the order of the steps from the queue of
//! starts to the first word, and what is undone when one of them fails; each step itself is elsewhere.

use std::{sync::Arc, time::Duration};

use tokio::{
    process::ChildStdout,
    sync::OwnedSemaphorePermit,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    conversation::{self, Conversation},
    direct::{Shared, aborted},
    ground::Ground,
    permits::{Permit, Ticket},
    vitals::{ProcessVitals, Vitals},
};
use crate::{
    connector::{Lease, OpenRequest, Teardown},
    domain::{ServerSpec, Stdio, Wire},
    failure::{Failure, FailureKind},
    transport::{
        chatter::Chatter,
        launch::{prepare, spawn_failure},
        outbox::Outbox,
        process::ServerProcess,
        spawn::spawn_server,
        stderr::Stderr,
        stdio::StdioTransport,
    },
};

/// What a start that was given up gets to come to its end by itself.
const GIVEN_UP: Duration = Duration::from_millis(500);

/// Who takes longer than this to make a process waits for something else than a core, and keeps nobody from one.
const MADE: Duration = Duration::from_millis(100);

/// A process that was just started, with its ends of the pipes.
struct Started {
    process: ServerProcess,
    output: ChildStdout,
    outbox: Outbox,
    stderr: Stderr,
}

/// Starts the process when its turn has come, shakes hands and lists.
pub(super) async fn open_process(
    shared: Arc<Shared>,
    ticket: Ticket,
    request: OpenRequest,
) -> Result<Lease, Failure> {
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
    // Until it is open or has failed, and not for longer than a start takes.
    let _starting = permit.map(Permit::lend);
    tracing::debug!(
        server = %request.admitted.name(), attempt = request.attempt.0, pid = started.process.pid(),
        "the server's process runs"
    );

    let chatter = Chatter::default();
    let transport = StdioTransport::new(started.output, started.outbox.clone(), chatter.clone());
    let vitals = Vitals::Process(ProcessVitals {
        exit: started.process.exit(),
        stream: transport.ended(),
        outbox: started.outbox,
        stderr: started.stderr,
        chatter,
        secrets: spec.masks.clone(),
    });
    let ground = Ground::Process(started.process);
    let conversation = Conversation::begin(&shared, &request, transport, ground, vitals);
    Ok(conversation::talk(conversation, &shared, &request, deadline).await?.go_live(request))
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
    let place = tokio::select! {
        biased;
        () = cancel.cancelled() => return Err(aborted()),
        // It is never closed.
        place = Arc::clone(&shared.making).acquire_owned() => place.ok(),
    };
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
        outcome = timeout_at(deadline, made(place, &mut starting)) => outcome,
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

/// Waits for what is made, and holds the place among those who make one no longer than that takes.
async fn made<T>(place: Option<OwnedSemaphorePermit>, mut making: impl Future<Output = T> + Unpin) -> T {
    match timeout(MADE, &mut making).await {
        Ok(made) => made,
        Err(_) => {
            drop(place);
            making.await
        }
    }
}

fn start_now(stdio: &Stdio, shared: &Shared) -> Result<Started, Failure> {
    let launch = prepare(stdio, &shared.env)?;
    let (spawned, pipes) =
        spawn_server(&launch, &shared.guard).map_err(|error| spawn_failure(&stdio.command, &error))?;
    let stop = CancellationToken::new();
    let outbox = Outbox::start(pipes.input, stop.clone());
    let process = ServerProcess::adopt(spawned, outbox.clone(), stop);
    Ok(Started { process, output: pipes.output, outbox, stderr: Stderr::drain(pipes.errors) })
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_hangs_while_a_process_is_made_keeps_its_place_no_longer_than_that_takes() {
        let places = Arc::new(Semaphore::new(1));
        let place = async || Arc::clone(&places).acquire_owned().await.ok();
        assert_eq!(made(place().await, async { 1 }.boxed()).await, 1);
        let (finish, hangs) = tokio::sync::oneshot::channel();
        let hanging = tokio::spawn(made(place().await, hangs));
        let began = Instant::now();
        let next = place().await;
        assert_eq!(began.elapsed(), MADE);
        assert!(next.is_some() && !hanging.is_finished());
        finish.send(2).unwrap();
        assert_eq!(hanging.await.unwrap(), Ok(2));
    }
}
