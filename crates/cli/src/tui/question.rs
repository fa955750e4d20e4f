//! What does the question on the screen show, and what can be answered? It decides nothing: who is asked about is the
//! queue's business.

use std::path::Path;

use qwen_core::Decision;

use super::{
    focus::Guard,
    line::Line,
    panel::{Panel, Scroll, Turn},
};
use crate::{
    asking::{Asked, Said},
    derive::Promptable,
    question::{Question, question_lines},
    text::Tone,
};

/// A question, as it was looked up.
#[derive(Debug)]
pub(super) struct OpenQuestion {
    /// Whom it is about.
    pub(super) about: About,
    lines: Vec<Line>,
    choices: Vec<Choice>,
    chosen: usize,
    /// Lines above the first that is seen.
    pub(super) scroll: usize,
    /// Whether it has the keys yet.
    pub(super) guard: Guard,
    /// How much of it was seen.
    pub(super) read: Reading,
}

/// How much of a question somebody has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reading {
    /// Its end was never on the screen, and a yes would be about something unseen.
    Begun,
    /// All that a yes is about.
    Enough,
}

/// Whom a question is about, and who asked it.
#[derive(Debug)]
pub(super) enum About {
    /// The folder; the queue asks.
    Folder,
    /// The server that the queue asks about.
    Queued(Box<Promptable>),
    /// All that wait, together.
    All(Vec<Promptable>),
    /// A server that somebody chose in the dialog, and what was decided about it then.
    Chosen(Box<Promptable>, Decision),
}

/// One of the answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Choice {
    /// What it says.
    pub(super) said: Said,
    label: &'static str,
}

const fn choice(said: Said, label: &'static str) -> Choice {
    Choice { said, label }
}

const NOT_NOW: Choice = choice(Said::NotNow, "Not now");

impl OpenQuestion {
    /// About the folder.
    pub(super) fn folder(root: &Path) -> Self {
        let lines = vec![
            Line::new(Tone::Attention, "Do you trust the files in this folder?"),
            Line::new(Tone::Strong, &format!("  {}", root.display())),
            Line::default(),
            Line::new(Tone::Normal, "Until you do, no server is connected here."),
        ];
        let choices = vec![choice(Said::Yes, "Trust"), choice(Said::Reject, "Do not trust"), NOT_NOW];
        Self::new(About::Folder, lines, choices)
    }

    /// About entries that were looked up; `waiting` is how many wait in all.
    pub(super) fn about(about: About, questions: &[Question], waiting: usize) -> Self {
        let mut lines = Vec::new();
        for question in questions {
            if !lines.is_empty() {
                lines.push(Line::default());
            }
            lines.extend(question_lines(question).iter().map(|(tone, text)| Line::new(*tone, text)));
        }
        let choices = match &about {
            About::Folder => Vec::new(),
            About::Queued(_) if waiting > 1 => vec![
                choice(Said::Yes, "Approve"),
                choice(Said::All, "Approve all…"),
                choice(Said::Reject, "Reject"),
                NOT_NOW,
            ],
            About::Queued(_) | About::Chosen(..) => {
                vec![choice(Said::Yes, "Approve"), choice(Said::Reject, "Reject"), NOT_NOW]
            }
            About::All(_) => vec![choice(Said::Yes, "Approve all of these"), choice(Said::NotNow, "Back")],
        };
        Self::new(about, lines, choices)
    }

    /// What is chosen at first decides nothing, and a yes is never one step away from it: where there are but two
    /// answers nothing is chosen, which stands behind the last.
    fn new(about: About, lines: Vec<Line>, choices: Vec<Choice>) -> Self {
        let chosen = choices.len().saturating_sub(1).max(2);
        let read = match about {
            About::All(_) => Reading::Begun,
            About::Folder | About::Queued(_) | About::Chosen(..) => Reading::Enough,
        };
        Self { about, lines, choices, chosen, scroll: 0, guard: Guard::default(), read }
    }

    /// The answer that is chosen.
    pub(super) fn said(&self) -> Said {
        self.choices.get(self.chosen).map_or(Said::NotNow, |choice| choice.said)
    }

    /// Chooses another answer; the ends are ends, so that no key leads round to a yes. There is no yes to what was not
    /// seen to its end.
    pub(super) fn turn(&mut self, turn: Turn) {
        let next = turn.between(self.chosen, self.choices.len());
        let is_yes = self.choices.get(next).is_some_and(|choice| choice.said == Said::Yes);
        if self.read == Reading::Enough || !is_yes {
            self.chosen = next;
        }
    }

    /// Whether it is the one that the queue asks now.
    pub(super) fn is_of(&self, asked: Option<&Asked>) -> bool {
        match (&self.about, asked) {
            (About::Folder, Some(Asked::Folder)) => true,
            (About::Queued(shown), Some(Asked::Server(asked))) => same(shown, asked),
            (About::All(shown), Some(Asked::Servers(asked))) => {
                shown.len() == asked.len() && shown.iter().zip(asked).all(|(a, b)| same(a, b))
            }
            (About::Folder | About::Queued(_) | About::All(_) | About::Chosen(..), _) => false,
        }
    }

    /// The box.
    pub(super) fn panel(&self, width: usize) -> Panel {
        let title = match &self.about {
            About::Folder => "Trust".to_owned(),
            About::Queued(_) | About::Chosen(..) => "Approval".to_owned(),
            About::All(all) => format!("Approval of {} servers", all.len()),
        };
        Panel {
            title,
            lines: self.lines.iter().flat_map(|line| line.wrapped(width, 4)).collect(),
            scroll: Scroll::From(self.scroll),
            choices: self.choices.iter().map(|choice| choice.label.to_owned()).collect(),
            chosen: self.chosen,
            keys: match self.read {
                Reading::Enough => "←→ choose · Enter answer · ↑↓ scroll · Esc not now · ? help",
                Reading::Begun => "scroll ↓ to the end before you approve · ←→ choose · Esc back · ? help",
            }
            .to_owned(),
            ..Panel::default()
        }
    }
}

/// The same entry, to the byte.
pub(super) fn same(a: &Promptable, b: &Promptable) -> bool {
    a.name == b.name && a.hash == b.hash
}
