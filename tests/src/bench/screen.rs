//! How soon is the interactive session on the screen, and how soon does it answer a key while servers connect? Seen from
//! the other end of its terminal.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{CONFIGURED_MS, Figure, Report, Unit, document, ms};
use crate::{sandbox::Sandbox, terminal::Terminal};

/// As many servers are configured.
const SIZE: usize = 50;
/// As many keys are pressed in one session; they fit into a line.
const KEYS: usize = 60;

/// From the start of the process to its first screen.
pub(super) fn first(report: &mut Report, runs: usize) {
    let sandbox = Sandbox::new();
    sandbox.write(&sandbox.user(), &document(&sandbox, SIZE, CONFIGURED_MS, None));
    let once = || {
        let start = Instant::now();
        let mut terminal = Terminal::start(&sandbox, &[]);
        let there = terminal.appeared_at("starting");
        end(&mut terminal);
        ms(there - start)
    };
    let times = (0..runs).map(|_| once()).collect();
    report.add(Figure::new("start to first screen", SIZE, Unit::Ms, times).at_most(Some(150.0)));
}

/// From a key to its echo, while all of them connect and one more says without end that its tools changed.
pub(super) fn keys(report: &mut Report, runs: usize) {
    let sandbox = Sandbox::new();
    let mut settings = document(&sandbox, SIZE, CONFIGURED_MS, None);
    let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    let flood = sandbox.fake("flood", &["--at", "ready", &format!("say-times 5000 {changed}")]);
    settings["mcpServers"]["flood"] = flood;
    sandbox.write(&sandbox.user(), &settings);
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..runs.min(5) {
        let mut terminal = Terminal::start(&sandbox, &[]);
        terminal.appeared_at("starting");
        let mut typed = String::new();
        for key in "0123456789".chars().cycle().take(KEYS) {
            typed.push(key);
            let pressed = Instant::now();
            terminal.types(&key.to_string());
            times.push(terminal.appeared_at(&typed) - pressed);
        }
        terminal.types("\u{15}");
        end(&mut terminal);
    }
    times.sort();
    // The bound of the product is on the time within the program, which a test of the command holds.
    for (what, part) in [("key to its echo, median", 50), ("key to its echo, 99 of 100", 99)] {
        let value = times.get(times.len() * part / 100).copied().unwrap_or_default();
        let what = format!("{what}, while all connect and one floods");
        report.add(Figure::new(&what, SIZE + 1, Unit::Ms, vec![ms(value)]));
    }
}

fn end(terminal: &mut Terminal) {
    terminal.types("\u{4}");
    terminal.ended();
}
