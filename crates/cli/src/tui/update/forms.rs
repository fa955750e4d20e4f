//! What do keys do to a form, and when does it go? Its answer is told to the server, and the transcript says that it was.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use qwen_core::QuestionReply;

use super::super::{
    event::Effect,
    form::{FormId, FormKey},
    line::Line,
    panel::Turn,
    state::State,
};
use crate::text::{Tone, visible};

/// Takes a key for the form on the screen.
pub(super) fn key(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let key = match (control, key.code) {
        (_, KeyCode::Esc) => return put_off(state).unwrap_or_default(),
        (_, KeyCode::Up | KeyCode::BackTab) | (true, KeyCode::Char('p')) => FormKey::Move(Turn::Before),
        (_, KeyCode::Down | KeyCode::Tab) | (true, KeyCode::Char('n')) => FormKey::Move(Turn::Next),
        (_, KeyCode::Left) => FormKey::Side(Turn::Before),
        (_, KeyCode::Right) => FormKey::Side(Turn::Next),
        (_, KeyCode::Backspace) => FormKey::Erase,
        (_, KeyCode::Enter) => FormKey::Enter,
        (false, KeyCode::Char(c)) => FormKey::Type(c),
        _ => return Vec::new(),
    };
    match state.forms.front_mut().and_then(|form| form.take(key)) {
        Some(reply) => reply_with(state, reply).unwrap_or_default(),
        None => Vec::new(),
    }
}

/// Goes away from the form without saying anything, where there is one.
pub(super) fn put_off(state: &mut State) -> Option<Vec<Effect>> {
    reply_with(state, QuestionReply::Cancel)
}

fn reply_with(state: &mut State, reply: QuestionReply) -> Option<Vec<Effect>> {
    let form = state.forms.pop_front()?;
    let word = match &reply {
        QuestionReply::Accept(_) => "answered",
        QuestionReply::Decline => "refused to answer",
        QuestionReply::Cancel => "did not answer",
    };
    state.say(Line::new(Tone::Quiet, &format!("you {word} the question of {}", visible(form.server()))));
    Some(vec![Effect::Reply(form.id, reply)])
}

/// The server takes a question back, or its connection ends.
pub(super) fn taken_back(state: &mut State, id: FormId) {
    if let Some(at) = state.forms.iter().position(|form| form.id == id)
        && let Some(form) = state.forms.remove(at)
    {
        state.say(Line::new(Tone::Quiet, &format!("{} no longer asks", visible(form.server()))));
    }
}
