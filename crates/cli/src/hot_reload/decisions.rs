//! How do files become what is desired while a session runs? By the function that boot used, with what this session has
//! learnt since: decisions that could not be written, and files that were no good at start.

use std::collections::{BTreeMap, BTreeSet};

use qwen_core::{Decision, ServerName};

use crate::{
    derive::{Derived, Launch, derive},
    settings::Snapshot,
};

/// Decisions that only this session knows, by name and hash.
pub(super) type SessionDecisions = BTreeMap<(ServerName, String), Decision>;

/// From files to what is desired.
pub(super) type Deriving = Box<dyn FnMut(&Snapshot, &SessionDecisions, Option<&Derived>) -> Derived + Send>;

/// The function that boot used.
pub(super) fn deriving(mut launch: Launch) -> Deriving {
    Box::new(move |snapshot, decisions, previous| {
        launch.decided.clone_from(decisions);
        launch.fix_repaired(snapshot);
        derive(snapshot, &launch, previous)
    })
}

/// The names of a promptable set, sorted.
pub(super) fn names(asked: &BTreeSet<(ServerName, String)>) -> Vec<ServerName> {
    asked.iter().map(|(name, _)| name.clone()).collect()
}
