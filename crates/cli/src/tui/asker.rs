//! How does a question of a server come to the screen, and how does the answer get back? The session's side of core's
//! seam. It shows nothing and decides nothing.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use futures::future::BoxFuture;
use qwen_core::{QuestionReply, Questions, ServerQuestion};
use tokio::sync::{mpsc, oneshot};

use super::{event::Event, form::FormId};

/// Hands questions on to the loop and answers back to whoever asks.
#[derive(Debug)]
pub(super) struct Asker {
    inbox: mpsc::UnboundedSender<Event>,
    next: AtomicU64,
    waiting: std::sync::Arc<Waiting>,
}

/// Whoever waits for an answer.
#[derive(Debug, Default)]
struct Waiting(Mutex<BTreeMap<FormId, oneshot::Sender<QuestionReply>>>);

impl Waiting {
    fn take(&self, id: FormId) -> Option<oneshot::Sender<QuestionReply>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&id)
    }
}

/// Takes the question off the screen when nobody waits for its answer any more.
struct OnScreen {
    id: FormId,
    inbox: mpsc::UnboundedSender<Event>,
    waiting: std::sync::Arc<Waiting>,
}

impl Drop for OnScreen {
    fn drop(&mut self) {
        if self.waiting.take(self.id).is_some() {
            // A loop that has ended shows nothing.
            self.inbox.send(Event::TakenBack(self.id)).unwrap_or(());
        }
    }
}

impl Asker {
    /// Questions go to this inbox.
    pub(super) fn new(inbox: mpsc::UnboundedSender<Event>) -> Self {
        Self { inbox, next: AtomicU64::new(1), waiting: std::sync::Arc::default() }
    }

    /// What the person said.
    pub(super) fn reply(&self, id: FormId, reply: QuestionReply) {
        if let Some(asked) = self.waiting.take(id) {
            // Whoever asked may have gone in this moment.
            drop(asked.send(reply));
        }
    }
}

impl Questions for Asker {
    fn ask(&self, question: ServerQuestion) -> BoxFuture<'static, QuestionReply> {
        let id = FormId(self.next.fetch_add(1, Ordering::Relaxed));
        let (reply, replied) = oneshot::channel();
        let waiting = std::sync::Arc::clone(&self.waiting);
        waiting.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, reply);
        let on_screen = OnScreen { id, inbox: self.inbox.clone(), waiting };
        if self.inbox.send(Event::Asked(id, question)).is_err() {
            return Box::pin(std::future::ready(QuestionReply::Cancel));
        }
        Box::pin(async move {
            let _on_screen = on_screen;
            replied.await.unwrap_or(QuestionReply::Cancel)
        })
    }
}

#[cfg(test)]
mod tests {
    use qwen_core::ServerName;
    use serde_json::json;

    use super::*;

    fn question() -> ServerQuestion {
        ServerQuestion { server: ServerName::from("gh"), message: "?".to_owned(), schema: json!({}) }
    }

    #[tokio::test]
    async fn an_answer_reaches_the_server_that_asked_and_nobody_else() {
        let (inbox, mut shown) = mpsc::unbounded_channel();
        let asker = Asker::new(inbox);
        let (first, second) = (asker.ask(question()), asker.ask(question()));
        let mut ids = Vec::new();
        for _ in 0..2 {
            let Some(Event::Asked(id, _)) = shown.recv().await else { panic!() };
            ids.push(id);
        }
        asker.reply(ids[1], QuestionReply::Accept(json!({ "a": 1 })));
        asker.reply(ids[0], QuestionReply::Decline);
        assert_eq!(second.await, QuestionReply::Accept(json!({ "a": 1 })));
        assert_eq!(first.await, QuestionReply::Decline);
        assert!(shown.try_recv().is_err());
    }

    #[tokio::test]
    async fn a_question_that_is_taken_back_leaves_the_screen() {
        let (inbox, mut shown) = mpsc::unbounded_channel();
        let asker = Asker::new(inbox);
        drop(asker.ask(question()));
        assert!(matches!(shown.recv().await, Some(Event::Asked(FormId(1), _))));
        assert!(matches!(shown.recv().await, Some(Event::TakenBack(FormId(1)))));
        asker.reply(FormId(1), QuestionReply::Decline);
    }
}
