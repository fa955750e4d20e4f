//! What do the results of the conformance suite mean? Pure: text in, findings and text out.

use std::collections::BTreeMap;

use anyhow::Context as _;

/// How one scenario ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    pub(super) revision: String,
    pub(super) scenario: String,
    pub(super) passed: bool,
}

impl Outcome {
    /// Reads the summary that the suite prints: `✓ NAME: P passed, F failed` or `✗ NAME: …`. A scenario in which nothing
    /// was checked did not pass.
    pub(super) fn parse(revision: &str, said: &str) -> Vec<Self> {
        let outcome = |line: &str| {
            let (mark, rest) = line.trim().split_once(' ')?;
            let (scenario, counts) = rest.split_once(": ")?;
            let checked = !counts.starts_with("0 passed");
            let passed = match mark {
                "✓" => checked,
                "✗" => false,
                _ => return None,
            };
            Some(Self { revision: revision.to_owned(), scenario: scenario.to_owned(), passed })
        };
        said.lines().filter_map(outcome).collect()
    }
}

/// What is known not to pass, with the reason.
#[derive(Debug)]
pub(super) struct Expected(Vec<Known>);

#[derive(Debug)]
struct Known {
    revision: String,
    scenario: String,
    reason: String,
}

impl Known {
    fn fits(&self, outcome: &Outcome) -> bool {
        fits(&self.revision, &outcome.revision) && fits(&self.scenario, &outcome.scenario)
    }
}

/// A pattern ends in `*` or names one thing.
fn fits(pattern: &str, text: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == text, |start| text.starts_with(start))
}

impl Expected {
    /// One line each: `REVISION SCENARIO: reason`. Lines that begin with `#` are comments.
    ///
    /// # Errors
    /// When a line is not of that form.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let known = |line: &str| {
            let (what, reason) = line.split_once(": ")?;
            let (revision, scenario) = what.split_once(' ')?;
            Some(Known {
                revision: revision.to_owned(),
                scenario: scenario.to_owned(),
                reason: reason.to_owned(),
            })
        };
        lines
            .map(|line| known(line).with_context(|| format!("cannot read `{line}`")))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// What failed without a reason, what passes although it is listed, and what is listed and was not played.
    pub(super) fn surprises(&self, played: &[Outcome]) -> Vec<String> {
        let mut surprises = Vec::new();
        for outcome in played {
            let Outcome { revision, scenario, passed } = outcome;
            match (passed, self.reason(outcome)) {
                (true, None) | (false, Some(_)) => {}
                (false, None) => surprises.push(format!("{scenario} of {revision} does not pass")),
                (true, Some(_)) => {
                    surprises.push(format!("{scenario} of {revision} passes; take it off the list"));
                }
            }
        }
        for known in &self.0 {
            if !played.iter().any(|outcome| known.fits(outcome)) {
                surprises
                    .push(format!("{} of {} is listed and was not played", known.scenario, known.revision));
            }
        }
        surprises
    }

    fn reason(&self, outcome: &Outcome) -> Option<&str> {
        self.0.iter().find(|known| known.fits(outcome)).map(|known| known.reason.as_str())
    }

    /// The results for people.
    pub(super) fn page(&self, revisions: &[&str], played: &[Outcome]) -> String {
        let mut reasons: Vec<&str> = Vec::new();
        let mut rows: BTreeMap<&str, BTreeMap<&str, String>> = BTreeMap::new();
        for outcome in played {
            let cell = match (outcome.passed, self.reason(outcome)) {
                (true, _) => "passes".to_owned(),
                (false, None) => "no".to_owned(),
                (false, Some(reason)) => {
                    let known = reasons.iter().position(|there| *there == reason);
                    let at = known.unwrap_or_else(|| {
                        reasons.push(reason);
                        reasons.len() - 1
                    });
                    format!("no ({})", at + 1)
                }
            };
            rows.entry(&outcome.scenario).or_default().insert(&outcome.revision, cell);
        }
        let mut page = String::from(INTRODUCTION);
        let passed = played.iter().filter(|outcome| outcome.passed).count();
        let all = played.len();
        page +=
            &format!("\n{passed} of {all} runs pass; for each of the others its reason is given below.\n\n");
        page += &format!("| scenario | {} |\n", revisions.join(" | "));
        page += &format!("| --- |{}\n", " --- |".repeat(revisions.len()));
        for (scenario, cells) in rows {
            let cells: Vec<_> =
                revisions.iter().map(|revision| cells.get(revision).map_or("–", String::as_str)).collect();
            page += &format!("| `{scenario}` | {} |\n", cells.join(" | "));
        }
        page += "\n## Why some do not pass\n\n";
        for (at, reason) in reasons.iter().enumerate() {
            page += &format!("{}. {reason}\n", at + 1);
        }
        page
    }
}

