//! What does a command that was typed do? It changes what is on the screen or asks for an effect.

use qwen_core::{FolderTrust, ServerName};
use qwen_settings_schema as schema;

use super::{
    super::{
        asked::{Command, Wish, command},
        dialog::{Detail, Dialog},
        event::{Effect, UseId},
        help::Help,
        history::may_be_kept,
        line::Line,
        listing,
        notices::Held,
        state::{Company, Course, Running, State},
    },
    is_connected, is_known, questions,
};
use crate::{
    commands::unknown_at,
    events::EndReason,
    text::{Tone, visible},
    words::{Prompt, of_phase},
};

/// Does what the typed line asks for.
pub(super) fn enter(state: &mut State, now: u64) -> Vec<Effect> {
    let line = state.input.take();
    let mut effects = Vec::new();
    let asked = command(&line);
    if asked != Command::Nothing {
        state.say(Line::new(Tone::Quiet, "> ").and(Tone::Normal, &line));
        if may_be_kept(&line) {
            effects.push(Effect::Remember(line));
        }
    }
    effects.extend(run(state, asked, now));
    effects
}

fn run(state: &mut State, asked: Command, now: u64) -> Vec<Effect> {
    match asked {
        Command::Nothing => Vec::new(),
        Command::No(text) => {
            state.say(Line::new(Tone::Attention, &text));
            Vec::new()
        }
        Command::Help => {
            state.help = Some(Help::default());
            Vec::new()
        }
        Command::Quit => vec![Effect::Quit(EndReason::Quit)],
        Command::Reload => {
            state.notices.held = Held::Nothing;
            vec![Effect::Reload]
        }
        Command::Servers(None) => {
            state.dialog = Some(Dialog::List { chosen: None });
            Vec::new()
        }
        Command::Servers(Some(name)) => {
            if known(state, &name) {
                state.dialog = Some(Dialog::Detail(Detail::of(name)));
            }
            Vec::new()
        }
        Command::Reconnect(name) => reconnect(state, &name),
        Command::Tools(server) => {
            tools(state, server.as_ref());
            Vec::new()
        }
        Command::Use(wish) => begin(state, wish, now),
        Command::Approvals => vec![Effect::Approvals],
        Command::Trust => match state.derived.folder {
            FolderTrust::Untrusted => {
                state.asking.ask_about_folder();
                questions::ask(state)
            }
            FolderTrust::Trusted => {
                let said = match state.derived.merged.options.folder_trust {
                    schema::FolderTrust::On => {
                        "this folder is trusted; `qwen trust --deny` in another terminal takes that back"
                    }
                    schema::FolderTrust::Off => {
                        "every folder is trusted, since `security.folderTrust.enabled` is off"
                    }
                };
                state.say(Line::new(Tone::Quiet, said));
                Vec::new()
            }
        },
        Command::Settings => {
            let lines = listing::settings(&state.snapshot, &state.derived);
            state.transcript.extend(lines);
            Vec::new()
        }
    }
}

/// Tries a server again, or says why there is none.
pub(super) fn reconnect(state: &mut State, name: &ServerName) -> Vec<Effect> {
    if !known(state, name) {
        return Vec::new();
    }
    state.notices.is_tried_anew(name);
    vec![Effect::Reconnect(name.clone())]
}

fn known(state: &mut State, name: &ServerName) -> bool {
    let known = is_known(state, name);
    if !known {
        let text = unknown_at(Prompt::Session, &state.derived, name.as_str());
        state.say(Line::new(Tone::Attention, &text));
    }
    known
}

fn tools(state: &mut State, server: Option<&ServerName>) {
    if let Some(name) = server {
        if !known(state, name) {
            return;
        }
        if !is_connected(state, name) {
            let phase = state.phase(name);
            let words =
                phase.map(|phase| of_phase(phase, name, state.derived.rows.get(name), state.background()));
            let cause = words.as_ref().and_then(|words| words.cause.clone()).unwrap_or_default();
            let next = words.and_then(|words| words.next_step).map(|next| format!("; next: {next}"));
            let text =
                format!("{} is not connected: {cause}{}", visible(name.as_str()), next.unwrap_or_default());
            state.say(Line::new(Tone::Attention, &text));
            return;
        }
    }
    let lines = listing::tools(&state.status.catalogue, server, usize::from(state.size.columns));
    state.transcript.extend(lines);
}

fn begin(state: &mut State, wish: Wish, now: u64) -> Vec<Effect> {
    let id = UseId(state.next_use);
    state.next_use += 1;
    // What somebody uses may ask them again.
    state.put_off.clear();
    let company = if state.running.is_empty() { Company::Alone } else { Company::Others };
    for running in &mut state.running {
        running.company = company;
    }
    state.running.push(Running {
        id,
        label: wish.label(),
        since: now,
        progress: None,
        course: Course::Going,
        company,
    });
    vec![Effect::Use(id, wish)]
}
