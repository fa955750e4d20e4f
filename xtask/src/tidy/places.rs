//! Does a file name a place that exists on one machine only, or a registry that the tools know by themselves?

use std::path::Path;

use super::Finding;

/// A text file of any kind.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    /// Relative to the workspace, with `/`.
    pub(crate) path: String,
    /// As written.
    pub(crate) text: String,
}

/// Written in two halves, since this file is checked as well.
const PLACES: [(&str, &str, &str); 7] = [
    ("/wor", "k/", "a folder of one machine; make the path relative, or take it as an argument"),
    ("/roo", "t/", "a folder of one machine; make the path relative, or take it as an argument"),
    ("/hom", "e/runner", "a folder of one machine; make the path relative, or take it as an argument"),
    ("index.", "crates.io", "a registry host; cargo knows its registry"),
    ("static.", "crates.io", "a registry host; cargo knows its registry"),
    ("registry.", "npmjs.org", "a registry host; npm knows its registry"),
    ("pypi.", "org/simple", "a registry host; pip knows its registry"),
];

pub(super) fn check(texts: &[Text]) -> Vec<Finding> {
    texts.iter().flat_map(check_one).collect()
}

fn check_one(text: &Text) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.text.lines().enumerate() {
        for (first, second, advice) in PLACES {
            let place = format!("{first}{second}");
            let names = line.match_indices(&place).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '}' | '*'))
            });
            if names {
                findings.push(Finding {
                    place: text.path.clone(),
                    line: Some(index + 1),
                    message: format!("`{place}`: {advice}"),
                });
            }
        }
    }
    findings
}

/// Every file that reads as text; lock files hold registries by their nature.
pub(crate) fn read_all(root: &Path) -> anyhow::Result<Vec<Text>> {
    let mut texts = Vec::new();
    for file in super::files_below(root)? {
        if file.file_name().is_some_and(|name| name == "Cargo.lock") {
            continue;
        }
        if let Ok(text) = std::fs::read_to_string(&file) {
            let path = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
            texts.push(Text { path, text });
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(line: &str) -> usize {
        check(&[Text { path: "README.md".into(), text: line.into() }]).len()
    }

    #[test]
    fn a_place_on_one_machine_or_a_registry_is_found() {
        for (first, second, _) in PLACES {
            assert_eq!(count(&format!("see {first}{second} for more")), 1, "{first}{second}");
        }
    }

    #[test]
    fn a_path_that_only_contains_such_a_word_is_not_found() {
        assert_eq!(count(concat!("/home/u/wor", "k/project")), 0);
        assert_eq!(count("a workspace/root of its own"), 0);
    }
}
