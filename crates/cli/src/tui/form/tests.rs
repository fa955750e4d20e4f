use qwen_core::ServerName;
use serde_json::json;

use super::{
    super::testing::{NOW, press, session, shown, told},
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
    assert_eq!(answer(&mut form), "age: is no whole number");
    for _ in 0..4 {
        form.take(FormKey::Erase);
    }
    types(&mut form, "7");
    assert!(answer(&mut form).starts_with("age:"));
}

#[test]
fn refusing_and_going_away_are_told_to_the_server_and_to_the_person() {
    let table = [
        (KeyCode::Right, QuestionReply::Decline, "refused to answer"),
        (KeyCode::Null, QuestionReply::Cancel, "did not answer"),
    ];
    for (key, expected, said) in table {
        let mut state = session(80, 24);
        let plain = ServerQuestion { schema: json!({}), ..question() };
        update(&mut state, Event::Asked(FormId(7), plain), NOW);
        let effects = if key == KeyCode::Null {
            press(&mut state, KeyCode::Esc, NOW)
        } else {
            press(&mut state, key, NOW);
            press(&mut state, KeyCode::Enter, NOW)
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
