//! What does a key do? It goes to whatever has the keys, which `focus` says.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{
    super::{
        complete,
        dialog::{self, Action, Detail, Dialog},
        event::Effect,
        focus::{Keys, Layer, focus},
        help::Help,
        input::Fits,
        line::Line,
        panel::Turn,
        state::{Course, State},
        view::most_scroll,
    },
    command, forms, questions,
};
use crate::{asking::Said, commands::Switched, events::EndReason, text::Tone};

/// A second Ctrl-C within so many milliseconds ends the session.
const TWICE: u64 = 2000;

/// What a key means to what is on top.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Up,
    Down,
    PageUp,
    PageDown,
    Turn(Turn),
    Enter,
    Back,
    Help,
    Other,
}

/// Takes a key.
pub(super) fn key(state: &mut State, key: KeyEvent, now: u64) -> Vec<Effect> {
    let control = |c: char| key.modifiers == KeyModifiers::CONTROL && key.code == KeyCode::Char(c);
    state.keyed_at = now;
    if control('z') {
        return vec![Effect::Suspend];
    }
    if control('c') {
        return interrupt(state, now);
    }
    state.quit_until = None;
    let keys = focus(state).keys;
    if control('d') && keys != Keys::Of(Layer::Line) {
        // Nothing there takes it, and nothing may keep somebody here.
        return vec![Effect::Quit(EndReason::Quit)];
    }
    match keys {
        Keys::Nobody => Vec::new(),
        Keys::Of(Layer::Help) => {
            help(state, meaning(key), now);
            Vec::new()
        }
        Keys::Of(Layer::Question) => question(state, meaning(key), now),
        Keys::Of(Layer::Form) => forms::key(state, key, now),
        Keys::Of(Layer::Dialog) => in_dialog(state, meaning(key), now),
        Keys::Of(Layer::Line) => line(state, key, now),
    }
}

/// Takes pasted text; only the line and a field take it.
pub(super) fn paste(state: &mut State, text: &str, now: u64) {
    state.keyed_at = now;
    match focus(state).keys {
        Keys::Of(Layer::Form) => {
            if let Some(form) = state.forms.front_mut() {
                form.paste(text);
            }
        }
        Keys::Of(Layer::Line) => match state.input.paste(text) {
            Fits::Yes => {}
            Fits::No => state.say(Line::new(
                Tone::Attention,
                "that is too long to paste: a line holds 64 KiB; write the arguments to a file and type \
                 /call TOOL @FILE",
            )),
        },
        Keys::Of(Layer::Help | Layer::Question | Layer::Dialog) | Keys::Nobody => {}
    }
}

fn meaning(key: KeyEvent) -> Meaning {
    match (key.modifiers, key.code) {
        (KeyModifiers::CONTROL, KeyCode::Char('p')) | (_, KeyCode::Up) => Meaning::Up,
        (KeyModifiers::CONTROL, KeyCode::Char('n')) | (_, KeyCode::Down) => Meaning::Down,
        (_, KeyCode::PageUp) => Meaning::PageUp,
        (_, KeyCode::PageDown) => Meaning::PageDown,
        (_, KeyCode::Left | KeyCode::BackTab) => Meaning::Turn(Turn::Before),
        (_, KeyCode::Right | KeyCode::Tab) => Meaning::Turn(Turn::Next),
        (_, KeyCode::Enter) => Meaning::Enter,
        (_, KeyCode::Esc) => Meaning::Back,
        (_, KeyCode::Char('?')) => Meaning::Help,
        _ => Meaning::Other,
    }
}

