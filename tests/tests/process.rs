//! Does every process end when it should, however the session ends, and does a failing one come back, or say why not?
#![expect(clippy::unwrap_used, reason = "a helper of a test fails it by panicking")]

use std::{
    fs,
    io::Write as _,
    os::unix::{net::UnixListener, process::ExitStatusExt as _},
    process::{Command, ExitStatus},
    time::Duration,
};

use qwen_tests::{BOUND, Sandbox, Terminal, Watch, alive, children_of, stated, usage, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// A shell that keeps the server as a background child; it would get `/dev/null` as its input without the detour.
const WAITING_SHELL: &str = "exec 3<&0; \"$0\" \"$@\" <&3 & wait";
/// Three shells, none of which `exec`s.
const THREE_SHELLS: &str =
    "sh -c 'sh -c '\\''\"$0\" \"$@\"; true'\\'' \"$0\" \"$@\"; true' \"$0\" \"$@\"; true";

/// Servers that are hard to end, each of its own kind.
fn hard_to_end(sandbox: &Sandbox) -> Value {
    let mut servers = json!({
        "waiting_shell": sandbox.fake_under_sh("waiting_shell", WAITING_SHELL, &[]),
        "three_shells": sandbox.fake_under_sh("three_shells", THREE_SHELLS, &[]),
        "stubborn": sandbox.fake("stubborn", &["--ignore-eof", "--ignore-term", "--at", "start", "spawn-sleeper"]),
        "left_behind": sandbox.fake("left_behind", &["--at", "ready", "spawn-sleeper"]),
        "hanging": sandbox.fake("hanging", &["--mute", "--ignore-eof", "--ignore-term"]),
    });
    if let Some(npx) = npx(sandbox) {
        servers["npx"] = npx;
    }
    servers
}

/// The same server behind `npx`, where there is one.
fn npx(sandbox: &Sandbox) -> Option<Value> {
    let found = std::env::split_paths(&std::env::var_os("PATH")?).any(|folder| folder.join("npx").exists());
    if !found {
        return None;
    }
    let package = sandbox.root().join("package");
    fs::create_dir_all(package.join("node_modules/.bin")).unwrap();
    fs::write(package.join("package.json"), "{}").unwrap();
    std::os::unix::fs::symlink(qwen_tests::program("fake-mcp"), package.join("node_modules/.bin/fake-mcp"))
        .unwrap();
    let mut entry = sandbox.fake("npx", &[]);
    entry["args"].as_array_mut().unwrap().insert(0, json!("fake-mcp"));
    entry["command"] = json!("npx");
    entry["cwd"] = json!(package);
    Some(entry)
}

/// A session in which all of them run.
fn session_of_stubborn_servers(sandbox: &Sandbox, flags: &[&str]) -> Watch {
    let mut command = sandbox.command(["mcp", "watch", "--json"]);
    command.args(flags);
    with_stubborn_servers(command, sandbox)
}

fn with_stubborn_servers(command: Command, sandbox: &Sandbox) -> Watch {
    let servers = hard_to_end(sandbox);
    sandbox.user_servers(&servers);
    let watch = Watch::start(command, sandbox);
    for name in servers.as_object().unwrap().keys().filter(|name| *name != "hanging") {
        watch.state(name, "connected");
    }
    wait_until(BOUND, "the hanging one", || (sandbox.logged("hanging", "request").len() == 1).then_some(()));
    watch
}

fn nothing_is_left(sandbox: &Sandbox) {
    sandbox.wait_for_no_process(stated(Duration::from_secs(3)));
}

#[test]
fn nothing_is_left_after_servers_are_removed() {
    let sandbox = Sandbox::new();
    let watch = session_of_stubborn_servers(&sandbox, &[]);
    sandbox.user_servers(&json!({}));
    wait_until(stated(Duration::from_secs(3)), "every server to be gone", || {
        sandbox.processes().iter().all(|process| !process.command.contains("--name")).then_some(())
    });
    wait_until(BOUND, "no zombie", || {
        children_of(watch.pid()).iter().all(|child| child.state != 'Z').then_some(())
    });
    watch.finish();
    nothing_is_left(&sandbox);
}

#[test]
fn nothing_of_the_old_is_left_after_servers_are_edited() {
    let sandbox = Sandbox::new();
    let watch = session_of_stubborn_servers(&sandbox, &[]);
    let mut servers = hard_to_end_again(&sandbox);
    let old: Vec<u32> = sandbox
        .processes()
        .iter()
        .filter(|process| process.command.contains("--name"))
        .map(|process| process.pid)
        .collect();
    sandbox.user_servers(&servers);
    wait_until(stated(Duration::from_secs(3)), "the old ones to be gone", || {
        old.iter().all(|pid| !alive(*pid)).then_some(())
    });
    servers.as_object_mut().unwrap().remove("hanging");
    for name in servers.as_object().unwrap().keys() {
        wait_until(BOUND, &format!("{name} again"), || (sandbox.spawns(name) == 2).then_some(()));
        watch.state(name, "connected");
    }
    watch.finish();
    nothing_is_left(&sandbox);
}

fn hard_to_end_again(sandbox: &Sandbox) -> Value {
    let mut servers = json!({});
    let text = fs::read_to_string(sandbox.user()).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    for (name, entry) in document["mcpServers"].as_object().unwrap() {
        let mut entry = entry.clone();
        entry["args"].as_array_mut().unwrap().extend([json!("--tag"), json!("edited")]);
        servers[name] = entry;
    }
    servers
}

#[test]
fn nothing_is_left_after_a_termination_signal_and_the_session_says_so() {
    let sandbox = Sandbox::new();
    let mut watch = session_of_stubborn_servers(&sandbox, &[]);
    watch.signal(Signal::TERM);
    assert_eq!(watch.ended().code(), Some(0));
    assert_eq!(watch.events().last().unwrap()["reason"], "terminate");
    nothing_is_left(&sandbox);
}

#[test]
fn nothing_is_left_after_an_interrupt_and_the_session_says_so() {
    let sandbox = Sandbox::new();
    let mut watch = session_of_stubborn_servers(&sandbox, &[]);
    watch.signal(Signal::INT);
    assert_eq!(watch.ended().code(), Some(0));
    assert_eq!(watch.events().last().unwrap()["reason"], "interrupt");
    nothing_is_left(&sandbox);
}

#[test]
fn a_second_interrupt_ends_everything_at_once() {
    let sandbox = Sandbox::new();
    let mut watch = session_of_stubborn_servers(&sandbox, &[]);
    watch.signal(Signal::INT);
    watch.signal(Signal::INT);
    wait_until(stated(Duration::from_secs(1)), "both signals to be acted on", || {
        watch.signal(Signal::INT);
        (!alive(watch.pid())).then_some(())
    });
    watch.ended();
    nothing_is_left(&sandbox);
}

#[test]
fn nothing_is_left_after_its_input_is_closed_and_the_session_says_so() {
    let sandbox = Sandbox::new();
    let mut watch = session_of_stubborn_servers(&sandbox, &["--stdin-close"]);
    watch.close_stdin();
    assert_eq!(watch.ended().code(), Some(0));
    assert_eq!(watch.events().last().unwrap()["reason"], "stdin-closed");
    nothing_is_left(&sandbox);
}

#[test]
fn nothing_is_left_after_the_terminal_of_the_session_goes_away() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&hard_to_end(&sandbox));
    let mut terminal = Terminal::start(&sandbox, &["mcp", "watch"]);
    wait_until(BOUND, "the servers", || {
        ["stubborn", "waiting_shell", "hanging"].iter().all(|name| sandbox.spawns(name) > 0).then_some(())
    });
    terminal.shows("connected");
    terminal.hang_up();
    terminal.ended();
    nothing_is_left(&sandbox);
}

