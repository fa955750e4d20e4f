//! How do bytes become server-sent events? Owns the rules of the WHATWG event stream, across any split of the bytes;
//! knows neither HTTP nor what an event says.
//!
//! A library of its own would refuse what the standard ignores (unknown fields, a second `id`, a line without a colon).

use std::{collections::VecDeque, time::Duration};

use tokio::task::coop::consume_budget;

/// One event, and one body, may be this large.
pub(crate) const LARGEST: usize = 16 * 1024 * 1024;

/// One event that was dispatched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Event {
    /// `message` where the stream names none.
    pub(crate) name: String,
    pub(crate) data: String,
}

/// More than [`LARGEST`] without an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TooLarge;

/// Puts events together from pieces of any size.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    line: Vec<u8>,
    data: Option<String>,
    name: String,
    id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
    after_cr: bool,
    began: bool,
}

impl Assembler {
    /// The events that these bytes complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooLarge> {
        let mut events = Vec::new();
        if bytes.is_empty() {
            return Ok(events);
        }
        let mut rest = bytes;
        if std::mem::take(&mut self.after_cr) {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, tail) = rest.split_at(end);
            self.line.extend_from_slice(line);
            self.check()?;
            events.extend(self.end_line());
            let after_cr = tail.first() == Some(&b'\r');
            rest = tail.get(1..).unwrap_or_default();
            if after_cr {
                // The other half of the line end may come with the next bytes.
                self.after_cr = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
        }
        self.line.extend_from_slice(rest);
        self.check()?;
        Ok(events)
    }

    /// Where the stream can be taken up again.
    pub(crate) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server wants us to wait before that.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn check(&self) -> Result<(), TooLarge> {
        let size = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if size > LARGEST { Err(TooLarge) } else { Ok(()) }
    }

    fn end_line(&mut self) -> Option<Event> {
        let bytes = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&bytes);
        let text = if self.began { &*text } else { text.strip_prefix('\u{feff}').unwrap_or(&text) };
        self.began = true;
        if text.is_empty() {
            return self.dispatch();
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "event" => value.clone_into(&mut self.name),
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = value.parse().ok().map(Duration::from_millis);
            }
            // Comments, and whatever a later version of the standard brings.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        if let Some(id) = self.id.take() {
            // An empty one takes the place back.
            self.last_id = Some(id).filter(|id| !id.is_empty());
        }
        let name = std::mem::take(&mut self.name);
        let data = self.data.take()?;
        Some(Event { name: if name.is_empty() { "message".to_owned() } else { name }, data })
    }
}

/// Why a stream gave no further event.
#[derive(Debug)]
pub(crate) enum Cut {
    TooLarge,
    Broken(reqwest::Error),
}

/// The events of an answer, as they come.
#[derive(Debug)]
pub(crate) struct Events {
    response: reqwest::Response,
    assembler: Assembler,
    ready: VecDeque<Event>,
}

impl Events {
    /// Reads the events of this answer.
    pub(crate) fn of(response: reqwest::Response) -> Self {
        Self { response, assembler: Assembler::default(), ready: VecDeque::new() }
    }

    /// The next event; `None` when the stream ended in good order. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, Cut> {
        loop {
            // A flood of small events is there at once: from time to time the others have their turn.
            consume_budget().await;
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            match self.response.chunk().await {
                Ok(Some(bytes)) => {
                    self.ready.extend(self.assembler.push(&bytes).map_err(|TooLarge| Cut::TooLarge)?);
                }
                Ok(None) => return Ok(None),
                Err(error) => return Err(Cut::Broken(error)),
            }
        }
    }

    /// Where the stream can be taken up again.
    pub(crate) fn last_id(&self) -> Option<&str> {
        self.assembler.last_id()
    }

    /// How long the server wants us to wait before that.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.assembler.retry()
    }
}

#[cfg(test)]
mod tests;
