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

/// What is known of the server before a stream is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Before {
    Unknown,
    /// It gave one before.
    Offered,
}

/// How one stream ended.
#[derive(PartialEq, Eq, Debug)]
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
    let mut before = Before::Unknown;
    loop {
        let began = Instant::now();
        let hint = match once(session, &mut place, &mut before).await {
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

async fn once(session: &Arc<Session>, place: &mut Option<String>, before: &mut Before) -> End {
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
        Err(refused) => return refused_stream(session, &refused, *before),
    };
    *before = Before::Offered;
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

fn refused_stream(session: &Session, refused: &Undelivered, before: Before) -> End {
    if refused.ends == Ends::Connection {
        session.fate.lose(&refused.failure);
        return End::None;
    }
    let hint =
        if let FailureKind::Unavailable { retry_after } = refused.failure.kind { retry_after } else { None };
    end(refused.status, hint, before)
}

/// What a refusal means for the stream. Once a server offered it, only a clear no ends it for good.
fn end(status: Option<u16>, hint: Option<Duration>, before: Before) -> End {
    match (status, before) {
        // It broke before there was an answer.
        (None, _) => End::Broken(None),
        (Some(404 | 405 | 501), Before::Offered) => End::Refused,
        (Some(408 | 409 | 425 | 429 | 500..), Before::Offered) => End::Again(hint),
        // The session may be the reason.
        (Some(_), Before::Offered) => End::Broken(hint),
        (Some(501), Before::Unknown) => End::None,
        (Some(408 | 425 | 500..), Before::Unknown) => End::Again(hint),
        (Some(_), Before::Unknown) => End::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_that_was_offered_once_ends_for_good_only_by_a_clear_no() {
        use Before::{Offered, Unknown};
        let hint = Some(Duration::from_secs(5));
        for (status, unknown, offered) in [
            (None, End::Broken(None), End::Broken(None)),
            (Some(400), End::None, End::Broken(hint)),
            (Some(403), End::None, End::Broken(hint)),
            (Some(404), End::None, End::Refused),
            (Some(405), End::None, End::Refused),
            (Some(408), End::Again(hint), End::Again(hint)),
            (Some(409), End::None, End::Again(hint)),
            (Some(429), End::None, End::Again(hint)),
            (Some(500), End::Again(hint), End::Again(hint)),
            (Some(501), End::None, End::Refused),
            (Some(503), End::Again(hint), End::Again(hint)),
        ] {
            assert_eq!(end(status, hint, Unknown), unknown, "{status:?}");
            assert_eq!(end(status, hint, Offered), offered, "{status:?}");
        }
    }
}
