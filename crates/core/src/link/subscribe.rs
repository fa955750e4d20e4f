//! How do we hear of changed lists from a server that keeps no session? Owns the request that stays open for them in the
//! newer protocol era, and when it is sent again; what changed is read by others.

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    handshake::Era,
    peer::{Abandoned, AskError, Asker},
    tap::{Changes, Lists},
};
use crate::{
    protocol::{Offer, Offers},
    transport::Reopen,
};

/// Listens for as long as it is polled. In the older era servers say by themselves what changed.
pub(super) async fn listen(asker: Asker, era: Era, offers: Offers, changes: &Changes) {
    match era {
        Era::Initialized => {}
        // On the heap: most connections are of the other era.
        Era::Discovered => Box::pin(subscribe(&asker, offers, changes)).await,
    }
    // The answer of whoever races against this must not be that there is nothing to hear.
    std::future::pending::<()>().await;
}

/// Keeps a subscription open until the server is seen not to know any.
async fn subscribe(asker: &Asker, offers: Offers, changes: &Changes) {
    let (filter, lists) = wanted(offers);
    let mut reopen = Reopen::default();
    loop {
        let began = Instant::now();
        // It is answered when it ends. The server need not hear of our end, which it sees.
        let ended = asker.answer("subscriptions/listen", Some(filter.clone()), Abandoned::Silent).await;
        match ended {
            Err(AskError::Gone(_)) => return,
            Err(error) if error.is_unknown_method() => return,
            Err(AskError::Refused { .. } | AskError::Unanswered { .. }) | Ok(_) => {}
        }
        sleep(reopen.after(began.elapsed(), None)).await;
        // What changed while nobody listened was not heard.
        changes.add(lists);
    }
}

fn wanted(offers: Offers) -> (Value, Lists) {
    let mut filter = serde_json::Map::from_iter([("toolsListChanged".to_owned(), json!(true))]);
    let mut lists = Lists::TOOLS;
    for (offer, name, list) in [
        (offers.prompts, "promptsListChanged", Lists::PROMPTS),
        (offers.resources, "resourcesListChanged", Lists::RESOURCES),
    ] {
        match offer {
            Offer::Asked => {
                filter.insert(name.to_owned(), json!(true));
                lists = lists.and(list);
            }
            Offer::NotDeclared => {}
        }
    }
    (json!({ "notifications": filter }), lists)
}
