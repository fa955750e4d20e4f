//! Events as sentences for people: each reads well aloud, says the server first, and needs no colour.

use qwen_core::{CommitRecord, Connected, Delta, Phase, ServerName, ServerStatus, Settling, State};

use super::{EndReason, Event, Started};
use crate::{
    row::tone_of,
    text::{Paint, Tone, count, visible},
    words::Words,
};

/// One line, without its line break; `None` where there is nothing to tell.
pub(crate) fn human_line(event: &Event, clock: &str, paint: Paint) -> Option<String> {
    let (tone, sentence) = sentence(event)?;
    Some(format!("{}  {}", paint.apply(Tone::Quiet, clock), paint.apply(tone, &sentence)))
}

/// What happened as one sentence, and what it means; `None` where there is nothing to tell.
pub(crate) fn sentence(event: &Event) -> Option<(Tone, String)> {
    let sentence = match event {
        Event::Started(event) => (Tone::Strong, started(event)),
        Event::Cli(event) => return super::human_cli::sentence(event),
        Event::Reloaded(record) => (Tone::Normal, reloaded(record)),
        Event::Catalogue(change) => {
            let parts = [
                delta(&change.tools, "tool"),
                delta(&change.prompts, "prompt"),
                delta(&change.resources, "resource"),
            ];
            (Tone::Quiet, format!("catalogue revision {}: {}", change.revision, joined(parts)))
        }
        Event::Server { name, status, words } => server(name, status.as_deref(), words),
        Event::Settled(settling) => settled(settling),
        Event::Ended(reason) => (Tone::Strong, ended(*reason).to_owned()),
    };
    Some(sentence)
}

fn started(started: &Started) -> String {
    let servers = if started.servers.is_empty() {
        "no servers are configured".to_owned()
    } else {
        format!("{}: {}", count(started.servers.len(), "server"), names(&started.servers))
    };
    format!(
        "session started in {} (pid {}), watching {}; {servers}",
        visible(&started.project_root.display().to_string()),
        started.pid,
        count(started.watched.len(), "file"),
    )
}

fn reloaded(record: &CommitRecord) -> String {
    let mut parts = Vec::new();
    for (word, names_of) in [
        ("added", &record.added),
        ("removed", &record.removed),
        ("restarted", &record.restarted),
        ("updated in place", &record.rescoped),
    ] {
        if !names_of.is_empty() {
            parts.push(format!("{word} {}", names(names_of)));
        }
    }
    if record.kept > 0 {
        parts.push(format!("kept {}", count(record.kept, "connection")));
    }
    if !record.skipped.is_empty() {
        let skipped: Vec<String> = record
            .skipped
            .iter()
            .map(|(name, refusal)| {
                format!("{} ({})", visible(name.as_str()), refusal.as_str().replace('_', " "))
            })
            .collect();
        parts.push(format!("skipped {}", skipped.join(", ")));
    }
    if parts.is_empty() {
        parts.push("nothing to do".to_owned());
    }
    format!("plan {}: {}", record.generation, parts.join("; "))
}

fn server(name: &ServerName, status: Option<&ServerStatus>, words: &Words) -> (Tone, String) {
    let name = visible(name.as_str());
    let Some(status) = status else { return (Tone::Quiet, format!("{name} was removed")) };
    let state = status.phase.state();
    let is = match &status.phase {
        Phase::Connected(connected) => offers(connected),
        Phase::Connecting(_) | Phase::Failed { .. } | Phase::Refused(_) => format!("is {}", aloud(state)),
    };
    let mut sentence = format!("{name} {is}");
    if let Some(cause) = &words.cause {
        // The state has just said so.
        if cause != "awaits approval" {
            sentence.push_str(&format!(": {}", visible(cause)));
        }
        if let Some(step) = &words.next_step
            && !matches!(status.phase, Phase::Connecting(_))
        {
            sentence.push_str(&format!("; next: {}", visible(step)));
        }
    }
    if let Some(said) = last_words(&status.phase) {
        sentence.push_str(&format!("; it said last: {}", visible(said)));
    }
    (tone_of(state.as_str()), sentence)
}

/// The last line that a failed server wrote to stderr.
fn last_words(phase: &Phase) -> Option<&str> {
    match phase {
        Phase::Failed { failure, .. } => {
            failure.stderr_tail.as_deref()?.lines().rfind(|line| !line.trim().is_empty())
        }
        Phase::Connected(_) | Phase::Connecting(_) | Phase::Refused(_) => None,
    }
}

/// The state as it follows "is".
fn aloud(state: State) -> &'static str {
    match state {
        State::Connected => "connected",
        State::Connecting => "connecting",
        State::Failed => "not connected",
        State::NeedsAuth => "waiting for credentials",
        State::PendingApproval => "waiting for approval",
        State::Rejected => "rejected",
        State::Excluded => "excluded",
        State::NotAllowed => "not allowed",
        State::Disabled => "switched off",
        State::UntrustedFolder | State::SettingsUnreadable => "held back",
        State::Invalid => "invalid",
        State::Removed => "removed",
    }
}

fn offers(connected: &Connected) -> String {
    let parts = [(connected.tools, "tool"), (connected.prompts, "prompt"), (connected.resources, "resource")];
    let parts: Vec<String> =
        parts.into_iter().filter(|(number, _)| *number > 0).map(|(number, one)| count(number, one)).collect();
    let offers = if parts.is_empty() { "nothing to offer".to_owned() } else { parts.join(", ") };
    let pid = connected.pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default();
    format!("is connected with {offers}{pid}")
}

fn settled(settling: &Settling) -> (Tone, String) {
    let took = format!("plan {} is done after {} ms", settling.generation, settling.duration.as_millis());
    if settling.failed.is_empty() {
        return (Tone::Quiet, took);
    }
    let failed: Vec<String> =
        settling.failed.iter().map(|(name, _)| visible(name.as_str()).into_owned()).collect();
    (Tone::Bad, format!("{took}; {} did not connect", failed.join(", ")))
}

fn delta(delta: &Delta, one: &str) -> Option<String> {
    let parts: Vec<String> =
        [(delta.added.len(), "more"), (delta.removed.len(), "less"), (delta.changed.len(), "changed")]
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, word)| format!("{} {word}", count(number, one)))
            .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn joined(parts: [Option<String>; 3]) -> String {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "no difference".to_owned() } else { parts.join("; ") }
}

fn ended(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Interrupt => "session ended: interrupted",
        EndReason::Terminate => "session ended: told to terminate",
        EndReason::Hangup => "session ended: the terminal is gone",
        EndReason::StdinClosed => "session ended: stdin was closed",
        EndReason::Quit => "session ended",
    }
}

fn names(names: &[ServerName]) -> String {
    let mut names: Vec<_> = names.iter().map(|name| visible(name.as_str())).collect();
    names.sort_unstable();
    names.join(", ")
}
