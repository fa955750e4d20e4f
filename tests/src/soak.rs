//! Does the session end up where its settings say, whatever happens on the way? Random edits, kills, hangs, floods and
//! recoveries, and after each quiet point: live equals desired, and nothing is left over. It owns the order of events;
//! what is right after them is the fleet's to say.

mod fleet;

use std::{fs, time::Duration, time::Instant};

use fastrand::Rng;
use rustix::process::Signal;

use crate::{
    control,
    processes::{Process, Usage, alive, children_of, usage},
    sandbox::{Sandbox, kill},
    save::{Save, replace},
    wait::{BOUND, pause, wait_until},
    watch::Watch,
};
use fleet::{Expected, Fleet, Home};

/// What a soak did.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Soaked {
    /// Random steps.
    pub steps: u32,
    /// Times at which everything was checked.
    pub quiet_points: u32,
    /// Servers killed or told to end.
    pub kills: u32,
}

/// Runs for about this long, or longer where a check has to wait.
///
/// # Panics
/// When something is not as desired, with the seed in the message.
#[must_use]
pub fn soak(seed: u64, time: Duration) -> Soaked {
    let sandbox = Sandbox::new();
    let mut fleet = Fleet::new();
    for home in Home::ALL {
        replace(&home.path(&sandbox), &fleet.document(home, &sandbox));
    }
    let watch = sandbox.watch();
    watch.ready();
    let mut run = Run {
        sandbox: &sandbox,
        watch: &watch,
        rng: Rng::with_seed(seed),
        fleet: &mut fleet,
        done: Soaked::default(),
        seed,
    };
    // One server comes and goes first, so that what is made on first use counts as there from the start.
    run.add();
    run.save();
    run.quiet_point();
    run.fleet.clear();
    run.save();
    run.quiet_point();
    let small = usage(watch.pid()).expect("the session runs");

    let end = Instant::now() + time;
    while Instant::now() < end {
        for _ in 0..run.rng.u32(3..10) {
            run.step();
        }
        run.quiet_point();
    }
    run.fleet.clear();
    run.save();
    run.quiet_point();
    run.is_as_small_as(small);
    let done = run.done;
    watch.finish();
    sandbox.wait_for_no_process(BOUND);
    done
}

struct Run<'a> {
    sandbox: &'a Sandbox,
    watch: &'a Watch,
    rng: Rng,
    fleet: &'a mut Fleet,
    done: Soaked,
    seed: u64,
}

