//! What does the interactive session wait for, and in which order? The loop that owns the terminal: keys, signals, what
//! core and hot reload tell, and time. It decides nothing: each thing that happens becomes an event of `update`, and
//! each effect is handed on by `act`.

mod act;
mod cancels;
mod clock;
mod stopping;

use std::{io, pin::pin, sync::Arc, time::Duration};

use crossterm::event::{Event as Happened, EventStream, KeyEventKind};
use futures::StreamExt as _;
use qwen_core::{Questions, Status};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until},
};

use self::{act::Acting, cancels::Cancels, clock::Clock, stopping::somebody_wakes_us};
use super::{
    asker::Asker,
    event::{Effect, Event, Size},
    keep::Kept,
    line::Line,
    painter::Painter,
    state::{Opening, State},
    terminal::{self, Terminal},
    update::update,
    view::view,
};
use crate::{
    app::{App, Session, StartError},
    args::Global,
    derive::Derived,
    events::{EndReason, sentence},
    output,
    row::now_unix_ms,
    settings::Seen,
    signals::{Signals, Stop, Stops, Told},
    text::Tone,
};

/// How long servers get at the end of the session.
const TEARDOWN: Duration = Duration::from_secs(5);
/// What is told is drawn at most so often; what is typed at once.
const FRAME: Duration = Duration::from_millis(33);

/// Runs the session until it is told to end.
///
/// # Errors
/// It cannot start.
pub(super) fn session(app: &App, global: &Global, kept: Option<&Kept>) -> Result<(), StartError> {
    app.refuse_inside_own_session()?;
    let runtime = app.runtime()?;
    terminal::give_back_on_panic();
    let guard = app.guard();
    let done = runtime.block_on(async {
        let signals = Signals::listen().map_err(StartError::Surroundings)?;
        let terminal = Terminal::take().map_err(StartError::Surroundings)?;
        let opening = Opening {
            root: app.root().to_path_buf(),
            paint: app.paint(&io::stdout()),
            size: terminal::size(),
            derived: Arc::new(app.derived().clone()),
            snapshot: Arc::new(app.snapshot.clone()),
            history: kept.map(Kept::lines).unwrap_or_default(),
        };
        let (inbox, arrived) = mpsc::unbounded_channel();
        let asker = Arc::new(Asker::new(inbox.clone()));
        let shell = Shell {
            app,
            global,
            kept,
            state: State::new(opening),
            painter: Painter::default(),
            terminal: Some(terminal),
            signals,
            stops: Stops::listen().map_err(StartError::Surroundings)?,
            keys: Some(EventStream::new()),
            inbox,
            asker,
            arrived,
            session: None,
            early: Vec::new(),
            cancels: Cancels::default(),
            drawn: Instant::now(),
            due: None,
            clock: Clock::default(),
        };
        shell.run(guard.clone()).await;
        Ok(())
    });
    // What the polite way did not reach; the runtime is not needed for it.
    guard.kill_all_groups();
    runtime.shutdown_background();
    done
}

/// The loop and what it owns.
struct Shell<'a> {
    app: &'a App,
    global: &'a Global,
    kept: Option<&'a Kept>,
    state: State,
    painter: Painter,
    terminal: Option<Terminal>,
    signals: Signals,
    stops: Stops,
    keys: Option<EventStream>,
    /// Where everything that was begun here reports.
    inbox: mpsc::UnboundedSender<Event>,
    /// Where servers ask.
    asker: Arc<Asker>,
    arrived: mpsc::UnboundedReceiver<Event>,
    /// None while it starts.
    session: Option<Running>,
    /// Asked for before the session ran.
    early: Vec<Effect>,
    cancels: Cancels,
    drawn: Instant,
    /// When what has changed is drawn.
    due: Option<Instant>,
    clock: Clock,
}

/// A session that runs, and what of it is watched.
struct Running {
    session: Session,
    status: watch::Receiver<Arc<Status>>,
    derived: watch::Receiver<Arc<Derived>>,
    seen: watch::Receiver<Seen>,
}

/// What the loop woke up for.
enum Wake {
    Told(Told),
    Stop(Stop),
    Key(Option<io::Result<Happened>>),
    Started(Box<Session>),
    Status,
    Cli(crate::hot_reload::CliEvent),
    Arrived(Event),
    Time,
}

/// Whether it goes on.
type Flow = std::ops::ControlFlow<EndReason>;

