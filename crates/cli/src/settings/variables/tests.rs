use super::*;

fn with<T>(process: &[(&str, &str)], check: impl FnOnce(Variables<'_>) -> T) -> T {
    let process = process.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let user = [("ONLY_USER", "from-env-file"), ("BOTH", "user"), ("EMPTY", "user")]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .into();
    check(Variables {
        process: &process,
        user: &user,
        exe: "/opt/qwen",
        folder: "/w/p",
        home: Some("/home/u"),
        reach: Reach::Everything,
    })
}

const PROCESS: [(&str, &str); 5] =
    [("TOK", "secret"), ("EMPTY", ""), ("BOTH", "process"), ("NESTED", "${TOK}"), ("HOME", "/home/u")];

#[test]
fn each_form_is_replaced_once_and_odd_text_stays() {
    let cases = [
        ("plain", "plain"),
        ("Bearer ${TOK}", "Bearer secret"),
        ("$TOK/x", "secret/x"),
        ("${env:TOK}", "secret"),
        ("${TOK:-d}${NOPE:-http://127.0.0.1:9}/mcp", "secrethttp://127.0.0.1:9/mcp"),
        ("${NOPE:-}", ""),
        ("[${EMPTY}]", "[]"),
        ("${EMPTY:-d}", "user"),
        ("${BOTH}${ONLY_USER}", "processfrom-env-file"),
        ("${NESTED}", "${TOK}"),
        ("pa$$word $$TOK $$", "pa$word $TOK $"),
        ("a$ $5 $-", "a$ $5 $-"),
        ("${", "${"),
        ("${}", "${}"),
        ("${ TOK}", "${ TOK}"),
        ("${TOK", "${TOK"),
        ("${x:0:3} ${TOK}", "${x:0:3} secret"),
        ("${NOPE:-${TOK}}", "${TOK}"),
        ("${workspaceFolder}/t ${QWEN_EXE} $QWEN_EXE", "/w/p/t /opt/qwen /opt/qwen"),
        ("é$TOK€", "ésecret€"),
    ];
    for (text, expected) in cases {
        let expanded = with(&PROCESS, |variables| variables.expand(text, Unset::Invalid));
        assert_eq!((expanded.text.as_str(), expanded.problem), (expected, None), "{text}");
    }
}

#[test]
fn unset_is_invalid_unless_bare_in_a_place_where_a_shell_may_read_it() {
    let cases = [
        ("$NOPE", Unset::Invalid, Some("the variable NOPE is not set")),
        ("${NOPE}", Unset::Invalid, Some("the variable NOPE is not set")),
        ("${NOPE}", Unset::KeepBare, Some("the variable NOPE is not set")),
        ("${env:NOPE}", Unset::KeepBare, Some("the variable NOPE is not set")),
        ("echo $NOPE", Unset::KeepBare, None),
        ("${input:id}", Unset::KeepBare, Some("${input:…} is a placeholder of another program")),
        ("${command:x.y}", Unset::Invalid, Some("${command:…} is a placeholder of another program")),
    ];
    for (text, unset, expected) in cases {
        let expanded = with(&PROCESS, |variables| variables.expand(text, unset));
        assert_eq!(expanded.problem.as_deref(), expected, "{text}");
        assert_eq!(expanded.text, text, "what cannot be replaced stays as written");
    }
    let kept = with(&PROCESS, |variables| variables.expand("echo $NOPE", Unset::KeepBare));
    assert_eq!(kept.warnings, ["$NOPE is not set and is taken as text"]);
}

#[test]
fn out_of_reach_variables_stay_as_written_and_are_no_problem() {
    let text = "$TOK ${TOK} ${NOPE} ${TOK:-d} ${env:TOK} ${workspaceFolder} ${QWEN_EXE}";
    let expanded = with(&PROCESS, |variables| {
        Variables { reach: Reach::AlwaysDefined, ..variables }.expand(text, Unset::Invalid)
    });
    assert_eq!(expanded.text, "$TOK ${TOK} ${NOPE} ${TOK:-d} ${env:TOK} /w/p /opt/qwen");
    assert_eq!(expanded.problem, None);
}

#[test]
fn only_a_leading_tilde_alone_or_before_a_slash_is_the_home_folder() {
    let cases = [
        ("~", "/home/u"),
        ("~/d", "/home/u/d"),
        ("/tmp/~foo", "/tmp/~foo"),
        ("~bob/x", "~bob/x"),
        ("foo~", "foo~"),
        ("~/$TOK", "/home/u/secret"),
        ("$NESTED_TILDE", "~/x"),
    ];
    let process = [("TOK", "secret"), ("NESTED_TILDE", "~/x")];
    for (text, expected) in cases {
        let expanded = with(&process, |variables| variables.expand_path(text, Unset::KeepBare));
        assert_eq!(expanded.text, expected, "{text}");
    }
    let homeless =
        with(&process, |variables| Variables { home: None, ..variables }.expand_path("~/d", Unset::KeepBare));
    assert_eq!(homeless.text, "~/d");
    assert!(homeless.problem.is_some());
}

#[test]
fn no_debug_output_shows_a_value() {
    let expanded = with(&PROCESS, |variables| variables.expand("${TOK}", Unset::Invalid));
    assert!(!format!("{:?}", expanded.used).contains("secret"));
}

proptest::proptest! {
    #[test]
    fn a_text_without_a_dollar_sign_never_changes(text in "[^$]{0,40}") {
        let expanded = with(&PROCESS, |variables| variables.expand(&text, Unset::Invalid));
        proptest::prop_assert_eq!(expanded.text, text);
    }

    #[test]
    fn doubled_dollar_signs_protect_any_text(text in "[${}A-Z:a-z-]{0,40}") {
        let doubled = text.replace('$', "$$");
        let expanded = with(&PROCESS, |variables| variables.expand(&doubled, Unset::Invalid));
        proptest::prop_assert_eq!(expanded.text, text);
    }
}
