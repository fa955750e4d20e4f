//! What does one entry run or reach, once its variables have values? From the written form to what core is told, with
//! every rule on variables, folders, headers and addresses. It reads no file and decides no approval.

mod fields;
mod remote;
mod stdio;

use std::{path::Path, sync::Arc, time::Duration};

use qwen_core::{
    Approval, Entry, InvalidEntry, PoolMode, Scope, Secret, ServerSpec, Switch, VersionNegotiation, View,
    Wire,
};
use qwen_settings_schema as schema;

use self::fields::Resolving;
use super::{
    candidates::{Candidate, Written},
    row::{ReadVariable, Transport},
    shown,
};
use crate::settings::Variables;

/// What every entry of one derivation is resolved against.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    /// Where values come from, and which of them this entry may read.
    pub(super) variables: Variables<'a>,
    /// A relative `cwd` starts here, and without one the server runs here.
    pub(super) root: &'a Path,
    /// `mcp.toolIdleTimeoutMs`
    pub(super) tool_idle: Duration,
}

/// One entry, resolved.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) entry: Entry,
    pub(super) transport: Option<Transport>,
    /// The command line or URL as written, masked.
    pub(super) target: Option<String>,
    /// What is odd but counts, told by the reader of the file already.
    pub(super) warnings: Vec<String>,
    /// What is odd once variables are looked up.
    pub(super) oddities: Vec<Problem>,
    /// The variables it reads, for the question.
    pub(super) variables: Vec<ReadVariable>,
    /// Where resolving failed, below the entry, and why; what the file itself shows is told by its reader.
    pub(super) problem: Option<Problem>,
    /// Of an invalid entry the field at fault, from the entry down.
    pub(super) wrong: Vec<String>,
    pub(super) fingerprint: String,
}

/// What is wrong with a well written entry once its variables are looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Problem {
    /// The field, from the entry down.
    pub(super) field: Vec<String>,
    /// Why.
    pub(super) why: String,
    /// The variable whose value is missing, where that is why.
    pub(super) unset: Option<String>,
}

/// Resolves one entry.
pub(super) fn resolve(candidate: &Candidate, approval: Approval, around: Surroundings<'_>) -> Resolved {
    let parsed = schema::parse_entry(candidate.value(), candidate.dialect);
    let switch = match parsed.switch {
        schema::Switch::On => Switch::On,
        schema::Switch::Off => Switch::Off,
    };
    let warnings = parsed.findings.iter().filter(|finding| finding.severity == schema::Severity::Warning);
    let warnings: Vec<String> = warnings.map(warning).collect();
    let server = match (parsed.server, &candidate.written) {
        (Ok(server), Written::Entry(_)) => server,
        (Ok(_), Written::NoCommand { why, .. }) => {
            let problem = Problem { field: Vec::new(), why: (*why).to_owned(), unset: None };
            return Resolved { problem: Some(problem), ..invalid(candidate, switch, why, warnings) };
        }
        (Err(error), _) => {
            let wrong = error.key.segments().to_vec();
            return Resolved { wrong, ..invalid(candidate, switch, &error.to_string(), warnings) };
        }
    };
    let mut resolving = Resolving::new(around);
    let wire = wire(&server, approval, &mut resolving);
    let (transport, target) = describe(&server, &resolving.masks);
    let fingerprint = shown::written_fingerprint(&server);
    let view = view(&server.view, around.tool_idle);
    let done = resolving.finish();
    let entry = match (&done.problem, wire) {
        (None, Some(wire)) => {
            Entry::Valid(Arc::new(spec(candidate.scope, approval, wire, view, switch, done.masks)))
        }
        (problem, _) => {
            let why = problem.as_ref().map_or_else(|| "it names no server".to_owned(), Problem::sentence);
            Entry::Invalid(InvalidEntry { scope: candidate.scope, switch, why })
        }
    };
    Resolved {
        entry,
        transport: Some(transport),
        target: Some(target),
        warnings,
        oddities: done.oddities,
        variables: done.variables,
        wrong: done.problem.as_ref().map_or_else(Vec::new, |problem| problem.field.clone()),
        problem: done.problem,
        fingerprint,
    }
}

