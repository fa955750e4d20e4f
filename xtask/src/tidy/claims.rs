//! Does every test that a document names exist? A claim whose test was renamed or deleted is only a wish.

use std::collections::BTreeSet;

use super::{Finding, places::Text, source::Source};

pub(super) fn check(sources: &[Source], texts: &[Text]) -> Vec<Finding> {
    let known: BTreeSet<&str> = sources.iter().flat_map(tests_of).collect();
    let documents = texts.iter().filter(|text| text.path.ends_with(".md"));
    documents.flat_map(|text| check_one(text, &known)).collect()
}

fn check_one(text: &Text, known: &BTreeSet<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.text.lines().enumerate() {
        let spans = line.split('`').skip(1).step_by(2);
        for name in spans.filter(|span| reads_as_test_name(span) && !known.contains(span)) {
            findings.push(Finding {
                place: text.path.clone(),
                line: Some(index + 1),
                message: format!("names the test `{name}`, which does not exist"),
            });
        }
    }
    findings
}

/// A sentence in snake case: at least four words.
fn reads_as_test_name(span: &str) -> bool {
    let words = span.split('_').filter(|word| !word.is_empty()).count();
    words >= 4 && span.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

fn tests_of(source: &Source) -> impl Iterator<Item = &str> {
    source.tested().filter_map(|(_, code)| {
        let (_, after) = code.split_once("fn ")?;
        after.split(['(', '<']).next().map(str::trim)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(document: &str) -> usize {
        let source =
            Source::new("crates/core/src/plan/tests.rs", "#[test]\nfn an_unchanged_server_is_kept() {}\n");
        check(&[source], &[Text { path: "ARCHITECTURE.md".into(), text: document.into() }]).len()
    }

    #[test]
    fn a_claim_without_its_test_is_found() {
        assert_eq!(count("| kept | `an_unchanged_server_is_kept` |"), 0);
        assert_eq!(count("| kept | `an_unchanged_server_is_left_alone` |"), 1);
        assert_eq!(count("| `an_unchanged_server_is_kept`, `a_second_one_is_not_there` |"), 1);
    }

    #[test]
    fn other_code_in_a_document_is_no_claim() {
        for span in [
            "`pending_approval`",
            "`cargo xtask tidy`",
            "`mcp__server__tool`",
            "`Connector::open`",
            "an_idea_without_any_marks",
        ] {
            assert_eq!(count(span), 0, "{span}");
        }
    }
}
