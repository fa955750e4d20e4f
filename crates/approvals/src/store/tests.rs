//! Tests of the store on a real disk: what is written where, with which mode, and what happens when it cannot be.

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::{PermissionsExt, symlink},
    process::Command,
    time::Instant,
};

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::{
    decision::Gate,
    hash::{Dialect, approval_hash},
    shown::Change as FieldChangeKind,
};

const FILE: &str = "mcpApprovals.json";

struct Bench {
    folder: TempDir,
    project: TempDir,
}

impl Bench {
    fn new() -> Bench {
        Bench { folder: TempDir::new().unwrap(), project: TempDir::new().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(FILE)
    }

    fn store(&self) -> FileStore {
        FileStore::open(self.path())
    }

    fn root(&self) -> PathBuf {
        fs::canonicalize(self.project.path()).unwrap()
    }

    fn approve(&self, server: &str, entry: &Value) -> Decided {
        self.store().decide(&self.root(), server, hash(entry), Verdict::Approve, entry).unwrap()
    }

    fn decision(&self, server: &str, entry: &Value) -> Decision {
        self.store().state(&self.root(), server, hash(entry)).decision
    }

    /// The names in the folder of the store, without the lock and the key.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| !name.ends_with(".lock") && !name.ends_with(".key"));
        names.sort();
        names
    }
}

fn entry(arg: &str) -> Value {
    json!({ "command": "node", "args": [arg], "env": { "TOKEN": "hunter2-hunter2" } })
}

fn hash(entry: &Value) -> ApprovalHash {
    approval_hash(entry, Dialect::McpJson)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn reading_makes_no_file() {
    let bench = Bench::new();
    let store = FileStore::open(bench.folder.path().join("missing").join(FILE));
    assert_eq!(store.state(&bench.root(), "x", hash(&entry("a"))).decision, Decision::Undecided);
    assert!(store.read().problem.is_none());
    assert!(store.list(Projects::All).is_empty());
    assert_eq!(store.previous(&bench.root(), "x", &entry("a")), None);
    assert!(!bench.folder.path().join("missing").exists());
}

#[test]
fn a_decision_outlives_the_store_that_made_it_and_can_be_changed() {
    let bench = Bench::new();
    let decided = bench.approve("x", &entry("a"));
    assert_eq!(decided.set_aside, None);
    let recorded = bench.store().state(&bench.root(), "x", hash(&entry("a")));
    assert_eq!(recorded, Recorded { decision: Decision::Approved, time: Some(decided.time) });
    assert_eq!(bench.decision("x", &entry("b")), Decision::Undecided);
    bench.store().decide(&bench.root(), "x", hash(&entry("a")), Verdict::Reject, &entry("a")).unwrap();
    assert_eq!(bench.decision("x", &entry("a")), Decision::Rejected);
}

#[test]
fn everything_that_is_written_is_for_its_owner_alone() {
    let bench = Bench::new();
    let path = bench.folder.path().join("new").join("deep").join(FILE);
    let store = FileStore::open(&path);
    store.decide(&bench.root(), "x", hash(&entry("a")), Verdict::Approve, &entry("a")).unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&path.with_file_name("mcpApprovals.json.key")), 0o600);
    assert_eq!(mode(&path.with_file_name("mcpApprovals.json.lock")), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    store.decide(&bench.root(), "y", hash(&entry("a")), Verdict::Approve, &entry("a")).unwrap();
    assert_eq!(mode(&path), 0o600, "a file made readable for others is closed again");
}

#[test]
fn no_value_of_an_entry_is_in_the_store() {
    let bench = Bench::new();
    bench.approve("x", &json!({ "command": "secret-command", "env": { "TOKEN": "hunter2-hunter2" } }));
    let text = fs::read_to_string(bench.path()).unwrap();
    assert!(text.contains("/env/TOKEN"), "field names are kept: {text}");
    assert!(!text.contains("hunter2") && !text.contains("secret-command"));
    let key = fs::read(bench.folder.path().join("mcpApprovals.json.key")).unwrap();
    assert_eq!(key.len(), 32);
    assert!(!text.contains(&hex::encode(key)));
}

