//! What can be done in the list of servers and on the page of one, and what is never done by a stray key?

use super::*;

#[test]
fn a_server_offers_the_actions_of_its_state() {
    let mut state = session(80, 24);
    let table = [
        (connected(), vec![Action::View, Action::Reconnect, Action::Disable]),
        (Phase::Refused(Refusal::Disabled), vec![Action::Enable]),
        (Phase::Refused(Refusal::Rejected), vec![Action::Disable]),
    ];
    for (phase, expected) in table {
        with_servers(&mut state, vec![(fixtures::row("gh", Scope::User), phase)]);
        assert_eq!(actions(&state, &name("gh")), expected);
    }
    let mut derived = waiting(&["gh"]);
    state.derived = Arc::new(derived.clone());
    let pending = Phase::Refused(Refusal::PendingApproval);
    with_servers(&mut state, vec![(fixtures::row("gh", Scope::Project), pending)]);
    assert_eq!(actions(&state, &name("gh")), [Action::Approve, Action::Reject, Action::Disable]);
    // Where something else stands against it, a yes would promise what does not happen.
    derived.gated.get_mut("gh").unwrap().barrier = Some(Refusal::UntrustedFolder);
    state.derived = Arc::new(derived);
    assert_eq!(actions(&state, &name("gh")), [Action::Reject, Action::Disable]);
    assert!(actions(&state, &name("nobody")).is_empty());
}

#[test]
fn actions_of_the_dialog_ask_for_what_they_say() {
    let mut state = session(80, 24);
    with_gh(&mut state);
    let act = |state: &mut State, action: Action| {
        let detail = Detail { chosen: Some(action), ..Detail::of(name("gh")) };
        state.dialog = Some(Dialog::Detail(detail));
        press(state, KeyCode::Enter, NOW)
    };
    assert!(
        matches!(&act(&mut state, Action::Reconnect)[..], [Effect::Reconnect(server)] if *server == name("gh"))
    );
    assert!(matches!(
        &act(&mut state, Action::Disable)[..],
        [Effect::Switch(server, Switched::Off)] if *server == name("gh")
    ));
    assert!(act(&mut state, Action::View).is_empty());
    assert!(shown(&state).contains("mcp__gh__search"), "{}", shown(&state));
    press(&mut state, KeyCode::Esc, NOW);
    press(&mut state, KeyCode::Esc, NOW);
    assert!(matches!(state.dialog, Some(Dialog::List { .. })));
    press(&mut state, KeyCode::Esc, NOW);
    assert!(state.dialog.is_none());
}

#[test]
fn the_chosen_server_stays_chosen_while_others_come_and_go() {
    let mut state = session(80, 24);
    with_servers(
        &mut state,
        vec![(fixtures::row("b", Scope::User), connected()), (fixtures::row("c", Scope::User), connected())],
    );
    enters(&mut state, "/mcp", NOW);
    control(&mut state, 'n', NOW);
    with_servers(&mut state, vec![(fixtures::row("a", Scope::User), connected())]);
    assert!(shown(&state).contains("› ● c"), "{}", shown(&state));
    control(&mut state, 'p', NOW);
    assert!(shown(&state).contains("› ● b"), "{}", shown(&state));
    // Behind the first comes the last.
    press(&mut state, KeyCode::Up, NOW);
    press(&mut state, KeyCode::Up, NOW);
    assert!(shown(&state).contains("› ● c"), "{}", shown(&state));
    press(&mut state, KeyCode::Char('?'), NOW);
    assert!(shown(&state).contains("Commands"));
}

#[test]
fn a_stray_enter_on_the_page_of_a_server_writes_nothing() {
    let mut state = session(80, 24);
    for phase in [Phase::Refused(Refusal::Disabled), Phase::Refused(Refusal::Rejected)] {
        with_servers(&mut state, vec![(fixtures::row("gh", Scope::User), phase)]);
        state.dialog = Some(Dialog::Detail(Detail::of(name("gh"))));
        assert!(!shown(&state).contains("[ "), "{}", shown(&state));
        assert!(press(&mut state, KeyCode::Enter, NOW).is_empty());
    }
    press(&mut state, KeyCode::Right, NOW);
    assert!(matches!(&press(&mut state, KeyCode::Enter, NOW)[..], [Effect::Switch(_, Switched::Off)]));
    // What comes instead of the action that was chosen is not chosen.
    with_servers(&mut state, vec![(fixtures::row("gh", Scope::User), Phase::Refused(Refusal::Disabled))]);
    assert!(press(&mut state, KeyCode::Enter, NOW).is_empty());
    assert!(!shown(&state).contains("[ "), "{}", shown(&state));
}
