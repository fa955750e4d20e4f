//! How do people see a list of servers? One line each in columns, and below it why it is not connected and what to do,
//! in lines that fit. It decides nothing about servers.

use super::{Document, ListRow};
use crate::text::{
    Cell, Paint, Tone, columns, count, fitted, hanging, visible, visible_lines, width_before_last,
};

/// How far in the lines below a server stand.
const INDENT: usize = 4;
/// A target that gets less room than this beside the rest stands on a line of its own.
const LEAST_FOR_TARGET: usize = 20;

/// What is said about one server.
#[derive(Debug)]
pub(crate) struct ServerLine<'a> {
    /// The columns of its line.
    pub(crate) cells: Vec<Cell>,
    /// What it runs or where it is, masked.
    pub(crate) target: Option<&'a str>,
    /// What stands below it.
    pub(crate) below: Vec<(&'static str, String)>,
}

impl ServerLine<'_> {
    /// The cause and the next step, as lines below.
    pub(crate) fn reasons(cause: Option<&str>, step: Option<&str>) -> Vec<(&'static str, String)> {
        let cause = cause.map(|cause| ("", visible(cause).into_owned()));
        cause.into_iter().chain(step.map(|step| ("next: ", visible(step).into_owned()))).collect()
    }
}

/// The table, in lines of at most `width` columns where no word or command is longer.
pub(crate) fn table(servers: Vec<ServerLine<'_>>, paint: Paint, width: usize) -> String {
    let mut rows = Vec::with_capacity(servers.len());
    let mut below = Vec::with_capacity(servers.len());
    for server in servers {
        let mut cells = server.cells;
        cells.push(Cell::new(Tone::Quiet, server.target.unwrap_or("")));
        rows.push(cells);
        below.push((server.target, server.below));
    }
    let has_room = width_before_last(&rows) + LEAST_FOR_TARGET <= width;
    let rows = if has_room { fitted(rows, width) } else { without_last(rows) };
    let mut out = String::new();
    for (line, (target, below)) in columns(&rows, paint).lines().zip(below) {
        out.push_str(line);
        out.push('\n');
        let target = target.filter(|_| !has_room).map(|target| ("", visible(target).into_owned()));
        for (label, text) in target.into_iter().chain(below) {
            for line in hanging(label, &text, width.saturating_sub(INDENT)) {
                out.push_str(&format!("{:INDENT$}{}\n", "", paint.apply(Tone::Quiet, &line)));
            }
        }
    }
    out
}

fn without_last(mut rows: Vec<Vec<Cell>>) -> Vec<Vec<Cell>> {
    for row in &mut rows {
        row.pop();
    }
    rows
}

/// The list for people.
pub(crate) fn render_list(document: &Document<ListRow>, paint: Paint, width: usize) -> String {
    if document.servers.is_empty() {
        return "no MCP servers are configured; add one with `qwen mcp add`, or write it into\n\
                mcpServers of ~/.qwen/settings.json or of .mcp.json\n"
            .to_owned();
    }
    table(document.servers.iter().map(server_line).collect(), paint, width)
}

fn server_line(row: &ListRow) -> ServerLine<'_> {
    let entry = &row.entry;
    let (word, tone) = match entry.state {
        Some(state) => (state, tone_of(state)),
        None => ("not tried", Tone::Quiet),
    };
    let cells = vec![
        Cell::new(Tone::Strong, &entry.name),
        Cell::new(tone, &word.replace('_', " ")),
        Cell::new(Tone::Normal, &counts(row)),
        Cell::new(Tone::Quiet, entry.scope.unwrap_or("-")),
    ];
    let mut below = if entry.state.is_some() || entry.shadowed_by.is_some() {
        ServerLine::reasons(entry.cause.as_deref(), entry.next_step.as_deref())
    } else {
        Vec::new()
    };
    below.extend(last_words(row.stderr_tail.as_deref()).map(|words| ("| ", words)));
    ServerLine { cells, target: entry.target.as_deref(), below }
}

fn counts(row: &ListRow) -> String {
    let parts = [(row.tools, "tool"), (row.prompts, "prompt"), (row.resources, "resource")];
    let parts: Vec<String> = parts
        .into_iter()
        .filter_map(|(number, one)| Some(count(number.filter(|&number| number > 0)?, one)))
        .collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
}

/// What a server wrote to stderr last, for people, a line each.
pub(crate) fn last_words(tail: Option<&str>) -> impl Iterator<Item = String> {
    tail.into_iter().flat_map(str::lines).map(visible_lines)
}

/// How a state is coloured.
pub(crate) fn tone_of(state: &str) -> Tone {
    match state {
        "connected" => Tone::Good,
        "failed" | "invalid" | "settings_unreadable" => Tone::Bad,
        "pending_approval" | "needs_auth" | "connecting" | "untrusted_folder" => Tone::Attention,
        _ => Tone::Quiet,
    }
}
