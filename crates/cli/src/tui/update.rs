//! How does the session's screen state move? One function from a state, something that happened and the time to what is
//! to be done. It waits for nothing and acts on nothing.

mod command;
mod forms;
mod keys;
mod questions;

use qwen_core::Phase;

use super::{
    event::{Effect, Event},
    focus::settle,
    line::Line,
    state::{Company, Life, Running, State},
};
use crate::{
    hot_reload::CliEvent,
    text::{Tone, count},
};

/// Moves the state; `now` is in milliseconds since 1970.
pub(super) fn update(state: &mut State, event: Event, now: u64) -> Vec<Effect> {
    settle(state, now);
    let effects = happens(state, event, now);
    settle(state, now);
    questions::is_seen(state, now);
    effects
}

fn happens(state: &mut State, event: Event, now: u64) -> Vec<Effect> {
    match event {
        Event::Key(key) => return keys::key(state, key, now),
        Event::Paste(text) => keys::paste(state, &text, now),
        Event::Resized(size) => state.size = size,
        Event::Started => started(state, now),
        Event::Status(status) => {
            let told = state.with_facts(|teller, facts| teller.status(&status, facts));
            state.status = status;
            hear(state, &told, now);
        }
        Event::Facts(derived, snapshot) => {
            state.derived = derived;
            state.snapshot = snapshot;
            questions::entries_changed(state);
        }
        Event::Cli(event) => return happened(state, event, now),
        Event::Questions(looked_up, about) => questions::looked_up(state, looked_up, about),
        Event::Asked(id, question) => return forms::asked(state, id, question),
        Event::TakenBack(id) => forms::taken_back(state, id),
        Event::Progress(id, progress) => {
            if let Some(running) = state.running.iter_mut().find(|running| running.id == id) {
                running.progress = Some(progress);
            }
        }
        Event::Ended(id, lines) => {
            if let Some(at) = state.running.iter().position(|running| running.id == id) {
                let Running { label, company, .. } = state.running.remove(at);
                match company {
                    Company::Alone => {}
                    Company::Others => state.say(Line::new(Tone::Strong, &format!("{label}:"))),
                }
            }
            state.transcript.extend(lines);
        }
        Event::Decided(decided, holds) => questions::decided(state, &decided, holds),
        Event::Said(lines) => state.transcript.extend(lines),
        Event::Tick => {
            let lines = state.notices.due(now);
            state.transcript.extend(lines);
            if state.quit_until.is_some_and(|until| until <= now) {
                state.quit_until = None;
            }
        }
    }
    Vec::new()
}

fn started(state: &mut State, now: u64) {
    state.life = Life::Running;
    let servers = count(state.derived.rows.len(), "server");
    let text = format!("{servers} configured; type /help for what can be typed");
    let lines = state.notices.due(now);
    state.transcript.extend(lines);
    state.say(Line::new(Tone::Quiet, &text));
}

fn happened(state: &mut State, event: CliEvent, now: u64) -> Vec<Effect> {
    if let CliEvent::Planned { status, .. } = &event {
        state.status = std::sync::Arc::clone(status);
    }
    let told = state.with_facts(|teller, facts| teller.happened(event, facts));
    hear(state, &told, now);
    questions::ask(state)
}

fn hear(state: &mut State, told: &[crate::events::Event], now: u64) {
    for event in told {
        let lines = state.notices.hear(event, now);
        state.transcript.extend(lines);
    }
}

/// Whether a server is there to be tried, listed or named.
fn is_known(state: &State, name: &qwen_core::ServerName) -> bool {
    state.phase(name).is_some()
        || state.status.removed.contains(name)
        || state.derived.rows.contains_key(name)
}

/// Whether a server is connected.
fn is_connected(state: &State, name: &qwen_core::ServerName) -> bool {
    matches!(state.phase(name), Some(Phase::Connected(_)))
}

#[cfg(test)]
mod tests;
