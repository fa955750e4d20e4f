//! How does an entry that names a URL become an open connection? Owns the order of the steps, and the one other way that
//! is tried where an entry leaves the transport open; each step itself is elsewhere.

use std::sync::Arc;

use tokio::time::{Instant, timeout_at};

use super::{
    conversation::{self, Conversation, Ready},
    direct::{Shared, aborted},
    ground::Ground,
    vitals::Vitals,
};
use crate::{
    connector::{Lease, OpenRequest},
    domain::{Remote, ServerSpec, Wire},
    failure::{Failure, FailureKind},
    transport::http::{self, client::HttpClient, sse},
};

/// How one talks to a server behind a URL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Http,
    Sse,
}

/// Connects, shakes hands and lists.
pub(super) async fn open_remote(shared: Arc<Shared>, request: OpenRequest) -> Result<Lease, Failure> {
    let spec = Arc::clone(request.admitted.spec());
    let deadline = Instant::now() + spec.view.discovery_timeout;
    let (remote, way) = remote(spec.wire())?;
    let ready = match by(way, &shared, &request, deadline).await {
        Err(first) if remote.sse_fallback && is_not_there(&first.kind) => {
            by(Way::Sse, &shared, &request, deadline).await.map_err(|second| neither(first, second))
        }
        talked => talked,
    };
    Ok(ready?.go_live(request))
}

async fn by(
    way: Way,
    shared: &Arc<Shared>,
    request: &OpenRequest,
    deadline: Instant,
) -> Result<Ready, Failure> {
    let spec = request.admitted.spec();
    let client = tokio::select! {
        biased;
        () = request.cancel.cancelled() => return Err(aborted()),
        client = client(shared, spec, deadline) => client?,
    };
    let conversation = match way {
        Way::Http => {
            let (transport, end) = http::connect(client, spec.view.discovery_timeout);
            let vitals = Vitals::Remote(end.lost());
            Conversation::begin(shared, request, transport, Ground::Remote(end), vitals)
        }
        Way::Sse => {
            let (transport, end) = sse::connect(client);
            let vitals = Vitals::Remote(end.lost());
            Conversation::begin(shared, request, transport, Ground::Remote(end), vitals)
        }
    };
    conversation::talk(conversation, shared, request, deadline).await
}

/// Whether the answer is that of a server of the era before streamable HTTP, which knows no POST at its address. Any other
/// answer is that of a server that understood, or of none.
fn is_not_there(kind: &FailureKind) -> bool {
    matches!(kind, FailureKind::WrongEndpoint { status: Some(400 | 404 | 405) })
}

/// What to say when there is neither: the first says more, unless the second found a server.
fn neither(first: Failure, second: Failure) -> Failure {
    if matches!(second.kind, FailureKind::WrongEndpoint { .. }) {
        let message = format!("{}; and as a server of SSE: {}", first.message, second.message);
        Failure { message, ..first }
    } else {
        second
    }
}

/// Makes the client on a thread that may block: certificate authorities are files.
async fn client(
    shared: &Arc<Shared>,
    spec: &Arc<ServerSpec>,
    deadline: Instant,
) -> Result<HttpClient, Failure> {
    let (shared, spec) = (Arc::clone(shared), Arc::clone(spec));
    let making = tokio::task::spawn_blocking(move || {
        let (remote, _) = remote(spec.wire())?;
        HttpClient::new(remote, &shared.env, &spec.masks, spec.view.discovery_timeout)
    });
    let broken =
        |why: String| Failure::new(FailureKind::Network, format!("no HTTP client could be made: {why}"));
    match timeout_at(deadline, making).await {
        Ok(Ok(made)) => made,
        Ok(Err(error)) => Err(broken(error.to_string())),
        Err(_) => Err(broken("the certificate authorities could not be read in time".to_owned())),
    }
}

fn remote(wire: &Wire) -> Result<(&Remote, Way), Failure> {
    match wire {
        Wire::Http(remote) => Ok((remote, Way::Http)),
        Wire::Sse(remote) => Ok((remote, Way::Sse)),
        Wire::Stdio(_) => Err(Failure::new(FailureKind::Unsupported, "not a remote server")),
    }
}
