//! May this server connect? The one place that decides, and the only one that can build an [`Admitted`].

use std::sync::Arc;

use indexmap::IndexMap;

use crate::{
    domain::{
        Approval, Decision, Desired, Entry, FolderTrust, LaunchBound, Pattern, Pending, Scope, ServerName,
        ServerSpec, Switch,
    },
    fingerprint::Fingerprint,
};

/// The proof that the gate let a server through. It is spent by opening a connection and cannot be copied.
#[derive(Debug)]
pub struct Admitted {
    name: ServerName,
    spec: Arc<ServerSpec>,
}

impl Admitted {
    /// The server's name.
    #[must_use]
    pub fn name(&self) -> &ServerName {
        &self.name
    }

    /// The entry that was admitted.
    #[must_use]
    pub fn spec(&self) -> &Arc<ServerSpec> {
        &self.spec
    }

    /// The identity of the connection that this proof opens.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.spec.fingerprint()
    }
}

/// Why a server may not connect. One variant per reason; the first that applies is given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// A source that may restrict servers could not be read at start.
    SettingsUnreadable {
        /// Which sources.
        sources: Vec<String>,
    },
    /// The folder is not trusted.
    UntrustedFolder,
    /// The launch bound or an allow list does not match. The bound is named first: no edit mends it.
    NotAllowed(NotAllowedBy),
    /// A pattern of the excluded list matches.
    Excluded {
        /// The pattern that matched.
        pattern: Pattern,
    },
    /// Switched off.
    Disabled,
    /// The entry does not say what to run.
    Invalid {
        /// One sentence.
        why: String,
    },
    /// The user said no to exactly this configuration.
    Rejected,
    /// Nobody has decided about exactly this configuration.
    PendingApproval,
}

/// Which list did not match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotAllowedBy {
    /// The flag at launch.
    LaunchBound,
    /// `mcp.allowed` of this scope, the lowest that refuses.
    Scope(Scope),
}

impl Refusal {
    /// The word used in JSON and in messages.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::SettingsUnreadable { .. } => "settings_unreadable",
            Self::UntrustedFolder => "untrusted_folder",
            Self::NotAllowed(_) => "not_allowed",
            Self::Excluded { .. } => "excluded",
            Self::Disabled => "disabled",
            Self::Invalid { .. } => "invalid",
            Self::Rejected => "rejected",
            Self::PendingApproval => "pending_approval",
        }
    }
}

/// The verdict on every server of a desired state, in its order.
pub type Verdicts = IndexMap<ServerName, Result<Admitted, Refusal>>;

/// Decides about every server. Pure: the same input gives the same verdicts, at start and on every reload.
#[must_use]
pub fn admit(desired: &Desired, bound: &LaunchBound) -> Verdicts {
    desired.servers.keys().map(|name| (name.clone(), admit_one(desired, bound, name))).collect()
}

/// Decides about one server of the desired state; a name that is not in it is invalid.
pub fn admit_one(desired: &Desired, bound: &LaunchBound, name: &ServerName) -> Result<Admitted, Refusal> {
    let entry = desired.servers.get(name);
    match first_refusal(desired, bound, name, entry) {
        Some(refusal) => Err(refusal),
        None => match entry {
            Some(Entry::Valid(spec)) => Ok(Admitted { name: name.clone(), spec: Arc::clone(spec) }),
            Some(Entry::Invalid(_)) | None => {
                Err(Refusal::Invalid { why: "there is no such entry".to_owned() })
            }
        },
    }
}

/// One step of the gate: what it checks and whether the server passed it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// The word of the reason it would give.
    pub check: &'static str,
    /// The refusal, where it did not pass.
    pub refusal: Option<Refusal>,
}

/// Every check in its order, for people who ask why. The first refusal is the verdict.
#[must_use]
pub fn explain(desired: &Desired, bound: &LaunchBound, name: &ServerName) -> Vec<Check> {
    CHECKS
        .iter()
        .map(|&(check, test)| Check { check, refusal: test(desired, bound, name, desired.servers.get(name)) })
        .collect()
}

