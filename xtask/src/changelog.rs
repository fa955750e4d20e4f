//! What does the changelog say of one version? Pure.

/// The section of a version, or what will become it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Section<'a> {
    /// The version has one.
    Written(&'a str),
    /// Only what is not released yet is there; a release renames it.
    Unreleased(&'a str),
}

impl<'a> Section<'a> {
    /// The section of `version` in a changelog; `None` where there is nothing to say.
    pub(crate) fn of(changelog: &'a str, version: &str) -> Option<Self> {
        let written = below(changelog, version).map(Self::Written);
        written.or_else(|| below(changelog, "Unreleased").map(Self::Unreleased))
    }

    /// Its text.
    pub(crate) fn text(self) -> &'a str {
        match self {
            Self::Written(text) | Self::Unreleased(text) => text,
        }
    }
}

/// What stands below a heading of the second level that begins with this word.
fn below<'a>(changelog: &'a str, word: &str) -> Option<&'a str> {
    let sections = changelog.split("\n## ").skip(1);
    let mut named = sections.filter_map(|section| section.split_once('\n'));
    let (_, text) = named.find(|(heading, _)| heading.split_whitespace().next() == Some(word))?;
    let text = text.trim();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.1.0 – 2026-01-01\n\n- old\n\n## 0.0.9\n\n";

    #[test]
    fn a_version_has_its_own_section_or_what_is_not_released_yet() {
        assert_eq!(Section::of(TEXT, "0.1.0"), Some(Section::Written("- old")));
        assert_eq!(Section::of(TEXT, "0.2.0"), Some(Section::Unreleased("- new")));
        assert_eq!(Section::of(TEXT, "0.1"), Some(Section::Unreleased("- new")));
    }

    #[test]
    fn an_empty_section_says_nothing() {
        assert_eq!(Section::of("# Changelog\n\n## Unreleased\n\n## 0.0.9\n\n- x\n", "0.1.0"), None);
        assert_eq!(Section::of(TEXT, "0.0.9"), Some(Section::Unreleased("- new")));
    }
}
