//! What servers may ask the person, and how long a question stands.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use futures::{FutureExt, future::BoxFuture};
use qwen_core::{CallLimits, Caller, PoolMode, QuestionReply, Questions, ServerQuestion, Teardown, View};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::harness::{Opened, Server, kill, open, until};

const SOON: Duration = Duration::from_secs(10);

type Asked = (ServerQuestion, oneshot::Sender<QuestionReply>);

/// A person who answers when the test says so.
#[derive(Debug, Default)]
pub(crate) struct Person(Mutex<Vec<Asked>>);

impl Questions for Person {
    fn ask(&self, question: ServerQuestion) -> BoxFuture<'static, QuestionReply> {
        let (reply, answer) = oneshot::channel();
        self.0.lock().unwrap().push((question, reply));
        async move { answer.await.unwrap_or(QuestionReply::Cancel) }.boxed()
    }
}

impl Person {
    pub(crate) async fn was_asked(&self) {
        until(SOON, || !self.0.lock().unwrap().is_empty()).await;
    }

    pub(crate) async fn answers(&self, reply: QuestionReply) -> ServerQuestion {
        self.was_asked().await;
        let (question, answer) = self.0.lock().unwrap().remove(0);
        answer.send(reply).unwrap();
        question
    }

    /// Whether nothing was asked.
    pub(crate) fn was_left_alone(&self) -> bool {
        self.0.lock().unwrap().is_empty()
    }

    /// Whether the only question that was asked stands no more.
    pub(crate) fn was_let_go(&self) -> bool {
        self.0.lock().unwrap().iter().all(|(_, reply)| reply.is_closed())
    }
}

fn use_tool(
    caller: &Arc<dyn Caller>,
    tool: &str,
    arguments: Value,
) -> tokio::task::JoinHandle<Result<Value, qwen_core::CallError>> {
    tokio::spawn(caller.call_tool(tool.to_owned(), Some(arguments), CallLimits::of(&View::default())))
}

fn elicit(params: Value) -> Value {
    json!({ "method": "elicitation/create", "params": params })
}

async fn opened_for(person: &Arc<Person>, pool: PoolMode) -> (Server, Opened, Arc<dyn Caller>) {
    let mut server = Server::scripted("plain");
    server.pool = pool;
    server.masks.push("hunter2hunter2".to_owned());
    server.questions = Some(Arc::clone(person) as Arc<dyn Questions>);
    let opened = open(&server).await.unwrap();
    let caller = opened.lease.link.caller();
    (server, opened, caller)
}

#[tokio::test]
async fn a_question_reaches_the_person_and_the_answer_the_server_while_other_calls_go_on() {
    let person = Arc::new(Person::default());
    let (_server, _opened, caller) = opened_for(&person, PoolMode::Session).await;
    let offered = use_tool(&caller, "offered", json!({})).await.unwrap().unwrap();
    assert_eq!(offered, json!({"roots": {}, "elicitation": {}}));

    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let params = json!({"message": "who, hunter2hunter2?", "requestedSchema": schema});
    for (reply, expected) in [
        (QuestionReply::Accept(json!({"name": "x"})), json!({"action": "accept", "content": {"name": "x"}})),
        (QuestionReply::Decline, json!({"action": "decline"})),
        (QuestionReply::Cancel, json!({"action": "cancel"})),
    ] {
        let asking = use_tool(&caller, "ask", elicit(params.clone()));
        person.was_asked().await;
        use_tool(&caller, "echo", json!({})).await.unwrap().unwrap();
        let question = person.answers(reply).await;
        let message = "who, •••?".to_owned();
        assert_eq!(question, ServerQuestion { server: "s".into(), message, schema: schema.clone() });
        assert_eq!(asking.await.unwrap().unwrap()["answer"]["result"], expected);
    }
}

#[tokio::test]
async fn a_shared_connection_offers_nothing_of_any_session() {
    let person = Arc::new(Person::default());
    let (_server, _opened, caller) = opened_for(&person, PoolMode::Shared).await;
    assert_eq!(use_tool(&caller, "offered", json!({})).await.unwrap(), Ok(json!({})));
    for method in ["elicitation/create", "roots/list"] {
        let answer = use_tool(&caller, "ask", json!({ "method": method })).await.unwrap().unwrap();
        assert_eq!(answer["answer"]["error"]["code"], -32601, "{method}");
    }
    assert!(person.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn without_anybody_to_ask_nothing_is_offered() {
    let server = Server::scripted("plain");
    let opened = open(&server).await.unwrap();
    let offered = use_tool(&opened.lease.link.caller(), "offered", json!({})).await.unwrap();
    assert_eq!(offered, Ok(json!({"roots": {}})));
}

#[tokio::test]
async fn a_question_that_sends_the_person_to_a_page_is_declined_unseen() {
    let person = Arc::new(Person::default());
    let (_server, _opened, caller) = opened_for(&person, PoolMode::Session).await;
    let page = elicit(json!({"mode": "url", "message": "log in", "url": "https://e.example"}));
    let answer = use_tool(&caller, "ask", page).await.unwrap().unwrap();
    assert_eq!(answer["answer"]["result"], json!({"action": "decline"}));
    assert!(person.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_question_that_the_server_takes_back_is_let_go_and_not_answered() {
    let person = Arc::new(Person::default());
    let (server, _opened, caller) = opened_for(&person, PoolMode::Session).await;
    let asking = use_tool(&caller, "ask", elicit(json!({"message": "?"})));
    person.was_asked().await;
    use_tool(&caller, "take-back", json!({})).await.unwrap().unwrap();
    until(SOON, || person.was_let_go()).await;
    use_tool(&caller, "echo", json!({})).await.unwrap().unwrap();
    assert_eq!(server.times("answer"), 0);
    asking.abort();
}

#[tokio::test]
async fn a_question_ends_with_its_connection() {
    let person = Arc::new(Person::default());
    let (_server, opened, caller) = opened_for(&person, PoolMode::Session).await;
    let asking = use_tool(&caller, "ask", elicit(json!({"message": "?"})));
    person.was_asked().await;
    let began = Instant::now();
    let retiring = tokio::spawn(opened.lease.link.retire(Teardown::Verdict));
    until(SOON, || person.was_let_go()).await;
    assert!(began.elapsed() < Duration::from_millis(1500), "{:?}", began.elapsed());
    retiring.await.unwrap();
    assert!(asking.await.unwrap().is_err());

    let person = Arc::new(Person::default());
    let (_server, opened, caller) = opened_for(&person, PoolMode::Session).await;
    let asking = use_tool(&caller, "ask", elicit(json!({"message": "?"})));
    person.was_asked().await;
    kill(opened.pid());
    until(SOON, || person.was_let_go()).await;
    assert!(asking.await.unwrap().is_err());
}

#[tokio::test]
async fn a_drain_lets_the_person_answer() {
    let person = Arc::new(Person::default());
    let (_server, opened, caller) = opened_for(&person, PoolMode::Session).await;
    let asking = use_tool(&caller, "ask", elicit(json!({"message": "?"})));
    person.was_asked().await;
    let retiring = tokio::spawn(opened.lease.link.retire(Teardown::Drain));
    tokio::task::yield_now().await;
    person.answers(QuestionReply::Decline).await;
    let answer = asking.await.unwrap().unwrap();
    assert_eq!(answer["answer"]["result"]["action"], "decline");
    retiring.await.unwrap();
}
