//! Which of the entries that claim a name counts, and who should be asked about the others? One row per name. A gated
//! entry takes a name from a lower scope only once it is approved.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use indexmap::IndexMap;
use qwen_approvals::Records;
use qwen_core::{
    Approval, Decision, Desired, Entry, FolderTrust, Gating, Pending, Refusal, ServerName, Switch, admit_one,
};

use super::{
    Derived, Options,
    candidates::{self, Candidate},
    decide,
    gate::Settings,
    launch::{Launch, Yolo},
    resolutions::Resolutions,
    resolve::{self, Problem, Resolved, Surroundings},
    row::{GatedEntry, Loser, Promptable, Row, RowApproval, ShadowedBy, Written},
};
use crate::settings::{Diagnostic, Reach, Severity, Snapshot, SourceId, Variables};

/// More of these about one file help nobody; the rows have every reason.
const AT_MOST: usize = 200;

/// What all names come to.
#[derive(Default)]
pub(super) struct Weighed {
    pub(super) rows: IndexMap<ServerName, Row>,
    pub(super) servers: IndexMap<ServerName, Entry>,
    pub(super) pending: BTreeMap<ServerName, Pending>,
    pub(super) promptable: BTreeMap<ServerName, Promptable>,
    pub(super) gated: BTreeMap<ServerName, GatedEntry>,
    pub(super) diagnostics: Vec<(SourceId, Diagnostic)>,
    pub(super) resolutions: Resolutions,
}

/// Everything that every name is weighed against.
pub(super) struct Weighing<'a> {
    snapshot: &'a Snapshot,
    launch: &'a Launch,
    options: &'a Options,
    previous: Option<&'a Derived>,
    folder: FolderTrust,
    records: Arc<Records>,
    resolutions: Resolutions,
    exe: String,
    root: String,
    /// The gate without anything that a decision says: what an entry must pass to be asked about.
    gate: Desired,
}

/// One entry with what was decided about it.
struct Judged<'a> {
    candidate: &'a Candidate,
    /// `None` where it needs no approval.
    approval: Option<RowApproval>,
}

impl Judged<'_> {
    /// Whether it takes the name from whatever is below it.
    fn takes_the_name(&self) -> bool {
        self.approval.as_ref().is_none_or(|approval| !approval.decision.blocks())
    }

    fn core(&self) -> Approval {
        match &self.approval {
            Some(approval) => Approval::Gated(approval.decision),
            None => Approval::NotGated,
        }
    }

    fn loser(&self) -> Loser {
        Loser { scope: self.candidate.scope, source: self.candidate.source() }
    }
}

impl<'a> Weighing<'a> {
    pub(super) fn new(
        snapshot: &'a Snapshot,
        launch: &'a Launch,
        settings: &Settings,
        options: &'a Options,
        previous: Option<&'a Derived>,
    ) -> Self {
        let gate = Desired {
            servers: IndexMap::new(),
            gating: Gating { pending: BTreeMap::new(), ..settings.gating() },
            folder: settings.folder,
            unreadable: settings.unreadable.clone(),
        };
        Self {
            snapshot,
            launch,
            options,
            previous,
            folder: settings.folder,
            records: decide::records(snapshot),
            resolutions: Resolutions::new(user_variables(snapshot), options.tool_idle),
            exe: text(&launch.environment.exe),
            root: text(launch.paths.root.as_path()),
            gate,
        }
    }

    /// Weighs every name.
    pub(super) fn all(&mut self) -> Weighed {
        let mut weighed = Weighed::default();
        for (name, entries) in candidates::by_name(self.snapshot, self.launch) {
            let judged: Vec<Judged<'_>> = entries.iter().map(|entry| self.judge(entry)).collect();
            self.weigh(&name, &judged, &mut weighed);
        }
        weighed.resolutions = std::mem::take(&mut self.resolutions);
        weighed
    }

