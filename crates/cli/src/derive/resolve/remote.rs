//! What does a remote entry reach, and what does it send there? Addresses and headers are judged by the real rules
//! once their variables are replaced.

use std::collections::BTreeMap;

use qwen_core::{OAuth, Remote, Secret};
use qwen_settings_schema as schema;
use url::Url;

use super::{
    fields::{Known, Resolving, Text},
    negotiation, pool,
};

pub(super) fn resolve(
    written: &schema::WrittenRemote,
    server: &schema::WrittenServer,
    resolving: &mut Resolving<'_>,
) -> Option<Remote> {
    let text = resolving.value(&[written.url.field], &written.url.text);
    let url = address(&text, written.url.field, resolving);
    if let Some(url) = &url {
        for (name, secret) in secrets(url, &text.text) {
            resolving.mask(&name, secret);
        }
    }
    if let Some(unused) = &written.unused_url {
        let other = resolving.value(&[unused.field], &unused.text);
        let other = address(&other, unused.field, resolving);
        if let (Some(url), Some(other)) = (&url, &other)
            && url.origin() != other.origin()
        {
            let why = format!("it has another origin than `{}`; remove one of them", written.url.field);
            resolving.problem(&[unused.field], why);
        }
    }
    let mut headers = BTreeMap::new();
    for (name, value) in &written.headers {
        let resolved = resolving.secret(&["headers", name], value);
        header(name, &resolved, resolving);
        // `Bearer abc` is looked for as `abc` too, and `Bearer` is no secret.
        let words: Vec<&str> = resolved.expose().split_whitespace().collect();
        for (nth, word) in words.iter().enumerate() {
            let is_scheme = nth == 0 && words.len() > 1;
            resolving.mask(if is_scheme { "" } else { name }, Secret::from(*word));
        }
        headers.insert(name.to_ascii_lowercase(), resolved);
    }
    let oauth = written.oauth.as_ref().map(|written| oauth(written, resolving));
    let auth_provider = written.auth_provider.iter();
    let auth_provider =
        auth_provider.map(|(name, value)| (name.clone(), resolving.value(&[name], value).text));
    Some(Remote {
        auth_provider: auth_provider.collect(),
        // The text as resolved, not as the parser would spell it: a server may care.
        url: Secret::from(text.text),
        headers,
        oauth,
        sse_fallback: match written.protocol {
            schema::RemoteProtocol::HttpOrSse => true,
            schema::RemoteProtocol::Http | schema::RemoteProtocol::Sse => false,
        },
        version_negotiation: negotiation(server),
        pool: pool(server),
    })
}

/// The address, where all of it is known.
fn address(text: &Text, field: &str, resolving: &mut Resolving<'_>) -> Option<Url> {
    match text.known {
        Known::All => {}
        Known::NotAll => return None,
    }
    match Url::parse(&text.text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Some(url),
        Ok(_) => {
            resolving.problem(&[field], "it must begin with http:// or https://".to_owned());
            None
        }
        Err(error) => {
            resolving.problem(&[field], format!("it is no URL: {error}"));
            None
        }
    }
}

/// What of an address is a secret wherever it is repeated: its user info and the values of its query, as written and as
/// meant, each with its name.
fn secrets(url: &Url, written: &str) -> Vec<(String, Secret)> {
    let query = written.split_once('?').map_or("", |(_, query)| query.split('#').next().unwrap_or_default());
    let raw = query.split('&').filter_map(|pair| pair.split_once('='));
    let raw = raw.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let meant = url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned()));
    let decoded = |text: &str| {
        // A query decodes the same way, but for `+`, which user info means literally.
        let as_query = format!("v={}", text.replace('+', "%2B"));
        url::form_urlencoded::parse(as_query.as_bytes())
            .map(|(_, value)| value.into_owned())
            .collect::<String>()
    };
    let user_info = [url.username(), url.password().unwrap_or_default()];
    let user_info = user_info.into_iter().flat_map(|part| [part.to_owned(), decoded(part)]);
    let user_info = user_info.map(|part| ("auth".to_owned(), part));
    let all = raw.chain(meant).chain(user_info);
    all.map(|(name, secret)| (name, Secret::from(secret))).collect()
}

fn header(name: &str, value: &Secret, resolving: &mut Resolving<'_>) {
    if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
        resolving.problem(&["headers", name], "no header can have this name".to_owned());
    } else if http::HeaderValue::from_bytes(value.expose().as_bytes()).is_err() {
        let why = "its value holds a line break or a control character".to_owned();
        resolving.problem(&["headers", name], why);
    }
}

fn oauth(written: &schema::WrittenOAuth, resolving: &mut Resolving<'_>) -> OAuth {
    let fields = written.fields.iter();
    let fields =
        fields.map(|(name, value)| (name.clone(), resolving.secret(&["oauth", name], value))).collect();
    let mut list = |name: &str, items: &[String]| {
        items.iter().map(|item| resolving.value(&["oauth", name], item).text).collect()
    };
    OAuth {
        fields,
        scopes: list("scopes", &written.scopes),
        audiences: list("audiences", &written.audiences),
    }
}
