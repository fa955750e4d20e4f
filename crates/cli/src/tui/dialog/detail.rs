//! What is known of one server, line by line? The same facts, in the same words, as `mcp list` and `mcp get`.

use qwen_core::{Phase, ServerName, State as ServerState, Transition};

use super::{
    super::{line::Line, state::State},
    sign,
};
use crate::{
    row::{ListRow, Outcome, list_row, tone_of},
    text::{Tone, count, cut_to, visible},
    words::of_removed,
};

/// Columns of the word in front of each fact.
const LABEL: usize = 10;

/// Everything about one server.
pub(super) fn lines(state: &State, name: &ServerName, width: usize, now: u64) -> Vec<Line> {
    let mut page = Page { width, lines: Vec::new() };
    let server = state.status.servers.get(name);
    let is = server.map_or(ServerState::Removed, |server| server.phase.state());
    let since = server.map(|server| format!(" for {}", lasted(now, server.since_unix_ms)));
    let head = Line::new(tone_of(is.as_str()), &format!("{} {}", sign(is), is.as_str().replace('_', " ")));
    page.lines.push(head.and(Tone::Quiet, &since.unwrap_or_default()));
    let (Some(server), Some(row)) = (server, state.derived.rows.get(name)) else {
        let words = match server {
            Some(server) => crate::words::of_phase(&server.phase, name, None, state.background()),
            None => of_removed(),
        };
        page.fact(Tone::Normal, "why", words.cause.as_deref());
        page.fact(Tone::Strong, "next", words.next_step.as_deref());
        return page.lines;
    };
    let outcome = Outcome::Phase { phase: &server.phase, since_unix_ms: server.since_unix_ms };
    let row = list_row(row, outcome, state.background());
    page.fact(Tone::Normal, "why", row.entry.cause.as_deref());
    page.fact(Tone::Strong, "next", row.entry.next_step.as_deref());
    page.entry(&row);
    if let Phase::Failed { retry_at_unix_ms: Some(at), .. } = &server.phase {
        let seconds = at.saturating_sub(now).div_ceil(1000);
        page.fact(Tone::Normal, "next try", Some(&format!("in {seconds} s")));
    }
    if let Some(tail) = &row.stderr_tail {
        page.gap();
        page.lines.push(Line::new(Tone::Quiet, "it said last"));
        page.text(tail);
    }
    page.lately(&server.transitions, now);
    page.lines
}

/// Lines as they come.
struct Page {
    width: usize,
    lines: Vec<Line>,
}

impl Page {
    fn fact(&mut self, tone: Tone, label: &str, text: Option<&str>) {
        if let Some(text) = text {
            let line = Line::new(Tone::Quiet, &format!("{label:LABEL$}")).and(tone, text);
            self.lines.extend(line.wrapped(self.width, LABEL));
        }
    }

    fn gap(&mut self) {
        self.lines.push(Line::default());
    }

    fn text(&mut self, text: &str) {
        let lines = Line::of_text(Tone::Normal, text);
        self.lines.extend(lines.iter().flat_map(|line| {
            Line::new(Tone::Quiet, "| ").and(Tone::Normal, &line.plain()).wrapped(self.width, 2)
        }));
    }

    fn entry(&mut self, row: &ListRow) {
        self.gap();
        if let (Some(source), Some(scope)) = (&row.entry.source, row.entry.scope) {
            let line = source.line.map(|line| format!(":{line}")).unwrap_or_default();
            let path = source.path.as_deref().unwrap_or("--mcp-config");
            self.fact(Tone::Normal, "in", Some(&format!("{path}{line} ({scope})")));
            self.fact(Tone::Normal, "leads to", source.resolved_path.as_deref());
        }
        let target = row.entry.target.as_ref().map(|target| match row.entry.transport {
            Some(transport) => format!("{target} ({transport})"),
            None => target.clone(),
        });
        self.fact(Tone::Normal, "runs", target.as_deref());
        if let (Some(tools), Some(prompts), Some(resources)) = (row.tools, row.prompts, row.resources) {
            let offers = [count(tools, "tool"), count(prompts, "prompt"), count(resources, "resource")];
            self.fact(Tone::Normal, "offers", Some(&offers.join(", ")));
        }
        self.fact(Tone::Normal, "process", row.pid.map(|pid| pid.to_string()).as_deref());
        if let Some(approval) = &row.entry.approval {
            let short: String = approval.hash.chars().take(12).collect();
            self.fact(Tone::Normal, "approval", Some(&format!("{}, hash {short}…", approval.decision)));
        }
        for loser in &row.entry.shadows {
            let line = loser.line.map(|line| format!(":{line}")).unwrap_or_default();
            let path = loser.path.as_deref().unwrap_or("--mcp-config");
            self.fact(Tone::Normal, "instead of", Some(&format!("{path}{line} ({})", loser.scope)));
        }
    }

