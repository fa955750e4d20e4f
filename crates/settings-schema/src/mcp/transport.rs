//! Which transport does an entry mean? Owns the rules on `type`, `command` and the three spellings of an address;
//! knows nothing of the other fields.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    RemoteProtocol, WrittenRemote, WrittenStdio, WrittenTransport, WrittenUrl,
    parse::{map, oauth, text, texts},
};
use crate::{
    fields::{TYPE_ALIASES, TYPE_WORDS},
    finding::{Code, Finding, Findings},
    key::KeyPath,
    kind::word,
    scope::Dialect,
};

/// The transport of an entry. Where it is `None`, the findings say why.
pub(super) fn of(
    entry: &Map<String, Value>,
    dialect: Dialect,
    findings: &mut Findings,
) -> Option<WrittenTransport> {
    let urls = ["httpUrl", "url", "serverUrl"].into_iter().filter(|name| entry.contains_key(*name));
    let written: Vec<&'static str> =
        entry.contains_key("command").then_some("command").into_iter().chain(urls).collect();
    let kind = text(entry, "type").and_then(|text| word(text, TYPE_WORDS, TYPE_ALIASES));
    match written.as_slice() {
        // That it is not supported is said already.
        [] if entry.contains_key("tcp") => None,
        [] => {
            findings.push(match kind {
                Some("stdio") => nothing_named("`type` says stdio but `command` is missing"),
                Some("sse") => nothing_named("`type` says sse but `url` is missing"),
                Some(_) => nothing_named("`type` says http but `httpUrl` is missing"),
                None => nothing_named("it names neither `command` nor `httpUrl` nor `url`"),
            });
            None
        }
        ["command"] => match kind {
            None | Some("stdio") => Some(WrittenTransport::Stdio(WrittenStdio {
                command: text(entry, "command")?.to_owned(),
                args: texts(entry, "args"),
                env: map(entry, "env"),
                cwd: text(entry, "cwd").map(str::to_owned),
            })),
            Some(kind) => contradiction(kind, "command", findings),
        },
        ["command", url, ..] => {
            findings.push(
                Finding::error(
                    KeyPath::new([*url]),
                    Code::InvalidEntry,
                    format!("`command` and `{url}` cannot stand together"),
                )
                .hinting("keep the one that is meant"),
            );
            None
        }
        [first, ..] => remote(entry, kind, first, dialect, findings).map(WrittenTransport::Remote),
    }
}

fn remote(
    entry: &Map<String, Value>,
    kind: Option<&str>,
    first: &'static str,
    dialect: Dialect,
    findings: &mut Findings,
) -> Option<WrittenRemote> {
    if kind == Some("stdio") || (kind == Some("sse") && first == "httpUrl") {
        contradiction(kind?, first, findings)?;
    }
    let plain = plain_url(entry, findings);
    let http = address(entry, "httpUrl");
    let (protocol, url, unused_url) = match (http, plain) {
        (Some(http), plain) => {
            if let Some(plain) = &plain {
                findings.push(
                    Finding::warning(
                        KeyPath::new([plain.field]),
                        Code::RedundantField,
                        format!("`httpUrl` counts and `{}` is not used", plain.field),
                    )
                    .hinting("remove it; with another origin the entry is invalid"),
                );
            }
            (RemoteProtocol::Http, http, plain)
        }
        (None, Some(plain)) => {
            let protocol = match (kind, dialect) {
                (Some("http"), _) => RemoteProtocol::Http,
                (None, Dialect::McpJson) => RemoteProtocol::HttpOrSse,
                (None, Dialect::Settings) | (Some(_), _) => RemoteProtocol::Sse,
            };
            (protocol, plain, None)
        }
        // Whatever stands there has the wrong type, which has its own finding.
        (None, None) => return None,
    };
    let provider = ["authProviderType", "targetAudience", "targetServiceAccount"];
    let auth_provider: BTreeMap<_, _> = provider
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), text(entry, name)?.to_owned())))
        .collect();
    let (headers, oauth) = (map(entry, "headers"), oauth(entry));
    Some(WrittenRemote { protocol, url, unused_url, headers, oauth, auth_provider })
}

/// `url`, or `serverUrl` where that is how it is spelled.
fn plain_url(entry: &Map<String, Value>, findings: &mut Findings) -> Option<WrittenUrl> {
    let (url, server_url) = (address(entry, "url"), address(entry, "serverUrl"));
    if let (Some(url), Some(server_url)) = (&url, &server_url)
        && url.text != server_url.text
    {
        findings.push(
            Finding::error(
                KeyPath::new(["serverUrl"]),
                Code::InvalidEntry,
                "`serverUrl` means `url`, and the two differ",
            )
            .hinting("keep the one that is meant"),
        );
    }
    url.or(server_url)
}

fn address(entry: &Map<String, Value>, field: &'static str) -> Option<WrittenUrl> {
    text(entry, field).map(|text| WrittenUrl { field, text: text.to_owned() })
}

fn contradiction<T>(kind: &str, other: &str, findings: &mut Findings) -> Option<T> {
    findings.push(
        Finding::error(
            KeyPath::new(["type"]),
            Code::InvalidEntry,
            format!("`type` says {kind}, which `{other}` contradicts"),
        )
        .hinting("remove `type` or name what it says"),
    );
    None
}

fn nothing_named(why: &str) -> Finding {
    Finding::error(KeyPath::root(), Code::InvalidEntry, why)
        .hinting("name a program in `command` or an address in `httpUrl`")
}