#[test]
fn the_next_question_can_name_what_changed() {
    let bench = Bench::new();
    bench.approve("x", &entry("a"));
    let previous = bench.store().previous(&bench.root(), "x", &entry("b")).unwrap();
    assert_eq!((previous.hash, previous.verdict), (hash(&entry("a")), Verdict::Approve));
    let change =
        FieldChange { path: vec!["args".to_owned(), "0".to_owned()], change: FieldChangeKind::Changed };
    assert_eq!(previous.changes, Some(vec![change]));
    assert_eq!(bench.store().previous(&bench.root(), "y", &entry("b")), None);
}

#[test]
fn without_the_key_it_is_not_known_what_changed() {
    let bench = Bench::new();
    bench.approve("x", &entry("a"));
    let key = bench.folder.path().join("mcpApprovals.json.key");
    fs::remove_file(&key).unwrap();
    let previous = bench.store().previous(&bench.root(), "x", &entry("b")).unwrap();
    assert_eq!((previous.hash, previous.changes), (hash(&entry("a")), None));
    bench.approve("other", &entry("a"));
    assert!(key.exists(), "a new key is made");
    assert_eq!(bench.store().previous(&bench.root(), "x", &entry("b")).unwrap().changes, None);
}

#[test]
fn what_qwen_code_recorded_has_no_memory_of_what_was_shown() {
    let bench = Bench::new();
    let root = bench.root().to_str().unwrap().to_owned();
    let file = json!({ root: { "x": { "hash": hash(&entry("a")).to_string(), "status": "rejected" } } });
    fs::write(bench.path(), format!("{file:#}")).unwrap();
    assert_eq!(bench.decision("x", &entry("a")), Decision::Rejected);
    let previous = bench.store().previous(&bench.root(), "x", &entry("b")).unwrap();
    let expected = Previous { hash: hash(&entry("a")), verdict: Verdict::Reject, time: None, changes: None };
    assert_eq!(previous, expected);
}

#[test]
fn a_project_behind_a_link_is_one_project() {
    let bench = Bench::new();
    let link = bench.folder.path().join("link");
    symlink(bench.project.path(), &link).unwrap();
    let inside = bench.project.path().join("sub");
    fs::create_dir(&inside).unwrap();
    let store = bench.store();
    for (spelling, server) in [(link.clone(), "a"), (inside.join(".."), "b"), (bench.root(), "c")] {
        store.decide(&spelling, server, hash(&entry("a")), Verdict::Approve, &entry("a")).unwrap();
        for lookup in [&link, &inside.join(".."), &bench.root()] {
            assert_eq!(store.state(lookup, server, hash(&entry("a"))).decision, Decision::Approved);
        }
    }
    let text: Value = serde_json::from_slice(&fs::read(bench.path()).unwrap()).unwrap();
    assert_eq!(text.as_object().unwrap().len(), 1, "one root is stored: {text}");
    assert_eq!(store.list(Projects::Of(&link)).len(), 3);
    assert_eq!(store.revoke(&link, "a").unwrap().servers, BTreeSet::from(["a".to_owned()]));
    assert_eq!(store.revoke_project(&link).unwrap().servers.len(), 2);
}

#[test]
fn a_record_under_the_spelling_of_another_program_counts() {
    let bench = Bench::new();
    let link = bench.folder.path().join("link");
    symlink(bench.project.path(), &link).unwrap();
    let file = json!({ link.to_str().unwrap(): { "x": { "hash": hash(&entry("a")).to_string(), "status": "rejected" } } });
    fs::write(bench.path(), file.to_string()).unwrap();
    assert_eq!(bench.decision("x", &entry("a")), Decision::Rejected);
    bench.approve("x", &entry("a"));
    assert_eq!(bench.decision("x", &entry("a")), Decision::Approved);
}

#[test]
fn a_corrupt_file_decides_nothing_and_is_set_aside_by_the_first_decision() {
    for content in [&b"{ \"/srv/repo\": "[..], b"[]", b"\xff\xfe{}", b"null"] {
        let bench = Bench::new();
        fs::write(bench.path(), content).unwrap();
        assert_eq!(bench.decision("x", &entry("a")), Decision::Undecided);
        assert!(matches!(bench.store().read().problem, Some(ReadProblem::Corrupt { .. })));
        assert!(bench.store().revoke(&bench.root(), "x").unwrap().servers.is_empty());
        assert_eq!(
            fs::read(bench.path()).unwrap(),
            content,
            "neither a look-up nor revoking nothing moves it"
        );
        let aside = bench.approve("x", &entry("a")).set_aside.unwrap();
        assert!(aside.to_str().unwrap().contains("mcpApprovals.json.corrupt-"));
        assert_eq!(fs::read(&aside).unwrap(), content);
        assert_eq!(bench.decision("x", &entry("a")), Decision::Approved);
        assert_eq!(bench.approve("y", &entry("a")).set_aside, None);
    }
}

