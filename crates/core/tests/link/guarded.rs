//! What outlives a `kill -9` of the program: nothing but the guard, and that not for long.

use std::{
    cell::RefCell,
    io::{BufRead, BufReader, Write},
    os::unix::process::ExitStatusExt,
    process::{Child, Command, Stdio},
    time::Duration,
};

use qwen_core::{Guard, Teardown};

use crate::harness::{Server, connector_with, exe, kill, open_on, until};

/// The promise is three seconds; a busy machine needs some to look.
const GONE: Duration = Duration::from_secs(6);

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

/// The guard processes that a process started.
fn guards_of(parent: u32) -> Vec<u32> {
    let parent = parent.to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let is_guard = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let (state, its_parent) = (fields.next()?, fields.next()?);
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let asked = words.split(|byte| *byte == 0).nth(1) == Some(b"__guard");
        Some(asked && its_parent == parent && state != "Z")
    };
    let pids = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
    pids.filter(|pid| is_guard(*pid) == Some(true)).collect()
}

/// A guard of this process. Guards are told apart by who started them, so tests that look at their own take turns.
async fn own_guard() -> (Guard, tokio::sync::MutexGuard<'static, ()>) {
    static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let alone = ALONE.lock().await;
    until(GONE, || guards_of(std::process::id()).is_empty()).await;
    let guard = Guard::start(exe().into()).unwrap();
    // It is there, but the kernel may not tell its words yet.
    until(GONE, || guards_of(std::process::id()).len() == 1).await;
    (guard, alone)
}

#[tokio::test]
async fn a_guard_that_dies_is_replaced_by_one_that_knows_the_groups() {
    let server = stubborn();
    let mut host = host(&server);
    let [first] = guards_of(host.id())[..] else { panic!("{:?}", guards_of(host.id())) };
    kill(first);
    until(GONE, || matches!(guards_of(host.id())[..], [next] if next != first)).await;
    assert!(server.processes().len() >= 3, "the death of a guard costs no server");
    // The new guard reads what it is told before it can see the end of its input, so this needs no wait.
    host.kill().unwrap();
    host.wait().unwrap();
    server.is_gone_within(GONE).await;
}

#[tokio::test]
async fn a_server_starts_in_the_moment_in_which_the_guard_dies() {
    let (guard, _alone) = own_guard().await;
    let connector = connector_with(guard.clone());
    for _ in 0..5 {
        until(GONE, || guards_of(std::process::id()).len() == 1).await;
        kill(guards_of(std::process::id())[0]);
        let server = Server::scripted("plain");
        let opened = open_on(&connector, &server, Default::default()).await.unwrap();
        opened.lease.link.retire(Teardown::Exit).await;
    }
    assert_eq!(guard.live_groups(), 0);
}

#[tokio::test]
async fn a_guard_is_deaf_to_polite_signals_and_ends_with_its_owner() {
    let (guard, _alone) = own_guard().await;
    let own = std::process::id();
    let [pid] = guards_of(own)[..] else { panic!() };
    let process = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let ours = rustix::process::getpgid(None).unwrap();
    assert_ne!(rustix::process::getpgid(Some(process)).unwrap(), ours, "what ends our group ends it never");
    let ignored = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
        // HUP, INT, QUIT, PIPE and TERM.
        u64::from_str_radix(mask, 16).unwrap() & 0x5007 == 0x5007
    };
    until(GONE, ignored).await;
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT, rustix::process::Signal::HUP]
    {
        rustix::process::kill_process(process, signal).unwrap();
    }
    let session = rustix::process::getsid(Some(process)).unwrap();
    assert_eq!(session, process, "it must not be in our session");
    assert!(guard.is_watching());
    assert_eq!(guards_of(own), [pid]);
    drop(guard);
    until(GONE, || guards_of(own).is_empty()).await;
}