impl Shell<'_> {
    async fn run(mut self, guard: qwen_core::Guard) {
        self.draw();
        let reason = {
            let app = self.app;
            let asker: Arc<dyn Questions> = self.asker.clone();
            let mut starting = pin!(app.session(guard, Some(asker)));
            let mut is_starting = true;
            loop {
                let now = Instant::now();
                let wakes_at = self.clock.wakes_at(self.state.moves_every(), self.due, now);
                let overdue = wakes_at.is_some_and(|at| at <= now);
                let wake = tokio::select! {
                    biased;
                    told = self.signals.next() => Wake::Told(told),
                    stop = self.stops.next() => Wake::Stop(stop),
                    key = next_key(&mut self.keys) => Wake::Key(key),
                    // Whoever tells without end keeps nobody from seeing it.
                    () = std::future::ready(()), if overdue => Wake::Time,
                    session = &mut starting, if is_starting => Wake::Started(Box::new(session)),
                    wake = next_of(&mut self.session) => wake,
                    Some(event) = self.arrived.recv() => Wake::Arrived(event),
                    () = sleep_until_some(wakes_at) => Wake::Time,
                };
                if matches!(wake, Wake::Started(_)) {
                    is_starting = false;
                }
                if let Flow::Break(reason) = self.woke(wake).await {
                    break reason;
                }
            }
        };
        self.end(reason).await;
    }

    async fn woke(&mut self, wake: Wake) -> Flow {
        match wake {
            Wake::Told(Told::Interrupt) => return Flow::Break(EndReason::Interrupt),
            Wake::Told(Told::Terminate) => return Flow::Break(EndReason::Terminate),
            Wake::Told(Told::Hangup) => return Flow::Break(EndReason::Hangup),
            Wake::Stop(Stop::Now) => self.suspend().await,
            Wake::Stop(Stop::Over) => self.wake_up(),
            Wake::Key(Some(Ok(happened))) => return self.typed(happened).await,
            // The terminal is gone.
            Wake::Key(Some(Err(_)) | None) => return Flow::Break(EndReason::Hangup),
            Wake::Started(session) => {
                self.session = Some(Running {
                    status: session.config.status(),
                    derived: session.reload.derived(),
                    seen: session.seen.clone(),
                    session: *session,
                });
                self.facts();
                let early = std::mem::take(&mut self.early);
                self.act(early).await?;
                self.take(Event::Started).await?;
            }
            Wake::Cli(event) => {
                self.facts();
                self.take(Event::Cli(event)).await?;
            }
            Wake::Status => self.status().await?,
            Wake::Arrived(event) => {
                if let Event::Ended(id, _) = &event {
                    self.cancels.ended(*id);
                }
                self.take(event).await?;
            }
            Wake::Time => {
                let now = Instant::now();
                if self.clock.has_ticked(now) {
                    self.take(Event::Tick).await?;
                }
                if self.due.is_some_and(|due| due <= now) {
                    self.draw();
                }
            }
        }
        Flow::Continue(())
    }

    /// A key, a paste or another size is drawn at once.
    async fn typed(&mut self, happened: Happened) -> Flow {
        let event = match happened {
            Happened::Key(key) if key.kind == KeyEventKind::Release => return Flow::Continue(()),
            Happened::Key(key) => Event::Key(key),
            Happened::Paste(text) => Event::Paste(text),
            Happened::Resize(columns, rows) => {
                let size = Size { columns: columns.max(1), rows: rows.max(1) };
                if size.columns != self.state.size.columns {
                    let bytes = self.painter.resized(size.columns);
                    self.write(&bytes);
                }
                Event::Resized(size)
            }
            Happened::FocusGained | Happened::FocusLost | Happened::Mouse(_) => return Flow::Continue(()),
        };
        self.take(event).await?;
        self.draw();
        Flow::Continue(())
    }

    /// A newer status, after everything that happened to files before it was published.
    async fn status(&mut self) -> Flow {
        loop {
            let Some(running) = &mut self.session else { return Flow::Continue(()) };
            let newest = Arc::clone(&running.status.borrow_and_update());
            let mut heard = Vec::new();
            while let Ok(event) = running.session.events.try_recv() {
                heard.push(event);
            }
            self.facts();
            if heard.is_empty() {
                return self.take(Event::Status(newest)).await;
            }
            for event in heard {
                self.take(Event::Cli(event)).await?;
            }
        }
    }

    /// Hands on what the files mean, where that changed.
    fn facts(&mut self) {
        let Some(running) = &mut self.session else { return };
        if running.derived.has_changed().unwrap_or(false)
            || running.seen.has_changed().unwrap_or(false)
            || !Arc::ptr_eq(&self.state.derived, &running.derived.borrow())
        {
            let derived = Arc::clone(&running.derived.borrow_and_update());
            let snapshot = Arc::clone(&running.seen.borrow_and_update().snapshot);
            update(&mut self.state, Event::Facts(derived, snapshot), now_unix_ms());
        }
    }

    async fn take(&mut self, event: Event) -> Flow {
        let effects = update(&mut self.state, event, now_unix_ms());
        self.due.get_or_insert(self.drawn + FRAME);
        self.act(effects).await
    }

    async fn act(&mut self, effects: Vec<Effect>) -> Flow {
        for effect in effects {
            match effect {
                Effect::Quit(reason) => return Flow::Break(reason),
                Effect::Suspend => self.suspend().await,
                Effect::Reply(id, reply) => self.asker.reply(id, reply),
                Effect::LookUp(asked, about) => {
                    let questions = asked.iter().map(|asked| self.app.question_about(asked)).collect();
                    let event = Event::Questions(questions, about);
                    // Answered at once, so that it cannot be overtaken.
                    update(&mut self.state, event, now_unix_ms());
                }
                effect @ (Effect::Reload
                | Effect::Reconnect(_)
                | Effect::Decide(_)
                | Effect::Trust(_)
                | Effect::Use(..)
                | Effect::Cancel(_)
                | Effect::Switch(..)
                | Effect::Approvals
                | Effect::Remember(_)) => match &self.session {
                    None => self.early.push(effect),
                    Some(running) => {
                        let acting = Acting {
                            app: self.app,
                            global: self.global,
                            kept: self.kept,
                            session: &running.session,
                            state: &self.state,
                            inbox: &self.inbox,
                        };
                        acting.act(effect, &mut self.cancels);
                    }
                },
            }
        }
        Flow::Continue(())
    }

    fn draw(&mut self) {
        let screen = view(&self.state, now_unix_ms());
        let above = self.state.take_transcript();
        let bytes = self.painter.paint(&above, &screen.buffer, screen.cursor, self.state.paint);
        self.write(&bytes);
        self.drawn = Instant::now();
        self.due = None;
    }

    /// A terminal that is gone is noticed where keys are read.
    fn write(&self, bytes: &str) {
        if self.terminal.is_some()
            && let Err(error) = terminal::write(bytes)
        {
            tracing::debug!(%error, "the screen could not be drawn");
        }
    }

    /// Gives the terminal back and stops until the shell wakes this process up.
    async fn suspend(&mut self) {
        if !somebody_wakes_us() {
            self.state.say(Line::new(Tone::Quiet, "there is no shell to go back to"));
            self.draw();
            return;
        }
        let bytes = self.painter.erase();
        self.write(&bytes);
        self.keys = None;
        self.terminal = None;
        // Whatever started this in the same group stops with it, or the shell would not see the job stop.
        if let Err(error) = rustix::process::kill_current_process_group(rustix::process::Signal::STOP) {
            tracing::warn!(%error, "the session could not be stopped");
        } else {
            // Continued by the shell; nothing else is read before that.
            self.stops.over().await;
        }
        self.wake_up();
    }

    /// The terminal is ours again, whatever was printed on it meanwhile.
    fn wake_up(&mut self) {
        // The modes that are taken for granted may be those of the shell by now.
        self.terminal = None;
        match Terminal::take() {
            Ok(terminal) => self.terminal = Some(terminal),
            Err(error) => tracing::warn!(%error, "the terminal could not be taken back"),
        }
        self.keys.get_or_insert_with(EventStream::new);
        self.painter = Painter::default();
        self.state.size = terminal::size();
        self.draw();
    }

    /// Gives the terminal back, then ends every connection; a second signal does not wait for that.
    async fn end(mut self, reason: EndReason) {
        let lines = self.state.notices.flush();
        self.state.transcript.extend(lines);
        if let Some((tone, text)) = sentence(&crate::events::Event::Ended(reason)) {
            self.state.say(Line::new(tone, &text));
        }
        let mut bytes = self.painter.erase();
        for line in self.state.take_transcript() {
            bytes.push_str(&line.written(self.state.paint));
            bytes.push_str("\r\n");
        }
        self.write(&bytes);
        self.keys = None;
        self.terminal = None;
        if let Some(running) = &self.session {
            tokio::select! {
                () = running.session.shutdown(TEARDOWN) => {}
                _ = self.signals.next() => running.session.guard.kill_all_groups(),
            }
        }
    }
}

async fn next_key(keys: &mut Option<EventStream>) -> Option<io::Result<Happened>> {
    match keys {
        Some(keys) => keys.next().await,
        None => std::future::pending().await,
    }
}

/// What core or hot reload has to tell.
async fn next_of(running: &mut Option<Running>) -> Wake {
    let Some(Running { session, status, .. }) = running else { return std::future::pending().await };
    tokio::select! {
        biased;
        Some(event) = session.events.recv() => Wake::Cli(event),
        Ok(()) = status.changed() => Wake::Status,
        else => std::future::pending().await,
    }
}

async fn sleep_until_some(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// An error and its causes as a line.
fn failed(what: &str, error: &dyn std::error::Error) -> Vec<Line> {
    vec![Line::new(Tone::Bad, &format!("failed to {what}: {}", output::chain(error)))]
}
