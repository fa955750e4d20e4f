//! `qwen mcp watch`: a session without a screen. Connects, watches, reloads, tells each thing that happens, asks on a
//! terminal, and ends with nothing left behind.

mod stdin;
mod writer;

use std::{
    io,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use qwen_core::Status;
use tokio::sync::{mpsc, oneshot, watch};

use self::{stdin::Typed, writer::Writer};
use crate::{
    app::{App, Session, StartError},
    args::{Global, WatchArgs},
    asking::{Asked, Asking, Reply},
    deciding,
    derive::{Derived, FolderQuestion, Promptable, Screen, Yolo},
    events::{EndReason, Event, Started, human_line, json_line},
    exit::Exit,
    hot_reload::{CliEvent, NoticeCode},
    output,
    settings::{Environment, Seen},
    signals::{HangupMeans, Signals, Told, hangup_means},
    teller::{Facts, Teller},
    text::Paint,
    words::{Background, Prompt},
};

/// How long servers get at the end of the session.
const TEARDOWN: Duration = Duration::from_secs(5);
/// How long a slow reader gets for the last lines.
const LAST_LINES: Duration = Duration::from_secs(1);

/// How what happens is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Json,
    Human(Paint),
}

/// Runs a session until it is told to end.
pub(crate) fn run(global: &Global, args: &WatchArgs) -> Exit {
    match Environment::of_process() {
        Ok(environment) => run_in(environment, global, args),
        Err(error) => {
            let error = StartError::Surroundings(error);
            output::fail(&error, error.exit())
        }
    }
}

/// The same in given surroundings.
pub(crate) fn run_in(environment: Environment, global: &Global, args: &WatchArgs) -> Exit {
    let done = App::open_in(environment, global, screen(args)).and_then(|app| watch(&app, args));
    match done {
        Ok(()) => Exit::Ok,
        Err(error) => output::fail(&error, error.exit()),
    }
}

/// Whether somebody can be asked.
fn screen(args: &WatchArgs) -> Screen {
    if !args.json && stdin::is_a_person() { Screen::Interactive } else { Screen::Headless }
}

fn watch(app: &App, args: &WatchArgs) -> Result<(), StartError> {
    app.refuse_inside_own_session()?;
    let runtime = app.runtime()?;
    let guard = app.guard();
    let done = runtime.block_on(async {
        let signals = Signals::listen().map_err(StartError::Surroundings)?;
        let form = if args.json { Form::Json } else { Form::Human(app.paint(&io::stdout())) };
        let mut session = app.session(guard.clone(), None).await;
        let (writer, broken) = Writer::start(io::stdout());
        let typed = match app.launch.flags.screen {
            Screen::Interactive => Some(stdin::read()),
            Screen::Headless if args.stdin_close => Some(stdin::read()),
            Screen::Headless => None,
        };
        let watching = Watching {
            app,
            form,
            writer,
            teller: Teller::default(),
            asking: Asking::default(),
            derived: session.reload.derived(),
            seen: session.seen.clone(),
            close_ends: if args.stdin_close { OnClose::End } else { OnClose::GoOn },
        };
        watching.run(&mut session, signals, broken, typed).await;
        Ok(())
    });
    // What the polite way did not reach; the runtime is not needed for it.
    guard.kill_all_groups();
    runtime.shutdown_background();
    done
}

/// What the end of stdin means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OnClose {
    End,
    GoOn,
}

/// The loop's state.
struct Watching<'a> {
    app: &'a App,
    form: Form,
    writer: Writer,
    teller: Teller,
    asking: Asking,
    derived: watch::Receiver<Arc<Derived>>,
    seen: watch::Receiver<Seen>,
    close_ends: OnClose,
}

