use serde_json::json;

use super::*;

fn places(text: &str) -> Vec<(u32, u32, ProblemKind)> {
    parse(text).problems.into_iter().map(|p| (p.place.line, p.place.column, p.kind)).collect()
}

#[test]
fn comments_trailing_commas_and_odd_strings_are_read() {
    let cases = [
        (
            "{ // note\r\n \"mcpServers\": { /* \"old\": {}, */ \"a\": {\"command\":\"srv\",}, }, }",
            json!({"mcpServers": {"a": {"command": "srv"}}}),
        ),
        (
            "{\"mcpServers\":{\"a\":{\"command\":\"srv\",\"args\":[\"x\", // y\n]}, // z\n}}",
            json!({"mcpServers": {"a": {"command": "srv", "args": ["x"]}}}),
        ),
        ("{\"url\": \"https://x//y,}\"}", json!({"url": "https://x//y,}"})),
        ("", json!({})),
        (" \r\n\t", json!({})),
        ("// nothing yet\n", json!({})),
        ("{\"__proto__\": 1, \"\": 2, \"a.b\": 3}", json!({"__proto__": 1, "": 2, "a.b": 3})),
        ("{\"\\u0061\": 1.0}", json!({"a": 1.0})),
    ];
    for (text, expected) in cases {
        let document = parse(text);
        assert_eq!(document.root.map(Value::Object), Some(expected), "{text}: {:?}", document.problems);
        assert_eq!(document.problems, []);
    }
}

#[test]
fn other_dialects_are_no_json() {
    for text in [
        "{'a': 1}",
        "{a: 1}",
        "{\"a\": 0xFF}",
        "{\"a\": 1 \"b\": 2}",
        "{\"a\": +1}",
        "{\"a\": .5}",
        "{\"a\": NaN}",
        "{\"a\": 012}",
        "{\"a\": 1}}",
        "[1]",
        "null",
        "\"x\"",
        "{\"a\"",
        "{\"a\": 1e999}",
    ] {
        assert!(parse(text).root.is_none(), "{text}");
    }
}

#[test]
fn every_problem_is_reported_at_its_own_place_and_not_only_the_first() {
    let text = "{\n  \"a\": 1\n  \"b\": oops,\n  \"c\": 'x',\n  \"d\": 1,\n  \"d\": 2\n}\n";
    let found: Vec<(u32, u32)> = places(text).iter().map(|(line, column, _)| (*line, *column)).collect();
    assert_eq!(found, [(2, 9), (3, 8), (4, 8), (6, 3)]);
}

#[test]
fn a_duplicate_key_names_both_lines_and_the_last_counts() {
    let text = "{\"mcpServers\": {\n  \"a\": {\"command\": \"one\"},\n  \"a\": {\"command\": \"two\"}\n}}";
    let document = parse(text);
    assert_eq!(document.root.map(Value::Object), Some(json!({"mcpServers": {"a": {"command": "two"}}})));
    let kind = ProblemKind::DuplicateKey { key: "a".to_owned(), first_line: 2 };
    assert_eq!(document.problems, [Problem { place: Place { line: 3, column: 3 }, kind }]);
    assert_eq!(document.positions.nearest(&["mcpServers", "a"]), Some(Place { line: 3, column: 3 }));
}

#[test]
fn positions_count_lines_and_unicode_scalars_from_one() {
    let text = "{\r\n  \"我的\": 1, \"é\": {\"x\": 2},\r\n  \"l\": [{\"inner\": 3}]\r\n}";
    let positions = parse(text).positions;
    let at = |path: &[&str]| positions.nearest(path).map(|place| (place.line, place.column));
    assert_eq!(at(&["我的"]), Some((2, 3)));
    assert_eq!(at(&["é", "x"]), Some((2, 18)));
    assert_eq!(at(&["é", "absent"]), Some((2, 12)));
    assert_eq!(at(&["l", "inner"]), Some((3, 3)));
    assert_eq!(at(&["absent"]), Some((1, 1)));
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    assert!(parse(&nested(MAX_DEPTH)).root.is_some());
    for depth in [MAX_DEPTH + 1, 500, 5_000, 100_000] {
        let document = parse(&nested(depth));
        assert!(document.root.is_none());
        assert!(document.problems.iter().any(|problem| problem.kind == ProblemKind::TooDeep), "{depth}");
    }
    assert!(parse(&"[".repeat(100_000)).root.is_none());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2000))]

    #[test]
    fn a_fraction_is_read_to_its_last_digit(bits in proptest::num::u64::ANY) {
        let wanted = f64::from_bits(bits);
        proptest::prop_assume!(wanted.is_finite());
        let root = parse(&format!("{{ \"a\": {wanted:e} }}")).root.unwrap();
        proptest::prop_assert_eq!(root["a"].as_f64(), Some(wanted));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[\\[\\]{}:,\"'/* \n\\\\a1.é-]{0,60}") {
        let document = parse(&text);
        if let Some(root) = document.root {
            proptest::prop_assert!(serde_json::to_string(&root).is_ok());
        } else {
            proptest::prop_assert!(!document.problems.is_empty());
        }
    }
}
