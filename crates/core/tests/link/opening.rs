//! What becomes of an open: live, or a failure that says why, with nothing left behind.

use std::time::{Duration, Instant};

use qwen_core::{FailureKind, Listing, Teardown};
use tokio_util::sync::CancellationToken;

use crate::harness::{Server, connector, open, open_on, until};

/// Long enough for a server that answers on a busy machine.
const LIMIT: Duration = Duration::from_millis(3000);
const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_server_connects_lists_and_leaves_nothing_behind() {
    let server = Server::scripted("plain");
    let opened = open(&server).await.unwrap();
    assert_eq!(opened.tools(), ["echo", "list-1"]);
    let inventory = &opened.lease.inventory;
    assert_eq!(inventory.prompts.items().len(), 1);
    assert_eq!(inventory.resources, Listing::NotOffered);
    assert_eq!(inventory.instructions.as_deref(), Some("use it"));
    assert_eq!(server.processes(), [opened.pid()]);
    opened.lease.link.retire(Teardown::Exit).await;
    assert!(server.processes().is_empty());
    assert_eq!(server.told()[..2], ["initialize", "notifications/initialized"]);
}

#[tokio::test]
async fn noise_and_odd_messages_before_the_answer_do_not_matter() {
    let server = Server::scripted("noisy");
    let opened = open(&server).await.unwrap();
    assert_eq!(opened.tools(), ["echo", "list-1"]);
    until(SOON, || server.told().iter().any(|line| line.starts_with("answer") && line.contains("ping-1")))
        .await;
}

#[tokio::test]
async fn a_flood_on_stderr_before_the_answer_does_not_block_it() {
    let began = Instant::now();
    let server = Server::scripted("stderr-flood");
    let opened = open(&server).await.unwrap();
    assert!(began.elapsed() < SOON);
    assert_eq!(opened.tools().len(), 2);
}

#[tokio::test]
async fn an_exit_before_the_answer_is_told_with_its_code_and_its_last_words_masked() {
    let mut server = Server::scripted("dies-at-once").with("FOO_SECRET", "hunter2hunter2");
    server.masks.push("hunter2hunter2".to_owned());
    let failure = open(&server).await.err().unwrap();
    assert_eq!(failure.kind, FailureKind::Exited);
    let words = "the server exited with code 3 before it answered initialize; what it wrote to stdout is no MCP \
                 message and begins with \"running 1 test\"";
    assert_eq!(failure.message, words);
    let tail = failure.stderr_tail.unwrap();
    assert!(tail.contains("FOO_TOKEN missing, got •••"), "{tail}");
    assert!(server.processes().is_empty());
}

#[tokio::test]
async fn what_stands_on_stdout_in_place_of_messages_is_quoted_in_one_line_without_secrets() {
    let cases = [
        (
            r"printf '\033[1mUsage: srv\t%s\nmore\n' $FOO_SECRET; exit 2",
            FailureKind::Exited,
            "Usage: srv •••",
        ),
        ("printf no-line-end; exit 0", FailureKind::Exited, "no-line-end"),
        ("echo Listening; exec sleep 1000", FailureKind::HandshakeTimeout, "Listening"),
        (
            "echo '{\"level\":\"info\"}'; exec 1>&-; exec sleep 1000",
            FailureKind::StreamClosed,
            "{\"level\":\"info\"}",
        ),
    ];
    for (script, kind, line) in cases {
        let mut server = Server::shell(script).with("FOO_SECRET", "hunter2hunter2").within(LIMIT);
        server.masks.push("hunter2hunter2".to_owned());
        let failure = open(&server).await.err().unwrap();
        assert_eq!(failure.kind, kind, "{script}: {failure}");
        let words = format!("; what it wrote to stdout is no MCP message and begins with \"{line}\"");
        assert!(failure.message.ends_with(&words), "{script}: {failure}");
    }
    let failure = open(&Server::scripted("dies-after")).await.err().unwrap();
    assert!(!failure.message.contains("stdout"), "{failure}");
}

