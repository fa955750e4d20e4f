//! What do several scopes say name by name? Owns the look-up from the highest scope down; copies nothing until it is
//! asked to.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::Leaf;
use crate::{key::KeyPath, scope::SettingsScope};

/// What one layer holds at one key.
pub(super) type Entries<'a> = Cow<'a, Map<String, Value>>;

/// What the layers hold at one key, from the lowest up. A name that several hold is the highest one's, whole.
#[derive(Clone, PartialEq, Default, Debug)]
pub(super) struct Named<'a>(Vec<(SettingsScope, Entries<'a>)>);

impl<'a> Named<'a> {
    /// Puts a higher layer over those that are there.
    pub(super) fn add(&mut self, scope: SettingsScope, entries: Entries<'a>) {
        self.0.push((scope, entries));
    }

    /// The value of a name, and whose it is.
    pub(super) fn get(&self, name: &str) -> Option<(SettingsScope, &Value)> {
        self.0.iter().rev().find_map(|(scope, entries)| Some((*scope, entries.get(name)?)))
    }

    /// Whose the value is that stands at or above a path below the key; `None` where none does.
    pub(super) fn origin(&self, below: &[String]) -> Option<SettingsScope> {
        match (self.empty(), below) {
            (Some(scope), _) => Some(scope),
            (None, [name, ..]) => self.get(name).map(|(scope, _)| scope),
            (None, []) => None,
        }
    }

    /// Each value with its scope.
    pub(super) fn leaves(&self, key: &str) -> Vec<Leaf> {
        if let Some(scope) = self.empty() {
            return vec![Leaf { key: KeyPath::new([key]), value: Value::Object(Map::new()), scope }];
        }
        let winning = |(at, (scope, entries)): (usize, &(SettingsScope, Entries<'_>))| {
            let higher = self.0.get(at + 1..).unwrap_or_default();
            let own =
                entries.iter().filter(|(name, _)| !higher.iter().any(|(_, over)| over.contains_key(*name)));
            own.map(|(name, value)| Leaf {
                key: KeyPath::new([key, name]),
                value: value.clone(),
                scope: *scope,
            })
            .collect::<Vec<_>>()
        };
        self.0.iter().enumerate().flat_map(winning).collect()
    }

    pub(super) fn into_owned(self) -> Named<'static> {
        Named(self.0.into_iter().map(|(scope, entries)| (scope, Cow::Owned(entries.into_owned()))).collect())
    }

    /// Who was the first to say that there is nothing, if nobody says more.
    fn empty(&self) -> Option<SettingsScope> {
        let (scope, _) = self.0.first()?;
        self.0.iter().all(|(_, entries)| entries.is_empty()).then_some(*scope)
    }
}
