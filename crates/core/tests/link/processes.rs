//! How connections end: nothing is left, whatever the server does, within the time its ladder has.

use std::time::{Duration, Instant};

use qwen_core::{FailureKind, LinkEvent, Teardown};

use crate::harness::{Server, connector_with, kill, open, open_on, until};

/// A process that ignores the end of its input and every polite signal, beside a server that behaves.
const STUBBORN: &str = "trap '' TERM; (trap '' TERM; exec sleep 1000) & $SERVER; exec sleep 1000";

#[tokio::test]
async fn whatever_the_server_consists_of_is_gone_when_retire_resolves() {
    // Whoever goes at the end of input or at SIGTERM does not wait for SIGKILL, which comes after two seconds.
    let (polite, killed) = (Duration::from_millis(1900), Duration::from_secs(5));
    let scripts = [
        ("$SERVER", polite),
        ("exec $SERVER", polite),
        ("exec 3<&0; $SERVER <&3 & wait", polite),
        ("sh -c \"sh -c '$SERVER; exit'; exit\"; exit", polite),
        ("sleep 1000 & exec $SERVER", polite),
        (STUBBORN, killed),
    ];
    for (script, limit) in scripts {
        let server = Server::shell(script);
        let opened = open(&server).await.unwrap();
        let began = Instant::now();
        opened.lease.link.retire(Teardown::Verdict).await;
        let took = began.elapsed();
        assert!(server.processes().is_empty(), "{script}: {:?}", server.processes());
        assert!(took < limit, "{script}: {took:?}");
    }
}

#[tokio::test]
async fn a_server_that_was_never_live_is_ended_without_ceremony() {
    let server = Server::shell(STUBBORN);
    let opened = open(&server).await.unwrap();
    let began = Instant::now();
    opened.lease.link.retire(Teardown::NeverLive).await;
    assert!(began.elapsed() < Duration::from_millis(1900), "{:?}", began.elapsed());
    assert!(server.processes().is_empty());
}

#[tokio::test]
async fn a_killed_server_is_noticed_at_once_and_its_helpers_end_with_it() {
    let server = Server::shell("sleep 1000 & exec $SERVER");
    let mut opened = open(&server).await.unwrap();
    until(Duration::from_secs(10), || server.processes().len() == 2).await;
    kill(opened.pid());
    let began = Instant::now();
    let LinkEvent::Lost(attempt, failure) = opened.event().await else { panic!() };
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(attempt, qwen_core::Attempt(7));
    assert_eq!(failure.kind, FailureKind::Exited);
    assert_eq!(failure.message, "the server was ended by signal 9 (SIGKILL)");
    assert_eq!(server.processes().len(), 1);
    opened.lease.link.retire(Teardown::Lost).await;
    assert!(server.processes().is_empty());
}

#[tokio::test]
async fn a_lease_that_is_dropped_ends_its_server() {
    let server = Server::shell(STUBBORN);
    let opened = open(&server).await.unwrap();
    drop(opened);
    server.is_gone_within(Duration::from_secs(10)).await;
}

#[test]
fn a_runtime_that_goes_away_takes_its_servers_with_it() {
    let server = Server::shell(STUBBORN);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let opened = runtime.block_on(open(&server)).unwrap();
    drop(runtime);
    let checker = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    checker.block_on(server.is_gone_within(Duration::from_secs(10)));
    drop(opened);
}

#[tokio::test]
async fn the_registry_knows_exactly_the_groups_that_live_and_can_kill_them() {
    let guard = qwen_core::Guard::without_process();
    let connector = connector_with(guard.clone());
    let servers = [Server::scripted("plain"), Server::shell(STUBBORN)];
    let mut open = Vec::new();
    for server in &servers {
        open.push(open_on(&connector, server, Default::default()).await.unwrap());
    }
    assert_eq!(guard.live_groups(), 2);
    open.remove(0).lease.link.retire(Teardown::Exit).await;
    assert_eq!(guard.live_groups(), 1);
    guard.kill_all_groups();
    servers[1].is_gone_within(Duration::from_secs(10)).await;
    assert!(matches!(open[0].event().await, LinkEvent::Lost(..)));
    open.remove(0).lease.link.retire(Teardown::Lost).await;
    assert_eq!(guard.live_groups(), 0);
}

#[tokio::test]
async fn connections_that_came_and_went_leave_no_task_descriptor_or_thread() {
    let connector = connector_with(qwen_core::Guard::without_process());
    let metrics = tokio::runtime::Handle::current().metrics();
    let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
    let server = Server::scripted("plain");
    let mut first = None;
    for round in 0..20 {
        let opened = open_on(&connector, &server, Default::default()).await.unwrap();
        match round % 3 {
            0 => opened.lease.link.retire(Teardown::Exit).await,
            1 => {
                kill(opened.pid());
                opened.lease.link.retire(Teardown::Lost).await;
            }
            _ => drop(opened),
        }
        server.is_gone_within(Duration::from_secs(10)).await;
        // A permit is given back by a task that lives a little longer than a short connection.
        until(Duration::from_secs(10), || metrics.num_alive_tasks() == 0).await;
        let now = (count("/proc/self/fd"), count("/proc/self/task"));
        let first = *first.get_or_insert(now);
        assert_eq!(now.0, first.0, "descriptors after {round} rounds");
        assert!(now.1 <= first.1 + 1, "threads after {round} rounds: {} {}", now.1, first.1);
    }
}
