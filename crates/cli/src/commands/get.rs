//! `qwen mcp get`: one server in full, with the reason why it may connect or may not, step by step.

use std::{io, time::Duration};

use qwen_core::{Check, Entry, Phase, Refusal, admit_one, explain};
use serde::Serialize;
use serde_json::Value;

use super::approve::unknown;
use crate::{
    app::{App, Probed, StartError},
    args::{GetArgs, Global},
    derive::{Derived, Row, Screen},
    exit::Exit,
    hide::hidden,
    output,
    row::{EntryPlace, ListRow, Outcome, last_words, list_row, now_unix_ms, tone_of},
    text::{Cell, Paint, Tone, columns, count, folded, hanging, visible},
};

/// The document of `mcp get --json`: a row of the list and what is behind it.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
struct GetDocument {
    #[serde(flatten)]
    row: ListRow,
    /// As written, secrets hidden.
    entry: Value,
    /// Entries of other files that have the name and do not count.
    losers: Vec<EntryPlace>,
    /// Every check, in its order.
    admission: Vec<CheckJson>,
    /// 64 hex digits; only of a gated entry.
    approval_hash: Option<String>,
}

/// One check of the gate.
#[derive(Serialize, PartialEq, Eq, Debug)]
struct CheckJson {
    /// Which.
    check: &'static str,
    /// Whether it lets the server through.
    passed: bool,
    /// The word of the reason, where it does not.
    reason: Option<&'static str>,
}

/// Shows the server.
pub(crate) fn run(global: &Global, args: &GetArgs) -> Exit {
    let app = match App::open(global, Screen::Headless) {
        Ok(app) => app,
        Err(error) => return output::fail(&error, error.exit()),
    };
    let derived = app.derived();
    let Some(row) = derived.rows.get(args.name.as_str()) else {
        output::say(&format!("qwen: {}", unknown(derived, &args.name)));
        return Exit::Failed;
    };
    let probed = match probed(&app, derived, row, args) {
        Ok(Some(probed)) => probed,
        Ok(None) => return Exit::Interrupted,
        Err(error) => return output::fail(&error, error.exit()),
    };
    let checks = explain(&derived.desired(), app.bound(), &row.name);
    let outcome = match &probed {
        None => Outcome::NotTried,
        Some(Probed { phase, since_unix_ms }) => Outcome::Phase { phase, since_unix_ms: *since_unix_ms },
    };
    let document = document(row, list_row(row, outcome, app.background()), &checks);
    if args.json {
        output::print_json(&document);
    } else {
        output::print(&render(&document, &row.warnings, app.paint(&io::stdout()), output::width()));
    }
    Exit::Ok
}

/// What it is doing: what the gate says, or what comes of a connection in this process. `None` within where nobody tried,
/// and as a whole where somebody pressed Ctrl-C.
fn probed(
    app: &App,
    derived: &Derived,
    row: &Row,
    args: &GetArgs,
) -> Result<Option<Option<Probed>>, StartError> {
    if let Err(refusal) = admit_one(&derived.desired(), app.bound(), &row.name) {
        return Ok(Some(Some(Probed { phase: Phase::Refused(refusal), since_unix_ms: now_unix_ms() })));
    }
    if args.no_connect {
        return Ok(Some(None));
    }
    let mut desired = derived.desired();
    desired.servers.retain(|name, _| *name == row.name);
    let limit = Duration::from_millis(args.timeout);
    app.interruptible(async |guard| {
        app.probe(desired, limit, guard, |mut probed| probed.remove(&row.name)).await
    })
}

fn document(row: &Row, shown: ListRow, checks: &[Check]) -> GetDocument {
    let masks = match &row.entry {
        Entry::Valid(spec) => spec.masks.as_slice(),
        Entry::Invalid(_) => &[],
    };
    GetDocument {
        entry: hidden(&[], row.written.value(), masks),
        losers: shown.entry.shadows.clone(),
        admission: checks.iter().map(check).collect(),
        approval_hash: row.approval.as_ref().map(|approval| approval.hash.clone()),
        row: shown,
    }
}

fn check(check: &Check) -> CheckJson {
    let reason = check.refusal.as_ref().map(Refusal::as_str);
    CheckJson { check: check.check, passed: reason.is_none(), reason }
}

