//! May this entry run? Answered with the record of decisions alone: no settings, no runtime.

use std::{error::Error, path::Path};

use qwen_approvals::{ApprovalStore, Decision, Dialect, FileStore, Verdict, approval_hash};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let store: Box<dyn ApprovalStore> =
        Box::new(FileStore::open(std::env::temp_dir().join("approvals.json")));
    let project = Path::new("/projects/example");
    let shown = json!({ "command": "node", "args": ["server.js"] });
    let edited = json!({ "command": "node", "args": ["other.js"] });

    store.decide(project, "example", approval_hash(&shown, Dialect::McpJson), Verdict::Approve, &shown)?;
    for entry in [shown, edited] {
        let decision = store.state(project, "example", approval_hash(&entry, Dialect::McpJson)).decision;
        println!("{entry}: {}", if decision == Decision::Approved { "runs" } else { "waits" });
    }
    Ok(())
}
