//! What does the server say by itself? Owns the stream that a GET opens for a session, and when it is opened again;
//! never the answers to our own requests.

use std::sync::Arc;

use http::Method;
use tokio::time::{Duration, Instant, sleep};

use super::{
    body::{self, Holds},
    client::Ask,
    events::Events,
    exchange::take,
    headers,
    renew::check,
    session::Session,
};
use crate::{
    failure::FailureKind,
    transport::{
        reopen::Reopen,
        undelivered::{Ends, Undelivered},
    },
};

/// How one stream ended.
enum End {
    /// In good order, or it may be there the next time.
    Again(Option<Duration>),
    /// In the middle: whether the server is still there is not known.
    Broken(Option<Duration>),
    /// This server offers none.
    None,
    /// It did offer one, and refuses now.
    Refused,
}

/// Listens until the session ends or the server offers no stream.
pub(super) async fn listen(session: &Arc<Session>) {
    let mut reopen = Reopen::default();
    let mut place = None;
    let mut opened = false;
    loop {
        let began = Instant::now();
        let hint = match once(session, &mut place, &mut opened).await {
            End::None => return,
            End::Refused => return check(session).await,
            End::Again(hint) => hint,
            End::Broken(hint) => {
                check(session).await;
                hint
            }
        };
        sleep(reopen.after(began.elapsed(), hint)).await;
    }
}

async fn once(session: &Arc<Session>, place: &mut Option<String>, opened: &mut bool) -> End {
    let ask = Ask {
        method: Method::GET,
        url: session.client.url().clone(),
        headers: headers::of_stream(&session.now().agreement, place.as_deref()),
        body: None,
    };
    let answer = match session.client.send(&ask).await {
        Ok(response) => body::open(&session.client, response).await,
        Err(undelivered) => Err(undelivered),
    };
    let mut events = match answer {
        Ok((Holds::Events, response)) => Events::of(response),
        Ok((Holds::Json | Holds::Nothing, _)) => return End::None,
        Err(refused) => return refused_stream(session, &refused, *opened),
    };
    *opened = true;
    loop {
        let next = events.next().await;
        if let Some(id) = events.last_id() {
            *place = Some(id.to_owned());
        }
        match next {
            Ok(Some(event)) => drop(take(session, &event, None).await),
            Ok(None) => return End::Again(events.retry()),
            Err(_) => return End::Broken(events.retry()),
        }
    }
}

fn refused_stream(session: &Session, refused: &Undelivered, opened: bool) -> End {
    match (&refused.failure.kind, refused.ends) {
        (_, Ends::Connection) => {
            session.lose(&refused.failure);
            End::None
        }
        (FailureKind::Unavailable { retry_after }, Ends::Request) if refused.status != Some(429) => {
            End::Again(*retry_after)
        }
        // It broke before there was an answer.
        (FailureKind::Network, Ends::Request) => End::Broken(None),
        (_, Ends::Request) if opened => End::Refused,
        (_, Ends::Request) => End::None,
    }
}
