//! Servers that answer a call with a question, as those of the era without a handshake do.

use std::{sync::Arc, time::Duration};

use qwen_core::{
    CallError, CallLimits, Caller, PoolMode, QuestionReply, Questions, ServerQuestion, Teardown,
    VersionNegotiation,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    harness::{Opened, Server, kill, open, until},
    questions::Person,
};

const SOON: Duration = Duration::from_secs(10);

/// A server whose results to calls are these, in order; what comes after them is the answer: what it was asked with.
fn answering(results: &Value) -> Server {
    let mut server = Server::scripted("modern,asks-back").with("SERVER_ROUNDS", &results.to_string());
    server.negotiation = VersionNegotiation::Modern;
    server.masks.push("hunter2hunter2".to_owned());
    server
}

/// A result that asks this.
fn asks(fields: Value) -> Value {
    let mut result = json!({"resultType": "input_required"});
    result.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    result
}

fn who() -> Value {
    json!({"method": "elicitation/create", "params": {"message": "who?"}})
}

async fn opened_for(person: &Arc<Person>, results: &Value) -> (Server, Opened, Arc<dyn Caller>) {
    let mut server = answering(results);
    server.questions = Some(Arc::clone(person) as Arc<dyn Questions>);
    let opened = open(&server).await.unwrap();
    let caller = opened.lease.link.caller();
    (server, opened, caller)
}

fn limits(total_ms: u64, idle_ms: u64) -> CallLimits {
    let (total, idle) = (Duration::from_millis(total_ms), Duration::from_millis(idle_ms));
    CallLimits { total, idle, cancel: CancellationToken::new(), progress: None }
}

fn book(caller: &Arc<dyn Caller>, limits: CallLimits) -> JoinHandle<Result<Value, CallError>> {
    tokio::spawn(caller.call_tool("book".to_owned(), Some(json!({"seat": 7})), limits))
}

/// What the last request was asked with, without what the protocol puts there.
fn asked_with(answer: Result<Value, CallError>) -> Value {
    let mut asked = answer.unwrap()["asked"].take();
    asked.as_object_mut().unwrap().remove("_meta").unwrap();
    asked
}

#[tokio::test]
async fn a_server_that_asks_back_gets_its_answers_and_its_state_with_a_new_request() {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let params = json!({"message": "who, hunter2hunter2?", "requestedSchema": schema});
    let state = "a+b==\u{7f}ä hunter2hunter2 {\"n\": 1.0}";
    let results = json!([asks(json!({
        "requestState": state,
        "inputRequests": {
            "who": {"method": "elicitation/create", "params": params},
            "where": {"method": "roots/list"},
        },
    }))]);
    let person = Arc::new(Person::default());
    let (server, _opened, caller) = opened_for(&person, &results).await;
    let booking = book(&caller, limits(10_000, 10_000));
    let question = person.answers(QuestionReply::Accept(json!({"name": "x"}))).await;
    let message = "who, •••?".to_owned();
    assert_eq!(question, ServerQuestion { server: "s".into(), message, schema });

    let mut answer = booking.await.unwrap().unwrap()["asked"].take();
    let meta = answer.as_object_mut().unwrap().remove("_meta").unwrap();
    let offered = json!({"roots": {}, "elicitation": {}});
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], offered);
    let root = answer["inputResponses"]["where"]["roots"][0]["uri"].take();
    assert!(root.as_str().unwrap().starts_with("file://"), "{root}");
    assert_eq!(
        answer,
        json!({
            "name": "book", "arguments": {"seat": 7}, "requestState": state,
            "inputResponses": {
                "who": {"action": "accept", "content": {"name": "x"}},
                "where": {"roots": [{"uri": null}]},
            },
        })
    );
    let told = server.told();
    let ids: Vec<_> = told.iter().filter_map(|line| line.strip_prefix("tools/call book ")).collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test]
async fn each_request_has_the_state_of_the_result_before_it_and_of_no_other() {
    let roots = json!({"q": {"method": "roots/list"}});
    let results = json!([
        asks(json!({"inputRequests": roots, "requestState": "one"})),
        asks(json!({"requestState": "two"})),
        asks(json!({"inputRequests": roots})),
    ]);
    let server = answering(&results);
    let opened = open(&server).await.unwrap();
    let caller = opened.lease.link.caller();
    let asked = asked_with(book(&caller, limits(10_000, 10_000)).await.unwrap());
    let root = format!("file://{}", std::env::temp_dir().display());
    assert_eq!(
        asked,
        json!({
            "name": "book", "arguments": {"seat": 7},
            "inputResponses": {"q": {"roots": [{"uri": root}]}},
        })
    );
    // What was asked of one call is not answered in another.
    let other = asked_with(caller.read_resource("r".to_owned(), limits(10_000, 10_000)).await);
    assert_eq!(other, json!({"uri": "r"}));
    assert_eq!((server.times("tools/call"), server.times("resources/read")), (4, 1));
}

