use proptest::prelude::*;
use serde_json::json;

use super::*;

/// `|` is the end of a line that would otherwise end in blanks.
struct Case {
    name: &'static str,
    edit: fn(&str) -> Result<String, EditError>,
    before: &'static str,
    after: &'static str,
}

fn add_b(text: &str) -> Result<String, EditError> {
    set_entry(text, &["mcpServers", "b"], &json!({ "command": "x", "args": ["-y"] }))
}

fn remove_b(text: &str) -> Result<String, EditError> {
    remove_entry(text, &["mcpServers", "b"])
}

fn exclude_b(text: &str) -> Result<String, EditError> {
    add_to_list(text, &["mcp", "excluded"], "b")
}

fn include_b(text: &str) -> Result<String, EditError> {
    remove_from_list(text, &["mcp", "excluded"], "b")
}

const CASES: &[Case] = &[
    Case {
        name: "an empty text becomes a document",
        edit: add_b,
        before: "",
        after: "{\n  \"mcpServers\": {\n    \"b\": {\n      \"command\": \"x\",\n      \"args\": [\n        \"-y\"\n      ]\n    }\n  }\n}\n",
    },
    Case {
        name: "a comment alone stays above the document",
        edit: exclude_b,
        before: "// mine\n",
        after: "// mine\n{\n  \"mcp\": {\n    \"excluded\": [\n      \"b\"\n    ]\n  }\n}\n",
    },
    Case {
        name: "odd indentation is taken up and a comment on the last line stays there",
        edit: add_b,
        before: "{\n   \"mcpServers\": {\n      \"a\": { \"command\": \"${A}\" } // first\n      // the end\n   }\n}",
        after: "{\n   \"mcpServers\": {\n      \"a\": { \"command\": \"${A}\" }, // first\n      \"b\": {\n         \"command\": \"x\",\n         \"args\": [\n            \"-y\"\n         ]\n      }\n      // the end\n   }\n}",
    },
    Case {
        name: "trailing commas go on, with tabs and CRLF",
        edit: exclude_b,
        before: "{\r\n\t\"mcp\": {\r\n\t\t\"excluded\": [\r\n\t\t\t\"a\",\r\n\t\t],\r\n\t},\r\n}\r\n",
        after: "{\r\n\t\"mcp\": {\r\n\t\t\"excluded\": [\r\n\t\t\t\"a\",\r\n\t\t\t\"b\",\r\n\t\t],\r\n\t},\r\n}\r\n",
    },
    Case {
        name: "a byte order mark stays",
        edit: exclude_b,
        before: "\u{feff}{\"mcp\":{}}",
        after: "\u{feff}{\"mcp\":{ \"excluded\": [\"b\"] }}",
    },
    Case {
        name: "one line stays one line",
        edit: add_b,
        before: "{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}",
        after: "{\"mcpServers\":{\"a\":{\"command\":\"x\"}, \"b\": { \"command\": \"x\", \"args\": [\"-y\"] }}}",
    },
    Case {
        name: "an empty object on its own line opens",
        edit: exclude_b,
        before: "{\n  \"mcp\": {},\n}\n",
        after: "{\n  \"mcp\": {\n    \"excluded\": [\n      \"b\"\n    ]\n  },\n}\n",
    },
    Case {
        name: "comments in an empty object stay above what comes",
        edit: exclude_b,
        before: "{\n  \"mcp\": {\n    // \"excluded\": []\n  }\n}\n",
        after: "{\n  \"mcp\": {\n    // \"excluded\": []\n    \"excluded\": [\n      \"b\"\n    ]\n  }\n}\n",
    },
    Case {
        name: "an entry is replaced in its place",
        edit: add_b,
        before: "{\n  \"mcpServers\": {\n    \"b\": { \"url\": \"u\" }, // b\n    \"c\": {},\n  }\n}\n",
        after: "{\n  \"mcpServers\": {\n    \"b\": {\n      \"command\": \"x\",\n      \"args\": [\n        \"-y\"\n      ]\n    }, // b\n    \"c\": {},\n  }\n}\n",
    },
    Case {
        name: "of a key that stands twice the last one is replaced",
        edit: |text| set_entry(text, &["a"], &json!(2)),
        before: "{ \"a\": 0, \"a\": 1 }",
        after: "{ \"a\": 0, \"a\": 2 }",
    },
    Case {
        name: "what stands in the list already is not added again",
        edit: exclude_b,
        before: "{ \"mcp\": { \"excluded\": [ \" b \" ] } }",
        after: "{ \"mcp\": { \"excluded\": [ \" b \" ] } }",
    },
    Case {
        name: "an entry leaves with its line, in the middle",
        edit: remove_b,
        before: "{\n  \"mcpServers\": {\n    // a\n    \"a\": {},\n    \"b\": {\n      \"command\": \"x\"\n    }, // bye\n    // c\n    \"c\": {}\n  }\n}\n",
        after: "{\n  \"mcpServers\": {\n    // a\n    \"a\": {},\n    // c\n    \"c\": {}\n  }\n}\n",
    },
    Case {
        name: "the last entry leaves with the comma before it",
        edit: remove_b,
        before: "{\n  \"mcpServers\": {\n    \"a\": {}, // a\n    \"b\": {}\n    // end\n  }\n}\n",
        after: "{\n  \"mcpServers\": {\n    \"a\": {} // a\n    // end\n  }\n}\n",
    },
    Case {
        name: "trailing commas are kept where they are used",
        edit: remove_b,
        before: "{\n  \"mcpServers\": {\n    \"a\": {},\n    \"b\": {},\n  },\n}\n",
        after: "{\n  \"mcpServers\": {\n    \"a\": {},\n  },\n}\n",
    },
    Case {
        name: "the only entry leaves an empty object",
        edit: remove_b,
        before: "{\n  \"mcpServers\": {\n    \"b\": {}\n  }\n}\n",
        after: "{\n  \"mcpServers\": {}\n}\n",
    },
    Case {
        name: "on one line the neighbours close up",
        edit: remove_b,
        before: "{ \"mcpServers\": { \"a\": {}, /* x */ \"b\": {}, \"c\": {} } }",
        after: "{ \"mcpServers\": { \"a\": {}, /* x */ \"c\": {} } }",
    },
    Case {
        name: "a comma at the start of a line is understood",
        edit: remove_b,
        before: "{ \"mcpServers\":\n  { \"a\": {}\n  , \"b\": {}\n  , \"c\": {}\n  } }",
        after: "{ \"mcpServers\":\n  { \"a\": {}\n  , \"c\": {}\n  } }",
    },
    Case {
        name: "a key that stands twice leaves for good",
        edit: remove_b,
        before: "{ \"mcpServers\": { \"b\": 1, \"a\": 2, \"b\": 3 } }",
        after: "{ \"mcpServers\": { \"a\": 2 } }",
    },
    Case {
        name: "an item leaves the list wherever it stands",
        edit: include_b,
        before: "{ \"mcp\": { \"excluded\": [\"b\", \"a*\", \" b\"] } }",
        after: "{ \"mcp\": { \"excluded\": [\"a*\"] } }",
    },
    Case {
        name: "what is not there need not leave",
        edit: include_b,
        before: "{ \"mcp\": { } }",
        after: "{ \"mcp\": { } }",
    },
];

