//! Why can what somebody asks for not be used, and how does the command end? The reasons of core in words, as a line and
//! as JSON. It connects nothing.

use qwen_core::{CallError, Phase, Refusal, ServerName, Unavailable};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    derive::Derived,
    exit::Exit,
    output,
    text::{below, visible},
    words::{self, Background, Words},
};

/// Why something cannot be used.
#[derive(Clone, Serialize, PartialEq, Eq, Debug)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Problem {
    /// A word for programs.
    pub(crate) reason: &'static str,
    /// One sentence.
    pub(crate) message: String,
    /// What to do.
    pub(crate) next_step: Option<String>,
    /// Of which server, where that is known.
    pub(crate) server: Option<String>,
    #[serde(skip)]
    pub(crate) exit: ExitOf,
}

/// How the command ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ExitOf {
    /// Nobody has it, or it did not work.
    Failed,
    /// What was typed cannot be sent.
    Usage,
    /// The gate stands against it.
    Blocked,
    /// The server could not be connected.
    ServersFailed,
    /// Somebody pressed Ctrl-C.
    Interrupted,
}

impl ExitOf {
    fn exit(self) -> Exit {
        match self {
            Self::Failed => Exit::Failed,
            Self::Usage => Exit::Usage,
            Self::Blocked => Exit::Blocked,
            Self::ServersFailed => Exit::ServersFailed,
            Self::Interrupted => Exit::Interrupted,
        }
    }
}

/// How a problem is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    Text,
    Json,
}

impl Problem {
    pub(crate) fn new(reason: &'static str, message: impl Into<String>, exit: ExitOf) -> Self {
        Self { reason, message: message.into(), next_step: None, server: None, exit }
    }

    fn about(mut self, server: &ServerName, next_step: Option<String>) -> Self {
        self.server = Some(server.as_str().to_owned());
        self.next_step = next_step;
        self
    }

    /// The gate refuses the server.
    pub(crate) fn refused(
        back: Background<'_>,
        derived: &Derived,
        server: &ServerName,
        refusal: &Refusal,
    ) -> Self {
        let Words { cause, next_step } = words::of_refusal(refusal, server, derived.rows.get(server), back);
        let cause = cause.unwrap_or_else(|| refusal.as_str().to_owned());
        let message = format!("the server {} may not connect: {cause}", visible(server.as_str()));
        Self::new(refusal.as_str(), message, ExitOf::Blocked).about(server, next_step)
    }

    /// The server was admitted and is not connected.
    pub(crate) fn not_connected(
        back: Background<'_>,
        derived: &Derived,
        server: &ServerName,
        phase: &Phase,
    ) -> Self {
        let words = words::of_phase(phase, server, derived.rows.get(server), back);
        let cause = words.cause.unwrap_or_default();
        let message = format!("the server {} could not be connected: {cause}", visible(server.as_str()));
        Self::new(phase.state().as_str(), message, ExitOf::ServersFailed).about(server, words.next_step)
    }

    /// A reason of core.
    pub(crate) fn unavailable(back: Background<'_>, derived: &Derived, unavailable: &Unavailable) -> Self {
        let near = |nearest: &[String]| match nearest {
            [] => back.prompt.list_names().to_owned(),
            near => format!(
                "did you mean {}?",
                near.iter().map(|name| visible(name)).collect::<Vec<_>>().join(" or ")
            ),
        };
        match unavailable {
            Unavailable::Unknown { nearest } => Self {
                next_step: Some(near(nearest)),
                ..Self::new("unknown", "no configured server provides it", ExitOf::Failed)
            },
            Unavailable::NotOffered { server, nearest } => {
                let message =
                    format!("the server {} is connected and does not offer it", visible(server.as_str()));
                Self::new("not_offered", message, ExitOf::Failed).about(server, Some(near(nearest)))
            }
            Unavailable::Removed { server } => {
                let words = words::of_removed();
                let message = format!("the server {} was removed", visible(server.as_str()));
                Self::new("removed", message, ExitOf::Failed).about(server, words.next_step)
            }
            Unavailable::Refused { server, refusal } => Self::refused(back, derived, server, refusal),
            Unavailable::Connecting { server } => {
                let message = format!("the server {} did not answer in time", visible(server.as_str()));
                let step = Some(back.prompt.give_time().to_owned());
                Self::new("failed", message, ExitOf::ServersFailed).about(server, step)
            }
            Unavailable::Failed { server, failure } => {
                let phase = Phase::Failed { failure: failure.clone(), retry_at_unix_ms: None };
                Self::not_connected(back, derived, server, &phase)
            }
        }
    }

    /// A call that was made and did not answer.
    pub(crate) fn of_call(error: &CallError, server: &ServerName) -> Self {
        let (reason, exit) = match error {
            CallError::Interrupted => ("interrupted", ExitOf::Failed),
            CallError::Lost(_) => ("lost", ExitOf::Failed),
            CallError::Unanswered(_) => ("unanswered", ExitOf::Failed),
            CallError::AskedBack(_) => ("asked_back", ExitOf::Failed),
            CallError::TimedOut(_) | CallError::Idle(_) => ("timed_out", ExitOf::Failed),
            CallError::Cancelled => ("cancelled", ExitOf::Interrupted),
            CallError::CancelledByServer(_) => ("cancelled_by_server", ExitOf::Failed),
            CallError::Protocol { .. } => ("protocol_error", ExitOf::Failed),
        };
        let step = match error {
            // The server may have done it before the answer was lost.
            CallError::Lost(_) | CallError::Unanswered(_) => {
                Some("it may pass; before you call it again, check whether it was done".to_owned())
            }
            CallError::Interrupted
            | CallError::TimedOut(_)
            | CallError::Idle(_)
            | CallError::AskedBack(_)
            | CallError::Cancelled
            | CallError::CancelledByServer(_)
            | CallError::Protocol { .. } => None,
        };
        Self::new(reason, error.to_string(), exit).about(server, step)
    }

    /// Says it, and gives the exit.
    pub(crate) fn tell(&self, form: Form) -> Exit {
        match form {
            Form::Json => output::print_json(&self.document()),
            Form::Text => output::note(&self.lines(output::width())),
        }
        self.exit.exit()
    }

    /// As programs read it.
    fn document(&self) -> Value {
        json!({ "error": self })
    }

    /// As people read it.
    fn lines(&self, width: usize) -> String {
        let step = self.next_step.as_deref().map(|step| below("next: ", &visible(step), width));
        let said = format!("qwen: {}\n{}", visible(&self.message), step.unwrap_or_default());
        said.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests;
