//! What do keys do to a form, and when does it go? Its answer is told to the server, and the transcript says that it was.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use qwen_core::{QuestionReply, ServerQuestion};

use super::super::{
    event::Effect,
    focus::Layer,
    form::{Form, FormId, FormKey},
    line::Line,
    panel::Turn,
    state::State,
    view::most_scroll,
};
use crate::text::{Tone, visible};

/// A server that got no answer so often in a row gets none by itself from then on.
const MOST_PUT_OFF: u32 = 3;
/// As many servers may wait for an answer.
const MOST_FORMS: usize = 8;

/// A server asks: one question of each is open, and nobody who asks without end keeps anybody here.
pub(super) fn asked(state: &mut State, id: FormId, question: ServerQuestion) -> Vec<Effect> {
    let put_off = || vec![Effect::Reply(id, QuestionReply::Cancel)];
    if state.put_off.get(&question.server).is_some_and(|times| *times >= MOST_PUT_OFF) {
        return put_off();
    }
    if let Some(open) = state.forms.iter_mut().find(|form| form.server() == question.server.as_str()) {
        if open.asked_again() == 1 {
            let server = visible(question.server.as_str());
            let text = format!("{server} asks more before it is answered; only its first question is shown");
            state.say(Line::new(Tone::Quiet, &text));
        }
        return put_off();
    }
    if state.forms.len() >= MOST_FORMS {
        let server = visible(question.server.as_str());
        let text = format!("{server} asks while {MOST_FORMS} others wait for an answer; it is put off");
        state.say(Line::new(Tone::Quiet, &text));
        return put_off();
    }
    state.forms.push_back(Form::new(id, question));
    Vec::new()
}

/// Takes a key for the form on the screen.
pub(super) fn key(state: &mut State, key: KeyEvent, now: u64) -> Vec<Effect> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let key = match (control, key.code) {
        (_, KeyCode::PageUp) => return page(state, Turn::Before, now),
        (_, KeyCode::PageDown) => return page(state, Turn::Next, now),
        (_, KeyCode::Esc) => return put_off(state, now),
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
        Some(reply) => reply_with(state, reply, now),
        None => Vec::new(),
    }
}

fn page(state: &mut State, turn: Turn, now: u64) -> Vec<Effect> {
    let most = most_scroll(state, Layer::Form, now);
    let lines = usize::from(state.size.rows / 2);
    if let Some(form) = state.forms.front_mut() {
        form.page(turn, lines, most);
    }
    Vec::new()
}

/// Goes away from the form without saying anything, where there is one.
pub(super) fn put_off(state: &mut State, now: u64) -> Vec<Effect> {
    reply_with(state, QuestionReply::Cancel, now)
}

fn reply_with(state: &mut State, reply: QuestionReply, now: u64) -> Vec<Effect> {
    let Some(form) = state.forms.pop_front() else { return Vec::new() };
    state.answered_at = now;
    let (word, put_off) = match &reply {
        QuestionReply::Accept(_) => ("answered", 0),
        QuestionReply::Decline => ("refused to answer", 0),
        QuestionReply::Cancel => {
            ("did not answer", state.put_off.get(form.server()).copied().unwrap_or_default() + 1)
        }
    };
    let server = visible(form.server()).into_owned();
    state.say(Line::new(Tone::Quiet, &format!("you {word} the question of {server}")));
    if put_off == MOST_PUT_OFF {
        let text = format!(
            "{server} asked {put_off} times and got no answer: until you use something again, no question of it is \
             shown; to be rid of it type /mcp {server} and choose Disable"
        );
        state.say(Line::new(Tone::Attention, &text));
    }
    state.put_off.insert(form.server().into(), put_off);
    vec![Effect::Reply(form.id, reply)]
}

/// The server takes a question back, or its connection ends.
pub(super) fn taken_back(state: &mut State, id: FormId) {
    if let Some(at) = state.forms.iter().position(|form| form.id == id)
        && let Some(form) = state.forms.remove(at)
    {
        state.say(Line::new(Tone::Quiet, &format!("{} no longer asks", visible(form.server()))));
    }
}
