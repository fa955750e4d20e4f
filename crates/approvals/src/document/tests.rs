//! Tests of the document and of the look-ups in it: what a decision changes, what it leaves alone, and which root is
//! which.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    decision::{Decision, Verdict},
    hash::{ApprovalHash, Dialect, approval_hash},
    records::{Projects, Records, Standing},
    root::PathStyle,
};

const ROOT: &str = "/srv/my-repo";

/// `/link` and `/srv/my-repo` are one folder; nothing else exists.
const POSIX: RootRules = RootRules {
    style: PathStyle::Posix,
    canonical: |path| (path == Path::new("/link")).then(|| PathBuf::from(ROOT)),
};
const WINDOWS: RootRules = RootRules { style: PathStyle::Windows, canonical: |_| None };

/// The hash of an entry that differs from those of other numbers.
fn hash(number: usize) -> ApprovalHash {
    approval_hash(&json!({ "command": "node", "args": [number.to_string()] }), Dialect::Settings)
}

fn record(number: usize, verdict: Verdict) -> Record {
    Record { hash: hash(number), verdict, time: Some(format!("2026-11-30T12:00:{number:02}.000Z")) }
}

fn stored(number: usize, status: &str) -> Value {
    json!({ "hash": hash(number).to_string(), "status": status })
}

fn document(value: Value) -> Document {
    Document::parse(value.to_string().as_bytes()).unwrap()
}

fn decide(document: &mut Document, root: &str, server: &str, number: usize, verdict: Verdict) {
    document.decide(POSIX, root, server, &record(number, verdict), None);
}

fn state(document: &Document, rules: RootRules, root: &str, server: &str, number: usize) -> Decision {
    Records::of(document.clone(), rules).state(Path::new(root), server, hash(number)).decision
}

fn text(document: &Document) -> Value {
    Value::Object(document.0.clone())
}

#[test]
fn without_a_record_an_entry_is_undecided() {
    assert_eq!(state(&Document::default(), POSIX, ROOT, "slack", 1), Decision::Undecided);
}

#[test]
fn a_decision_counts_for_its_root_name_and_hash_alone() {
    for (verdict, decision) in [(Verdict::Approve, Decision::Approved), (Verdict::Reject, Decision::Rejected)]
    {
        let mut file = Document::default();
        decide(&mut file, ROOT, "slack", 1, verdict);
        assert_eq!(state(&file, POSIX, ROOT, "slack", 1), decision);
        assert_eq!(state(&file, POSIX, ROOT, "slack", 2), Decision::Undecided, "an edited entry");
        assert_eq!(state(&file, POSIX, ROOT, "other", 1), Decision::Undecided, "another name");
        assert_eq!(state(&file, POSIX, "/srv/other", "slack", 1), Decision::Undecided, "another project");
    }
}

#[test]
fn a_decision_is_written_in_the_shape_that_qwen_code_reads() {
    let mut file = Document::default();
    decide(&mut file, ROOT, "slack", 1, Verdict::Approve);
    let time = "2026-11-30T12:00:01.000Z";
    let expected =
        json!({ ROOT: { "slack": { "hash": hash(1).to_string(), "status": "approved", "time": time } } });
    assert_eq!(text(&file), expected);
    let expected_text = format!(
        "{{\n  \"{ROOT}\": {{\n    \"slack\": {{\n      \"hash\": \"{}\",\n      \"status\": \"approved\",\n      \"time\": \"{time}\"\n    }}\n  }}\n}}\n",
        hash(1),
    );
    assert_eq!(file.into_text(), expected_text);
}

#[test]
fn a_file_that_qwen_code_wrote_is_honoured() {
    let file = format!(
        "// written by hand\n{{\n  \"{ROOT}\": {{\n    \"slack\": {{\n      \"hash\": \"{}\",\n      \"status\": \"approved\"\n    }} /* yes */,\n    \"a//b\": {{ \"hash\": \"{}\", \"status\": \"rejected\" }}\n  }}\n}}",
        hash(1),
        hash(2),
    );
    let file = Document::parse(file.as_bytes()).unwrap();
    assert_eq!(state(&file, POSIX, ROOT, "slack", 1), Decision::Approved);
    assert_eq!(state(&file, POSIX, ROOT, "a//b", 2), Decision::Rejected);
}

