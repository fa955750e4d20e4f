//! Do questions appear, go and get their answers as they should, whatever else happens?

use qwen_core::FolderTrust;
use qwen_settings_schema as schema;

use super::*;
use crate::{
    asking::FolderWord,
    derive::{Derived, FolderQuestion},
};

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
fn all_cannot_be_approved_before_the_last_of_them_was_on_the_screen() {
    let mut state = session(80, 24);
    let names: Vec<String> = (0..12).map(|number| format!("server-{number}")).collect();
    files_mean(&mut state, waiting(&names.iter().map(String::as_str).collect::<Vec<_>>()), NOW);
    answers(&mut state, "Approve all", NOW);
    assert_eq!(about(&state).as_deref(), Some("all 12"));
    let now = rests(&mut state, NOW);
    let chosen = |state: &State, label: &str| shown(state).contains(&format!("[ {label} ]"));
    for _ in 0..3 {
        press(&mut state, KeyCode::Left, now);
    }
    assert!(chosen(&state, "Back"), "{}", shown(&state));
    assert!(shown(&state).contains("to the end before you approve"), "{}", shown(&state));
    for _ in 0..200 {
        press(&mut state, KeyCode::Down, now);
    }
    assert!(!shown(&state).contains("to the end before you approve"), "{}", shown(&state));
    press(&mut state, KeyCode::Left, now);
    assert!(chosen(&state, "Approve all of these"), "{}", shown(&state));
    // What was seen stays seen.
    press(&mut state, KeyCode::PageUp, now);
    assert_eq!(decided(&press(&mut state, KeyCode::Enter, now)).len(), 12);
}

#[test]
fn what_was_put_off_about_the_folder_can_be_said_from_inside_the_session() {
    let mut state = session(80, 24);
    let untrusted = || Derived {
        folder: FolderTrust::Untrusted,
        folder_question: FolderQuestion::Ask,
        ..Derived::default()
    };
    files_mean(&mut state, untrusted(), NOW);
    let now = rests(&mut state, NOW);
    press(&mut state, KeyCode::Esc, now);
    assert_eq!(about(&state), None);
    enters(&mut state, "/trust", now);
    assert_eq!(about(&state).as_deref(), Some("folder"));
    let effects = answers(&mut state, "Trust", now);
    assert!(matches!(&effects[..], [Effect::Trust(FolderWord::Trust)]), "{effects:?}");
    let checked = serde_json::json!({"security": {"folderTrust": {"enabled": true}}});
    let checked = schema::merge(&[schema::Layer { scope: schema::SettingsScope::User, root: &checked }]);
    let trusted = Derived { merged: Arc::new(checked.into_owned()), ..Derived::default() };
    for (derived, words) in
        [(trusted, "this folder is trusted"), (Derived::default(), "every folder is trusted")]
    {
        files_mean(&mut state, derived, now);
        told(&mut state);
        enters(&mut state, "/trust", now);
        assert_eq!(about(&state), None);
        assert!(told(&mut state)[1].starts_with(words), "{words}");
    }
}
