//! What would a session started here do? The document of `mcp plan` as a value: made from what is derived, compared
//! with one that was saved, and rendered. It connects nothing and reads no file.

use std::collections::{BTreeMap, BTreeSet};

use qwen_core::{Phase, Refusal, State, Verdicts};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{
    derive::{Derived, Row},
    row::{Document, EntryRow, Outcome, ServerLine, entry_row, table},
    text::{Cell, Paint, Tone},
    words::{Background, of_removed, shadowed},
};

/// What would be done about one server.
#[derive(Clone, Copy, Serialize, Deserialize, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PlanAction {
    /// Connect it.
    Connect,
    /// Ask the user about it; until then it is not connected.
    Ask,
    /// Leave it out.
    Skip,
    /// Close it: it was connected by the saved plan.
    Close,
    /// Close it and connect it again: its wire changed.
    Restart,
    /// Change what is offered of it, without a reconnect.
    Rescope,
    /// Leave its connection alone.
    Keep,
}

/// One server of the plan: a row of the list without what only a connection has.
#[derive(Clone, Serialize, PartialEq, Debug)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlanRow {
    /// What would be done.
    pub(crate) action: PlanAction,
    /// Its state says why it would not be connected, and is `None` where it would; its time is that of a decision.
    #[serde(flatten)]
    pub(crate) entry: EntryRow,
    /// One digest per field as written, so that a later plan can name what changed.
    pub(crate) field_digests: BTreeMap<String, String>,
    /// Which fields differ from the saved plan; only when compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fields: Option<Vec<String>>,
}

/// What is read back of a saved plan.
#[derive(Deserialize, Debug)]
pub(crate) struct SavedPlan {
    servers: Vec<SavedRow>,
}

#[derive(Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
struct SavedRow {
    name: String,
    action: PlanAction,
    field_digests: BTreeMap<String, String>,
}

impl PlanAction {
    /// Whether a session by this plan has the server connected.
    fn connects(self) -> bool {
        match self {
            Self::Connect | Self::Restart | Self::Rescope | Self::Keep => true,
            Self::Ask | Self::Skip | Self::Close => false,
        }
    }
}

/// The plan of a session that starts now.
pub(crate) fn plan(derived: &Derived, verdicts: &Verdicts, back: Background<'_>) -> Document<PlanRow> {
    Document::new(derived, back.root, |row| {
        let refusal = verdicts.get(&row.name).and_then(|verdict| verdict.as_ref().err());
        let asked = derived.promptable.contains_key(&row.name);
        plan_row(row, refusal, if asked { PlanAction::Ask } else { PlanAction::Skip }, back)
    })
}

fn plan_row(
    row: &Row,
    refusal: Option<&Refusal>,
    refused_action: PlanAction,
    back: Background<'_>,
) -> PlanRow {
    let phase = refusal.map(|refusal| Phase::Refused(refusal.clone()));
    let outcome =
        phase.as_ref().map_or(Outcome::NotTried, |phase| Outcome::Phase { phase, since_unix_ms: 0 });
    let mut entry = entry_row(row, outcome, back);
    let decided = row.approval.as_ref().and_then(|approval| approval.decided_at.clone());
    entry.since = decided.filter(|_| entry.state == Some(State::Rejected.as_str()));
    if refusal.is_none() {
        entry.cause = row.shadowed_by.as_ref().map(shadowed);
    }
    PlanRow {
        action: if refusal.is_some() { refused_action } else { PlanAction::Connect },
        entry,
        field_digests: field_digests(row),
        fields: None,
    }
}

/// The same plan as seen from a saved one: what would happen to the connections that the saved one had.
pub(crate) fn against(mut document: Document<PlanRow>, saved: &SavedPlan) -> Document<PlanRow> {
    let before: BTreeMap<&str, &SavedRow> =
        saved.servers.iter().map(|row| (row.name.as_str(), row)).collect();
    for row in &mut document.servers {
        let Some(old) = before.get(row.entry.name.as_str()) else {
            row.fields = Some(Vec::new());
            continue;
        };
        let fields = changed_fields(&old.field_digests, &row.field_digests);
        row.action = match (old.action.connects(), row.action) {
            (true, PlanAction::Connect) => kept_or_changed(&fields),
            (true, _) => PlanAction::Close,
            (false, action) => action,
        };
        row.fields = Some(fields);
    }
    let now: BTreeSet<String> = document.servers.iter().map(|row| row.entry.name.clone()).collect();
    let gone = saved.servers.iter().filter(|row| row.action.connects() && !now.contains(&row.name));
    document.servers.extend(gone.map(|row| PlanRow {
        action: PlanAction::Close,
        entry: EntryRow {
            name: row.name.clone(),
            scope: None,
            source: None,
            transport: None,
            target: None,
            state: Some(State::Removed.as_str()),
            cause: Some("is no longer configured".to_owned()),
            since: None,
            next_step: of_removed().next_step,
            fingerprint: None,
            approval: None,
            shadows: Vec::new(),
            shadowed_by: None,
        },
        field_digests: BTreeMap::new(),
        fields: Some(Vec::new()),
    }));
    document.servers.sort_by(|a, b| a.entry.name.cmp(&b.entry.name));
    document
}

