//! Why could a server not be reached? Owns the words for what goes wrong below HTTP; decides nothing but the kind.

use std::{error::Error, io, time::Duration};

use rustls::{AlertDescription, CertificateError, Error as Tls};

use super::{proxy::Via, trust::VARIABLES};
use crate::failure::{FailureKind, TlsFault};

/// What is known of a request that got no answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// Scheme, host and port.
    pub(crate) origin: &'a str,
    /// The proxy on the way, where there is one.
    pub(crate) proxy: Option<&'a Via>,
    /// How long connecting may take.
    pub(crate) connect: Duration,
    /// What could not be read of the extra authorities.
    pub(crate) warnings: &'a [String],
}

/// The kind and one sentence. The library's own words carry the whole URL and are not used.
pub(crate) fn words(error: &reqwest::Error, place: Place<'_>) -> (FailureKind, String) {
    match place.proxy.filter(|_| error.is_connect()).and_then(|via| blames(error, via, place.origin)) {
        Some((via, tunnel)) => through_proxy(error, via, tunnel, place),
        None => without_proxy(error, place),
    }
}

/// What a proxy did with the wish for a tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tunnel {
    /// It was not reached, or nobody wished for one.
    NotAsked,
    WantsCredentials,
    Refused,
}

/// The proxy, when it and not the server behind it is in the way. To a server without TLS nothing but the proxy is
/// connected to.
fn blames<'a>(error: &reqwest::Error, via: &'a Via, origin: &str) -> Option<(&'a Via, Tunnel)> {
    // The library's type is not public; its words are pinned by the tests of refusing proxies.
    let said = chain(error).map(ToString::to_string).find(|cause| cause.starts_with("tunnel error"));
    match said.as_deref() {
        Some(said) if said.ends_with("authorization required") => Some((via, Tunnel::WantsCredentials)),
        Some(said) if said.ends_with("underlying connection") => Some((via, Tunnel::NotAsked)),
        Some(_) => Some((via, Tunnel::Refused)),
        None if origin.starts_with("https:") => None,
        None => Some((via, Tunnel::NotAsked)),
    }
}

fn through_proxy(
    error: &reqwest::Error,
    via: &Via,
    tunnel: Tunnel,
    place: Place<'_>,
) -> (FailureKind, String) {
    if let Some(tls) = cause::<Tls>(error) {
        return tls_words(tls, &format!("the proxy {via}"), place.warnings);
    }
    let message = match tunnel {
        Tunnel::WantsCredentials => format!("the proxy {via} wants credentials"),
        Tunnel::Refused => format!("the proxy {via} does not let us through to {}", place.origin),
        Tunnel::NotAsked => unreached(error, &format!("the proxy {via}"), "is it running?", place.connect),
    };
    (FailureKind::Proxy { variable: via.variable.to_owned() }, message)
}

fn without_proxy(error: &reqwest::Error, place: Place<'_>) -> (FailureKind, String) {
    let Place { origin, proxy, connect, warnings } = place;
    if let Some(tls) = cause::<Tls>(error) {
        return tls_words(tls, origin, warnings);
    }
    let there = proxy.map_or_else(|| origin.to_owned(), |via| format!("{origin} through the proxy {via}"));
    (FailureKind::Network, unreached(error, &there, "is the server running?", connect))
}

/// What kept us from `there`.
fn unreached(error: &reqwest::Error, there: &str, question: &str, connect: Duration) -> String {
    if error.is_dns() {
        return format!(
            "the name of the host of {there} cannot be resolved; check the spelling and the network"
        );
    }
    if error.is_connect() && error.is_timeout() {
        return format!("connecting to {there} took longer than {} ms", connect.as_millis());
    }
    match cause::<io::Error>(error).map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => format!("connection to {there} refused; {question}"),
        Some(
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted,
        ) => {
            format!("the connection to {there} was reset")
        }
        Some(io::ErrorKind::TimedOut) => format!("{there} no longer answers; the connection was given up"),
        Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => {
            format!("there is no way to {there}; check the network")
        }
        _ if error.is_connect() => format!("connecting to {there} failed: {}", innermost(error)),
        _ => format!("the connection to {there} broke: {}", innermost(error)),
    }
}

fn tls_words(error: &Tls, whose: &str, warnings: &[String]) -> (FailureKind, String) {
    let wants_ours = matches!(
        error,
        Tls::AlertReceived(AlertDescription::CertificateRequired | AlertDescription::BadCertificate)
    );
    let (fault, message) = if let Tls::InvalidCertificate(why) = error {
        let (fault, why) = distrust(why, warnings);
        (fault, format!("the certificate of {whose} is not trusted: {why}"))
    } else if matches!(error, Tls::InvalidMessage(_)) {
        (TlsFault::NotTls, format!("{whose} does not speak TLS; is its URL http:// instead of https://?"))
    } else if wants_ours {
        (TlsFault::WantsOurs, format!("{whose} wants a certificate of ours, which is not supported"))
    } else {
        (TlsFault::Other, format!("no secure connection to {whose}: {error}"))
    };
    (FailureKind::Tls(fault), message)
}

fn distrust(why: &CertificateError, warnings: &[String]) -> (TlsFault, String) {
    if matches!(why, CertificateError::UnknownIssuer) {
        let unread = warnings.iter().map(|warning| format!("; {warning}")).collect::<String>();
        let message = format!(
            "nobody here knows who issued it; name its authority in {VARIABLES} and start again{unread}"
        );
        (TlsFault::UnknownIssuer, message)
    } else if matches!(why, CertificateError::Expired | CertificateError::ExpiredContext { .. }) {
        (TlsFault::Expired, "it has expired".to_owned())
    } else if matches!(why, CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. }) {
        (TlsFault::NotYetValid, "it is not valid yet".to_owned())
    } else if matches!(
        why,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
    ) {
        (TlsFault::OtherHost, "it is for another host".to_owned())
    } else {
        (TlsFault::Other, why.to_string())
    }
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'a (dyn Error + 'static)| {
        let error: &'a (dyn Error + 'static) = *error;
        // An error of the operating system wraps others without naming them as its source.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inner.map(|inner| inner as &(dyn Error + 'static)).or_else(|| error.source())
    })
}

/// The deepest cause of this type.
fn cause<T: Error + 'static>(error: &reqwest::Error) -> Option<&T> {
    chain(error).filter_map(|cause| cause.downcast_ref::<T>()).last()
}

fn innermost(error: &reqwest::Error) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}
