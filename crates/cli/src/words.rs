//! Why is a server not connected, and what can be done? The one place that puts reasons into words; what it says is
//! the same on the terminal and in JSON. It knows no output format.

mod failure;
mod step;

use std::{path::Path, sync::Arc};

use qwen_core::{Connecting, Decision, NotAllowedBy, Pattern, Phase, Refusal, Scope, ServerName};
use qwen_settings_schema::{Restricting, Setting, restricting};
use serde_json::Value;

pub(crate) use self::step::Prompt;
use crate::{
    derive::{Row, ShadowedBy, Source},
    settings::{Content, FolderRules, Snapshot, SourceFile, SourceId, as_written},
    text::{shell_word, visible},
};

/// A cause and what to do about it, one sentence each, without a full stop. Never a secret.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Words {
    /// `None` where all is well.
    pub(crate) cause: Option<String>,
    /// `None` where nothing needs to be done.
    pub(crate) next_step: Option<String>,
}

impl Words {
    fn new(cause: impl Into<String>, next_step: impl Into<String>) -> Self {
        Self { cause: Some(cause.into()), next_step: Some(next_step.into()) }
    }
}

/// What the words point to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Background<'a> {
    /// The files, for the lists that refuse.
    pub(crate) snapshot: &'a Snapshot,
    /// The project, for trust.
    pub(crate) root: &'a Path,
    /// Where the next steps are typed.
    pub(crate) prompt: Prompt,
}

/// The words for a server that stands in the map, `row` being what is known of its entry.
pub(crate) fn of_phase(phase: &Phase, name: &ServerName, row: Option<&Row>, back: Background<'_>) -> Words {
    match phase {
        Phase::Connected(connected) => {
            let mut notes = connected.warnings.clone();
            let mut next_step = None;
            if !connected.unlisted.is_empty() {
                let again = back.prompt.reconnect(name);
                next_step =
                    Some(format!("{again}; if it stays so, look for the cause in the server's own log"));
            }
            if let Some(candidate) = row.and_then(|row| row.shadowed_by.as_ref()) {
                notes.push(shadowed(candidate));
                next_step = Some(back.prompt.decide(name, &candidate.hash));
            }
            Words { cause: (!notes.is_empty()).then(|| notes.join("; ")), next_step }
        }
        Phase::Connecting(connecting) => Words::new(
            match connecting {
                Connecting::Handshake => "waiting for its answer",
                Connecting::WaitingForTeardown => "waiting for the process it replaces to end",
                Connecting::WaitingForCall => "waiting for a running call",
            },
            "nothing; it goes live by itself",
        ),
        Phase::Failed { failure, retry_at_unix_ms } => Words::new(
            failure.message.clone(),
            failure::next_step(failure, *retry_at_unix_ms, name, row, back),
        ),
        Phase::Refused(refusal) => of_refusal(refusal, name, row, back),
    }
}

/// The words for a server that left the map during this session.
pub(crate) fn of_removed() -> Words {
    Words::new("was removed during this session", "add it to settings again")
}