fn kept_or_changed(fields: &[String]) -> PlanAction {
    match fields.iter().map(|field| part_of(field)).max() {
        Some(Part::Wire) => PlanAction::Restart,
        Some(Part::View) => PlanAction::Rescope,
        Some(Part::Nothing) | None => PlanAction::Keep,
    }
}

fn changed_fields(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> Vec<String> {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    names.into_iter().filter(|&name| old.get(name) != new.get(name)).cloned().collect()
}

/// What an edit of a field reaches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Part {
    Nothing,
    View,
    Wire,
}

fn part_of(field: &str) -> Part {
    use qwen_settings_schema::Part as Of;
    match qwen_settings_schema::field(field).map(|field| field.part) {
        Some(Of::Wire | Of::Transport) => Part::Wire,
        Some(Of::View) => Part::View,
        Some(Of::Switch | Of::Nothing) | None => Part::Nothing,
    }
}

/// One digest per field as written. Short on purpose: it names a change, it does not hold a value.
fn field_digests(row: &Row) -> BTreeMap<String, String> {
    let Value::Object(fields) = row.written.value().as_ref() else { return BTreeMap::new() };
    let mut digests: BTreeMap<String, String> =
        fields.iter().map(|(field, value)| (field.clone(), digest(value))).collect();
    // Whether an entry is gated decides what its child gets of the environment, as `inheritEnv` does.
    let inherited = Value::from(vec![
        fields.get("inheritEnv").cloned().unwrap_or_default(),
        Value::from(crate::row::is_gated(row)),
    ]);
    digests.insert("inheritEnv".to_owned(), digest(&inherited));
    digests
}

fn digest(value: &Value) -> String {
    hex::encode(&Sha256::digest(canonical(value).to_string().as_bytes())[..4])
}

/// The value with its keys in order, so that a reformatted file has the same digest.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<&String, Value> =
                fields.iter().map(|(name, value)| (name, canonical(value))).collect();
            Value::Object(sorted.into_iter().map(|(name, value)| (name.clone(), value)).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The plan for people.
pub(crate) fn render_plan(document: &Document<PlanRow>, paint: Paint, width: usize) -> String {
    if document.servers.is_empty() {
        return "no MCP servers are configured; a session would connect nothing\n".to_owned();
    }
    table(document.servers.iter().map(server_line).collect(), paint, width)
}

fn server_line(row: &PlanRow) -> ServerLine<'_> {
    let entry = &row.entry;
    let fields = row.fields.as_deref().unwrap_or_default().join(", ");
    let reason = entry.state.unwrap_or("admitted");
    let (tone, action) = match row.action {
        PlanAction::Connect => (Tone::Good, "+ connect".to_owned()),
        PlanAction::Ask => (Tone::Attention, "! ask".to_owned()),
        PlanAction::Skip => (Tone::Quiet, format!("- skip ({reason})")),
        PlanAction::Close => (Tone::Bad, format!("- close ({reason})")),
        PlanAction::Restart => (Tone::Attention, format!("~ restart ({fields})")),
        PlanAction::Rescope => (Tone::Attention, format!("» rescope ({fields})")),
        PlanAction::Keep => (Tone::Quiet, "= keep".to_owned()),
    };
    let cells = vec![
        Cell::new(tone, &action),
        Cell::new(Tone::Strong, &entry.name),
        Cell::new(Tone::Quiet, entry.scope.unwrap_or("-")),
    ];
    let below = ServerLine::reasons(entry.cause.as_deref(), entry.next_step.as_deref());
    ServerLine { cells, target: entry.target.as_deref(), below }
}

#[cfg(test)]
mod tests;
