//! What is the first talk with a server, and what comes of it? Owns the handshake and the first lists within one limit,
//! and the step from there to a live connection or to a failure with nothing left behind; knows no kind of transport.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use rmcp::{RoleClient, service::serve_directly, transport::Transport};
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    answers::Answers,
    calls::Calls,
    direct::{Client, Shared, aborted},
    ground::Ground,
    handshake::{Agreed, Era, NoAgreement, Opening, Ours, confirm, shake},
    listing::{self, NoList, Offered},
    live::{Lister, Live, Service, Watcher},
    peer::{Asker, Over},
    tap::{Changes, Tap},
    vitals::{REASON, Vitals},
};
use crate::{
    connector::{Lease, OpenRequest, Teardown},
    domain::{ServerSpec, VersionNegotiation, Wire},
    failure::{Failure, FailureKind},
    said::Said,
};

/// A server that shook hands and listed what it offers.
pub(super) struct Ready {
    conversation: Conversation,
    agreed: Agreed,
    offered: Offered,
}

/// Talks until the server is ready, given up, lost or out of time; unless it is ready, nothing is left of it.
pub(super) async fn talk(
    conversation: Conversation,
    shared: &Shared,
    request: &OpenRequest,
    deadline: Instant,
) -> Result<Ready, Failure> {
    let spec = request.admitted.spec();
    let talked = tokio::select! {
        biased;
        () = request.cancel.cancelled() => Err(aborted()),
        // First the talk: what a server said before it ended tells how far it came.
        talked = conversation.talk(&shared.client, spec, deadline) => talked,
        failure = conversation.vitals.lost() => Err(conversation.ended(failure)),
    };
    match talked {
        Ok((agreed, offered)) => Ok(Ready { conversation, agreed, offered }),
        Err(failure) => Err(conversation.give_up(failure).await),
    }
}

impl Ready {
    /// From now on it is in use, until its lease ends.
    pub(super) fn go_live(self, request: OpenRequest) -> Lease {
        let Self { conversation, agreed, offered } = self;
        let OpenRequest { attempt, admitted, events, cancel, questions: _ } = request;
        let limit = admitted.spec().view.discovery_timeout;
        // In the older era servers ask by requests of their own, and a result is an answer.
        let asked_back = match agreed.era {
            Era::Initialized => None,
            Era::Discovered => Some(conversation.answers.clone()),
        };
        let calls = Arc::new(Calls::new(agreed.asker.clone(), asked_back));
        let inventory = offered.inventory();
        let watcher = Watcher {
            attempt,
            events,
            vitals: conversation.vitals,
            calls: Arc::clone(&calls),
            changes: conversation.changes,
            era: agreed.era,
            lister: Lister {
                asker: agreed.asker,
                offers: agreed.offers,
                renewed: conversation.ground.renewed(),
                offered,
                limit,
            },
            gone: conversation.ground.gone(),
            service: conversation.service,
            over: conversation.answers.over(),
        };
        tokio::spawn(watcher.run());
        let pid = conversation.ground.pid();
        Lease { pid, inventory, link: Box::new(Live::new(calls, conversation.ground, admitted, cancel)) }
    }
}

/// A server that is being talked to for the first time.
pub(super) struct Conversation {
    ground: Ground,
    service: Service,
    vitals: Vitals,
    changes: Arc<Changes>,
    shook_hands: AtomicBool,
    said: Said,
    answers: Answers,
    negotiation: VersionNegotiation,
}

impl Conversation {
    /// Begins to listen. `vitals` tell of the end of what the `transport` stands on.
    pub(super) fn begin(
        shared: &Shared,
        request: &OpenRequest,
        transport: impl Transport<RoleClient> + 'static,
        ground: Ground,
        vitals: Vitals,
    ) -> Self {
        let spec = request.admitted.spec();
        let questions = request.questions.clone();
        let answers = Answers::new(request.admitted.name(), spec, shared.root.clone(), questions);
        let changes = Arc::new(Changes::default());
        // The handshake is ours, since the library's cannot be bounded, checked or answered during.
        let said = Said::new(&spec.masks);
        let tap = Tap::new(transport, Arc::clone(&changes), said.clone());
        let service = serve_directly(answers.clone(), tap, None);
        let (shook_hands, negotiation) = (AtomicBool::new(false), negotiation(spec.wire()));
        Self { ground, service, vitals, changes, shook_hands, said, answers, negotiation }
    }