#[tokio::test]
async fn a_guard_that_stops_reading_is_replaced_and_costs_no_server() {
    let (guard, _alone) = own_guard().await;
    let connector = connector_with(guard.clone());
    let kept = Server::scripted("plain");
    let opened = open_on(&connector, &kept, Default::default()).await.unwrap();
    let [stopped] = guards_of(std::process::id())[..] else { panic!() };
    let process = rustix::process::Pid::from_raw(i32::try_from(stopped).unwrap()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::STOP).unwrap();
    // Each start and end is told until no more fits on the way to the guard.
    for _ in 0..2000 {
        if guards_of(std::process::id()) != [stopped] {
            break;
        }
        let server = Server::scripted("plain");
        let opened = open_on(&connector, &server, Default::default()).await.unwrap();
        opened.lease.link.retire(Teardown::NeverLive).await;
    }
    // Where it still is it goes on now, and may act on what it takes for our end.
    rustix::process::kill_process(process, rustix::process::Signal::CONT).ok();
    until(GONE, || matches!(guards_of(std::process::id())[..], [other] if other != stopped)).await;
    assert_eq!(kept.processes().len(), 1);
    opened.lease.link.retire(Teardown::Exit).await;
}

#[tokio::test]
async fn a_guard_that_was_given_up_is_tried_again_before_a_server_starts_without_it() {
    let (guard, _alone) = own_guard().await;
    for _ in 0..20 {
        until(GONE, || guards_of(std::process::id()).len() == 1 || !guard.is_watching()).await;
        let Some(process) = guards_of(std::process::id()).first().copied() else { break };
        kill(process);
        until(GONE, || !guards_of(std::process::id()).contains(&process)).await;
    }
    until(GONE, || !guard.is_watching()).await;
    let server = Server::scripted("plain");
    let opened = open_on(&connector_with(guard.clone()), &server, Default::default()).await.unwrap();
    assert!(guard.is_watching());
    opened.lease.link.retire(Teardown::Exit).await;
}

#[tokio::test]
async fn a_guard_kills_what_was_being_started_when_its_owner_ended() {
    use std::os::unix::process::CommandExt;
    let mut guard = Command::new(exe()).arg("__guard").stdin(Stdio::piped()).spawn().unwrap();
    let starting = || Command::new("cat").stdin(Stdio::piped()).process_group(0).spawn().unwrap();
    let (announced, mut other) = (RefCell::new(starting()), starting());
    let input = std::fs::read_link(format!("/proc/{}/fd/0", announced.borrow().id())).unwrap();
    let pipe = input.to_str().unwrap().trim_start_matches("pipe:[").trim_end_matches(']');
    let mut line = guard.stdin.take().unwrap();
    writeln!(line, "?1 {pipe}").unwrap();
    drop(line);
    assert!(guard.wait().unwrap().success());
    // Nobody closed its input, so that it ends by a signal or not at all.
    let input = announced.borrow_mut().stdin.take();
    until(GONE, || announced.borrow_mut().try_wait().unwrap().is_some()).await;
    drop(input);
    assert_eq!(announced.borrow_mut().wait().unwrap().signal(), Some(9));
    assert!(other.try_wait().unwrap().is_none());
    other.kill().unwrap();
    other.wait().unwrap();
}

#[tokio::test]
async fn a_guard_whose_owner_ended_before_it_began_acts_all_the_same() {
    use std::os::unix::process::CommandExt;
    let mut left = Command::new("cat").stdin(Stdio::piped()).process_group(0).spawn().unwrap();
    // It begins when the shell is gone, so that it is an orphan from the start.
    let script = r#"exec 3<&0; (while kill -0 $$ 2>/dev/null; do :; done; exec "$0" __guard <&3) &"#;
    let mut shell = Command::new("sh").args(["-c", script, &exe()]).stdin(Stdio::piped()).spawn().unwrap();
    let mut line = shell.stdin.take().unwrap();
    writeln!(line, "+{}", left.id()).unwrap();
    assert!(shell.wait().unwrap().success());
    drop(line);
    let input = left.stdin.take();
    let left = RefCell::new(left);
    until(GONE, || left.borrow_mut().try_wait().unwrap().is_some()).await;
    drop(input);
    assert_eq!(left.borrow_mut().wait().unwrap().signal(), Some(9));
}