#[test]
fn nothing_is_left_after_an_abort() {
    let sandbox = Sandbox::new();
    let mut watch = session_of_stubborn_servers(&sandbox, &[]);
    watch.signal(Signal::ABORT);
    assert_eq!(watch.ended().signal(), Some(Signal::ABORT.as_raw()));
    nothing_is_left(&sandbox);
}

/// Has a thread of the session that the session knows nothing of end it by a panic or an abort.
fn ended_from_within(sandbox: &Sandbox, how: &str) -> ExitStatus {
    let place = sandbox.root().join("end");
    let listener = UnixListener::bind(&place).unwrap();
    let mut command = sandbox.command(["mcp", "watch", "--json"]);
    command.env("QWEN_TEST_END", &place);
    let mut watch = with_stubborn_servers(command, sandbox);
    let (mut thread, _) = listener.accept().unwrap();
    thread.write_all(how.as_bytes()).unwrap();
    drop(thread);
    watch.ended()
}

#[test]
fn nothing_is_left_after_a_panic_on_any_thread_and_the_exit_code_tells_it() {
    let sandbox = Sandbox::new();
    assert_eq!(ended_from_within(&sandbox, "panic").code(), Some(101));
    nothing_is_left(&sandbox);
}

#[test]
fn nothing_is_left_after_the_program_aborts_itself() {
    let sandbox = Sandbox::new();
    assert_eq!(ended_from_within(&sandbox, "abort").signal(), Some(Signal::ABORT.as_raw()));
    nothing_is_left(&sandbox);
}

