use std::sync::Arc;

use crossterm::event::KeyCode;
use qwen_approvals::Verdict;
use qwen_core::{CommitRecord, Connected, Decision, Phase, Refusal, Scope, ServerName, ServerStatus, Status};

use super::{
    super::{
        asked::Wish,
        dialog::{Action, Detail, Dialog, actions},
        event::UseId,
        testing::{
            NOW, catalogue, control, enters, files_mean, look_up, name, press, rests, session, shown,
            status_of, told, types, waiting, with_servers,
        },
    },
    *,
};
use crate::{
    commands::Switched, derive::GatedEntry, events::EndReason, fixtures, hot_reload::CliEvent,
    settings::Snapshot,
};

fn decided(effects: &[Effect]) -> Vec<(String, Verdict, String)> {
    effects
        .iter()
        .filter_map(|effect| if let Effect::Decide(answers) = effect { Some(answers) } else { None })
        .flatten()
        .map(|answer| (answer.0.server.as_str().to_owned(), answer.0.verdict, answer.0.hash.to_string()))
        .collect()
}

fn about(state: &State) -> Option<String> {
    use super::super::question::About;
    state.question.as_ref().map(|open| match &open.about {
        About::Folder => "folder".to_owned(),
        About::Queued(asked) => asked.name.as_str().to_owned(),
        About::All(all) => format!("all {}", all.len()),
        About::Chosen(asked, _) => format!("chosen {}", asked.name.as_str()),
    })
}

/// Chooses the answer with this label and gives it.
fn answers(state: &mut State, label: &str, now: u64) -> Vec<Effect> {
    let now = rests(state, now);
    for _ in 0..4 {
        if shown(state).contains(&format!("[ {label}")) {
            return press(state, KeyCode::Enter, now);
        }
        press(state, KeyCode::Left, now);
    }
    panic!("no answer {label}:\n{}", shown(state));
}

fn connected() -> Phase {
    Phase::Connected(Connected {
        pid: None,
        tools: 2,
        prompts: 1,
        resources: 1,
        warnings: Vec::new(),
        unlisted: Vec::new(),
    })
}

fn with_gh(state: &mut State) {
    with_servers(state, vec![(fixtures::row("gh", Scope::User), connected())]);
    state.status = status_of(state, |status| status.catalogue = Arc::new(catalogue()));
}

#[test]
fn a_question_appears_by_itself_and_goes_by_itself_when_nothing_waits() {
    let mut state = session(80, 24);
    files_mean(&mut state, waiting(&["notes"]), NOW);
    assert_eq!(about(&state).as_deref(), Some("notes"));
    // Decided in another terminal.
    files_mean(&mut state, waiting(&[]), NOW);
    assert_eq!(about(&state), None);
    assert_eq!(told(&mut state), ["notes is no longer asked about: it was decided or changed elsewhere"]);
}

#[test]
fn a_question_during_a_running_call_leaves_the_call_alone() {
    let mut state = session(80, 24);
    with_gh(&mut state);
    enters(&mut state, "/call mcp__gh__sleep {}", NOW);
    let running = state.running.clone();
    assert_eq!(running.len(), 1);
    let later = NOW + 5000;
    let effects = files_mean(&mut state, waiting(&["notes"]), later);
    assert!(effects.is_empty(), "{effects:?}");
    assert_eq!(about(&state).as_deref(), Some("notes"));
    assert_eq!(state.running, running);
    assert!(shown(&state).contains("call mcp__gh__sleep"), "{}", shown(&state));
    answers(&mut state, "Approve", later);
    assert_eq!(state.running, running);
    update(&mut state, Event::Ended(UseId(1), vec![Line::new(Tone::Normal, "slept")]), later);
    assert!(state.running.is_empty());
    assert!(told(&mut state).contains(&"slept".to_owned()));
}

#[test]
fn an_answer_is_about_what_was_shown_when_another_edit_lands_before_it() {
    let mut state = session(80, 24);
    files_mean(&mut state, waiting(&["b"]), NOW);
    // `a` comes in before `b` is answered and sorts before it.
    files_mean(&mut state, waiting(&["a", "b"]), NOW);
    assert_eq!(about(&state).as_deref(), Some("b"));
    let effects = answers(&mut state, "Approve", NOW);
    assert_eq!(decided(&effects), [("b".to_owned(), Verdict::Approve, fixtures::HASH.to_owned())]);
    // The answer is on its way, and the other one is asked about at once.
    assert_eq!(about(&state).as_deref(), Some("a"));
}

