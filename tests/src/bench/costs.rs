//! What does the program cost beside time to live: memory, idle time of the processor, a server that floods, a command
//! that connects nothing?

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{CONFIGURED_MS, Figure, Report, Session, Unit, document, ms};
use crate::{
    processes::{children_of, usage},
    sandbox::Sandbox,
    wait::pause,
};

/// Start to live with 5 MiB on stderr before the answer, against a silent server.
pub(super) fn stderr_flood(report: &mut Report, runs: usize) {
    let sandboxes = ["stderr 0", "stderr-flood 5242880"].map(|first| {
        let sandbox = Sandbox::new();
        let server = sandbox.fake("s", &["--at", "start", first]);
        sandbox.user_servers(&json!({ "s": server }));
        sandbox
    });
    let mut ratios = Vec::new();
    for _ in 0..runs {
        let [silent, flooding] = sandboxes.each_ref().map(|sandbox| {
            let start = Instant::now();
            let mut session = Session::start(sandbox);
            let live = session.live(1);
            session.end();
            ms(live - start)
        });
        ratios.push(flooding / silent);
    }
    let what = "start to live with 5 MiB on stderr, against a silent server";
    report.add(Figure::new(what, 1, Unit::Times, ratios).at_most(Some(2.0)));
}

/// `mcp plan` of 50 entries beside `--version`, whole processes.
pub(super) fn plan_beside_version(report: &mut Report, runs: usize) {
    const SIZE: usize = 50;
    let sandbox = Sandbox::new();
    sandbox.write(&sandbox.user(), &document(&sandbox, SIZE, CONFIGURED_MS, None));
    let run = |args: &[&str]| {
        let mut command = sandbox.command_of_this_session(args);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let start = Instant::now();
        let status = command.status().expect("the program can be started");
        assert!(status.success(), "{args:?}");
        ms(start.elapsed())
    };
    let (mut version, mut plan) = (Vec::new(), Vec::new());
    for _ in 0..runs.max(20) {
        version.push(run(&["--version"]));
        plan.push(run(&["mcp", "plan"]));
    }
    let bound = 2.0 * super::report::median(&version) + 10.0;
    report.add(Figure::new("`qwen --version`, whole process", 0, Unit::Ms, version));
    report.add(Figure::new("`qwen mcp plan`, whole process", SIZE, Unit::Ms, plan).at_most(Some(bound)));
}

/// What the program and its guard hold once every server is live.
pub(super) fn memory(report: &mut Report, size: usize) {
    let sandbox = Sandbox::new();
    sandbox.write(&sandbox.user(), &document(&sandbox, size, CONFIGURED_MS, None));
    let mut session = Session::start(&sandbox);
    session.live(size);
    let resident: u64 =
        ours(&session).iter().filter_map(|pid| usage(*pid)).map(|usage| usage.resident_kib).sum();
    session.end();
    let figure = Figure::new("resident, with the guard", size, Unit::Mib, vec![resident as f64 / 1024.0]);
    report.add(figure.at_most(Some(25.0)));
}

/// What an idle session with 10 servers spends. The bound is for a minute.
pub(super) fn idle(report: &mut Report, time: Duration) {
    const SIZE: usize = 10;
    const BOUND_MS_PER_MINUTE: f64 = 30.0;
    let sandbox = Sandbox::new();
    sandbox.write(&sandbox.user(), &document(&sandbox, SIZE, CONFIGURED_MS, None));
    let mut session = Session::start(&sandbox);
    session.live(SIZE);
    let ours = ours(&session);
    let spent = || ours.iter().filter_map(|pid| usage(*pid)).map(|usage| usage.cpu_ms).sum::<u64>();
    // What belongs to the start is over after a moment.
    pause(Duration::from_secs(2));
    let before = spent();
    pause(time);
    let per_minute = (spent() - before) as f64 * 60.0 / time.as_secs_f64();
    session.end();
    let what = "processor time of an idle minute, with the guard";
    report.add(Figure::new(what, SIZE, Unit::Ms, vec![per_minute]).at_most(Some(BOUND_MS_PER_MINUTE)));
}

/// The program and its guard, which is the child that is no server.
fn ours(session: &Session) -> Vec<u32> {
    let servers: Vec<u64> = session.pids().into_values().collect();
    let guards = children_of(session.pid()).into_iter().map(|child| child.pid);
    let guards = guards.filter(|pid| !servers.contains(&u64::from(*pid)));
    std::iter::once(session.pid()).chain(guards).collect()
}
