//! What does the operating system tell this process? Interrupts, requests to end, and the loss of the terminal.

use std::{fs::File, io};

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Told {
    /// Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP.
    Hangup,
}

/// Listens from now on.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    /// Takes the signals over from their defaults.
    ///
    /// # Errors
    /// The system does not let us.
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// The next one.
    pub(super) async fn next(&mut self) -> Told {
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
pub(super) enum HangupMeans {
    /// The terminal is gone.
    TheEnd,
    /// Nobody has a terminal here: read the files again, as daemons do.
    Reload,
}

/// Asked once at start, while the terminal, if any, is still there.
pub(super) fn hangup_means() -> HangupMeans {
    match File::open("/dev/tty") {
        Ok(_) => HangupMeans::TheEnd,
        Err(_) => HangupMeans::Reload,
    }
}
