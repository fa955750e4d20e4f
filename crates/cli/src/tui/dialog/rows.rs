//! Which servers are there, in which order, and what stands in the line of each? Grouped by scope. It acts on nothing.

use std::collections::BTreeMap;

use qwen_core::{Phase, Scope, ServerName, State as ServerState};
use unicode_width::UnicodeWidthStr as _;

use super::{
    super::{
        line::Line,
        panel::{Panel, Scroll},
        state::State,
    },
    chosen,
};
use crate::{
    row::tone_of,
    text::{Tone, count, cut_paths_to, cut_to, visible},
    words::{of_phase, of_removed},
};

/// Where a server stands in the list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    In(Scope),
    Removed,
}

/// Everybody, in the order of the list.
pub(in super::super) fn names(state: &State) -> Vec<ServerName> {
    groups(state).into_values().flatten().collect()
}

fn groups(state: &State) -> BTreeMap<Group, Vec<ServerName>> {
    let mut groups: BTreeMap<Group, Vec<ServerName>> = BTreeMap::new();
    for (name, server) in &state.status.servers {
        groups.entry(Group::In(server.scope)).or_default().push(name.clone());
    }
    let gone = state.status.removed.iter().filter(|name| !state.status.servers.contains_key(*name));
    for name in gone {
        groups.entry(Group::Removed).or_default().push(name.clone());
    }
    groups
}

/// The sign of a state, for eyes that see no colour.
pub(in super::super) fn sign(state: ServerState) -> &'static str {
    match state {
        ServerState::Connected => "●",
        ServerState::Connecting => "◌",
        ServerState::Failed | ServerState::NeedsAuth => "✗",
        ServerState::PendingApproval => "◆",
        ServerState::Rejected => "⊘",
        ServerState::Excluded | ServerState::NotAllowed | ServerState::Disabled => "○",
        ServerState::UntrustedFolder => "◇",
        ServerState::Invalid | ServerState::SettingsUnreadable => "!",
        ServerState::Removed => "-",
    }
}

/// As many columns are given to a name at most.
const LONGEST_NAME: usize = 24;

/// The box with the list.
pub(super) fn panel(state: &State, wanted: Option<&ServerName>, width: usize) -> Panel {
    let groups = groups(state);
    let chosen = chosen(state, wanted);
    let names = groups.values().flatten();
    let name_width = names.map(|name| visible(name.as_str()).width()).max().unwrap_or(0).min(LONGEST_NAME);
    let at = place_of(&groups, chosen.as_ref());
    // Hundreds may be configured; lines too far from the chosen one are there and empty.
    let rows = usize::from(state.size.rows);
    let near = at.saturating_sub(rows)..at + rows;
    let mut lines = Vec::new();
    for (group, names) in groups {
        let title = match group {
            Group::In(scope) => scope.as_str(),
            Group::Removed => "removed during this session",
        };
        lines.push(Line::new(Tone::Quiet, title));
        for name in names {
            let mark = if Some(&name) == chosen.as_ref() { "›" } else { " " };
            let is_near = near.contains(&lines.len());
            lines.push(if is_near { line(state, &name, mark, name_width, width) } else { Line::default() });
        }
    }
    if lines.is_empty() {
        lines.extend(
            Line::new(
                Tone::Normal,
                "no MCP servers are configured; add one to mcpServers in ~/.qwen/settings.json or .mcp.json, \
                 or type `qwen mcp add` in a shell",
            )
            .wrapped(width, 0),
        );
    }
    Panel {
        title: "MCP servers".to_owned(),
        lines,
        scroll: if chosen.is_some() { Scroll::Around(at) } else { Scroll::From(0) },
        keys: "↑↓ choose · Enter open · Esc close · ? help".to_owned(),
        ..Panel::default()
    }
}

/// The line of the chosen one, counting the titles of the groups.
fn place_of(groups: &BTreeMap<Group, Vec<ServerName>>, chosen: Option<&ServerName>) -> usize {
    let lines = groups.values().flat_map(|names| std::iter::once(None).chain(names.iter().map(Some)));
    lines.enumerate().find(|(_, name)| name.is_some() && *name == chosen).map_or(0, |(line, _)| line)
}

fn line(state: &State, name: &ServerName, mark: &str, name_width: usize, width: usize) -> Line {
    let phase = state.phase(name);
    let is = phase.map_or(ServerState::Removed, Phase::state);
    let tone = tone_of(is.as_str());
    let name_text = cut_to(&visible(name.as_str()), name_width);
    let pad = " ".repeat(name_width - name_text.width());
    let word = is.as_str().replace('_', " ");
    let is_put_off = state.derived.promptable.get(name).is_some_and(|asked| state.asking.is_put_off(asked));
    let put_off = if is_put_off { " (put off)" } else { "" };
    let head = Line::new(Tone::Strong, mark)
        .and(tone, &format!(" {} ", sign(is)))
        .and(Tone::Strong, &format!("{name_text}{pad}  "))
        .and(tone, &format!("{word}{put_off}"));
    let words = match phase {
        Some(phase) => of_phase(phase, name, state.derived.rows.get(name), state.background()),
        None => of_removed(),
    };
    let about = match phase {
        Some(Phase::Connected(connected)) => {
            let offers =
                [(connected.tools, "tool"), (connected.prompts, "prompt"), (connected.resources, "resource")];
            let parts: Vec<String> = offers
                .into_iter()
                .filter(|(number, _)| *number > 0)
                .map(|(number, one)| count(number, one))
                .chain(words.cause)
                .collect();
            parts.join(", ")
        }
        Some(Phase::Connecting(_) | Phase::Failed { .. } | Phase::Refused(_)) | None => {
            words.cause.unwrap_or_default()
        }
    };
    let room = width.saturating_sub(head.width() + 2);
    head.and(Tone::Normal, "  ").and(Tone::Quiet, &cut_paths_to(&visible(&about), room))
}

#[cfg(test)]
mod tests {
    use qwen_core::Connecting;

    use super::{
        super::super::testing::{name, session, with_servers},
        *,
    };
    use crate::fixtures;

    #[test]
    fn of_hundreds_of_servers_only_those_near_the_chosen_one_are_put_into_words() {
        let mut state = session(80, 24);
        let names: Vec<String> = (0..500).map(|number| format!("s{number:03}")).collect();
        let rows = names
            .iter()
            .map(|name| (fixtures::row(name, Scope::User), Phase::Connecting(Connecting::Handshake)));
        with_servers(&mut state, rows.collect());
        for chosen in [None, Some(name("s250")), Some(name("s499"))] {
            let panel = panel(&state, chosen.as_ref(), 76);
            assert_eq!(panel.lines.len(), 501);
            let worded: Vec<usize> = (0..501).filter(|&line| panel.lines[line] != Line::default()).collect();
            assert!(worded.len() <= 49, "{}", worded.len());
            let Scroll::Around(at) = panel.scroll else { panic!() };
            assert!(panel.lines[at].plain().starts_with('›'));
            // As many as any screen shows around it.
            let seen = at.saturating_sub(12)..(at + 12).min(501);
            assert!(seen.into_iter().all(|line| worded.contains(&line)), "{at}");
        }
    }
}