/// Ctrl-C: the nearest thing that can be given up. The second in a row ends the session, whatever is on top; one that
/// interrupts a call is none of the two, since whoever waits for a call to end may well press it again.
fn interrupt(state: &mut State, now: u64) -> Vec<Effect> {
    if state.quit_until.is_some_and(|until| now < until) {
        return vec![Effect::Quit(EndReason::Interrupt)];
    }
    let focus = focus(state);
    let nearest = match focus.keys {
        Keys::Of(layer) => layer,
        Keys::Nobody => focus.shown,
    };
    if nearest == Layer::Form {
        // The call that runs may be the one that asks.
        let mut effects = forms::put_off(state, now);
        match cancel(state) {
            Some(cancelled) => effects.extend(cancelled),
            None => state.quit_until = Some(now + TWICE),
        }
        return effects;
    }
    if let Some(effects) = cancel(state) {
        return effects;
    }
    state.quit_until = Some(now + TWICE);
    match nearest {
        Layer::Help => state.help = None,
        Layer::Question => return questions::answer(state, Said::NotNow, now),
        Layer::Dialog => state.dialog = None,
        Layer::Form => {}
        Layer::Line => state.input.set(""),
    }
    Vec::new()
}

/// Gives up what was begun last, if anything runs.
fn cancel(state: &mut State) -> Option<Vec<Effect>> {
    let running = state.running.iter_mut().rfind(|running| running.course == Course::Going)?;
    running.course = Course::Cancelling;
    Some(vec![Effect::Cancel(running.id)])
}

fn help(state: &mut State, meaning: Meaning, now: u64) {
    let most = most_scroll(state, Layer::Help, now);
    let page = usize::from(state.size.rows / 2);
    let Some(help) = &mut state.help else { return };
    match meaning {
        Meaning::Back | Meaning::Enter | Meaning::Help => state.help = None,
        Meaning::Up
        | Meaning::Down
        | Meaning::PageUp
        | Meaning::PageDown
        | Meaning::Turn(_)
        | Meaning::Other => help.scroll = scrolled(help.scroll, meaning, page, most),
    }
}

fn scrolled(scroll: usize, meaning: Meaning, page: usize, most: usize) -> usize {
    match meaning {
        Meaning::Up => scroll.saturating_sub(1),
        Meaning::Down => (scroll + 1).min(most),
        Meaning::PageUp => scroll.saturating_sub(page),
        Meaning::PageDown => (scroll + page).min(most),
        Meaning::Turn(_) | Meaning::Enter | Meaning::Back | Meaning::Help | Meaning::Other => {
            scroll.min(most)
        }
    }
}

fn question(state: &mut State, meaning: Meaning, now: u64) -> Vec<Effect> {
    let most = most_scroll(state, Layer::Question, now);
    let page = usize::from(state.size.rows / 2);
    let Some(open) = &mut state.question else { return Vec::new() };
    match meaning {
        Meaning::Turn(turn) => open.turn(turn),
        Meaning::Enter => {
            let said = open.said();
            return questions::answer(state, said, now);
        }
        Meaning::Back => return questions::answer(state, Said::NotNow, now),
        Meaning::Help => state.help = Some(Help::default()),
        Meaning::Up | Meaning::Down | Meaning::PageUp | Meaning::PageDown | Meaning::Other => {
            open.scroll = scrolled(open.scroll, meaning, page, most);
        }
    }
    Vec::new()
}

fn in_dialog(state: &mut State, meaning: Meaning, now: u64) -> Vec<Effect> {
    if meaning == Meaning::Help {
        state.help = Some(Help::default());
        return Vec::new();
    }
    let most = most_scroll(state, Layer::Dialog, now);
    let page = usize::from(state.size.rows / 2);
    let (next, effects) = match state.dialog.take() {
        None => (None, Vec::new()),
        Some(Dialog::List { chosen }) => (list(state, chosen, meaning), Vec::new()),
        Some(Dialog::Detail(detail)) => page_of(state, detail, meaning, Reach { page, most }, now),
        Some(Dialog::Offers { detail, scroll }) => {
            let next = match meaning {
                Meaning::Back | Meaning::Enter => Dialog::Detail(detail),
                Meaning::Up
                | Meaning::Down
                | Meaning::PageUp
                | Meaning::PageDown
                | Meaning::Turn(_)
                | Meaning::Help
                | Meaning::Other => Dialog::Offers { detail, scroll: scrolled(scroll, meaning, page, most) },
            };
            (Some(next), Vec::new())
        }
    };
    state.dialog = next;
    effects
}