/// The words for a server that the gate refuses.
pub(crate) fn of_refusal(
    refusal: &Refusal,
    name: &ServerName,
    row: Option<&Row>,
    back: Background<'_>,
) -> Words {
    let entry = || row.map_or_else(|| "its entry".to_owned(), |row| place(&row.source));
    let hash = || row.and_then(|row| row.approval.as_ref()).map_or("", |approval| approval.hash.as_str());
    match refusal {
        Refusal::SettingsUnreadable { sources } => Words::new(
            format!("{} could not be read, and it may restrict servers", listed(sources)),
            format!("mend {}; a running session picks it up by itself", listed(sources)),
        ),
        Refusal::UntrustedFolder => match broken_trust(back.snapshot) {
            Some(record) => Words::new(
                format!("{record} could not be read, and without it no folder is trusted"),
                format!("mend {record}, or move it away and run `qwen trust`{}", back.prompt.elsewhere()),
            ),
            None => Words::new(
                format!("the folder {} is not trusted", visible(&back.root.display().to_string())),
                format!("{}, if you trust what is in it", back.prompt.trust()),
            ),
        },
        Refusal::NotAllowed(NotAllowedBy::LaunchBound) => Words::new(
            "filtered out by the launch bound --allowed-mcp-server-names, which no edit changes",
            format!("start with {} in --allowed-mcp-server-names", shell_word(name.as_str())),
        ),
        Refusal::NotAllowed(NotAllowedBy::Scope(scope)) => {
            let file = settings_of(back.snapshot, *scope);
            let list = file
                .map_or_else(|| format!("the {scope} settings"), |file| key_place(file, &["mcp", "allowed"]));
            if file.is_some_and(|file| is_wrong(file, |says| &says.allowed)) {
                return not_understood("mcp.allowed", &list, "does not have it");
            }
            Words::new(
                format!("not in the allow-list mcp.allowed of {list}"),
                format!("add {} to mcp.allowed in {list}", quoted(name.as_str())),
            )
        }
        Refusal::Excluded { pattern } => {
            let file = excluding_file(back.snapshot, pattern);
            let list =
                file.map_or_else(|| "settings".to_owned(), |file| key_place(file, &["mcp", "excluded"]));
            if file.is_some_and(|file| is_wrong(file, |says| &says.excluded)) {
                return not_understood("mcp.excluded", &list, "excludes it");
            }
            let pattern = quoted(pattern.as_str());
            Words::new(
                format!("excluded by the pattern {pattern} of mcp.excluded in {list}"),
                format!("remove {pattern} from mcp.excluded in {list}"),
            )
        }
        Refusal::Disabled => Words::new(
            format!("switched off in {}", entry()),
            format!("switch it on in {}, or {}", entry(), back.prompt.enable(name)),
        ),
        Refusal::Invalid { why } => Words::new(visible(why), after_invalid(row, back)),
        // Another process would vouch for it, so no command of another process decides about it.
        Refusal::PendingApproval if is_session(row) => Words::new(
            "awaits approval: it is not what this --mcp-config file held at start",
            "decide in /mcp of this session, or start it again with the same --mcp-config",
        ),
        Refusal::PendingApproval => Words::new("awaits approval", back.prompt.decide(name, hash())),
        Refusal::Rejected => Words::new(
            "was rejected for this exact configuration",
            format!("edit {}, or {}", entry(), back.prompt.approve(name, hash())),
        ),
    }
}

/// The place to mend, by the field that is wrong.
fn after_invalid(row: Option<&Row>, back: Background<'_>) -> String {
    let Some(row) = row else { return "mend its entry".to_owned() };
    if let Some(unset) = &row.unset {
        let file = back.snapshot.get(SourceId::UserEnv).and_then(|file| file.path.as_ref());
        let file = file.map_or_else(|| "~/.qwen/.env".into(), |path| path.display().to_string());
        let at = field_place(back, row, &row.wrong);
        return format!(
            "set {} in {}, or in the environment before the start; or mend {at}",
            visible(unset),
            visible(&file)
        );
    }
    match row.wrong.as_slice() {
        [headers, header] if headers == "headers" => failure::replace_header(header, Some(row), back),
        field => format!("mend {}", field_place(back, row, field)),
    }
}

/// A list that restricts and holds something else counts as its last good value, or at its strictest.
fn not_understood(key: &str, list: &str, does: &str) -> Words {
    Words::new(
        format!("{key} of {list} is no list of names, and what counts until it is mended {does}"),
        format!("mend {key} in {list}: it must be a list of names"),
    )
}

fn is_wrong(file: &SourceFile, key: impl Fn(&Restricting) -> &Setting<Vec<String>>) -> bool {
    as_written(file).is_some_and(|written| *key(&restricting(&written)) == Setting::Wrong)
}