#[test]
fn only_the_lines_concerned_change() {
    for Case { name, edit, before, after } in CASES {
        assert_eq!(edit(before).as_deref(), Ok(*after), "{name}");
    }
}

#[test]
fn adding_and_removing_again_gives_the_text_back() {
    for before in [
        "{\n  \"mcpServers\": {\n    \"a\": {} // a\n  }\n}\n",
        "{ \"mcpServers\": { \"a\": {} } }",
        "{\"mcpServers\":{}}",
    ] {
        assert_eq!(remove_b(&add_b(before).unwrap()).unwrap(), before);
    }
}

#[test]
fn a_text_that_is_no_json_or_holds_something_else_there_is_refused_with_its_place() {
    for (text, expected) in [
        ("{\n  \"a\": 1\n  \"b\": 2\n}", "understand line 2, column 9: expected comma"),
        ("[]", "understand line 1, column 1: the root is a list, not an object"),
        ("{ \"mcpServers\": null }", "edit `mcpServers`, since it is null and not an object"),
        ("{ 'a': 1 }", "understand line 1, column 3"),
    ] {
        let error = add_b(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let error = exclude_b("{ \"mcp\": { \"excluded\": \"b\" } }").unwrap_err().to_string();
    assert!(error.starts_with("edit `mcp.excluded`, since it is a text and not a list"), "{error}");
}

#[test]
fn a_name_that_looks_like_something_else_is_one_key() {
    let text = set_entry("{}", &["mcpServers", "a.b \"__proto__\""], &json!(1)).unwrap();
    assert_eq!(root_of(&text).unwrap()["mcpServers"]["a.b \"__proto__\""], json!(1));
    assert_eq!(line_of(&text, &["mcpServers", "a.b \"__proto__\""]), Some(3));
}

/// A document in all the ways that people lay them out.
fn documents() -> impl Strategy<Value = String> {
    let gap =
        prop::sample::select(vec!["", " ", "\n", "\n  ", "\r\n\t", " // note\n  ", " /* a\n b */ ", "/**/"]);
    let value = prop::sample::select(vec![
        "1",
        "\"x, }\"",
        "{}",
        "[]",
        "{ \"k\": \"${V}\" }",
        "[1, // one\n 2,]",
        "null",
    ]);
    let key = prop::sample::select(vec!["a", "b", "c", "mcp", "\u{6587}"]);
    let entry = (gap.clone(), key, gap.clone(), gap.clone(), value, gap.clone());
    let entries = prop::collection::vec(entry, 0..5);
    (gap.clone(), entries, any::<bool>(), gap, any::<bool>()).prop_map(
        |(head, entries, trailing, tail, mark)| {
            let mut text = String::from(if mark { "\u{feff}" } else { "" });
            text.push_str(head);
            text.push('{');
            let count = entries.len();
            for (index, (a, key, b, c, value, d)) in entries.into_iter().enumerate() {
                text.push_str(&format!("{a}\"{key}\"{b}:{c}{value}{d}"));
                if index + 1 < count || trailing {
                    text.push(',');
                }
            }
            text.push_str(tail);
            text.push('}');
            text.push_str(tail);
            text
        },
    )
}

/// What of a text is not white space, commas apart, and not a comment in what leaves.
fn words(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != ',').collect()
}

proptest! {
    #[test]
    fn an_edit_says_what_was_meant_and_keeps_everything_else(text in documents(), key in "[abcd]") {
        let before = root_of(&text).unwrap();
        let value = json!({ "command": "new", "args": ["x"] });
        let set = set_entry(&text, &[&key], &value).unwrap();
        let mut meant = before.clone();
        meant.insert(key.clone(), value);
        prop_assert_eq!(root_of(&set).unwrap(), meant);
        prop_assert_eq!(set.starts_with(MARK), text.starts_with(MARK));
        if !before.contains_key(&key) {
            let added = format!("\"{key}\":{{\"command\":\"new\"\"args\":[\"x\"]}}");
            prop_assert_eq!(words(&set).replacen(&added, "", 1), words(&text), "{}", set);
        }
        let removed = remove_entry(&text, &[&key]).unwrap();
        let mut meant = before.clone();
        meant.shift_remove(&key);
        prop_assert_eq!(root_of(&removed).unwrap(), meant);
        if !before.contains_key(&key) {
            prop_assert_eq!(&removed, &text);
        }
        // What stays is a part of what stood there, in the same order.
        let mut left = text.chars();
        prop_assert!(removed.chars().all(|c| left.any(|other| other == c)), "{:?} of {:?}", removed, text);
    }

    #[test]
    fn a_list_gains_and_loses_exactly_the_item(
        items in prop::collection::vec("[abc]", 0..4),
        gap in prop::sample::select(vec!["", " ", "\n", " // n\n", "\r\n  "]),
        trailing in any::<bool>(),
    ) {
        let list: Vec<String> = items.iter().map(|item| format!("{gap}\"{item}\"{gap}")).collect();
        let comma = if trailing && !items.is_empty() { "," } else { "" };
        let text = format!("{{ \"mcp\": {{ \"excluded\": [{}{comma}{gap}] }} }}", list.join(","));
        let held = |text: &str| root_of(text).unwrap()["mcp"]["excluded"].clone();
        let mut more = items.clone();
        if !more.contains(&"b".to_owned()) {
            more.push("b".to_owned());
        }
        prop_assert_eq!(held(&exclude_b(&text).unwrap()), json!(more));
        let fewer: Vec<&String> = items.iter().filter(|item| *item != "b").collect();
        prop_assert_eq!(held(&include_b(&text).unwrap()), json!(fewer));
    }
}
