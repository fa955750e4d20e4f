//! How do files become what is desired while a session runs? By the function that boot used, with what this session has
//! learnt since: decisions that could not be written, and files that were no good at start.

use std::collections::BTreeSet;

use qwen_core::ServerName;

use crate::{
    derive::{Derived, Launch, SessionDecisions, derive},
    settings::Snapshot,
};

/// From files to what is desired.
pub(super) type Deriving =
    Box<dyn FnMut(&Snapshot, &mut SessionDecisions, Option<&Derived>) -> Derived + Send>;

/// The function that boot used.
pub(super) fn deriving(mut launch: Launch) -> Deriving {
    Box::new(move |snapshot, decisions, previous| {
        launch.hear(decisions, snapshot);
        launch.fix_repaired(snapshot);
        derive(snapshot, &launch, previous)
    })
}

/// The names of a promptable set, sorted.
pub(super) fn names(asked: &BTreeSet<(ServerName, String)>) -> Vec<ServerName> {
    asked.iter().map(|(name, _)| name.clone()).collect()
}

/// The names whose entry that counts stands below other entries than before. Where these stand in their files is no
/// difference.
pub(super) fn shadows_changed(before: &Derived, now: &Derived) -> Vec<ServerName> {
    let shadow = |derived: &Derived, name: &ServerName| {
        let shadow = derived.rows.get(name)?.shadowed_by.clone()?;
        Some((shadow.scope, shadow.source.path, shadow.decision))
    };
    let mut names: Vec<ServerName> =
        now.rows.keys().filter(|name| shadow(before, name) != shadow(now, name)).cloned().collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use qwen_core::{Decision, Scope};

    use super::*;
    use crate::{derive::Row, fixtures};

    fn of(row: Row) -> Derived {
        let mut derived = Derived::default();
        derived.rows.insert(row.name.clone(), row);
        derived
    }

    #[test]
    fn another_shadow_is_a_difference_and_another_line_is_none() {
        let alone = || of(fixtures::row("gh", Scope::User));
        let shadowed = |change: fn(&mut crate::derive::ShadowedBy)| {
            let mut row = fixtures::shadowed("gh");
            row.shadowed_by.as_mut().map(change).unwrap();
            of(row)
        };
        let waits = || shadowed(|_| {});
        assert_eq!(shadows_changed(&alone(), &waits()), [ServerName::from("gh")]);
        assert_eq!(shadows_changed(&waits(), &alone()), [ServerName::from("gh")]);
        let rejected = shadowed(|shadow| shadow.decision = Decision::Rejected);
        assert_eq!(shadows_changed(&waits(), &rejected), [ServerName::from("gh")]);
        let moved = shadowed(|shadow| shadow.source.line = Some(99));
        assert!(shadows_changed(&waits(), &moved).is_empty());
    }
}