const INTRODUCTION: &str = "\
# Conformance

Written by `cargo xtask full --write`, which lets the official suite of the protocol (npm \
`@modelcontextprotocol/conformance`, pinned in `tests/conformance/`) play the server against our client \
(`tests/src/bin/conformance-client.rs`). `cargo xtask full` fails when a result is not the one below. A dash means that \
the revision has no such scenario. Scenarios of extensions belong to no revision and are not played. The client begins \
as it does for an entry in a settings file, with `initialize`; only `request-metadata`, which is about what the first \
request says, is played as by a program that knows its server and begins with `server/discover`.
";

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
Running all suite (4 scenarios) in parallel...

=== SUITE SUMMARY ===

✓ tools_call: 1 passed, 0 failed
✗ auth/metadata-default: 0 passed, 7 failed
✓ initialize: 0 passed, 0 failed
✗ sse-retry: 2 passed, 0 failed, 1 warnings

Total: 3 passed, 7 failed, 1 warnings
";

    #[test]
    fn what_was_not_checked_did_not_pass() {
        let outcomes = Outcome::parse("2025-11-25", SAID);
        let outcomes: Vec<_> =
            outcomes.iter().map(|outcome| (outcome.scenario.as_str(), outcome.passed)).collect();
        let expected = [
            ("tools_call", true),
            ("auth/metadata-default", false),
            ("initialize", false),
            ("sse-retry", false),
        ];
        assert_eq!(outcomes, expected);
    }

    #[test]
    fn a_failure_without_a_reason_a_reason_without_a_failure_and_one_without_a_scenario_are_surprises() {
        let expected = Expected::parse(
            "# why\n* auth/*: out of scope\n2025-11-25 tools_call: old\n2025-11-25 gone: old\n* initialize: x",
        );
        assert_eq!(
            expected.unwrap().surprises(&Outcome::parse("2025-11-25", SAID)),
            [
                "tools_call of 2025-11-25 passes; take it off the list",
                "sse-retry of 2025-11-25 does not pass",
                "gone of 2025-11-25 is listed and was not played",
            ]
        );
    }

    #[test]
    fn a_line_that_cannot_be_read_is_an_error() {
        assert!(Expected::parse("tools_call").unwrap_err().to_string().contains("`tools_call`"));
    }

    #[test]
    fn the_page_has_a_row_for_each_scenario_and_each_reason_once() {
        let expected = Expected::parse("* auth/*: out of scope\n* initialize: x\n* sse-retry: x").unwrap();
        let page = expected.page(&["2025-06-18", "2025-11-25"], &Outcome::parse("2025-11-25", SAID));
        let table: Vec<_> = page.lines().filter(|line| line.starts_with(['|', '1', '2'])).collect();
        assert_eq!(
            table,
            [
                "1 of 4 runs pass; for each of the others its reason is given below.",
                "| scenario | 2025-06-18 | 2025-11-25 |",
                "| --- | --- | --- |",
                "| `auth/metadata-default` | – | no (1) |",
                "| `initialize` | – | no (2) |",
                "| `sse-retry` | – | no (2) |",
                "| `tools_call` | – | passes |",
                "1. out of scope",
                "2. x",
            ]
        );
    }
}
