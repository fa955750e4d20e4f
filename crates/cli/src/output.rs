//! How does a command write? One write per text, and an end of the reader is no error of ours. It knows no content.

use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;

use crate::exit::Exit;

/// Writes a text to stdout. Whoever stopped reading wanted no more of it.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Writes what a server said to stdout. On a terminal nothing in it can move the cursor; a pipe gets it as it is.
pub(crate) fn print_result(text: &str) {
    if io::stdout().is_terminal() {
        print(&crate::text::visible_lines(text));
    } else {
        print(text);
    }
}

/// How many columns a line may have where there is no terminal.
pub(crate) const WIDTH: usize = 80;

/// How many columns the terminal behind stdout has, or [`WIDTH`].
pub(crate) fn width() -> usize {
    rustix::termios::tcgetwinsize(io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|&width| width > 0)
        .unwrap_or(WIDTH)
}

/// Writes one JSON document to stdout.
pub(crate) fn print_json(document: &impl Serialize) {
    match serde_json::to_string_pretty(document) {
        Ok(text) => print(&(text + "\n")),
        Err(error) => complain("write the document", &error),
    }
}

/// Writes a line to stderr.
pub(crate) fn note(text: &str) {
    let mut out = io::stderr().lock();
    drop(out.write_all(format!("{text}\n").as_bytes()));
}

/// Says on stderr what failed, with every cause, and gives the exit.
pub(crate) fn fail(error: &dyn std::error::Error, exit: Exit) -> Exit {
    note(&failure(error));
    exit
}

/// What is said of a failure, with every cause, in one line.
pub(crate) fn failure(error: &dyn std::error::Error) -> String {
    format!("qwen: failed to {}", chain(error))
}

/// Says on stderr that something else failed.
pub(crate) fn complain(what: &str, error: &dyn std::error::Error) {
    note(&format!("qwen: failed to {what}: {}", chain(error)));
}

/// An error and its causes in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
