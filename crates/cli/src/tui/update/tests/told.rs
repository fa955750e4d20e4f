//! What reaches the transcript, and when?

use super::*;

#[test]
fn a_planned_commit_moves_the_status_line_and_is_told_once() {
    let mut state = session(80, 24);
    let mut status = Status { observed: 2, ..Status::default() };
    let server =
        ServerStatus { scope: Scope::User, phase: connected(), since_unix_ms: NOW, transitions: Vec::new() };
    status.servers.insert(name("gh"), Arc::new(server));
    status.commits.push(Arc::new(CommitRecord {
        generation: 2,
        added: vec![ServerName::from("gh")],
        removed: Vec::new(),
        restarted: Vec::new(),
        rescoped: Vec::new(),
        kept: 0,
        skipped: Vec::new(),
    }));
    let status = Arc::new(status);
    let planned = CliEvent::Planned { generation: 2, status: Arc::clone(&status) };
    update(&mut state, Event::Cli(planned), NOW);
    assert_eq!(shown(&state), ">\n» reloaded: +gh, 0 kept\np  1 connected\n");
    update(&mut state, Event::Status(status), NOW);
    update(&mut state, Event::Tick, NOW + 10_000);
    assert_eq!(told(&mut state), ["reloaded: +gh, 0 kept", "connected: gh (2 tools)"]);
}

#[test]
fn a_decision_is_said_when_it_counts_and_for_how_long() {
    let mut state = session(80, 24);
    files_mean(&mut state, waiting(&["a"]), NOW);
    let effects = answers(&mut state, "Approve", NOW);
    let [Effect::Decide(answers)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(told(&mut state), [""; 0], "nothing is recorded yet");
    for (holds, end) in [(Holds::ForGood, ""), (Holds::ThisSession, ", for this session only")] {
        update(&mut state, Event::Decided(answers[0].clone(), holds), NOW);
        assert_eq!(told(&mut state), [format!("approved a (hash 0123456789ab…){end}")]);
    }
}

#[test]
fn a_rejection_in_the_dialog_says_what_became_of_it() {
    let mut state = session(80, 24);
    state.derived = Arc::new(waiting(&["gh"]));
    let pending = Phase::Refused(Refusal::PendingApproval);
    with_servers(&mut state, vec![(fixtures::row("gh", Scope::Project), pending)]);
    let detail = Detail { chosen: Some(Action::Reject), ..Detail::of(name("gh")) };
    state.dialog = Some(Dialog::Detail(detail));
    let effects = press(&mut state, KeyCode::Enter, NOW);
    let [Effect::Decide(answers)] = &effects[..] else { panic!("{effects:?}") };
    update(&mut state, Event::Decided(answers[0].clone(), Holds::ForGood), NOW);
    assert_eq!(told(&mut state), ["rejected gh (hash 0123456789ab…)"]);
}
