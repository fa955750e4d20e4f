//! Approvals of MCP server entries, bound to the exact bytes that were shown.

mod decision;
mod hash;

pub use decision::{Candidate, Decision, Gate, Verdict, promptable, skipped};
pub use hash::{ApprovalHash, Dialect, HashTextError, approval_hash};