#[test]
fn nothing_is_left_after_the_session_is_killed() {
    let sandbox = Sandbox::new();
    let mut watch = session_of_stubborn_servers(&sandbox, &[]);
    watch.signal(Signal::KILL);
    assert_eq!(watch.ended().signal(), Some(Signal::KILL.as_raw()));
    nothing_is_left(&sandbox);
}

#[test]
fn nothing_is_left_after_the_whole_process_group_of_the_session_is_killed() {
    let sandbox = Sandbox::new();
    let mut watch = session_of_stubborn_servers(&sandbox, &[]);
    watch.signal_group(Signal::KILL);
    assert_eq!(watch.ended().signal(), Some(Signal::KILL.as_raw()));
    nothing_is_left(&sandbox);
}

#[test]
fn nothing_is_left_after_a_one_shot_list_or_its_end_by_a_signal() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&hard_to_end(&sandbox));
    sandbox.run(["mcp", "list", "--json", "--timeout", "2000"]).ended_with(0);
    nothing_is_left(&sandbox);

    let mut list = Watch::start(sandbox.command(["mcp", "list"]), &sandbox);
    wait_until(BOUND, "the hanging one", || (sandbox.logged("hanging", "request").len() == 2).then_some(()));
    list.signal(Signal::INT);
    assert_eq!(list.ended().code(), Some(130));
    nothing_is_left(&sandbox);
}

/// How many tasks the session's runtime has, which it says to its log each time it was told to read everything again.
fn tasks_of(watch: &Watch) -> usize {
    let said = |stderr: &str| {
        let (_, after) = stderr.rsplit_once("everything was read again tasks=")?;
        after.split_once(|other: char| !other.is_ascii_digit())?.0.parse().ok()
    };
    let before = watch.stderr().len();
    watch.signal(Signal::HUP);
    wait_until(BOUND, "the number of tasks", || said(&watch.stderr()[before..]))
}

#[test]
fn after_three_hundred_reloads_the_session_holds_no_more_than_after_ten() {
    let sandbox = Sandbox::new();
    let document = |n: usize| {
        json!({
            "mcp": { "reloadDebounceMs": 0 },
            "mcpServers": {
                "kept": sandbox.fake("kept", &[]),
                "moved": sandbox.fake("moved", &["--tag", &n.to_string()]),
                "mute": sandbox.fake("mute", &["--mute", "--tag", &(n / 10).to_string()]),
            },
        })
    };
    sandbox.write(&sandbox.user(), &document(0));
    let mut command = sandbox.command(["mcp", "watch", "--json"]);
    command.env("QWEN_LOG", "qwen_cli=debug");
    let watch = Watch::start(command, &sandbox);
    watch.state("kept", "connected");
    watch.state("moved", "connected");
    let reload = |n: usize| {
        let mark = watch.mark();
        sandbox.write(&sandbox.user(), &document(n));
        watch.state_after(mark, "moved", "connected");
    };
    (1..=10).for_each(reload);
    wait_until(BOUND, "three servers and the guard", || (children_of(watch.pid()).len() <= 4).then_some(()));
    let early = usage(watch.pid()).unwrap();
    let children = children_of(watch.pid()).len();
    let tasks = tasks_of(&watch);
    (11..=300).for_each(reload);
    let mut late = usage(watch.pid()).unwrap();
    wait_until(BOUND, "the session to be as small as before", || {
        late = usage(watch.pid()).unwrap();
        let same = late.descriptors <= early.descriptors
            && late.threads <= early.threads
            && children_of(watch.pid()).len() <= children
            && tasks_of(&watch) <= tasks;
        same.then_some(())
    });
    assert!(late.resident_kib <= early.resident_kib + 5 * 1024, "{early:?} then {late:?}");
    assert_eq!(sandbox.spawns("kept"), 1);
    watch.finish();
    nothing_is_left(&sandbox);
    assert_eq!(fs::read_dir(sandbox.temp()).unwrap().count(), 0);
}

