//! What did the user say about a server entry, and what follows from it?
//!
//! Owns the three-valued [`Decision`] and the two sets that follow from it: who is skipped, and who is asked about.
//! Must not know where decisions are kept, nor what an entry looks like.

use std::collections::{BTreeMap, BTreeSet};

use crate::hash::ApprovalHash;

/// What the record says about one (project root, server name, approval hash).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Decision {
    /// The user approved exactly this entry.
    Approved,
    /// The user rejected exactly this entry: it is skipped, and not asked about again until it changes.
    Rejected,
    /// Nobody decided about exactly this entry.
    Undecided,
}

impl Decision {
    /// Whether a gated entry with this decision must stay closed. Only an approval lifts the gate.
    pub fn blocks(self) -> bool {
        match self {
            Decision::Approved => false,
            Decision::Rejected | Decision::Undecided => true,
        }
    }

    /// Whether the user should be asked. A rejected entry blocks without a question.
    pub fn asks(self) -> bool {
        match self {
            Decision::Undecided => true,
            Decision::Approved | Decision::Rejected => false,
        }
    }
}

/// An answer that a user gave; unlike [`Decision`] it cannot be "none", so nothing undecided is ever stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verdict {
    /// The entry may connect.
    Approve,
    /// The entry may not connect.
    Reject,
}

impl From<Verdict> for Decision {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Approve => Decision::Approved,
            Verdict::Reject => Decision::Rejected,
        }
    }
}

/// Whether an entry needs the user's approval before it may connect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Gate {
    /// It does: it came from a file that somebody else may have written.
    Gated,
    /// It does not; the record is not consulted.
    NotGated,
}

/// One entry whose decision is looked up, identified by what was read from its file.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Candidate {
    /// The name under `mcpServers`.
    pub name: String,
    /// The approval hash of the entry as written.
    pub hash: ApprovalHash,
    /// Whether the entry is gated at all.
    pub gate: Gate,
}

/// The candidates that must not connect, with the decision that holds each back: the gated ones that are not
/// approved, the rejected ones included.
pub fn skipped(
    candidates: &[Candidate],
    decision: impl Fn(&Candidate) -> Decision,
) -> BTreeMap<String, Decision> {
    gated(candidates)
        .map(|candidate| (candidate.name.clone(), decision(candidate)))
        .filter(|(_, decision)| decision.blocks())
        .collect()
}

/// The candidates that the user should be asked about, by name and hash: the gated ones that are strictly
/// undecided.
pub fn promptable(
    candidates: &[Candidate],
    decision: impl Fn(&Candidate) -> Decision,
) -> BTreeSet<(String, ApprovalHash)> {
    gated(candidates)
        .filter(|candidate| decision(candidate).asks())
        .map(|candidate| (candidate.name.clone(), candidate.hash))
        .collect()
}

fn gated(candidates: &[Candidate]) -> impl Iterator<Item = &Candidate> {
    candidates.iter().filter(|candidate| candidate.gate == Gate::Gated)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(name: &str, gate: Gate) -> Candidate {
        Candidate {
            name: name.to_owned(),
            hash: crate::approval_hash(&serde_json::json!({ "command": name }), crate::Dialect::Settings),
            gate,
        }
    }

    #[test]
    fn only_an_approval_lifts_the_gate_and_only_the_undecided_are_asked_about() {
        let table = [
            (Decision::Approved, false, false),
            (Decision::Rejected, true, false),
            (Decision::Undecided, true, true),
        ];
        for (decision, blocks, asks) in table {
            assert_eq!((decision.blocks(), decision.asks()), (blocks, asks), "{decision:?}");
        }
    }

    #[test]
    fn entries_that_are_not_gated_are_in_neither_set_whatever_the_record_says() {
        let all = [
            candidate("project", Gate::Gated),
            candidate("workspace", Gate::Gated),
            candidate("system", Gate::NotGated),
            candidate("user", Gate::NotGated),
        ];
        let undecided = |_: &Candidate| Decision::Undecided;
        assert_eq!(skipped(&all, undecided).into_keys().collect::<Vec<_>>(), ["project", "workspace"]);
        let asked: Vec<_> = promptable(&all, undecided).into_iter().map(|(name, _)| name).collect();
        assert_eq!(asked, ["project", "workspace"]);
    }

    #[test]
    fn a_rejected_entry_is_skipped_without_a_question() {
        let all = [candidate("x", Gate::Gated)];
        let rejected = |_: &Candidate| Decision::Rejected;
        assert_eq!(skipped(&all, rejected), BTreeMap::from([("x".to_owned(), Decision::Rejected)]));
        assert!(promptable(&all, rejected).is_empty());
    }

    #[test]
    fn an_approved_entry_is_in_neither_set() {
        let all = [candidate("x", Gate::Gated)];
        assert!(skipped(&all, |_| Decision::Approved).is_empty());
        assert!(promptable(&all, |_| Decision::Approved).is_empty());
    }
}
