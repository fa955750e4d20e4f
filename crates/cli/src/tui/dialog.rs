//! Where in the list of servers is somebody, and what can be done there? The list is drawn from the newest status each
//! time; what is chosen is kept by its name, so that it stays while servers come and go.

mod detail;
mod rows;

use qwen_core::{Decision, Phase, Refusal, ServerName, State as ServerState};

use super::{
    panel::{Panel, Turn},
    state::State,
};
use crate::text::visible;

pub(super) use rows::{names, sign};

/// What is on the screen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Dialog {
    /// Every server.
    List {
        /// The chosen one; the first where it is gone.
        chosen: Option<ServerName>,
    },
    /// One server in full.
    Detail(Detail),
    /// What one server offers.
    Offers {
        /// Its page, to go back to.
        detail: Detail,
        /// Lines above the first that is seen.
        scroll: usize,
    },
}

/// Where somebody is on the page of one server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Detail {
    /// Which server.
    pub(super) server: ServerName,
    /// The chosen action; kept by what it does, since others come and go.
    pub(super) chosen: Option<Action>,
    /// Lines above the first that is seen.
    pub(super) scroll: usize,
}

/// What can be done about a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    /// See what it offers.
    View,
    /// Try it again.
    Reconnect,
    /// Be asked about it.
    Approve,
    /// Say no to it.
    Reject,
    /// Let it connect again.
    Enable,
    /// Keep it from connecting.
    Disable,
}

impl Action {
    /// Whether it writes nothing and decides nothing.
    fn is_harmless(self) -> bool {
        match self {
            Self::View | Self::Reconnect | Self::Approve => true,
            Self::Reject | Self::Enable | Self::Disable => false,
        }
    }

    /// As it is chosen.
    fn label(self) -> &'static str {
        match self {
            Self::View => "View what it offers",
            Self::Reconnect => "Reconnect",
            Self::Approve => "Approve…",
            Self::Reject => "Reject",
            Self::Enable => "Enable",
            Self::Disable => "Disable",
        }
    }
}

impl Detail {
    /// The page of a server, from its top.
    pub(super) fn of(server: ServerName) -> Self {
        Self { server, chosen: None, scroll: 0 }
    }

    /// The chosen action. At first the first one, where that does no harm; nothing takes the place of one that is gone.
    pub(super) fn action(&self, state: &State) -> Option<Action> {
        let actions = actions(state, &self.server);
        match self.chosen {
            Some(chosen) => actions.contains(&chosen).then_some(chosen),
            None => actions.first().copied().filter(|first| first.is_harmless()),
        }
    }

    /// Chooses another action.
    pub(super) fn turn(&mut self, state: &State, turn: Turn) {
        let actions = actions(state, &self.server);
        let now = self.action(state).and_then(|now| actions.iter().position(|&action| action == now));
        self.chosen = match (now, turn) {
            (Some(now), turn) => actions.get(turn.within(now, actions.len())).copied(),
            (None, Turn::Next) => actions.first().copied(),
            (None, Turn::Before) => actions.last().copied(),
        };
    }
}

/// The server that is chosen in the list.
pub(super) fn chosen(state: &State, wanted: Option<&ServerName>) -> Option<ServerName> {
    let names = names(state);
    wanted.filter(|wanted| names.contains(wanted)).or_else(|| names.first()).cloned()
}

/// Another one than the chosen one.
pub(super) fn turned(state: &State, wanted: Option<&ServerName>, turn: Turn) -> Option<ServerName> {
    let names = names(state);
    let now = chosen(state, wanted).and_then(|now| names.iter().position(|name| *name == now))?;
    names.get(turn.within(now, names.len())).cloned()
}

/// What can be done about a server in the state that it is in.
pub(super) fn actions(state: &State, server: &ServerName) -> Vec<Action> {
    let Some(phase) = state.phase(server) else { return Vec::new() };
    let mut actions = match phase.state() {
        ServerState::Connected => vec![Action::View, Action::Reconnect],
        ServerState::Failed | ServerState::NeedsAuth => vec![Action::Reconnect],
        ServerState::Connecting
        | ServerState::PendingApproval
        | ServerState::Rejected
        | ServerState::NotAllowed
        | ServerState::UntrustedFolder
        | ServerState::Invalid
        | ServerState::SettingsUnreadable
        | ServerState::Removed => Vec::new(),
        ServerState::Excluded | ServerState::Disabled => vec![Action::Enable],
    };
    if let Some(gated) = state.derived.gated.get(server) {
        match gated.decision {
            Decision::Undecided => actions.extend([Action::Approve, Action::Reject]),
            Decision::Rejected => actions.push(Action::Approve),
            Decision::Approved => actions.push(Action::Reject),
        }
        if gated.barrier.is_some() {
            // A yes would promise what does not happen.
            actions.retain(|action| *action != Action::Approve);
        }
    }
    let off = match phase {
        Phase::Refused(Refusal::Excluded { .. } | Refusal::Disabled) => None,
        Phase::Connected(_) | Phase::Connecting(_) | Phase::Failed { .. } | Phase::Refused(_) => {
            Some(Action::Disable)
        }
    };
    actions.extend(off);
    actions
}

/// What keys do where there is something to read.
const READING: &str = "↑↓ scroll · Esc back · ? help";
/// And where something can be done.
const ACTING: &str = "←→ choose · Enter do it · ↑↓ scroll · Esc back · ? help";

impl Dialog {
    /// The box.
    pub(super) fn panel(&self, state: &State, width: usize, now: u64) -> Panel {
        match self {
            Self::List { chosen } => rows::panel(state, chosen.as_ref(), width),
            Self::Detail(detail) => {
                let actions = actions(state, &detail.server);
                let chosen = detail.action(state);
                Panel {
                    title: visible(detail.server.as_str()).into_owned(),
                    lines: detail::lines(state, &detail.server, width, now),
                    scroll: super::panel::Scroll::From(detail.scroll),
                    chosen: actions
                        .iter()
                        .position(|action| Some(*action) == chosen)
                        .unwrap_or(actions.len()),
                    choices: actions.iter().map(|action| action.label().to_owned()).collect(),
                    keys: if actions.is_empty() { READING } else { ACTING }.to_owned(),
                    ..Panel::default()
                }
            }
            Self::Offers { detail, scroll } => Panel {
                title: format!("{} offers", visible(detail.server.as_str())),
                lines: detail::offers(state, &detail.server, width, *scroll),
                scroll: super::panel::Scroll::From(*scroll),
                keys: READING.to_owned(),
                ..Panel::default()
            },
        }
    }
}
