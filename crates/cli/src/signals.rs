//! What does the operating system tell this process? Interrupts, requests to end, and the loss of the terminal.

use std::{fs::File, io};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP.
    Hangup,
}

/// Listens from now on.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    /// Takes the signals over from their defaults.
    ///
    /// # Errors
    /// The system does not let us.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> Told {
        tokio::select! {
            Some(()) = self.interrupt.recv() => Told::Interrupt,
            Some(()) = self.terminate.recv() => Told::Terminate,
            Some(()) = self.hangup.recv() => Told::Hangup,
            // The streams never end while the runtime runs.
            else => std::future::pending().await,
        }
    }
}

/// What SIGHUP means to this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HangupMeans {
    /// The terminal is gone.
    TheEnd,
    /// Nobody has a terminal here: read the files again, as daemons do.
    Reload,
}

/// Asked once at start, while the terminal, if any, is still there.
pub(crate) fn hangup_means() -> HangupMeans {
    match File::open("/dev/tty") {
        Ok(_) => HangupMeans::TheEnd,
        Err(_) => HangupMeans::Reload,
    }
}

/// What job control tells this process. Only who draws on a terminal listens: for everybody else the system's own way
/// to stop is right.
pub(crate) struct Stops {
    stop: Signal,
    go_on: Signal,
}

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// SIGTSTP: the shell wants the terminal.
    Now,
    /// SIGCONT: it is ours again.
    Over,
}

impl Stops {
    /// Takes the signals over from their defaults.
    ///
    /// # Errors
    /// The system does not let us.
    pub(crate) fn listen() -> io::Result<Self> {
        const TSTP: i32 = rustix::process::Signal::TSTP.as_raw();
        const CONT: i32 = rustix::process::Signal::CONT.as_raw();
        Ok(Self { stop: signal(SignalKind::from_raw(TSTP))?, go_on: signal(SignalKind::from_raw(CONT))? })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> Stop {
        tokio::select! {
            Some(()) = self.stop.recv() => Stop::Now,
            Some(()) = self.go_on.recv() => Stop::Over,
            else => std::future::pending().await,
        }
    }

    /// Waits until the shell lets this process go on.
    pub(crate) async fn over(&mut self) {
        self.go_on.recv().await;
    }
}
