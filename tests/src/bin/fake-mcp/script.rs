//! The actions a server can be told to take and the points of its life at which it takes them. It knows bytes and
//! signals, not the protocol.

use std::{
    io::Write,
    process::{Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use rustix::process::{Signal, getpid, kill_process};

use crate::options::{Script, number};

/// A moment in the life of the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Point {
    /// Before anything is read.
    Start,
    /// `initialize` was read and is not answered yet.
    Initialize,
    /// The `initialized` notification was read.
    Ready,
    /// `tools/list` was read and is not answered yet.
    List,
    /// `tools/list` was answered.
    Listed,
    /// `tools/call` was read and is not answered yet.
    Call,
    /// Standard input ended.
    Eof,
}

impl Point {
    pub(crate) fn parse(word: &str) -> Result<Self, String> {
        Ok(match word {
            "start" => Self::Start,
            "initialize" => Self::Initialize,
            "ready" => Self::Ready,
            "list" => Self::List,
            "listed" => Self::Listed,
            "call" => Self::Call,
            "eof" => Self::Eof,
            other => return Err(format!("unknown point {other}")),
        })
    }
}

/// One thing to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// Write this text as a line to stdout: a message, or noise.
    Say(String),
    /// Write this line to stdout so many times.
    SayTimes { times: usize, text: String },
    /// Write these bytes, given as hex digits, to stdout.
    SayHex(Vec<u8>),
    /// Write so many bytes without a newline to stdout.
    StdoutFlood { bytes: usize },
    /// Write this text as a line to stderr.
    Stderr(String),
    /// Write so many bytes without a newline to stderr.
    StderrFlood { bytes: usize },
    /// Do nothing for so long.
    Wait { ms: u64 },
    /// End with this code.
    Exit { code: i32 },
    /// Send this signal to itself.
    Signal(Signal),
    /// Read no more and answer no more, but stay.
    Hang,
    /// Close stdout and stay.
    CloseStdout,
    /// Start a child that stays until it is killed, in the same process group.
    SpawnSleeper,
}

impl Action {
    /// Reads `WORD ARGUMENT`, as in `exit 3`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (word, argument) = text.split_once(' ').unwrap_or((text, ""));
        Ok(match word {
            "say" => Self::Say(argument.to_owned()),
            "say-times" => {
                let (times, text) = argument.split_once(' ').ok_or("say-times N TEXT")?;
                Self::SayTimes { times: number(times)?, text: text.to_owned() }
            }
            "say-hex" => Self::SayHex(bytes_of_hex(argument)?),
            "stdout-flood" => Self::StdoutFlood { bytes: number(argument)? },
            "stderr" => Self::Stderr(argument.to_owned()),
            "stderr-flood" => Self::StderrFlood { bytes: number(argument)? },
            "wait" => Self::Wait { ms: number(argument)? },
            "exit" => Self::Exit { code: number(argument)? },
            "signal" => Self::Signal(match argument {
                "KILL" => Signal::KILL,
                "TERM" => Signal::TERM,
                "ABRT" => Signal::ABORT,
                other => return Err(format!("unknown signal {other}")),
            }),
            "hang" => Self::Hang,
            "close-stdout" => Self::CloseStdout,
            "spawn-sleeper" => Self::SpawnSleeper,
            other => return Err(format!("unknown action {other}")),
        })
    }

    /// Does it. `out` is the server's stdout.
    pub(crate) fn perform(&self, out: &Out) {
        match self {
            Self::Say(text) => out.line(text),
            Self::SayTimes { times, text } => (0..*times).for_each(|_| out.line(text)),
            Self::SayHex(bytes) => out.bytes(bytes),
            Self::StdoutFlood { bytes } => flood(*bytes, &mut |piece| out.bytes(piece)),
            Self::Stderr(text) => eprintln!("{text}"),
            Self::StderrFlood { bytes } => {
                let mut stderr = std::io::stderr();
                flood(*bytes, &mut |piece| drop(stderr.write_all(piece)));
            }
            Self::Wait { ms } => pause(Duration::from_millis(*ms)),
            Self::Exit { code } => std::process::exit(*code),
            Self::Signal(signal) => {
                if let Err(problem) = kill_process(getpid(), *signal) {
                    eprintln!("fake-mcp: {problem}");
                }
                // A signal to oneself is delivered before the next instruction matters; waiting keeps a slow one apart
                // from what the script says next.
                pause(Duration::from_secs(5));
            }
            Self::Hang => sleep_for_ever(),
            Self::CloseStdout => {
                if let Err(problem) = rustix::stdio::dup2_stdout(null()) {
                    eprintln!("fake-mcp: {problem}");
                }
            }
            Self::SpawnSleeper => spawn_sleeper(),
        }
    }
}

