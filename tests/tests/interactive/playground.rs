//! The session of the first minutes, in the playground that `qwen demo` makes, inside tmux: approve, call, edit from
//! outside, read why a server was rejected, reconnect a failed one, quit. And what a terminal is left like.

use std::{
    fs,
    io::Write as _,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
    time::Duration,
};

use qwen_tests::{Sandbox, marked, replace, stated, wait_until};

use super::{
    glass::Glass,
    tmux::{Tmux, program_in},
};

/// Compares what is on the screen, from the last row that begins so, with what it was. Rows above that have scrolled in
/// while servers came up, as fast as the machine lets them.
fn compare(name: &str, screen: &str, from: &str) {
    let rows: Vec<&str> = screen.lines().collect();
    let first = rows.iter().rposition(|row| row.starts_with(from));
    let seen = rows[first.unwrap_or_else(|| panic!("no row begins with {from} on:\n{screen}"))..].join("\n");
    // Each as wide as what it stands for.
    let process = format!("process   {:66} │", "PID");
    let filters = vec![
        (r" for \d{2} s ", " for N s  "),
        (r" for \d s ", " for N s "),
        (r" for \d min ", " for N s   "),
        (r" \d{2} s ago", "  N s ago"),
        (r" \d s ago", " N s ago"),
        (r" \d min ago", "   N s ago"),
        (r"process   \d+ +│", &process),
    ];
    insta::with_settings!({ filters => filters }, { insta::assert_snapshot!(name, seen) });
}

/// Whether the screen is painted to its last row, and everything that happened is told for good.
fn is_quiet(screen: &str) -> bool {
    let mut rows = screen.lines();
    rows.clone().next_back().is_some_and(|row| row.starts_with("project  "))
        && !rows.any(|row| row.starts_with("» "))
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).expect("the playground has it");
    assert!(text.contains(from), "{from} in {text}");
    replace(path, &text.replace(from, to));
}

#[test]
fn the_first_minutes_in_the_playground() {
    let sandbox = Sandbox::new();
    let Some(tmux) = Tmux::start(&sandbox) else { return };
    // As long a path on every machine.
    let folder =
        tempfile::Builder::new().prefix("qwen-demo-").tempdir_in("/tmp").expect("a temporary folder");
    let (folder, qwen) = (folder.path(), program_in(folder.path()));
    let random = folder.display().to_string().replace("/tmp/qwen-demo-", "");
    let compare =
        |name: &str, screen: &str, from: &str| compare(name, &screen.replace(&random, "ABCDEF"), from);
    let (settings, mcp_json) = (folder.join("home/.qwen/settings.json"), folder.join("project/.mcp.json"));

    tmux.enters(&format!("{} demo {}", qwen.display(), folder.display()));
    let screen = tmux.waits("the question, and who is connected", |screen| {
        screen.contains("[ Not now ]")
            && screen.contains("2 connected · 1 needs approval")
            && is_quiet(screen)
    });
    compare("start", &screen, "╭");

    tmux.answers("Approve");
    let screen = tmux.waits("the approved server", |screen| {
        screen.contains("connected: notes") && screen.contains("3 connected") && is_quiet(screen)
    });
    compare("approved", &screen, "approved notes");

    tmux.enters("/call mcp__notes__echo {\"text\": \"hello 文字\"}");
    let screen = tmux.waits("the answer", |screen| screen.contains("\nhello 文字\n") && is_quiet(screen));
    compare("called", &screen, "> /call");

    edit(&settings, "\"--tools\", \"2\"", "\"--tools\", \"5\"");
    let screen = tmux.waits("the notice", |screen| screen.contains("clock (8 tools)") && is_quiet(screen));
    compare("edited", &screen, "reloaded:");

    // A server that is not there yet, and one that nobody wants.
    let late = folder.join("late");
    let entry = format!("\"late\": {{ \"command\": \"{}\", \"args\": [\"demo-server\"] }},", late.display());
    edit(&settings, "\"mcpServers\": {", &format!("\"mcpServers\": {{ {entry}"));
    let screen = tmux.waits("the changed status line", |screen| {
        screen.contains("3 connected · 1 failed") && is_quiet(screen)
    });
    compare("failed", &screen, "reloaded: +late");
    let entry = "\"evil\": { \"command\": \"rm\", \"args\": [\"-rf\", \"/\"] },";
    edit(&mcp_json, "\"notes\":", &format!("{entry} \"notes\":"));
    tmux.shows("wants to run the MCP server \"evil\"");
    tmux.answers("Reject");
    let screen =
        tmux.waits("the rejection", |screen| screen.contains("1 failed · 1 off") && is_quiet(screen));
    compare("rejected", &screen, "rejected evil");

    tmux.enters("/mcp");
    let screen = tmux.waits("the list", |screen| screen.contains("› ● clock") && is_quiet(screen));
    compare("list", &screen, "╭");
    tmux.presses(&["Down", "C-n", "C-n"]);
    tmux.shows("› ⊘ evil");
    tmux.presses(&["Enter"]);
    let screen = tmux.waits("the reason", |screen| screen.contains("⊘ rejected for") && is_quiet(screen));
    compare("reason", &screen, "╭");
    tmux.presses(&["Escape"]);
    tmux.shows("› ⊘ evil");
    tmux.presses(&["Up", "C-p"]);
    tmux.shows("› ✗ late");
    tmux.presses(&["Enter"]);
    let screen =
        tmux.waits("the failed server", |screen| screen.contains("[ Reconnect ]") && is_quiet(screen));
    compare("before_the_reconnect", &screen, "╭");

    symlink(&qwen, &late).expect("the server can be put there");
    tmux.presses(&["Enter"]);
    let screen = tmux.waits("the connected server", |screen| {
        screen.contains("● connected") && screen.contains("4 connected · 1 off") && is_quiet(screen)
    });
    compare("after_the_reconnect", &screen, "╭");
    tmux.presses(&["Escape"]);
    tmux.shows("› ● late");
    tmux.presses(&["Escape"]);
    tmux.waits("the line", |screen| !screen.contains("› ● late"));

    tmux.enters("/quit");
    let screen = tmux.waits("the shell", |screen| screen.ends_with("\n$"));
    compare("end", &screen, "> /quit");
    wait_until(stated(Duration::from_secs(3)), "an empty playground", || {
        marked(folder).is_empty().then_some(())
    });
}

