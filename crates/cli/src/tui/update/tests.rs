//! Does the state move as it should? What the tests of each subject share.

mod dialog;
mod questions;
mod told;
mod typing;
mod using;

use std::sync::Arc;

use crossterm::event::KeyCode;
use qwen_approvals::Verdict;
use qwen_core::{CommitRecord, Connected, Decision, Phase, Refusal, Scope, ServerName, ServerStatus, Status};

use super::{
    super::{
        asked::Wish,
        dialog::{Action, Detail, Dialog, actions},
        event::UseId,
        testing::{
            NOW, catalogue, control, enters, files_mean, look_up, name, press, rests, session, shown,
            status_of, told, types, waiting, with_servers,
        },
    },
    *,
};
use crate::{
    commands::Switched,
    derive::GatedEntry,
    events::EndReason,
    fixtures,
    hot_reload::{CliEvent, Holds},
    settings::Snapshot,
};

fn decided(effects: &[Effect]) -> Vec<(String, Verdict, String)> {
    effects
        .iter()
        .filter_map(|effect| if let Effect::Decide(answers) = effect { Some(answers) } else { None })
        .flatten()
        .map(|answer| (answer.0.server.as_str().to_owned(), answer.0.verdict, answer.0.hash.to_string()))
        .collect()
}

fn about(state: &State) -> Option<String> {
    use super::super::question::About;
    state.question.as_ref().map(|open| match &open.about {
        About::Folder => "folder".to_owned(),
        About::Queued(asked) => asked.name.as_str().to_owned(),
        About::All(all) => format!("all {}", all.len()),
        About::Chosen(asked, _) => format!("chosen {}", asked.name.as_str()),
    })
}

/// Chooses the answer with this label and gives it.
fn answers(state: &mut State, label: &str, now: u64) -> Vec<Effect> {
    let now = rests(state, now);
    for _ in 0..4 {
        if shown(state).contains(&format!("[ {label}")) {
            return press(state, KeyCode::Enter, now);
        }
        press(state, KeyCode::Left, now);
    }
    panic!("no answer {label}:\n{}", shown(state));
}

fn connected() -> Phase {
    Phase::Connected(Connected {
        pid: None,
        tools: 2,
        prompts: 1,
        resources: 1,
        warnings: Vec::new(),
        unlisted: Vec::new(),
    })
}

fn with_gh(state: &mut State) {
    with_servers(state, vec![(fixtures::row("gh", Scope::User), connected())]);
    state.status = status_of(state, |status| status.catalogue = Arc::new(catalogue()));
}
