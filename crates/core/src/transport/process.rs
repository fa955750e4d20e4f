//! How does a server's process live and end? Owns one process group from its start until nothing is left of it, the
//! ladder of its end included; knows no protocol.

use std::{fmt, process::ExitStatus, time::Duration};

use futures::FutureExt;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::{
    process::Child,
    sync::{mpsc, watch},
    time::{Instant, sleep_until, timeout_at},
};

use tokio_util::sync::CancellationToken;

use super::{
    guard::{Guard, kill_group},
    outbox::Outbox,
    spawn::Spawned,
};
use crate::connector::Teardown;

/// Once SIGKILL was sent nothing can run any more; what still counts as a member waits for somebody to reap it.
const AFTER_KILL: Duration = Duration::from_millis(500);
const FIRST_LOOK: Duration = Duration::from_millis(2);
/// From this pause on it is also asked whether what is left only waits to be reaped.
const ZOMBIES: Duration = Duration::from_millis(10);
const SLOWEST_LOOK: Duration = Duration::from_millis(50);

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    Code(i32),
    Signal(i32),
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt;
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Code(-1),
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Code(code) => write!(f, "exited with code {code}"),
            Self::Signal(signal) => match Signal::from_named_raw(signal) {
                Some(named) => write!(f, "was ended by signal {signal} ({})", signal_name(named)),
                None => write!(f, "was ended by signal {signal}"),
            },
        }
    }
}

fn signal_name(signal: Signal) -> &'static str {
    const NAMES: [(Signal, &str); 11] = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::TERM, "SIGTERM"),
    ];
    NAMES.iter().find(|(named, _)| *named == signal).map_or("unnamed", |(_, name)| name)
}

/// One thing that is done to end a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    CloseStdin,
    Terminate,
    Kill,
}

/// The ladder of a cause: what is done how long after its beginning. Section 8 of the behaviour document.
fn ladder(teardown: Teardown) -> &'static [(Duration, Step)] {
    const AT_ONCE: &[(Duration, Step)] =
        &[(Duration::ZERO, Step::Terminate), (Duration::from_millis(250), Step::Kill)];
    const POLITE: &[(Duration, Step)] = &[
        (Duration::ZERO, Step::CloseStdin),
        (Duration::from_millis(300), Step::Terminate),
        (Duration::from_secs(2), Step::Kill),
    ];
    match teardown {
        Teardown::NeverLive | Teardown::Lost => AT_ONCE,
        Teardown::Drain | Teardown::Renew | Teardown::Verdict | Teardown::Exit => POLITE,
    }
}

enum Order {
    /// From now on a handle that is dropped means a program's end, not an attempt given up.
    Live,
    End(Teardown),
}

/// The handle of a process group. Dropping it ends the group.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    pid: Pid,
    orders: mpsc::UnboundedSender<Order>,
    exit: watch::Receiver<Option<Exit>>,
    gone: watch::Receiver<bool>,
}

impl ServerProcess {
    /// Takes charge of a process that was just started and whose pipes were taken. `outbox` is its standard input;
    /// `stop` is cancelled once all is gone.
    pub(crate) fn adopt(spawned: Spawned, outbox: Outbox, stop: CancellationToken) -> Self {
        let Spawned { child, pid, guard } = spawned;
        let (orders, received) = mpsc::unbounded_channel();
        let (exit_out, exit) = watch::channel(None);
        let (gone_out, gone) = watch::channel(false);
        let group = Group { pid, guard, child, reaped: false, is_gone: false };
        tokio::spawn(async move {
            supervise(group, outbox, received, exit_out).await;
            stop.cancel();
            gone_out.send_replace(true);
        });
        Self { pid, orders, exit, gone }
    }

    /// The process id of the leader, which is the group's.
    pub(crate) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// How the leader ended, once it has.
    pub(crate) fn exit(&self) -> watch::Receiver<Option<Exit>> {
        self.exit.clone()
    }

    /// Becomes true once nothing is left of the group.
    pub(crate) fn gone(&self) -> watch::Receiver<bool> {
        self.gone.clone()
    }

    /// Tells the supervisor that the connection is live.
    pub(crate) fn mark_live(&self) {
        // A supervisor that ended has nothing left to know.
        self.orders.send(Order::Live).ok();
    }

    /// Ends the group by the ladder of the cause; resolves when nothing is left of it.
    pub(crate) async fn end(self, teardown: Teardown) {
        self.orders.send(Order::End(teardown)).ok();
        let mut gone = self.gone;
        // An error means that the supervisor ended, which it does when all is gone.
        gone.wait_for(|gone| *gone).await.ok();
    }
}

async fn supervise(
    mut group: Group,
    outbox: Outbox,
    mut orders: mpsc::UnboundedReceiver<Order>,
    exit: watch::Sender<Option<Exit>>,
) {
    let mut when_dropped = Teardown::NeverLive;
    let teardown = loop {
        tokio::select! {
            ended = group.child.wait(), if !group.reaped => {
                group.reaped = true;
                exit.send_replace(Some(ended.map_or(Exit::Code(-1), Exit::from)));
            }
            order = orders.recv() => match order {
                Some(Order::Live) => when_dropped = Teardown::Exit,
                Some(Order::End(teardown)) => break teardown,
                None => break when_dropped,
            }
        }
    };
    group.climb(ladder(teardown), &outbox, &exit).await;
    group.settle();
}

