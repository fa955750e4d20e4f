use qwen_core::ServerName;
use serde_json::json;

use super::{
    super::testing::{NOW, control, enters, press, rests, session, shown, told},
    *,
};
use crate::tui::{
    event::{Effect, Event},
    update::update,
};
use crossterm::event::KeyCode;

fn question() -> ServerQuestion {
    ServerQuestion {
        server: ServerName::from("gh"),
        message: "Who are you?\u{1b}[2J\nIt is only for the log.".to_owned(),
        schema: json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "title": "Your name", "minLength": 2 },
                "age": { "type": "integer", "minimum": 18, "description": "in years" },
                "size": { "type": "number", "default": 1.5 },
                "member": { "type": "boolean", "default": true },
                "plan": { "type": "string", "enum": ["a", "b"], "enumNames": ["Plan A", "Plan B"] },
                "colour": { "oneOf": [{ "const": "r", "title": "红" }, { "const": "g", "title": "green" }] },
                "tags": { "type": "array", "items": { "type": "string" } },
            },
            "required": ["name", "plan"],
        }),
    }
}

fn types(form: &mut Form, text: &str) {
    for c in text.chars() {
        assert_eq!(form.take(FormKey::Type(c)), None);
    }
}

#[test]
fn a_form_names_the_server_and_shows_every_kind_of_field() {
    for (columns, rows) in [(80, 24), (60, 12)] {
        let mut state = session(columns, rows);
        update(&mut state, Event::Asked(FormId(7), question()), NOW);
        rests(&mut state, NOW);
        insta::with_settings!({ snapshot_suffix => format!("{columns}x{rows}") }, {
            insta::assert_snapshot!("form", shown(&state));
        });
    }
}

#[test]
fn an_answer_has_the_types_of_the_schema_and_leaves_out_what_is_empty() {
    let mut form = Form::new(FormId(1), question());
    types(&mut form, "Ada文");
    form.take(FormKey::Enter);
    types(&mut form, "36");
    form.take(FormKey::Enter);
    form.take(FormKey::Enter);
    form.take(FormKey::Type('n'));
    form.take(FormKey::Move(Turn::Next));
    form.take(FormKey::Side(Turn::Before));
    form.take(FormKey::Move(Turn::Next));
    form.take(FormKey::Move(Turn::Next));
    form.paste("[\"x\"]\n");
    form.take(FormKey::Enter);
    let reply = form.take(FormKey::Enter);
    let answer =
        json!({ "name": "Ada文", "age": 36, "size": 1.5, "member": false, "plan": "b", "tags": ["x"] });
    assert_eq!(reply, Some(QuestionReply::Accept(answer)));
}

#[test]
fn what_does_not_fit_the_schema_is_not_sent_and_said() {
    let mut form = Form::new(FormId(1), question());
    let answer = |form: &mut Form| {
        form.at = form.fields.len();
        assert_eq!(form.take(FormKey::Enter), None);
        form.problem.clone().unwrap()
    };
    assert_eq!(answer(&mut form), "Your name: is required");
    assert_eq!(form.at, 0);
    types(&mut form, "A");
    assert_eq!(answer(&mut form), "plan: is required");
    form.take(FormKey::Side(Turn::Next));
    assert!(answer(&mut form).starts_with("name:"));
    form.at = 0;
    types(&mut form, "da");
    form.at = 1;
    types(&mut form, "many");
    assert_eq!(answer(&mut form), "age: is not a whole number");
    for _ in 0..4 {
        form.take(FormKey::Erase);
    }
    types(&mut form, "7");
    assert!(answer(&mut form).starts_with("age:"));
}

#[test]
fn refusing_and_going_away_are_told_to_the_server_and_to_the_person() {
    let table = [
        (KeyCode::Left, QuestionReply::Decline, "refused to answer"),
        (KeyCode::Null, QuestionReply::Cancel, "did not answer"),
    ];
    for (key, expected, said) in table {
        let mut state = session(80, 24);
        let plain = ServerQuestion { schema: json!({}), ..question() };
        update(&mut state, Event::Asked(FormId(7), plain), NOW);
        let now = rests(&mut state, NOW);
        let effects = if key == KeyCode::Null {
            press(&mut state, KeyCode::Esc, now)
        } else {
            press(&mut state, key, now);
            press(&mut state, KeyCode::Enter, now)
        };
        let [Effect::Reply(FormId(7), reply)] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!(*reply, expected);
        assert_eq!(told(&mut state), [format!("you {said} the question of gh")]);
        assert!(state.forms.is_empty());
    }
}

#[test]
fn a_question_that_is_taken_back_goes_and_the_next_one_comes() {
    let mut state = session(80, 24);
    update(&mut state, Event::Asked(FormId(1), question()), NOW);
    let other = ServerQuestion { server: ServerName::from("files"), ..question() };
    update(&mut state, Event::Asked(FormId(2), other), NOW);
    update(&mut state, Event::TakenBack(FormId(1)), NOW);
    assert_eq!(told(&mut state), ["gh no longer asks"]);
    assert!(shown(&state).contains("A question of files"), "{}", shown(&state));
}

/// A question that is nothing but a yes.
fn plain(server: &str) -> ServerQuestion {
    ServerQuestion { server: ServerName::from(server), schema: json!({}), ..question() }
}

fn replies(effects: &[Effect]) -> Vec<&QuestionReply> {
    fn reply(effect: &Effect) -> Option<&QuestionReply> {
        if let Effect::Reply(_, reply) = effect { Some(reply) } else { None }
    }
    effects.iter().filter_map(reply).collect()
}

