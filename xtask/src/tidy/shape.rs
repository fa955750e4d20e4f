//! Is each file small, introduced, and free of what a reviewer would send back?

use super::{Finding, source::Source};

/// Lines of a file without its tests.
const MOST_LINES: usize = 500;

pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    sources.iter().flat_map(|source| [size(source), introduction(source), tokens(source)].concat()).collect()
}

fn size(source: &Source) -> Vec<Finding> {
    let lines = source.shipped().count();
    if lines <= MOST_LINES {
        return Vec::new();
    }
    let message =
        format!("{lines} lines without tests, {MOST_LINES} at most; split it by the questions it answers");
    vec![Finding::whole(&source.path, message)]
}

fn introduction(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    // The tests of one file share its introduction.
    let own_tests = source.path.contains("/src/") && source.path.ends_with("/tests.rs");
    if !own_tests && !source.text.starts_with("//!") {
        let message = "begin with a `//!` line that says which one question this file answers";
        findings.push(Finding::at(source, 1, message));
    }
    if source.path.ends_with("/mod.rs") {
        findings.push(Finding::whole(&source.path, "no `mod.rs`: write `foo.rs` beside `foo/`"));
    }
    findings
}

fn tokens(source: &Source) -> Vec<Finding> {
    const ANYWHERE: [(&str, &str); 4] = [
        ("#[allow(", "write `#[expect(…, reason = \"…\")]`, which complains when it is no longer needed"),
        ("#![allow(", "write `#![expect(…, reason = \"…\")]`, which complains when it is no longer needed"),
        ("todo!(", "finish it, or leave it out"),
        ("unimplemented!(", "finish it, or leave it out"),
    ];
    let anywhere = source.numbered().flat_map(|(line, code)| {
        let broken = ANYWHERE.into_iter().filter(move |(token, _)| code.contains(token));
        broken.map(move |(token, advice)| Finding::at(source, line, format!("`{token}`: {advice}")))
    });
    let sleeping = sleeping_tests(source).map(|line| {
        Finding::at(
            source,
            line,
            "a test that sleeps; wait on a predicate with a bound, or use a paused clock",
        )
    });
    anywhere.chain(sleeping).collect()
}

/// Sleeps that stand in a test itself. A helper may: that is where a predicate is waited for, under a name that says
/// so. And on a paused clock a sleep takes no time: it says how far the clock goes.
fn sleeping_tests(source: &Source) -> impl Iterator<Item = usize> {
    let paused = source.code.contains("start_paused = true");
    let mut attributes = String::new();
    let mut in_test = false;
    source.tested().filter_map(move |(line, code)| {
        if code.trim_start().starts_with("#[") {
            attributes.push_str(code);
        }
        if code.contains("fn ") {
            in_test = attributes.contains("test]") || attributes.contains("test(");
            attributes.clear();
        }
        let sleeps = code.contains("sleep(") && !(paused && code.contains("tokio::time::sleep("));
        (in_test && sleeps).then_some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(&[Source::new(path, text)]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_file_of_more_than_500_lines_without_its_tests_is_found() {
        let long = |lines: usize| format!("//! Long.\n{}", "x\n".repeat(lines - 1));
        assert_eq!(messages("a/b.rs", &long(500)), [""; 0]);
        assert_eq!(messages("a/b.rs", &long(501)).len(), 1);
        let tests = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", long(400), "x\n".repeat(300));
        assert_eq!(messages("a/b.rs", &tests), [""; 0]);
        assert_eq!(messages("a/b/tests.rs", &long(900)), [""; 0]);
    }

    #[test]
    fn a_file_without_an_introduction_is_found() {
        assert_eq!(messages("a/b.rs", "// Not a doc line.\nfn f() {}\n").len(), 1);
        assert_eq!(messages("tests/tests/trust.rs", "fn f() {}\n").len(), 1);
        assert_eq!(messages("a/src/b/tests.rs", "use super::*;\n"), [""; 0]);
        assert_eq!(messages("a/mod.rs", "//! Here.\n").len(), 1);
    }

    #[test]
    fn what_a_reviewer_would_send_back_is_found() {
        for bad in ["#[allow(dead_code)]", "#![allow(dead_code)]", "todo!()", "unimplemented!(\"later\")"] {
            assert_eq!(messages("a/b.rs", &format!("//! B.\n{bad}\n")).len(), 1, "{bad}");
            assert_eq!(messages("a/b.rs", &format!("//! B.\n// {bad}\n")), [""; 0], "{bad}");
        }
    }

    #[test]
    fn a_test_that_sleeps_is_found() {
        let test = "//! B.\n#[test]\nfn a() {\n    thread::sleep(SECOND);\n}\n";
        assert_eq!(messages("tests/tests/process.rs", test).len(), 1);
        assert_eq!(messages("tests/src/bin/fake-mcp.rs", test), [""; 0]);
        let inner = "//! B.\n#[cfg(test)]\nmod tests {\n#[tokio::test]\nasync fn f() { tokio::time::sleep(SECOND).await; }\n}\n";
        assert_eq!(messages("a/b.rs", inner).len(), 1);
        let paused = inner.replace("tokio::test", "tokio::test(start_paused = true)");
        assert_eq!(messages("a/b.rs", &paused), [""; 0]);
        let helper =
            "//! B.\n#[test]\nfn a() {}\n\nfn until(holds: Holds) {\n    thread::sleep(MOMENT);\n}\n";
        assert_eq!(messages("tests/tests/process.rs", helper), [""; 0]);
    }
}
