//! Is a connection still alive, and if not, why? Owns the one future that resolves when it is lost, and the words for
//! it; polls nothing and ends nothing.

use std::time::Duration;

use tokio::{sync::watch, time::timeout};

use crate::{
    domain::Secret,
    failure::{Failure, FailureKind},
    transport::{
        chatter::Chatter,
        outbox::Outbox,
        process::Exit,
        stderr::Stderr,
        stdio::{LONGEST_LINE, StreamEnd},
    },
};

/// A stream that ends is mostly a process that ends: its exit status comes a moment later.
const EXIT: Duration = Duration::from_secs(1);
/// What a process sent before it ended may still be on its way.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// Whoever knows only that a connection is gone waits so long for the reason; it is on its way within both of the above.
pub(super) const REASON: Duration = Duration::from_millis(1500);

/// Everything that tells of a connection's end.
#[derive(Clone, Debug)]
pub(super) enum Vitals {
    Process(ProcessVitals),
    /// A remote connection knows by itself why it is lost.
    Remote(watch::Receiver<Option<Failure>>),
}

/// Everything that tells of the end of a process and its pipes.
#[derive(Clone, Debug)]
pub(super) struct ProcessVitals {
    pub(super) exit: watch::Receiver<Option<Exit>>,
    pub(super) stream: watch::Receiver<Option<StreamEnd>>,
    pub(super) outbox: Outbox,
    pub(super) stderr: Stderr,
    pub(super) chatter: Chatter,
    pub(super) secrets: Vec<Secret>,
}

impl Vitals {
    /// Resolves when the connection is lost, with the best reason that a short wait can give.
    pub(super) async fn lost(&self) -> Failure {
        match self {
            Self::Process(process) => process.lost().await,
            Self::Remote(lost) => {
                known(lost).await;
                let reason = lost.borrow().clone();
                reason.unwrap_or_else(|| Failure::new(FailureKind::StreamClosed, "the connection was closed"))
            }
        }
    }

    /// The first line of a server that wrote to its output and never sent a message: it may hold secrets.
    pub(super) fn in_place_of_messages(&self) -> Option<String> {
        match self {
            Self::Process(process) => process.chatter.in_place_of_messages(),
            Self::Remote(_) => None,
        }
    }

    /// A failure of another cause, with what the server said last.
    pub(super) fn with_tail(&self, failure: Failure) -> Failure {
        match self {
            Self::Process(process) => process.with_tail(failure),
            Self::Remote(_) => failure,
        }
    }
}

impl ProcessVitals {
    async fn lost(&self) -> Failure {
        tokio::select! {
            biased;
            () = known(&self.exit) => drop(timeout(LAST_WORDS, known(&self.stream)).await),
            () = known(&self.stream) => drop(timeout(EXIT, known(&self.exit)).await),
            () = self.outbox.broken() => drop(timeout(EXIT, known(&self.exit)).await),
        }
        let (exit, stream) = (*self.exit.borrow(), self.stream.borrow().clone());
        self.failure(exit, stream.as_ref()).await
    }

    fn with_tail(&self, failure: Failure) -> Failure {
        let tail = self.stderr.tail(&self.secrets);
        failure.with_stderr(tail)
    }

    async fn failure(&self, exit: Option<Exit>, stream: Option<&StreamEnd>) -> Failure {
        let (kind, message) = reason(exit, stream);
        self.stderr.settle(LAST_WORDS).await;
        self.with_tail(Failure::new(kind, message))
    }
}

/// Resolves once there is a value.
async fn known<T>(value: &watch::Receiver<Option<T>>) {
    // An error means that whoever would tell is gone, which is as final.
    value.clone().wait_for(Option::is_some).await.ok();
}

fn reason(exit: Option<Exit>, stream: Option<&StreamEnd>) -> (FailureKind, String) {
    match (stream, exit) {
        (Some(StreamEnd::LineTooLong), _) => (
            FailureKind::StreamClosed,
            format!(
                "the server sent more than {} MiB without a line end; the connection was closed",
                LONGEST_LINE / 1024 / 1024
            ),
        ),
        (_, Some(exit)) => (FailureKind::Exited, format!("the server {exit}")),
        (Some(StreamEnd::Broken(error)), None) => {
            (FailureKind::StreamClosed, format!("reading from the server failed: {error}"))
        }
        (Some(StreamEnd::Eof), None) => {
            (FailureKind::StreamClosed, "the server closed its output without ending".to_owned())
        }
        (None, None) => (FailureKind::StreamClosed, "the server closed its input without ending".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_the_exit_where_there_is_one_and_the_stream_otherwise() {
        let eof = Some(&StreamEnd::Eof);
        for (exit, stream, kind, words) in [
            (Some(Exit::Code(3)), eof, FailureKind::Exited, "exited with code 3"),
            (Some(Exit::Signal(9)), None, FailureKind::Exited, "signal 9 (SIGKILL)"),
            (None, eof, FailureKind::StreamClosed, "closed its output"),
            (None, None, FailureKind::StreamClosed, "closed its input"),
            (Some(Exit::Code(0)), Some(&StreamEnd::LineTooLong), FailureKind::StreamClosed, "16 MiB"),
        ] {
            let (actual, message) = reason(exit, stream);
            assert_eq!(actual, kind);
            assert!(message.contains(words), "{message}");
        }
    }
}