/// What a check asks, as a sentence that is true where it lets the server through.
fn sentence(check: &str) -> &str {
    match check {
        "settings_unreadable" => "every file that may restrict it could be read",
        "untrusted_folder" => "the folder is trusted",
        "not_allowed" => "the launch bound and every mcp.allowed have it",
        "excluded" => "every mcp.excluded lets it pass",
        "disabled" => "its entry is switched on",
        "invalid" => "its entry says what to run",
        "approval" => "it is approved, or needs no approval",
        other => other,
    }
}

fn render(document: &GetDocument, warnings: &[String], paint: Paint, width: usize) -> String {
    let row = &document.row;
    let entry = &row.entry;
    let state = entry.state.unwrap_or("not tried");
    let head =
        vec![Cell::new(Tone::Strong, &entry.name), Cell::new(tone_of(state), &state.replace('_', " "))];
    let mut out = columns(&[head], paint);
    let counts = [(row.tools, "tool"), (row.prompts, "prompt"), (row.resources, "resource")];
    let counts: Vec<String> =
        counts.iter().filter_map(|(number, what)| Some(count((*number)?, what))).collect();
    let facts = [
        ("cause", entry.cause.clone()),
        ("next", entry.next_step.clone()),
        ("since", entry.since.clone()),
        ("scope", entry.scope.map(str::to_owned)),
        ("source", entry.source.as_ref().map(|source| place(source.path.as_deref(), source.line))),
        ("leads to", entry.source.as_ref().and_then(|source| source.resolved_path.clone())),
        ("transport", entry.transport.map(str::to_owned)),
        ("target", entry.target.clone()),
        ("offers", (!counts.is_empty()).then(|| counts.join(", "))),
        ("process", row.pid.map(|pid| pid.to_string())),
        ("fingerprint", entry.fingerprint.clone()),
        ("approval", entry.approval.as_ref().map(|approval| approval.decision.to_owned())),
        ("hash", entry.approval.as_ref().map(|approval| approval.hash.clone())),
    ];
    let mut lines: Vec<Vec<Cell>> =
        facts.into_iter().filter_map(|(what, fact)| Some(line(Tone::Quiet, what, &fact?))).collect();
    lines.extend(warnings.iter().map(|warning| line(Tone::Attention, "warning", warning)));
    lines.extend(last_words(row.stderr_tail.as_deref()).map(|words| line(Tone::Quiet, "stderr", &words)));
    out.push_str(&columns(&folded(lines, width), paint));
    out.push_str("\nentry, secrets hidden\n");
    for text in format!("{:#}", document.entry).lines() {
        out.push_str(&format!("  {}\n", visible(text)));
    }
    if !document.losers.is_empty() || entry.shadowed_by.is_some() {
        out.push_str("\nothers of this name\n");
        let losers = document.losers.iter().map(|other| (other, "loses against it"));
        let candidate = entry.shadowed_by.iter().map(|other| (other, "takes the name once it is approved"));
        for (other, what) in candidate.chain(losers) {
            let text = format!("{}: {}, which {what}", other.scope, place(other.path.as_deref(), other.line));
            for line in hanging("  ", &visible(&text), width) {
                out.push_str(&format!("{line}\n"));
            }
        }
    }
    out.push_str("\nmay it connect? the first no decides\n");
    let checks: Vec<Vec<Cell>> = document
        .admission
        .iter()
        .map(|check| {
            let (tone, word) = if check.passed { (Tone::Good, "yes") } else { (Tone::Bad, "no") };
            vec![
                Cell::new(Tone::Normal, ""),
                Cell::new(tone, word),
                Cell::new(Tone::Normal, sentence(check.check)),
                Cell::new(Tone::Quiet, check.reason.unwrap_or("")),
            ]
        })
        .collect();
    out.push_str(&columns(&checks, paint));
    out
}

/// `FILE:LINE`.
fn place(path: Option<&str>, line: Option<u32>) -> String {
    let path = path.unwrap_or("--mcp-config");
    line.map_or_else(|| path.to_owned(), |line| format!("{path}:{line}"))
}

fn line(tone: Tone, what: &str, fact: &str) -> Vec<Cell> {
    vec![Cell::new(Tone::Normal, ""), Cell::new(tone, what), Cell::new(Tone::Normal, fact)]
}

#[cfg(test)]
mod tests;
