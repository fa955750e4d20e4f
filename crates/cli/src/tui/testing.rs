//! States that several tests of the interactive session start from, and screens as text. It knows no terminal.

use std::{path::PathBuf, sync::Arc};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use qwen_core::{
    Catalogue, CataloguePrompt, CatalogueResource, CatalogueTool, Decision, Phase, ServerName, ServerStatus,
    Status, Transition,
};
use serde_json::json;
use unicode_width::UnicodeWidthStr as _;

use super::{
    event::{Effect, Event, Size},
    focus::{QUIET, settle},
    state::{Life, Opening, State},
    update::update,
    view::view,
};
use crate::{
    derive::{Derived, GatedEntry},
    fixtures::{self, WHEN},
    hot_reload::CliEvent,
    settings::Snapshot,
    text::Paint,
};

/// When everything here happens, in milliseconds since 1970.
pub(super) const NOW: u64 = WHEN + 42_000;

/// A session that runs, without servers.
pub(super) fn session(columns: u16, rows: u16) -> State {
    let mut state = State::new(Opening {
        root: PathBuf::from("/p"),
        paint: Paint::Plain,
        size: Size { columns, rows },
        derived: Arc::default(),
        snapshot: Arc::new(fixtures::restricting_files()),
        history: Vec::new(),
    });
    state.life = Life::Running;
    state
}

/// The same with one server in each of these phases.
pub(super) fn with_servers(state: &mut State, servers: Vec<(crate::derive::Row, Phase)>) {
    let mut status = (*state.status).clone();
    let mut derived = (*state.derived).clone();
    for (row, phase) in servers {
        let transitions = vec![Transition { at_unix_ms: WHEN, state: phase.state(), cause: None }];
        let server = ServerStatus { scope: row.scope, phase, since_unix_ms: WHEN, transitions };
        status.servers.insert(row.name.clone(), Arc::new(server));
        derived.rows.insert(row.name.clone(), row);
    }
    state.status = Arc::new(status);
    state.derived = Arc::new(derived);
}

/// A server with something of each kind.
pub(super) fn catalogue() -> Catalogue {
    let server = ServerName::from("gh");
    let mut catalogue = Catalogue { revision: 1, ..Catalogue::default() };
    let schema = Arc::new(json!({
        "type": "object",
        "properties": { "query": { "type": "string" }, "limit": { "type": "integer", "default": 10 } },
        "required": ["query"],
    }));
    for (tool, description) in [("search", "Looks for something\nand more"), ("sleep", "Sleeps")] {
        let name: Arc<str> = format!("mcp__gh__{tool}").into();
        catalogue.tools.insert(
            Arc::clone(&name),
            Arc::new(CatalogueTool {
                name,
                server: server.clone(),
                tool: tool.to_owned(),
                description: Some(description.to_owned()),
                input_schema: Arc::clone(&schema),
                trust: false,
                always_load: false,
            }),
        );
    }
    let name: Arc<str> = "mcp__gh__greet".into();
    catalogue.prompts.insert(
        Arc::clone(&name),
        Arc::new(CataloguePrompt {
            name,
            server: server.clone(),
            prompt: "greet".to_owned(),
            description: Some("Greets".to_owned()),
            raw: Arc::new(json!({})),
        }),
    );
    let uri: Arc<str> = "demo://readme".into();
    catalogue.resources.insert(
        (server.clone(), Arc::clone(&uri)),
        Arc::new(CatalogueResource { server, uri, name: "readme".to_owned(), raw: Arc::new(json!({})) }),
    );
    catalogue
}

/// Files in which these project servers wait for an answer.
pub(super) fn waiting(names: &[&str]) -> Derived {
    let mut derived = Derived::default();
    for &name in names {
        let asked = fixtures::promptable(name, json!({ "command": name, "args": ["--serve"] }));
        let gated = GatedEntry { asked: asked.clone(), decision: Decision::Undecided, barrier: None };
        derived.promptable.insert(asked.name.clone(), asked.clone());
        derived.gated.insert(asked.name, gated);
    }
    derived
}

/// Tells a state that the files mean something else and that somebody else waits, and answers what it looks up.
pub(super) fn files_mean(state: &mut State, derived: Derived, now: u64) -> Vec<Effect> {
    let servers = derived.promptable.keys().cloned().collect();
    update(state, Event::Facts(Arc::new(derived), Arc::new(Snapshot::default())), now);
    let effects = update(state, Event::Cli(CliEvent::PendingApprovalChanged { servers }), now);
    look_up(state, effects, now)
}

/// Answers what was looked up, as the loop does; the other effects come back.
pub(super) fn look_up(state: &mut State, effects: Vec<Effect>, now: u64) -> Vec<Effect> {
    let mut others = Vec::new();
    for effect in effects {
        let Effect::LookUp(asked, about) = effect else {
            others.push(effect);
            continue;
        };
        let questions = asked
            .iter()
            .map(|asked| {
                let around = crate::question::Surroundings { project_file: &|_| None, since_last: None };
                crate::question::Question::about(asked, around)
            })
            .collect();
        others.extend(update(state, Event::Questions(questions, about), now));
    }
    others
}

/// Lets go of the keys for as long as what asks waits for; the time after that.
pub(super) fn rests(state: &mut State, now: u64) -> u64 {
    let later = now.max(state.keyed_at) + QUIET;
    // Nothing else is due at that time in these tests.
    settle(state, later);
    later
}

/// Presses one key.
pub(super) fn press(state: &mut State, code: KeyCode, now: u64) -> Vec<Effect> {
    let effects = update(state, Event::Key(KeyEvent::new(code, KeyModifiers::NONE)), now);
    look_up(state, effects, now)
}

/// Presses one key with Ctrl.
pub(super) fn control(state: &mut State, c: char, now: u64) -> Vec<Effect> {
    let effects = update(state, Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)), now);
    look_up(state, effects, now)
}

/// Types a text.
pub(super) fn types(state: &mut State, text: &str, now: u64) {
    for c in text.chars() {
        press(state, KeyCode::Char(c), now);
    }
}

/// Types a line to its end.
pub(super) fn enters(state: &mut State, line: &str, now: u64) -> Vec<Effect> {
    types(state, line, now);
    press(state, KeyCode::Enter, now)
}

/// What was told and is not yet in the scroll-back.
pub(super) fn told(state: &mut State) -> Vec<String> {
    std::mem::take(&mut state.transcript).iter().map(super::line::Line::plain).collect()
}

/// The screen as text, between bars where a line ends.
pub(super) fn shown(state: &State) -> String {
    let screen = view(state, NOW);
    let area = screen.buffer.area;
    let mut out = String::new();
    for y in 0..area.height {
        let mut column = 0;
        let mut row = String::new();
        for x in 0..area.width {
            if x < column {
                continue;
            }
            let symbol = screen.buffer[(x, y)].symbol();
            row.push_str(symbol);
            column = x + u16::try_from(symbol.width()).unwrap();
        }
        assert!(row.width() <= usize::from(area.width), "{row}");
        out.push_str(row.trim_end());
        out.push('\n');
    }
    out
}

/// The name of a server.
pub(super) fn name(text: &str) -> ServerName {
    ServerName::from(text)
}

/// A status with these commits and servers.
pub(super) fn status_of(state: &State, edit: impl FnOnce(&mut Status)) -> Arc<Status> {
    let mut status = (*state.status).clone();
    edit(&mut status);
    Arc::new(status)
}
