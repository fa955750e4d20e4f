//! What did a server say on its standard error? Owns the drain, which never stops reading, and the ring of the last
//! bytes; knows no protocol.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, ReadBuf},
    sync::watch,
};

use crate::{domain::Secret, mask::mask_text};

const RING: usize = 64 * 1024;
/// Most servers say little.
const FIRST: usize = 4 * 1024;
const TAIL_LINES: usize = 20;
const LINE_CHARS: usize = 500;

/// The last bytes of one server's standard error.
#[derive(Clone, Debug)]
pub(crate) struct Stderr {
    ring: Arc<Mutex<Ring>>,
    ended: watch::Receiver<bool>,
}

impl Stderr {
    /// Starts the task that drains the stream for as long as anybody holds its other end.
    pub(crate) fn drain(mut stream: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let ring = Arc::new(Mutex::new(Ring::default()));
        let (ended_out, ended) = watch::channel(false);
        let filled = Arc::clone(&ring);
        tokio::spawn(async move {
            // The lock is held for one read that does not wait, never across a wait.
            while let Ok(1..) =
                poll_fn(|context| lock(&filled).poll_fill(Pin::new(&mut stream), context)).await
            {}
            ended_out.send_replace(true);
        });
        Self { ring, ended }
    }

    /// Waits until the stream ended, but not longer than this: what a dying server said last comes with its death.
    pub(crate) async fn settle(&self, limit: Duration) {
        let mut ended = self.ended.clone();
        // Late is as good as never here: the tail then holds what there is.
        tokio::time::timeout(limit, ended.wait_for(|ended| *ended)).await.ok();
    }

    /// The last lines for people, without secrets; `None` when the server said nothing.
    pub(crate) fn tail(&self, secrets: &[Secret]) -> Option<String> {
        let (mut bytes, wrapped) = lock(&self.ring).contents();
        if wrapped {
            // The oldest bytes may be the end of a secret whose beginning is gone.
            let longest = secrets.iter().map(|secret| secret.expose().len()).max().unwrap_or(0);
            bytes.drain(..longest.min(bytes.len()));
        }
        tail_of(&String::from_utf8_lossy(&bytes), secrets)
    }
}

fn lock(ring: &Mutex<Ring>) -> std::sync::MutexGuard<'_, Ring> {
    ring.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes that are read straight into their place, so that a flood costs no copy.
#[derive(Debug, Default)]
struct Ring {
    bytes: Vec<u8>,
    next: usize,
    wrapped: bool,
}

impl Ring {
    fn poll_fill(
        &mut self,
        stream: Pin<&mut impl AsyncRead>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if self.next == self.bytes.len() {
            if self.bytes.len() < RING {
                self.bytes.resize((self.bytes.len() * 2).clamp(FIRST, RING), 0);
            } else {
                self.next = 0;
                self.wrapped = true;
            }
        }
        let mut free = ReadBuf::new(self.bytes.get_mut(self.next..).unwrap_or_default());
        let polled = stream.poll_read(context, &mut free);
        let read = free.filled().len();
        self.next += read;
        polled.map_ok(|()| read)
    }

    /// What was read, oldest first, and whether older bytes were lost.
    fn contents(&self) -> (Vec<u8>, bool) {
        let (new, old) = self.bytes.split_at(self.next);
        if self.wrapped { ([old, new].concat(), true) } else { (new.to_vec(), false) }
    }
}

/// Masks before it cuts, so that no half of a secret stays.
fn tail_of(text: &str, secrets: &[Secret]) -> Option<String> {
    let clean = without_control(text);
    let masked = mask_text(&clean, secrets);
    let lines: Vec<&str> = masked.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(TAIL_LINES)..).unwrap_or_default();
    if last.is_empty() {
        return None;
    }
    Some(last.iter().map(|line| cut(line)).collect::<Vec<_>>().join("\n"))
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line.to_owned(),
    }
}

/// A server must not paint on our screen: escape sequences and control characters go, line ends and tabs stay.
pub(super) fn without_control(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\r' => out.push('\n'),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {}
        }
        Some(']') => while chars.next_if(|c| !matches!(c, '\u{7}' | '\u{1b}' | '\n')).is_some() {},
        Some(_) => {
            chars.next();
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_last_lines_cut_clean_and_masked() {
        let many: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let tail = tail_of(&many, &[]).unwrap();
        assert_eq!(tail.lines().count(), TAIL_LINES);
        assert!(tail.starts_with("line 80") && tail.ends_with("line 99"), "{tail}");

        let cases = [
            ("", None),
            ("\n\n", None),
            ("\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}x\u{0}\n", Some("red x")),
            ("10%\r20%\r\n", Some("10%\n20%")),
            ("Error: FOO_TOKEN missing, got hunter2hunter2", Some("Error: FOO_TOKEN missing, got •••")),
        ];
        for (text, expected) in cases {
            assert_eq!(tail_of(text, &["hunter2hunter2".into()]).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_secret_at_the_cut_is_masked_whole() {
        let text = format!("{}hunter2hunter2", "x".repeat(LINE_CHARS - 3));
        let tail = tail_of(&text, &["hunter2hunter2".into()]).unwrap();
        assert!(!tail.contains("hun"), "{tail}");
    }

    #[tokio::test]
    async fn a_flood_keeps_the_last_bytes_in_their_order() {
        for size in [0, 10, FIRST, RING - 1, RING, RING + 1, 5 * RING + 77] {
            let bytes: Vec<u8> = (0..size).map(|n| u8::try_from(n % 251).unwrap()).collect();
            let stderr = Stderr::drain(io::Cursor::new(bytes.clone()));
            stderr.settle(Duration::from_secs(5)).await;
            let (contents, wrapped) = lock(&stderr.ring).contents();
            assert!(contents.len() <= RING);
            assert!(bytes.ends_with(&contents), "{size}");
            assert_eq!(contents.len(), size.min(RING), "{size}");
            assert_eq!(wrapped, size >= RING, "{size}");
        }
    }
}
