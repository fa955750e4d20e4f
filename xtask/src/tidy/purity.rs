//! Does a file that must be pure reach for a runtime, a file, the environment or a clock? And does core, anywhere?

use super::{
    Finding,
    source::{Source, has_word},
};

/// Files, or folders with the file of the same name, in which nothing acts.
const PURE: [&str; 18] = [
    "crates/core/src/admission",
    "crates/core/src/catalog",
    "crates/core/src/domain",
    "crates/core/src/failure",
    "crates/core/src/fingerprint",
    "crates/core/src/inventory",
    "crates/core/src/layers",
    "crates/core/src/plan",
    "crates/core/src/pool/machine",
    "crates/core/src/protocol",
    "crates/core/src/retry",
    "crates/core/src/session",
    "crates/core/src/status",
    "crates/core/src/unavailable",
    "crates/settings-schema/src",
    "crates/approvals/src/decision",
    "crates/approvals/src/hash",
    "crates/approvals/src/record",
];

/// The one part of core that may touch the outside, because it is the outside.
const TRANSPORT: &str = "crates/core/src/transport";

const ADVICE: &str = "pure files get time, files and the environment as values";

pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        if PURE.iter().any(|place| is_within(&source.path, place)) {
            findings.extend(impure(source));
        } else if is_within(&source.path, "crates/core/src") && !is_within(&source.path, TRANSPORT) {
            for (line, path) in outside_paths(source) {
                let message =
                    format!("core names `{path}` outside transport/; its caller passes it on as a value");
                findings.push(Finding::at(source, line, message));
            }
        }
    }
    findings
}

fn impure(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, code) in source.shipped() {
        let code: String = code.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in ["tokio", "async", "SystemTime"] {
            if has_word(&code, word) {
                findings.push(Finding::at(source, line, format!("`{word}` in a pure file; {ADVICE}")));
            }
        }
        for token in [".await", "Instant::now"] {
            if code.contains(token) {
                findings.push(Finding::at(source, line, format!("`{token}` in a pure file; {ADVICE}")));
            }
        }
    }
    for (line, path) in outside_paths(source) {
        findings.push(Finding::at(source, line, format!("`{path}` in a pure file; {ADVICE}")));
    }
    findings
}

/// Every mention of `std::fs` and `std::env`, also out of a group: `use std::{env, sync::Arc}`.
fn outside_paths(source: &Source) -> Vec<(usize, String)> {
    let shipped: Vec<(usize, &str)> = source.shipped().collect();
    let mut found = Vec::new();
    for (index, (line, code)) in shipped.iter().enumerate() {
        for (at, _) in code.match_indices("std::") {
            let after = &code[at + "std::".len()..];
            if let Some(group) = after.strip_prefix('{') {
                let rest = shipped[index + 1..].iter().map(|(_, code)| *code);
                let text: String = std::iter::once(group).chain(rest).collect::<Vec<_>>().join(" ");
                found.extend(first_segments(&text).filter_map(outside).map(|path| (*line, path)));
            } else {
                found.extend(outside(first_segment(after)).map(|path| (*line, path)));
            }
        }
    }
    found
}

fn outside(segment: &str) -> Option<String> {
    matches!(segment, "fs" | "env").then(|| format!("std::{segment}"))
}

/// The first segment of each path in a group of a `use`, whose opening brace is already gone.
fn first_segments(group: &str) -> impl Iterator<Item = &str> {
    let mut depth = 1_usize;
    let end = group.find(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    let mut inner = 0_usize;
    group[..end.unwrap_or(group.len())]
        .split(move |c| {
            match c {
                '{' => inner += 1,
                '}' => inner = inner.saturating_sub(1),
                _ => {}
            }
            c == ',' && inner == 0
        })
        .map(first_segment)
}

fn first_segment(path: &str) -> &str {
    let path = path.trim_start();
    &path[..path.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(path.len())]
}

/// `place` itself, `place.rs`, or something below `place/`.
fn is_within(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(&[Source::new(path, text)]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_pure_file_that_acts_is_found() {
        for (text, token) in [
            ("use tokio::sync::mpsc;", "tokio"),
            ("async fn f() {}", "async"),
            ("fn f() { g().await }", ".await"),
            ("fn f() { std::fs::read(p) }", "std::fs"),
            ("use std::env;", "std::env"),
            ("use std::{\n    collections::{BTreeMap, BTreeSet},\n    fs::File,\n};", "std::fs"),
            ("let now = std::time::Instant::now();", "Instant::now"),
            ("use std::time::{Duration, SystemTime};", "SystemTime"),
        ] {
            for path in [
                "crates/core/src/plan.rs",
                "crates/core/src/session/slot.rs",
                "crates/settings-schema/src/diff.rs",
            ] {
                let found = messages(path, text);
                assert_eq!(found.len(), 1, "{path} with {text}: {found:?}");
                assert!(found[0].contains(&format!("`{token}` in a pure file")), "{found:?}");
            }
        }
    }

    #[test]
    fn core_that_reads_a_file_or_the_environment_is_found_outside_transport() {
        for text in ["use std::fs;", "use std::{env, sync::Arc};", "fn f() { std::env::var(\"A\") }"] {
            assert_eq!(messages("crates/core/src/driver.rs", text).len(), 1, "{text}");
            assert_eq!(messages("crates/core/src/transport/spawn.rs", text), [""; 0], "{text}");
            assert_eq!(messages("crates/core/src/transport.rs", text), [""; 0], "{text}");
            assert_eq!(messages("crates/cli/src/app.rs", text), [""; 0], "{text}");
        }
    }

    #[test]
    fn tests_comments_and_texts_of_a_pure_file_may_name_what_its_code_may_not() {
        let text = "//! Never async.\nconst A: &str = \"std::fs\";\nuse std::{fmt, sync::mpsc};\n\
                    #[cfg(test)]\nmod tests { use std::fs; }\n";
        assert_eq!(messages("crates/core/src/plan.rs", text), [""; 0]);
        assert_eq!(messages("crates/core/src/plan/tests.rs", "use std::fs;"), [""; 0]);
    }
}