fn first_refusal(
    desired: &Desired,
    bound: &LaunchBound,
    name: &ServerName,
    entry: Option<&Entry>,
) -> Option<Refusal> {
    CHECKS.iter().find_map(|(_, test)| test(desired, bound, name, entry))
}

type Test = fn(&Desired, &LaunchBound, &ServerName, Option<&Entry>) -> Option<Refusal>;

/// In the order in which they give the reason.
const CHECKS: [(&str, Test); 7] = [
    ("settings_unreadable", settings_unreadable),
    ("untrusted_folder", untrusted_folder),
    ("not_allowed", not_allowed),
    ("excluded", excluded),
    ("disabled", disabled),
    ("invalid", invalid),
    ("approval", approval),
];

fn settings_unreadable(
    desired: &Desired,
    _: &LaunchBound,
    _: &ServerName,
    _: Option<&Entry>,
) -> Option<Refusal> {
    (!desired.unreadable.is_empty())
        .then(|| Refusal::SettingsUnreadable { sources: desired.unreadable.clone() })
}

fn untrusted_folder(
    desired: &Desired,
    _: &LaunchBound,
    _: &ServerName,
    _: Option<&Entry>,
) -> Option<Refusal> {
    match desired.folder {
        FolderTrust::Trusted => None,
        FolderTrust::Untrusted => Some(Refusal::UntrustedFolder),
    }
}

fn not_allowed(
    desired: &Desired,
    bound: &LaunchBound,
    name: &ServerName,
    _: Option<&Entry>,
) -> Option<Refusal> {
    use crate::domain::AllowList;
    match bound {
        LaunchBound::Names(patterns) if !patterns.iter().any(|pattern| pattern.matches(name.as_str())) => {
            return Some(Refusal::NotAllowed(NotAllowedBy::LaunchBound));
        }
        LaunchBound::Names(_) | LaunchBound::Unbounded => {}
    }
    match &desired.gating.allowed {
        AllowList::All => None,
        AllowList::Every(lists) => lists
            .iter()
            .find(|list| !list.patterns.iter().any(|pattern| pattern.matches(name.as_str())))
            .map(|list| Refusal::NotAllowed(NotAllowedBy::Scope(list.scope))),
    }
}

fn excluded(desired: &Desired, _: &LaunchBound, name: &ServerName, _: Option<&Entry>) -> Option<Refusal> {
    let matching = desired.gating.excluded.iter().find(|pattern| pattern.matches(name.as_str()))?;
    Some(Refusal::Excluded { pattern: matching.clone() })
}

fn disabled(_: &Desired, _: &LaunchBound, _: &ServerName, entry: Option<&Entry>) -> Option<Refusal> {
    let switch = match entry? {
        Entry::Valid(spec) => spec.switch,
        Entry::Invalid(invalid) => invalid.switch,
    };
    match switch {
        Switch::On => None,
        Switch::Off => Some(Refusal::Disabled),
    }
}

fn invalid(_: &Desired, _: &LaunchBound, _: &ServerName, entry: Option<&Entry>) -> Option<Refusal> {
    match entry? {
        Entry::Valid(_) => None,
        Entry::Invalid(invalid) => Some(Refusal::Invalid { why: invalid.why.clone() }),
    }
}

/// The entry's own decision and the staged pending list: either can refuse, neither can lift the other's refusal.
fn approval(desired: &Desired, _: &LaunchBound, name: &ServerName, entry: Option<&Entry>) -> Option<Refusal> {
    let own = match entry? {
        Entry::Valid(spec) => match spec.approval() {
            Approval::NotGated | Approval::Gated(Decision::Approved) => None,
            Approval::Gated(Decision::Rejected) => Some(Refusal::Rejected),
            Approval::Gated(Decision::Undecided) => Some(Refusal::PendingApproval),
        },
        Entry::Invalid(_) => None,
    };
    let staged = desired.gating.pending.get(name).map(|pending| match pending {
        Pending::Rejected => Refusal::Rejected,
        Pending::Undecided => Refusal::PendingApproval,
    });
    match (own, staged) {
        (Some(Refusal::Rejected), _) | (_, Some(Refusal::Rejected)) => Some(Refusal::Rejected),
        (own, staged) => own.or(staged),
    }
}

#[cfg(test)]
mod tests;