    fn lately(&mut self, transitions: &[Transition], now: u64) {
        if transitions.is_empty() {
            return;
        }
        self.gap();
        self.lines.push(Line::new(Tone::Quiet, "lately"));
        for transition in transitions.iter().rev() {
            let state = transition.state.as_str().replace('_', " ");
            let cause = transition.cause.as_deref().map(|cause| format!(": {cause}")).unwrap_or_default();
            let ago = format!("  {:>10}  ", ago(now, transition.at_unix_ms));
            let line = Line::new(Tone::Quiet, &ago)
                .and(tone_of(transition.state.as_str()), &state)
                .and(Tone::Normal, &cause);
            self.lines.extend(line.wrapped(self.width, 14));
        }
    }
}

/// What a server offers, as it says itself, one line each. Thousands may be on offer, so lines too far from where the box
/// is scrolled to are there and empty.
pub(super) fn offers(state: &State, name: &ServerName, width: usize, scroll: usize) -> Vec<Line> {
    let catalogue = &state.status.catalogue;
    let tools = catalogue.tools.values().filter(|tool| tool.server == *name);
    let tools: Vec<_> = tools.map(|tool| (&*tool.name, tool.description.as_deref())).collect();
    let prompts = catalogue.prompts.values().filter(|prompt| prompt.server == *name);
    let prompts: Vec<_> = prompts.map(|prompt| (&*prompt.name, prompt.description.as_deref())).collect();
    let resources = catalogue.resources.values().filter(|resource| resource.server == *name);
    let resources: Vec<_> =
        resources.map(|resource| (&*resource.uri, Some(resource.name.as_str()))).collect();
    let kinds = [("tools", tools), ("prompts", prompts), ("resources", resources)];
    let rows = usize::from(state.size.rows);
    let all: usize = kinds.iter().map(|(_, items)| items.len() + 1).sum();
    let scroll = scroll.min(all);
    let near = scroll.saturating_sub(rows + kinds.len())..scroll + rows;
    let mut lines = Vec::new();
    for (title, items) in kinds {
        if items.is_empty() {
            continue;
        }
        lines.push(Line::new(Tone::Quiet, title));
        for (name, about) in items {
            let is_near = near.contains(&lines.len());
            lines.push(if is_near { offer(name, about.unwrap_or_default(), width) } else { Line::default() });
        }
    }
    if lines.is_empty() {
        lines.push(Line::new(Tone::Normal, "nothing at the moment"));
    }
    lines
}

/// `  mcp__gh__search  Looks for something`.
fn offer(name: &str, about: &str, width: usize) -> Line {
    let first: String = about.lines().next().unwrap_or_default().chars().take(width).collect();
    let head = Line::new(Tone::Strong, &format!("  {}  ", cut_to(&visible(name), width.saturating_sub(4))));
    let room = width.saturating_sub(head.width());
    if room < 4 { head } else { head.and(Tone::Normal, &cut_to(&visible(&first), room)) }
}

/// `12 s`, `3 min`, `2 h`, `4 d`.
fn lasted(now: u64, since: u64) -> String {
    let seconds = now.saturating_sub(since) / 1000;
    match seconds {
        0..=59 => format!("{seconds} s"),
        60..=3599 => format!("{} min", seconds / 60),
        3600..=86_399 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

fn ago(now: u64, at: u64) -> String {
    format!("{} ago", lasted(now, at))
}
