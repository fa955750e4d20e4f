//! What happened to files and approvals, as sentences.

use std::path::Path;

use crate::{
    hot_reload::{CliEvent, Counts, SettingsChange},
    text::{Tone, visible},
};

/// One sentence, and what it means.
pub(super) fn sentence(event: &CliEvent) -> Option<(Tone, String)> {
    let sentence = match event {
        CliEvent::SettingsChanged { changes } if changes.is_empty() => {
            (Tone::Normal, "read all files again: nothing changed".to_owned())
        }
        CliEvent::SettingsChanged { changes } => {
            (Tone::Normal, changes.iter().map(change).collect::<Vec<_>>().join("; "))
        }
        CliEvent::SettingsInvalid { path, line, column, message, counts } => {
            let place = [*line, *column].into_iter().flatten().map(|number| format!(":{number}"));
            let (ill, kept) = match counts {
                Counts::Nothing => ("is broken", "nothing of it counts"),
                Counts::LastGood => ("is broken", "what it said before still counts"),
                Counts::TheRest => ("is wrong", "the rest of the file counts"),
                Counts::TheRestAndLastGood => {
                    ("is wrong", "the rest of the file counts, and for this key what it said before")
                }
            };
            let path = file(path.as_deref());
            (Tone::Bad, format!("{path}{} {ill}: {}; {kept}", place.collect::<String>(), visible(message)))
        }
        CliEvent::SettingsRecovered { path } => {
            (Tone::Good, format!("{} is good again", file(path.as_deref())))
        }
        CliEvent::RestartRequired { path, keys } => (
            Tone::Attention,
            format!("{} in {} counts only after a restart", self::keys(keys), file(Some(path))),
        ),
        CliEvent::PendingApprovalChanged { servers } if servers.is_empty() => {
            (Tone::Normal, "no server waits for approval any more".to_owned())
        }
        CliEvent::PendingApprovalChanged { servers } => {
            let names: Vec<_> = servers.iter().map(|name| visible(name.as_str())).collect();
            let waits = if names.len() == 1 { "waits" } else { "wait" };
            (Tone::Attention, format!("{} {waits} for approval", names.join(", ")))
        }
        CliEvent::Notice { code: _, message } => (Tone::Attention, visible(message).into_owned()),
        CliEvent::Planned { .. } | CliEvent::ShadowsChanged { .. } => return None,
    };
    Some(sentence)
}

fn change(change: &SettingsChange) -> String {
    let path = file(Some(&change.path));
    let what = change.kind.as_str();
    if change.keys.is_empty() {
        format!("{path} was {what}")
    } else {
        format!("{path} was {what}: {}", keys(&change.keys))
    }
}

/// The first few keys; more would not be read aloud.
fn keys(keys: &[Vec<String>]) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<String> =
        keys.iter().take(SHOWN).map(|key| visible(&key.join(".")).into_owned()).collect();
    let more = keys.len().saturating_sub(SHOWN);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

fn file(path: Option<&Path>) -> String {
    path.map_or_else(|| "--mcp-config".to_owned(), |path| visible(&path.display().to_string()).into_owned())
}