#[test]
fn a_killed_server_comes_back_by_itself() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({ "a": sandbox.fake("a", &[]), "b": sandbox.fake("b", &[]) }));
    let watch = sandbox.watch();
    watch.ready();
    let (a, b) = (watch.pid_of("a"), watch.pid_of("b"));
    let mark = watch.mark();
    kill_process(Pid::from_raw(a.try_into().unwrap()).unwrap(), Signal::KILL).unwrap();
    let back = watch.after_within(stated(Duration::from_secs(2)), mark, "mcp-client-update", |event| {
        event["server"] == "a" && event["state"] == "connected"
    });
    assert_ne!(back["pid"], json!(a));
    let lost = watch.after(mark, "mcp-client-update", |event| event["server"] == "a");
    let said = lost.to_string();
    assert!(said.contains("SIGKILL") || said.contains("signal 9"), "{said}");
    assert_eq!(watch.pid_of("b"), b);
}

#[test]
fn a_server_that_always_ends_right_after_its_handshake_is_parked_with_a_way_out_and_an_edit_revives_it() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({ "a": sandbox.fake("a", &["--at", "listed", "exit 0"]) }));
    let watch = sandbox.watch();
    let parked = watch.wait_within(Duration::from_secs(90), "the crash loop to be named", |events| {
        let newest = events.iter().rev().find(|event| event["server"] == "a")?;
        newest.to_string().contains("crash loop").then(|| newest.clone())
    });
    assert_eq!(parked["state"], "failed", "{parked}");
    assert_eq!(sandbox.spawns("a"), 5);
    assert!(parked.to_string().contains("edit") || parked.to_string().contains("reconnect"), "{parked}");
    let mark = watch.mark();
    sandbox.user_servers(&json!({ "a": sandbox.fake("a", &[]) }));
    watch.after_within(stated(Duration::from_secs(2)), mark, "mcp-client-update", |event| {
        event["server"] == "a" && event["state"] == "connected"
    });
}

#[test]
fn a_server_that_ends_as_soon_as_it_answered_the_handshake_is_parked_too_and_never_said_not_to_have_answered()
{
    let sandbox = Sandbox::new();
    let names = ["a", "b", "c", "d"];
    let servers = names.map(|name| (name.to_owned(), sandbox.fake(name, &["--at", "ready", "exit 4"])));
    sandbox.user_servers(&Value::Object(servers.into_iter().collect()));
    let watch = sandbox.watch();
    for name in names {
        watch.wait_within(Duration::from_secs(90), "the crash loop to be named", |events| {
            let newest = events.iter().rev().find(|event| event["server"] == name)?;
            let said = newest["cause"].as_str().unwrap_or_default();
            assert!(!said.contains("before it answered"), "{newest}");
            said.contains("crash loop").then_some(())
        });
        assert_eq!(sandbox.spawns(name), 5);
    }
}

#[test]
fn a_server_that_answers_late_once_is_retried_without_anybody_doing_anything() {
    let sandbox = Sandbox::new();
    let once = sandbox.root().join("once");
    let mut entry = sandbox.fake("a", &["--init-delay-ms", "20000", "--faults-once", once.to_str().unwrap()]);
    entry["discoveryTimeoutMs"] = json!(700);
    sandbox.user_servers(&json!({ "a": entry }));
    let watch = sandbox.watch();
    let failed = watch.state("a", "failed");
    assert!(failed.to_string().contains("no answer to initialize after 700 ms"), "{failed}");
    watch.state("a", "connected");
    assert_eq!(sandbox.spawns("a"), 2);
}

#[test]
fn a_flood_on_stderr_without_a_newline_does_not_delay_the_handshake() {
    let sandbox = Sandbox::new();
    let flood = "stderr-flood 5242880";
    sandbox.user_servers(&json!({
        "before": sandbox.fake("before", &["--at", "start", flood]),
        "during": sandbox.fake("during", &["--at", "initialize", flood]),
        "after": sandbox.fake("after", &["--at", "ready", flood, "--at", "listed", flood]),
        "silent": sandbox.fake("silent", &[]),
    }));
    let watch = sandbox.watch();
    for name in ["before", "during", "after", "silent"] {
        watch.state(name, "connected");
    }
    assert!(usage(watch.pid()).unwrap().resident_kib < 200 * 1024);
}

