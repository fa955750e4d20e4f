//! What outlives a `kill -9` of the program: nothing but the guard, and that not for long.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use qwen_core::{Guard, Teardown};

use crate::harness::{Server, connector_with, exe, kill, open_on, until};

/// Everything must be gone by then; behaviour document, section 8.
const GONE: Duration = Duration::from_secs(3);

/// A server with a helper, both deaf to polite requests.
fn stubborn() -> Server {
    Server::shell("trap '' TERM; (trap '' TERM; exec sleep 1000) & $SERVER; exec sleep 1000")
}

/// Opens the server that the environment describes and waits to be killed.
pub(crate) fn host_if_asked() {
    let Ok(server) = std::env::var("HOST_SERVER") else { return };
    let env: std::collections::BTreeMap<String, String> = serde_json::from_str(&server).unwrap();
    let mut server = stubborn();
    server.env = env;
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let guard = Guard::start(exe().into()).unwrap();
        let _opened = open_on(&connector_with(guard), &server, Default::default()).await.unwrap();
        println!("open");
        std::future::pending::<()>().await;
    });
}

fn host(server: &Server) -> Child {
    use std::os::unix::process::CommandExt;
    let mut host = Command::new(exe())
        .args(["--exact", "scripted_host", "--nocapture"])
        .env("HOST_SERVER", serde_json::to_string(&server.env).unwrap())
        .process_group(0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(host.stdout.take().unwrap());
    assert!(output.lines().map_while(Result::ok).any(|line| line == "open"));
    host
}

#[tokio::test]
async fn a_kill_of_the_program_or_of_its_whole_group_leaves_nothing() {
    let server = stubborn();
    let mut killed = host(&server);
    assert!(server.processes().len() >= 3);
    killed.kill().unwrap();
    killed.wait().unwrap();
    server.is_gone_within(GONE).await;

    let mut killed = host(&server);
    assert!(server.processes().len() >= 3);
    let group = rustix::process::Pid::from_raw(i32::try_from(killed.id()).unwrap()).unwrap();
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
    killed.wait().unwrap();
    server.is_gone_within(GONE).await;
}

/// The guard processes of this test's own process.
fn guards() -> Vec<u32> {
    let own = std::process::id().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| {
            let stat = std::fs::read_to_string(process.path().join("stat")).ok()?;
            let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
            let (state, parent) = (fields.next()?, fields.next()?);
            let words = std::fs::read(process.path().join("cmdline")).ok()?;
            let is_guard = words.split(|byte| *byte == 0).nth(1) == Some(b"__guard");
            (is_guard && parent == own && state != "Z")
                .then(|| process.file_name().to_str()?.parse().ok())
                .flatten()
        })
        .collect()
}

#[tokio::test]
async fn a_guard_that_dies_is_replaced_and_knows_the_groups_that_live() {
    let guard = Guard::start(exe().into()).unwrap();
    let connector = connector_with(guard.clone());
    let before = stubborn();
    let opened = open_on(&connector, &before, Default::default()).await.unwrap();
    let [first] = guards()[..] else { panic!("{:?}", guards()) };
    kill(first);
    // An open in the very moment of its death works too.
    let after = Server::scripted("plain");
    let second = open_on(&connector, &after, Default::default()).await.unwrap();
    until(GONE, || guard.is_watching() && guards().len() == 1).await;
    assert_ne!(guards(), [first]);
    second.lease.link.retire(Teardown::Exit).await;
    assert!(!before.processes().is_empty());

    // Without the owner: as if this program had been killed.
    std::mem::forget(opened);
    drop(connector);
    let [current] = guards()[..] else { panic!() };
    assert_eq!(guard.live_groups(), 1);
    drop(guard);
    // The supervisor of the forgotten connection still holds a clone, so the guard stays until it is hung up on.
    kill(current);
    until(GONE, || guards().len() == 1 && guards() != [current]).await;
}

#[tokio::test]
async fn a_guard_is_deaf_to_polite_signals_and_ends_with_its_owner() {
    let guard = Guard::start(exe().into()).unwrap();
    let [pid] = guards()[..] else { panic!() };
    let process = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT, rustix::process::Signal::HUP]
    {
        rustix::process::kill_process(process, signal).unwrap();
    }
    let session = rustix::process::getsid(Some(process)).unwrap();
    assert_eq!(session, process, "it must not be in our session");
    assert!(guard.is_watching());
    assert_eq!(guards(), [pid]);
    drop(guard);
    until(GONE, || guards().is_empty()).await;
}
