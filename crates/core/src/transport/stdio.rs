//! How does a stream of bytes become messages? Owns the framing of standard input and output; knows neither process
//! nor protocol state.

use std::{collections::VecDeque, sync::Arc};

use bytes::{Buf, Bytes, BytesMut};
use rmcp::{
    RoleClient,
    model::ServerJsonRpcMessage,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    sync::watch,
    task::coop::consume_budget,
};

use super::{
    chatter::Chatter,
    mend::{Message, decode},
    outbox::{Outbox, WriteError},
};

/// What a server may send without a line end.
pub(crate) const LONGEST_LINE: usize = 16 * 1024 * 1024;
const CHUNK: usize = 16 * 1024;
/// A buffer that grew beyond this for one message is given back after it.
const KEPT_BUFFER: usize = 256 * 1024;

/// Why nothing more comes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum StreamEnd {
    /// The server closed its output.
    Eof,
    /// A line without an end.
    LineTooLong,
    /// The operating system's words.
    Broken(String),
}

/// Messages over a pair of byte streams, one JSON value a line.
#[derive(Debug)]
pub(crate) struct StdioTransport<R> {
    output: R,
    lines: Lines,
    ready: VecDeque<ServerJsonRpcMessage>,
    outbox: Outbox,
    ended: watch::Sender<Option<StreamEnd>>,
    chatter: Chatter,
}

impl<R: AsyncRead + Unpin + Send> StdioTransport<R> {
    /// A transport over a server's output and input. `chatter` hears of lines that are no messages.
    pub(crate) fn new(output: R, outbox: Outbox, chatter: Chatter) -> Self {
        let (ended, _) = watch::channel(None);
        Self { output, lines: Lines::default(), ready: VecDeque::new(), outbox, ended, chatter }
    }

    /// Tells when and why the stream ended.
    pub(crate) fn ended(&self) -> watch::Receiver<Option<StreamEnd>> {
        self.ended.subscribe()
    }

    /// Cancel-safe: whatever was read stays in the buffers.
    async fn next(&mut self) -> Result<ServerJsonRpcMessage, StreamEnd> {
        loop {
            // What is buffered is there at once, so a flood of small lines would keep its thread for ever: every line
            // counts like a read, and from time to time the others have their turn.
            consume_budget().await;
            if let Some(message) = self.ready.pop_front() {
                return Ok(message);
            }
            match self.lines.next_line() {
                Some(line) => self.take(line),
                None if self.lines.is_too_long() => return Err(StreamEnd::LineTooLong),
                None => self.read().await?,
            }
        }
    }

    async fn read(&mut self) -> Result<(), StreamEnd> {
        let buffer = &mut self.lines.buffer;
        buffer.reserve(CHUNK);
        match self.output.read_buf(buffer).await {
            Ok(0) => {
                let rest = self.lines.rest();
                if !is_blank(&rest) && decode(&rest).iter().all(Result::is_err) {
                    self.chatter.add(rest);
                }
                Err(StreamEnd::Eof)
            }
            Ok(_) => Ok(()),
            Err(error) => Err(StreamEnd::Broken(error.to_string())),
        }
    }