#[test]
fn what_a_child_sees_of_the_environment_depends_on_who_wrote_its_entry() {
    let sandbox = Sandbox::new();
    let dump = |name: &str| sandbox.fake(name, &["--dump-env"]);
    let (mut narrow, mut explicit) = (dump("narrow"), dump("explicit"));
    narrow["inheritEnv"] = json!(false);
    explicit["env"] = json!({ "GIVEN": "${OPENAI_API_KEY}", "QWEN_SERVER_TOKEN": "mine" });
    sandbox.user_servers(&json!({ "mine": dump("mine"), "narrow": narrow, "explicit": explicit }));
    sandbox.project_servers(&json!({ "gated": dump("gated") }));
    let mut command = sandbox.command(["--approve-mcp", "gated", "mcp", "watch", "--json"]);
    let secrets =
        ["OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "QWEN_SERVER_TOKEN", "QWEN_DAEMON_TOKEN"];
    command.envs(secrets.map(|name| (name, format!("value-of-{name}"))));
    command.env("https_proxy", "http://127.0.0.1:9").env("LC_ALL", "C.UTF-8").env("NPM_CONFIG_REGISTRY", "x");
    let watch = Watch::start(command, &sandbox);
    let env = |name: &str| {
        watch.state(name, "connected");
        sandbox.logged(name, "spawn")[0]["env"].clone()
    };
    let has = |env: &Value, names: &[&str]| -> Vec<bool> {
        names.iter().map(|name| env.get(*name).is_some()).collect()
    };
    assert_eq!(has(&env("gated"), &secrets), [false; 5]);
    assert_eq!(has(&env("narrow"), &secrets), [false; 5]);
    assert_eq!(has(&env("mine"), &secrets), [false, true, true, false, false]);
    let explicit = env("explicit");
    assert_eq!(explicit["GIVEN"], "value-of-OPENAI_API_KEY");
    assert_eq!(explicit["QWEN_SERVER_TOKEN"], "mine");
    for name in ["gated", "narrow", "mine"] {
        let needed = ["PATH", "HOME", "LANG", "LC_ALL", "https_proxy", "TMPDIR"];
        assert_eq!(has(&env(name), &needed), [true; 6], "{name}");
        assert_eq!(env(name)["QWEN_MCP_DEPTH"], "1", "{name}");
        assert_eq!(sandbox.logged(name, "spawn")[0]["cwd"], json!(sandbox.project()), "{name}");
    }
}

#[test]
fn a_session_inside_a_server_of_the_same_project_ends_with_2() {
    let sandbox = Sandbox::new();
    let answer = sandbox.root().join("code");
    let script = format!(
        "\"${{QWEN_EXE}}\" mcp watch --json </dev/null; echo $? > {}; cat >/dev/null",
        answer.display()
    );
    sandbox.user_servers(&json!({ "nested": { "command": "sh", "args": ["-c", script] } }));
    let watch = sandbox.watch();
    let code = wait_until(BOUND, "the inner session to end", || {
        fs::read_to_string(&answer).ok().filter(|text| !text.is_empty())
    });
    assert_eq!(code.trim(), "2", "{}", watch.stderr());
}

#[test]
fn a_hangup_without_a_terminal_reloads_and_is_answered_once() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({ "a": sandbox.fake("a", &[]) }));
    let mut watch = sandbox.watch();
    watch.ready();
    let mark = watch.mark();
    watch.signal(Signal::HUP);
    let answer = watch.after(mark, "settings-change", |_| true);
    assert_eq!(answer["changes"], json!([]));
    assert_eq!(watch.nothing_more_since(mark).len(), 1);
    assert_eq!(sandbox.spawns("a"), 1);
}

#[test]
fn ten_idle_servers_cost_next_to_nothing() {
    let sandbox = Sandbox::new();
    let servers: serde_json::Map<String, Value> =
        (0..10).map(|n| (format!("s{n}"), sandbox.fake(&format!("s{n}"), &[]))).collect();
    sandbox.user_servers(&json!(servers));
    let watch = sandbox.watch();
    watch.ready();
    let cost = || {
        let guard: u64 = children_of(watch.pid())
            .iter()
            .filter(|child| !child.command.contains("--name"))
            .filter_map(|child| usage(child.pid))
            .map(|usage| usage.cpu_ms)
            .sum();
        usage(watch.pid()).unwrap().cpu_ms + guard
    };
    let before = cost();
    qwen_tests::pause(Duration::from_secs(10));
    assert!(cost() - before <= 30, "{} ms", cost() - before);
}
