//! The lists that decide *whether* a server may connect, and the words of a decision.

use std::collections::{BTreeMap, BTreeSet};

use super::{Scope, ServerName};

/// A name or glob: `*` is any run of characters, `?` exactly one, everything else literal and case-sensitive.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pattern(String);

impl Pattern {
    /// Trims surrounding blanks; a blank text is no pattern.
    ///
    /// ```
    /// use qwen_core::Pattern;
    /// assert!(Pattern::new(" a* ").is_some_and(|pattern| pattern.matches("abc")));
    /// assert!(Pattern::new("  ").is_none());
    /// ```
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The pattern as text, trimmed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the whole name matches. Linear in the product of the lengths at worst; no backtracking blow-up.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name): (Vec<char>, Vec<char>) = (self.0.chars().collect(), name.chars().collect());
        let (mut p, mut n) = (0, 0);
        // Where the last `*` stood and how much of the name it has swallowed so far.
        let mut star: Option<(usize, usize)> = None;
        while n < name.len() {
            match pattern.get(p) {
                Some('*') => {
                    star = Some((p, n));
                    p += 1;
                }
                Some(&c) if c == '?' || c == name[n] => {
                    p += 1;
                    n += 1;
                }
                Some(_) | None => match star {
                    Some((at, swallowed)) => {
                        p = at + 1;
                        n = swallowed + 1;
                        star = Some((at, n));
                    }
                    None => return false,
                },
            }
        }
        pattern[p..].iter().all(|&c| c == '*')
    }
}

/// The patterns of one scope's allow list. A list with no pattern admits nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllowedNames {
    /// The scope that set the list; it is named when the list refuses.
    pub scope: Scope,
    /// Compared as a set.
    pub patterns: BTreeSet<Pattern>,
}

/// Who is allowed. An absent list and an empty one are different things, hence no `Option<Vec<_>>`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum AllowList {
    /// No scope set a list.
    #[default]
    All,
    /// Admitted when *each* list has a match; low scope first.
    Every(Vec<AllowedNames>),
}

/// The value of the launch flag, fixed for the life of the process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum LaunchBound {
    /// The flag was not given.
    #[default]
    Unbounded,
    /// Only names that match one of these may ever connect.
    Names(BTreeSet<Pattern>),
}

/// Why an entry that waits for the user is held back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Pending {
    /// Nobody has decided.
    Undecided,
    /// The user said no to exactly this configuration.
    Rejected,
}

/// What the user said about one exact configuration.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Decision {
    /// It may connect.
    Approved,
    /// It may not, and nobody is asked again.
    Rejected,
    /// It may not until somebody decides.
    #[default]
    Undecided,
}

impl Decision {
    /// Whether a gated entry with this decision must not connect.
    #[must_use]
    pub fn blocks(self) -> bool {
        match self {
            Self::Approved => false,
            Self::Rejected | Self::Undecided => true,
        }
    }

    /// Whether the user should be asked.
    #[must_use]
    pub fn asks(self) -> bool {
        match self {
            Self::Undecided => true,
            Self::Approved | Self::Rejected => false,
        }
    }
}

/// The three lists. Staged together with the servers and committed as one value.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Gating {
    /// Excluded wins over allowed. Absent equals empty.
    pub excluded: BTreeSet<Pattern>,
    /// See [`AllowList`].
    pub allowed: AllowList,
    /// Can add refusals, never lift one.
    pub pending: BTreeMap<ServerName, Pending>,
}
