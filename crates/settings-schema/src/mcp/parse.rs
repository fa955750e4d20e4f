//! Which parts does an entry consist of, and what is wrong with them? Owns the reading of one entry; which transport
//! it means is decided next door.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    InheritEnv, Invalid, PoolMode, Switch, VersionNegotiation, WrittenEntry, WrittenOAuth, WrittenServer,
    WrittenTransport, WrittenView, transport,
};
use crate::{
    fields::{DISCOVERY, FIELDS, OAUTH_FIELDS, Part, TIMEOUT, field},
    finding::{Code, Finding, Findings, Severity},
    key::KeyPath,
    kind::{check_kind, clamped, unsafe_number, wrong_type},
    near::nearest,
    scope::Dialect,
    table::{Kind, Range},
    value::is_exact,
};

/// The time a program has to connect and list, in milliseconds, unless its entry says otherwise.
const STDIO_DISCOVERY_MS: u64 = 30_000;
/// The time a remote server has to connect and list, in milliseconds, unless its entry says otherwise.
const REMOTE_DISCOVERY_MS: u64 = 5_000;

/// The most errors, and the most warnings, that one entry is told.
const MOST: usize = 100;

/// Reads one server entry. Nothing is coerced: a field of the wrong type makes the entry invalid.
///
/// ```
/// use qwen_settings_schema::{Dialect, Switch, WrittenTransport, parse_entry};
/// use serde_json::json;
///
/// let entry = parse_entry(&json!({"command": "srv", "disabled": true}), Dialect::Settings);
/// assert_eq!(entry.switch, Switch::Off);
/// assert!(matches!(entry.server.unwrap().transport, WrittenTransport::Stdio(_)));
///
/// let quoted = parse_entry(&json!({"command": "srv", "trust": "false"}), Dialect::Settings);
/// assert_eq!(quoted.server.unwrap_err().to_string(), "`trust`: expected a boolean, found a string");
/// ```
#[must_use]
pub fn parse_entry(entry: &Value, dialect: Dialect) -> WrittenEntry {
    let Value::Object(entry) = entry else {
        let why = wrong_type(&KeyPath::root(), "an object", entry);
        return finish(Switch::On, None, vec![why]);
    };
    let mut findings = Findings::up_to(MOST);
    check_fields(entry, &mut findings);
    check_oauth(entry, &mut findings);
    check_texts(entry, &mut findings);
    // A number where a whole one is due has been looked at already.
    let others = entry
        .iter()
        .filter(|(name, _)| !field(name).is_some_and(|field| matches!(field.kind, Kind::Integer(_))));
    for (name, value) in others.filter(|(_, value)| holds_unsafe_number(value)) {
        check_numbers(&KeyPath::new([name]), value, &mut findings);
    }
    let server = transport::of(entry, dialect, &mut findings).map(|transport| WrittenServer {
        view: view(entry, &transport),
        version_negotiation: match text(entry, "versionNegotiation") {
            Some("legacy") => VersionNegotiation::Legacy,
            Some(_) | None => VersionNegotiation::Auto,
        },
        pool: match text(entry, "pool") {
            Some("shared") => PoolMode::Shared,
            Some(_) | None => PoolMode::Session,
        },
        inherit_env: flag(entry, "inheritEnv").map(|inherits| match inherits {
            true => InheritEnv::Full,
            false => InheritEnv::Restricted,
        }),
        transport,
    });
    finish(switch(entry), server, findings.into_kept())
}

/// Puts an entry together: any error makes it invalid, and of one that is switched off nothing is an error.
fn finish(switch: Switch, server: Option<WrittenServer>, mut findings: Vec<Finding>) -> WrittenEntry {
    let first_error = findings.iter().find(|finding| finding.severity == Severity::Error);
    let server = match (server, first_error) {
        (Some(server), None) => Ok(server),
        (_, Some(error)) => Err(Invalid { key: error.key.clone(), why: error.message.clone() }),
        (None, None) => Err(Invalid { key: KeyPath::root(), why: "it names no server".to_owned() }),
    };
    match switch {
        Switch::On => {}
        Switch::Off => {
            for finding in &mut findings {
                finding.severity = Severity::Warning;
            }
        }
    }
    WrittenEntry { switch, server, findings }
}

fn switch(entry: &Map<String, Value>) -> Switch {
    if flag(entry, "disabled") == Some(true) || flag(entry, "enabled") == Some(false) {
        Switch::Off
    } else {
        Switch::On
    }
}

fn view(entry: &Map<String, Value>, transport: &WrittenTransport) -> WrittenView {
    let discovery = match transport {
        WrittenTransport::Stdio(_) => STDIO_DISCOVERY_MS,
        WrittenTransport::Remote(_) => REMOTE_DISCOVERY_MS,
    };
    WrittenView {
        include_tools: entry.contains_key("includeTools").then(|| texts(entry, "includeTools")),
        exclude_tools: texts(entry, "excludeTools"),
        always_load_tools: flag(entry, "alwaysLoadTools").unwrap_or(false),
        trust: flag(entry, "trust").unwrap_or(false),
        description: text(entry, "description").map(str::to_owned),
        timeout_ms: millis(entry, "timeout", TIMEOUT).unwrap_or(600_000),
        discovery_timeout_ms: millis(entry, "discoveryTimeoutMs", DISCOVERY).unwrap_or(discovery),
    }
}