#[test]
fn going_back_to_an_entry_decided_before_asks_nothing() {
    let mut file = Document::default();
    decide(&mut file, ROOT, "slack", 1, Verdict::Approve);
    decide(&mut file, ROOT, "slack", 2, Verdict::Reject);
    decide(&mut file, ROOT, "slack", 3, Verdict::Approve);
    assert_eq!(state(&file, POSIX, ROOT, "slack", 1), Decision::Approved);
    assert_eq!(state(&file, POSIX, ROOT, "slack", 2), Decision::Rejected);
    assert_eq!(state(&file, POSIX, ROOT, "slack", 3), Decision::Approved);
    let listed = Records::of(file, POSIX).list(Projects::Of(Path::new(ROOT)));
    let listed: Vec<_> = listed.iter().map(|one| (one.hash, one.standing)).collect();
    assert_eq!(
        listed,
        [(hash(3), Standing::Current), (hash(2), Standing::Earlier), (hash(1), Standing::Earlier)]
    );
}

#[test]
fn each_hash_stands_once_and_the_last_answer_about_it_counts() {
    let mut file = Document::default();
    for (number, verdict) in [
        (1, Verdict::Approve),
        (2, Verdict::Approve),
        (1, Verdict::Reject),
        (1, Verdict::Approve),
        (2, Verdict::Reject),
    ] {
        decide(&mut file, ROOT, "slack", number, verdict);
    }
    assert_eq!(state(&file, POSIX, ROOT, "slack", 1), Decision::Approved);
    assert_eq!(state(&file, POSIX, ROOT, "slack", 2), Decision::Rejected);
    assert_eq!(Records::of(file, POSIX).list(Projects::All).len(), 2);
}

#[test]
fn twenty_earlier_decisions_are_kept() {
    let mut file = Document::default();
    for number in 0..30 {
        decide(&mut file, ROOT, "slack", number, Verdict::Approve);
    }
    assert_eq!(text(&file)[ROOT]["slack"]["earlier"].as_array().unwrap().len(), 20);
    assert_eq!(state(&file, POSIX, ROOT, "slack", 9), Decision::Approved);
    assert_eq!(state(&file, POSIX, ROOT, "slack", 8), Decision::Undecided);
}

#[test]
fn what_has_another_shape_is_undecided_and_stays_until_a_decision_replaces_it() {
    let hash_of_1 = hash(1).to_string();
    let shapes = [
        json!("garbage"),
        json!(null),
        json!([]),
        json!({}),
        json!({ "hash": hash_of_1 }),
        json!({ "hash": hash_of_1, "status": "maybe" }),
        json!({ "hash": hash_of_1, "status": true }),
        json!({ "hash": hash_of_1[..16], "status": "approved" }),
        json!({ "hash": [hash_of_1], "status": "approved" }),
        json!({ "status": "approved" }),
        json!([{ "hash": hash_of_1, "status": "approved" }]),
    ];
    for shape in shapes {
        let mut file = document(json!({ ROOT: { "slack": shape } }));
        assert_eq!(state(&file, POSIX, ROOT, "slack", 1), Decision::Undecided, "{shape}");
        decide(&mut file, ROOT, "other", 2, Verdict::Approve);
        assert_eq!(text(&file)[ROOT]["slack"], shape, "survives the decision about another server");
        decide(&mut file, ROOT, "slack", 1, Verdict::Approve);
        assert_eq!(state(&file, POSIX, ROOT, "slack", 1), Decision::Approved, "{shape}");
    }
}

#[test]
fn a_project_that_is_no_object_is_undecided_and_gives_way_to_a_decision() {
    for garbage in [json!("garbage"), json!(7), json!([1]), json!(null)] {
        let mut file = document(json!({ ROOT: garbage, "/srv/other": garbage }));
        assert_eq!(state(&file, POSIX, ROOT, "slack", 1), Decision::Undecided);
        decide(&mut file, ROOT, "slack", 1, Verdict::Approve);
        assert_eq!(state(&file, POSIX, ROOT, "slack", 1), Decision::Approved);
        assert_eq!(text(&file)["/srv/other"], garbage);
    }
}

