//! Where there is no screen to draw on, the session runs as `qwen mcp watch` and says so.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::Stdio,
};

use qwen_tests::Sandbox;
use rustix::process::{Pid, Signal, kill_process};

use super::glass::Glass;

fn terminate(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a pid");
    kill_process(pid, Signal::TERM).expect("it runs");
}

#[test]
fn without_a_terminal_the_session_is_the_one_of_watch() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command::<&str>([]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let first = lines.next().expect("a line").expect("text");
    assert!(first.contains("session started"), "{first}");
    terminate(child.id());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    let mut said = String::new();
    child.stderr.take().expect("stderr").read_to_string(&mut said).expect("text");
    assert_eq!(
        said,
        "qwen: no interactive session here: stdin is not a terminal; going on as `qwen mcp watch`\n"
    );
}

#[test]
fn a_terminal_that_can_only_print_gets_lines() {
    let sandbox = Sandbox::new();
    let mut glass = Glass::with_size(&sandbox, &[], 80, 24, &[("TERM", "dumb")]);
    glass.shows("going on as `qwen mcp watch`");
    glass.shows("session started");
    assert!(!glass.raw().contains("\u{1b}["), "{}", glass.raw());
    terminate(glass.pid());
    assert_eq!(glass.ended(), 0);
}

#[test]
fn without_colour_no_colour_is_written() {
    let sandbox = Sandbox::new();
    let mut glass = Glass::with_size(&sandbox, &[], 80, 24, &[("NO_COLOR", "1")]);
    glass.shows("no servers");
    glass.enters("/help");
    glass.shows("Commands");
    glass.types("\u{1b}");
    glass.loses("Commands");
    glass.enters("/quit");
    assert_eq!(glass.ended(), 0);
    for colour in ["[31m", "[32m", "[33m", "[1m", "[2m", "[7m"] {
        assert!(!glass.raw().contains(colour), "{colour}");
    }
}
