//! What is typed, line by line. A thread of its own reads, since reading a terminal cannot be given up; it ends with the
//! process.

use std::{
    io::{self, BufRead as _, IsTerminal as _},
    thread,
};

use tokio::sync::mpsc;

/// What stdin says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Typed {
    /// A line.
    Line(String),
    /// Nothing more comes.
    Closed,
}

/// Whether a person can be asked: they type here and read stderr.
pub(super) fn is_a_person() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Starts reading.
pub(super) fn read() -> mpsc::UnboundedReceiver<Typed> {
    let (lines, typed) = mpsc::unbounded_channel();
    thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = stdin.read_until(b'\n', &mut line);
            let said = match read {
                Ok(0) | Err(_) => Typed::Closed,
                Ok(_) => Typed::Line(String::from_utf8_lossy(&line).into_owned()),
            };
            let closed = said == Typed::Closed;
            if lines.send(said).is_err() || closed {
                break;
            }
        }
    });
    typed
}