#[test]
fn fields_that_are_not_ours_survive_every_change() {
    let mut slack = stored(1, "approved");
    slack["note"] = json!("by me");
    slack["earlier"] = json!([{ "hash": hash(2).to_string(), "status": "rejected", "why": "x" }, "garbage"]);
    let mut file =
        document(json!({ ROOT: { "slack": slack }, "/srv/other": { "x": { "v": 2 } }, "version": 3 }));
    decide(&mut file, ROOT, "slack", 3, Verdict::Approve);
    decide(&mut file, ROOT, "new", 1, Verdict::Reject);
    let file = text(&file);
    assert_eq!(file[ROOT]["slack"]["note"], json!("by me"));
    assert_eq!(file[ROOT]["slack"]["earlier"][1]["why"], json!("x"));
    assert_eq!(file[ROOT]["slack"]["earlier"][2], json!("garbage"));
    assert_eq!(file["/srv/other"], json!({ "x": { "v": 2 } }));
    assert_eq!(file["version"], json!(3));
}

#[test]
fn every_spelling_of_a_root_is_looked_up_and_a_rejection_wins() {
    let table = [
        (stored(1, "approved"), None, Decision::Approved),
        (stored(1, "rejected"), None, Decision::Rejected),
        (stored(1, "rejected"), Some(stored(1, "approved")), Decision::Rejected),
        (stored(1, "approved"), Some(stored(1, "rejected")), Decision::Rejected),
        (stored(2, "rejected"), Some(stored(1, "approved")), Decision::Approved),
        (
            json!({ "hash": hash(2).to_string(), "status": "approved", "earlier": [stored(1, "rejected")] }),
            Some(stored(1, "approved")),
            Decision::Rejected,
        ),
    ];
    for (under_link, under_root, expected) in table {
        let mut file = json!({ "/link": { "slack": under_link } });
        if let Some(node) = under_root {
            file[ROOT] = json!({ "slack": node });
        }
        assert_eq!(state(&document(file.clone()), POSIX, ROOT, "slack", 1), expected, "{file}");
    }
}

#[test]
fn a_decision_replaces_those_about_its_hash_under_every_spelling() {
    let mut link = stored(1, "rejected");
    link["earlier"] = json!([stored(2, "approved")]);
    let mut file = document(json!({ "/link": { "slack": link, "other": stored(1, "rejected") } }));
    decide(&mut file, ROOT, "slack", 1, Verdict::Approve);
    assert_eq!(state(&file, POSIX, ROOT, "slack", 1), Decision::Approved);
    assert_eq!(state(&file, POSIX, ROOT, "slack", 2), Decision::Approved, "what else was decided stays");
    assert_eq!(state(&file, POSIX, ROOT, "other", 1), Decision::Rejected);
    assert_eq!(text(&file)["/link"]["slack"], stored(2, "approved"));
    decide(&mut file, ROOT, "slack", 2, Verdict::Reject);
    decide(&mut file, ROOT, "other", 1, Verdict::Approve);
    assert_eq!(state(&file, POSIX, ROOT, "slack", 2), Decision::Rejected);
    assert_eq!(text(&file).as_object().unwrap().keys().collect::<Vec<_>>(), [ROOT], "nothing is left there");
}

#[test]
fn revoking_removes_current_and_earlier_decisions_under_every_spelling() {
    let mut file = document(json!({
        "/link": { "slack": stored(1, "approved") },
        "/srv/other": { "slack": stored(1, "approved") },
        ROOT: { "slack": "garbage", "other": stored(2, "approved") },
    }));
    decide(&mut file, ROOT, "slack", 3, Verdict::Approve);
    assert_eq!(file.revoke(POSIX, ROOT, Some("nobody")), BTreeSet::new());
    assert_eq!(file.revoke(POSIX, ROOT, Some("slack")), BTreeSet::from(["slack".to_owned()]));
    for number in [1, 3] {
        assert_eq!(state(&file, POSIX, ROOT, "slack", number), Decision::Undecided);
    }
    assert_eq!(state(&file, POSIX, ROOT, "other", 2), Decision::Approved);
    assert_eq!(file.revoke(POSIX, ROOT, None), BTreeSet::from(["other".to_owned()]));
    assert_eq!(text(&file), json!({ "/srv/other": { "slack": stored(1, "approved") } }));
}

