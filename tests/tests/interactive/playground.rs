//! The session of the first minutes, in the playground that `qwen demo` makes: approve, call, edit from outside, read
//! why a server was rejected, reconnect a failed one, quit.

use std::{fs, os::unix::fs::symlink, path::Path, time::Duration};

use qwen_tests::{Sandbox, program, replace, stated};

use super::glass::Glass;

/// The box on the screen; what stands around it depends on the time.
fn boxed(glass: &Glass) -> String {
    let screen = glass.screen();
    let rows = screen.lines().skip_while(|row| !row.starts_with('╭'));
    rows.take_while(|row| row.starts_with(['╭', '│', '╰'])).collect::<Vec<_>>().join("\n")
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).expect("the playground has it");
    assert!(text.contains(from), "{from} in {text}");
    replace(path, &text.replace(from, to));
}

#[test]
fn the_first_minutes_in_the_playground() {
    let sandbox = Sandbox::new();
    let folder = sandbox.root().join("demo");
    let mut glass = Glass::start(&sandbox, &["demo", folder.to_str().expect("a text")]);
    let (settings, mcp_json) = (folder.join("home/.qwen/settings.json"), folder.join("project/.mcp.json"));

    glass.shows("wants to run the MCP server \"notes\"");
    glass.shows("2 connected · 1 needs approval");
    glass.answers("Approve");
    glass.shows("approved notes");
    glass.shows("3 connected");

    glass.enters("/call mcp__notes__echo {\"text\": \"hello 文字\"}");
    glass.shows("\nhello 文字");

    edit(&settings, "\"--tools\", \"2\"", "\"--tools\", \"5\"");
    glass.shows("reloaded: ~clock, 2 kept");
    glass.shows("clock (8 tools)");

    // A server that is not there yet, and one that nobody wants.
    let late = folder.join("late");
    edit(
        &settings,
        "\"mcpServers\": {",
        &format!(
            "\"mcpServers\": {{ \"late\": {{ \"command\": \"{}\", \"args\": [\"demo-server\"] }},",
            late.display()
        ),
    );
    glass.shows("reloaded: +late, 3 kept");
    glass.shows("3 connected · 1 failed");
    edit(
        &mcp_json,
        "\"notes\":",
        "\"evil\": { \"command\": \"rm\", \"args\": [\"-rf\", \"/\"] }, \"notes\":",
    );
    glass.shows("wants to run the MCP server \"evil\"");
    glass.answers("Reject");
    glass.shows("3 connected · 1 failed · 1 off");

    glass.enters("/mcp");
    glass.shows("› ● clock");
    glass.waits("the outcome of everything", |screen| {
        screen.contains("✗ late") && screen.contains("⊘ evil") && screen.contains("slow")
    });
    glass.types("\u{1b}[B");
    glass.shows("› ✗ late");
    glass.types("\r");
    glass.shows("✗ failed");
    glass.shows("[ Reconnect ]");
    symlink(program("qwen-under-test"), &late).expect("the server can be put there");
    glass.types("\r");
    glass.shows("● connected");
    glass.types("\u{1b}");
    glass.shows("› ● late");
    glass.types("\u{e}\u{e}");
    glass.shows("› ⊘ evil");
    insta::assert_snapshot!("list_of_the_playground", boxed(&glass));
    glass.types("\r");
    glass.shows("⊘ rejected for");
    glass.shows("why       was rejected for this exact configuration");
    glass.shows("next      edit ");
    glass.types("\u{1b}");
    glass.shows("› ⊘ evil");
    glass.types("\u{1b}");
    glass.loses("› ⊘ evil");

    glass.enters("/quit");
    assert_eq!(glass.ended(), 0);
    glass.is_as_found();
    glass.shows("session ended");
    // Nobody was asked where the cursor is: terminals that do not answer hang nobody.
    assert!(!glass.raw().contains("\u{1b}[6n"));
    sandbox.wait_for_no_process(stated(Duration::from_secs(3)));
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
    let screen = glass.screen();
    assert_eq!(screen.matches("no servers").count(), 1, "{screen}");
    glass.resize(120, 40);
    glass.types("y");
    glass.shows("> xy");
    assert_eq!(glass.screen().matches("no servers").count(), 1, "{}", glass.screen());
    glass.types("\u{3}");
    glass.shows("press Ctrl-C again");
    glass.types("\u{3}");
    assert_eq!(glass.ended(), 0);
    glass.is_as_found();
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