#[test]
fn the_transcript_scrolls_away_like_any_output_and_a_resize_leaves_nothing_stale() {
    let sandbox = Sandbox::new();
    let mut glass = Glass::start(&sandbox, &[]);
    glass.shows("no servers");
    for round in 0..30 {
        glass.enters(&format!("/nothing{round}"));
        glass.shows(&format!("there is no /nothing{round}"));
    }
    glass.resize(50, 20);
    glass.types("x");
    glass.shows("> x");
    let screen = glass.painted();
    assert_eq!(screen.matches("no servers").count(), 1, "{screen}");
    glass.resize(120, 40);
    glass.types("y");
    glass.shows("> xy");
    let screen = glass.painted();
    assert_eq!(screen.matches("no servers").count(), 1, "{screen}");
    glass.types("\u{3}");
    glass.shows("press Ctrl-C again");
    glass.types("\u{3}");
    assert_eq!(glass.ended(), 0);
    glass.is_as_found();
    glass.shows("session ended");
    // Nobody was asked where the cursor is: terminals that do not answer hang nobody.
    assert!(!glass.raw().contains("\u{1b}[6n"));
}

#[test]
fn a_key_that_comes_together_with_another_size_is_not_lost() {
    let sandbox = Sandbox::new();
    let mut glass = Glass::start(&sandbox, &[]);
    glass.shows("no servers");
    for round in 1..=40 {
        glass.resize_and_type(if round % 2 == 0 { 80 } else { 100 }, 24, "x");
        glass.shows(&format!("> {}", "x".repeat(round)));
    }
}

#[test]
fn the_terminal_is_given_back_after_a_request_to_end_and_no_server_paints_over_it() {
    let sandbox = Sandbox::new();
    let noisy = sandbox.fake("noisy", &["--at", "start", "stderr \u{1b}[2Jhello"]);
    sandbox.user_servers(&serde_json::json!({ "noisy": noisy }));
    let mut glass = Glass::start(&sandbox, &["-vv"]);
    glass.shows("1 connected");
    assert!(!glass.raw().contains("\u{1b}[2J"));
    let pid = rustix::process::Pid::from_raw(i32::try_from(glass.pid()).expect("a pid")).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
    assert_eq!(glass.ended(), 0);
    glass.is_as_found();
    let log = sandbox.root().join("state/qwen/session.log");
    assert!(!fs::read_to_string(log).expect("the log is in the state folder").is_empty());
}

#[test]
fn a_panic_in_mid_session_gives_the_terminal_back_and_can_be_read() {
    let sandbox = Sandbox::new();
    let place = sandbox.root().join("end");
    let listener = UnixListener::bind(&place).expect("a socket");
    let variables = [("QWEN_TEST_END", place.to_str().expect("a text"))];
    let mut glass = Glass::with_size(&sandbox, &[], 80, 24, &variables);
    let (mut thread, _) = listener.accept().expect("the program connects");
    glass.shows("no servers");
    glass.enters("/mcp");
    glass.shows("╭ MCP servers");
    thread.write_all(b"panic").expect("the program reads");
    drop(thread);
    assert_eq!(glass.ended(), 101);
    glass.is_as_found();
    // From the first column, and nothing of the screen in between.
    glass.waits("the message", |screen| {
        screen.contains("\nthread ") && screen.contains("\nthe test asked for it") && !screen.contains('╭')
    });
}