fn list(state: &State, chosen: Option<qwen_core::ServerName>, meaning: Meaning) -> Option<Dialog> {
    let turned = |turn| dialog::turned(state, chosen.as_ref(), turn);
    Some(match meaning {
        Meaning::Back => return None,
        Meaning::Enter => match dialog::chosen(state, chosen.as_ref()) {
            Some(server) => Dialog::Detail(Detail::of(server)),
            None => return None,
        },
        Meaning::Up => Dialog::List { chosen: turned(Turn::Before) },
        Meaning::Down => Dialog::List { chosen: turned(Turn::Next) },
        Meaning::PageUp => Dialog::List { chosen: dialog::names(state).into_iter().next() },
        Meaning::PageDown => Dialog::List { chosen: dialog::names(state).into_iter().next_back() },
        Meaning::Turn(_) | Meaning::Help | Meaning::Other => Dialog::List { chosen },
    })
}

/// How far keys scroll.
struct Reach {
    page: usize,
    most: usize,
}

fn page_of(
    state: &mut State,
    mut detail: Detail,
    meaning: Meaning,
    Reach { page, most }: Reach,
    now: u64,
) -> (Option<Dialog>, Vec<Effect>) {
    match meaning {
        Meaning::Back => return (Some(Dialog::List { chosen: Some(detail.server) }), Vec::new()),
        Meaning::Turn(turn) => detail.turn(state, turn),
        Meaning::Enter => return act(state, detail, now),
        Meaning::Up
        | Meaning::Down
        | Meaning::PageUp
        | Meaning::PageDown
        | Meaning::Help
        | Meaning::Other => {
            detail.scroll = scrolled(detail.scroll, meaning, page, most);
        }
    }
    (Some(Dialog::Detail(detail)), Vec::new())
}

/// Does what is chosen on the page of a server.
fn act(state: &mut State, detail: Detail, now: u64) -> (Option<Dialog>, Vec<Effect>) {
    let server = detail.server.clone();
    let effects = match detail.action(state) {
        None => Vec::new(),
        Some(Action::View) => return (Some(Dialog::Offers { detail, scroll: 0 }), Vec::new()),
        Some(Action::Reconnect) => command::reconnect(state, &server),
        Some(Action::Approve) => questions::choose(state, &server, now),
        Some(Action::Reject) => questions::reject(state, &server),
        Some(Action::Enable) => vec![Effect::Switch(server, Switched::On)],
        Some(Action::Disable) => vec![Effect::Switch(server, Switched::Off)],
    };
    (Some(Dialog::Detail(detail)), effects)
}

fn line(state: &mut State, key: KeyEvent, now: u64) -> Vec<Effect> {
    match (key.modifiers, key.code) {
        (_, KeyCode::Enter) => return command::enter(state, now),
        (KeyModifiers::CONTROL, KeyCode::Char('d')) if state.input.is_empty() => {
            return vec![Effect::Quit(EndReason::Quit)];
        }
        (_, KeyCode::Tab) => complete::step(state, Turn::Next),
        (_, KeyCode::BackTab) => complete::step(state, Turn::Before),
        (KeyModifiers::CONTROL, KeyCode::Char('p')) | (_, KeyCode::Up) => state.input.back(),
        (KeyModifiers::CONTROL, KeyCode::Char('n')) | (_, KeyCode::Down) => state.input.forward(),
        (_, KeyCode::Esc) if state.input.completion.is_some() => state.input.completion = None,
        (_, KeyCode::Esc) => match cancel(state) {
            Some(effects) => return effects,
            None => state.input.set(""),
        },
        (_, KeyCode::Char('?')) if state.input.is_empty() => {
            state.say(Line::new(Tone::Quiet, "type /help for what can be typed"));
        }
        _ => state.input.edit(key),
    }
    Vec::new()
}
