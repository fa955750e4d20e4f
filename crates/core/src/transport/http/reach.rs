//! Why could a server not be reached? Owns the words for what goes wrong below HTTP; decides nothing but the kind.

use std::{error::Error, io, time::Duration};

use rustls::{AlertDescription, CertificateError, Error as Tls};

use super::trust::VARIABLES;
use crate::failure::FailureKind;

/// What is known of a request that got no answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// Scheme, host and port.
    pub(crate) origin: &'a str,
    /// The variable that named the proxy, where there is one.
    pub(crate) proxy: Option<&'static str>,
    /// How long connecting may take.
    pub(crate) connect: Duration,
    /// What could not be read of the extra authorities.
    pub(crate) warnings: &'a [String],
}

/// The kind and one sentence. The library's own words carry the whole URL and are not used.
pub(crate) fn words(error: &reqwest::Error, place: Place<'_>) -> (FailureKind, String) {
    let Place { origin, proxy, connect, .. } = place;
    let through = proxy.map_or_else(String::new, |variable| format!(" through the proxy in {variable}"));
    if let Some(tls) = cause::<Tls>(error) {
        return tls_words(tls, place);
    }
    if error.is_dns() {
        let what =
            proxy.map_or_else(|| format!("the host of {origin}"), |name| format!("the proxy in {name}"));
        return (
            FailureKind::Network,
            format!("the name of {what} cannot be resolved; check the spelling and the network"),
        );
    }
    if error.is_connect() && error.is_timeout() {
        let limit = connect.as_millis();
        return (
            FailureKind::Network,
            format!("connecting to {origin}{through} took longer than {limit} ms"),
        );
    }
    if proxy.is_some() && error.is_connect() && chain(error).any(|cause| cause.to_string().contains("tunnel"))
    {
        return (
            FailureKind::Network,
            format!("the proxy did not let us through to {origin}; check it{}", in_variable(proxy)),
        );
    }
    let message = match cause::<io::Error>(error).map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => {
            format!("connection to {origin}{through} refused; is the server running?")
        }
        Some(
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted,
        ) => {
            format!("the connection to {origin}{through} was reset")
        }
        Some(io::ErrorKind::TimedOut) => {
            format!("{origin}{through} no longer answers; the connection was given up")
        }
        Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => {
            format!("there is no way to {origin}{through}; check the network")
        }
        _ if error.is_connect() => format!("connecting to {origin}{through} failed: {}", innermost(error)),
        _ => format!("the connection to {origin}{through} broke: {}", innermost(error)),
    };
    (FailureKind::Network, message)
}

fn in_variable(proxy: Option<&str>) -> String {
    proxy.map_or_else(String::new, |variable| format!(" in {variable}"))
}

fn tls_words(error: &Tls, place: Place<'_>) -> (FailureKind, String) {
    let Place { origin, warnings, .. } = place;
    let ours = matches!(
        error,
        Tls::AlertReceived(AlertDescription::CertificateRequired | AlertDescription::BadCertificate)
    );
    let message = if let Tls::InvalidCertificate(why) = error {
        format!("the certificate of {origin} is not trusted: {}", distrust(why, warnings))
    } else if matches!(error, Tls::InvalidMessage(_)) {
        format!("{origin} does not speak TLS; is its URL http:// instead of https://?")
    } else if ours {
        format!("{origin} wants a certificate of ours, which is not supported")
    } else {
        format!("no secure connection to {origin}: {error}")
    };
    (FailureKind::Tls, message)
}

fn distrust(why: &CertificateError, warnings: &[String]) -> String {
    if matches!(why, CertificateError::UnknownIssuer) {
        let unread = warnings.iter().map(|warning| format!("; {warning}")).collect::<String>();
        format!("nobody here knows who issued it; name its authority in {VARIABLES} and start again{unread}")
    } else if matches!(why, CertificateError::Expired | CertificateError::ExpiredContext { .. }) {
        "it has expired".to_owned()
    } else if matches!(
        why,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
    ) {
        "it is for another host".to_owned()
    } else {
        why.to_string()
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
