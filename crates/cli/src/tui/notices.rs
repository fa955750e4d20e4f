//! What of everything that happens is told, and how often? What happens within moments of each other is gathered into
//! one line that is updated in place, and told for good when it has become quiet. It prints nothing.

mod moved;

use std::collections::BTreeMap;

use indexmap::IndexMap;
use qwen_core::{Phase, Refusal, ServerName};

use self::moved::Moved;
use super::line::Line;
use crate::{
    events::{Event, sentence},
    hot_reload::{CliEvent, Counts, NoticeCode},
    text::{Tone, count, visible},
    words::Words,
};

/// So long nothing may happen before it is told for good, in milliseconds.
pub(super) const QUIET: u64 = 600;

/// What happened in the last moments.
#[derive(Default, Debug)]
pub(super) struct Notices {
    burst: Option<Burst>,
    /// Whose failure was told for good, and is tried again since.
    failing: BTreeMap<ServerName, Failing>,
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

/// A failure that was told.
#[derive(Debug)]
struct Failing {
    words: Words,
    /// How often it failed like this.
    tries: u32,
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
    /// Entries that are wrong, by the message that names the key; told only where their server says nothing.
    wrong: Vec<(String, Line)>,
}

/// What a server came to.
#[derive(Debug)]
enum Came {
    /// It is connected, with so many tools.
    Connected(usize),
    /// It failed, and this is what to say of it for good.
    Failed(Words, Line),
    /// It failed as it did before, so often by now.
    FailedAgain(u32),
    /// Its entry is wrong.
    Invalid(Line),
    /// Anything else that somebody should read.
    Told(Line),
}

impl Notices {
    /// Takes what happened at a moment, in milliseconds since 1970. What must be read at once comes back.
    pub(super) fn hear(&mut self, event: &Event, now: u64) -> Vec<Line> {
        let line = || sentence(event).map(|(tone, text)| Line::new(tone, &text)).into_iter().collect();
        match event {
            Event::Reloaded(record) => {
                for name in record.added.iter().chain(&record.restarted).chain(&record.rescoped) {
                    self.is_tried_anew(name);
                }
                self.burst(now).moved.add(record);
            }
            Event::Server { name, status, words } => {
                self.server(name, status.as_deref(), words, line(), now);
            }
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
            Event::Cli(CliEvent::SettingsInvalid { message, counts: Counts::TheRest, .. })
                if message.starts_with(ENTRY) =>
            {
                let lines: Vec<Line> = line();
                self.burst(now).wrong.extend(lines.into_iter().map(|line| (message.clone(), line)));
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
        burst.reloaded().or_else(|| burst.outcomes().into_iter().next()).or_else(|| burst.again())
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
        lines.extend(burst.wrong());
        lines.extend(burst.outcomes());
        for (name, came) in burst.servers {
            match came {
                Came::Failed(words, _) => {
                    self.failing.insert(name, Failing { words, tries: 1 });
                }
                Came::Connected(_) | Came::FailedAgain(_) | Came::Invalid(_) | Came::Told(_) => {}
            }
        }
        lines
    }

    /// Somebody has a server tried again, or its entry is another one: what comes of it is told, whatever was before.
    pub(super) fn is_tried_anew(&mut self, name: &ServerName) {
        self.failing.remove(name);
    }

    fn burst(&mut self, now: u64) -> &mut Burst {
        let burst = self.burst.get_or_insert_with(|| Burst {
            first: now,
            last: now,
            moved: Moved::default(),
            servers: IndexMap::new(),
            files: Vec::new(),
            wrong: Vec::new(),
        });
        burst.last = now;
        burst
    }

    fn server(
        &mut self,
        name: &ServerName,
        status: Option<&qwen_core::ServerStatus>,
        words: &Words,
        line: Vec<Line>,
        now: u64,
    ) {
        let Some(line) = line.into_iter().next() else { return };
        let came = match status.map(|status| &status.phase) {
            // On its way, and what it comes to is told.
            Some(Phase::Connecting(_)) => {
                let burst = self.burst(now);
                burst.servers.shift_remove(name);
                burst.moved.is_let_in(name);
                return;
            }
            // The commit says that it is gone.
            None => {
                self.is_tried_anew(name);
                return;
            }
            Some(Phase::Failed { .. }) => {
                let before = self.failing.get_mut(name).filter(|failing| failing.words == *words);
                match before {
                    Some(failing) => {
                        failing.tries = failing.tries.saturating_add(1);
                        Came::FailedAgain(failing.tries)
                    }
                    None => Came::Failed(words.clone(), line),
                }
            }
            Some(Phase::Connected(connected)) => {
                self.is_tried_anew(name);
                Came::Connected(connected.tools)
            }
            Some(Phase::Refused(refusal)) => {
                self.is_tried_anew(name);
                match refusal {
                    // It is asked about on the screen; an edit says as well that it waits.
                    Refusal::PendingApproval => {
                        let burst = self.burst(now);
                        burst.servers.shift_remove(name);
                        if !burst.files.is_empty() {
                            burst.moved.waits(name);
                        }
                        return;
                    }
                    Refusal::Invalid { .. } => Came::Invalid(line),
                    Refusal::SettingsUnreadable { .. }
                    | Refusal::UntrustedFolder
                    | Refusal::NotAllowed(_)
                    | Refusal::Excluded { .. }
                    | Refusal::Disabled
                    | Refusal::Rejected => Came::Told(line),
                }
            }
        };
        self.burst(now).servers.insert(name.clone(), came);
    }
}

impl Burst {
    /// What reloads did, in one line.
    fn reloaded(&self) -> Option<Line> {
        self.moved.line(self.last - self.first)
    }

    /// Entries that are wrong and whose servers do not say so themselves: something else counts under their names.
    fn wrong(&self) -> impl Iterator<Item = Line> {
        let is_told = |message: &str| {
            self.servers.iter().any(|(name, came)| match came {
                Came::Invalid(_) => is_about(message, name),
                Came::Connected(_) | Came::Failed(..) | Came::FailedAgain(_) | Came::Told(_) => false,
            })
        };
        self.wrong.iter().filter(move |(message, _)| !is_told(message)).map(|(_, line)| line.clone())
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
                Came::Failed(..) | Came::FailedAgain(_) | Came::Invalid(_) | Came::Told(_) => None,
            })
            .collect();
        if !connected.is_empty() {
            lines.push(Line::new(Tone::Good, "connected: ").and(Tone::Normal, &connected.join(", ")));
        }
        lines.extend(self.servers.values().filter_map(|came| match came {
            Came::Failed(_, line) | Came::Invalid(line) | Came::Told(line) => Some(line.clone()),
            Came::Connected(_) | Came::FailedAgain(_) => None,
        }));
        lines
    }

    /// Who failed once more, for the moment; it was told before.
    fn again(&self) -> Option<Line> {
        self.servers.iter().find_map(|(name, came)| match came {
            Came::FailedAgain(tries) => {
                let text = format!("{} is still not connected, after {tries} tries", visible(name.as_str()));
                Some(Line::new(Tone::Bad, &text))
            }
            Came::Connected(_) | Came::Failed(..) | Came::Invalid(_) | Came::Told(_) => None,
        })
    }
}

/// How the message about an entry begins.
const ENTRY: &str = "`mcpServers.";

/// Whether a message is about the entry of this name, or about a key of it.
fn is_about(message: &str, name: &ServerName) -> bool {
    let behind = message.strip_prefix(ENTRY).and_then(|key| key.strip_prefix(&*visible(name.as_str())));
    behind.is_some_and(|behind| behind.starts_with(['.', '`']))
}

#[cfg(test)]
mod tests;
