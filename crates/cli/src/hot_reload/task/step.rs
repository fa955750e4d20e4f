//! What happens in one pass? What changed is told, what is desired is derived and compared, the difference is committed,
//! and who waits is told. No connection is waited for.

use std::{sync::Arc, time::Duration};

use qwen_core::Desired;
use tokio::time::Instant;

use super::{
    super::{
        decisions::{names, shadows_changed},
        event::{CliEvent, NoticeCode},
        pass::{Asked, Pass, narrow, plan_pass},
        target::Target,
    },
    ChangesTold, Extent, Retry, Task,
};
use crate::derive::AutoReload;

/// How long a failed pass waits before it is tried again: at first, and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

impl<T: Target> Task<T> {
    /// One pass: tell what changed, derive, compare, commit, tell who waits.
    pub(super) async fn pass(&mut self, extent: Extent) {
        let seen = self.parts.seen.borrow_and_update().clone();
        for event in self.told.tell(&seen, &*self.parts.schema) {
            if let (CliEvent::SettingsChanged { .. }, Some(looking)) = (&event, &mut self.looking) {
                looking.changes = ChangesTold::Already;
            }
            self.tell(event);
        }
        let previous = Arc::clone(&self.derived.borrow());
        let derived = Arc::new((self.parts.derive)(&seen.snapshot, &mut self.decisions, Some(&previous)));
        self.parts.files.set_debounce(derived.options.debounce);
        self.derived.send_replace(Arc::clone(&derived));

        let next = derived.desired();
        let wanted = match (&self.sent, derived.options.auto_reload, self.widen(extent)) {
            (Some(sent), AutoReload::Off, Extent::AsSet) => narrow(sent, &next, &self.parts.target.bound()),
            (_, AutoReload::On, _) | (None, AutoReload::Off, _) | (_, AutoReload::Off, Extent::Whole) => {
                next.clone()
            }
        };
        let is_held = wanted != next;
        let asked = derived.promptable_set();
        match plan_pass(self.sent.as_ref(), &self.asked, &wanted, &asked) {
            Pass::Nothing => self.retry = None,
            Pass::PendingOnly => {
                self.retry = None;
                self.tell_pending(asked);
            }
            Pass::Commit(desired) => {
                self.commit(*desired, extent).await;
                self.tell_pending(asked);
            }
        }
        self.tell_held(is_held.then_some(next));
        let servers = shadows_changed(&previous, &derived);
        if !servers.is_empty() {
            self.tell(CliEvent::ShadowsChanged { servers });
        }
    }

    /// While a reload is under way nothing is held back.
    fn widen(&self, extent: Extent) -> Extent {
        match (extent, &self.looking) {
            (Extent::Whole, _) => Extent::Whole,
            (Extent::AsSet, looking) => looking.as_ref().map_or(Extent::AsSet, |looking| looking.extent),
        }
    }

    async fn commit(&mut self, desired: Desired, extent: Extent) {
        let target = &self.parts.target;
        let planned = match (target.commit(desired.clone()).await, &self.sent) {
            // What was recorded before the session started is its first generation.
            (Ok(_), None) => Ok(target.initialize().await),
            (planned, _) => planned,
        };
        match planned {
            Ok(generation) => {
                self.sent = Some(desired);
                self.retry = None;
                self.tell(CliEvent::Planned { generation, status: self.parts.target.status() });
            }
            Err(error) => {
                let delay = self.retry.map_or(RETRY.0, |retry| (retry.delay * 2).min(RETRY.1));
                let extent = self.widen(extent);
                self.retry = Some(Retry { at: Instant::now() + delay, delay, extent });
                tracing::error!(%error, ?delay, "a reload failed");
                let seconds = delay.as_secs();
                let message =
                    format!("failed to apply the new settings: {error}; trying again in {seconds} s");
                self.notice(NoticeCode::ReloadFailed, message);
            }
        }
    }

    fn tell_pending(&mut self, asked: Asked) {
        if asked != self.asked {
            self.tell(CliEvent::PendingApprovalChanged { servers: names(&asked) });
            self.asked = asked;
        }
    }

    fn tell_held(&mut self, held: Option<Desired>) {
        if held.is_some() && held != self.held {
            let message = "mcp.autoReload is off: edits that open or restart a server wait for a reload (/reload, or \
                           SIGHUP to a process without a terminal)";
            self.notice(NoticeCode::EditsHeld, message.to_owned());
        }
        self.held = held;
    }
}
