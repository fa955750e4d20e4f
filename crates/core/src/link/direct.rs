//! Who opens a connection for an admitted server? Owns what all connections of one program share, and the choice by the
//! kind of the wire; each kind is opened elsewhere.

use std::{num::NonZero, path::Path, sync::Arc};

use futures::{FutureExt, future::BoxFuture};
use tokio::sync::Semaphore;

use super::{permits::Permits, process::open_process, remote::open_remote};
use crate::{
    connector::{Connector, Lease, OpenRequest, ProcessEnv},
    domain::Wire,
    failure::{Failure, FailureKind},
    transport::{Guard, use_our_cryptography},
};

/// So many processes may be starting at a time.
const STARTING: usize = 16;
/// So many of them may be made at a time, for each core.
const MAKING_EACH: usize = 2;

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

/// What all connections share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) env: ProcessEnv,
    pub(super) guard: Guard,
    pub(super) client: Client,
    /// The folder of the project, as a `file:` URI.
    pub(super) root: String,
    /// Places for those who make a process at this moment. That takes a thread and a core, so that more threads than a
    /// few for each core would wait for one another.
    pub(super) making: Arc<Semaphore>,
}

impl DirectConnector {
    /// A connector whose children get what `env` says, are known to `guard`, and hear of `client`.
    #[must_use]
    pub fn new(env: ProcessEnv, guard: Guard, client: Client) -> Self {
        use_our_cryptography();
        let root = file_uri(&env.root);
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let making = Arc::new(Semaphore::new(MAKING_EACH * cores));
        Self {
            shared: Arc::new(Shared { env, guard, client, root, making }),
            permits: Permits::new(STARTING),
        }
    }
}

impl Connector for DirectConnector {
    fn open(&self, request: OpenRequest) -> BoxFuture<'static, Result<Lease, Failure>> {
        match request.admitted.spec().wire() {
            Wire::Stdio(_) => {
                // The place in the queue is taken now, not when the future is first polled.
                let ticket = self.permits.ticket();
                open_process(Arc::clone(&self.shared), ticket, request).boxed()
            }
            Wire::Http(_) | Wire::Sse(_) => open_remote(Arc::clone(&self.shared), request).boxed(),
        }
    }
}

pub(super) fn aborted() -> Failure {
    Failure::new(FailureKind::Aborted, "the attempt was given up")
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
