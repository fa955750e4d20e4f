//! In which order is what happened told? Keeps the last status that was told and what has not been said yet. It prints
//! nothing and waits for nothing.

use std::sync::Arc;

use qwen_core::{McpEvent, Phase, ServerName, ServerStatus, Status, changes};

use crate::{
    derive::Derived,
    events::Event,
    hot_reload::CliEvent,
    words::{Background, Words, of_phase, of_removed},
};

/// What the words point to at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    /// What the files mean.
    pub(crate) derived: &'a Derived,
    /// Where they point to.
    pub(crate) back: Background<'a>,
}

/// Turns statuses and what happened to files into events, each told once and in order.
#[derive(Default)]
pub(crate) struct Teller {
    told: Arc<Status>,
}

impl Teller {
    /// Something happened to files. A planned commit brings its status along, so that what it did is told between what
    /// led to it and what follows from it.
    pub(crate) fn happened(&mut self, event: CliEvent, facts: Facts<'_>) -> Vec<Event> {
        match &event {
            CliEvent::Planned { generation, status } if self.told.observed < *generation => {
                let status = Arc::clone(status);
                self.status(&status, facts)
            }
            CliEvent::Planned { .. } => Vec::new(),
            CliEvent::ShadowsChanged { servers } => self.connected(servers, facts),
            CliEvent::SettingsChanged { .. }
            | CliEvent::SettingsInvalid { .. }
            | CliEvent::SettingsRecovered { .. }
            | CliEvent::RestartRequired { .. }
            | CliEvent::PendingApprovalChanged { .. }
            | CliEvent::Notice { .. } => vec![Event::Cli(event)],
        }
    }

    /// The same servers once more, in the words that hold now; what is not connected says nothing about its shadow.
    fn connected(&self, names: &[ServerName], facts: Facts<'_>) -> Vec<Event> {
        let servers = names.iter().filter_map(|name| Some((name, self.told.servers.get(name)?)));
        servers
            .filter(|(_, status)| matches!(status.phase, Phase::Connected(_)))
            .map(|(name, status)| Event::Server {
                name: name.clone(),
                status: Some(Arc::clone(status)),
                words: words(name, Some(status), facts),
            })
            .collect()
    }

    /// There is a newer status. Whoever calls this has told everything that happened to files before it.
    pub(crate) fn status(&mut self, status: &Arc<Status>, facts: Facts<'_>) -> Vec<Event> {
        let told = std::mem::replace(&mut self.told, Arc::clone(status));
        changes(&told, status).into_iter().map(|event| put_into_words(event, facts)).collect()
    }
}

fn put_into_words(event: McpEvent, facts: Facts<'_>) -> Event {
    match event {
        McpEvent::Reloaded(record) => Event::Reloaded(record),
        McpEvent::CatalogueChanged(change) => Event::Catalogue(change),
        McpEvent::Settled(settling) => Event::Settled(settling),
        McpEvent::ServerChanged { name, status } => {
            let words = words(&name, status.as_deref(), facts);
            Event::Server { name, status, words }
        }
    }
}

fn words(name: &ServerName, status: Option<&ServerStatus>, facts: Facts<'_>) -> Words {
    match status {
        Some(status) => of_phase(&status.phase, name, facts.derived.rows.get(name), facts.back),
        None => of_removed(),
    }
}

#[cfg(test)]
mod tests {
    use qwen_core::{CommitRecord, Connected, Refusal, Scope};

    use super::*;
    use crate::{fixtures, settings::Snapshot};

    fn status(generation: u64) -> Arc<Status> {
        let mut status = Status { observed: generation, ..Status::default() };
        let server = ServerStatus {
            scope: Scope::Project,
            phase: Phase::Refused(Refusal::PendingApproval),
            since_unix_ms: 0,
            transitions: Vec::new(),
        };
        status.servers.insert(ServerName::from("linter"), Arc::new(server));
        status.commits.push(Arc::new(CommitRecord {
            generation,
            added: vec![ServerName::from("linter")],
            removed: Vec::new(),
            restarted: Vec::new(),
            rescoped: Vec::new(),
            kept: 0,
            skipped: Vec::new(),
        }));
        Arc::new(status)
    }

    fn kinds(events: &[Event]) -> Vec<&'static str> {
        events
            .iter()
            .map(|event| match event {
                Event::Reloaded(_) => "reloaded",
                Event::Server { .. } => "server",
                Event::Cli(_) => "cli",
                Event::Started(_) | Event::Catalogue(_) | Event::Settled(_) | Event::Ended(_) => "other",
            })
            .collect()
    }

    #[test]
    fn a_planned_commit_is_told_once_whether_its_status_or_its_notice_comes_first() {
        let (derived, snapshot) = (Derived::default(), Snapshot::default());
        let facts = Facts { derived: &derived, back: fixtures::background(&snapshot) };
        let planned = || CliEvent::Planned { generation: 1, status: status(1) };

        let mut teller = Teller::default();
        assert_eq!(kinds(&teller.happened(planned(), facts)), ["reloaded", "server"]);
        assert!(teller.status(&status(1), facts).is_empty());

        let mut teller = Teller::default();
        assert_eq!(kinds(&teller.status(&status(1), facts)), ["reloaded", "server"]);
        assert!(teller.happened(planned(), facts).is_empty());
    }

    #[test]
    fn a_connected_server_says_so_when_an_entry_begins_or_ends_to_wait_for_its_name() {
        let (mut derived, snapshot) = (Derived::default(), Snapshot::default());
        let mut told = (*status(1)).clone();
        let mut server = (*told.servers["linter"]).clone();
        server.phase = Phase::Connected(Connected {
            pid: Some(1),
            tools: 1,
            prompts: 0,
            resources: 0,
            warnings: Vec::new(),
            unlisted: Vec::new(),
        });
        told.servers.insert(ServerName::from("github"), Arc::new(server));
        let mut teller = Teller { told: Arc::new(told) };
        let servers = vec![ServerName::from("github"), ServerName::from("linter")];
        let mut causes = |derived: &Derived| {
            let facts = Facts { derived, back: fixtures::background(&snapshot) };
            let events = teller.happened(CliEvent::ShadowsChanged { servers: servers.clone() }, facts);
            let causes: Vec<_> = events
                .into_iter()
                .map(|event| {
                    let Event::Server { name, words, .. } = event else { panic!("{event:?}") };
                    (name.as_str().to_owned(), words.cause)
                })
                .collect();
            causes
        };
        derived.rows.insert(ServerName::from("github"), fixtures::shadowed("github"));
        let cause = "shadowed by an unapproved entry in /p/.mcp.json:3".to_owned();
        assert_eq!(causes(&derived), [("github".to_owned(), Some(cause))]);
        derived.rows.clear();
        assert_eq!(causes(&derived), [("github".to_owned(), None)]);
    }

    #[test]
    fn what_happened_to_files_is_told_as_it_is() {
        let (derived, snapshot) = (Derived::default(), Snapshot::default());
        let facts = Facts { derived: &derived, back: fixtures::background(&snapshot) };
        let event = CliEvent::PendingApprovalChanged { servers: Vec::new() };
        assert_eq!(kinds(&Teller::default().happened(event, facts)), ["cli"]);
    }
}
