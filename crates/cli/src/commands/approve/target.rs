//! Which entry does a name mean to somebody who decides? Pure: from what is derived to an entry, or why there is none.

use qwen_approvals::Verdict;
use qwen_core::ServerName;

use crate::{
    derive::{Derived, Promptable},
    exit::Exit,
    text::visible,
    words::{Background, Prompt, of_refusal, place},
};

/// What a name means.
#[derive(Debug)]
pub(super) enum Target {
    /// This entry.
    Entry(Box<Promptable>),
    /// Nothing that can be decided about.
    Not {
        /// One sentence.
        why: String,
        /// How the command ends.
        exit: Exit,
    },
}

/// The entry that waits under this name; where none waits, the highest gated one, whatever was said about it before.
pub(super) fn target(derived: &Derived, name: &str, verdict: Verdict, back: Background<'_>) -> Target {
    let shown = visible(name);
    if let Some(asked) = derived.promptable.get(name) {
        return Target::Entry(Box::new(asked.clone()));
    }
    if let Some(gated) = derived.gated.get(name) {
        return match (&gated.barrier, verdict) {
            // Saying no to something that could not run anyway is fine; saying yes would promise what does not happen.
            (Some(refusal), Verdict::Approve) => {
                let words = of_refusal(refusal, &gated.asked.name, derived.rows.get(name), back);
                let cause = words.cause.unwrap_or_default();
                let step = words.next_step.map(|step| format!("; next: {step}")).unwrap_or_default();
                Target::Not { why: format!("{shown} was not approved: {cause}{step}"), exit: Exit::Blocked }
            }
            (Some(_), Verdict::Reject) | (None, Verdict::Approve | Verdict::Reject) => {
                Target::Entry(Box::new(gated.asked.clone()))
            }
        };
    }
    match derived.rows.get(name) {
        Some(row) => Target::Not {
            why: format!(
                "{shown} needs no approval: it is an entry of scope {} in {}",
                row.scope,
                place(&row.source)
            ),
            exit: Exit::Failed,
        },
        None => Target::Not { why: unknown(derived, name), exit: Exit::Failed },
    }
}

/// That there is no such server, with the names that come near.
pub(crate) fn unknown(derived: &Derived, name: &str) -> String {
    unknown_at(Prompt::Shell, derived, name)
}

/// The same, for whoever types at this prompt.
pub(crate) fn unknown_at(prompt: Prompt, derived: &Derived, name: &str) -> String {
    let near = qwen_core::nearest(name, derived.rows.keys().map(ServerName::as_str));
    let near: Vec<_> = near.iter().map(|name| visible(name).into_owned()).collect();
    let shown = visible(name);
    if near.is_empty() {
        format!("no server named {shown} is configured; {}", prompt.list_servers())
    } else {
        format!("no server named {shown} is configured; did you mean {}?", near.join(" or "))
    }
}

/// What waits, for somebody who named nothing.
pub(super) fn waiting(derived: &Derived) -> String {
    if derived.promptable.is_empty() {
        return nothing_waits().to_owned();
    }
    let mut text = "these servers wait for approval:".to_owned();
    for asked in derived.promptable.values() {
        text.push_str(&format!("\n  {}  {}", visible(asked.name.as_str()), place(&asked.source)));
    }
    text.push_str("\nname the ones to decide about, or say --all");
    text
}

/// Nothing waits.
pub(super) fn nothing_waits() -> &'static str {
    "no server waits for approval"
}

#[cfg(test)]
mod tests {
    use qwen_core::{Decision, Refusal, Scope};
    use serde_json::json;

    use super::*;
    use crate::{derive::GatedEntry, fixtures, settings::Snapshot};

    fn derived() -> Derived {
        let mut derived = Derived::default();
        for (name, scope) in [
            ("own", Scope::User),
            ("waits", Scope::Project),
            ("rejected", Scope::Project),
            ("off", Scope::Project),
        ] {
            derived.rows.insert(ServerName::from(name), fixtures::row(name, scope));
        }
        let asked = |name: &str| fixtures::promptable(name, json!({ "command": name }));
        derived.promptable.insert(ServerName::from("waits"), asked("waits"));
        let gated = |name: &str, decision, barrier| GatedEntry { asked: asked(name), decision, barrier };
        derived.gated.insert(ServerName::from("rejected"), gated("rejected", Decision::Rejected, None));
        let barrier = Some(Refusal::Disabled);
        derived.gated.insert(ServerName::from("off"), gated("off", Decision::Undecided, barrier));
        derived
    }

    fn said(name: &str, verdict: Verdict) -> String {
        let snapshot = Snapshot::default();
        let back = fixtures::background(&snapshot);
        match target(&derived(), name, verdict, back) {
            Target::Entry(asked) => format!("decides about {}", asked.name),
            Target::Not { why, exit } => format!("{}: {why}", exit.code()),
        }
    }

    #[test]
    fn a_name_means_what_waits_or_what_was_decided_and_never_what_needs_no_approval() {
        let table = [
            ("waits", Verdict::Approve, "decides about waits"),
            ("rejected", Verdict::Approve, "decides about rejected"),
            ("off", Verdict::Reject, "decides about off"),
            (
                "own",
                Verdict::Approve,
                "1: own needs no approval: it is an entry of scope user in /home/u/.qwen/settings.json:4",
            ),
            ("wait", Verdict::Approve, "1: no server named wait is configured; did you mean waits?"),
        ];
        for (name, verdict, expected) in table {
            assert_eq!(said(name, verdict), expected);
        }
        assert!(said("off", Verdict::Approve).starts_with("5: off was not approved: switched off"));
    }

    #[test]
    fn an_entry_that_something_else_refuses_is_not_approved_and_says_why() {
        let snapshot = fixtures::restricting_files();
        let mut text = String::new();
        for shown in fixtures::every_state() {
            let Some(barrier) = shown.refusal().cloned() else { continue };
            if matches!(barrier, Refusal::PendingApproval | Refusal::Rejected) {
                continue;
            }
            let asked = fixtures::promptable("gh", json!({ "command": "gh" }));
            let gated = GatedEntry { asked, decision: Decision::Undecided, barrier: Some(barrier) };
            let mut derived = Derived::default();
            derived.rows.insert(shown.row.name.clone(), shown.row);
            derived.gated.insert(ServerName::from("gh"), gated);
            let back = fixtures::background(&snapshot);
            match target(&derived, "gh", Verdict::Approve, back) {
                Target::Not { why, exit } => {
                    text.push_str(&format!("--- {}\n{why}\n(exit {})\n", shown.label, exit.code()));
                }
                Target::Entry(asked) => panic!("{} decides about {}", shown.label, asked.name),
            }
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn who_names_nothing_is_told_what_waits() {
        insta::assert_snapshot!(waiting(&derived()));
        assert_eq!(waiting(&Derived::default()), "no server waits for approval");
    }
}