/// The group itself. Whatever ends its supervisor, a runtime that goes away included, ends the group.
struct Group {
    pid: Pid,
    guard: Guard,
    child: Child,
    reaped: bool,
    is_gone: bool,
}

impl Group {
    async fn climb(
        &mut self,
        ladder: &[(Duration, Step)],
        outbox: &Outbox,
        exit: &watch::Sender<Option<Exit>>,
    ) {
        let began = Instant::now();
        for (after, step) in ladder {
            if self.gone_by(began + *after, exit).await {
                return;
            }
            match step {
                Step::CloseStdin => outbox.close(),
                // An error says that the group is gone, which the next look finds too.
                Step::Terminate => {
                    kill_process_group(self.pid, Signal::TERM).ok();
                }
                Step::Kill => kill_group(self.pid),
            }
        }
        self.gone_by(Instant::now() + AFTER_KILL, exit).await;
    }

    /// Whether the leader is reaped and the group empty by then; does not wait longer than it takes.
    async fn gone_by(&mut self, deadline: Instant, exit: &watch::Sender<Option<Exit>>) -> bool {
        if !self.reaped {
            // A timer counts whole milliseconds and would take up to two for none at all.
            let ended = match deadline <= Instant::now() {
                true => self.child.wait().now_or_never(),
                false => timeout_at(deadline, self.child.wait()).await.ok(),
            };
            let Some(ended) = ended else { return false };
            self.reaped = true;
            exit.send_replace(Some(ended.map_or(Exit::Code(-1), Exit::from)));
        }
        // Nothing tells us that the last member of a group left; this short look-out exists only while a group ends.
        let mut pause = FIRST_LOOK;
        while test_kill_process_group(self.pid).is_ok() {
            // A look at every process is not cheap, and most groups are gone before it is worth it.
            if pause > ZOMBIES && only_zombies(self.pid) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            sleep_until(deadline.min(Instant::now() + pause)).await;
            pause = (pause * 2).min(SLOWEST_LOOK);
        }
        true
    }

    /// Everything that could be done was done: the number may be used again.
    fn settle(&mut self) {
        self.is_gone = true;
        self.guard.remove(self.pid);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.is_gone {
            // The leader may not be reaped, so the number stays registered: the guard looks once more at the end.
            kill_group(self.pid);
        }
    }
}

/// Whether all that is left of a group waits to be reaped by somebody else, which some containers' first process
/// never does.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "the kernel lists processes in a folder and nowhere else")]
fn only_zombies(group: Pid) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let wanted = group.as_raw_nonzero().to_string();
    !processes.flatten().any(|process| {
        let name = process.file_name();
        let Some(name) = name.to_str().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())) else {
            return false;
        };
        runs_in_group(name, &wanted)
    })
}

#[cfg(target_os = "linux")]
#[expect(
    clippy::disallowed_methods,
    reason = "the kernel tells the state of a process in a file and nowhere else"
)]
fn runs_in_group(pid: &str, group: &str) -> bool {
    let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else { return false };
    // The name of a command may hold anything, closing brackets included; what follows the last one is fixed.
    let stat = String::from_utf8_lossy(&stat);
    let mut fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace();
    let (state, in_group) = (fields.next(), fields.nth(1));
    in_group == Some(group) && !matches!(state, Some("Z" | "X"))
}

#[cfg(not(target_os = "linux"))]
fn only_zombies(_: Pid) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ladder_ends_with_a_kill_within_the_bound_of_the_next_open() {
        for teardown in [
            Teardown::NeverLive,
            Teardown::Drain,
            Teardown::Renew,
            Teardown::Verdict,
            Teardown::Lost,
            Teardown::Exit,
        ] {
            let rungs = ladder(teardown);
            assert!(rungs.is_sorted_by_key(|(after, _)| *after), "{teardown:?}");
            let (after, step) = *rungs.last().unwrap();
            assert_eq!(step, Step::Kill, "{teardown:?}");
            assert!(after + AFTER_KILL <= Teardown::LADDER, "{teardown:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn to_look_whether_it_is_gone_already_takes_no_time() {
        let child = tokio::process::Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed())).unwrap();
        let guard = Guard::without_process();
        let mut group = Group { pid, guard, child, reaped: false, is_gone: false };
        let (exit, _) = watch::channel(None);
        // Between two of the timer's ticks, as nearly always.
        tokio::time::advance(Duration::from_micros(300)).await;
        let began = Instant::now();
        assert!(!group.gone_by(began, &exit).await);
        assert_eq!(began.elapsed(), Duration::ZERO);
        kill_group(pid);
        group.child.wait().await.unwrap();
        assert!(group.gone_by(began, &exit).await);
    }

    #[test]
    fn an_end_is_told_with_its_code_or_its_signals_name() {
        for (exit, text) in [
            (Exit::Code(3), "exited with code 3"),
            (Exit::Signal(9), "was ended by signal 9 (SIGKILL)"),
            (Exit::Signal(15), "was ended by signal 15 (SIGTERM)"),
            (Exit::Signal(64), "was ended by signal 64"),
        ] {
            assert_eq!(exit.to_string(), text);
        }
    }
}
