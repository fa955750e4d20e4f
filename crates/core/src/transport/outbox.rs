//! How do messages reach a server that may not read? Owns the queue and the task that writes to its standard input;
//! knows no protocol. Nothing here blocks a caller: a server that does not read costs memory up to a bound, then errors.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::{mpsc, oneshot},
};
use tokio_util::sync::CancellationToken;

/// What may wait for a server that does not read.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// Messages that wait together are written together up to about this many bytes: the server wakes once for all of them.
const TOGETHER: usize = 16 * 1024;
/// What a message costs beside its bytes, whoever waits for it included: a server that asks a lot and reads nothing
/// makes us hold many small answers.
const EACH: usize = 1024;

/// Why a message did not reach the server.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// The pipe is closed, by us or by the server.
    #[error("the server's input is closed")]
    Closed,
    /// Too much waits already.
    #[error("the server does not read its input")]
    Stuck,
    /// The operating system refused.
    #[error("writing to the server failed: {0}")]
    Broken(Arc<std::io::Error>),
    /// The message has no JSON form.
    #[error("the message cannot be written as JSON: {0}")]
    NotJson(Arc<serde_json::Error>),
}

enum Item {
    Line(Vec<u8>, Done),
    Close,
}

/// Whoever waits until a line is written.
type Done = oneshot::Sender<Result<(), WriteError>>;

/// The server takes no more.
struct Broken;

/// The way to one server's input. Clones share the queue.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    items: mpsc::UnboundedSender<Item>,
    waiting: Arc<AtomicUsize>,
    broken: CancellationToken,
}

impl Outbox {
    /// Starts the task that writes. Cancelling `stop` gives up on a server that blocks it.
    pub(crate) fn start(input: impl AsyncWrite + Send + Unpin + 'static, stop: CancellationToken) -> Self {
        let (items, received) = mpsc::unbounded_channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&waiting);
        let broken = CancellationToken::new();
        let breaks = broken.clone();
        tokio::spawn(async move {
            tokio::select! {
                written = write_all(input, received, &counter) => match written {
                    Ok(()) => {}
                    Err(Broken) => breaks.cancel(),
                },
                () = stop.cancelled() => {}
            }
        });
        Self { items, waiting, broken }
    }

    /// Resolves when the server stopped taking input by itself.
    pub(crate) async fn broken(&self) {
        self.broken.cancelled().await;
    }

    /// Queues one line, in the order of the calls; the future resolves when it was handed to the operating system.
    pub(crate) fn push(
        &self,
        mut line: Vec<u8>,
    ) -> impl Future<Output = Result<(), WriteError>> + Send + use<> {
        line.push(b'\n');
        let size = cost(&line);
        let (done, written) = oneshot::channel();
        let refused = if self.waiting.fetch_add(size, Ordering::Relaxed) + size > MOST_BYTES {
            self.waiting.fetch_sub(size, Ordering::Relaxed);
            Some(WriteError::Stuck)
        } else {
            self.items.send(Item::Line(line, done)).err().map(|_| WriteError::Closed)
        };
        async move {
            match refused {
                Some(error) => Err(error),
                None => written.await.unwrap_or(Err(WriteError::Closed)),
            }
        }
    }

    /// Closes the server's input once what was queued before is written.
    pub(crate) fn close(&self) {
        // An error says that the writer ended, which closed the input.
        self.items.send(Item::Close).ok();
    }
}

fn cost(line: &[u8]) -> usize {
    line.len() + EACH
}

async fn write_all(
    mut input: impl AsyncWrite + Unpin,
    mut items: mpsc::UnboundedReceiver<Item>,
    waiting: &AtomicUsize,
) -> Result<(), Broken> {
    let mut closing = false;
    while !closing && let Some(Item::Line(mut lines, done)) = items.recv().await {
        let mut all = vec![done];
        while lines.len() < TOGETHER && !closing {
            match items.try_recv() {
                Ok(Item::Line(line, done)) => {
                    lines.extend(line);
                    all.push(done);
                }
                Ok(Item::Close) => closing = true,
                Err(_) => break,
            }
        }
        let written = async {
            input.write_all(&lines).await?;
            input.flush().await
        }
        .await
        .map_err(|error| WriteError::Broken(Arc::new(error)));
        waiting.fetch_sub(lines.len() + all.len() * EACH, Ordering::Relaxed);
        for done in all {
            // Nobody may wait for it any more; that is theirs to decide.
            done.send(written.clone()).ok();
        }
        written.map_err(|_| Broken)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        pin::{Pin, pin},
        task::{Context, Poll},
    };

    use futures::FutureExt;
    use tokio::io::{AsyncReadExt as _, DuplexStream};

    use super::*;

    /// Counts what is written at a time.
    struct Counted(DuplexStream, Arc<AtomicUsize>);

    impl AsyncWrite for Counted {
        fn poll_write(
            mut self: Pin<&mut Self>,
            to: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            pin!(&mut self.0).poll_write(to, bytes)
        }

        fn poll_flush(mut self: Pin<&mut Self>, to: &mut Context<'_>) -> Poll<io::Result<()>> {
            pin!(&mut self.0).poll_flush(to)
        }

        fn poll_shutdown(mut self: Pin<&mut Self>, to: &mut Context<'_>) -> Poll<io::Result<()>> {
            pin!(&mut self.0).poll_shutdown(to)
        }
    }

    #[tokio::test]
    async fn what_waits_together_is_written_together_and_what_was_queued_before_the_end_with_it() {
        let (input, mut server) = tokio::io::duplex(1024);
        let writes = Arc::new(AtomicUsize::new(0));
        let outbox = Outbox::start(Counted(input, Arc::clone(&writes)), CancellationToken::new());
        // The task that writes has not run yet.
        let written = ["a", "b", "c"].map(|line| outbox.push(line.into()));
        outbox.close();
        let late = outbox.push("late".into());
        let mut read = String::new();
        server.read_to_string(&mut read).await.unwrap();
        assert_eq!((read.as_str(), writes.load(Ordering::Relaxed)), ("a\nb\nc\n", 1));
        for written in written {
            written.await.unwrap();
        }
        assert!(matches!(late.await, Err(WriteError::Closed)));
        assert_eq!(outbox.waiting.load(Ordering::Relaxed), cost(b"late\n"), "nothing else waits");
    }

    #[tokio::test]
    async fn everybody_hears_that_the_input_is_broken() {
        let (input, server) = tokio::io::duplex(1024);
        let outbox = Outbox::start(input, CancellationToken::new());
        drop(server);
        for written in ["a", "b"].map(|line| outbox.push(line.into())) {
            assert!(matches!(written.await, Err(WriteError::Broken(_))));
        }
        outbox.broken().await;
    }

    #[tokio::test]
    async fn many_small_messages_for_a_server_that_does_not_read_are_bounded_by_what_they_cost() {
        let (input, _never_read) = tokio::io::duplex(1);
        let outbox = Outbox::start(input, CancellationToken::new());
        let taken = (0..MOST_BYTES).take_while(|_| outbox.push(Vec::new()).now_or_never().is_none()).count();
        assert!(taken <= MOST_BYTES / EACH, "{taken}");
        assert!(matches!(outbox.push(Vec::new()).await, Err(WriteError::Stuck)));
    }
}
