//! How does an entry that names a URL become an open connection? Owns the order of the steps, and the one other way that
//! is tried where an entry leaves the transport open; each step itself is elsewhere.

use std::sync::Arc;

use tokio::time::{Instant, timeout_at};

use super::{
    conversation::{self, Conversation},
    direct::{Shared, aborted},
    ground::Ground,
    vitals::Vitals,
};
use crate::{
    connector::{Lease, OpenRequest},
    domain::{Remote, ServerSpec, Wire},
    failure::{Failure, FailureKind},
    transport::http::{self, client::HttpClient},
};

/// Connects, shakes hands and lists.
pub(super) async fn open_remote(shared: Arc<Shared>, request: OpenRequest) -> Result<Lease, Failure> {
    let spec = Arc::clone(request.admitted.spec());
    let deadline = Instant::now() + spec.view.discovery_timeout;
    let client = tokio::select! {
        biased;
        () = request.cancel.cancelled() => return Err(aborted()),
        client = client(&shared, &spec, deadline) => client?,
    };
    let (transport, end) = http::connect(client, spec.view.discovery_timeout);
    let vitals = Vitals::Remote(end.lost());
    let conversation = Conversation::begin(&shared, &request, transport, Ground::Remote(end), vitals);
    conversation::carry_on(conversation, &shared, request, deadline).await
}

/// Makes the client on a thread that may block: certificate authorities are files.
async fn client(
    shared: &Arc<Shared>,
    spec: &Arc<ServerSpec>,
    deadline: Instant,
) -> Result<HttpClient, Failure> {
    let (shared, spec) = (Arc::clone(shared), Arc::clone(spec));
    let making = tokio::task::spawn_blocking(move || {
        let remote = remote(spec.wire())?;
        HttpClient::new(remote, &shared.env, spec.masks.clone(), spec.view.discovery_timeout)
    });
    let broken =
        |why: String| Failure::new(FailureKind::Network, format!("no HTTP client could be made: {why}"));
    match timeout_at(deadline, making).await {
        Ok(Ok(made)) => made,
        Ok(Err(error)) => Err(broken(error.to_string())),
        Err(_) => Err(broken("the certificate authorities could not be read in time".to_owned())),
    }
}

fn remote(wire: &Wire) -> Result<&Remote, Failure> {
    match wire {
        Wire::Http(remote) => Ok(remote),
        Wire::Sse(_) => Err(Failure::new(FailureKind::Unsupported, "SSE servers are not supported yet")),
        Wire::Stdio(_) => Err(Failure::new(FailureKind::Unsupported, "not a remote server")),
    }
}