#[test]
fn names_that_mean_something_to_javascript_are_ordinary_names() {
    let mut file = Document::default();
    for name in ["__proto__", "constructor", "toString", "", "a.b", "a/b"] {
        decide(&mut file, ROOT, name, 1, Verdict::Reject);
        assert_eq!(state(&file, POSIX, ROOT, name, 1), Decision::Rejected, "{name}");
    }
    assert_eq!(state(&document(text(&file)), POSIX, ROOT, "__proto__", 1), Decision::Rejected);
}

#[test]
fn on_windows_the_spelling_of_a_root_does_not_count() {
    let table = [
        (r"C:\Repo", r"c:\Repo", Decision::Approved),
        (r"C:\Repo", r"C:\REPO", Decision::Approved),
        (r"C:\Repo", r"C:/repo/", Decision::Approved),
        (r"C:\Repo", r"\\?\C:\Repo", Decision::Approved),
        (r"\\Server\Share\Repo", r"\\server\SHARE\repo", Decision::Approved),
        (r"C:\Repo", r"D:\Repo", Decision::Undecided),
        (r"C:\Repo", r"C:\Repo2", Decision::Undecided),
        ("/srv/My", "/srv/my", Decision::Undecided),
    ];
    for (key, root, expected) in table {
        let file = document(json!({ key: { "slack": stored(1, "approved") } }));
        assert_eq!(state(&file, WINDOWS, root, "slack", 1), expected, "{key} looked up as {root}");
    }
}

#[test]
fn on_windows_the_next_decision_joins_the_spellings_of_its_root_and_no_others() {
    let mut file = document(json!({
        r"C:\Repo": { "a": stored(1, "approved"), "both": stored(1, "approved"), "__proto__": stored(1, "rejected") },
        "/srv/My-Repo": { "a": stored(1, "approved") },
        r"D:\Other": { "a": stored(1, "approved") },
        r"c:\REPO": { "b": stored(2, "approved"), "both": stored(1, "rejected") },
    }));
    file.decide(WINDOWS, r"C:\repo", "c", &record(3, Verdict::Approve), None);
    let keys: Vec<_> = file.0.keys().cloned().collect();
    assert_eq!(keys, ["/srv/My-Repo", r"D:\Other", r"c:\repo"]);
    for (server, number, expected) in [
        ("a", 1, Decision::Approved),
        ("b", 2, Decision::Approved),
        ("c", 3, Decision::Approved),
        ("both", 1, Decision::Rejected),
        ("__proto__", 1, Decision::Rejected),
    ] {
        assert_eq!(state(&file, WINDOWS, r"C:\Repo", server, number), expected, "{server}");
    }
}

#[test]
fn joining_two_records_of_one_name_keeps_every_decision() {
    let mut first = stored(1, "approved");
    first["earlier"] = json!([stored(2, "approved"), stored(3, "approved")]);
    first["note"] = json!("mine");
    let mut second = stored(2, "rejected");
    second["earlier"] = json!([stored(4, "approved"), stored(1, "approved")]);
    let joined = record::merged(&first, &second);
    let decisions: Vec<_> = record::decisions(&joined).map(|record| (record.hash, record.verdict)).collect();
    let expected =
        [(1, Verdict::Approve), (2, Verdict::Reject), (3, Verdict::Approve), (4, Verdict::Approve)];
    assert_eq!(decisions, expected.map(|(number, verdict)| (hash(number), verdict)));
    assert_eq!(joined["note"], json!("mine"));
}

#[test]
fn a_file_that_is_no_record_says_what_is_wrong_with_it() {
    let table: [(&[u8], Result<Document, Corrupt>); 9] = [
        (b"", Ok(Document::default())),
        (b" \r\n\t", Ok(Document::default())),
        (b"// nothing yet", Ok(Document::default())),
        ("\u{feff}{}".as_bytes(), Ok(Document::default())),
        (b"{\n  \"a\": {", Err(Corrupt::Syntax { line: 2, column: 8 })),
        (b"/* \n */ {,}", Err(Corrupt::Syntax { line: 2, column: 6 })),
        (b"[]", Err(Corrupt::NotAnObject)),
        (b"\"x\"", Err(Corrupt::NotAnObject)),
        (b"{\"\xff\": 1}", Err(Corrupt::NotUtf8)),
    ];
    for (bytes, expected) in table {
        assert_eq!(Document::parse(bytes), expected, "{}", String::from_utf8_lossy(bytes));
    }
    let large = vec![b' '; 8 * 1024 * 1024 + 1];
    assert_eq!(Document::parse(&large), Err(Corrupt::TooLarge));
}

