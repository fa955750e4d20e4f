//! What can happen to the interactive session, and what it can ask for? One closed list each: everything that moves the
//! state comes in as an [`Event`], everything that acts goes out as an [`Effect`].

use std::sync::Arc;

use crossterm::event::KeyEvent;
use qwen_core::{Progress, QuestionReply, ServerName, ServerQuestion, Status};

use super::{asked::Wish, form::FormId, line::Line, question::About};
use crate::{
    asking::FolderWord,
    commands::Switched,
    derive::{Derived, Promptable},
    events::EndReason,
    hot_reload::{Answer, CliEvent, Holds},
    question::Question,
    settings::Snapshot,
};

/// One thing that happened.
#[derive(Debug)]
pub(super) enum Event {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The terminal has another size.
    Resized(Size),
    /// The session runs: the first commit is planned.
    Started,
    /// Core has a newer status.
    Status(Arc<Status>),
    /// The files mean something else.
    Facts(Arc<Derived>, Arc<Snapshot>),
    /// Something happened to files or approvals.
    Cli(CliEvent),
    /// What a question shows was looked up.
    Questions(Vec<Question>, About),
    /// A server asks the person.
    Asked(FormId, ServerQuestion),
    /// A question of a server is of no use any more.
    TakenBack(FormId),
    /// A running use made progress.
    Progress(UseId, Progress),
    /// A running use is over; this is what came of it.
    Ended(UseId, Vec<Line>),
    /// An answer counts now.
    Decided(Decided, Holds),
    /// Something that was asked for was done, or failed, with this to say.
    Said(Vec<Line>),
    /// Time went on.
    Tick,
}

/// What is to be done about it.
#[derive(Debug)]
pub(super) enum Effect {
    /// End the session.
    Quit(EndReason),
    /// Give the terminal back until the shell wakes us.
    Suspend,
    /// Read all files again and hold nothing back.
    Reload,
    /// Try a server again.
    Reconnect(ServerName),
    /// Record these answers.
    Decide(Vec<Decided>),
    /// Record whether the folder is trusted.
    Trust(FolderWord),
    /// Find out what a question about these entries shows.
    LookUp(Vec<Promptable>, About),
    /// Use something that a server offers.
    Use(UseId, Wish),
    /// Tell a server what the person says.
    Reply(FormId, QuestionReply),
    /// Give a use up; its server is told.
    Cancel(UseId),
    /// Put a name into the user's excluded list, or take it out.
    Switch(ServerName, Switched),
    /// Tell what was decided in this project.
    Approvals,
    /// Keep a line that was typed.
    Remember(String),
}

/// One answer; shown in a log without the entry, which may hold secrets.
#[derive(Clone)]
pub(super) struct Decided(pub(super) Answer);

impl std::fmt::Debug for Decided {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Decided").field(&self.0.server).field(&self.0.verdict).finish()
    }
}

/// Which use of a tool, prompt or resource.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct UseId(pub(super) u64);

/// Columns and rows of the terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Size {
    /// How wide.
    pub(super) columns: u16,
    /// How high.
    pub(super) rows: u16,
}