#[tokio::test]
async fn each_way_to_fail_has_its_kind_its_words_and_leaves_nothing() {
    let cases = [
        ("signals-itself", FailureKind::Exited, "was ended by signal 9 (SIGKILL)"),
        ("dies-after", FailureKind::EndedEarly, "exited with code 4 after its handshake"),
        ("huge-line", FailureKind::StreamClosed, "more than 16 MiB without a line end"),
        ("silent", FailureKind::HandshakeTimeout, "no answer to initialize after 3000 ms"),
        ("tools-hang", FailureKind::Listing, "no answer to tools/list within 3000 ms"),
        ("knows-nothing", FailureKind::InvalidHandshake, "neither initialize nor server/discover"),
        ("knows-nothing,silent", FailureKind::HandshakeTimeout, "no answer to initialize"),
    ];
    for (mode, kind, words) in cases {
        let server = Server::scripted(mode).within(LIMIT);
        let failure = open(&server).await.err().unwrap();
        assert_eq!(failure.kind, kind, "{mode}: {failure}");
        assert!(failure.message.contains(words), "{mode}: {failure}");
        assert!(server.processes().is_empty(), "{mode}");
        assert_eq!(server.times("notifications/cancelled 0"), 0, "initialize must not be cancelled");
    }
}

#[tokio::test]
async fn a_version_that_we_do_not_speak_is_refused_and_an_old_one_is_not() {
    for (version, works) in [("2024-11-05", true), ("2025-11-25", true), ("2099-01-01", false)] {
        let server = Server::scripted("plain").with("SERVER_VERSION", version);
        match open(&server).await {
            Ok(_) => assert!(works, "{version}"),
            Err(failure) => {
                assert!(!works, "{version}: {failure}");
                assert!(failure.message.contains("2099-01-01") && failure.message.contains("2025-11-25"));
            }
        }
    }
}

#[tokio::test]
async fn a_server_of_the_newer_era_is_asked_in_its_way_unless_the_entry_forbids_it() {
    let mut server = Server::scripted("modern");
    let opened = open(&server).await.unwrap();
    assert_eq!(opened.tools(), ["echo", "list-1"]);
    assert_eq!(server.told(), ["initialize", "server/discover", "tools/list"]);
    drop(opened);
    server.negotiation = qwen_core::VersionNegotiation::Legacy;
    assert_eq!(open(&server).await.err().unwrap().kind, FailureKind::InvalidHandshake);
}

#[tokio::test]
async fn a_server_that_answers_or_refuses_initialize_with_the_newer_era_is_talked_to_in_it() {
    for how in ["answers-newer", "answers-newer,refuses"] {
        let mut server = Server::scripted(how).with("SERVER_VERSION", "2026-07-28");
        let opened = open(&server).await.unwrap();
        assert_eq!(server.told(), ["initialize", "server/discover", "tools/list"]);
        drop(opened);
        server.negotiation = qwen_core::VersionNegotiation::Legacy;
        let failure = open(&server).await.err().unwrap();
        assert!(failure.message.contains("the server speaks 2026-07-28, we speak 2024-11-05"), "{failure}");
    }
}

#[tokio::test]
async fn a_list_that_fails_is_not_an_empty_list_and_costs_no_other() {
    let server = Server::scripted("prompts-hang,resources-fail").within(LIMIT);
    let opened = open(&server).await.unwrap();
    let inventory = &opened.lease.inventory;
    assert_eq!(opened.tools().len(), 2);
    assert_eq!(inventory.prompts, Listing::Failed("no answer to prompts/list in time".to_owned()));
    assert_eq!(inventory.resources, Listing::Failed("resources/list: error -32000: no disk".to_owned()));

    let opened = open(&Server::scripted("tools-null")).await.unwrap();
    assert_eq!(opened.lease.inventory.tools, Listing::Listed(Vec::new()));
}

#[tokio::test]
async fn a_server_that_answers_one_request_at_a_time_is_live_with_its_tools_whatever_its_other_lists_do() {
    let server = Server::scripted("prompts-block").within(LIMIT);
    let opened = open(&server).await.unwrap();
    assert_eq!(opened.tools(), ["echo", "list-1"]);
    let late = |method| Listing::Failed(format!("no answer to {method} in time"));
    assert_eq!(opened.lease.inventory.prompts, late("prompts/list"));
    assert!(matches!(opened.lease.inventory.resources, Listing::Failed(_)));
}