#[test]
fn no_file_that_was_set_aside_is_overwritten() {
    let bench = Bench::new();
    let time = "2026-11-30T12:00:00.000Z";
    for number in 0..3 {
        fs::write(bench.path(), format!("garbage {number}")).unwrap();
        files::set_aside(&bench.path(), time).unwrap();
    }
    assert_eq!(
        bench.names(),
        [
            "mcpApprovals.json.corrupt-20261130T120000.000Z",
            "mcpApprovals.json.corrupt-20261130T120000.000Z-1",
            "mcpApprovals.json.corrupt-20261130T120000.000Z-2",
        ]
    );
}

#[test]
fn a_decision_clears_what_killed_writes_left() {
    let bench = Bench::new();
    for leftover in [".mcpApprovals.json.abc.tmp", ".mcpApprovals.json.key.abc.tmp"] {
        fs::write(bench.folder.path().join(leftover), "{").unwrap();
    }
    for other in [".settings.json.abc.tmp", "mcpApprovals.json.tmp", ".mcpApprovals.json.abc"] {
        fs::write(bench.folder.path().join(other), "{").unwrap();
    }
    bench.approve("x", &entry("a"));
    assert_eq!(
        bench.names(),
        [".mcpApprovals.json.abc", ".settings.json.abc.tmp", FILE, "mcpApprovals.json.tmp"]
    );
}

#[test]
fn a_linked_store_stays_a_link() {
    let bench = Bench::new();
    let elsewhere = TempDir::new().unwrap();
    fs::create_dir(elsewhere.path().join("real")).unwrap();
    let real = elsewhere.path().join("real").join("approvals.json");
    symlink(elsewhere.path().join("real"), bench.folder.path().join("hop")).unwrap();
    symlink("hop/approvals.json", bench.path()).unwrap();
    bench.approve("first", &entry("a"));
    bench.approve("second", &entry("a"));
    assert!(fs::symlink_metadata(bench.path()).unwrap().is_symlink());
    assert_eq!(mode(&real), 0o600);
    assert_eq!(FileStore::open(&real).list(Projects::All).len(), 2);
    assert!(bench.folder.path().join("mcpApprovals.json.key").exists(), "the key stays with the link");
    assert!(!elsewhere.path().join("real").join("approvals.json.key").exists());
}

#[test]
fn both_names_of_a_linked_store_share_one_lock() {
    let bench = Bench::new();
    bench.approve("x", &entry("a"));
    let link = bench.folder.path().join("link.json");
    symlink(bench.path(), &link).unwrap();
    let _held = files::Lock::acquire(&files::target(&bench.path()), Duration::ZERO).unwrap();
    let second = files::Lock::acquire(&files::target(&link), Duration::ZERO);
    assert!(matches!(second, Err(StoreError::LockBusy { .. })));
}

#[test]
fn a_change_waits_for_the_lock_no_longer_than_its_limit() {
    let bench = Bench::new();
    bench.approve("x", &entry("a"));
    let before = fs::read(bench.path()).unwrap();
    // As another program would: with the system's lock on the file that the documentation names.
    let held = File::open(bench.folder.path().join("mcpApprovals.json.lock")).unwrap();
    held.lock().unwrap();
    let store = FileStore { lock_limit: Duration::from_millis(60), ..bench.store() };
    let began = Instant::now();
    let refused = store.decide(&bench.root(), "y", hash(&entry("a")), Verdict::Approve, &entry("a"));
    assert!(matches!(refused, Err(StoreError::LockBusy { .. })), "{refused:?}");
    assert!(began.elapsed() >= Duration::from_millis(60));
    assert!(matches!(store.revoke_project(&bench.root()), Err(StoreError::LockBusy { .. })));
    assert_eq!(fs::read(bench.path()).unwrap(), before);
    assert_eq!(bench.decision("x", &entry("a")), Decision::Approved, "reading waits for nobody");
    drop(held);
    store.decide(&bench.root(), "y", hash(&entry("a")), Verdict::Approve, &entry("a")).unwrap();
    assert_eq!(LOCK_LIMIT, Duration::from_secs(5));
}

