//! When does a question appear, and when does it go by itself? The queue says who is asked about; what is shown is looked
//! up outside and comes back here, where it counts only if it is still the question.

use qwen_approvals::Verdict;
use qwen_core::ServerName;

use super::super::{
    event::{Decided, Effect},
    focus::{Layer, focus},
    line::Line,
    question::{About, OpenQuestion, Reading, same},
    state::State,
    view::most_scroll,
};
use crate::{
    asking::{Asked, Reply, Said, decisions},
    derive::Promptable,
    hot_reload::Holds,
    question::Question,
    text::{Tone, visible},
};

/// Asks what the queue asks now, where it is another question than before.
pub(super) fn ask(state: &mut State) -> Vec<Effect> {
    if matches!(&state.question, Some(OpenQuestion { about: About::Chosen(..), .. })) {
        // Somebody is deciding about a server of their choice; the queue comes after that.
        return Vec::new();
    }
    let derived = std::sync::Arc::clone(&state.derived);
    let asked = state.asking.next(&derived);
    if let Some(gone) = state.question.take_if(|open| !open.is_of(state.asking.current()))
        && let Some(line) = gone_line(&gone, state)
    {
        state.say(line);
    }
    match asked {
        Some(Asked::Folder) => {
            state.question = Some(OpenQuestion::folder(&state.root));
            Vec::new()
        }
        Some(Asked::Server(asked)) => {
            vec![Effect::LookUp(vec![(*asked).clone()], About::Queued(asked))]
        }
        Some(Asked::Servers(_)) | None => Vec::new(),
    }
}

/// That a question went without an answer from here.
fn gone_line(gone: &OpenQuestion, state: &State) -> Option<Line> {
    let name = match &gone.about {
        About::Queued(asked) | About::Chosen(asked, _) => &asked.name,
        About::Folder => return Some(Line::new(Tone::Quiet, "the folder is no longer asked about")),
        About::All(_) => return Some(Line::new(Tone::Quiet, "what waits for approval has changed")),
    };
    let shown = visible(name.as_str());
    let text = match state.derived.promptable.get(name) {
        Some(_) => format!("the entry of {shown} changed while it was asked about"),
        None => format!("{shown} is no longer asked about: it was decided or changed elsewhere"),
    };
    Some(Line::new(Tone::Quiet, &text))
}

/// Shows what was looked up, if it is still what is asked.
pub(super) fn looked_up(state: &mut State, looked_up: Vec<Question>, about: About) {
    let waiting = state.derived.promptable.len();
    let open = OpenQuestion::about(about, &looked_up, waiting);
    let counts = match &open.about {
        About::Chosen(asked, _) => entry(state, &asked.name).is_some_and(|entry| same(&entry, asked)),
        About::Folder | About::Queued(_) | About::All(_) => open.is_of(state.asking.current()),
    };
    if counts {
        state.question = Some(open);
    }
}

/// Keeps in mind that the end of a question is on the screen.
pub(super) fn is_seen(state: &mut State, now: u64) {
    let begun = state.question.as_ref().filter(|open| open.read == Reading::Begun).map(|open| open.scroll);
    if let Some(scroll) = begun
        && focus(state).shown == Layer::Question
        && most_scroll(state, Layer::Question, now) <= scroll
        && let Some(open) = &mut state.question
    {
        open.read = Reading::Enough;
    }
}

/// The files mean something else: a question that somebody chose is about an entry that may have changed.
pub(super) fn entries_changed(state: &mut State) {
    let derived = &state.derived;
    let gone = state.question.take_if(|open| match &open.about {
        About::Chosen(asked, decision) => !derived
            .gated
            .get(&asked.name)
            .is_some_and(|gated| same(&gated.asked, asked) && gated.decision == *decision),
        About::Folder | About::Queued(_) | About::All(_) => false,
    });
    if let Some(line) = gone.and_then(|gone| gone_line(&gone, state)) {
        state.say(line);
    }
}

/// The entry of a name that can be decided about.
fn entry(state: &State, name: &ServerName) -> Option<Promptable> {
    state.derived.gated.get(name).map(|gated| gated.asked.clone())
}

/// Asks about a server that somebody chose, whatever was decided about it before.
pub(super) fn choose(state: &mut State, name: &ServerName, now: u64) -> Vec<Effect> {
    state.answered_at = now;
    match state.derived.gated.get(name) {
        Some(gated) => {
            let asked = gated.asked.clone();
            vec![Effect::LookUp(vec![asked.clone()], About::Chosen(Box::new(asked), gated.decision))]
        }
        None => Vec::new(),
    }
}

/// Says no to a server that somebody chose.
pub(super) fn reject(state: &State, name: &ServerName) -> Vec<Effect> {
    let answers = entry(state, name).map(|asked| decisions([&asked], Verdict::Reject));
    vec![Effect::Decide(answers.unwrap_or_default().into_iter().map(Decided).collect())]
}

/// Takes the answer that is chosen, or another one.
pub(super) fn answer(state: &mut State, said: Said, now: u64) -> Vec<Effect> {
    let Some(open) = state.question.take() else { return Vec::new() };
    state.answered_at = now;
    let mut effects = Vec::new();
    let reply = match &open.about {
        About::Chosen(asked, _) => match said {
            Said::Yes => Reply::Decide(decisions([&**asked], Verdict::Approve)),
            Said::Reject => Reply::Decide(decisions([&**asked], Verdict::Reject)),
            Said::All | Said::NotNow => Reply::Nothing,
        },
        About::Folder | About::Queued(_) | About::All(_) => {
            let derived = std::sync::Arc::clone(&state.derived);
            state.asking.say(said, &derived)
        }
    };
    match reply {
        Reply::Decide(answers) => {
            effects.push(Effect::Decide(answers.into_iter().map(Decided).collect()));
        }
        Reply::Trust(word) => effects.push(Effect::Trust(word)),
        Reply::ShowAll(all) => return vec![Effect::LookUp(all.clone(), About::All(all))],
        Reply::NotNow | Reply::Again | Reply::Nothing => {}
    }
    effects.extend(ask(state));
    effects
}

/// Says what was decided, once it counts.
pub(super) fn decided(state: &mut State, Decided(answer): &Decided, holds: Holds) {
    let (tone, word) = match answer.verdict {
        Verdict::Approve => (Tone::Good, "approved"),
        Verdict::Reject => (Tone::Attention, "rejected"),
    };
    let hash: String = answer.hash.to_string().chars().take(12).collect();
    // Why it could not be recorded is a notice of its own.
    let how_long = match holds {
        Holds::ForGood => "",
        Holds::ThisSession => ", for this session only",
    };
    let text = format!("{word} {} (hash {hash}…){how_long}", visible(answer.server.as_str()));
    state.say(Line::new(tone, &text));
}
