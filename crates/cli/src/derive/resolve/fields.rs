//! What came of the texts of one entry? Expands them one by one and keeps what was read, what must be hidden, what is
//! odd and the first thing that makes the entry unusable.

use qwen_core::{Secret, is_worth_masking};

use super::{Problem, Surroundings};
use crate::{
    derive::row::{ReadVariable, VariableState},
    settings::{Expanded, Unset, UsedValue},
};

/// One entry on its way from written to resolved.
pub(super) struct Resolving<'a> {
    pub(super) around: Surroundings<'a>,
    pub(super) masks: Vec<Secret>,
    oddities: Vec<Problem>,
    variables: Vec<ReadVariable>,
    problem: Option<Problem>,
}

/// What came of it.
pub(super) struct Done {
    pub(super) masks: Vec<Secret>,
    pub(super) oddities: Vec<Problem>,
    pub(super) variables: Vec<ReadVariable>,
    pub(super) problem: Option<Problem>,
}

/// A resolved text, and whether all of it is known.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) known: Known,
}

/// Whether a text still holds variables that the entry may not read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    All,
    /// It cannot be judged by what it will mean.
    NotAll,
}

impl<'a> Resolving<'a> {
    pub(super) fn new(around: Surroundings<'a>) -> Self {
        Self { around, masks: Vec::new(), oddities: Vec::new(), variables: Vec::new(), problem: None }
    }

    /// The first problem is the reason; later ones often follow from it.
    pub(super) fn problem(&mut self, field: &[&str], why: String) {
        self.problem.get_or_insert_with(|| Problem { field: owned(field), why, unset: None });
    }

    /// A command, an argument or a folder: a bare unset variable stays, a leading `~` is the home folder.
    pub(super) fn path(&mut self, field: &[&str], text: &str) -> Text {
        let expanded = self.around.variables.expand_path(text, Unset::KeepBare);
        self.take(field, expanded)
    }

    /// A text that may be sent somewhere: an unset variable makes the entry invalid.
    pub(super) fn value(&mut self, field: &[&str], text: &str) -> Text {
        let expanded = self.around.variables.expand(text, Unset::Invalid);
        self.take(field, expanded)
    }

    /// A text that is a secret as a whole.
    pub(super) fn secret(&mut self, field: &[&str], text: &str) -> Secret {
        let value = Secret::from(self.value(field, text).text);
        self.mask(field.last().copied().unwrap_or_default(), value.clone());
        value
    }

    /// Hides a value from now on, unless it is short and nothing about its name says that it is a secret.
    pub(super) fn mask(&mut self, name: &str, value: Secret) {
        if is_worth_masking(name, value.expose()) {
            self.masks.push(value);
        }
    }

    fn take(&mut self, field: &[&str], expanded: Expanded) -> Text {
        let mut known = Known::All;
        for used in expanded.used {
            let set = match used.value {
                UsedValue::Builtin => continue,
                UsedValue::Set(value) => {
                    self.mask(&used.name, Secret::from(value));
                    VariableState::Set
                }
                UsedValue::Default => VariableState::Default,
                UsedValue::Unset => VariableState::Unset,
                UsedValue::OutOfReach => {
                    known = Known::NotAll;
                    VariableState::Unset
                }
            };
            self.variables.push(ReadVariable { name: used.name, set, field: owned(field) });
        }
        for why in expanded.warnings {
            self.oddities.push(Problem { field: owned(field), why, unset: None });
        }
        if let Some(why) = expanded.problem {
            self.problem.get_or_insert_with(|| Problem { field: owned(field), why, unset: expanded.unset });
        }
        Text { text: expanded.text, known }
    }

    pub(super) fn finish(mut self) -> Done {
        self.masks.sort();
        self.masks.dedup();
        Done { masks: self.masks, oddities: self.oddities, variables: self.variables, problem: self.problem }
    }
}

fn owned(field: &[&str]) -> Vec<String> {
    field.iter().map(|&segment| segment.to_owned()).collect()
}
