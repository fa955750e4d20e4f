//! Who may connect, and by which options does the session run, as far as the settings say? Merges the settings files,
//! with folder trust decided first, since the settings of an untrusted project do not count.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use qwen_core::{AllowList, AllowedNames, FolderTrust, Gating, Pattern, Scope};
use qwen_settings_schema as schema;
use serde_json::Value;

use super::{
    AutoReload, FolderQuestion, Options, WatchMode, candidates,
    launch::{Launch, Screen},
};
use crate::settings::{Broken, Content, FolderRules, FolderVerdict, Snapshot, SourceId};

/// What the settings files come to.
pub(super) struct Settings {
    pub(super) merged: Arc<schema::Merged<'static>>,
    pub(super) folder: FolderTrust,
    pub(super) question: FolderQuestion,
    /// Sources that may restrict and could not be read at start, as people know them.
    pub(super) unreadable: Vec<String>,
}

const FILES: [(SourceId, schema::SettingsScope); 4] = [
    (SourceId::SystemDefaults, schema::SettingsScope::SystemDefaults),
    (SourceId::User, schema::SettingsScope::User),
    (SourceId::Workspace, schema::SettingsScope::Workspace),
    (SourceId::System, schema::SettingsScope::System),
];

impl Settings {
    pub(super) fn of(snapshot: &Snapshot, launch: &Launch) -> Self {
        let roots: Vec<(schema::SettingsScope, Value)> = FILES
            .iter()
            .filter_map(|&(id, scope)| {
                let file = candidates::held(snapshot.get(id)?, launch)?;
                Some((scope, without_servers(&file.root)))
            })
            .collect();
        let layers: Vec<schema::Layer<'_>> =
            roots.iter().map(|(scope, root)| schema::Layer { scope: *scope, root }).collect();
        let merged = schema::merge(&layers);
        // A project has no say in this: the schema leaves its own value of the key out.
        let (folder, question) = trust(merged.options.folder_trust, snapshot, launch);
        let merged = match folder {
            FolderTrust::Trusted => merged,
            FolderTrust::Untrusted => {
                let counting: Vec<_> = layers
                    .into_iter()
                    .filter(|layer| layer.scope != schema::SettingsScope::Workspace)
                    .collect();
                schema::merge(&counting)
            }
        };
        Self { merged: Arc::new(merged.into_owned()), folder, question, unreadable: unreadable(snapshot) }
    }

    /// The lists; who is pending is added by whoever knows the entries.
    pub(super) fn gating(&self) -> Gating {
        let excluded = self.merged.excluded.iter().flat_map(|list| patterns(&list.patterns)).collect();
        let allowed: Vec<AllowedNames> = self
            .merged
            .allowed
            .iter()
            .map(|list| AllowedNames {
                scope: scope(list.scope),
                patterns: patterns(&list.patterns).collect(),
            })
            .collect();
        let allowed = if allowed.is_empty() { AllowList::All } else { AllowList::Every(allowed) };
        Gating { excluded, allowed, pending: std::collections::BTreeMap::new() }
    }

    pub(super) fn options(&self) -> Options {
        let options = &self.merged.options;
        Options {
            auto_reload: match options.auto_reload {
                schema::AutoReload::On => AutoReload::On,
                schema::AutoReload::Off => AutoReload::Off,
            },
            debounce: Duration::from_millis(options.reload_debounce_ms),
            watch: match options.watch {
                schema::WatchMode::Auto => WatchMode::Auto,
                schema::WatchMode::Poll => WatchMode::Poll,
            },
            tool_idle: Duration::from_millis(options.tool_idle_timeout_ms),
        }
    }
}

/// Who a server is no setting says, and the entries are most of a file.
fn without_servers(root: &Value) -> Value {
    let Value::Object(members) = root else { return root.clone() };
    let others = members.iter().filter(|(key, _)| *key != "mcpServers");
    Value::Object(others.map(|(key, value)| (key.clone(), value.clone())).collect())
}

fn patterns(texts: &[String]) -> impl Iterator<Item = Pattern> {
    let patterns: BTreeSet<Pattern> = texts.iter().filter_map(|text| Pattern::new(text)).collect();
    patterns.into_iter()
}

fn scope(scope: schema::SettingsScope) -> Scope {
    match scope {
        schema::SettingsScope::SystemDefaults => Scope::SystemDefaults,
        schema::SettingsScope::User => Scope::User,
        schema::SettingsScope::Workspace => Scope::Workspace,
        schema::SettingsScope::System => Scope::System,
    }
}

fn trust(check: schema::FolderTrust, snapshot: &Snapshot, launch: &Launch) -> (FolderTrust, FolderQuestion) {
    match check {
        schema::FolderTrust::Off => return (FolderTrust::Trusted, FolderQuestion::Settled),
        schema::FolderTrust::On => {}
    }
    let unknown = FolderRules::Unreadable;
    let rules = match snapshot.get(SourceId::TrustedFolders).map(|file| &file.content) {
        Some(Content::Folders(rules)) => rules,
        Some(Content::Settings | Content::Records(_)) | None => &unknown,
    };
    match (rules.verdict(launch.paths.root.as_path()), launch.flags.screen) {
        (FolderVerdict::Trusted, _) => (FolderTrust::Trusted, FolderQuestion::Settled),
        (FolderVerdict::Distrusted, _) | (FolderVerdict::NoRule, Screen::Headless) => {
            (FolderTrust::Untrusted, FolderQuestion::Settled)
        }
        (FolderVerdict::NoRule, Screen::Interactive) => (FolderTrust::Untrusted, FolderQuestion::Ask),
    }
}

/// What restricts may stand in a file that nobody could read, so nothing starts until somebody can.
fn unreadable(snapshot: &Snapshot) -> Vec<String> {
    let restricting = [SourceId::SystemDefaults, SourceId::User, SourceId::System];
    let files = restricting.iter().filter_map(|&id| snapshot.get(id));
    let broken = files.filter(|file| file.broken == Some(Broken::Empty));
    broken
        .map(|file| file.path.as_ref().map_or_else(String::new, |path| path.display().to_string()))
        .collect()
}
