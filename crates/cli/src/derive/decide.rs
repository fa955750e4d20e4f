//! Does an entry need approval, and what was decided about exactly its bytes? The record, the flags and this session's
//! own decisions, in one place.

use std::sync::Arc;

use qwen_approvals::{ApprovalHash, Records};
use qwen_core::{Decision, FolderTrust, ServerName};

use super::{
    candidates::Candidate,
    launch::{Launch, Yolo},
    row::RowApproval,
};
use crate::settings::{Content, Snapshot, SourceId};

/// The record of decisions; without one, nothing is decided.
pub(super) fn records(snapshot: &Snapshot) -> Arc<Records> {
    match snapshot.get(SourceId::Approvals).map(|file| &file.content) {
        Some(Content::Records(records)) => Arc::clone(records),
        Some(Content::Settings | Content::Folders(_)) | None => Arc::default(),
    }
}

/// What the record says about one exact entry.
#[derive(PartialEq)]
pub(super) struct Recorded {
    pub(super) decision: Decision,
    pub(super) time: Option<String>,
}

pub(super) fn recorded(records: &Records, launch: &Launch, name: &ServerName, hash: &str) -> Recorded {
    let Ok(hash) = hash.parse::<ApprovalHash>() else {
        return Recorded { decision: Decision::Undecided, time: None };
    };
    let recorded = records.state(launch.paths.root.as_path(), name.as_str(), hash);
    let decision = match recorded.decision {
        qwen_approvals::Decision::Approved => Decision::Approved,
        qwen_approvals::Decision::Rejected => Decision::Rejected,
        qwen_approvals::Decision::Undecided => Decision::Undecided,
    };
    Recorded { decision, time: recorded.time }
}

/// Whether the entry needs the user's approval: it stands in a file of the project, or in a `--mcp-config` file inside
/// the project and was not there at start.
pub(super) fn is_gated(entry: &Candidate, launch: &Launch) -> bool {
    entry.scope.is_gated()
        || launch
            .vouched
            .get(&entry.file.id)
            .is_some_and(|vouched| !vouched.contains(&(entry.name.clone(), entry.hash())))
}

/// The effective decision about a gated entry.
pub(super) fn decision(
    records: &Records,
    launch: &Launch,
    folder: FolderTrust,
    name: &ServerName,
    hash: String,
) -> RowApproval {
    let recorded = recorded(records, launch, name, &hash);
    let key = (name.clone(), hash);
    let flagged = launch.approved.contains(&key)
        && (recorded.decision != Decision::Rejected || launch.approved_although_rejected.contains(&key));
    let yolo = launch.flags.yolo == Yolo::On && folder == FolderTrust::Trusted;
    let (decision, decided_at) = match (launch.decided.get(&key), recorded.decision) {
        (Some(decision), _) => (*decision, None),
        (None, _) if flagged => (Decision::Approved, None),
        (None, Decision::Undecided) if yolo => (Decision::Approved, None),
        (None, decision) => (decision, recorded.time),
    };
    RowApproval { decision, hash: key.1, decided_at }
}
