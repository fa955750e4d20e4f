//! How long does a key take from the loop's hand to the bytes of the screen, while fifty servers connect and one floods?
//! Prints its numbers. A release build is held to the product's bound.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use qwen_core::{Connected, Connecting, Phase, Scope, ServerName, ServerStatus};

use super::{
    dialog::Dialog,
    event::Event,
    painter::Painter,
    state::State,
    testing::{NOW, catalogue, session, status_of, with_servers},
    update::update,
    view::view,
};
use crate::fixtures;

/// What the loop does with one event that is drawn.
fn handle(state: &mut State, painter: &mut Painter, event: Event) -> usize {
    update(state, event, NOW);
    let screen = view(state, NOW);
    let above = state.take_transcript();
    painter.paint(&above, &screen.buffer, screen.cursor, state.paint).len()
}

#[test]
fn a_key_takes_less_than_a_frame_while_fifty_servers_connect_and_one_floods() {
    let mut state = session(200, 60);
    let mut painter = Painter::default();
    let names: Vec<String> = (0..50).map(|number| format!("server-{number}")).collect();
    let rows =
        names.iter().map(|name| (fixtures::row(name, Scope::User), Phase::Connecting(Connecting::Handshake)));
    with_servers(&mut state, rows.collect());
    let (mut times, mut bytes) = (Vec::new(), 0);
    for round in 0..500_usize {
        // One more server is there, and the one that floods has another catalogue each time.
        let status = status_of(&state, |status| {
            let mut offered = catalogue();
            offered.revision = u64::try_from(round).unwrap();
            status.catalogue = Arc::new(offered);
            let name = ServerName::from(names[round % 50].as_str());
            let connected = Connected {
                pid: None,
                tools: round,
                prompts: 0,
                resources: 0,
                warnings: Vec::new(),
                unlisted: Vec::new(),
            };
            let phase = Phase::Connected(connected);
            let server =
                ServerStatus { scope: Scope::User, phase, since_unix_ms: NOW, transitions: Vec::new() };
            status.servers.insert(name, Arc::new(server));
        });
        update(&mut state, Event::Status(status), NOW);
        state.dialog = (round % 2 == 0).then_some(Dialog::List { chosen: None });
        let code = if round % 2 == 0 { KeyCode::Down } else { KeyCode::Char('x') };
        let begun = Instant::now();
        bytes += handle(&mut state, &mut painter, Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        times.push(begun.elapsed());
    }
    times.sort();
    let (median, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!("key handled and drawn: median {median:?}, p99 {p99:?}, {bytes} bytes in all");
    // A debug build on a machine that builds something else beside is held to no more than its middle.
    let (held, bound) = if cfg!(debug_assertions) { (median, 100) } else { (p99, 16) };
    assert!(held < Duration::from_millis(bound), "{held:?}");
}