/// The record of trusted folders, where it cannot be read.
fn broken_trust(snapshot: &Snapshot) -> Option<String> {
    let file = snapshot.get(SourceId::TrustedFolders)?;
    match &file.content {
        Content::Folders(FolderRules::Unreadable) => Some(
            file.path
                .as_ref()
                .map_or_else(String::new, |path| visible(&path.display().to_string()).into_owned()),
        ),
        Content::Folders(FolderRules::Rules(_)) | Content::Settings | Content::Records(_) => None,
    }
}

fn is_session(row: Option<&Row>) -> bool {
    row.is_some_and(|row| row.scope == Scope::Session)
}

/// Who would take the name, once somebody says yes.
pub(crate) fn shadowed(candidate: &ShadowedBy) -> String {
    let what = match candidate.decision {
        Decision::Undecided | Decision::Approved => "an unapproved entry",
        Decision::Rejected => "a rejected entry",
    };
    format!("shadowed by {what} in {}", place(&candidate.source))
}

/// `FILE:LINE`, as configured.
pub(crate) fn place(source: &Source) -> String {
    let path = source
        .path
        .as_ref()
        .map_or_else(|| "--mcp-config".to_owned(), |path| visible(&path.display().to_string()).into_owned());
    match source.line {
        Some(line) => format!("{path}:{line}"),
        None => path,
    }
}

/// `FILE:LINE` of a field of an entry, or of the entry where the field has no place of its own.
fn field_place<S: AsRef<str>>(back: Background<'_>, row: &Row, field: &[S]) -> String {
    let entry = ["mcpServers", row.name.as_str()];
    let key: Vec<&str> = entry.into_iter().chain(field.iter().map(AsRef::as_ref)).collect();
    let is_its = |file: &&Arc<SourceFile>| file.path.is_some() && file.path == row.source.path;
    let positions = back.snapshot.sources.values().find(is_its).map(|file| &file.positions);
    // An entry may stand elsewhere: `mcp.serverCommand` is one too.
    let positions = positions.filter(|positions| {
        positions.nearest(&entry).is_some_and(|entry| Some(entry.line) == row.source.line)
    });
    match positions.and_then(|positions| positions.nearest(&key)) {
        Some(found) => place(&Source { line: Some(found.line), ..row.source.clone() }),
        None => place(&row.source),
    }
}

/// `FILE:LINE` of a key of a file.
fn key_place(file: &SourceFile, key: &[&str]) -> String {
    let path = file.path.as_ref().map(|path| visible(&path.display().to_string()).into_owned());
    let path = path.unwrap_or_else(|| "--mcp-config".to_owned());
    match file.positions.nearest(key) {
        Some(found) => format!("{path}:{}", found.line),
        None => path,
    }
}

fn settings_of(snapshot: &Snapshot, scope: Scope) -> Option<&SourceFile> {
    settings_files(snapshot).find(|file| file.id.scope() == scope)
}

/// The first file, from the highest scope down, whose `mcp.excluded` holds the pattern.
fn excluding_file<'a>(snapshot: &'a Snapshot, pattern: &Pattern) -> Option<&'a SourceFile> {
    settings_files(snapshot).find(|file| {
        file.root.pointer("/mcp/excluded").and_then(Value::as_array).is_some_and(|list| {
            list.iter().filter_map(Value::as_str).filter_map(Pattern::new).any(|held| held == *pattern)
        })
    })
}

/// The settings files, highest scope first; only they hold lists.
fn settings_files(snapshot: &Snapshot) -> impl Iterator<Item = &SourceFile> {
    [SourceId::System, SourceId::Workspace, SourceId::User, SourceId::SystemDefaults]
        .into_iter()
        .filter_map(|id| snapshot.get(id))
        .map(AsRef::as_ref)
}

/// A value in quotes, with what cannot be seen written out.
fn quoted(text: &str) -> String {
    format!("\"{}\"", visible(text))
}

fn listed(sources: &[String]) -> String {
    sources.iter().map(|source| visible(source).into_owned()).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests;
