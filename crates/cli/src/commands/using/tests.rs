use std::time::Duration;

use super::*;
use crate::fixtures;

fn tell_both(label: &str, problem: &Problem) {
    insta::with_settings!({ snapshot_suffix => label }, {
        insta::assert_snapshot!("text", format!("{}\n(exit {})", problem.lines(output::WIDTH), problem.exit.exit().code()));
        insta::assert_json_snapshot!("json", problem.document());
    });
}

#[test]
fn a_tool_of_a_server_in_each_state_is_refused_with_its_reason() {
    let snapshot = fixtures::restricting_files();
    let back = fixtures::background(&snapshot);
    for shown in fixtures::every_state() {
        let server = shown.row.name.clone();
        let mut derived = Derived::default();
        derived.rows.insert(server.clone(), shown.row);
        let unavailable = match shown.phase {
            Phase::Refused(refusal) => Unavailable::Refused { server, refusal },
            Phase::Failed { failure, .. } => Unavailable::Failed { server, failure },
            Phase::Connected(_) | Phase::Connecting(_) => continue,
        };
        tell_both(shown.label, &Problem::unavailable(back, &derived, &unavailable));
    }
}

#[test]
fn a_tool_that_nobody_offers_is_told_apart_from_one_that_is_not_there_now() {
    let snapshot = fixtures::restricting_files();
    let server = ServerName::from("gh");
    let nearest = vec!["mcp__gh__issues".to_owned()];
    for (label, unavailable) in [
        ("unknown", Unavailable::Unknown { nearest: vec![] }),
        ("unknown_with_a_near_one", Unavailable::Unknown { nearest: nearest.clone() }),
        ("not_offered", Unavailable::NotOffered { server: server.clone(), nearest }),
        ("no_answer_in_time", Unavailable::Connecting { server }),
    ] {
        let back = fixtures::background(&snapshot);
        tell_both(label, &Problem::unavailable(back, &Derived::default(), &unavailable));
    }
}

#[test]
fn a_call_that_was_made_and_got_no_result_says_how_it_ended() {
    let server = ServerName::from("gh");
    for (label, error) in [
        ("interrupted", CallError::Interrupted),
        ("lost", CallError::Lost("the stream ended".to_owned())),
        ("timed_out", CallError::TimedOut(Duration::from_secs(60))),
        ("idle", CallError::Idle(Duration::from_secs(5))),
        ("asked_back", CallError::AskedBack("it still does after 10 requests".to_owned())),
        ("cancelled", CallError::Cancelled),
        ("cancelled_by_server", CallError::CancelledByServer(Some("too busy".to_owned()))),
        ("protocol", CallError::Protocol { code: -32602, message: "no such tool".to_owned(), data: None }),
    ] {
        tell_both(label, &Problem::of_call(&error, &server));
    }
}
