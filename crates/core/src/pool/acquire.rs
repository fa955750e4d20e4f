//! How does one attempt of a session get its lease, or go away without one? Owns the asker's end of the question.

use tokio::sync::{mpsc, oneshot};

use super::{
    machine::Holder,
    task::{Ask, Command},
};
use crate::{
    connector::{Lease, OpenRequest},
    failure::{Failure, FailureKind},
};

/// Asks at once; the future waits for the answer. Dropping it takes the question back, and with it a lease that is on
/// its way: the answer carries the lease, and dropping that is its release.
pub(super) fn acquire(
    holder: Holder,
    request: OpenRequest,
    commands: mpsc::UnboundedSender<Command>,
) -> impl Future<Output = Result<Lease, Failure>> + Send + 'static {
    let (reply, mut answer) = oneshot::channel();
    let cancel = request.cancel.clone();
    let asking = Asking { holder, commands: commands.clone() };
    let ask = Ask { holder, request, reply, commands };
    // Where nobody listens any more, the reply was dropped as well, and the answer says so.
    asking.commands.send(Command::Acquire(Box::new(ask))).ok();
    async move {
        let answered = tokio::select! {
            biased;
            answered = &mut answer => answered,
            () = cancel.cancelled() => {
                asking.take_back();
                answer.await
            }
        };
        answered
            .unwrap_or_else(|_| Err(Failure::new(FailureKind::Aborted, "the pool of connections has ended")))
    }
}

/// A question that may still be open.
struct Asking {
    holder: Holder,
    commands: mpsc::UnboundedSender<Command>,
}

impl Asking {
    fn take_back(&self) {
        // A pool that has ended holds nothing for us.
        self.commands.send(Command::Cancel(self.holder)).ok();
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        // After the answer this changes nothing.
        self.take_back();
    }
}
