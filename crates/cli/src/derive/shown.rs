//! What is shown of an entry? Its command line or URL as written and masked, and the short digest of its wire as
//! written. Resolved values are never part of it.

use std::collections::{BTreeMap, BTreeSet};

use qwen_core::{Secret, mask_args, mask_text};
use qwen_settings_schema as schema;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// A command line as one text: credentials masked, quoted where a shell would need it.
pub(super) fn command_line<'a>(words: impl Iterator<Item = &'a str>, masks: &[Secret]) -> String {
    mask_args(words, masks).iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,~${}•?&#".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A URL without user info and without the values of its query.
pub(super) fn url(text: &str, masks: &[Secret]) -> String {
    const SCHEME: &str = "x://";
    if text.contains("://") {
        return mask_text(text, masks);
    }
    // `${BASE}/mcp?key=…` has a query all the same.
    let masked = mask_text(&format!("{SCHEME}{text}"), masks);
    masked.strip_prefix(SCHEME).unwrap_or(&masked).to_owned()
}

/// 16 hex digits over the wire as written.
pub(super) fn written_fingerprint(server: &schema::WrittenServer) -> String {
    let legacy = server.version_negotiation == schema::VersionNegotiation::Legacy;
    let rest = (legacy, server.pool == schema::PoolMode::Shared);
    match &server.transport {
        schema::WrittenTransport::Stdio(stdio) => {
            let restricted = server.inherit_env == Some(schema::InheritEnv::Restricted);
            short_digest(&(("stdio", &stdio.command, &stdio.args, &stdio.env, &stdio.cwd, restricted), rest))
        }
        schema::WrittenTransport::Remote(remote) => {
            let protocol = match remote.protocol {
                schema::RemoteProtocol::Http => "http",
                schema::RemoteProtocol::HttpOrSse => "http-or-sse",
                schema::RemoteProtocol::Sse => "sse",
            };
            let headers: BTreeMap<String, &String> =
                remote.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
            let oauth = remote.oauth.as_ref().map(|oauth| {
                let sorted = |items: &[String]| items.iter().cloned().collect::<BTreeSet<_>>();
                (&oauth.fields, sorted(&oauth.scopes), sorted(&oauth.audiences))
            });
            short_digest(&((protocol, &remote.url.text, headers, oauth, &remote.auth_provider), rest))
        }
    }
}

/// The same for an entry that says nothing usable: over all of it.
pub(super) fn raw_fingerprint(entry: &Value) -> String {
    short_digest(&sorted(entry))
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<&String, Value> =
                members.iter().map(|(key, value)| (key, sorted(value))).collect();
            json!(members)
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn short_digest(of: &impl Serialize) -> String {
    // Nothing of an entry is without a JSON form.
    let written = serde_json::to_vec(of).unwrap_or_default();
    hex::encode(&Sha256::digest(written)[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_hide_what_looks_like_a_credential() {
        let masks = [Secret::from("known-secret")];
        let line = |words: &[&str]| command_line(words.iter().copied(), &masks);
        assert_eq!(line(&["node", "a b.js", "--token", "s3cret"]), "node 'a b.js' --token •••");
        assert_eq!(line(&["x", "known-secret", ""]), "x ••• ''");
        assert_eq!(line(&["sh", "-c", "echo 'hi'"]), r"sh -c 'echo '\''hi'\'''");
        assert_eq!(url("https://u:p@h.example/mcp?key=s3cret", &masks), "https://•••@h.example/mcp?key=•••");
        assert_eq!(url("${BASE}/mcp?key=s3cret", &masks), "${BASE}/mcp?key=•••");
        assert_eq!(url("${BASE}/mcp", &masks), "${BASE}/mcp");
    }

    #[test]
    fn the_written_fingerprint_sees_the_wire_and_nothing_else() {
        let digest = |entry: Value| {
            let parsed = schema::parse_entry(&entry, schema::Dialect::Settings);
            written_fingerprint(&parsed.server.unwrap())
        };
        let base = digest(json!({"command": "a"}));
        assert_eq!(base.len(), 16);
        for same in [
            json!({"command": "a", "args": [], "env": {}, "inheritEnv": true}),
            json!({"command": "a", "trust": true, "includeTools": ["x"], "description": "d", "timeout": 5}),
            json!({"type": "STDIO", "command": "a", "enabled": true}),
        ] {
            assert_eq!(digest(same.clone()), base, "{same}");
        }
        for other in [
            json!({"command": "b"}),
            json!({"command": "a", "args": ["x"]}),
            json!({"command": "a", "env": {"A": "1"}}),
            json!({"command": "a", "cwd": "/"}),
            json!({"command": "a", "inheritEnv": false}),
            json!({"command": "a", "pool": "shared"}),
            json!({"command": "a", "versionNegotiation": "legacy"}),
        ] {
            assert_ne!(digest(other.clone()), base, "{other}");
        }
        let remote = json!({"url": "http://h", "headers": {"X-A": "1"}});
        let respelt = json!({"serverUrl": "http://h", "headers": {"x-a": "1"}});
        assert_eq!(digest(remote), digest(respelt));
    }
}
