//! Approvals of MCP server entries, bound to the exact bytes that were shown.
//!
//! A repository can bring server entries along; nobody's machine should run them before its user said yes to exactly
//! what they say. This crate answers three questions, and can be used without the rest of the workspace:
//!
//! - *Are these two entries the same thing to approve?* [`approval_hash`] digests an entry as it is written. Key order,
//!   layout, labels and the value of a variable do not count; everything else does.
//! - *What did the user say?* A decision is bound to (project root, server name, approval hash). [`ApprovalStore`] is
//!   the border, [`FileStore`] the store in a JSON file that many processes share, [`Records`] the loaded record for
//!   those who watch the file themselves.
//! - *Who is skipped, and who is asked about?* [`skipped`] and [`promptable`]. A rejected entry is skipped without a
//!   question until it changes; an entry that nobody decided about is never approved.
//!
//! It knows neither MCP nor settings files, runs nothing, and records no decision that nobody made.
//!
//! ```
//! use qwen_approvals::{ApprovalStore, Decision, Dialect, FileStore, Verdict, approval_hash};
//! use serde_json::json;
//!
//! let folder = tempfile::tempdir()?;
//! let project = tempfile::tempdir()?;
//! let store = FileStore::open(folder.path().join("mcpApprovals.json"));
//!
//! // What the user is shown, what is hashed, and what will run are one value.
//! let shown = json!({ "command": "node", "args": ["server.js"] });
//! let hash = approval_hash(&shown, Dialect::McpJson);
//! assert_eq!(store.state(project.path(), "files", hash).decision, Decision::Undecided);
//!
//! store.decide(project.path(), "files", hash, Verdict::Approve, &shown)?;
//! assert_eq!(store.state(project.path(), "files", hash).decision, Decision::Approved);
//!
//! // An edit is another thing to approve, and the next question can say what changed.
//! let edited = json!({ "command": "node", "args": ["server.js", "--write"] });
//! let edited_hash = approval_hash(&edited, Dialect::McpJson);
//! assert_eq!(store.state(project.path(), "files", edited_hash).decision, Decision::Undecided);
//! let changes = store.previous(project.path(), "files", &edited).and_then(|last| last.changes);
//! assert_eq!(changes.unwrap_or_default()[0].path, ["args", "1"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The file
//!
//! `{ "<project root>": { "<server>": record } }`, indented by two spaces, mode 0600. It has the shape that Qwen Code
//! reads and writes, and no version number: what a program does not know it leaves as it is.
//!
//! | field of a record | holds | a program that lacks it |
//! | --- | --- | --- |
//! | `hash` | approval hash, 64 hex digits | – (a record without it decides nothing) |
//! | `status` | `approved` or `rejected`; every other word decides nothing | – |
//! | `time` | when, RFC 3339 in UTC | the decision counts, its time is unknown |
//! | `shown` | `key`: which key; `fields`: JSON pointer → HMAC-SHA-256 of path and value, 32 hex digits | the next question shows no difference |
//! | `earlier` | up to 20 decisions that others replaced, the newest first: `hash`, `status`, `time` | they are asked about again |
//! | any other | – | kept where it stands; in a record it stays with the server when the decision changes |
//!
//! Beside the file: `.lock` (held with the system's file lock while the file is changed, 5 s at most are waited for
//! it), `.key` (the 32 bytes of the HMAC key, beside the path that was named when that is a link), `.corrupt-<time>`
//! (a file that was no record, set aside by the decision that followed), and, after a killed write, a temporary file
//! that the next write removes.

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