#[tokio::test]
async fn why_a_list_is_missing_is_told_in_one_line_without_secrets() {
    let telling = |mode| {
        let mut server = Server::scripted(mode);
        server.masks.push("hunter2hunter2".to_owned());
        server
    };
    let opened = open(&telling("tools-refused")).await.unwrap();
    let Listing::Failed(why) = &opened.lease.inventory.tools else { panic!() };
    assert!(why.starts_with("tools/list: error -32000: not with ••• xxx"), "{why}");
    assert!(why.chars().count() < 250, "{}", why.len());
    let opened = open(&telling("tools-telling")).await.unwrap();
    let warnings = &opened.lease.inventory.warnings;
    assert!(warnings[0].contains("skipped: ••• has a schema"), "{warnings:?}");
}

#[tokio::test]
async fn odd_lists_end_and_say_so() {
    let opened = open(&Server::scripted("bad-tool")).await.unwrap();
    assert_eq!(opened.tools(), ["good"]);
    assert_eq!(
        opened.lease.inventory.warnings,
        ["1 of 2 tools skipped: bad has a schema of type \"string\" instead of \"object\""]
    );
    let server = Server::scripted("endless");
    let opened = open(&server).await.unwrap();
    assert_eq!(opened.tools(), ["a"]);
    assert_eq!(server.times("tools/list"), 2);
    assert!(opened.lease.inventory.warnings[0].contains("repeats a page"));
}

#[tokio::test]
async fn an_attempt_that_is_given_up_ends_at_once_with_its_processes() {
    let server = Server::shell("exec 3<&0; $SERVER <&3 & exec sleep 1000").with("SERVER_MODE", "silent");
    let cancel = CancellationToken::new();
    let connector = connector();
    let opening = open_on(&connector, &server, cancel.clone());
    let giving_up = async {
        until(SOON, || server.processes().len() == 2).await;
        cancel.cancel();
        Instant::now()
    };
    let (outcome, cancelled) = tokio::join!(opening, giving_up);
    assert_eq!(outcome.err().unwrap().kind, FailureKind::Aborted);
    assert!(cancelled.elapsed() < Duration::from_secs(2));
    assert!(server.processes().is_empty());
}

#[tokio::test]
async fn servers_that_hang_never_hold_the_others() {
    let connector = connector();
    let hanging: Vec<Server> =
        (0..20).map(|_| Server::command("sleep", &["1000"]).within(Duration::from_secs(60))).collect();
    let cancel = CancellationToken::new();
    let good = Server::scripted("plain");
    let hang =
        futures::future::join_all(hanging.iter().map(|server| open_on(&connector, server, cancel.clone())));
    let connect = async {
        let began = Instant::now();
        let opened = open_on(&connector, &good, CancellationToken::new()).await.unwrap();
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
        cancel.cancel();
        opened
    };
    let (outcomes, _) = tokio::join!(hang, connect);
    assert!(outcomes.iter().all(Result::is_err));
    assert!(hanging.iter().all(|server| server.processes().is_empty()));
}

#[tokio::test]
async fn of_many_servers_sixteen_are_started_at_a_time() {
    let connector = connector();
    let hanging =
        || Server::shell("echo runs > $SERVER_LOG; exec sleep 1000").within(Duration::from_secs(60));
    let servers: Vec<Server> = (0..17).map(|_| hanging()).collect();
    let cancel = CancellationToken::new();
    let began = Instant::now();
    let open =
        futures::future::join_all(servers.iter().map(|server| open_on(&connector, server, cancel.clone())));
    let watch = async {
        until(SOON, || servers.iter().all(|server| server.times("runs") == 1)).await;
        // The last one waits until one of the others has had its time.
        assert!(began.elapsed() >= Duration::from_millis(250), "{:?}", began.elapsed());
        cancel.cancel();
    };
    futures::future::join(open, watch).await;
}

#[tokio::test]
async fn a_command_that_is_not_there_fails_at_once() {
    let failure = open(&Server::command("no-such-command", &[])).await.err().unwrap();
    assert_eq!(failure.kind, FailureKind::CommandNotFound);
    assert!(!failure.kind.is_retried());
}
