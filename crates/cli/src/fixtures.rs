//! Values that several tests of this crate start from. Built by hand, so that the tests of what is shown do not depend
//! on how files are read.

mod states;

use std::{path::PathBuf, sync::Arc};

use qwen_core::{
    Decision, Entry, InvalidEntry, PoolMode, Remote, Scope, Secret, ServerName, ServerSpec, Stdio, Switch,
    VersionNegotiation, View, Wire,
};
use serde_json::{Value, json};

pub(crate) use self::states::{WHEN, background, every_state, file, restricting_files, settings_file};
use crate::derive::{Loser, Promptable, Row, RowApproval, ShadowedBy, Source, Transport, Written};

/// 64 hex digits.
pub(crate) const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// A place in a file.
pub(crate) fn source(path: &str, line: u32) -> Source {
    Source { path: Some(PathBuf::from(path)), resolved_path: None, line: Some(line), column: Some(5) }
}

/// The file in which entries of a scope stand.
fn home_of(scope: Scope) -> &'static str {
    match scope {
        Scope::Project => "/p/.mcp.json",
        Scope::Workspace => "/p/.qwen/settings.json",
        Scope::System => "/etc/qwen-code/settings.json",
        Scope::SystemDefaults => "/etc/qwen-code/system-defaults.json",
        Scope::User | Scope::Session | Scope::Extension | Scope::Runtime => "/home/u/.qwen/settings.json",
    }
}

/// A valid stdio entry.
pub(crate) fn row(name: &str, scope: Scope) -> Row {
    let wire = Wire::Stdio(Stdio {
        command: "npx".to_owned(),
        args: vec!["-y".to_owned(), name.to_owned()],
        env: std::collections::BTreeMap::new(),
        cwd: PathBuf::from("/p"),
        env_policy: qwen_core::EnvPolicy::Full,
        version_negotiation: VersionNegotiation::Auto,
        pool: PoolMode::Session,
    });
    let written = json!({ "command": "npx", "args": ["-y", name] });
    let approval = scope.is_gated().then(|| RowApproval {
        decision: Decision::Undecided,
        hash: HASH.to_owned(),
        decided_at: None,
    });
    Row {
        name: ServerName::from(name),
        scope,
        source: source(home_of(scope), 4),
        written: Written::new(Arc::new(written)),
        approval,
        transport: Some(Transport::Stdio),
        target: Some(format!("npx -y {name}")),
        entry: Entry::Valid(Arc::new(ServerSpec::new(scope, wire, View::default()))),
        wrong: Vec::new(),
        unset: None,
        warnings: Vec::new(),
        shadows: Vec::new(),
        shadowed_by: None,
        written_fingerprint: "00112233aabbccdd".to_owned(),
    }
}

/// A valid entry of a server behind a URL.
pub(crate) fn remote_row(name: &str, scope: Scope) -> Row {
    let url = "https://mcp.example/mcp?key=k3y-of-the-user";
    let wire = Wire::Http(Remote {
        url: Secret::from(url),
        headers: std::collections::BTreeMap::new(),
        oauth: None,
        auth_provider: std::collections::BTreeMap::new(),
        sse_fallback: false,
        version_negotiation: VersionNegotiation::Auto,
        pool: PoolMode::Session,
    });
    Row {
        written: Written::new(Arc::new(json!({ "httpUrl": url }))),
        transport: Some(Transport::Http),
        target: Some("https://mcp.example/mcp?key=•••".to_owned()),
        entry: Entry::Valid(Arc::new(ServerSpec::new(scope, wire, View::default()))),
        ..row(name, scope)
    }
}

/// The same row, with an entry as written.
pub(crate) fn written(mut row: Row, entry: Value) -> Row {
    row.written = Written::new(Arc::new(entry));
    row
}

/// The same row, decided about.
pub(crate) fn decided(mut row: Row, decision: Decision, time: &str) -> Row {
    row.approval = Some(RowApproval { decision, hash: HASH.to_owned(), decided_at: Some(time.to_owned()) });
    row
}

/// A row whose entry does not say what to run.
pub(crate) fn invalid(name: &str, why: &str) -> Row {
    let mut row = row(name, Scope::User);
    row.entry = Entry::Invalid(InvalidEntry { scope: Scope::User, switch: Switch::On, why: why.to_owned() });
    row.transport = None;
    row.target = None;
    row.written_fingerprint = String::new();
    row
}

/// A user's row that a project's unapproved entry would replace.
pub(crate) fn shadowed(name: &str) -> Row {
    let mut row = row(name, Scope::User);
    row.shadowed_by = Some(ShadowedBy {
        scope: Scope::Project,
        source: source("/p/.mcp.json", 3),
        decision: Decision::Undecided,
        hash: HASH.to_owned(),
    });
    row
}

/// Every line fits into 80 columns, but for the command that somebody copies whole.
pub(crate) fn assert_fits(text: &str) {
    use unicode_width::UnicodeWidthStr as _;
    let too_wide = |line: &&str| line.width() > 80 && !line.trim_start().starts_with("qwen mcp approve");
    assert_eq!(text.lines().find(too_wide), None, "in\n{text}");
}

/// What is asked about a project's entry.
pub(crate) fn promptable(name: &str, entry: Value) -> Promptable {
    let row = row(name, Scope::Project);
    Promptable {
        name: row.name,
        hash: HASH.to_owned(),
        scope: Scope::Project,
        source: source("/p/.mcp.json", 3),
        written: Written::new(Arc::new(entry)),
        entry: row.entry,
        variables: Vec::new(),
        replaces: Some(Loser { scope: Scope::User, source: source("/home/u/.qwen/settings.json", 4) }),
    }
}