#[tokio::test]
async fn prompts_and_resources_are_asked_for_in_the_same_way() {
    let again = asks(json!({"requestState": "s"}));
    let server = answering(&json!([again, null, again]));
    let opened = open(&server).await.unwrap();
    let caller = opened.lease.link.caller();
    let prompt = caller.get_prompt("p".to_owned(), None, limits(10_000, 10_000)).await;
    assert_eq!(asked_with(prompt), json!({"name": "p", "requestState": "s"}));
    let resource = caller.read_resource("r".to_owned(), limits(10_000, 10_000)).await;
    assert_eq!(asked_with(resource), json!({"uri": "r", "requestState": "s"}));
    assert_eq!((server.times("prompts/get"), server.times("resources/read")), (2, 2));
}

#[tokio::test]
async fn what_was_not_offered_or_makes_no_sense_ends_the_call_before_anybody_is_asked() {
    for (result, words) in [
        (
            asks(json!({"inputRequests": {"a": who(), "b": {"method": "sampling/createMessage"}}})),
            "it asks for sampling/createMessage, which was not offered to it",
        ),
        (asks(json!({"inputRequests": {"a": {"method": "ping"}}})), "it asks for ping, which"),
        (asks(json!({"inputRequests": {"a": who(), "b": {}}})), "one of the inputRequests has no method"),
        (asks(json!({})), "there is neither a question"),
        (
            asks(json!({"inputRequests": {"a": {"method": "hunter2hunter2/\u{1b}[2J"}}})),
            "it asks for •••/ [2J, which",
        ),
    ] {
        let person = Arc::new(Person::default());
        let (server, _opened, caller) = opened_for(&person, &json!([result])).await;
        match book(&caller, limits(10_000, 10_000)).await.unwrap() {
            Err(CallError::AskedBack(why)) => assert!(why.contains(words), "{words}: {why}"),
            other => panic!("{words}: {other:?}"),
        }
        assert!(person.was_left_alone(), "{words}");
        assert_eq!(server.times("tools/call"), 1, "{words}");
    }
}

#[tokio::test]
async fn a_result_of_an_unknown_kind_is_no_answer() {
    let server = answering(&json!([{"resultType": "riddle", "content": []}]));
    let opened = open(&server).await.unwrap();
    let outcome = book(&opened.lease.link.caller(), limits(10_000, 10_000)).await.unwrap();
    assert_eq!(outcome, Err(CallError::Unanswered("its result is of an unknown kind: riddle".to_owned())));
}

#[tokio::test]
async fn a_shared_connection_and_one_without_anybody_answer_for_nobody() {
    for (pool, method, works) in [
        (PoolMode::Shared, "roots/list", false),
        (PoolMode::Shared, "elicitation/create", false),
        (PoolMode::Session, "roots/list", true),
        (PoolMode::Session, "elicitation/create", false),
    ] {
        let mut server = answering(&json!([asks(json!({"inputRequests": {"q": {"method": method}}}))]));
        let person = Arc::new(Person::default());
        if pool == PoolMode::Shared {
            server.questions = Some(Arc::clone(&person) as Arc<dyn Questions>);
        }
        server.pool = pool;
        let opened = open(&server).await.unwrap();
        let outcome = book(&opened.lease.link.caller(), limits(10_000, 10_000)).await.unwrap();
        match (outcome, works) {
            (Ok(_), true) => {}
            (Err(CallError::AskedBack(why)), false) => assert!(why.contains(method), "{why}"),
            (other, _) => panic!("{pool:?} {method}: {other:?}"),
        }
        assert!(person.was_left_alone());
    }
}

#[tokio::test]
async fn a_server_that_never_stops_asking_is_asked_ten_times() {
    let results = json!({"always": asks(json!({"inputRequests": {"q": {"method": "roots/list"}}}))});
    let server = answering(&results);
    let opened = open(&server).await.unwrap();
    let outcome = book(&opened.lease.link.caller(), limits(10_000, 10_000)).await.unwrap();
    assert_eq!(outcome, Err(CallError::AskedBack("it still does after 10 requests".to_owned())));
    assert_eq!(server.times("tools/call"), 10);
}