#[test]
fn an_entry_that_changes_while_it_is_asked_about_is_asked_about_as_it_is_now() {
    let mut state = session(80, 24);
    files_mean(&mut state, waiting(&["notes"]), NOW);
    let mut edited = waiting(&["notes"]);
    let hash = "f".repeat(64);
    edited.promptable.get_mut("notes").unwrap().hash = hash.clone();
    files_mean(&mut state, edited, NOW);
    assert!(told(&mut state)[0].contains("notes changed while it was asked about"));
    let effects = answers(&mut state, "Reject", NOW);
    assert_eq!(decided(&effects), [("notes".to_owned(), Verdict::Reject, hash)]);
}

#[test]
fn what_was_looked_up_too_late_is_not_shown() {
    let mut state = session(80, 24);
    let derived = waiting(&["notes"]);
    update(&mut state, Event::Facts(Arc::new(derived), Arc::new(Snapshot::default())), NOW);
    let pending = CliEvent::PendingApprovalChanged { servers: vec![name("notes")] };
    let effects = update(&mut state, Event::Cli(pending), NOW);
    // The decision of another terminal comes before what the question shows.
    files_mean(&mut state, waiting(&[]), NOW);
    look_up(&mut state, effects, NOW);
    assert_eq!(about(&state), None);
}

#[test]
fn esc_decides_nothing_and_the_status_line_still_counts_the_server() {
    let mut state = session(80, 24);
    files_mean(&mut state, waiting(&["notes"]), NOW);
    let later = rests(&mut state, NOW);
    assert!(press(&mut state, KeyCode::Esc, later).is_empty());
    files_mean(&mut state, waiting(&["notes"]), NOW);
    assert_eq!(about(&state), None);
    assert!(shown(&state).contains("1 needs approval ◆"), "{}", shown(&state));
}

#[test]
fn what_is_chosen_at_first_decides_nothing() {
    let mut state = session(80, 24);
    files_mean(&mut state, waiting(&["notes"]), NOW);
    let later = rests(&mut state, NOW);
    assert!(decided(&press(&mut state, KeyCode::Enter, later)).is_empty());
    assert_eq!(about(&state), None);
}

#[test]
fn keys_of_somebody_who_is_typing_are_not_meant_for_a_question_that_appears() {
    let mut state = session(80, 24);
    types(&mut state, "/ca", NOW);
    files_mean(&mut state, waiting(&["notes"]), NOW + 50);
    // However long it takes: the keys go on to the line, which stays in sight.
    for (at, c) in (1..).zip("ll mcp__gh__sleep".chars()) {
        press(&mut state, KeyCode::Char(c), NOW + 50 + at * 300);
    }
    assert_eq!(state.input.text(), "/call mcp__gh__sleep");
    assert!(shown(&state).contains("> /call mcp__gh__sleep"), "{}", shown(&state));
    assert!(shown(&state).contains("stop typing for a moment to answer"), "{}", shown(&state));
    // A moment without a key, and the question has them.
    let later = rests(&mut state, NOW);
    press(&mut state, KeyCode::Esc, later);
    assert_eq!((about(&state), state.input.text()), (None, "/call mcp__gh__sleep"));
}

#[test]
fn completing_and_entering_a_line_while_a_question_appears_approves_nobody() {
    let mut state = session(80, 24);
    with_gh(&mut state);
    types(&mut state, "/call mcp__gh__sl", NOW);
    files_mean(&mut state, waiting(&["notes"]), NOW + 450);
    let mut effects = press(&mut state, KeyCode::Tab, NOW + 900);
    effects.extend(press(&mut state, KeyCode::Enter, NOW + 1100));
    assert!(decided(&effects).is_empty(), "{effects:?}");
    assert!(matches!(&effects[..], [Effect::Remember(_), Effect::Use(..)]), "{effects:?}");
    assert_eq!(about(&state).as_deref(), Some("notes"));
    // Nor does any single key lead from what is chosen at first to a yes, when the question has the keys.
    for code in [KeyCode::Tab, KeyCode::Right, KeyCode::Left, KeyCode::BackTab, KeyCode::Char('y')] {
        let mut state = session(80, 24);
        files_mean(&mut state, waiting(&["notes"]), NOW);
        let later = rests(&mut state, NOW);
        press(&mut state, code, later);
        let verdicts = decided(&press(&mut state, KeyCode::Enter, later));
        assert!(verdicts.iter().all(|(_, verdict, _)| *verdict == Verdict::Reject), "{code:?}: {verdicts:?}");
    }
}

