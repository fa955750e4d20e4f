//! How fast is the program with a fleet of servers, and what does it cost? Owns what is measured and in which order;
//! how a figure is shown, and which bound it has, is the report's to say.
//!
//! Everything that is compared is measured in turns, so that a busy moment of the machine hits both sides.

mod costs;
mod peers;
mod report;
mod screen;
mod session;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

pub use peers::Peer;
pub use report::{Figure, Report, Unit};

use crate::sandbox::Sandbox;
use session::Session;

/// What each server of a fleet offers.
const FLAGS: [&str; 6] = ["--tools", "5", "--prompts", "1", "--resources", "1"];
/// Servers in a fleet.
const SIZES: [usize; 3] = [1, 10, 50];

/// The debounce that is set unless a figure says otherwise, which is also the default.
const CONFIGURED_MS: u64 = 300;
/// A short one.
const SHORT_MS: u64 = 20;

/// What to measure, and how long.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How often each figure is taken.
    pub runs: usize,
    /// How long an idle session is watched.
    pub idle: Duration,
    /// Programs of others to measure in the same run.
    pub peers: Vec<Peer>,
    /// Where they are installed.
    pub peers_folder: PathBuf,
}

/// Measures everything.
///
/// # Panics
/// When something does not come to pass within the bound of every wait.
#[must_use]
pub fn bench(plan: &Plan) -> Report {
    let mut report = Report::default();
    for size in SIZES {
        let started = starts(size, plan.runs);
        let bound = (size == 50).then_some(200.0);
        report.add(Figure::new("start to live", size, Unit::Ms, started).at_most(bound));
    }
    for size in SIZES {
        edits(&mut report, size, plan.runs);
    }
    screen::first(&mut report, plan.runs);
    screen::keys(&mut report, plan.runs);
    costs::stderr_flood(&mut report, plan.runs);
    costs::plan_beside_version(&mut report, plan.runs);
    for size in SIZES {
        costs::memory(&mut report, size);
    }
    costs::idle(&mut report, plan.idle);
    for peer in &plan.peers {
        peers::measure(&mut report, *peer, &plan.peers_folder, plan.runs);
    }
    report
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn name(index: usize) -> String {
    format!("s{index:02}")
}

/// The settings of a fleet, where one server may carry a mark that makes its entry a new one.
fn document(sandbox: &Sandbox, size: usize, debounce_ms: u64, marked: Option<(usize, usize)>) -> Value {
    let servers: serde_json::Map<String, Value> = (0..size)
        .map(|index| {
            let mark = marked.filter(|(server, _)| *server == index).map(|(_, mark)| mark.to_string());
            let mut flags = FLAGS.to_vec();
            flags.extend(mark.iter().flat_map(|mark| ["--tag", mark]));
            (name(index), sandbox.fake(&name(index), &flags))
        })
        .collect();
    json!({ "mcp": { "reloadDebounceMs": debounce_ms }, "mcpServers": servers })
}

/// From the start of the process until every server is live.
fn starts(size: usize, runs: usize) -> Vec<f64> {
    let sandbox = Sandbox::new();
    sandbox.write(&sandbox.user(), &document(&sandbox, size, CONFIGURED_MS, None));
    let once = || {
        let start = Instant::now();
        let mut session = Session::start(&sandbox);
        let live = session.live(size);
        session.end();
        ms(live - start)
    };
    (0..runs).map(|_| once()).collect()
}

/// From the save of an edit of one server until that server is live again, and who else moved.
fn edits(report: &mut Report, size: usize, runs: usize) {
    let (mut beyond, mut short, mut own, mut others) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (debounce_ms, in_all) in [(CONFIGURED_MS, &mut beyond), (SHORT_MS, &mut short)] {
        let sandbox = Sandbox::new();
        sandbox.write(&sandbox.user(), &document(&sandbox, size, debounce_ms, None));
        let mut session = Session::start(&sandbox);
        session.live(size);
        for run in 0..runs {
            own.push(ms(session::own_start(&sandbox.fake(&name(0), &FLAGS))));
            let server = size / 2;
            let before = session.pids();
            let text = document(&sandbox, size, debounce_ms, Some((server, run))).to_string();
            let start = Instant::now();
            crate::replace(&sandbox.user(), &text);
            let live = session.restarted(&name(server), before.get(&name(server)).copied());
            in_all.push(ms(live - start));
            let moved =
                session.pids().into_iter().filter(|(name, pid)| before.get(name) != Some(pid)).count();
            others.push(moved.saturating_sub(1) as f64);
        }
        session.end();
    }
    let server = report::median(&own);
    let beyond = beyond.into_iter().map(|time| time - CONFIGURED_MS as f64 - server).collect();
    report.add(Figure::new("a server's own start", size, Unit::Ms, own));
    let bound = (size > 1).then_some(8.0);
    report.add(
        Figure::new(
            "edit to live, beyond the wait of 300 ms and the server's own start",
            size,
            Unit::Ms,
            beyond,
        )
        .at_most(bound),
    );
    report.add(Figure::new("edit to live in all, waiting 20 ms", size, Unit::Ms, short).at_most(Some(45.0)));
    report.add(
        Figure::new("others restarted by an edit, at worst", size, Unit::Count, worst(&others))
            .at_most(Some(0.0)),
    );
}

/// A median of counts would hide the one that matters.
fn worst(values: &[f64]) -> Vec<f64> {
    vec![values.iter().copied().fold(0.0, f64::max)]
}
