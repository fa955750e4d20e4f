//! How is one HTTP request sent to a server? Owns the client of one entry: its headers, proxy, certificate authorities,
//! time limits below HTTP, and which redirects are followed. Knows nothing of the protocol inside.

use std::time::Duration;

use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    header::{ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, LOCATION, TRANSFER_ENCODING},
};
use reqwest::Response;
use url::Url;

use super::{
    proxy::{self, Via},
    reach::{self, Place},
    redirect::{Redirect, Sent, judge, origin},
    trust,
};
use crate::{
    connector::ProcessEnv,
    domain::{Remote, Secret},
    failure::{Failure, FailureKind, TlsFault},
    said::Said,
    transport::undelivered::{Ends, Undelivered},
};

/// Connecting may take this long, or most of the time for the handshake where that is less.
const CONNECT: Duration = Duration::from_secs(10);
/// An idle connection is kept this long. Many servers close theirs after five seconds, and a request that meets such a
/// close on its way cannot be sent again.
const IDLE: Duration = Duration::from_secs(4);
/// A peer that vanished without a word is noticed by the operating system, which asks after this long in silence …
const SILENT: Duration = Duration::from_secs(15);
/// … this often …
const PROBE: Duration = Duration::from_secs(5);
/// … and gives up after so many. Together 30 seconds.
const PROBES: u32 = 3;
/// Bytes that nobody confirms for this long mean the same.
const UNCONFIRMED: Duration = Duration::from_secs(30);
/// What decides about the form of a message is ours to say; an entry that sets one of these would break it.
const OURS: [HeaderName; 4] = [ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING];

/// The client of one entry. Dropping it closes its connections.
#[derive(Debug)]
pub(crate) struct HttpClient {
    http: reqwest::Client,
    url: Url,
    headers: HeaderMap,
    said: Said,
    proxy: Option<Via>,
    connect: Duration,
    warnings: Vec<String>,
}

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) url: Url,
    /// On top of the entry's own.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
}

impl HttpClient {
    /// A client for this entry. `limit` is the time for connecting, shaking hands and listing. Blocks on the file
    /// system, where the certificate authorities are.
    ///
    /// # Errors
    /// The URL or a header is none, or the proxy or the authorities cannot be used.
    pub(crate) fn new(
        remote: &Remote,
        env: &ProcessEnv,
        masks: &[Secret],
        limit: Duration,
    ) -> Result<Self, Failure> {
        let said = Said::new(masks);
        let invalid = |why: &str| Failure::new(FailureKind::WrongEndpoint { status: None }, why);
        let url = Url::parse(remote.url.expose()).map_err(|_| invalid("its URL cannot be read"))?;
        let headers = headers(remote)?;
        let env = &env.full;
        let named = proxy::applying(&url, env);
        let connect = CONNECT.min(limit.mul_f32(0.8));
        let mut builder = reqwest::Client::builder()
            // What the environment says is passed in; the library would read it by itself.
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .connect_timeout(connect)
            .pool_idle_timeout(IDLE)
            .tcp_nodelay(true)
            .tcp_keepalive(SILENT)
            .tcp_keepalive_interval(PROBE)
            .tcp_keepalive_retries(PROBES);
        #[cfg(target_os = "linux")]
        {
            builder = builder.tcp_user_timeout(UNCONFIRMED);
        }
        if let Some(named) = named {
            builder = builder.proxy(proxy::proxy(named)?);
        }
        let is_secure =
            url.scheme() == "https" || named.is_some_and(|named| proxy::scheme(named.value) == "https");
        let trust = if is_secure { trust::read(env) } else { trust::Trust::default() };
        for warning in &trust.warnings {
            tracing::warn!("{warning}");
        }
        builder = if is_secure {
            builder.tls_certs_merge(trust.authorities)
        } else {
            // The system's authorities take a while to read.
            builder.tls_certs_only([])
        };
        let http = builder.build().map_err(|error| {
            let why = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            let unread = trust.warnings.iter().map(|warning| format!("; {warning}")).collect::<String>();
            let message = format!("the certificate authorities cannot be used: {why}{unread}");
            Failure::new(FailureKind::Tls(TlsFault::Authorities), said.masked(&message))
        })?;
        let proxy = named.map(Via::of);
        Ok(Self { http, url, headers, said, proxy, connect, warnings: trust.warnings })
    }

    /// The entry's address.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// The name of the header that carries credentials, where the entry has one.
    pub(crate) fn credentials(&self) -> Option<&str> {
        let names = || self.headers.keys().map(HeaderName::as_str);
        let telling = ["auth", "key", "token", "secret", "cookie"];
        names()
            .find(|name| *name == "authorization")
            .or_else(|| names().find(|name| telling.iter().any(|word| name.contains(word))))
    }

    /// The proxy whose answer could pass for the server's: on the way to one without TLS.
    pub(crate) fn in_between(&self) -> Option<&Via> {
        self.proxy.as_ref().filter(|_| self.url.scheme() == "http")
    }

    /// What the server's words go through.
    pub(crate) fn said(&self) -> &Said {
        &self.said
    }

    /// Sends it, within the origin to where it is redirected, and returns the head of the answer. Cancel-safe in so far as
    /// a dropped future closes the exchange.
    ///
    /// # Errors
    /// The server was not reached, or a redirect may not be followed.
    pub(crate) async fn send(&self, ask: &Ask) -> Result<Response, Undelivered> {
        let sent = if ask.body.is_some() { Sent::WithBody } else { Sent::WithoutBody };
        let mut url = ask.url.clone();
        let mut followed = 0;
        loop {
            let mut request = self.http.request(ask.method.clone(), url.clone());
            let mut headers = self.headers.clone();
            headers.extend(ask.headers.clone());
            request = request.headers(headers);
            if let Some(body) = &ask.body {
                request = request.body(body.clone());
            }
            let response = request.send().await.map_err(|error| self.broken(&error))?;
            let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            match judge(response.status().as_u16(), location, &url, sent, followed) {
                Redirect::No => return Ok(response),
                Redirect::Follow(to) => {
                    url = *to;
                    followed += 1;
                }
                Redirect::Refused(why) => {
                    let status = Some(response.status().as_u16());
                    let failure = Failure::new(FailureKind::WrongEndpoint { status }, self.said.masked(&why));
                    return Err(Undelivered { status, ..Undelivered::request(failure) });
                }
            }
        }
    }

    /// What it means that the network failed. What failed while connecting will fail for every other request too.
    pub(crate) fn broken(&self, error: &reqwest::Error) -> Undelivered {
        let place = Place {
            origin: &origin(&self.url),
            proxy: self.proxy.as_ref(),
            connect: self.connect,
            warnings: &self.warnings,
        };
        let (kind, message) = reach::words(error, place);
        let failure = Failure::new(kind, self.said.masked(&message));
        let ends = if error.is_connect() { Ends::Connection } else { Ends::Request };
        Undelivered { ends, ..Undelivered::request(failure) }
    }
}

fn headers(remote: &Remote) -> Result<HeaderMap, Failure> {
    let mut headers = HeaderMap::new();
    for (header, value) in &remote.headers {
        let unsendable = || {
            let kind = FailureKind::BadHeader { header: header.clone() };
            Failure::new(kind, format!("the header {header} cannot be sent as it is"))
        };
        let name = HeaderName::from_bytes(header.as_bytes()).map_err(|_| unsendable())?;
        let mut value = HeaderValue::from_bytes(value.expose().as_bytes()).map_err(|_| unsendable())?;
        value.set_sensitive(true);
        if !OURS.contains(&name) {
            headers.insert(name, value);
        }
    }
    Ok(headers)
}
