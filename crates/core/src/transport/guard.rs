//! Who kills what is left when this program ends in a way it cannot act on? Owns the registry of live process groups
//! and the guard process that outlives us; knows nothing of servers.
//!
//! The guard is this executable, started again with one word, in its own session. It reads from its standard
//! input which starts begin and which groups live; at end of file, which comes when we end for whatever reason, it
//! kills what is left of them. A parent-death signal would not do: it follows the thread that forked and reaches direct children only.

use std::{
    collections::{HashMap, HashSet},
    io::{self, Write},
    os::{fd::AsFd, unix::net::UnixStream},
    path::{Path, PathBuf},
    process::Child,
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak},
    time::{Duration, Instant},
};

use rustix::{
    fs::fstat,
    process::{Pid, Signal, kill_process, kill_process_group},
};

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
    groups: HashSet<Pid>,
    /// Starts that began and of which it is not known yet what came.
    starting: HashMap<Start, PipeId>,
    starts: u64,
    line: Option<UnixStream>,
    /// The guard process at the other end of the line.
    process: Option<Pid>,
    /// Counts guard processes, so that the end of an old one is not taken for the end of its successor.
    number: u64,
    short_lives: u32,
}

/// The number of one attempt to start a process, by which what came of it is told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Start(u64);

/// The number of the pipe that becomes a server's standard input. It is known before there is a process, and it is the
/// kernel's name of the pipe as long as an end of it is open, so that it finds the process of a start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PipeId(u64);

impl PipeId {
    /// # Errors
    /// What the operating system says.
    pub(super) fn of(pipe: impl AsFd) -> io::Result<Self> {
        Ok(Self(fstat(pipe)?.st_ino))
    }
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
        let state = State { line: Some(stream), ..State::default() };
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
        for group in groups {
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

    /// Begins a start: the guard hears of it before there is a process. Where the guard process went away for good, or
    /// does not read, another one is tried first.
    ///
    /// # Errors
    /// That no guard process listens.
    pub(super) fn begin(&self, input: PipeId) -> io::Result<Start> {
        let mut state = lock(&self.0.state);
        if state.line.is_none() {
            start_process(&self.0, &mut state)?;
        }
        state.starts += 1;
        let start = Start(state.starts);
        if state.say(&begun(start, input)).is_err() {
            start_process(&self.0, &mut state)?;
            state.say(&begun(start, input))?;
        }
        state.starting.insert(start, input);
        Ok(start)
    }

    /// Registers the group that came of a start.
    pub(super) fn started(&self, start: Start, group: Pid) {
        let mut state = lock(&self.0.state);
        state.starting.remove(&start);
        state.groups.insert(group);
        state.tell(&format!("{}{}", added(group), over(start)));
    }

    /// Nothing came of a start.
    pub(super) fn failed(&self, start: Start) {
        let mut state = lock(&self.0.state);
        state.starting.remove(&start);
        state.tell(&over(start));
    }

    /// Forgets a group. Only to be called once its leader was reaped and nothing is left of it, or the number may
    /// belong to somebody else by the time we are killed.
    pub(super) fn remove(&self, group: Pid) {
        let mut state = lock(&self.0.state);
        if state.groups.remove(&group) {
            state.tell(&format!("-{}\n", group.as_raw_nonzero()));
        }
    }
}

impl State {
    /// Never blocks. A guard that does not read is as good as dead: its end lets its supervisor start another, and
    /// other errors say that it ended already.
    fn tell(&self, text: &str) {
        if self.say(text).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
            self.kill_process();
        }
    }

    /// Without a guard process there is nobody to say it to.
    fn say(&self, text: &str) -> io::Result<()> {
        self.line.as_ref().map_or(Ok(()), |mut line| line.write_all(text.as_bytes()))
    }

    /// All that a guard process must know.
    fn known(&self) -> String {
        let starts = self.starting.iter().map(|(start, input)| begun(*start, *input));
        starts.chain(self.groups.iter().map(|group| added(*group))).collect()
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

fn begun(start: Start, input: PipeId) -> String {
    format!("?{} {}\n", start.0, input.0)
}

fn over(start: Start) -> String {
    format!("!{}\n", start.0)
}

fn added(group: Pid) -> String {
    format!("+{}\n", group.as_raw_nonzero())
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
    let (line, child) = connect(exe, &state.known())?;
    if state.line.is_some() {
        state.kill_process();
    }
    state.line = Some(line);
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
