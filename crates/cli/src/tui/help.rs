//! What can be typed and pressed? The text of the help, and how far it is scrolled.

use super::{asked::COMMANDS, line::Line};
use crate::text::Tone;

/// The help on the screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Help {
    /// Lines above the first that is seen.
    pub(super) scroll: usize,
}

const KEYS: [(&str, &str); 8] = [
    ("Tab", "complete a command, a server, a tool or its arguments"),
    ("Up, Down", "lines typed before; in a dialog, move (also Ctrl-P, Ctrl-N)"),
    ("Enter", "do it; in a dialog, open or choose"),
    ("Esc", "close; while a call runs, cancel it"),
    ("Ctrl-C", "cancel a call, close a box, clear the line; twice, end the session"),
    ("Ctrl-D", "on an empty line or in a box, end the session"),
    ("Ctrl-Z", "back to the shell; `fg` comes back"),
    ("?", "in a dialog, this help"),
];

/// Every line of it, at this width.
pub(super) fn lines(columns: usize) -> Vec<Line> {
    let width = COMMANDS.iter().map(|(name, behind, _)| name.len() + 1 + behind.len()).max().unwrap_or(0);
    let mut lines = vec![Line::new(Tone::Strong, "Commands")];
    for (name, behind, does) in COMMANDS {
        let typed = format!("  {:width$}  ", format!("{name} {behind}"));
        lines.extend(Line::new(Tone::Good, &typed).and(Tone::Normal, does).wrapped(columns, width + 4));
    }
    lines.push(Line::default());
    lines.push(Line::new(Tone::Strong, "Keys"));
    for (key, does) in KEYS {
        let key = format!("  {key:width$}  ");
        lines.extend(Line::new(Tone::Good, &key).and(Tone::Normal, does).wrapped(columns, width + 4));
    }
    lines
}
