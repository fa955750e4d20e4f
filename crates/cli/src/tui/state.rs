//! What does the interactive session know at one moment? Everything that a screen is drawn from, as one value. It moves
//! by `update` alone, draws nothing and does nothing.

use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use qwen_core::{Phase, Progress, ServerName, State as ServerState, Status};

use super::{
    dialog::Dialog,
    event::{Size, UseId},
    focus,
    form::Form,
    help::Help,
    input::Input,
    line::Line,
    notices::Notices,
    question::OpenQuestion,
};
use crate::{
    asking::Asking,
    derive::Derived,
    settings::Snapshot,
    teller::{Facts, Teller},
    text::Paint,
    words::{Background, Prompt},
};

/// The interactive session.
pub(super) struct State {
    /// The project.
    pub(super) root: PathBuf,
    /// Whether there is colour.
    pub(super) paint: Paint,
    /// Of the terminal.
    pub(super) size: Size,
    /// The newest status.
    pub(super) status: Arc<Status>,
    /// What the files mean.
    pub(super) derived: Arc<Derived>,
    /// The files.
    pub(super) snapshot: Arc<Snapshot>,
    /// Whether the first commit is planned.
    pub(super) life: Life,
    /// Told, and not yet in the scroll-back.
    pub(super) transcript: Vec<Line>,
    /// Puts what happens into words, each once.
    pub(super) teller: Teller,
    /// What happened in the last moments, not yet told for good.
    pub(super) notices: Notices,
    /// What is typed.
    pub(super) input: Input,
    /// What runs, oldest first.
    pub(super) running: Vec<Running>,
    /// The number of the next use.
    pub(super) next_use: u64,
    /// The queue of questions.
    pub(super) asking: Asking,
    /// The question on the screen.
    pub(super) question: Option<OpenQuestion>,
    /// What servers ask, the oldest on the screen.
    pub(super) forms: VecDeque<Form>,
    /// How often in a row a server asked and got no answer.
    pub(super) put_off: BTreeMap<ServerName, u32>,
    /// The list of servers, or one of them.
    pub(super) dialog: Option<Dialog>,
    /// The help, above everything else.
    pub(super) help: Option<Help>,
    /// Until when another Ctrl-C ends the session, in milliseconds since 1970.
    pub(super) quit_until: Option<u64>,
    /// When a key was pressed last, in milliseconds since 1970.
    pub(super) keyed_at: u64,
    /// When a key last answered something, or asked to be asked, in milliseconds since 1970.
    pub(super) answered_at: u64,
}

/// Whether the session runs yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Life {
    /// The screen is there before anything is connected.
    Starting,
    /// The first commit is planned.
    Running,
}

/// One use of a tool, prompt or resource that is under way.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Running {
    /// Which.
    pub(super) id: UseId,
    /// Such as `call mcp__github__search`.
    pub(super) label: String,
    /// Milliseconds since 1970.
    pub(super) since: u64,
    /// The newest notice.
    pub(super) progress: Option<Progress>,
    /// Whether it was given up.
    pub(super) course: Course,
    /// Whether what comes of it must say what it is of.
    pub(super) company: Company,
}

/// Whether a use has the screen for itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Company {
    /// Nothing else ran while it did.
    Alone,
    /// Others did.
    Others,
}

/// How a use goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Course {
    /// Towards its answer.
    Going,
    /// The server was told; its answer to that ends it.
    Cancelling,
}

/// What a screen begins with.
pub(super) struct Opening {
    /// The project.
    pub(super) root: PathBuf,
    /// Whether there is colour.
    pub(super) paint: Paint,
    /// Of the terminal.
    pub(super) size: Size,
    /// What the files mean at start.
    pub(super) derived: Arc<Derived>,
    /// The files at start.
    pub(super) snapshot: Arc<Snapshot>,
    /// Lines typed before, oldest first.
    pub(super) history: Vec<String>,
}

impl State {
    /// Before anything is connected.
    pub(super) fn new(opening: Opening) -> Self {
        let Opening { root, paint, size, derived, snapshot, history } = opening;
        Self {
            root,
            paint,
            size,
            status: Arc::default(),
            derived,
            snapshot,
            life: Life::Starting,
            transcript: Vec::new(),
            teller: Teller::default(),
            notices: Notices::default(),
            input: Input::new(history),
            running: Vec::new(),
            next_use: 1,
            asking: Asking::default(),
            question: None,
            forms: VecDeque::new(),
            put_off: BTreeMap::new(),
            dialog: None,
            help: None,
            quit_until: None,
            keyed_at: 0,
            answered_at: 0,
        }
    }

    /// What the words point to.
    pub(super) fn background(&self) -> Background<'_> {
        Background { snapshot: &self.snapshot, root: &self.root, prompt: Prompt::Session }
    }

    /// Says a line for good.
    pub(super) fn say(&mut self, line: Line) {
        self.transcript.push(line);
    }

    /// Hands over what was told, broken between words for the terminal as it is.
    pub(super) fn take_transcript(&mut self) -> Vec<Line> {
        let columns = usize::from(self.size.columns);
        std::mem::take(&mut self.transcript).iter().flat_map(|line| line.at_words(columns)).collect()
    }

    /// Lets the teller tell with what is known now.
    pub(super) fn with_facts<T>(&mut self, tell: impl FnOnce(&mut Teller, Facts<'_>) -> T) -> T {
        let back = Background { snapshot: &self.snapshot, root: &self.root, prompt: Prompt::Session };
        let facts = Facts { derived: &self.derived, back };
        tell(&mut self.teller, facts)
    }

    /// How often something on the screen changes by itself as time goes on; `None` where nothing does.
    pub(super) fn moves_every(&self) -> Option<Duration> {
        let is_moving = !self.running.is_empty()
            || self.notices.is_open()
            || self.quit_until.is_some()
            || focus::is_waiting(self);
        match self.dialog {
            _ if is_moving => Some(Duration::from_millis(200)),
            // It says for how long and in how many seconds.
            Some(Dialog::Detail(_)) => Some(Duration::from_secs(1)),
            Some(Dialog::List { .. } | Dialog::Offers { .. }) | None => None,
        }
    }

    /// What a server is doing; `None` when it is not in the map.
    pub(super) fn phase(&self, name: &ServerName) -> Option<&Phase> {
        self.status.servers.get(name).map(|server| &server.phase)
    }

    /// How many servers are in a state.
    pub(super) fn count(&self, is: impl Fn(ServerState) -> bool) -> usize {
        self.status.servers.values().filter(|server| is(server.phase.state())).count()
    }
}
