//! Does the lexer tell code from comments, literals and tests?

use super::*;

#[test]
fn comments_and_literals_are_blanked_and_everything_else_stays() {
    for (text, code) in [
        ("a // b\nc", "a     \nc"),
        ("a /* b /* c */ d */ e", "a                   e"),
        (r#"f("x // y") g"#, r#"f("       ) g"#),
        (r#"f("x\"y") g"#, r#"f("     ) g"#),
        ("f(r#\"a\"b\"#) g", "f(\"       ) g"),
        ("f(b\"a\", br\"b\", c\"d\")", "f(\"   , \"    , \"   )"),
        ("f('\"', '\\'', 'é') + \"x\"", "f('  , '   , '  ) + \"  "),
        ("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}"),
        ("bar(crate::r, b)", "bar(crate::r, b)"),
        ("r#type + r#fn", "r#type + r#fn"),
        ("\"a\nb\" c", "\" \n   c"),
    ] {
        assert_eq!(blank(text), code, "of {text}");
    }
}

#[test]
fn what_stands_below_cfg_test_is_test_and_what_follows_is_not() {
    let source = Source::new(
        "crates/core/src/plan.rs",
        "a\n#[cfg(test)]\nmod tests {\n  fn b() { c(); }\n}\nd\n#[cfg(test)]\nmod other;\ne\n",
    );
    let shipped: Vec<usize> = source.shipped().map(|(line, _)| line).collect();
    let tested: Vec<usize> = source.tested().map(|(line, _)| line).collect();
    assert_eq!(shipped, [1, 6, 9]);
    assert_eq!(tested, [2, 3, 4, 5, 7, 8]);
}

#[test]
fn test_files_are_test_from_first_to_last_line() {
    for (path, is_test) in [
        ("crates/core/src/plan/tests.rs", true),
        ("crates/core/src/session/tests/races.rs", true),
        ("crates/core/tests/walls.rs", true),
        ("tests/tests/hot_reload.rs", true),
        ("tests/src/lib.rs", false),
        ("crates/core/src/plan.rs", false),
        ("xtask/src/test.rs", false),
    ] {
        assert_eq!(is_test_file(path), is_test, "{path}");
    }
}

#[test]
fn a_word_is_not_found_inside_a_longer_one() {
    assert!(has_word("use tokio::time;", "tokio"));
    assert!(has_word("async move", "async"));
    assert!(!has_word("let tokio_like = 1;", "tokio"));
    assert!(!has_word("is_async()", "async"));
}
