//! What do `/tools`, `/settings` and `/approvals` print? Lines for the transcript, from values. It reads no file.

use qwen_core::{Catalogue, ServerName};

use super::{line::Line, using::MOST_LINES};
use crate::{
    derive::Derived,
    settings::{Presence, Severity, Snapshot},
    text::{Tone, count, cut_to, visible},
};

/// The tools on offer, one line each.
pub(super) fn tools(catalogue: &Catalogue, server: Option<&ServerName>, width: usize) -> Vec<Line> {
    let tools: Vec<_> =
        catalogue.tools.values().filter(|tool| server.is_none_or(|server| tool.server == *server)).collect();
    if tools.is_empty() {
        return vec![Line::new(Tone::Normal, "no tools")];
    }
    let longest = tools.iter().map(|tool| tool.name.len()).max().unwrap_or(0);
    let more = tools.len().saturating_sub(MOST_LINES);
    let mut lines: Vec<Line> = tools
        .into_iter()
        .take(MOST_LINES)
        .map(|tool| {
            let about = tool.description.as_deref().and_then(|text| text.lines().next()).unwrap_or_default();
            let name = format!("{:longest$}", tool.name);
            let room = width.saturating_sub(longest + 4);
            Line::new(Tone::Strong, &format!("  {name}"))
                .and(Tone::Normal, &format!("  {}", cut_to(&visible(about), room)))
        })
        .collect();
    if more > 0 {
        lines.push(Line::new(Tone::Quiet, &format!("… and {more} more; /mcp shows those of a server")));
    }
    lines
}

/// Which files are read, and what is wrong in them.
pub(super) fn settings(snapshot: &Snapshot, derived: &Derived) -> Vec<Line> {
    let mut lines = Vec::new();
    for file in snapshot.sources.values() {
        let Some(path) = &file.path else { continue };
        let (tone, word) = match (&file.broken, &file.presence) {
            (Some(_), _) => (Tone::Bad, "broken"),
            (None, Presence::Present) => (Tone::Good, "read"),
            (None, Presence::Missing | Presence::Blank) => (Tone::Quiet, "not there"),
            (None, Presence::Unreadable) => (Tone::Bad, "no text"),
        };
        let path = path.display().to_string();
        lines.push(Line::new(tone, &format!("  {word:9}  ")).and(Tone::Normal, &path));
    }
    for said in &derived.diagnostics {
        let tone = match said.severity {
            Severity::Error => Tone::Bad,
            Severity::Warning => Tone::Attention,
        };
        let path = said.path.as_ref().map_or("--mcp-config".to_owned(), |path| path.display().to_string());
        let place: String =
            [said.line, said.column].into_iter().flatten().map(|number| format!(":{number}")).collect();
        let hint = said.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        lines.push(Line::new(tone, &format!("  {path}{place}: {}{hint}", said.message)));
    }
    let end = match derived.diagnostics.len() {
        0 => "nothing is wrong in them; in a shell `qwen settings show` prints the values".to_owned(),
        number => format!("{}; in a shell `qwen settings check` shows the lines", count(number, "problem")),
    };
    lines.push(Line::new(Tone::Quiet, &end));
    lines
}
