//! What of everything that happens is told, and how often? What happens within moments of each other is gathered into
//! one line that is updated in place, and told for good when it has become quiet. It prints nothing.

use indexmap::IndexMap;
use qwen_core::{CommitRecord, Phase, Refusal, ServerName};

use super::line::Line;
use crate::{
    events::{Event, sentence},
    hot_reload::{CliEvent, NoticeCode},
    text::{Tone, count, visible},
};

/// So long nothing may happen before it is told for good, in milliseconds.
pub(super) const QUIET: u64 = 600;

/// What happened in the last moments.
#[derive(Default, Debug)]
pub(super) struct Notices {
    burst: Option<Burst>,
    /// Edits wait for `/reload`.
    pub(super) held: Held,
}

/// Whether edits wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Held {
    /// Nothing waits.
    #[default]
    Nothing,
    /// Edits wait for `/reload`.
    Edits,
}

/// Things that happened close to each other.
#[derive(Debug)]
struct Burst {
    first: u64,
    last: u64,
    moved: Moved,
    /// The newest of each server that came to something.
    servers: IndexMap<ServerName, Came>,
    /// What happened to files; told only when no reload says more.
    files: Vec<Line>,
}

/// What reloads did, together.
#[derive(Clone, Debug, Default)]
struct Moved {
    reloads: usize,
    added: Vec<ServerName>,
    changed: Vec<ServerName>,
    removed: Vec<ServerName>,
    /// By the newest.
    kept: usize,
}

/// What a server came to.
#[derive(Debug)]
enum Came {
    /// It is connected, with so many tools.
    Connected(usize),
    /// Anything else that somebody should read.
    Told(Tone, String),
}

impl Notices {
    /// Takes what happened at a moment, in milliseconds since 1970. What must be read at once comes back.
    pub(super) fn hear(&mut self, event: &Event, now: u64) -> Vec<Line> {
        let line = || sentence(event).map(|(tone, text)| Line::new(tone, &text)).into_iter().collect();
        match event {
            Event::Reloaded(record) => self.burst(now).moved.add(record),
            Event::Server { name, status, .. } => self.server(name, status.as_deref(), event, now),
            Event::Cli(CliEvent::SettingsChanged { changes }) if !changes.is_empty() => {
                let lines: Vec<Line> = line();
                self.burst(now).files = lines;
            }
            Event::Cli(CliEvent::Notice { code, .. }) => {
                match code {
                    NoticeCode::EditsHeld => self.held = Held::Edits,
                    NoticeCode::WatchDegraded
                    | NoticeCode::WatchRestored
                    | NoticeCode::ReloadFailed
                    | NoticeCode::DecisionNotSaved
                    | NoticeCode::Yolo => {}
                }
                return line();
            }
            Event::Cli(
                CliEvent::SettingsChanged { .. }
                | CliEvent::SettingsInvalid { .. }
                | CliEvent::SettingsRecovered { .. }
                | CliEvent::RestartRequired { .. },
            ) => return line(),
            // The question itself and the status line say it.
            Event::Cli(
                CliEvent::PendingApprovalChanged { .. }
                | CliEvent::Planned { .. }
                | CliEvent::ShadowsChanged { .. },
            )
            | Event::Started(_)
            | Event::Catalogue(_)
            | Event::Settled(_)
            | Event::Ended(_) => {}
        }
        Vec::new()
    }

    /// Whether something is not yet told for good.
    pub(super) fn is_open(&self) -> bool {
        self.burst.is_some()
    }

    /// The line that is updated in place.
    pub(super) fn line(&self) -> Option<Line> {
        let burst = self.burst.as_ref()?;
        burst.reloaded().or_else(|| burst.outcomes().into_iter().next())
    }

    /// What is to be told for good by now.
    pub(super) fn due(&mut self, now: u64) -> Vec<Line> {
        match &self.burst {
            Some(burst) if now.saturating_sub(burst.last) >= QUIET => self.flush(),
            Some(_) | None => Vec::new(),
        }
    }

    /// Everything that is not yet told for good.
    pub(super) fn flush(&mut self) -> Vec<Line> {
        let Some(burst) = self.burst.take() else { return Vec::new() };
        let mut lines: Vec<Line> = burst.reloaded().into_iter().collect();
        if lines.is_empty() {
            lines.extend(burst.files.iter().cloned());
        }
        lines.extend(burst.outcomes());
        lines
    }

    fn burst(&mut self, now: u64) -> &mut Burst {
        let burst = self.burst.get_or_insert_with(|| Burst {
            first: now,
            last: now,
            moved: Moved::default(),
            servers: IndexMap::new(),
            files: Vec::new(),
        });
        burst.last = now;
        burst
    }

    fn server(
        &mut self,
        name: &ServerName,
        status: Option<&qwen_core::ServerStatus>,
        event: &Event,
        now: u64,
    ) {
        let came = match status.map(|status| &status.phase) {
            Some(Phase::Connected(connected)) => Came::Connected(connected.tools),
            // On its way, and what it comes to is told; or asked about on the screen.
            Some(Phase::Connecting(_) | Phase::Refused(Refusal::PendingApproval)) => {
                self.burst(now).servers.shift_remove(name);
                return;
            }
            // The commit says that it is gone.
            None => return,
            Some(Phase::Failed { .. } | Phase::Refused(_)) => match sentence(event) {
                Some((tone, text)) => Came::Told(tone, text),
                None => return,
            },
        };
        self.burst(now).servers.insert(name.clone(), came);
    }
}

impl Moved {
    /// Takes one more commit. What the session starts with is no reload, and what a decision or a list does is told by
    /// the servers it is about.
    fn add(&mut self, record: &CommitRecord) {
        let CommitRecord { generation, added, removed, restarted, rescoped, kept, skipped: _ } = record;
        if *generation == 1 || [added, removed, restarted, rescoped].iter().all(|names| names.is_empty()) {
            return;
        }
        self.reloads += 1;
        self.kept = *kept;
        for name in added {
            // It was there when these moments began.
            let came_back = take(&mut self.removed, name);
            push(if came_back { &mut self.changed } else { &mut self.added }, name);
        }
        for name in restarted.iter().chain(rescoped) {
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

impl Burst {
    /// `reloaded: +github ~files -old, 3 kept`; of several reloads what they did together.
    fn reloaded(&self) -> Option<Line> {
        let Moved { reloads, added, changed, removed, kept } = &self.moved;
        let mut line = match reloads {
            0 => return None,
            1 => Line::new(Tone::Strong, "reloaded:"),
            times => {
                let seconds = (self.last - self.first) as f64 / 1000.0;
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
        Some(line.and(Tone::Quiet, &format!("{separator} {kept} kept")))
    }

    /// What servers came to: who is connected in one line, everybody else in one of their own.
    fn outcomes(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        let connected: Vec<String> = self
            .servers
            .iter()
            .filter_map(|(name, came)| match came {
                Came::Connected(tools) => {
                    Some(format!("{} ({})", visible(name.as_str()), count(*tools, "tool")))
                }
                Came::Told(..) => None,
            })
            .collect();
        if !connected.is_empty() {
            lines.push(Line::new(Tone::Good, "connected: ").and(Tone::Normal, &connected.join(", ")));
        }
        for came in self.servers.values() {
            match came {
                Came::Told(tone, text) => lines.push(Line::new(*tone, text)),
                Came::Connected(_) => {}
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests;
