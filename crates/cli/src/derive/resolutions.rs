//! Was this entry resolved before? Owns what the entries of one derivation came to, and which of it the next one may use
//! again. It resolves nothing itself.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use qwen_core::{Approval, ServerName};
use serde_json::Value;

use super::{
    candidates::{Candidate, Written},
    resolve::Resolved,
};
use crate::settings::SourceId;

/// What the entries came to, and what of their surroundings can change while a session runs.
#[derive(Default)]
pub(crate) struct Resolutions {
    user_variables: BTreeMap<String, String>,
    tool_idle: Duration,
    by_place: HashMap<(SourceId, ServerName), Resolution>,
}

/// What one entry came to.
#[derive(Clone)]
struct Resolution {
    written: Written,
    approval: Approval,
    resolved: Arc<Resolved>,
}

impl Resolutions {
    /// Nothing is resolved yet.
    pub(super) fn new(user_variables: BTreeMap<String, String>, tool_idle: Duration) -> Self {
        Self { user_variables, tool_idle, by_place: HashMap::new() }
    }

    /// The values that the user's own file gives to variables.
    pub(super) fn user_variables(&self) -> &BTreeMap<String, String> {
        &self.user_variables
    }

    /// What the entry came to before, here or in the derivation before this one, unless something that it depends on is
    /// another by now.
    pub(super) fn known(
        &mut self,
        before: Option<&Self>,
        candidate: &Candidate,
        approval: Approval,
    ) -> Option<Arc<Resolved>> {
        let place = (candidate.file.id, candidate.name.clone());
        let holds =
            |known: &&Resolution| known.approval == approval && as_before(&known.written, &candidate.written);
        if let Some(here) = self.by_place.get(&place).filter(holds) {
            return Some(Arc::clone(&here.resolved));
        }
        let same_surroundings = |before: &&Self| {
            before.tool_idle == self.tool_idle && before.user_variables == self.user_variables
        };
        let known = before.filter(same_surroundings)?.by_place.get(&place).filter(holds)?.clone();
        let resolved = Arc::clone(&known.resolved);
        self.by_place.insert(place, known);
        Some(resolved)
    }

    /// Takes down what an entry came to.
    pub(super) fn learn(
        &mut self,
        candidate: &Candidate,
        approval: Approval,
        resolved: Resolved,
    ) -> Arc<Resolved> {
        let resolved = Arc::new(resolved);
        let place = (candidate.file.id, candidate.name.clone());
        let resolution =
            Resolution { written: candidate.written.clone(), approval, resolved: Arc::clone(&resolved) };
        self.by_place.insert(place, resolution);
        resolved
    }

    /// The names of the entries that both know from one resolution, sorted.
    #[cfg(test)]
    pub(super) fn shared_with<'a>(&'a self, later: &Self) -> Vec<&'a str> {
        let shared = self.by_place.iter().filter(|(place, known)| {
            later.by_place.get(*place).is_some_and(|other| Arc::ptr_eq(&other.resolved, &known.resolved))
        });
        let mut names: Vec<&str> = shared.map(|((_, name), _)| name.as_str()).collect();
        names.sort_unstable();
        names
    }
}

/// Whether nothing of an entry is another than before.
fn as_before(before: &Written, now: &Written) -> bool {
    match (before, now) {
        (Written::Entry(before), Written::Entry(now)) => same_in_the_same_order(before, now),
        (Written::NoCommand { entry: before, why: why_before }, Written::NoCommand { entry: now, why }) => {
            why_before == why && same_in_the_same_order(before, now)
        }
        (Written::Entry(_) | Written::NoCommand { .. }, _) => false,
    }
}

/// Whether two values are equal and written in one order: it decides which problem of an entry is the one that is named,
/// and in which order its warnings stand.
fn same_in_the_same_order(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|((name, one), (other_name, other))| {
                    name == other_name && same_in_the_same_order(one, other)
                })
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| same_in_the_same_order(one, other))
        }
        (_, _) => one == other,
    }
}
