//! What did a server write to its output in place of messages? Owns the count of such lines and the first of them for as
//! long as no message came; knows neither what a message is nor how it is told.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;

use super::stderr::without_control;

/// The lines of one server that were no messages. It may hold secrets, so printing it shows none of them.
#[derive(Clone, Default)]
pub(crate) struct Chatter(Arc<Mutex<Heard>>);

#[derive(Default)]
struct Heard {
    lines: u64,
    first: First,
}

/// What is known of the beginning.
#[derive(Default)]
enum First {
    #[default]
    Silence,
    /// Whole, since a secret that was cut would not be found in it.
    Line(Bytes),
    /// A message came, so that what else was written did no harm.
    Passed,
}

impl Chatter {
    /// A line that was no message; how many there were, with it.
    pub(crate) fn add(&self, line: Bytes) -> u64 {
        let mut heard = self.heard();
        heard.lines += 1;
        if let First::Silence = heard.first {
            heard.first = First::Line(line);
        }
        heard.lines
    }

    /// A message came.
    pub(crate) fn pass(&self) {
        self.heard().first = First::Passed;
    }

    /// The first line of a server that never sent a message, without what paints on a screen.
    pub(crate) fn in_place_of_messages(&self) -> Option<String> {
        match &self.heard().first {
            First::Line(line) => Some(without_control(&String::from_utf8_lossy(line))),
            First::Silence | First::Passed => None,
        }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Chatter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} lines", self.heard().lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_kept_until_a_message_comes() {
        let chatter = Chatter::default();
        assert_eq!(chatter.in_place_of_messages(), None);
        assert_eq!((chatter.add("\u{1b}[1mUsage".into()), chatter.add("more".into())), (1, 2));
        assert_eq!(chatter.in_place_of_messages().as_deref(), Some("Usage"));
        assert_eq!(format!("{chatter:?}"), "2 lines");
        chatter.pass();
        assert_eq!((chatter.add("later".into()), chatter.in_place_of_messages()), (3, None));
    }
}
