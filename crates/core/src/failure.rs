//! Every way in which a connection can fail, and which of them a retry cannot mend.

use std::time::Duration;

use serde_json::Value;

/// Why a connection could not be opened or was lost. The text is for people and holds no secret.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What kind of failure it is; decides whether a retry makes sense.
    pub kind: FailureKind,
    /// One sentence, lower case, no full stop.
    pub message: String,
    /// The last lines the server wrote to stderr, masked; `None` where there were none.
    pub stderr_tail: Option<String>,
}

impl Failure {
    /// A failure without a stderr tail.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), stderr_tail: None }
    }

    /// The message and, where the server said something, its last words: for places that have room for both.
    #[must_use]
    pub fn in_full(&self) -> String {
        match self.stderr_tail.as_deref().map(str::trim_end) {
            None | Some("") => self.message.clone(),
            Some(tail) => format!("{}; its last words were:\n{tail}", self.message),
        }
    }

    /// The same failure with what the server said last.
    #[must_use]
    pub fn with_stderr(mut self, tail: Option<String>) -> Self {
        self.stderr_tail = tail;
        self
    }
}

/// The kinds of failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FailureKind {
    /// The command is neither a path that exists nor found in `PATH`.
    CommandNotFound,
    /// The working folder does not exist.
    CwdMissing,
    /// The working folder is not a folder.
    CwdNotAFolder,
    /// The operating system refused to start the process.
    Spawn,
    /// No answer to `initialize` in time.
    HandshakeTimeout,
    /// The answer to `initialize` makes no sense or names a version we do not speak.
    InvalidHandshake,
    /// The process ended.
    Exited,
    /// The process ended after its handshake and before its lists were read. Counts as a life, if a short one.
    EndedEarly,
    /// The stream closed or broke.
    StreamClosed,
    /// A list could not be read in time or at all.
    Listing,
    /// The server wants credentials; the challenge is kept.
    NeedsAuth {
        /// The `WWW-Authenticate` header, where there was one.
        challenge: Option<Box<Value>>,
        /// The name of the entry's header whose value it does not accept, where the entry sent one.
        header: Option<String>,
    },
    /// A header of the entry cannot be sent as it is.
    BadHeader {
        /// Its name.
        header: String,
    },
    /// The network refused or broke; a retry may mend it.
    Network,
    /// The proxy on the way to the server cannot be reached or does not let us through; a retry may mend it.
    Proxy {
        /// The variable of the environment that names it.
        variable: String,
    },
    /// The server understood who asks and does not let them (HTTP 403).
    Forbidden,
    /// The server is there and cannot serve now (HTTP 429 and 5xx).
    Unavailable {
        /// How long it asks us to wait, where it does.
        retry_after: Option<Duration>,
    },
    /// What answers at the URL is no MCP endpoint or another one: its status, its content type, a redirect.
    WrongEndpoint {
        /// The HTTP status, where that is what was wrong.
        status: Option<u16>,
    },
    /// There is no secure connection.
    Tls(TlsFault),
    /// This build cannot do it.
    Unsupported,
    /// It ended right after its handshake too often.
    CrashLoop,
    /// The attempt was given up by us; nobody is told.
    Aborted,
}

/// Why there is no secure connection. Each is mended in another way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TlsFault {
    /// Nobody here knows who issued the certificate.
    UnknownIssuer,
    /// The certificate has expired.
    Expired,
    /// The certificate is not valid yet.
    NotYetValid,
    /// The certificate is for another host.
    OtherHost,
    /// What answers does not speak TLS.
    NotTls,
    /// The server wants a certificate of ours.
    WantsOurs,
    /// The certificate authorities of this machine cannot be used.
    Authorities,
    /// Anything else; the message has the library's words.
    Other,
}

impl FailureKind {
    /// Whether trying the same again can help without anybody editing anything.
    #[must_use]
    pub fn is_retried(&self) -> bool {
        match self {
            Self::Spawn
            | Self::HandshakeTimeout
            | Self::Exited
            | Self::EndedEarly
            | Self::StreamClosed
            | Self::Listing
            | Self::Network
            | Self::Proxy { .. }
            | Self::Unavailable { .. } => true,
            Self::CommandNotFound
            | Self::CwdMissing
            | Self::CwdNotAFolder
            | Self::InvalidHandshake
            | Self::NeedsAuth { .. }
            | Self::BadHeader { .. }
            | Self::Forbidden
            | Self::WrongEndpoint { .. }
            | Self::Tls(_)
            | Self::Unsupported
            | Self::CrashLoop
            | Self::Aborted => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_text_ends_with_what_the_server_said_last() {
        let failure = Failure::new(FailureKind::Exited, "exited with code 3");
        assert_eq!(failure.in_full(), "exited with code 3");
        let failure = failure.with_stderr(Some("Error: FOO_TOKEN missing\n".to_owned()));
        assert_eq!(failure.in_full(), "exited with code 3; its last words were:\nError: FOO_TOKEN missing");
    }
}
