//! What was told about files already? Pure: from what the watcher has seen to what is told now. It must not know what
//! the files mean.

use std::{collections::BTreeSet, sync::Arc};

use qwen_settings_schema::SettingsSchema;

use super::{
    changes::{changes, health},
    event::{CliEvent, NoticeCode},
};
use crate::settings::{PollingBecause, Seen, Snapshot, Watching};

/// What was told last. A reader that skipped sights of the watcher is told the whole difference at once.
#[derive(Clone, Debug)]
pub(super) struct Told {
    snapshot: Arc<Snapshot>,
    degraded: BTreeSet<String>,
}

impl Told {
    /// Begins with what the session booted from, and what there is to tell about that.
    pub(super) fn booted(snapshot: &Snapshot) -> (Self, Vec<CliEvent>) {
        let told = Self { snapshot: Arc::new(snapshot.clone()), degraded: BTreeSet::new() };
        (told, health(None, snapshot))
    }

    /// What there is to tell now: how files are watched, which are no good or good again, which keys need a restart,
    /// and last what changed.
    pub(super) fn tell(&mut self, seen: &Seen, schema: &dyn SettingsSchema) -> Vec<CliEvent> {
        let mut events: Vec<CliEvent> = self.watching(&seen.watching).into_iter().collect();
        let before = std::mem::replace(&mut self.snapshot, Arc::clone(&seen.snapshot));
        events.extend(health(Some(&before), &seen.snapshot));
        let changes = changes(&before, &seen.snapshot, schema);
        events
            .extend(changes.restart.into_iter().map(|(path, keys)| CliEvent::RestartRequired { path, keys }));
        if !changes.changed.is_empty() {
            events.push(CliEvent::SettingsChanged { changes: changes.changed });
        }
        events
    }

    fn watching(&mut self, watching: &Watching) -> Option<CliEvent> {
        match watching {
            Watching::Events if self.degraded.is_empty() => None,
            Watching::Events => {
                self.degraded.clear();
                Some(CliEvent::Notice {
                    code: NoticeCode::WatchRestored,
                    message: "settings files are watched by events again".to_owned(),
                })
            }
            Watching::Polling(PollingBecause::Asked) => None,
            Watching::Polling(because) => {
                let because = because.to_string();
                self.degraded.insert(because.clone()).then(|| CliEvent::Notice {
                    code: NoticeCode::WatchDegraded,
                    message: format!("settings files are read every 2 s instead of watched: {because}"),
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use qwen_settings_schema::schema;

    use super::*;
    use crate::settings::InotifyLimit;

    #[test]
    fn polling_is_told_once_for_each_reason_and_never_where_it_was_asked_for() {
        let (mut told, at_boot) = Told::booted(&Snapshot::default());
        assert!(at_boot.is_empty());
        let mut codes = |watching: Watching| -> Vec<&'static str> {
            let seen = Seen { snapshot: Arc::default(), watching };
            told.tell(&seen, &*schema())
                .iter()
                .map(|event| {
                    let CliEvent::Notice { code, message } = event else { panic!("{event:?}") };
                    assert!(!message.ends_with('.'), "{message}");
                    code.as_str()
                })
                .collect()
        };
        let limit = || Watching::Polling(PollingBecause::Limit(InotifyLimit::Watches));
        let nfs =
            || Watching::Polling(PollingBecause::Silent { folder: "/net/home".into(), file_system: "NFS" });
        assert!(codes(Watching::Polling(PollingBecause::Asked)).is_empty());
        assert!(codes(Watching::Events).is_empty());
        assert_eq!(codes(limit()), ["watch-degraded"]);
        assert!(codes(limit()).is_empty());
        assert_eq!(codes(nfs()), ["watch-degraded"]);
        assert_eq!(codes(Watching::Events), ["watch-restored"]);
        assert_eq!(codes(limit()), ["watch-degraded"]);
    }
}
