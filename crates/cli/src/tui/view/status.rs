//! What stands below everything: what has just happened, what runs, and the one line about the session.

use qwen_core::{Progress, State as ServerState};

use super::super::{
    line::Line,
    notices::Held,
    state::{Course, Life, Running, State},
};
use crate::text::{Tone, count, cut_to, visible};

/// As many uses are shown, the oldest first.
const MOST_USES: usize = 4;

/// The lines, from top to bottom; the last one is the status line.
pub(super) fn lines(state: &State, width: usize, now: u64) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    lines.extend(state.notices.line().map(|line| Line::new(Tone::Attention, "» ").and_line(line)));
    lines.extend(state.running.iter().take(MOST_USES).map(|running| self::running(running, now)));
    let more = state.running.len().saturating_sub(MOST_USES);
    if more > 0 {
        lines.push(Line::new(Tone::Quiet, &format!("… and {more} more")));
    }
    lines.push(status(state, width));
    lines
}

/// `call mcp__slow__sleep  3.2 s  2 of 10: reading  Esc cancels`.
fn running(running: &Running, now: u64) -> Line {
    let seconds = now.saturating_sub(running.since) as f64 / 1000.0;
    let line = Line::new(Tone::Attention, "… ")
        .and(Tone::Strong, &running.label)
        .and(Tone::Normal, &format!("  {seconds:.1} s"));
    let line = match &running.progress {
        Some(progress) => line.and(Tone::Normal, &format!("  {}", amount(progress))),
        None => line,
    };
    let end = match running.course {
        Course::Going => "  Esc cancels",
        Course::Cancelling => "  cancelling",
    };
    line.and(Tone::Quiet, end)
}

fn amount(progress: &Progress) -> String {
    let amount = match progress.total {
        Some(total) => format!("{} of {total}", progress.progress),
        None => progress.progress.to_string(),
    };
    match &progress.message {
        Some(message) => format!("{amount}: {}", visible(message)),
        None => amount,
    }
}

/// The project, who is in which state, and what waits for somebody.
fn status(state: &State, width: usize) -> Line {
    let project = state.root.file_name().unwrap_or(state.root.as_os_str()).to_string_lossy().into_owned();
    let mut line = Line::new(Tone::Strong, &cut_to(&visible(&project), width / 3));
    if state.quit_until.is_some() {
        return line.and(Tone::Attention, "  press Ctrl-C again to end the session");
    }
    if state.life == Life::Starting {
        return line.and(Tone::Quiet, "  starting");
    }
    let off = |is: ServerState| match is {
        ServerState::Rejected
        | ServerState::Excluded
        | ServerState::NotAllowed
        | ServerState::Disabled
        | ServerState::UntrustedFolder => true,
        ServerState::Connected
        | ServerState::Connecting
        | ServerState::Failed
        | ServerState::NeedsAuth
        | ServerState::PendingApproval
        | ServerState::Invalid
        | ServerState::SettingsUnreadable
        | ServerState::Removed => false,
    };
    let is = |wanted: ServerState| state.count(|is| is == wanted);
    let waiting = state.derived.promptable.len();
    let approvals = format!("needs approval{}", if state.question.is_none() { " ◆" } else { "" });
    let parts = [
        (Tone::Good, is(ServerState::Connected), "connected".to_owned()),
        (Tone::Attention, is(ServerState::Connecting), "connecting".to_owned()),
        (
            Tone::Attention,
            waiting,
            if waiting == 1 { approvals } else { approvals.replacen("needs", "need", 1) },
        ),
        (Tone::Bad, is(ServerState::Failed), "failed".to_owned()),
        (Tone::Attention, is(ServerState::NeedsAuth), "without credentials".to_owned()),
        (Tone::Bad, is(ServerState::Invalid) + is(ServerState::SettingsUnreadable), "invalid".to_owned()),
        (Tone::Quiet, state.count(off), "off".to_owned()),
    ];
    let mut separator = "  ";
    for (tone, number, word) in parts.into_iter().filter(|(_, number, _)| *number > 0) {
        line = line.and(Tone::Quiet, separator).and(tone, &format!("{number} {word}"));
        separator = " · ";
    }
    if state.status.servers.is_empty() && waiting == 0 {
        line = line.and(Tone::Quiet, "  no servers");
    }
    for notice in pending(state) {
        line = line.and(Tone::Quiet, " · ").and(Tone::Attention, &notice);
    }
    line
}

/// What somebody should do something about.
fn pending(state: &State) -> Vec<String> {
    let mut notices = Vec::new();
    match state.notices.held {
        Held::Edits => notices.push("edits wait: /reload".to_owned()),
        Held::Nothing => {}
    }
    let broken = state.snapshot.sources.values().filter(|file| file.broken.is_some()).count();
    if broken > 0 {
        notices.push(format!("{} broken: /settings", count(broken, "file")));
    }
    notices
}
