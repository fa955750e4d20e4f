//! The answers that a decent server would not give, and the requests that get them.

use std::io;

use super::wire::Connection;
use crate::{options::number, script::sleep_for_ever};

/// What becomes of the connection after an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    Next,
    Close,
}

/// Which requests get which answer, and how often.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    /// An HTTP method, or `any`.
    method: String,
    path: Option<String>,
    /// The method of the message in the body.
    rpc: Option<String>,
    left: usize,
    answer: Answer,
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// `status 429 Retry-After: 2 | X-More: y`
    Status { code: u16, headers: Vec<(String, String)> },
    /// `body text/html <html>`: 200 with this type and text, which may be nothing.
    Body { kind: String, text: String },
    /// `stream retry: 5000\n\n`: these bytes as an event stream that then ends at once.
    Stream(String),
    /// `flood application/json 17000000`: so many bytes of this type.
    Flood { kind: String, bytes: usize },
    /// Never.
    Hang,
    /// Close the connection instead.
    Close,
}

impl Fault {
    /// Reads `METHOD[@PATH][:RPC][*TIMES]`, as in `post:tools/call*2`, and the answer.
    ///
    /// # Errors
    /// Which word makes no sense.
    pub(crate) fn parse(when: &str, answer: &str) -> Result<Self, String> {
        let (when, left) = match when.split_once('*') {
            Some((when, times)) => (when, number(times)?),
            None => (when, usize::MAX),
        };
        let (when, rpc) = cut(when, ':');
        let (method, path) = cut(when, '@');
        Ok(Self { method: method.to_ascii_uppercase(), path, rpc, left, answer: Answer::parse(answer)? })
    }

    /// The answer, when it is for such a request and was not given too often.
    pub(crate) fn takes(&mut self, method: &str, path: &str, rpc: &str) -> Option<Answer> {
        let is_meant = (self.method == "ANY" || self.method == method)
            && self.path.as_deref().is_none_or(|wanted| wanted == path)
            && self.rpc.as_deref().is_none_or(|wanted| wanted == rpc)
            && self.left > 0;
        is_meant.then(|| {
            self.left -= 1;
            self.answer.clone()
        })
    }
}

fn cut(text: &str, at: char) -> (&str, Option<String>) {
    match text.split_once(at) {
        Some((before, after)) => (before, Some(after.to_owned())),
        None => (text, None),
    }
}

impl Answer {
    fn parse(text: &str) -> Result<Self, String> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let (first, more) = rest.split_once(' ').unwrap_or((rest, ""));
        Ok(match word {
            "status" => Self::Status { code: number(first)?, headers: headers(more) },
            "redirect" => {
                Self::Status { code: number(first)?, headers: vec![("Location".to_owned(), more.to_owned())] }
            }
            "body" => Self::Body { kind: first.to_owned(), text: more.to_owned() },
            "stream" => Self::Stream(rest.replace("\\n", "\n")),
            "flood" => Self::Flood { kind: first.to_owned(), bytes: number(more)? },
            "hang" => Self::Hang,
            "close" => Self::Close,
            other => return Err(format!("unknown answer {other}")),
        })
    }

    /// Gives it.
    pub(crate) fn commit(&self, connection: &mut Connection) -> io::Result<Then> {
        match self {
            Self::Status { code, headers } => {
                let headers: Vec<(&str, &str)> =
                    headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                connection.status(*code, &headers, "")
            }
            Self::Body { kind, text } => connection.status(200, &[("Content-Type", kind)], text),
            Self::Stream(text) => {
                connection.begin(&[])?;
                connection.chunk(text.as_bytes())?;
                connection.end()
            }
            Self::Flood { kind, bytes } => {
                connection.status(200, &[("Content-Type", kind)], &"x".repeat(*bytes))
            }
            Self::Hang => sleep_for_ever(),
            Self::Close => Ok(Then::Close),
        }
    }
}

fn headers(text: &str) -> Vec<(String, String)> {
    let each = text.split(" | ").filter_map(|header| header.split_once(": "));
    each.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
