//! What must be done about what is desired now? Pure: from what core was told last to what it is told next. It must not
//! know files, nor how core is told.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use qwen_core::{AllowList, Desired, Entry, FolderTrust, Gating, LaunchBound, ServerName, admit_one};

/// Who should be asked about, by name and hash.
pub(super) type Asked = BTreeSet<(ServerName, String)>;

/// One pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Pass {
    /// Nothing differs.
    Nothing,
    /// Only who waits for the user differs: there is nothing to commit, but something to tell.
    PendingOnly,
    /// Core is told this.
    Commit(Box<Desired>),
}

/// Compares what is desired with what core was told last. Servers, gate, trust and who is asked about are one
/// comparison; the order of servers is no difference, that of arguments is.
pub(super) fn plan_pass(sent: Option<&Desired>, told: &Asked, next: &Desired, asked: &Asked) -> Pass {
    match sent {
        Some(sent) if sent == next && told == asked => Pass::Nothing,
        Some(sent) if sent == next => Pass::PendingOnly,
        Some(_) | None => Pass::Commit(Box::new(next.clone())),
    }
}

/// The part of an edit that narrows: what closes, and what changes in place. Nothing opens and nothing restarts. Both
/// gates hold together, and an entry that would open or restart stays what it was.
pub(super) fn narrow(sent: &Desired, next: &Desired, bound: &LaunchBound) -> Desired {
    let servers: IndexMap<ServerName, Entry> = next
        .servers
        .iter()
        .filter_map(|(name, entry)| {
            let before = sent.servers.get(name);
            let kept = match (is_open(sent, bound, name), is_open(next, bound, name)) {
                (_, false) => Some(entry),
                (true, true) if same_wire(before, entry) => Some(entry),
                (true | false, true) => before,
            };
            Some((name.clone(), kept?.clone()))
        })
        .collect();
    let mut pending = next.gating.pending.clone();
    for (name, why) in &sent.gating.pending {
        if servers.contains_key(name) {
            pending.entry(name.clone()).or_insert(*why);
        }
    }
    Desired {
        servers,
        gating: Gating {
            excluded: sent.gating.excluded.union(&next.gating.excluded).cloned().collect(),
            allowed: both(&sent.gating.allowed, &next.gating.allowed),
            pending,
        },
        folder: match (sent.folder, next.folder) {
            (FolderTrust::Trusted, FolderTrust::Trusted) => FolderTrust::Trusted,
            (FolderTrust::Untrusted, _) | (_, FolderTrust::Untrusted) => FolderTrust::Untrusted,
        },
        unreadable: if next.unreadable.is_empty() { &sent.unreadable } else { &next.unreadable }.clone(),
    }
}

fn is_open(desired: &Desired, bound: &LaunchBound, name: &ServerName) -> bool {
    admit_one(desired, bound, name).is_ok()
}

fn same_wire(before: Option<&Entry>, now: &Entry) -> bool {
    match (before, now) {
        (Some(Entry::Valid(before)), Entry::Valid(now)) => before.wire() == now.wire(),
        (Some(Entry::Invalid(_)) | None, _) | (_, Entry::Invalid(_)) => false,
    }
}

fn both(one: &AllowList, other: &AllowList) -> AllowList {
    match (one, other) {
        (AllowList::All, list) | (list, AllowList::All) => list.clone(),
        (AllowList::Every(one), AllowList::Every(other)) => {
            let mut lists = one.clone();
            lists.extend(other.iter().filter(|list| !one.contains(list)).cloned());
            lists.sort_by_key(|list| list.scope);
            AllowList::Every(lists)
        }
    }
}

#[cfg(test)]
mod tests;