    /// Shakes hands and lists, within the deadline.
    async fn talk(
        &self,
        client: &Client,
        spec: &ServerSpec,
        deadline: Instant,
    ) -> Result<(Agreed, Offered), Failure> {
        let limit = spec.view.discovery_timeout.as_millis();
        let asker = Asker::new(self.service.peer().clone(), self.said.clone(), self.ground.over());
        let ours = Ours { client, capabilities: self.answers.capabilities() };
        // On the heap and one after the other: what a start holds from its beginning stays small.
        let shaking = Box::pin(shake(asker, ours, self.negotiation, &self.shook_hands));
        let mut agreed = self.in_time(deadline, limit, shaking).await?;
        let instructions = agreed.instructions.take();
        let confirmed = self.in_time(deadline, limit, confirm(&agreed.asker, agreed.era));
        let listed = async {
            match Box::pin(listing::all(&agreed.asker, agreed.offers, instructions, deadline)).await {
                Ok(offered) => Ok(offered),
                Err(NoList::Late) => Err(Failure::new(
                    FailureKind::Listing,
                    format!("no answer to tools/list within {limit} ms"),
                )),
                Err(NoList::Unanswered(failure)) => Err(self.in_context(failure)),
                Err(NoList::Gone(why)) => Err(self.reason(why).await),
            }
        };
        let ((), offered) = match self.ground.over() {
            // What is said first arrives first, so that one write does for all.
            Over::Pipes => tokio::try_join!(biased; confirmed, listed)?,
            // Each is a request of its own, and a server may refuse what overtakes the first.
            Over::Http => (confirmed.await?, listed.await?),
        };
        Ok((agreed, offered))
    }

    /// A step of the handshake, within the deadline.
    async fn in_time<T>(
        &self,
        deadline: Instant,
        limit: u128,
        step: impl Future<Output = Result<T, NoAgreement>>,
    ) -> Result<T, Failure> {
        match timeout_at(deadline, step).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(NoAgreement::Failed(failure))) => Err(self.in_context(failure)),
            Ok(Err(NoAgreement::Gone(why))) => Err(self.reason(why).await),
            Err(_) => Err(Failure::new(
                FailureKind::HandshakeTimeout,
                format!("no answer to {} after {limit} ms", Opening::of(self.negotiation).method()),
            )),
        }
    }

    /// What shook hands is an MCP endpoint: an answer that would say otherwise is a moment's weakness and worth another try.
    fn in_context(&self, failure: Failure) -> Failure {
        let shook_hands = self.shook_hands.load(Ordering::Relaxed);
        let is_no_answer =
            matches!(failure.kind, FailureKind::WrongEndpoint { .. } | FailureKind::InvalidHandshake);
        if !(shook_hands && is_no_answer) {
            return failure;
        }
        // The question after the URL is answered.
        let what = failure.message.split("; is its URL").next().unwrap_or_default();
        let message = format!("{what}, after its handshake");
        Failure { kind: FailureKind::Unavailable { retry_after: None }, message, ..failure }
    }

    /// A write failed: the reason for that is on its way.
    async fn reason(&self, why: String) -> Failure {
        match timeout(REASON, self.vitals.lost()).await {
            Ok(failure) => self.ended(failure),
            Err(_) => Failure::new(FailureKind::StreamClosed, why),
        }
    }

    /// The failure of a process that ended before it was ready.
    fn ended(&self, mut failure: Failure) -> Failure {
        if failure.kind == FailureKind::Exited {
            let shook_hands = self.shook_hands.load(Ordering::Relaxed);
            failure.kind = if shook_hands { FailureKind::EndedEarly } else { FailureKind::Exited };
            failure.message.push_str(&if shook_hands {
                " after its handshake, before its lists were read".to_owned()
            } else {
                format!(" before it answered {}", Opening::of(self.negotiation).method())
            });
        }
        failure
    }

    /// Leaves nothing behind, and adds to the failure what the server said.
    async fn give_up(self, mut failure: Failure) -> Failure {
        if failure.kind != FailureKind::Aborted
            && let Some(line) = self.vitals.in_place_of_messages()
        {
            let shown = self.said.cause(&line);
            failure.message.push_str(&format!(
                "; what it wrote to stdout is no MCP message and begins with \"{shown}\""
            ));
        }
        let is_complete = failure.kind == FailureKind::Aborted || failure.stderr_tail.is_some();
        let failure = if is_complete { failure } else { self.vitals.with_tail(failure) };
        self.ground.end(Teardown::NeverLive).await;
        self.service.cancellation_token().cancel();
        failure
    }
}

fn negotiation(wire: &Wire) -> VersionNegotiation {
    match wire {
        Wire::Stdio(stdio) => stdio.version_negotiation,
        Wire::Http(remote) | Wire::Sse(remote) => remote.version_negotiation,
    }
}
