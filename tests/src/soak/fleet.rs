//! What the settings of a soak say and what should be live because of it. Pure: it knows no process and no file.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use fastrand::Rng;
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

const TOOLS: usize = 3;
const NAMES: u32 = 9;

/// A file of the soak.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Home {
    /// User settings.
    User,
    /// `.mcp.json`.
    Project,
}

impl Home {
    pub(super) const ALL: [Self; 2] = [Self::User, Self::Project];

    pub(super) fn path(self, sandbox: &Sandbox) -> PathBuf {
        match self {
            Self::User => sandbox.user(),
            Self::Project => sandbox.mcp_json(),
        }
    }
}

/// What a server should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Expected {
    /// Open, with so many tools.
    Connected { tools: usize },
    /// Started, and never open.
    Hanging,
    /// Refused, with this state.
    State(&'static str),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Decent,
    Slow,
    Flooding,
    Stubborn,
    Shell,
    Mute,
    Gated,
}

const KINDS: [Kind; 7] =
    [Kind::Decent, Kind::Slow, Kind::Flooding, Kind::Stubborn, Kind::Shell, Kind::Mute, Kind::Gated];

#[derive(Clone, Debug)]
struct Member {
    kind: Kind,
    tag: u32,
    filtered: bool,
    disabled: bool,
    deaths: u32,
    approved: BTreeSet<Version>,
}

/// A version of a gated entry: its tag, whether it is filtered. Switches are not part of what is approved.
type Version = (u32, bool);

/// Everything the settings say.
#[derive(Debug)]
pub(super) struct Fleet {
    members: BTreeMap<String, Member>,
    gone_with_approvals: BTreeMap<String, BTreeSet<Version>>,
    excluded: BTreeSet<String>,
    /// Names that the allow list leaves out; `None` where there is no list.
    left_out: Option<BTreeSet<String>>,
    next_tag: u32,
}