#[test]
fn a_form_that_appears_in_mid_word_gets_no_key_and_accepts_nothing_by_enter() {
    let mut state = session(80, 24);
    press(&mut state, KeyCode::Char('/'), NOW);
    update(&mut state, Event::Asked(FormId(1), plain("gh")), NOW + 100);
    let effects = enters(&mut state, "tools", NOW + 400);
    assert!(replies(&effects).is_empty(), "{effects:?}");
    assert_eq!(told(&mut state)[0], "> /tools");
    let later = rests(&mut state, NOW);
    assert!(shown(&state).contains("[ Not now ]"), "{}", shown(&state));
    // The ends are ends.
    press(&mut state, KeyCode::Right, later);
    assert_eq!(replies(&press(&mut state, KeyCode::Enter, later)), [&QuestionReply::Cancel]);
}

#[test]
fn a_server_that_asks_again_at_once_is_put_off_by_itself_after_three_times() {
    let mut state = session(80, 24);
    let mut now = NOW;
    for round in 1..=3 {
        assert!(update(&mut state, Event::Asked(FormId(round), plain("gh")), now).is_empty());
        now = rests(&mut state, now);
        press(&mut state, KeyCode::Esc, now);
    }
    let said = told(&mut state);
    assert_eq!(said.len(), 4, "{said:?}");
    assert!(said[3].starts_with("gh asked 3 times and got no answer"), "{said:?}");
    assert!(said[3].contains("/mcp gh") && said[3].contains("Disable"), "{said:?}");
    for round in 4..100 {
        let effects = update(&mut state, Event::Asked(FormId(round), plain("gh")), now);
        assert_eq!(replies(&effects), [&QuestionReply::Cancel]);
    }
    assert!(state.forms.is_empty() && told(&mut state).is_empty());
    // Others may ask, and so may this one in a use that somebody begins.
    update(&mut state, Event::Asked(FormId(100), plain("files")), now);
    assert_eq!(state.forms.len(), 1);
    let now = rests(&mut state, now);
    press(&mut state, KeyCode::Esc, now);
    enters(&mut state, "/call gh ask", now + 1000);
    update(&mut state, Event::Asked(FormId(101), plain("gh")), now + 2000);
    assert_eq!(state.forms.len(), 1);
}

#[test]
fn one_question_of_each_server_is_open_and_no_more_than_eight_in_all() {
    let mut state = session(80, 24);
    assert!(update(&mut state, Event::Asked(FormId(1), plain("gh")), NOW).is_empty());
    for round in 2..50 {
        let effects = update(&mut state, Event::Asked(FormId(round), plain("gh")), NOW);
        assert_eq!(replies(&effects), [&QuestionReply::Cancel]);
    }
    assert_eq!(told(&mut state), ["gh asks more before it is answered; only its first question is shown"]);
    for round in 50..100 {
        update(&mut state, Event::Asked(FormId(round), plain(&format!("s{round}"))), NOW);
    }
    assert_eq!(state.forms.len(), 8);
}

#[test]
fn ctrl_c_on_a_form_gives_up_the_call_as_well_and_two_more_end_the_session() {
    let mut state = session(80, 24);
    enters(&mut state, "/call gh ask", NOW);
    update(&mut state, Event::Asked(FormId(1), plain("gh")), NOW);
    let now = rests(&mut state, NOW);
    let effects = control(&mut state, 'c', now);
    assert!(
        matches!(&effects[..], [Effect::Reply(FormId(1), QuestionReply::Cancel), Effect::Cancel(_)]),
        "{effects:?}"
    );
    update(&mut state, Event::Asked(FormId(2), plain("gh")), now + 1);
    let effects = control(&mut state, 'c', now + 300);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Quit(_))), "{effects:?}");
    assert!(matches!(&control(&mut state, 'c', now + 600)[..], [Effect::Quit(_)]));
    let mut state = session(80, 24);
    update(&mut state, Event::Asked(FormId(1), plain("gh")), NOW);
    let now = rests(&mut state, NOW);
    assert!(matches!(&control(&mut state, 'd', now)[..], [Effect::Quit(_)]));
}

#[test]
fn a_long_question_is_read_from_its_beginning_and_always_says_whose_it_is() {
    let mut state = session(80, 24);
    let message: String = (0..100).map(|number| format!("line {number}.\n")).collect();
    update(&mut state, Event::Asked(FormId(1), ServerQuestion { message, ..plain("gh") }), NOW);
    let now = rests(&mut state, NOW);
    assert!(shown(&state).contains("line 0."), "{}", shown(&state));
    for expected in ["line 12.", "line 24.", "line 36."] {
        press(&mut state, KeyCode::PageDown, now);
        let screen = shown(&state);
        assert!(screen.contains(expected) && screen.contains("the server gh asks"), "{screen}");
    }
    for _ in 0..20 {
        press(&mut state, KeyCode::PageDown, now);
    }
    assert!(shown(&state).contains("line 99."), "{}", shown(&state));
    press(&mut state, KeyCode::PageUp, now);
    assert!(!shown(&state).contains("line 99."), "{}", shown(&state));
}

#[test]
fn a_field_holds_no_more_than_a_line() {
    let mut form = Form::new(FormId(1), question());
    let full = 64 * 1024;
    form.paste(&"x".repeat(full - 1));
    types(&mut form, "yz文");
    let text = |form: &Form| form.fields[0].value().unwrap().unwrap().as_str().unwrap().to_owned();
    assert_eq!((text(&form).len(), text(&form).ends_with("xy")), (full, true));
    form.paste("more");
    assert_eq!(text(&form).len(), full);
    assert!(form.problem.as_deref().unwrap().contains("64 KiB"));
}
