//! What did reloads do, one or several together, in one line? Who came, who changed, who went, who waits, and how many were
//! not touched. It knows no time by itself and no outcome of a server.

use qwen_core::{CommitRecord, Refusal, ServerName};

use super::super::line::Line;
use crate::text::Tone;

/// What reloads did, together.
#[derive(Clone, Debug, Default)]
pub(super) struct Moved {
    reloads: usize,
    added: Vec<ServerName>,
    changed: Vec<ServerName>,
    removed: Vec<ServerName>,
    /// New or edited, and nothing of them runs before somebody approves it.
    waiting: Vec<ServerName>,
    /// By the newest.
    kept: usize,
}

/// What the gate says of a name that a commit moved.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gate {
    Open,
    Waits,
    /// Its server says why, in a line of its own.
    Shut,
}

impl Moved {
    /// Takes one more commit. What the session starts with is no reload, and what a decision or a list does is told by
    /// the servers it is about.
    pub(super) fn add(&mut self, record: &CommitRecord) {
        let CommitRecord { generation, added, removed, restarted, rescoped, kept, skipped } = record;
        if *generation == 1 {
            return;
        }
        let gate = |name: &ServerName| match skipped.iter().find(|(refused, _)| refused == name) {
            None => Gate::Open,
            Some((_, Refusal::PendingApproval)) => Gate::Waits,
            Some(_) => Gate::Shut,
        };
        let edited = || added.iter().chain(restarted).chain(rescoped);
        for name in edited() {
            take(&mut self.waiting, name);
            if gate(name) == Gate::Waits {
                push(&mut self.waiting, name);
            }
        }
        self.waiting.retain(|name| gate(name) == Gate::Waits);
        if removed.is_empty() && edited().all(|name| gate(name) != Gate::Open) {
            return;
        }
        self.reloads += 1;
        self.kept = *kept;
        for name in added.iter().filter(|name| gate(name) == Gate::Open) {
            // It was there when these moments began.
            let came_back = take(&mut self.removed, name);
            push(if came_back { &mut self.changed } else { &mut self.added }, name);
        }
        for name in restarted.iter().chain(rescoped).filter(|name| gate(name) == Gate::Open) {
            if !self.added.contains(name) {
                push(&mut self.changed, name);
            }
        }
        for name in removed {
            take(&mut self.changed, name);
            if !take(&mut self.added, name) {
                push(&mut self.removed, name);
            }
        }
    }

    /// An edit made a server wait.
    pub(super) fn waits(&mut self, name: &ServerName) {
        push(&mut self.waiting, name);
    }

    /// Somebody approved it meanwhile.
    pub(super) fn is_let_in(&mut self, name: &ServerName) {
        take(&mut self.waiting, name);
    }

    /// `reloaded: +github ~files -old, 3 kept, 1 waits`; of several reloads what they did together, in so many
    /// milliseconds.
    pub(super) fn line(&self, lasted: u64) -> Option<Line> {
        let Self { reloads, added, changed, removed, waiting, kept } = self;
        let mut line = match (reloads, waiting.as_slice()) {
            (0, []) => return None,
            (0, [one]) => {
                return Some(Line::new(Tone::Attention, &format!("{} waits for approval", one.as_str())));
            }
            (0, several) => {
                let names: Vec<&str> = several.iter().map(ServerName::as_str).collect();
                return Some(Line::new(Tone::Attention, &format!("{} wait for approval", names.join(", "))));
            }
            (1, _) => Line::new(Tone::Strong, "reloaded:"),
            (times, _) => {
                let seconds = lasted as f64 / 1000.0;
                Line::new(Tone::Strong, "reloaded")
                    .and(Tone::Quiet, &format!(" {times} times in {seconds:.1} s"))
                    .and(Tone::Strong, ":")
            }
        };
        for (sign, tone, names) in
            [("+", Tone::Good, added), ("~", Tone::Attention, changed), ("-", Tone::Quiet, removed)]
        {
            for name in names {
                line = line.and(tone, &format!(" {sign}{}", name.as_str()));
            }
        }
        let separator = if added.len() + changed.len() + removed.len() == 0 { "" } else { "," };
        line = line.and(Tone::Quiet, &format!("{separator} {kept} kept"));
        Some(match waiting.len() {
            0 => line,
            1 => line.and(Tone::Attention, ", 1 waits"),
            several => line.and(Tone::Attention, &format!(", {several} wait")),
        })
    }
}

fn push(names: &mut Vec<ServerName>, name: &ServerName) {
    if !names.contains(name) {
        names.push(name.clone());
    }
}

/// Whether it was in there.
fn take(names: &mut Vec<ServerName>, name: &ServerName) -> bool {
    let before = names.len();
    names.retain(|held| held != name);
    names.len() < before
}
