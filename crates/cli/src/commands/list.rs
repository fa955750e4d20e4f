//! `qwen mcp list`: every configured server with its state, the cause and the next step. Connects to the admitted ones
//! in this process, never to others, and leaves running sessions alone.

use std::{collections::BTreeMap, io, time::Duration};

use qwen_core::{Phase, ServerName, State, Verdicts};

use crate::{
    app::{App, Probed},
    args::{Global, ListArgs},
    derive::{Derived, Screen},
    exit::Exit,
    output,
    row::{Document, ListRow, Outcome, list_row, now_unix_ms, render_list},
    sessions::RunningSession,
};

/// Lists, and connects unless told otherwise.
pub(crate) fn run(global: &Global, args: &ListArgs) -> Exit {
    let app = match App::open(global, Screen::Headless) {
        Ok(app) => app,
        Err(error) => return output::fail(&error, error.exit()),
    };
    let derived = app.derived();
    let verdicts = qwen_core::admit(&derived.desired(), app.bound());
    let sessions = app.sessions().map(|sessions| sessions.running(app.root())).unwrap_or_default();
    let list = |probed: BTreeMap<ServerName, Probed>| {
        let document = document(&app, derived, &verdicts, &probed);
        show(&document, &sessions, &app, global, args);
        let failed = document.servers.iter().any(|row| has_failed(row, &probed));
        if args.check && failed { Exit::ServersFailed } else { Exit::Ok }
    };
    if args.no_connect || verdicts.values().all(Result::is_err) {
        return list(BTreeMap::new());
    }
    let limit = Duration::from_millis(args.timeout);
    match app.interruptible(async |guard| app.probe(derived.desired(), limit, guard, list).await) {
        Ok(Some(exit)) => exit,
        Ok(None) => Exit::Interrupted,
        Err(error) => output::fail(&error, error.exit()),
    }
}

fn show(
    document: &Document<ListRow>,
    sessions: &[RunningSession],
    app: &App,
    global: &Global,
    args: &ListArgs,
) {
    if args.json {
        output::print_json(document);
        sessions.iter().for_each(|session| output::note(&about(session)));
        return;
    }
    let mut text = render_list(document, app.paint(&io::stdout()), output::width());
    if let Some(pointer) = super::settings::pointer(document.diagnostics.len(), global) {
        text.push_str(&format!("{pointer}\n"));
    }
    sessions.iter().for_each(|session| text.push_str(&format!("{}\n", about(session))));
    output::print(&text);
}

fn document(
    app: &App,
    derived: &Derived,
    verdicts: &Verdicts,
    probed: &BTreeMap<ServerName, Probed>,
) -> Document<ListRow> {
    let now_unix_ms = now_unix_ms();
    Document::new(derived, app.root(), |row| {
        let refused = verdicts.get(&row.name).and_then(|verdict| verdict.as_ref().err());
        let refused = refused.map(|refusal| Phase::Refused(refusal.clone()));
        let outcome = match (probed.get(&row.name), &refused) {
            (_, Some(phase)) => Outcome::Phase { phase, since_unix_ms: now_unix_ms },
            (Some(probed), None) => {
                Outcome::Phase { phase: &probed.phase, since_unix_ms: probed.since_unix_ms }
            }
            (None, None) => Outcome::NotTried,
        };
        list_row(row, outcome, app.background())
    })
}

fn has_failed(row: &ListRow, probed: &BTreeMap<ServerName, Probed>) -> bool {
    let failed = [State::Failed, State::NeedsAuth].map(State::as_str);
    probed.contains_key(row.entry.name.as_str())
        && row.entry.state.is_some_and(|state| failed.contains(&state))
}

fn about(session: &RunningSession) -> String {
    format!(
        "a session of this project runs (pid {});\nit has connections of its own, which this list left alone",
        session.pid
    )
}
