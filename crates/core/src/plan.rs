//! What must be done to get from what is live to what is admitted? Pure, and it leaves no choice open.

use std::{collections::BTreeMap, sync::Arc};

use indexmap::IndexMap;

use crate::{
    admission::{Admitted, Refusal, Verdicts},
    domain::{ServerName, ServerSpec},
};

/// What is live by name: the entry that each slot stands for, whether it is open, opening or failed. Its order is that in
/// which entries that left are closed.
pub type LiveView<'a> = IndexMap<&'a ServerName, &'a Arc<ServerSpec>>;

/// One step. Closes come before everything else, so that there is one way to tear down.
#[derive(Debug)]
pub enum Action {
    /// End what is live under this name.
    Close {
        /// Whose.
        name: ServerName,
        /// Why; decides how much time a running call gets.
        why: CloseCause,
    },
    /// Keep the connection, replace what filters, labels or limits it.
    Rescope {
        /// Whose.
        name: ServerName,
        /// The entry as it is now.
        spec: Arc<ServerSpec>,
    },
    /// Open a connection with this proof.
    Open(Admitted),
}

/// Why something that is live ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CloseCause {
    /// Its entry left the map.
    Left,
    /// Its wire changed; an `Open` of the same name follows.
    Changed,
    /// The gate refuses it now.
    Refused(Refusal),
}

/// The steps, in the order in which they are taken: first every close, then rescopes and opens in the written order.
/// Also returns every refusal, since the verdicts are spent.
#[must_use]
pub fn plan(verdicts: Verdicts, live: &LiveView<'_>) -> (Vec<Action>, BTreeMap<ServerName, Refusal>) {
    let mut left = vec![true; live.len()];
    let (mut closes, mut rest) = (Vec::new(), Vec::new());
    let mut refusals = BTreeMap::new();
    for (name, verdict) in verdicts {
        let current = live.get_full(&name).map(|(at, _, spec)| {
            left[at] = false;
            *spec
        });
        match verdict {
            Err(refusal) => {
                if current.is_some() {
                    closes.push(Action::Close {
                        name: name.clone(),
                        why: CloseCause::Refused(refusal.clone()),
                    });
                }
                refusals.insert(name, refusal);
            }
            Ok(admitted) => match current {
                None => rest.push(Action::Open(admitted)),
                Some(spec) if Arc::ptr_eq(spec, admitted.spec()) => {}
                Some(spec) if spec.fingerprint() != admitted.fingerprint() => {
                    closes.push(Action::Close { name, why: CloseCause::Changed });
                    rest.push(Action::Open(admitted));
                }
                Some(spec) if spec == admitted.spec() => {}
                Some(_) => rest.push(Action::Rescope { name, spec: Arc::clone(admitted.spec()) }),
            },
        }
    }
    let left = live.keys().zip(left).filter(|(_, left)| *left);
    let mut actions: Vec<Action> =
        left.map(|(name, _)| Action::Close { name: (*name).clone(), why: CloseCause::Left }).collect();
    actions.append(&mut closes);
    actions.append(&mut rest);
    (actions, refusals)
}

#[cfg(test)]
mod tests;