    fn take(&mut self, line: Bytes) {
        if is_blank(&line) {
            return;
        }
        for message in decode(&line) {
            match message {
                Ok(message) => {
                    self.chatter.pass();
                    self.ready.push_back(Message::into_rmcp(message));
                }
                Err(noise) => {
                    let count = self.chatter.add(line.clone());
                    // The text itself may hold anything, secrets included.
                    tracing::debug!(?noise, bytes = line.len(), count, "skipped a line that is no message");
                }
            }
        }
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> Transport<RoleClient> for StdioTransport<R> {
    type Error = WriteError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), WriteError>> + Send + 'static {
        // Queued here and not in the future, so that messages leave in the order in which they were handed over.
        let queued = serde_json::to_vec(&item)
            .map(|line| self.outbox.push(line))
            .map_err(|error| WriteError::NotJson(Arc::new(error)));
        async move { queued?.await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        match self.next().await {
            Ok(message) => Some(message),
            Err(end) => {
                self.ended.send_replace(Some(end));
                None
            }
        }
    }

    async fn close(&mut self) -> Result<(), WriteError> {
        // When the server's input is closed is a step of the ladder of its end, which is not ours: a server that only
        // closed its output would seem to have ended by itself.
        Ok(())
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

/// Splits bytes into lines without looking at any byte twice.
#[derive(Debug, Default)]
struct Lines {
    buffer: BytesMut,
    searched: usize,
}

impl Lines {
    fn next_line(&mut self) -> Option<Bytes> {
        let found = self.buffer.get(self.searched..)?.iter().position(|byte| *byte == b'\n');
        let Some(offset) = found else {
            self.searched = self.buffer.len();
            return None;
        };
        let line = self.buffer.split_to(self.searched + offset).freeze();
        self.buffer.advance(1);
        self.searched = 0;
        if self.buffer.is_empty() && line.len() > KEPT_BUFFER {
            self.buffer = BytesMut::new();
        }
        Some(line)
    }

    /// What stands behind the last line end.
    fn rest(&mut self) -> Bytes {
        self.searched = 0;
        self.buffer.split().freeze()
    }

    fn is_too_long(&self) -> bool {
        self.buffer.len() > LONGEST_LINE
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio_util::sync::CancellationToken;

    use super::*;

    fn transport(output: &[u8]) -> StdioTransport<std::io::Cursor<Vec<u8>>> {
        let outbox = Outbox::start(tokio::io::sink(), CancellationToken::new());
        StdioTransport::new(std::io::Cursor::new(output.to_vec()), outbox, Chatter::default())
    }

    #[tokio::test]
    async fn noise_between_messages_is_counted_and_skipped() {
        let mut transport = transport(
            b"Starting\n\n{\"id\":1,\"result\":{}}\r\n\xff\xfe\n{\"x\":1}\n[{\"id\":2,\"result\":1},{\"id\":3,\"result\":2}]\n{half",
        );
        let ended = transport.ended();
        let mut messages = 0;
        while transport.receive().await.is_some() {
            messages += 1;
        }
        // What the stream ends in the middle of is one of them.
        assert_eq!((messages, format!("{:?}", transport.chatter)), (3, "4 lines".to_owned()));
        assert_eq!(transport.chatter.in_place_of_messages(), None);
        assert_eq!(*ended.borrow(), Some(StreamEnd::Eof));
    }

    #[tokio::test]
    async fn what_a_server_writes_in_place_of_messages_is_kept_even_without_a_line_end() {
        for output in ["\n Usage: srv\nmore\n", " Usage: srv"] {
            let mut transport = transport(output.as_bytes());
            assert!(transport.receive().await.is_none());
            assert_eq!(
                transport.chatter.in_place_of_messages().as_deref(),
                Some(" Usage: srv"),
                "{output:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_message_without_a_line_end_is_not_told_as_something_else() {
        let mut transport = transport(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        assert!(transport.receive().await.is_none());
        assert_eq!(transport.chatter.in_place_of_messages(), None);
    }

    #[tokio::test]
    async fn a_flood_of_small_lines_leaves_the_thread_to_others_from_time_to_time() {
        for line in ["x\n", "\n"] {
            let mut transport = transport(line.repeat(100_000).as_bytes());
            assert!(futures::poll!(std::pin::pin!(transport.receive())).is_pending(), "{line:?}");
            assert!(transport.receive().await.is_none(), "{line:?}");
        }
        let mut transport = transport("{\"id\":1,\"method\":\"ping\"}\n".repeat(1000).as_bytes());
        let mut taken = 0;
        while futures::poll!(std::pin::pin!(transport.receive())).is_ready() {
            taken += 1;
        }
        assert!((1..1000).contains(&taken), "{taken}");
    }

    #[tokio::test]
    async fn a_character_split_over_two_reads_arrives_whole() {
        let (mut server, client) = tokio::io::duplex(64);
        let outbox = Outbox::start(tokio::io::sink(), CancellationToken::new());
        let mut transport = StdioTransport::new(client, outbox, Chatter::default());
        let line = "{\"id\":1,\"result\":\"ä😀\"}\n".as_bytes();
        let writer = async {
            for byte in line {
                server.write_all(&[*byte]).await.unwrap();
                tokio::task::yield_now().await;
            }
        };
        let (_, message) = tokio::join!(writer, transport.receive());
        assert!(format!("{message:?}").contains("ä😀"));
    }

    #[tokio::test]
    async fn a_line_of_the_greatest_length_passes_and_a_longer_one_ends_the_stream() {
        let head = b"{\"id\":1,\"result\":\"";
        let mut line = head.to_vec();
        line.resize(LONGEST_LINE - 2, b'x');
        line.extend(b"\"}\n");
        assert!(transport(&line).receive().await.is_some());

        line.insert(head.len(), b'x');
        line.truncate(LONGEST_LINE + 1);
        let mut transport = transport(&line);
        let ended = transport.ended();
        assert!(transport.receive().await.is_none());
        assert_eq!(*ended.borrow(), Some(StreamEnd::LineTooLong));
    }
}
