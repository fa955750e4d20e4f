//! Approvals of MCP server entries, bound to the exact bytes that were shown.

mod decision;
mod document;
mod hash;
mod record;
mod records;
mod root;
mod shown;
mod store;
mod time;

pub use decision::{Candidate, Decision, Gate, Verdict, promptable, skipped};
pub use document::Corrupt;
pub use hash::{ApprovalHash, Dialect, HashTextError, approval_hash};
pub use records::{Listed, Projects, Recorded, Records, Standing};
pub use shown::{Change, FieldChange};
pub use store::{ApprovalStore, Decided, FileStore, Previous, ReadProblem, Reading, Revoked, StoreError};