#[test]
fn comments_are_blanked_and_strings_are_not() {
    let table = [
        ("{}//x\n1", "{}   \n1"),
        ("/*é\n*/{}", "    \n  {}"),
        (r#"{"a//b":"/* \" // */"}"#, r#"{"a//b":"/* \" // */"}"#),
        ("/*/ 1 */2", "        2"),
        ("/* open", "       "),
        ("\"open // \\", "\"open // \\"),
        ("1 / 2", "1 / 2"),
    ];
    for (text, plain) in table {
        assert_eq!(without_comments(text), plain, "{text}");
    }
}

#[derive(Clone, Debug)]
enum Step {
    Decide(usize, usize, Verdict),
    Revoke(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let verdict = prop_oneof![Just(Verdict::Approve), Just(Verdict::Reject)];
    let step = prop_oneof![
        5 => (0..3_usize, 0..6_usize, verdict).prop_map(|(server, number, verdict)| Step::Decide(server, number, verdict)),
        1 => (0..3_usize).prop_map(Step::Revoke),
    ];
    proptest::collection::vec(step, 0..40)
}

/// A stored file with both spellings of the root, each server with up to six decisions, contradicting ones included.
fn stored_file() -> impl Strategy<Value = Document> {
    let node = proptest::collection::vec((0..6_usize, prop_oneof![Just("approved"), Just("rejected")]), 1..4);
    let servers = proptest::collection::btree_map((0..3_usize).prop_map(server), node, 0..3);
    (servers.clone(), servers).prop_map(|(under_root, under_link)| {
        let project = |servers: BTreeMap<String, Vec<(usize, &str)>>| {
            let nodes = servers.into_iter().map(|(name, decisions)| {
                let mut all = decisions.into_iter().map(|(number, status)| stored(number, status));
                let mut node = all.next().unwrap();
                node["earlier"] = all.collect();
                (name, node)
            });
            Value::Object(nodes.collect())
        };
        document(json!({ ROOT: project(under_root), "/link": project(under_link) }))
    })
}

fn server(number: usize) -> String {
    format!("server-{number}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn after_any_steps_the_record_says_what_was_answered_last(mut file in stored_file(), steps in steps()) {
        let elsewhere = json!({ "server-0": stored(1, "approved"), "note": 1 });
        file.0.insert("/elsewhere".to_owned(), elsewhere.clone());
        let mut expected: BTreeMap<(usize, usize), Decision> = BTreeMap::new();
        for name in 0..3 {
            for number in 0..6 {
                expected.insert((name, number), state(&file, POSIX, ROOT, &server(name), number));
            }
        }
        for step in steps {
            match step {
                Step::Decide(name, number, verdict) => {
                    decide(&mut file, ROOT, &server(name), number, verdict);
                    expected.insert((name, number), verdict.into());
                }
                Step::Revoke(name) => {
                    file.revoke(POSIX, ROOT, Some(&server(name)));
                    expected.extend((0..6).map(|number| ((name, number), Decision::Undecided)));
                }
            }
            for ((name, number), decision) in &expected {
                prop_assert_eq!(state(&file, POSIX, ROOT, &server(*name), *number), *decision);
            }
            if let Step::Decide(name, number, _) = step {
                let about = Records::of(file.clone(), POSIX).list(Projects::Of(Path::new(ROOT)));
                let once = about.iter().filter(|one| one.server == server(name) && one.hash == hash(number));
                prop_assert_eq!(once.count(), 1);
            }
        }
        prop_assert_eq!(&file.0["/elsewhere"], &elsewhere);
        prop_assert_eq!(Document::parse(file.clone().into_text().as_bytes()), Ok(file));
    }

    #[test]
    fn any_bytes_are_a_record_or_no_record(bytes: Vec<u8>) {
        drop(Records::parse(&bytes));
    }
}