/// Each known field has its type; each other one is told.
fn check_fields(entry: &Map<String, Value>, findings: &mut Findings) {
    for (name, value) in entry {
        let at = KeyPath::new([name]);
        match field(name) {
            Some(known) if known.part == Part::Nothing => findings.push(
                Finding::warning(at, Code::IgnoredHere, "ignored: a file cannot say whose entry it is")
                    .hinting("remove it"),
            ),
            Some(known) => {
                check_kind(&at, known.kind, value, findings);
            }
            None if name == "tcp" => findings.push(
                Finding::error(at, Code::InvalidEntry, "TCP and WebSocket servers are not supported")
                    .hinting("use `command`, `httpUrl` or `url`"),
            ),
            None => findings.warn_with(|| unknown(at, name, "field", FIELDS.iter().map(|field| field.name))),
        }
    }
}

fn check_oauth(entry: &Map<String, Value>, findings: &mut Findings) {
    let Some(Value::Object(oauth)) = entry.get("oauth") else { return };
    for (name, value) in oauth {
        let at = KeyPath::new(["oauth", name]);
        match OAUTH_FIELDS.iter().find(|(known, _, _)| known == name) {
            Some((_, kind, _)) => {
                check_kind(&at, *kind, value, findings);
            }
            None => findings
                .warn_with(|| unknown(at, name, "field", OAUTH_FIELDS.iter().map(|(known, _, _)| *known))),
        }
    }
}

/// What no operating system and no HTTP library would take, said before anything is started.
fn check_texts(entry: &Map<String, Value>, findings: &mut Findings) {
    let invalid = |at: KeyPath, message: &str| Finding::error(at, Code::InvalidEntry, message);
    for name in ["command", "httpUrl", "url", "serverUrl"] {
        if text(entry, name).is_some_and(|text| text.trim().is_empty()) {
            findings.push(invalid(KeyPath::new([name]), "it is empty"));
        }
    }
    for name in ["command", "cwd"] {
        if text(entry, name).is_some_and(|text| text.contains('\0')) {
            findings.push(invalid(KeyPath::new([name]), "it holds a NUL byte"));
        }
    }
    for (index, _) in texts(entry, "args").iter().enumerate().filter(|(_, text)| text.contains('\0')) {
        findings.push(invalid(KeyPath::new(["args", &index.to_string()]), "it holds a NUL byte"));
    }
    for (name, value) in map(entry, "env") {
        let at = KeyPath::new(["env", &name]);
        if name.is_empty() || name.contains(['=', '\0']) {
            findings.push(invalid(at, "no variable can have this name"));
        } else if value.contains('\0') {
            findings.push(invalid(at, "it holds a NUL byte"));
        }
    }
    let mut seen: BTreeMap<String, ()> = BTreeMap::new();
    for (name, value) in map(entry, "headers") {
        let at = KeyPath::new(["headers", &name]);
        if name.trim().is_empty() || name.chars().any(char::is_control) {
            findings.push(invalid(at, "no header can have this name"));
        } else if value.chars().any(|c| c.is_control() && c != '\t') {
            findings.push(invalid(at, "it holds a line break or a control character"));
        } else if seen.insert(name.to_ascii_lowercase(), ()).is_some() {
            findings.push(invalid(at, "another header has this name in other letter case"));
        }
    }
}

/// No number anywhere in an entry may be one that programs read differently, since its approval is over these bytes.
/// The plain look comes first: it makes no paths.
fn holds_unsafe_number(value: &Value) -> bool {
    match value {
        Value::Number(number) => !is_exact(number),
        Value::Array(items) => items.iter().any(holds_unsafe_number),
        Value::Object(items) => items.values().any(holds_unsafe_number),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

fn check_numbers(at: &KeyPath, value: &Value, findings: &mut Findings) {
    match value {
        Value::Number(number) => {
            if !is_exact(number) {
                findings.push(unsafe_number(at));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                check_numbers(&at.child(&index.to_string()), item, findings);
            }
        }
        Value::Object(items) => {
            for (name, item) in items {
                check_numbers(&at.child(name), item, findings);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// A key that nothing reads, with the one that was probably meant.
pub(crate) fn unknown<'a>(
    at: KeyPath,
    name: &str,
    what: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Finding {
    let unknown = Finding::warning(at, Code::UnknownKey, format!("unknown {what}, kept but not read"));
    match nearest(name, known) {
        Some(near) => unknown.hinting(format!("did you mean `{near}`?")),
        None => unknown,
    }
}

/// Enabled OAuth; a value of the wrong type has its own finding already.
pub(super) fn oauth(entry: &Map<String, Value>) -> Option<WrittenOAuth> {
    let oauth = entry.get("oauth")?.as_object()?;
    (flag(oauth, "enabled") == Some(true)).then(|| WrittenOAuth {
        fields: oauth
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect(),
        scopes: texts(oauth, "scopes"),
        audiences: texts(oauth, "audiences"),
    })
}

/// The text of a field, when it has one.
pub(super) fn text<'a>(entry: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    entry.get(name).and_then(Value::as_str)
}

/// The texts of a list; empty when there is none.
pub(super) fn texts(entry: &Map<String, Value>, name: &str) -> Vec<String> {
    let items = entry.get(name).and_then(Value::as_array);
    items.into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

/// The texts of a map; empty when there is none.
pub(super) fn map(entry: &Map<String, Value>, name: &str) -> BTreeMap<String, String> {
    let items = entry.get(name).and_then(Value::as_object);
    items
        .into_iter()
        .flatten()
        .filter_map(|(name, item)| Some((name.clone(), item.as_str()?.to_owned())))
        .collect()
}

fn flag(entry: &Map<String, Value>, name: &str) -> Option<bool> {
    entry.get(name).and_then(Value::as_bool)
}

fn millis(entry: &Map<String, Value>, name: &str, range: Range) -> Option<u64> {
    clamped(range, entry.get(name)?).and_then(|millis| u64::try_from(millis).ok())
}