    fn judge<'c>(&self, candidate: &'c Candidate) -> Judged<'c> {
        let gated = decide::is_gated(candidate, self.launch);
        let approval = gated.then(|| {
            let hash = candidate.hash();
            decide::decision(&self.records, self.launch, self.folder, &candidate.name, hash)
        });
        Judged { candidate, approval }
    }

    fn weigh(&mut self, name: &ServerName, judged: &[Judged<'_>], weighed: &mut Weighed) {
        let Some(highest) = judged.len().checked_sub(1) else { return };
        let at = judged.iter().rposition(Judged::takes_the_name).unwrap_or(highest);
        let (Some(counts), Some(below), Some(above)) =
            (judged.get(at), judged.get(..at), judged.get(at + 1..))
        else {
            return;
        };
        let resolved = self.resolve(counts);
        tell(counts.candidate, &resolved, weighed);
        if let Some(asked) = self.promptable(name, counts, above, &resolved, weighed) {
            weighed.promptable.insert(name.clone(), asked);
        }
        if let Some(highest) = judged.iter().rev().find(|judged| judged.approval.is_some()) {
            let replaces = (!std::ptr::eq(highest, counts)).then(|| counts.loser());
            let gated = match replaces {
                Some(_) => {
                    let resolved = self.resolve(highest);
                    self.gated(name, highest, &resolved, replaces)
                }
                None => self.gated(name, highest, &resolved, None),
            };
            weighed.gated.extend(gated.map(|gated| (name.clone(), gated)));
        }
        if let Some(pending) = counts.approval.as_ref().and_then(|approval| pending(approval.decision)) {
            weighed.pending.insert(name.clone(), pending);
        }
        let entry = self.known(name, resolved.entry.clone());
        weighed.servers.insert(name.clone(), entry.clone());
        let shadowed_by = above.last().and_then(|judged| {
            let approval = judged.approval.as_ref()?;
            Some(ShadowedBy {
                scope: judged.candidate.scope,
                source: judged.candidate.source(),
                decision: approval.decision,
                hash: approval.hash.clone(),
            })
        });
        let oddities = resolved.oddities.iter().map(Problem::sentence);
        let row = Row {
            name: name.clone(),
            scope: counts.candidate.scope,
            source: counts.candidate.source(),
            written: Written::new(Arc::clone(counts.candidate.value())),
            approval: counts.approval.clone(),
            transport: resolved.transport,
            target: resolved.target.clone(),
            entry,
            wrong: resolved.wrong.clone(),
            unset: resolved.problem.as_ref().and_then(|problem| problem.unset.clone()),
            warnings: resolved.warnings.iter().cloned().chain(oddities).collect(),
            shadows: below.iter().rev().map(Judged::loser).collect(),
            shadowed_by,
            written_fingerprint: resolved.fingerprint.clone(),
        };
        weighed.rows.insert(name.clone(), row);
    }

    /// The highest entry that is gated and undecided and would connect if somebody said yes.
    fn promptable(
        &mut self,
        name: &ServerName,
        counts: &Judged<'_>,
        above: &[Judged<'_>],
        counting: &Resolved,
        weighed: &mut Weighed,
    ) -> Option<Promptable> {
        for judged in above.iter().rev() {
            let Some(approval) = judged.approval.as_ref().filter(|approval| approval.decision.asks()) else {
                continue;
            };
            let resolved = self.resolve(judged);
            tell(judged.candidate, &resolved, weighed);
            if self.would_connect(name, &resolved.entry) {
                return Some(promptable(name, judged, approval, &resolved, Some(counts.loser())));
            }
        }
        let approval = counts.approval.as_ref().filter(|approval| approval.decision.asks())?;
        self.would_connect(name, &counting.entry).then(|| promptable(name, counts, approval, counting, None))
    }

    /// The highest gated entry of a name, whatever was decided about it.
    fn gated(
        &mut self,
        name: &ServerName,
        judged: &Judged<'_>,
        resolved: &Resolved,
        replaces: Option<Loser>,
    ) -> Option<GatedEntry> {
        let approval = judged.approval.as_ref()?;
        Some(GatedEntry {
            asked: promptable(name, judged, approval, resolved, replaces),
            decision: approval.decision,
            barrier: self.barrier(name, &resolved.entry),
        })
    }

    /// Whether every check but that of the decision lets the entry through.
    fn would_connect(&mut self, name: &ServerName, entry: &Entry) -> bool {
        self.barrier(name, entry).is_none()
    }

    /// The first check but that of the decision that refuses the entry.
    fn barrier(&mut self, name: &ServerName, entry: &Entry) -> Option<Refusal> {
        let entry = match entry {
            Entry::Valid(spec) => Entry::Valid(Arc::new((**spec).clone().decided(Decision::Approved))),
            Entry::Invalid(_) => entry.clone(),
        };
        self.gate.servers.clear();
        self.gate.servers.insert(name.clone(), entry);
        admit_one(&self.gate, &self.launch.flags.bound, name).err()
    }

    fn resolve(&mut self, judged: &Judged<'_>) -> Arc<Resolved> {
        let (candidate, approval) = (judged.candidate, judged.core());
        let before = self.previous.map(|previous| &*previous.resolutions);
        if let Some(known) = self.resolutions.known(before, candidate, approval) {
            return known;
        }
        let environment = &self.launch.environment;
        let reach = match (&judged.approval, self.launch.flags.yolo) {
            (Some(_), Yolo::On) => Reach::AlwaysDefined,
            (Some(_), Yolo::Off) | (None, Yolo::On | Yolo::Off) => Reach::Everything,
        };
        let around = Surroundings {
            variables: Variables {
                process: &environment.variables,
                user: self.resolutions.user_variables(),
                exe: &self.exe,
                folder: &self.root,
                home: environment.home.as_deref().and_then(Path::to_str),
                reach,
            },
            root: self.launch.paths.root.as_path(),
            tool_idle: self.options.tool_idle,
        };
        let resolved = resolve::resolve(candidate, approval, around);
        self.resolutions.learn(candidate, approval, resolved)
    }

    /// The entry as core knows it already, where it is the same.
    fn known(&self, name: &ServerName, entry: Entry) -> Entry {
        let known = self.previous.and_then(|previous| previous.servers.get(name));
        match (&entry, known) {
            (Entry::Valid(new), Some(Entry::Valid(old))) if old == new && old.masks == new.masks => {
                Entry::Valid(Arc::clone(old))
            }
            (Entry::Valid(_) | Entry::Invalid(_), _) => entry,
        }
    }
}

fn pending(decision: Decision) -> Option<Pending> {
    match decision {
        Decision::Approved => None,
        Decision::Rejected => Some(Pending::Rejected),
        Decision::Undecided => Some(Pending::Undecided),
    }
}

fn promptable(
    name: &ServerName,
    judged: &Judged<'_>,
    approval: &RowApproval,
    resolved: &Resolved,
    replaces: Option<Loser>,
) -> Promptable {
    let distinct: BTreeSet<_> = resolved.variables.iter().cloned().collect();
    Promptable {
        name: name.clone(),
        hash: approval.hash.clone(),
        scope: judged.candidate.scope,
        source: judged.candidate.source(),
        written: Written::new(Arc::clone(judged.candidate.value())),
        entry: resolved.entry.clone(),
        variables: distinct.into_iter().collect(),
        replaces,
    }
}

/// What resolving found, at its place. An entry that is switched off is just that.
fn tell(candidate: &Candidate, resolved: &Resolved, weighed: &mut Weighed) {
    let switch = match &resolved.entry {
        Entry::Valid(spec) => spec.switch,
        Entry::Invalid(invalid) => invalid.switch,
    };
    match switch {
        Switch::On => {}
        Switch::Off => return,
    }
    let problem = resolved.problem.iter().map(|problem| (Severity::Error, "invalid_entry", problem));
    let oddities = resolved.oddities.iter().map(|odd| (Severity::Warning, "unset_variable", odd));
    for (severity, code, problem) in problem.chain(oddities) {
        let file = &candidate.file;
        let nth = weighed.diagnostics.iter().filter(|(id, _)| *id == file.id).take(AT_MOST).count();
        if nth == AT_MOST {
            return;
        }
        let key: Vec<String> = candidate.key.iter().chain(&problem.field).cloned().collect();
        let message = if problem.field.is_empty() {
            problem.why.clone()
        } else {
            format!("`{}`: {}", qwen_settings_schema::KeyPath::new(key.iter().cloned()), problem.why)
        };
        let said = Diagnostic::new(file.path.as_deref(), severity, code, message);
        let said = match file.positions.nearest(&key) {
            Some(place) => said.at_as_nth(file.positions.text(), place, nth),
            None => said,
        };
        weighed.diagnostics.push((file.id, said));
    }
}

fn user_variables(snapshot: &Snapshot) -> BTreeMap<String, String> {
    let root = snapshot.get(SourceId::UserEnv).map(|file| Arc::clone(&file.root));
    let variables = root.as_ref().and_then(|root| root.as_object());
    let texts = variables
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    texts.collect()
}

/// Variables are text; what of a path is not is shown as the replacement character, and names no file.
fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