#[test]
fn keys_that_follow_an_answer_at_once_are_meant_for_nothing() {
    let mut state = session(80, 24);
    types(&mut state, "/quit", NOW);
    files_mean(&mut state, waiting(&["a", "b"]), NOW);
    answers(&mut state, "Not now", NOW);
    assert_eq!(about(&state).as_deref(), Some("b"));
    let at_once = state.keyed_at + 100;
    assert!(press(&mut state, KeyCode::Enter, at_once).is_empty());
    assert_eq!((about(&state).as_deref(), state.input.text()), (Some("b"), "/quit"));
}

#[test]
fn approving_all_shows_all_first_and_approves_exactly_those() {
    let mut state = session(80, 60);
    files_mean(&mut state, waiting(&["a", "b"]), NOW);
    assert!(decided(&answers(&mut state, "Approve all", NOW)).is_empty());
    assert_eq!(about(&state).as_deref(), Some("all 2"));
    files_mean(&mut state, waiting(&["a", "b", "c"]), NOW);
    assert_eq!(about(&state).as_deref(), Some("all 2"));
    let effects = answers(&mut state, "Approve all", NOW);
    let names: Vec<String> = decided(&effects).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(about(&state).as_deref(), Some("c"));
}

#[test]
fn a_server_that_was_put_off_or_rejected_can_be_approved_in_the_dialog() {
    let mut state = session(80, 24);
    let mut derived = waiting(&[]);
    let asked = fixtures::promptable("notes", serde_json::json!({ "command": "notes" }));
    let gated = GatedEntry { asked, decision: Decision::Rejected, barrier: None };
    derived.gated.insert(name("notes"), gated.clone());
    files_mean(&mut state, derived, NOW);
    let row = fixtures::decided(fixtures::row("notes", Scope::Project), Decision::Rejected, "x");
    with_servers(&mut state, vec![(row, Phase::Refused(Refusal::Rejected))]);
    enters(&mut state, "/mcp notes", NOW);
    let page = shown(&state);
    assert!(page.contains("was rejected for this exact configuration"), "{page}");
    answers(&mut state, "Approve", NOW);
    assert_eq!(about(&state).as_deref(), Some("chosen notes"));
    let effects = answers(&mut state, "Approve", NOW);
    assert_eq!(decided(&effects), [("notes".to_owned(), Verdict::Approve, fixtures::HASH.to_owned())]);
    // The dialog is still there.
    assert!(matches!(state.dialog, Some(Dialog::Detail(_))));
}

#[test]
fn a_chosen_question_goes_when_its_entry_is_decided_elsewhere() {
    let mut state = session(80, 24);
    let mut derived = waiting(&["notes"]);
    files_mean(&mut state, derived.clone(), NOW);
    let later = rests(&mut state, NOW);
    press(&mut state, KeyCode::Esc, later);
    let row = fixtures::row("notes", Scope::Project);
    with_servers(&mut state, vec![(row, Phase::Refused(Refusal::PendingApproval))]);
    enters(&mut state, "/mcp notes", NOW);
    answers(&mut state, "Approve", NOW);
    assert_eq!(about(&state).as_deref(), Some("chosen notes"));
    derived.promptable.clear();
    derived.gated.get_mut("notes").unwrap().decision = Decision::Approved;
    files_mean(&mut state, derived, NOW);
    assert_eq!(about(&state), None);
}

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
fn a_call_is_cancelled_by_esc_and_by_ctrl_c_and_only_once() {
    for code in [Some(KeyCode::Esc), None] {
        let mut state = session(80, 24);
        let effects = enters(&mut state, "/call a b {\"x\": 1}", NOW);
        let Some(Effect::Use(id, Wish::Call(words))) = effects.last() else { panic!("{effects:?}") };
        assert_eq!(words.join("|"), "a|b|{\"x\": 1}");
        let id = *id;
        let effects = match code {
            Some(code) => press(&mut state, code, NOW),
            None => control(&mut state, 'c', NOW),
        };
        assert!(matches!(&effects[..], [Effect::Cancel(cancelled)] if *cancelled == id));
        let effects = press(&mut state, KeyCode::Esc, NOW);
        assert!(effects.is_empty(), "{effects:?}");
    }
}

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