impl Fleet {
    pub(super) fn new() -> Self {
        Self {
            members: BTreeMap::new(),
            gone_with_approvals: BTreeMap::new(),
            excluded: BTreeSet::new(),
            left_out: None,
            next_tag: 1,
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = String> + '_ {
        self.members.keys().cloned()
    }

    pub(super) fn control(&self, sandbox: &Sandbox) -> PathBuf {
        sandbox.root().join("c")
    }

    pub(super) fn tag(&self, name: &str) -> String {
        let tag = self.members.get(name).map_or(0, |member| member.tag);
        format!("--tag t{tag} ")
    }

    pub(super) fn clear(&mut self) {
        for (name, member) in std::mem::take(&mut self.members) {
            self.gone_with_approvals.insert(name, member.approved);
        }
        self.excluded.clear();
        self.left_out = None;
    }

    pub(super) fn add(&mut self, rng: &mut Rng) {
        let name = format!("s{}", rng.u32(1..=NAMES));
        let kind = KINDS[rng.usize(0..KINDS.len())];
        let approved = match self.members.remove(&name) {
            Some(old) => old.approved,
            None => self.gone_with_approvals.remove(&name).unwrap_or_default(),
        };
        let tag = self.tag_of_the_next();
        let member = Member { kind, tag, filtered: false, disabled: false, deaths: 0, approved };
        self.members.insert(name, member);
    }

    pub(super) fn edit(&mut self, rng: &mut Rng) {
        let tag = self.tag_of_the_next();
        if let Some(member) = self.any(rng) {
            member.tag = tag;
            member.deaths = 0;
        }
    }

    pub(super) fn remove(&mut self, rng: &mut Rng) {
        let Some(name) = self.any_name(rng) else { return };
        if let Some(member) = self.members.remove(&name) {
            self.gone_with_approvals.insert(name, member.approved);
        }
    }

    pub(super) fn switch(&mut self, rng: &mut Rng) {
        if let Some(member) = self.any(rng) {
            member.disabled = !member.disabled;
        }
    }

    pub(super) fn filter(&mut self, rng: &mut Rng) {
        if let Some(member) = self.any(rng) {
            member.filtered = !member.filtered;
        }
    }

    pub(super) fn exclude(&mut self, rng: &mut Rng) {
        let Some(name) = self.any_name(rng) else { return };
        if !self.excluded.remove(&name) {
            self.excluded.insert(name);
        }
    }

    pub(super) fn allow(&mut self, rng: &mut Rng) {
        self.left_out = match self.left_out {
            Some(_) => None,
            None => Some(self.any_name(rng).into_iter().collect()),
        };
    }

    pub(super) fn died(&mut self, name: &str) {
        if let Some(member) = self.members.get_mut(name) {
            member.deaths += 1;
        }
    }

    /// Gives a new entry to every server that died: a person would edit it, and back-off starts anew. Says whether
    /// anything changed.
    pub(super) fn revive(&mut self) -> bool {
        let mut changed = false;
        let mut tag = self.next_tag;
        for member in self.members.values_mut().filter(|member| member.deaths > 1) {
            member.tag = tag;
            member.deaths = 0;
            tag += 1;
            changed = true;
        }
        self.next_tag = tag;
        changed
    }

    /// A gated server that waits for a decision and could get one.
    pub(super) fn undecided(&self, rng: &mut Rng) -> Option<String> {
        let waiting: Vec<&String> = self
            .members
            .keys()
            .filter(|name| self.expected(name) == Expected::State("pending_approval"))
            .collect();
        (!waiting.is_empty()).then(|| waiting[rng.usize(0..waiting.len())].clone())
    }

    pub(super) fn approved(&mut self, name: &str) {
        if let Some(member) = self.members.get_mut(name) {
            member.approved.insert((member.tag, member.filtered));
        }
    }

    pub(super) fn expected(&self, name: &str) -> Expected {
        let Some(member) = self.members.get(name) else { return Expected::State("removed") };
        if self.left_out.as_ref().is_some_and(|left_out| left_out.contains(name)) {
            return Expected::State("not_allowed");
        }
        if self.excluded.contains(name) {
            return Expected::State("excluded");
        }
        if member.disabled {
            return Expected::State("disabled");
        }
        let tools = if member.filtered { 1 } else { TOOLS };
        match member.kind {
            Kind::Gated if !member.approved.contains(&(member.tag, member.filtered)) => {
                Expected::State("pending_approval")
            }
            Kind::Mute => Expected::Hanging,
            Kind::Decent | Kind::Slow | Kind::Flooding | Kind::Stubborn | Kind::Shell | Kind::Gated => {
                Expected::Connected { tools }
            }
        }
    }

    /// The text of one of the files.
    pub(super) fn document(&self, home: Home, sandbox: &Sandbox) -> String {
        let servers: serde_json::Map<String, Value> = self
            .members
            .iter()
            .filter(|(_, member)| (member.kind == Kind::Gated) == (home == Home::Project))
            .map(|(name, member)| (name.clone(), self.entry(name, member, sandbox)))
            .collect();
        let mut document = json!({ "mcpServers": servers });
        if home == Home::User {
            document["mcp"] = json!({ "reloadDebounceMs": 50, "excluded": self.excluded });
            if let Some(left_out) = &self.left_out {
                let admitted: Vec<String> =
                    (1..=NAMES).map(|n| format!("s{n}")).filter(|name| !left_out.contains(name)).collect();
                document["mcp"]["allowed"] = json!(admitted);
            }
        }
        format!("{document:#}\n")
    }

    fn entry(&self, name: &str, member: &Member, sandbox: &Sandbox) -> Value {
        let (tools, tag, control) = (TOOLS.to_string(), format!("t{}", member.tag), self.control(sandbox));
        let control = control.to_string_lossy();
        let mut flags = vec!["--tools", &tools, "--control", &control, "--tag", &tag];
        match member.kind {
            Kind::Decent | Kind::Shell | Kind::Gated => {}
            Kind::Slow => flags.extend(["--init-delay-ms", "400"]),
            Kind::Flooding => flags.extend(["--at", "start", "stderr-flood 400000"]),
            Kind::Stubborn => {
                flags.extend(["--ignore-eof", "--ignore-term", "--at", "start", "spawn-sleeper"]);
            }
            Kind::Mute => flags.push("--mute"),
        }
        let mut entry = match member.kind {
            Kind::Shell => sandbox.fake_under_sh(name, "\"$0\" \"$@\"; true", &flags),
            Kind::Decent | Kind::Slow | Kind::Flooding | Kind::Stubborn | Kind::Mute | Kind::Gated => {
                sandbox.fake(name, &flags)
            }
        };
        if member.filtered {
            entry["includeTools"] = json!(["tool_2"]);
        }
        if member.disabled {
            entry["disabled"] = json!(true);
        }
        entry
    }

    fn tag_of_the_next(&mut self) -> u32 {
        self.next_tag += 1;
        self.next_tag
    }

    fn any_name(&self, rng: &mut Rng) -> Option<String> {
        let count = self.members.len();
        (count > 0).then(|| self.members.keys().nth(rng.usize(0..count)).cloned()).flatten()
    }

    fn any(&mut self, rng: &mut Rng) -> Option<&mut Member> {
        let name = self.any_name(rng)?;
        self.members.get_mut(&name)
    }
}