#[tokio::test]
async fn a_server_that_only_asks_for_time_gets_no_more_than_the_call_has() {
    let server = answering(&json!({"always": asks(json!({"requestState": "s"}))}));
    let opened = open(&server).await.unwrap();
    let outcome = book(&opened.lease.link.caller(), limits(300, 10_000)).await.unwrap();
    assert_eq!(outcome, Err(CallError::AskedBack("it asked for more time than 300ms".to_owned())));
}

#[tokio::test]
async fn a_question_is_let_go_when_its_call_ends_and_nothing_more_is_sent() {
    let late = |ms| CallError::AskedBack(format!("it was not answered within {ms}ms"));
    for (limits, expected) in [
        (limits(400, 10_000), late(400)),
        (limits(10_000, 300), late(300)),
        (limits(10_000, 10_000), CallError::Cancelled),
    ] {
        let person = Arc::new(Person::default());
        let results = json!({"always": asks(json!({"inputRequests": {"a": who(), "b": who()}}))});
        let (server, opened, caller) = opened_for(&person, &results).await;
        let cancel = limits.cancel.clone();
        let booking = book(&caller, limits);
        person.was_asked().await;
        assert_eq!(opened.lease.link.calls_in_flight(), 1);
        if expected == CallError::Cancelled {
            cancel.cancel();
        }
        assert_eq!(booking.await.unwrap(), Err(expected));
        until(SOON, || person.was_let_go()).await;
        assert_eq!(opened.lease.link.calls_in_flight(), 0);
        opened.lease.link.retire(Teardown::Exit).await;
        // Its request had ended: there is nothing that the server could stop.
        assert_eq!((server.times("tools/call"), server.times("notifications/cancelled")), (1, 0));
    }
}

#[tokio::test]
async fn a_question_goes_with_its_caller_and_with_its_connection() {
    let results = json!([asks(json!({"inputRequests": {"q": who()}}))]);

    let person = Arc::new(Person::default());
    let (_server, _opened, caller) = opened_for(&person, &results).await;
    let booking = book(&caller, limits(10_000, 10_000));
    person.was_asked().await;
    booking.abort();
    until(SOON, || person.was_let_go()).await;

    let person = Arc::new(Person::default());
    let (server, opened, caller) = opened_for(&person, &results).await;
    let booking = book(&caller, limits(10_000, 10_000));
    person.was_asked().await;
    let retiring = tokio::spawn(opened.lease.link.retire(Teardown::Verdict));
    assert_eq!(booking.await.unwrap(), Err(CallError::Interrupted));
    until(SOON, || person.was_let_go()).await;
    retiring.await.unwrap();
    assert_eq!(server.times("tools/call"), 1);

    let person = Arc::new(Person::default());
    let (_server, opened, caller) = opened_for(&person, &results).await;
    let booking = book(&caller, limits(10_000, 10_000));
    person.was_asked().await;
    kill(opened.pid());
    match booking.await.unwrap() {
        Err(CallError::Lost(why)) => assert!(why.contains("SIGKILL"), "{why}"),
        other => panic!("{other:?}"),
    }
    until(SOON, || person.was_let_go()).await;
}

#[tokio::test]
async fn a_drain_lets_the_person_answer_and_the_call_come_to_its_end() {
    let person = Arc::new(Person::default());
    let results = json!([asks(json!({"inputRequests": {"q": who()}}))]);
    let (_server, opened, caller) = opened_for(&person, &results).await;
    let booking = book(&caller, limits(10_000, 10_000));
    person.was_asked().await;
    let retiring = tokio::spawn(opened.lease.link.retire(Teardown::Drain));
    tokio::task::yield_now().await;
    person.answers(QuestionReply::Decline).await;
    let asked = asked_with(booking.await.unwrap());
    assert_eq!(asked["inputResponses"], json!({"q": {"action": "decline"}}));
    retiring.await.unwrap();
}

#[tokio::test]
async fn in_the_older_era_a_result_is_an_answer_whatever_it_calls_itself() {
    let result = asks(json!({"inputRequests": {"q": {"method": "roots/list"}}}));
    let server = Server::scripted("plain,asks-back").with("SERVER_ROUNDS", &json!([result]).to_string());
    let opened = open(&server).await.unwrap();
    assert_eq!(book(&opened.lease.link.caller(), limits(10_000, 10_000)).await.unwrap(), Ok(result));
    assert_eq!(server.times("tools/call"), 1);
}
