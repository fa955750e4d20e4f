//! Does the record of trusted folders cover a folder, and how? Pure, over paths that are canonical already.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::paths::canonical_or_lexical;

/// One rule of `trustedFolders.json`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FolderRule {
    /// The folder that it covers, with everything below; canonical.
    pub covers: PathBuf,
    /// What it says.
    pub says: RuleSays,
}

/// What a rule says about the folders it covers. The greater wins a tie.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RuleSays {
    /// `TRUST_FOLDER`, `TRUST_PARENT`
    Trust,
    /// `DO_NOT_TRUST`, and every word that we do not know.
    Distrust,
}

/// The record as it was last read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FolderRules {
    /// These rules; none where there is no file.
    Rules(Vec<FolderRule>),
    /// Nobody knows; nothing is trusted.
    Unreadable,
}

/// What the record says about one folder.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FolderVerdict {
    /// A rule trusts it.
    Trusted,
    /// A rule, or the lack of a readable record, distrusts it.
    Distrusted,
    /// No rule covers it.
    NoRule,
}

impl FolderRules {
    /// Reads the rules of a record. Looks at the file system to know a folder by its canonical form.
    #[must_use]
    pub fn of(record: &Map<String, Value>) -> Self {
        let rules = record.iter().map(|(path, word)| {
            let path = canonical_or_lexical(Path::new(path));
            match word.as_str() {
                Some("TRUST_FOLDER") => FolderRule { covers: path, says: RuleSays::Trust },
                Some("TRUST_PARENT") => {
                    let covers = path.parent().unwrap_or(&path).to_owned();
                    FolderRule { covers, says: RuleSays::Trust }
                }
                Some(_) | None => FolderRule { covers: path, says: RuleSays::Distrust },
            }
        });
        Self::Rules(rules.collect())
    }

    /// The rule that covers the longest path wins; a tie goes to distrust.
    #[must_use]
    pub fn verdict(&self, folder: &Path) -> FolderVerdict {
        let rules = match self {
            Self::Rules(rules) => rules,
            Self::Unreadable => return FolderVerdict::Distrusted,
        };
        let winner = rules
            .iter()
            .filter(|rule| folder.starts_with(&rule.covers))
            .max_by_key(|rule| (rule.covers.components().count(), rule.says));
        match winner.map(|rule| rule.says) {
            Some(RuleSays::Trust) => FolderVerdict::Trusted,
            Some(RuleSays::Distrust) => FolderVerdict::Distrusted,
            None => FolderVerdict::NoRule,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_longest_rule_wins_and_a_tie_goes_to_distrust() {
        use FolderVerdict::{Distrusted, NoRule, Trusted};
        let cases = [
            (json!({}), NoRule),
            (json!({"/nowhere/a/b": "TRUST_FOLDER"}), Trusted),
            (json!({"/nowhere/a": "TRUST_FOLDER"}), Trusted),
            (json!({"/nowhere/a/b/c": "TRUST_FOLDER"}), NoRule),
            (json!({"/nowhere/a/bb": "TRUST_FOLDER"}), NoRule),
            (json!({"/nowhere/a/sibling": "TRUST_PARENT"}), Trusted),
            (json!({"/nowhere/a": "TRUST_FOLDER", "/nowhere/a/b": "DO_NOT_TRUST"}), Distrusted),
            (json!({"/nowhere/a": "DO_NOT_TRUST", "/nowhere/a/b": "TRUST_FOLDER"}), Trusted),
            (json!({"/nowhere/a/b/": "TRUST_FOLDER", "/nowhere/a/b": "DO_NOT_TRUST"}), Distrusted),
            (json!({"/nowhere/a/x": "TRUST_PARENT", "/nowhere/a": "DO_NOT_TRUST"}), Distrusted),
            (json!({"/nowhere/a/b": "trust_folder"}), Distrusted),
            (json!({"/nowhere/a/b": true}), Distrusted),
            (json!({"/": "TRUST_PARENT"}), Trusted),
            (json!({"/nowhere/x/../a/./b": "TRUST_FOLDER"}), Trusted),
        ];
        for (record, expected) in cases {
            let rules = FolderRules::of(record.as_object().unwrap());
            assert_eq!(rules.verdict(Path::new("/nowhere/a/b")), expected, "{record}");
        }
        assert_eq!(FolderRules::Unreadable.verdict(Path::new("/nowhere")), Distrusted);
    }
}
