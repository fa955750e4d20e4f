//! What is on top, and who has the keys? One answer for keys, interrupts, pastes and the screen. What asks by itself is
//! seen at once and gets the keys only when nobody has typed for a moment. It draws nothing and acts on nothing.

use super::state::State;

/// What asks by itself gets the keys after so many milliseconds without one.
pub(super) const QUIET: u64 = 500;

/// What can stand above the line that is typed, and that line; the first of those that are there is on top.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layer {
    /// The help.
    Help,
    /// The question about a server or the folder.
    Question,
    /// What a server asks.
    Form,
    /// The list of servers, or one of them.
    Dialog,
    /// What is typed.
    Line,
}

/// Who has the keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keys {
    /// This one.
    Of(Layer),
    /// They are lost: somebody has just answered, and what follows at once is meant for nothing that is here.
    Nobody,
}

/// What is on top, and who has the keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Focus {
    /// On top.
    pub(super) shown: Layer,
    /// Not always that: it may have appeared in mid-word.
    pub(super) keys: Keys,
}

/// Whether something that asks by itself may be answered yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Guard {
    /// It is covered by something else.
    #[default]
    Unseen,
    /// On top since then, in milliseconds since 1970; keys go on to whatever had them.
    Seen(u64),
    /// It was seen, and nobody typed for a moment.
    Open,
}

impl Guard {
    /// On top at this time, with the last key at that one.
    fn on_top(self, keyed_at: u64, now: u64) -> Self {
        match self {
            Self::Unseen => Self::Seen(now),
            Self::Seen(since) if since.max(keyed_at) + QUIET <= now => Self::Open,
            Self::Seen(_) | Self::Open => self,
        }
    }

    fn covered(self) -> Self {
        match self {
            Self::Unseen | Self::Seen(_) => Self::Unseen,
            Self::Open => Self::Open,
        }
    }
}

/// Who is on top, and who has the keys.
pub(super) fn focus(state: &State) -> Focus {
    let above = [
        state.help.as_ref().map(|_| (Layer::Help, Guard::Open)),
        state.question.as_ref().map(|question| (Layer::Question, question.guard)),
        state.forms.front().map(|form| (Layer::Form, form.guard)),
        state.dialog.as_ref().map(|_| (Layer::Dialog, Guard::Open)),
    ];
    let mut shown = None;
    for (layer, guard) in above.into_iter().flatten() {
        let shown = *shown.get_or_insert(layer);
        match guard {
            Guard::Open => return Focus { shown, keys: Keys::Of(layer) },
            Guard::Seen(since) if since < state.answered_at + QUIET => {
                return Focus { shown, keys: Keys::Nobody };
            }
            Guard::Seen(_) | Guard::Unseen => {}
        }
    }
    Focus { shown: shown.unwrap_or(Layer::Line), keys: Keys::Of(Layer::Line) }
}

/// Lets what asks have the keys when its time has come; `now` is in milliseconds since 1970.
pub(super) fn settle(state: &mut State, now: u64) {
    let shown = focus(state).shown;
    let asking = [
        (Layer::Question, state.question.as_mut().map(|question| &mut question.guard)),
        (Layer::Form, state.forms.front_mut().map(|form| &mut form.guard)),
    ];
    for (layer, guard) in asking {
        if let Some(guard) = guard {
            *guard = if layer == shown { guard.on_top(state.keyed_at, now) } else { guard.covered() };
        }
    }
}

/// Whether something on top waits for the keys.
pub(super) fn is_waiting(state: &State) -> bool {
    let focus = focus(state);
    focus.keys != Keys::Of(focus.shown)
}
