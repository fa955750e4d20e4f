//! May this redirect be followed? Owns the decision as a pure function; sends nothing.
//!
//! Headers carry credentials, so nothing is ever sent to another origin; and a redirect that makes a GET of a POST would
//! lose the message.

use url::Url;

/// So many are followed in a row.
const MOST: usize = 3;

/// What to do with an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Redirect {
    /// It is none.
    No,
    /// Send the same there.
    Follow(Box<Url>),
    /// In words that name what to change.
    Refused(String),
}

/// How the message was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sent {
    /// With a body, which a redirect must not lose.
    WithBody,
    WithoutBody,
}

/// Judges the answer `status` with its `Location`, after `followed` redirects.
pub(crate) fn judge(
    status: u16,
    location: Option<&str>,
    from: &Url,
    sent: Sent,
    followed: usize,
) -> Redirect {
    let keeps_body = match status {
        307 | 308 => true,
        301..=303 => false,
        _ => return Redirect::No,
    };
    let Some(to) = location.and_then(|location| from.join(location).ok()) else {
        return Redirect::Refused(format!("the server answered {status} without a usable Location"));
    };
    let (here, there) = (origin(from), origin(&to));
    if from.origin() != to.origin() {
        return Redirect::Refused(format!(
            "{here} redirects to another origin, {there}; nothing was sent there; if that is the server, write its \
             URL into the entry"
        ));
    }
    if sent == Sent::WithBody && !keeps_body {
        return Redirect::Refused(format!(
            "{here} answered a POST with {status}, which would lose the message; write the URL that it redirects to, \
             {there}{}, into the entry",
            to.path()
        ));
    }
    if followed >= MOST {
        return Redirect::Refused(format!("{here} redirects more than {MOST} times"));
    }
    Redirect::Follow(Box::new(to))
}

/// Scheme, host and port, without anything that could be secret.
pub(crate) fn origin(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{}://{host}:{port}", url.scheme()),
        None => format!("{}://{host}", url.scheme()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_redirect_within_the_origin_that_keeps_the_message_is_followed() {
        use Sent::{WithBody, WithoutBody};
        let follow = |to: &str| Redirect::Follow(Box::new(Url::parse(to).unwrap()));
        let from = Url::parse("https://a.example/mcp?key=k").unwrap();
        for (status, location, sent, followed, expected) in [
            (200, Some("/x"), WithBody, 0, Ok(Redirect::No)),
            (304, None, WithBody, 0, Ok(Redirect::No)),
            (307, Some("/mcp/"), WithBody, 0, Ok(follow("https://a.example/mcp/"))),
            (308, Some("https://a.example:443/m"), WithBody, 2, Ok(follow("https://a.example/m"))),
            (307, Some("m?x=1"), WithoutBody, 0, Ok(follow("https://a.example/m?x=1"))),
            (302, Some("/m"), WithoutBody, 0, Ok(follow("https://a.example/m"))),
            (308, Some("/m"), WithBody, 3, Err("more than 3 times")),
            (301, Some("/m"), WithBody, 0, Err("https://a.example/m, into the entry")),
            (303, Some("/m"), WithBody, 0, Err("a POST with 303")),
            (307, Some("https://b.example/m"), WithBody, 0, Err("another origin, https://b.example;")),
            (
                307,
                Some("https://a.example:8443/m"),
                WithBody,
                0,
                Err("another origin, https://a.example:8443;"),
            ),
            (307, Some("http://a.example/mcp"), WithBody, 0, Err("another origin, http://a.example;")),
            (302, Some("https://u:p@b.example/m"), WithoutBody, 0, Err("https://b.example;")),
            (307, Some("file:///etc/passwd"), WithBody, 0, Err("another origin")),
            (307, Some("http://"), WithBody, 0, Err("without a usable Location")),
            (307, None, WithBody, 0, Err("without a usable Location")),
        ] {
            let judged = judge(status, location, &from, sent, followed);
            match (&judged, expected) {
                (_, Ok(expected)) => assert_eq!(judged, expected, "{status} {location:?}"),
                (Redirect::Refused(why), Err(words)) => {
                    assert!(why.contains(words), "{status} {location:?}: {why}");
                    assert!(!why.contains("key") && !why.contains("u:p"), "{why}");
                }
                (_, Err(_)) => panic!("{status} {location:?}: {judged:?}"),
            }
        }
    }
}