impl Problem {
    /// For people.
    pub(super) fn sentence(&self) -> String {
        if self.field.is_empty() {
            return self.why.clone();
        }
        format!("`{}`: {}", schema::KeyPath::new(self.field.iter().cloned()), self.why)
    }
}

fn warning(finding: &schema::Finding) -> String {
    if finding.key == schema::KeyPath::root() {
        finding.message.clone()
    } else {
        format!("`{}`: {}", finding.key, finding.message)
    }
}

fn invalid(candidate: &Candidate, switch: Switch, why: &str, warnings: Vec<String>) -> Resolved {
    Resolved {
        entry: Entry::Invalid(InvalidEntry { scope: candidate.scope, switch, why: why.to_owned() }),
        transport: None,
        target: None,
        warnings,
        oddities: Vec::new(),
        variables: Vec::new(),
        problem: None,
        wrong: Vec::new(),
        fingerprint: shown::raw_fingerprint(candidate.value()),
    }
}

fn spec(
    scope: Scope,
    approval: Approval,
    wire: Wire,
    view: View,
    switch: Switch,
    masks: Vec<Secret>,
) -> ServerSpec {
    let spec = ServerSpec::new(scope, wire, view).switched(switch).masking(masks);
    match approval {
        Approval::NotGated => spec,
        Approval::Gated(decision) => spec.decided(decision),
    }
}

fn wire(server: &schema::WrittenServer, approval: Approval, resolving: &mut Resolving<'_>) -> Option<Wire> {
    if let (Approval::Gated(_), Some(_)) = (approval, server.inherit_env) {
        resolving
            .problem(&["inheritEnv"], "an entry that needs approval may not set it; remove it".to_owned());
    }
    match &server.transport {
        schema::WrittenTransport::Stdio(written) => {
            stdio::resolve(written, server, approval, resolving).map(Wire::Stdio)
        }
        schema::WrittenTransport::Remote(written) => {
            let remote = remote::resolve(written, server, resolving)?;
            Some(match written.protocol {
                schema::RemoteProtocol::Http | schema::RemoteProtocol::HttpOrSse => Wire::Http(remote),
                schema::RemoteProtocol::Sse => Wire::Sse(remote),
            })
        }
    }
}

fn describe(server: &schema::WrittenServer, masks: &[Secret]) -> (Transport, String) {
    match &server.transport {
        schema::WrittenTransport::Stdio(written) => {
            let words = std::iter::once(&written.command).chain(&written.args);
            (Transport::Stdio, shown::command_line(words.map(String::as_str), masks))
        }
        schema::WrittenTransport::Remote(written) => {
            let transport = match written.protocol {
                schema::RemoteProtocol::Http | schema::RemoteProtocol::HttpOrSse => Transport::Http,
                schema::RemoteProtocol::Sse => Transport::Sse,
            };
            (transport, shown::url(&written.url.text, masks))
        }
    }
}

fn view(written: &schema::WrittenView, tool_idle: Duration) -> View {
    View {
        include_tools: written.include_tools.clone(),
        exclude_tools: written.exclude_tools.clone(),
        always_load_tools: written.always_load_tools,
        trust: written.trust,
        description: written.description.clone(),
        call_timeout: Duration::from_millis(written.timeout_ms),
        idle_timeout: tool_idle,
        discovery_timeout: Duration::from_millis(written.discovery_timeout_ms),
    }
}

fn negotiation(server: &schema::WrittenServer) -> VersionNegotiation {
    match server.version_negotiation {
        schema::VersionNegotiation::Auto => VersionNegotiation::Auto,
        schema::VersionNegotiation::Legacy => VersionNegotiation::Legacy,
    }
}

fn pool(server: &schema::WrittenServer) -> PoolMode {
    match server.pool {
        schema::PoolMode::Session => PoolMode::Session,
        schema::PoolMode::Shared => PoolMode::Shared,
    }
}

#[cfg(test)]
mod tests;