#[test]
fn a_change_reads_the_file_again_before_it_writes() {
    let bench = Bench::new();
    let one = bench.store();
    let other = bench.store();
    one.decide(&bench.root(), "one", hash(&entry("a")), Verdict::Approve, &entry("a")).unwrap();
    other.decide(&bench.root(), "other", hash(&entry("a")), Verdict::Approve, &entry("a")).unwrap();
    one.decide(&bench.root(), "third", hash(&entry("a")), Verdict::Reject, &entry("a")).unwrap();
    assert_eq!(bench.store().list(Projects::All).len(), 3);
}

#[test]
fn what_is_no_regular_file_is_not_waited_for_and_not_replaced() {
    let bench = Bench::new();
    fs::create_dir(bench.path()).unwrap();
    assert!(matches!(bench.store().read().problem, Some(ReadProblem::Unreadable { .. })));
    let refused = bench.store().decide(&bench.root(), "x", hash(&entry("a")), Verdict::Approve, &entry("a"));
    assert!(matches!(refused, Err(StoreError::Read { .. })), "{refused:?}");
    assert!(bench.path().is_dir());

    // Nobody ever writes into this pipe, so opening it would wait for ever.
    let pipe = bench.folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(matches!(FileStore::open(&pipe).read().problem, Some(ReadProblem::Unreadable { .. })));
}

#[test]
fn a_store_that_would_not_be_read_again_is_not_written() {
    let bench = Bench::new();
    bench.approve("x", &entry("a"));
    let before = fs::read(bench.path()).unwrap();
    let name = "n".repeat(8 * 1024 * 1024);
    let refused =
        bench.store().decide(&bench.root(), &name, hash(&entry("a")), Verdict::Approve, &entry("a"));
    assert!(matches!(refused, Err(StoreError::Full { .. })));
    assert_eq!(fs::read(bench.path()).unwrap(), before);
}

#[test]
fn a_root_that_is_not_text_can_be_asked_about_but_not_decided() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    let root = Path::new(std::ffi::OsStr::from_bytes(b"/srv/\xff"));
    let refused = bench.store().decide(root, "x", hash(&entry("a")), Verdict::Approve, &entry("a"));
    assert!(matches!(refused, Err(StoreError::RootNotText { .. })));
    // Its lossy text is the name of another folder, whose decisions must not count.
    bench
        .store()
        .decide(Path::new("/srv/\u{fffd}"), "x", hash(&entry("a")), Verdict::Approve, &entry("a"))
        .unwrap();
    assert_eq!(bench.store().state(root, "x", hash(&entry("a"))).decision, Decision::Undecided);
}

#[test]
fn the_sets_over_candidates_follow_the_record() {
    let bench = Bench::new();
    let store: &dyn ApprovalStore = &bench.store();
    let candidate = |name: &str, gate| Candidate { name: name.to_owned(), hash: hash(&entry(name)), gate };
    let all = [
        candidate("approved", Gate::Gated),
        candidate("rejected", Gate::Gated),
        candidate("new", Gate::Gated),
        candidate("user", Gate::NotGated),
    ];
    bench.approve("approved", &entry("approved"));
    store
        .decide(&bench.root(), "rejected", hash(&entry("rejected")), Verdict::Reject, &entry("rejected"))
        .unwrap();
    let skipped = store.skipped(&bench.root(), &all);
    let expected = [("new", Decision::Undecided), ("rejected", Decision::Rejected)];
    assert_eq!(skipped, BTreeMap::from(expected.map(|(name, decision)| (name.to_owned(), decision))));
    let asked = store.promptable(&bench.root(), &all);
    assert_eq!(asked, BTreeSet::from([("new".to_owned(), hash(&entry("new")))]));
    let edited = [Candidate { hash: hash(&entry("edited")), ..all[1].clone() }];
    assert_eq!(
        store.promptable(&bench.root(), &edited).len(),
        1,
        "a rejected entry that changed is asked about"
    );
}

#[test]
fn a_failure_says_what_was_tried_and_keeps_the_cause_for_the_chain() {
    use std::error::Error;
    let bench = Bench::new();
    let mut blocker = File::create(bench.folder.path().join("file")).unwrap();
    blocker.write_all(b"x").unwrap();
    let store = FileStore::open(bench.folder.path().join("file").join(FILE));
    let error =
        store.decide(&bench.root(), "x", hash(&entry("a")), Verdict::Approve, &entry("a")).unwrap_err();
    assert!(error.to_string().starts_with("create the folder of "), "{error}");
    assert!(error.source().is_some());
}
