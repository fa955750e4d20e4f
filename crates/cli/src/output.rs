//! How does a command write? One write per text, and an end of the reader is no error of ours. It knows no content.

use std::io::{self, IsTerminal as _, Write as _};

use rustix::fd::AsFd;
use serde::Serialize;

use crate::{exit::Exit, text::hanging};

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
    columns_of(io::stdout()).unwrap_or(WIDTH)
}

/// How many columns a terminal has; `None` of anything else, and of one that does not know.
fn columns_of(terminal: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(usize::from(size.ws_col)).filter(|&width| width > 0)
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

/// Says a sentence of ours on stderr: broken into lines for a terminal, and in one line for whatever reads a pipe.
pub(crate) fn say(sentence: &str) {
    note(&broken(sentence, columns_of(io::stderr())));
}

/// What follows the first line stands four columns in. What has lines of its own keeps them.
fn broken(sentence: &str, columns: Option<usize>) -> String {
    match columns {
        Some(columns) if !sentence.contains('\n') => {
            hanging("", sentence, columns.saturating_sub(4)).join("\n    ")
        }
        Some(_) | None => sentence.to_owned(),
    }
}

/// Says on stderr what failed, with every cause, and gives the exit.
pub(crate) fn fail(error: &dyn std::error::Error, exit: Exit) -> Exit {
    say(&failure(error));
    exit
}

/// What is said of a failure, with every cause, in one line.
pub(crate) fn failure(error: &dyn std::error::Error) -> String {
    format!("qwen: failed to {}", chain(error))
}

/// Says on stderr that something else failed.
pub(crate) fn complain(what: &str, error: &dyn std::error::Error) {
    say(&format!("qwen: failed to {what}: {}", chain(error)));
}

/// An error and its causes in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_broken_for_a_terminal_and_whole_for_a_pipe() {
        let sentence = "qwen: failed to find it; run `qwen mcp list --no-connect` there";
        assert_eq!(broken(sentence, None), sentence);
        assert_eq!(broken(sentence, Some(80)), sentence);
        assert_eq!(
            broken(sentence, Some(30)),
            "qwen: failed to find it;\n    run\n    qwen mcp list --no-connect\n    there"
        );
        let lines = "qwen: failed to go on: it said\n  something that is longer than a line";
        assert_eq!(broken(lines, Some(30)), lines);
    }
}