impl Run<'_> {
    fn step(&mut self) {
        self.done.steps += 1;
        match self.rng.u32(0..20) {
            0..=3 => self.add(),
            4..=6 => self.fleet.edit(&mut self.rng),
            7 => self.fleet.remove(&mut self.rng),
            8 => self.fleet.switch(&mut self.rng),
            9 => self.fleet.exclude(&mut self.rng),
            10 => self.fleet.allow(&mut self.rng),
            11..=12 => self.fleet.filter(&mut self.rng),
            13 => return self.kill(),
            14 => return self.order("exit 9"),
            15 => return self.order("stderr-flood 300000"),
            16 => return self.order("say-times 500 this is not JSON-RPC"),
            17 => return self.stop(),
            18 => return self.approve(),
            _ => return self.break_a_file(),
        }
        self.save();
    }

    fn add(&mut self) {
        self.fleet.add(&mut self.rng);
    }

    /// Saves what changed, each time in another way.
    fn save(&mut self) {
        for home in Home::ALL {
            let (path, text) = (home.path(self.sandbox), self.fleet.document(home, self.sandbox));
            if fs::read_to_string(&path).is_ok_and(|old| old == text) {
                continue;
            }
            let save = Save::ALL[self.rng.usize(0..Save::ALL.len())];
            save.save(&path, &text);
        }
    }

    /// A connected server, if there is one, with its process id.
    fn victim(&mut self) -> Option<(String, u32)> {
        let live: Vec<(String, u32)> = self
            .fleet
            .names()
            .filter_map(|name| {
                let update = self.watch.newest(&name)?;
                let pid = u32::try_from(update["pid"].as_u64()?).ok()?;
                (update["state"] == "connected" && alive(pid)).then_some((name, pid))
            })
            .collect();
        (!live.is_empty()).then(|| live[self.rng.usize(0..live.len())].clone())
    }

    fn kill(&mut self) {
        let Some((name, pid)) = self.victim() else { return };
        kill(pid, Signal::KILL);
        self.died(&name);
    }

    fn died(&mut self, name: &str) {
        self.fleet.died(name);
        self.done.kills += 1;
    }

    /// Has a server misbehave. It may be gone by now: then nobody listens.
    fn order(&mut self, action: &str) {
        let Some((name, pid)) = self.victim() else { return };
        if control::try_command(&self.fleet.control(self.sandbox), pid, action) && action.starts_with("exit")
        {
            self.died(&name);
        }
    }

    /// A stopped process answers nothing and takes no signal but the last one.
    fn stop(&mut self) {
        if let Some((_, pid)) = self.victim() {
            kill(pid, Signal::STOP);
        }
    }

    fn approve(&mut self) {
        if let Some(name) = self.fleet.undecided(&mut self.rng)
            && self.sandbox.run(["mcp", "approve", &name]).code == Some(0)
        {
            self.fleet.approved(&name);
        }
    }

    fn break_a_file(&mut self) {
        let home = Home::ALL[self.rng.usize(0..Home::ALL.len())];
        let path = home.path(self.sandbox);
        let text = fs::read_to_string(&path).unwrap_or_default();
        replace(&path, &text[..self.rng.usize(0..text.len().max(1))]);
        if self.rng.bool() {
            pause(Duration::from_millis(self.rng.u64(10..500)));
        }
        replace(&path, &text);
    }

    /// Wakes who was stopped, gives a new entry to who was killed too often, and waits until live equals desired.
    fn quiet_point(&mut self) {
        self.done.quiet_points += 1;
        for process in self.sandbox.processes().iter().filter(|process| process.state == 'T') {
            kill(process.pid, Signal::CONT);
        }
        if self.fleet.revive() {
            self.save();
        }
        let mut wrong = Vec::new();
        let end = Instant::now() + 2 * BOUND;
        wait_until(3 * BOUND, "live to equal desired", || {
            wrong = self.differences();
            if Instant::now() > end {
                let all = self.watch.events();
                let last: Vec<String> = all.iter().rev().take(60).rev().map(ToString::to_string).collect();
                panic!("seed {}: {wrong:#?} after {:?}\n{}", self.seed, self.done, last.join("\n"));
            }
            wrong.is_empty().then_some(())
        });
    }

    /// Everything that is not as it should be, in words.
    fn differences(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let processes = self.sandbox.processes();
        let is = |process: &Process, name: &str| {
            let command = format!("{} ", process.command);
            command.contains(&format!("--name {name} ")) && command.contains(&self.fleet.tag(name))
        };
        let mut right_groups = Vec::new();
        for name in self.fleet.names() {
            let update = self.watch.newest(&name).unwrap_or_default();
            let state = update["state"].as_str().unwrap_or("nothing").to_owned();
            match self.fleet.expected(&name) {
                Expected::State(expected) if state != expected => {
                    wrong.push(format!("{name} is {state}, not {expected}"));
                }
                Expected::State(_) => {}
                Expected::Hanging => {
                    if state != "connecting" && state != "failed" {
                        wrong.push(format!("{name} is {state} and never answers"));
                    }
                    right_groups.extend(processes.iter().filter(|p| is(p, &name)).map(|p| p.group));
                }
                Expected::Connected { tools } => {
                    let pid = update["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0);
                    let new = processes.iter().any(|p| p.group == pid && is(p, &name));
                    if state != "connected" || !new || update["tools"] != tools {
                        wrong.push(format!("{name}: {update}, to have {tools} tools, process {pid}: {new}"));
                    }
                    right_groups.push(pid);
                }
            }
        }
        for process in &processes {
            if process.command.contains("fake-mcp") && !right_groups.contains(&process.group) {
                wrong.push(format!("left over: {process:?}"));
            }
        }
        for child in children_of(self.watch.pid()) {
            if child.state == 'Z' {
                wrong.push(format!("not waited for: {child:?}"));
            }
        }
        for folder in [self.sandbox.temp(), self.sandbox.home().join(".qwen"), self.sandbox.project()] {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if !KNOWN_FILES.contains(&name.as_str()) {
                    wrong.push(format!("left over: {}", entry.path().display()));
                }
            }
        }
        wrong
    }

    fn is_as_small_as(&self, small: Usage) {
        let mut now = small;
        let end = Instant::now() + BOUND;
        wait_until(2 * BOUND, "the session to be small again", || {
            now = usage(self.watch.pid()).expect("the session runs");
            assert!(Instant::now() < end, "seed {}: {small:?} at first, {now:?} at the end", self.seed);
            (now.descriptors <= small.descriptors && now.threads <= small.threads).then_some(())
        });
    }
}

/// What may lie in the folders of the sandbox.
const KNOWN_FILES: [&str; 6] = [
    "settings.json",
    ".mcp.json",
    ".qwen",
    "mcpApprovals.json",
    "mcpApprovals.json.lock",
    "mcpApprovals.json.key",
];
