//! What is there to tell about files between two snapshots? Pure, and right for a reader that skipped any number of
//! snapshots in between. It must not know what a change means for a server.

use std::path::PathBuf;

use qwen_settings_schema::{KeyPath, Setting, SettingsSchema};

use super::event::{ChangeKind, CliEvent, Counts, SettingsChange};
use crate::settings::{Broken, Presence, Severity, Snapshot, SourceFile, SourceId, mended_restricting};

/// What differs in meaning between two snapshots.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Changes {
    /// Files with at least one key that counts at once.
    pub(super) changed: Vec<SettingsChange>,
    /// Files with keys that count only after a restart, with these keys.
    pub(super) restart: Vec<(PathBuf, Vec<Vec<String>>)>,
}

/// Compares two snapshots leaf by leaf. The approval and trust records are left out: they show only through what they
/// change.
pub(super) fn changes(old: &Snapshot, new: &Snapshot, schema: &dyn SettingsSchema) -> Changes {
    let mut found = Changes::default();
    for (id, file) in &new.sources {
        let (Some(path), Some(before)) = (&file.path, old.get(*id)) else { continue };
        let keys = match keys(*id) {
            Keys::Settings | Keys::Names => schema.changed_leaves(&before.root, &file.root),
            Keys::Untold => continue,
        };
        let needs_restart = |key: &&KeyPath| is_settings_file(*id) && schema.requires_restart(key);
        let restart: Vec<Vec<String>> = keys.iter().filter(needs_restart).map(segments).collect();
        if restart.len() < keys.len() {
            found.changed.push(SettingsChange {
                scope: id.scope(),
                path: path.clone(),
                kind: kind(before.presence, file.presence),
                keys: keys.iter().map(segments).collect(),
            });
        }
        if !restart.is_empty() {
            found.restart.push((path.clone(), restart));
        }
    }
    found
}

/// What there is to tell about files that are no good, or good again. Without an earlier snapshot every one that is
/// no good is told.
pub(super) fn health(old: Option<&Snapshot>, new: &Snapshot) -> Vec<CliEvent> {
    new.sources
        .values()
        .filter_map(|file| {
            let known = old.and_then(|old| old.get(file.id)).map(|known| &**known);
            match (known.filter(|before| is_ill(before)), is_ill(file)) {
                (Some(before), true) if told_alike(before, file) => None,
                (Some(_) | None, true) => Some(invalid(known, file)),
                (Some(_), false) => Some(CliEvent::SettingsRecovered { path: file.path.clone() }),
                (None, false) => None,
            }
        })
        .collect()
}

/// Whose keys these are.
enum Keys {
    /// Settings, or servers alone.
    Settings,
    /// Names of variables.
    Names,
    /// A record.
    Untold,
}

fn keys(id: SourceId) -> Keys {
    match id {
        SourceId::SystemDefaults
        | SourceId::User
        | SourceId::Workspace
        | SourceId::System
        | SourceId::McpJson
        | SourceId::Session(_) => Keys::Settings,
        SourceId::UserEnv => Keys::Names,
        SourceId::Approvals | SourceId::TrustedFolders => Keys::Untold,
    }
}

/// Only settings files hold keys that need a restart or restrict: elsewhere `mcp` may be a variable.
fn is_settings_file(id: SourceId) -> bool {
    match id {
        SourceId::SystemDefaults | SourceId::User | SourceId::Workspace | SourceId::System => true,
        SourceId::McpJson
        | SourceId::Session(_)
        | SourceId::UserEnv
        | SourceId::Approvals
        | SourceId::TrustedFolders => false,
    }
}

fn segments(key: &KeyPath) -> Vec<String> {
    key.segments().to_vec()
}

fn kind(before: Presence, now: Presence) -> ChangeKind {
    match (before == Presence::Missing, now == Presence::Missing) {
        (true, false) => ChangeKind::Created,
        (false, true) => ChangeKind::Deleted,
        (true, true) | (false, false) => ChangeKind::Modified,
    }
}

/// Whether something in the file does not count: all of it, or a key of a wrong type.
fn is_ill(file: &SourceFile) -> bool {
    file.broken.is_some() || file.diagnostics.iter().any(|found| found.severity == Severity::Error)
}

fn told_alike(before: &SourceFile, now: &SourceFile) -> bool {
    before.presence == now.presence && before.digest == now.digest
}

fn invalid(before: Option<&SourceFile>, file: &SourceFile) -> CliEvent {
    let first = file.diagnostics.iter().find(|found| found.severity == Severity::Error);
    CliEvent::SettingsInvalid {
        path: file.path.clone(),
        line: first.and_then(|first| first.line),
        column: first.and_then(|first| first.column),
        message: first.map_or_else(|| "the file cannot be read".to_owned(), |first| first.message.clone()),
        counts: counts(before, file),
    }
}

fn counts(before: Option<&SourceFile>, file: &SourceFile) -> Counts {
    match file.broken {
        Some(Broken::Empty) => Counts::Nothing,
        Some(Broken::KeptLastGood) => Counts::LastGood,
        None if before.is_some() && has_wrong_restricting_key(file) => Counts::TheRestAndLastGood,
        None => Counts::TheRest,
    }
}

fn has_wrong_restricting_key(file: &SourceFile) -> bool {
    is_settings_file(file.id)
        && mended_restricting(file).is_some_and(|keys| {
            keys.allowed == Setting::Wrong
                || keys.excluded == Setting::Wrong
                || keys.folder_trust == Setting::Wrong
        })
}

#[cfg(test)]
mod tests;
