//! Do decisions survive other processes? Two that write at once, and one that is killed while it writes.
//!
//! A test starts this very binary again, with its errand in the environment, so that the writers are real processes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

use qwen_approvals::{
    ApprovalHash, ApprovalStore, Decision, Dialect, FileStore, Projects, Records, Verdict, approval_hash,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// `<store> <server prefix> <how many>`, separated by line breaks.
const ERRAND: &str = "QWEN_APPROVALS_TEST_ERRAND";
const ROOT: &str = "/srv/my-repo";

fn entry() -> Value {
    json!({ "command": "node", "args": ["server.js"] })
}

fn hash() -> ApprovalHash {
    approval_hash(&entry(), Dialect::McpJson)
}

fn approve(store: &FileStore, server: &str) {
    store.decide(Path::new(ROOT), server, hash(), Verdict::Approve, &entry()).unwrap();
}

fn writer(store: &Path, prefix: &str, count: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_process_that_was_sent_on_an_errand_does_it", "--nocapture"])
        .env(ERRAND, format!("{}\n{prefix}\n{count}", store.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The work of the other processes; in an ordinary run there is no errand and nothing to do.
#[test]
fn a_process_that_was_sent_on_an_errand_does_it() {
    let Ok(errand) = std::env::var(ERRAND) else { return };
    let mut errand = errand.lines();
    let store = FileStore::open(PathBuf::from(errand.next().unwrap()));
    let prefix = errand.next().unwrap();
    for number in 0..errand.next().unwrap().parse().unwrap() {
        let server = format!("{prefix}-{number}");
        approve(&store, &server);
        println!("\ndecided {server}");
    }
}

fn servers(store: &FileStore) -> BTreeSet<String> {
    store.list(Projects::All).into_iter().map(|listed| listed.server).collect()
}

#[test]
fn two_processes_that_decide_at_the_same_time_lose_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("mcpApprovals.json");
    let writers = ["one", "two"].map(|prefix| writer(&path, prefix, 100));
    for mut writer in writers {
        let output = BufReader::new(writer.stdout.take().unwrap());
        assert_eq!(output.lines().filter(|line| line.as_ref().unwrap().starts_with("decided ")).count(), 100);
        assert!(writer.wait().unwrap().success());
    }
    let expected: BTreeSet<_> = ["one", "two"]
        .iter()
        .flat_map(|prefix| (0..100).map(move |number| format!("{prefix}-{number}")))
        .collect();
    assert_eq!(servers(&FileStore::open(path)), expected);
}

#[test]
fn threads_with_a_store_of_their_own_lose_nothing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("mcpApprovals.json");
    thread::scope(|scope| {
        for prefix in 0..4 {
            let path = &path;
            scope.spawn(move || {
                for number in 0..25 {
                    approve(&FileStore::open(path), &format!("{prefix}-{number}"));
                }
            });
        }
    });
    assert_eq!(servers(&FileStore::open(path)).len(), 100);
}

/// A record of 1000 decisions, so that a write takes long enough to be hit.
fn large_record() -> String {
    let node = json!({ "hash": hash().to_string(), "status": "approved" });
    let servers: serde_json::Map<_, _> =
        (0..1_000).map(|number| (format!("other-{number}"), node.clone())).collect();
    format!("{}\n", json!({ "/srv/other": servers }))
}

#[test]
fn a_reader_sees_the_old_record_or_the_new_while_another_process_writes() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("mcpApprovals.json");
    fs::write(&path, large_record()).unwrap();
    let mut writer = writer(&path, "new", 30);
    let mut versions = BTreeSet::new();
    while writer.try_wait().unwrap().is_none() {
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.ends_with(b"}\n"), "{} bytes were there", bytes.len());
        versions.insert(bytes.len());
    }
    assert!(versions.len() > 2, "the reader was there while it happened");
}

#[test]
fn a_process_killed_while_it_writes_leaves_the_old_record_or_the_new() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("mcpApprovals.json");
    let store = FileStore::open(&path);
    fs::write(&path, large_record()).unwrap();
    for round in 0..8 {
        let prefix = format!("round-{round}");
        let mut writer = writer(&path, &prefix, 10_000);
        let output = BufReader::new(writer.stdout.take().unwrap());
        let decided: Vec<String> = output
            .lines()
            .filter_map(|line| line.unwrap().strip_prefix("decided ").map(str::to_owned))
            .take(round % 4 + 1)
            .collect();
        writer.kill().unwrap();
        writer.wait().unwrap();
        let (records, problem) = Records::parse(&fs::read(&path).unwrap());
        assert_eq!(problem, None, "round {round}");
        assert!(records.list(Projects::All).len() >= 1_000 + decided.len());
        for server in decided {
            assert_eq!(records.state(Path::new(ROOT), &server, hash()).decision, Decision::Approved);
        }
        approve(&store, "after");
    }
    let leftovers =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let leftovers: BTreeSet<_> = leftovers.collect();
    let expected = ["mcpApprovals.json", "mcpApprovals.json.key", "mcpApprovals.json.lock"];
    assert_eq!(leftovers, expected.map(str::to_owned).into());
}