impl Watching<'_> {
    async fn run(
        mut self,
        session: &mut Session,
        mut signals: Signals,
        mut broken: oneshot::Receiver<io::Error>,
        mut typed: Option<mpsc::UnboundedReceiver<Typed>>,
    ) {
        let hangup = hangup_means();
        let mut status = session.config.status();
        self.tell(Event::Started(self.started(session)));
        self.tell_yolo();
        let reason = loop {
            tokio::select! {
                biased;
                told = signals.next() => match (told, hangup) {
                    (Told::Interrupt, _) => break EndReason::Interrupt,
                    (Told::Terminate, _) => break EndReason::Terminate,
                    (Told::Hangup, HangupMeans::TheEnd) => break EndReason::Hangup,
                    (Told::Hangup, HangupMeans::Reload) => session.reload_soon(),
                },
                _ = &mut broken => break EndReason::Quit,
                Some(event) = session.events.recv() => self.happened(event),
                Ok(()) = status.changed() => self.status(&mut status, session),
                said = next_line(&mut typed) => match said {
                    Typed::Line(line) => self.answer(&line, session),
                    Typed::Closed => {
                        typed = None;
                        if self.close_ends == OnClose::End {
                            break EndReason::StdinClosed;
                        }
                    }
                },
            }
        };
        self.end(session, signals, reason).await;
    }

    /// Every file and server that the session starts with.
    fn started(&self, session: &Session) -> Started {
        let derived = self.derived.borrow();
        let mut servers: Vec<_> = derived.rows.keys().cloned().collect();
        servers.sort();
        Started {
            project_root: self.app.root().to_path_buf(),
            pid: std::process::id(),
            watched: session.watched.clone(),
            servers,
        }
    }

    fn tell(&self, event: Event) {
        let now = unix_ms();
        let line = match self.form {
            Form::Json => json_line(&event, now),
            Form::Human(paint) => human_line(&event, &clock(), paint),
        };
        if let Some(line) = line {
            self.writer.line(line);
        }
    }

    fn tell_yolo(&self) {
        match self.app.launch.flags.yolo {
            Yolo::Off => {}
            Yolo::On => {
                let message = "nobody is asked in this session: --yolo approves every undecided server";
                self.tell(Event::Cli(CliEvent::Notice {
                    code: NoticeCode::Yolo,
                    message: message.to_owned(),
                }));
            }
        }
    }

    fn happened(&mut self, event: CliEvent) {
        let queue = queue(&event, self.derived.borrow().folder_question);
        let told = self.with_facts(|teller, facts| teller.happened(event, facts));
        told.into_iter().for_each(|event| self.tell(event));
        if queue == Queue::Moves {
            self.ask();
        }
    }

    /// Tells a newer status, after everything that happened to files before it was published.
    fn status(&mut self, status: &mut watch::Receiver<Arc<Status>>, session: &mut Session) {
        loop {
            let newest = Arc::clone(&status.borrow_and_update());
            let mut heard = false;
            while let Ok(event) = session.events.try_recv() {
                heard = true;
                self.happened(event);
            }
            if !heard {
                let told = self.with_facts(|teller, facts| teller.status(&newest, facts));
                told.into_iter().for_each(|event| self.tell(event));
                return;
            }
        }
    }

    fn with_facts<T>(&mut self, tell: impl FnOnce(&mut Teller, Facts<'_>) -> T) -> T {
        let derived = Arc::clone(&self.derived.borrow());
        let snapshot = Arc::clone(&self.seen.borrow().snapshot);
        let back = Background { snapshot: &snapshot, root: self.app.root(), prompt: Prompt::Shell };
        let facts = Facts { derived: &derived, back };
        tell(&mut self.teller, facts)
    }

    /// Shows the question that should stand now, where it is another one than before.
    fn ask(&mut self) {
        if self.app.launch.flags.screen == Screen::Headless {
            return;
        }
        let derived = Arc::clone(&self.derived.borrow());
        let was_open = self.asking.is_open();
        match self.asking.next(&derived) {
            Some(Asked::Folder) => self.writer.aside(format!(
                "\nDo you trust the files in {}? [y]es, [r]eject, [n]ot now",
                self.app.root().display()
            )),
            Some(Asked::Server(asked)) => {
                self.show(&asked);
                self.writer.aside("Run it? [y]es, [a]ll that wait, [r]eject, [n]ot now".to_owned());
            }
            Some(Asked::Servers(_)) => {}
            None if was_open && !self.asking.is_open() => {
                self.writer.aside("(no longer asked)".to_owned());
            }
            None => {}
        }
    }

    fn show(&self, asked: &Promptable) {
        self.writer.aside(format!("\n{}", self.app.question(asked, &io::stderr())));
    }

    fn answer(&mut self, line: &str, session: &Session) {
        let derived = Arc::clone(&self.derived.borrow());
        match self.asking.answer(line, &derived) {
            Reply::Decide(answers) => {
                // What becomes of it is told by what it changes, and by a notice where it could not be recorded.
                let reload = Arc::clone(&session.reload);
                tokio::spawn(async move { deciding::decide(&reload, answers, |_, _| {}).await });
            }
            Reply::Trust(word) => {
                let reload = Arc::clone(&session.reload);
                let record = super::trust::TrustRecord::at(&self.app.launch.paths.trusted_folders);
                let root = self.app.root().to_path_buf();
                tokio::spawn(async move {
                    if let Err(error) = deciding::trust(&reload, record, root, word).await {
                        output::complain("record it", &error);
                    }
                });
            }
            Reply::ShowAll(all) => {
                all.iter().for_each(|asked| self.show(asked));
                self.writer.aside("Run all of these? [y]es, [n]o".to_owned());
            }
            Reply::Again => self.writer.aside("please answer y, a, r or n".to_owned()),
            Reply::NotNow | Reply::Nothing => {}
        }
        self.ask();
    }

    /// Ends every connection; a second signal does not wait for that.
    async fn end(self, session: &mut Session, mut signals: Signals, reason: EndReason) {
        tokio::select! {
            () = session.shutdown(TEARDOWN) => {}
            _ = signals.next() => session.guard.kill_all_groups(),
        }
        self.tell(Event::Ended(reason));
        self.writer.finish(LAST_LINES);
    }
}

/// Whether who is asked about may be somebody else now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Queue {
    Moves,
    Stays,
}

/// A question follows the notice that somebody waits, so that what closed for it is on its way out by then. The folder
/// has no notice of its own; it is asked about after a commit.
fn queue(event: &CliEvent, folder: FolderQuestion) -> Queue {
    match (event, folder) {
        (CliEvent::PendingApprovalChanged { .. }, _) | (CliEvent::Planned { .. }, FolderQuestion::Ask) => {
            Queue::Moves
        }
        (CliEvent::Planned { .. }, FolderQuestion::Settled)
        | (
            CliEvent::SettingsChanged { .. }
            | CliEvent::SettingsInvalid { .. }
            | CliEvent::SettingsRecovered { .. }
            | CliEvent::RestartRequired { .. }
            | CliEvent::ShadowsChanged { .. }
            | CliEvent::Notice { .. },
            _,
        ) => Queue::Stays,
    }
}

async fn next_line(typed: &mut Option<mpsc::UnboundedReceiver<Typed>>) -> Typed {
    match typed {
        Some(lines) => lines.recv().await.unwrap_or(Typed::Closed),
        None => std::future::pending().await,
    }
}

/// Milliseconds since 1970.
fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The time of day where this process runs.
fn clock() -> String {
    chrono::Local::now().format("%H:%M:%S").to_string()
}