fn null() -> std::fs::File {
    match std::fs::File::options().write(true).open("/dev/null") {
        Ok(file) => file,
        Err(problem) => panic!("/dev/null: {problem}"),
    }
}

fn spawn_sleeper() {
    let exe = std::env::current_exe().unwrap_or_else(|_| "fake-mcp".into());
    let child = Command::new(exe)
        .arg("--sleeper")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match child {
        // Nobody waits for it: that is the point.
        Ok(child) => std::mem::forget(child),
        Err(problem) => eprintln!("fake-mcp: sleeper: {problem}"),
    }
}

fn flood(bytes: usize, write: &mut dyn FnMut(&[u8])) {
    let piece = [b'x'; 8192];
    let mut left = bytes;
    while left > 0 {
        let now = left.min(piece.len());
        write(&piece[..now]);
        left -= now;
    }
}

fn bytes_of_hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    digits
        .chunks(2)
        .map(|pair| {
            u8::from_str_radix(&pair.iter().collect::<String>(), 16).map_err(|_| format!("{text} is not hex"))
        })
        .collect()
}

/// Waits for so long. A scripted delay is what the server does, not a way to wait for something.
pub(crate) fn pause(time: Duration) {
    let (_keep, never) = mpsc::channel::<()>();
    if never.recv_timeout(time).is_ok() {
        eprintln!("fake-mcp: nobody sends here");
    }
}

/// Stays until it is killed.
pub(crate) fn sleep_for_ever() -> ! {
    loop {
        pause(Duration::from_secs(3600));
    }
}

/// A way to the client, shared by the threads of slow calls.
pub(crate) enum Out {
    /// Standard output, in one write or in many small ones.
    Stdout { stdout: std::sync::Mutex<std::io::Stdout>, split: Script },
    /// A message at a time to whoever writes them on.
    Messages(std::sync::Mutex<mpsc::Sender<Vec<u8>>>),
}

impl Out {
    pub(crate) fn stdout(split: Script) -> Self {
        Self::Stdout { stdout: std::sync::Mutex::new(std::io::stdout()), split }
    }

    pub(crate) fn messages(to: mpsc::Sender<Vec<u8>>) -> Self {
        Self::Messages(std::sync::Mutex::new(to))
    }

    /// One message.
    pub(crate) fn line(&self, text: &str) {
        match self {
            Self::Stdout { .. } => self.bytes(format!("{text}\n").as_bytes()),
            Self::Messages(_) => self.bytes(text.as_bytes()),
        }
    }

    /// These bytes. A reader that went away is nothing to a server that may be told to ignore it.
    pub(crate) fn bytes(&self, bytes: &[u8]) {
        match self {
            Self::Stdout { stdout, split } => {
                let Ok(mut stdout) = stdout.lock() else { return };
                let size = if *split == Script::Yes { 3 } else { bytes.len().max(1) };
                for piece in bytes.chunks(size) {
                    drop(stdout.write_all(piece).and_then(|()| stdout.flush()));
                }
            }
            Self::Messages(to) => {
                if let Ok(to) = to.lock() {
                    to.send(bytes.to_owned()).ok();
                }
            }
        }
    }
}
