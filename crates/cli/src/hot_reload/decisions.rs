//! What counts when a decision could not be written? It holds for this session, laid over what the files say. It must
//! not know how decisions are stored.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use qwen_approvals::Verdict;
use qwen_core::{Decision, Entry, Pending, ServerName};

use crate::{
    derive::{Derived, Launch, derive},
    settings::Snapshot,
};

/// Decisions that only this session knows, by name and hash.
pub(super) type SessionDecisions = BTreeMap<(ServerName, String), Verdict>;

/// From files to what is desired.
pub(super) type Deriving = Box<dyn FnMut(&Snapshot, &SessionDecisions, Option<&Derived>) -> Derived + Send>;

/// The function that boot used, with this session's own decisions.
pub(super) fn deriving(launch: Launch) -> Deriving {
    let approved_at_start = launch.approved.clone();
    let mut launch = launch;
    Box::new(move |snapshot, decisions, previous| {
        let mut approved = approved_at_start.clone();
        for (about, verdict) in decisions {
            match verdict {
                Verdict::Approve => approved.insert(about.clone()),
                Verdict::Reject => approved.remove(about),
            };
        }
        launch.approved = approved;
        let mut derived = derive(snapshot, &launch, previous);
        for (about, verdict) in decisions {
            match verdict {
                Verdict::Approve => {}
                Verdict::Reject => reject(&mut derived, about),
            }
        }
        derived
    })
}

fn reject(derived: &mut Derived, (name, hash): &(ServerName, String)) {
    if derived.promptable.get(name).is_some_and(|asked| asked.hash == *hash) {
        derived.promptable.remove(name);
    }
    let Some(row) = derived.rows.get_mut(name) else { return };
    let Some(approval) = row.approval.as_mut().filter(|approval| approval.hash == *hash) else { return };
    approval.decision = Decision::Rejected;
    derived.gating.pending.insert(name.clone(), Pending::Rejected);
    if let Entry::Valid(spec) = &row.entry {
        let rejected = Entry::Valid(Arc::new((**spec).clone().decided(Decision::Rejected)));
        row.entry = rejected.clone();
        derived.servers.insert(name.clone(), rejected);
    }
}

/// The names of a promptable set, sorted.
pub(super) fn names(asked: &BTreeSet<(ServerName, String)>) -> Vec<ServerName> {
    asked.iter().map(|(name, _)| name.clone()).collect()
}
