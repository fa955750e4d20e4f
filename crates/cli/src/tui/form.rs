//! What does a server ask the person, and what of an answer is typed so far? A form with one field for each property of
//! the schema that the server sent, which is checked before anything is sent. It knows no connection.

mod field;

use qwen_core::{QuestionReply, ServerQuestion};
use serde_json::{Map, Value};

use self::field::{Field, Need};
use super::{
    focus::Guard,
    line::Line,
    panel::{Panel, Scroll, Turn},
};
use crate::{
    commands::first_error,
    text::{Tone, visible},
};

/// Which form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct FormId(pub(super) u64);

/// A question of a server as it is filled in.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Form {
    /// Which.
    pub(super) id: FormId,
    question: ServerQuestion,
    fields: Vec<Field>,
    /// Index of the field that takes keys; behind the last come the buttons.
    at: usize,
    button: usize,
    problem: Option<String>,
    /// Lines above the first that is seen; none where what takes the keys is kept in sight.
    scroll: Option<usize>,
    /// Whether it has the keys yet.
    pub(super) guard: Guard,
    /// How often the server asked more while this is open.
    more: u32,
}

/// What a key does to a form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FormKey {
    /// To another field, or to the buttons.
    Move(Turn),
    /// Another of several values, or another button.
    Side(Turn),
    /// A character.
    Type(char),
    /// The last character goes.
    Erase,
    /// On a field the next one; on a button do it.
    Enter,
}

const BUTTONS: [&str; 3] = ["Answer", "Refuse", "Not now"];
/// The one that says nothing.
const NOT_NOW: usize = 2;

impl Form {
    /// A form for a question, with its defaults.
    pub(super) fn new(id: FormId, question: ServerQuestion) -> Self {
        let nothing = Map::new();
        let properties = question.schema.get("properties").and_then(Value::as_object).unwrap_or(&nothing);
        let required = question.schema.get("required").and_then(Value::as_array);
        let need = |name: &str| match required {
            Some(names) if names.iter().any(|required| required.as_str() == Some(name)) => Need::Required,
            Some(_) | None => Need::Optional,
        };
        let fields: Vec<Field> =
            properties.iter().map(|(name, schema)| Field::new(name, schema, need(name))).collect();
        // A key that was meant for something else sends nothing.
        let button = if fields.is_empty() { NOT_NOW } else { 0 };
        Self {
            id,
            question,
            fields,
            at: 0,
            button,
            problem: None,
            scroll: Some(0),
            guard: Guard::default(),
            more: 0,
        }
    }

    /// As the transcript names it.
    pub(super) fn server(&self) -> &str {
        self.question.server.as_str()
    }

    /// Counts that its server asks something else, and says how often it did.
    pub(super) fn asked_again(&mut self) -> u32 {
        self.more = self.more.saturating_add(1);
        self.more
    }

    /// Takes a key; what the person says comes back when they have said it.
    pub(super) fn take(&mut self, key: FormKey) -> Option<QuestionReply> {
        let places = self.fields.len() + 1;
        self.scroll = None;
        match (key, self.fields.get_mut(self.at)) {
            (FormKey::Move(turn), _) => self.at = turn.within(self.at, places),
            (FormKey::Enter, Some(_)) => self.at = Turn::Next.within(self.at, places),
            (FormKey::Side(turn), Some(field)) => field.turn(turn),
            (FormKey::Type(c), Some(field)) => field.push(c),
            (FormKey::Erase, Some(field)) => field.pop(),
            (FormKey::Side(turn), None) => self.button = turn.between(self.button, BUTTONS.len()),
            (FormKey::Type(_) | FormKey::Erase, None) => {}
            (FormKey::Enter, None) => {
                return match self.button {
                    0 => self.answer(),
                    1 => Some(QuestionReply::Decline),
                    _ => Some(QuestionReply::Cancel),
                };
            }
        }
        None
    }

    /// Scrolls so many lines, no further than to the last that can be the first.
    pub(super) fn page(&mut self, turn: Turn, lines: usize, most: usize) {
        let from = self.scroll.unwrap_or(most).min(most);
        self.scroll = Some(match turn {
            Turn::Next => (from + lines).min(most),
            Turn::Before => from.saturating_sub(lines),
        });
    }

    /// Takes pasted text; nothing of what does not fit.
    pub(super) fn paste(&mut self, text: &str) {
        if let Some(field) = self.fields.get_mut(self.at) {
            if !field.holds(text.len()) {
                self.problem = Some("that is too long to paste: a field holds 64 KiB".to_owned());
                return;
            }
            text.chars().filter(|c| !c.is_control()).for_each(|c| field.push(c));
        }
    }

    /// The answer, where every field is as the server wants it; else the first that is not takes the keys.
    fn answer(&mut self) -> Option<QuestionReply> {
        let mut answer = Map::new();
        for (index, field) in self.fields.iter().enumerate() {
            match field.value() {
                Ok(Some(value)) => {
                    answer.insert(field.name.clone(), value);
                }
                Ok(None) => {}
                Err(problem) => {
                    self.problem = Some(format!("{}: {problem}", visible(field.label())));
                    self.at = index;
                    return None;
                }
            }
        }
        let answer = Value::Object(answer);
        if let Some(wrong) = first_error(&self.question.schema, &answer) {
            self.problem = Some(wrong.to_string());
            return None;
        }
        Some(QuestionReply::Accept(answer))
    }

    /// The box.
    pub(super) fn panel(&self, width: usize) -> Panel {
        // Whoever asks stays in sight, however much is asked.
        let head = Line::new(Tone::Attention, "the server ")
            .and(Tone::Strong, self.server())
            .and(Tone::Attention, " asks; what you answer goes to it")
            .wrapped(width, 0);
        let message = Line::of_text(Tone::Normal, &self.question.message);
        let mut lines: Vec<Line> = message.iter().flat_map(|line| line.wrapped(width, 0)).collect();
        lines.push(Line::default());
        let mut seen = 0;
        for (index, field) in self.fields.iter().enumerate() {
            if index == self.at {
                seen = lines.len();
            }
            lines.extend(field.lines(index == self.at).iter().flat_map(|line| line.wrapped(width, 4)));
        }
        if let Some(problem) = &self.problem {
            lines.extend(Line::new(Tone::Bad, problem).wrapped(width, 2));
        }
        let on_buttons = self.at >= self.fields.len();
        if on_buttons {
            seen = lines.len();
        }
        Panel {
            title: format!("A question of {}", visible(self.server())),
            head,
            lines,
            scroll: Scroll::From(self.scroll.unwrap_or(seen.saturating_sub(3))),
            choices: BUTTONS.iter().map(|&button| button.to_owned()).collect(),
            chosen: if on_buttons { self.button } else { BUTTONS.len() },
            keys: "↑↓ field · ←→ choose · PgDn scroll · Enter next, then answer · Esc not now".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
