//! What do keys, pastes and typed commands do to the line and to what stands above it?

use super::*;

#[test]
fn ctrl_c_gives_up_the_nearest_thing_and_ends_the_session_at_the_second_time() {
    let mut state = session(80, 24);
    enters(&mut state, "/mcp", NOW);
    assert!(control(&mut state, 'c', NOW).is_empty());
    assert!(state.dialog.is_none());
    types(&mut state, "half", NOW);
    assert!(control(&mut state, 'c', NOW).is_empty());
    assert!(state.input.is_empty());
    assert!(shown(&state).contains("press Ctrl-C again"));
    assert!(control(&mut state, 'c', NOW + 10_000).is_empty());
    let effects = control(&mut state, 'c', NOW + 10_100);
    assert!(matches!(&effects[..], [Effect::Quit(EndReason::Interrupt)]));
}

#[test]
fn ctrl_d_ends_the_session_from_every_box_but_only_edits_a_line() {
    let mut state = session(80, 24);
    enters(&mut state, "/mcp", NOW);
    assert!(matches!(&control(&mut state, 'd', NOW)[..], [Effect::Quit(EndReason::Quit)]));
    let mut state = session(80, 24);
    types(&mut state, "half", NOW);
    assert!(control(&mut state, 'd', NOW).is_empty());
}

#[test]
fn what_is_typed_to_end_the_session_ends_it() {
    for line in ["/quit", "/exit"] {
        let effects = enters(&mut session(80, 24), line, NOW);
        assert!(effects.iter().any(|effect| matches!(effect, Effect::Quit(EndReason::Quit))), "{effects:?}");
    }
    let effects = control(&mut session(80, 24), 'd', NOW);
    assert!(matches!(&effects[..], [Effect::Quit(EndReason::Quit)]));
}

#[test]
fn a_line_is_remembered_unless_it_looks_like_a_secret() {
    let mut state = session(80, 24);
    let remembered = |effects: &[Effect]| effects.iter().any(|effect| matches!(effect, Effect::Remember(_)));
    assert!(remembered(&enters(&mut state, "/tools", NOW)));
    assert!(!remembered(&enters(&mut state, "/call a {\"token\": \"x\"}", NOW)));
    press(&mut state, KeyCode::Up, NOW);
    assert_eq!(state.input.text(), "/call a {\"token\": \"x\"}");
    press(&mut state, KeyCode::Up, NOW);
    assert_eq!(state.input.text(), "/tools");
}

#[test]
fn tools_are_listed_and_a_server_that_is_not_there_says_why() {
    let mut state = session(80, 24);
    with_gh(&mut state);
    with_servers(&mut state, vec![(fixtures::row("off", Scope::User), Phase::Refused(Refusal::Disabled))]);
    enters(&mut state, "/tools gh", NOW);
    assert_eq!(
        told(&mut state),
        ["> /tools gh", "  mcp__gh__search  Looks for something", "  mcp__gh__sleep   Sleeps"]
    );
    enters(&mut state, "/tools off", NOW);
    let said = told(&mut state);
    assert!(said[1].starts_with("off is not connected: switched off in"), "{said:?}");
    enters(&mut state, "/tools ghh", NOW);
    assert!(told(&mut state)[1].contains("did you mean gh"));
    assert!(
        enters(&mut state, "/mcp reconnect nobody", NOW)
            .iter()
            .all(|effect| !matches!(effect, Effect::Reconnect(_)))
    );
}

#[test]
fn tab_completes_commands_servers_tools_and_arguments() {
    let mut state = session(80, 24);
    with_gh(&mut state);
    let table = [
        ("/rel", "/reload"),
        ("/tools g", "/tools gh"),
        ("/mcp rec", "/mcp reconnect "),
        ("/mcp reconnect ", "/mcp reconnect gh"),
        ("/call mcp__gh__se", "/call mcp__gh__search "),
        ("/call sleep", "/call mcp__gh__sleep "),
        ("/call mcp__gh__search {\"q", "/call mcp__gh__search {\"query\": "),
        ("/prompt mcp", "/prompt mcp__gh__greet"),
        ("/resource demo", "/resource demo://readme"),
        ("no command", "no command"),
    ];
    for (typed, completed) in table {
        state.input.set("");
        types(&mut state, typed, NOW);
        press(&mut state, KeyCode::Tab, NOW);
        assert_eq!(state.input.text(), completed, "{typed}");
    }
    state.input.set("");
    types(&mut state, "/call mcp__gh__s", NOW);
    press(&mut state, KeyCode::Tab, NOW);
    assert_eq!(state.input.text(), "/call mcp__gh__search ");
    assert!(shown(&state).contains("› mcp__gh__search"), "{}", shown(&state));
    press(&mut state, KeyCode::Tab, NOW);
    assert_eq!(state.input.text(), "/call mcp__gh__sleep ");
    press(&mut state, KeyCode::BackTab, NOW);
    press(&mut state, KeyCode::Esc, NOW);
    assert_eq!(state.input.text(), "/call mcp__gh__search ");
    assert!(state.input.completion.is_none());
}

#[test]
fn pasted_text_stays_on_the_line_and_is_never_an_answer() {
    let mut state = session(80, 24);
    update(&mut state, Event::Paste("/call a {\n  \"x\": 1\r\n}\n".to_owned()), NOW);
    assert_eq!(state.input.text(), "/call a {   \"x\": 1 }");
    files_mean(&mut state, waiting(&["notes"]), NOW + 5000);
    update(&mut state, Event::Paste("\r\r\r".to_owned()), NOW + 5000);
    assert_eq!(about(&state).as_deref(), Some("notes"));
}

#[test]
fn a_paste_that_no_line_holds_is_refused_and_said() {
    let mut state = session(80, 24);
    update(&mut state, Event::Paste("x".repeat(60_000)), NOW);
    assert_eq!(state.input.text().len(), 60_000);
    assert!(shown(&state).starts_with("> xxx"));
    update(&mut state, Event::Paste("x".repeat(60_000)), NOW);
    assert_eq!(state.input.text().len(), 60_000);
    let said = told(&mut state);
    assert!(said[0].contains("64 KiB") && said[0].contains("@FILE"), "{said:?}");
}

#[test]
fn single_keys_and_completions_fill_a_line_no_further_than_pastes_do() {
    let mut state = session(80, 24);
    with_gh(&mut state);
    let full = 64 * 1024;
    let begin = "/call mcp__gh__search {\"query\": \"";
    update(&mut state, Event::Paste(format!("{begin}{}", "x".repeat(full - begin.len() - 1))), NOW);
    for c in ['文', 'y', 'z'] {
        press(&mut state, KeyCode::Char(c), NOW);
    }
    assert_eq!(state.input.text().len(), full);
    assert!(state.input.text().ends_with("xy"));
    press(&mut state, KeyCode::Backspace, NOW);
    assert!(state.input.text().ends_with('x'));
    // What was cut can be put back, once.
    for _ in 0..3 {
        control(&mut state, 'k', NOW);
        control(&mut state, 'y', NOW);
    }
    state.input.set(&format!("{}/call mcp__gh__se", " ".repeat(full - 18)));
    press(&mut state, KeyCode::Tab, NOW);
    assert!(state.input.text().len() <= full);
}
