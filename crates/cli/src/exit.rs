//! How a command ends: the exit codes of the command line, by name. Nothing here decides which one applies.

use std::process::ExitCode;

/// What the exit code of `qwen` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// Done.
    Ok,
    /// It did not work; the reason was printed.
    Failed,
    /// The command line makes no sense.
    Usage,
    /// Admitted servers could not be connected.
    ServersFailed,
    /// A settings file is broken, or lies where it must not.
    Configuration,
    /// An approval or a policy stands against what was asked for.
    Blocked,
    /// A one-shot command was interrupted.
    Interrupted,
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::ServersFailed => 3,
            Self::Configuration => 4,
            Self::Blocked => 5,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
