//! Who kills what is left when this program ends in a way it cannot act on? Owns the registry of live process groups
//! and the guard process that outlives us; knows nothing of servers.
//!
//! The guard is this executable, started again with one word, in its own session. It reads from its standard
//! input which groups live; at end of file, which comes when we end for whatever reason, it kills every group that
//! is left. A parent-death signal would not do: it follows the thread that forked and reaches direct children only.

use std::{
    collections::HashMap,
    io::{self, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::Child,
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::{guard_process::GUARD_WORD, spawn::spawn_guard};

/// A guard that lives shorter than this did not really start.
const SHORT_LIFE: Duration = Duration::from_secs(1);
/// After so many short lives in a row nobody tries again: something is wrong with the executable.
const SHORT_LIVES: u32 = 5;

/// The registry of live process groups, and the guard process that kills them should we end without doing so.
///
/// Cheap to clone. When the last clone goes, the guard sees the end of its input, kills what is left and ends.
#[derive(Clone, Debug)]
pub struct Guard(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    exe: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    groups: HashMap<Pid, Start>,
    starts: u64,
    line: Option<Arc<UnixStream>>,
    /// The guard process at the other end of the line.
    process: Option<Pid>,
    /// Counts guard processes, so that the end of an old one is not taken for the end of its successor.
    number: u64,
    short_lives: u32,
}

/// The number of one attempt to start a process, by which what came of it is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Start(pub(super) u64);

/// Where a child announces its own group before it becomes the server.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) start: Start,
    /// `None` without a guard process.
    pub(super) stream: Option<Arc<UnixStream>>,
}

impl Guard {
    /// Starts the guard process: `exe` must call [`run_guard_if_asked`](crate::run_guard_if_asked) first thing in its
    /// `main`. On Linux pass `/proc/self/exe`, so that an upgraded executable is still found.
    ///
    /// # Errors
    /// When the process cannot be started or watched.
    pub fn start(exe: PathBuf) -> io::Result<Self> {
        let inner = Arc::new(Inner { exe: Some(exe), state: Mutex::default() });
        start_process(&inner, &mut lock(&inner.state))?;
        Ok(Self(inner))
    }

    /// Only the registry: servers are ended by their owners, the exit path and the panic hook, but nothing is done
    /// after a `kill -9` of this program. For programs that cannot be started again.
    #[must_use]
    pub fn without_process() -> Self {
        Self(Arc::new(Inner { exe: None, state: Mutex::default() }))
    }

    /// A guard whose process is the test.
    #[cfg(test)]
    pub(super) fn on_line(stream: UnixStream) -> Self {
        let state = State { line: Some(Arc::new(stream)), ..State::default() };
        Self(Arc::new(Inner { exe: None, state: Mutex::new(state) }))
    }

    /// Kills every registered group at once, synchronously: for panic hooks and for the second Ctrl-C. Does not need
    /// a runtime, does not wait, and leaves the registry as it is.
    pub fn kill_all_groups(&self) {
        // A panic while the lock is held in this thread must not hang the hook: the guard process knows the groups.
        let groups = match self.0.state.try_lock() {
            Ok(state) => state.groups.clone(),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().groups.clone(),
            Err(TryLockError::WouldBlock) => return,
        };
        for group in groups.into_keys() {
            kill_group(group);
        }
    }

    /// How many groups are registered.
    #[must_use]
    pub fn live_groups(&self) -> usize {
        lock(&self.0.state).groups.len()
    }

    /// Whether a guard process is connected.
    #[must_use]
    pub fn is_watching(&self) -> bool {
        lock(&self.0.state).line.is_some()
    }

    /// Begins a start. Where the guard process went away for good another one is tried first.
    pub(super) fn line(&self) -> io::Result<Line> {
        let mut state = lock(&self.0.state);
        if state.line.is_none() {
            start_process(&self.0, &mut state)?;
        }
        state.starts += 1;
        Ok(Line { start: Start(state.starts), stream: state.line.clone() })
    }

    /// Makes sure that a guard process listens, after a child found that none does.
    pub(super) fn revive(&self, dead: &Line) -> io::Result<()> {
        let mut state = lock(&self.0.state);
        let is_news = match (&state.line, &dead.stream) {
            (Some(line), Some(dead)) => Arc::ptr_eq(line, dead),
            (Some(_), None) => false,
            (None, _) => true,
        };
        if is_news { start_process(&self.0, &mut state) } else { Ok(()) }
    }

    /// Registers a group that just started. The child announced itself already; saying it again costs nothing and
    /// covers a guard that was replaced in between.
    pub(super) fn add(&self, group: Pid, start: Start) {
        let mut state = lock(&self.0.state);
        state.groups.insert(group, start);
        state.tell(&added(group, start));
    }

    /// Nothing came of a start: the child that may have announced itself is gone.
    pub(super) fn failed(&self, start: Start) {
        lock(&self.0.state).tell(&format!("!{}\n", start.0));
    }

    /// Forgets a group. Only to be called once its leader was reaped and nothing is left of it, or the number may
    /// belong to somebody else by the time we are killed.
    pub(super) fn remove(&self, group: Pid) {
        let mut state = lock(&self.0.state);
        if state.groups.remove(&group).is_some() {
            state.tell(&format!("-{}\n", group.as_raw_nonzero()));
        }
    }
}

impl State {
    /// Never blocks. A guard that does not read is as good as dead: its end lets its supervisor start another, and
    /// other errors say that it ended already.
    fn tell(&mut self, text: &str) {
        let Some(line) = &self.line else { return };
        if (&**line).write_all(text.as_bytes()).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
        {
            self.kill_process();
        }
    }

    /// Ends the guard process so that it cannot act: were its line only closed, it would take that for our own end and
    /// kill every server as soon as it reads again.
    fn kill_process(&self) {
        if let Some(process) = self.process {
            // An error says that it is gone.
            kill_process(process, Signal::KILL).ok();
        }
    }
}

fn added(group: Pid, start: Start) -> String {
    format!("+{} {}\n", group.as_raw_nonzero(), start.0)
}

/// Kills the group; an error says that it is gone.
pub(super) fn kill_group(group: Pid) {
    kill_process_group(group, Signal::KILL).ok();
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start_process(inner: &Arc<Inner>, state: &mut State) -> io::Result<()> {
    let Some(exe) = &inner.exe else { return Ok(()) };
    let known: String = state.groups.iter().map(|(group, start)| added(*group, *start)).collect();
    let (line, child) = connect(exe, &known)?;
    if state.line.is_some() {
        state.kill_process();
    }
    state.line = Some(Arc::new(line));
    state.process = Pid::from_raw(child.id().cast_signed());
    state.number += 1;
    let number = state.number;
    let weak = Arc::downgrade(inner);
    std::thread::Builder::new()
        .name("guard-watch".to_owned())
        .stack_size(64 * 1024)
        .spawn(move || supervise(&weak, number, child))?;
    Ok(())
}

/// What is known is on the line before the guard process exists, so that our own end in this very moment loses no group.
fn connect(exe: &Path, known: &str) -> io::Result<(UnixStream, Child)> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    (&ours).write_all(known.as_bytes())?;
    let child = spawn_guard(exe, GUARD_WORD, theirs.into())?;
    Ok((ours, child))
}

/// Waits for the guard's end in a thread of its own, so that it works without a runtime and costs nothing meanwhile.
fn supervise(inner: &Weak<Inner>, number: u64, mut child: Child) {
    let started = Instant::now();
    let ended = child.wait();
    let Some(inner) = inner.upgrade() else { return };
    let mut state = lock(&inner.state);
    if state.number != number {
        return;
    }
    state.line = None;
    state.process = None;
    state.short_lives = if started.elapsed() < SHORT_LIFE { state.short_lives + 1 } else { 0 };
    if state.short_lives >= SHORT_LIVES {
        tracing::error!("the guard process keeps ending; it is tried again when a server is to be started");
        return;
    }
    tracing::warn!(ended = ?ended.ok(), "the guard process ended; starting another");
    if let Err(error) = start_process(&inner, &mut state) {
        tracing::error!(%error, "the guard process cannot be started again");
    }
}
