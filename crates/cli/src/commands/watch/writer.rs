//! How do lines reach a reader that may be slow? A thread of its own writes them, so that nobody waits for a full pipe;
//! each line is one write.

use std::{
    io::{self, Write},
    sync::mpsc,
    thread,
    time::Duration,
};

use tokio::sync::oneshot;

/// Writes lines in the order they are handed over.
pub(super) struct Writer {
    lines: mpsc::Sender<Line>,
    done: mpsc::Receiver<()>,
}

/// Where a text goes.
enum Line {
    /// One event.
    Told(String),
    /// To the person at the terminal, between the events.
    Asked(String),
}

impl Writer {
    /// Starts the thread. The other end is told when nobody reads any more.
    pub(super) fn start(mut out: impl Write + Send + 'static) -> (Self, oneshot::Receiver<io::Error>) {
        let (lines, handed) = mpsc::channel::<Line>();
        let (is_done, done) = mpsc::channel();
        let (broken, is_broken) = oneshot::channel();
        thread::spawn(move || {
            for line in handed {
                let mut line = match line {
                    Line::Told(line) => line,
                    Line::Asked(text) => {
                        crate::output::note(&text);
                        continue;
                    }
                };
                line.push('\n');
                if let Err(error) = out.write_all(line.as_bytes()).and_then(|()| out.flush()) {
                    // Nobody waits for it any more when the session is already ending.
                    drop(broken.send(error));
                    break;
                }
            }
            drop(is_done);
        });
        (Self { lines, done }, is_broken)
    }

    /// Hands a line over. After the reader has gone it is dropped.
    pub(super) fn line(&self, line: String) {
        drop(self.lines.send(Line::Told(line)));
    }

    /// Hands over a text for stderr, which appears after every line handed over before.
    pub(super) fn aside(&self, text: String) {
        drop(self.lines.send(Line::Asked(text)));
    }

    /// Waits until everything is written, within a bound: a reader that is stuck must not keep us.
    pub(super) fn finish(self, within: Duration) {
        drop(self.lines);
        match self.done.recv_timeout(within) {
            Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => {}
            Err(mpsc::RecvTimeoutError::Timeout) => tracing::warn!("nobody reads what is left to say"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Remembers each write by itself.
    #[derive(Clone, Default)]
    struct Writes(Arc<Mutex<Vec<String>>>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().push(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn each_line_is_one_write_and_all_are_written_at_the_end() {
        let writes = Writes::default();
        let (writer, _broken) = Writer::start(writes.clone());
        writer.line("one".to_owned());
        writer.line("two".to_owned());
        writer.finish(Duration::from_secs(10));
        assert_eq!(*writes.0.lock().unwrap(), ["one\n", "two\n"]);
    }

    #[test]
    fn a_reader_that_is_gone_is_noticed() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (writer, broken) = Writer::start(Gone);
        writer.line("one".to_owned());
        assert_eq!(broken.blocking_recv().unwrap().kind(), io::ErrorKind::BrokenPipe);
    }
}
