use std::collections::BTreeMap;

use qwen_core::{Decision, EnvPolicy};
use serde_json::{Value, json};

use super::*;
use crate::settings::{Broken, Content, Positions, Presence, Reach, SourceFile, SourceId};

fn candidate(entry: Value, id: SourceId) -> Candidate {
    let file = SourceFile {
        id,
        path: None,
        resolved_path: None,
        presence: Presence::Present,
        root: Arc::new(json!({})),
        content: Content::Settings,
        positions: Arc::new(Positions::default()),
        broken: None::<Broken>,
        digest: 0,
        diagnostics: Vec::new(),
    };
    Candidate {
        name: "x".into(),
        scope: id.scope(),
        file: Arc::new(file),
        key: Vec::new(),
        written: Written::Entry(Arc::new(entry)),
        dialect: if id == SourceId::McpJson { schema::Dialect::McpJson } else { schema::Dialect::Settings },
    }
}

fn resolved(entry: Value, approval: Approval) -> Resolved {
    let texts = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let process = texts(&[("TOK", "secret-token"), ("EMPTY", ""), ("BREAK", "a\nb"), ("HOST", "http://h")]);
    let around = Surroundings {
        variables: Variables {
            process: &process,
            user: &BTreeMap::new(),
            exe: "/opt/qwen",
            folder: "/w/p",
            home: Some("/home/u"),
            reach: Reach::Everything,
        },
        root: Path::new("/w/p"),
        tool_idle: Duration::from_secs(300),
    };
    let id = match approval {
        Approval::NotGated => SourceId::User,
        Approval::Gated(_) => SourceId::McpJson,
    };
    resolve(&candidate(entry, id), approval, around)
}

fn own(entry: Value) -> Resolved {
    resolved(entry, Approval::NotGated)
}

fn spec_of(resolved: &Resolved) -> &ServerSpec {
    match &resolved.entry {
        Entry::Valid(spec) => spec,
        Entry::Invalid(invalid) => panic!("invalid: {}", invalid.why),
    }
}

fn stdio_of(resolved: &Resolved) -> &qwen_core::Stdio {
    match spec_of(resolved).wire() {
        Wire::Stdio(stdio) => stdio,
        Wire::Http(_) | Wire::Sse(_) => panic!("no program"),
    }
}

fn why(resolved: &Resolved) -> &str {
    match &resolved.entry {
        Entry::Valid(_) => "valid",
        Entry::Invalid(invalid) => &invalid.why,
    }
}

#[test]
fn a_program_has_its_variables_home_and_folder_resolved() {
    let resolved = own(json!({
        "command": "~/bin/srv",
        "args": ["~", "~/d", "/tmp/~foo", "~bob/x", "$TOK", "${workspaceFolder}", "a$", "$NOPE", "${QWEN_EXE}"],
        "env": {"T": "Bearer ${TOK}", "E": "[${EMPTY}]"},
        "cwd": "./sub",
    }));
    let stdio = stdio_of(&resolved);
    assert_eq!(stdio.command, "/home/u/bin/srv");
    assert_eq!(
        stdio.args,
        ["/home/u", "/home/u/d", "/tmp/~foo", "~bob/x", "secret-token", "/w/p", "a$", "$NOPE", "/opt/qwen"]
    );
    assert_eq!(stdio.env["T"].expose(), "Bearer secret-token");
    assert_eq!(stdio.env["E"].expose(), "[]");
    assert_eq!(stdio.cwd, Path::new("/w/p/sub"));
    assert_eq!(
        resolved.oddities.iter().map(Problem::sentence).collect::<Vec<_>>(),
        ["`args.7`: $NOPE is not set and is taken as text"]
    );
    assert_eq!(
        resolved.target.as_deref(),
        Some("~/bin/srv ~ ~/d /tmp/~foo ~bob/x $TOK ${workspaceFolder} a$ $NOPE ${QWEN_EXE}")
    );
    assert!(spec_of(&resolved).masks.iter().any(|mask| mask.expose() == "secret-token"));
    assert_eq!(stdio_of(&own(json!({"command": "srv"}))).cwd, Path::new("/w/p"));
}

#[test]
fn an_unset_variable_makes_an_entry_invalid_where_it_would_be_sent() {
    let cases = [
        (json!({"command": "srv", "env": {"T": "$NOPE"}}), "`env.T`: the variable NOPE is not set"),
        (json!({"command": "${NOPE}"}), "`command`: the variable NOPE is not set"),
        (json!({"command": "srv", "args": ["a", "${NOPE}"]}), "`args.1`: the variable NOPE is not set"),
        (json!({"command": "srv", "cwd": "$NOPE"}), "valid"),
        (json!({"command": "sh", "args": ["-c", "echo $NOPE"]}), "valid"),
        // The variable to set is the one that the reason is about, wherever another one stands.
        (json!({"command": "srv", "args": ["$i ${NOPE}"]}), "`args.0`: the variable NOPE is not set"),
        (
            json!({"command": "srv", "args": ["$i ${input:x}"]}),
            "`args.0`: ${input:…} is a placeholder of another program",
        ),
        (json!({"url": "$NOPE/mcp"}), "`url`: the variable NOPE is not set"),
        (
            json!({"httpUrl": "http://h", "headers": {"A": "Bearer $NOPE"}}),
            "`headers.A`: the variable NOPE is not set",
        ),
        (
            json!({"httpUrl": "http://h", "oauth": {"enabled": true, "clientId": "$NOPE"}}),
            "`oauth.clientId`: the variable NOPE is not set",
        ),
        (json!({"httpUrl": "http://h", "oauth": {"enabled": false, "clientId": "$NOPE"}}), "valid"),
        (json!({"command": "${EMPTY}"}), "`command`: it is empty once its variables are replaced"),
        (
            json!({"command": "srv", "env": {"T": "${input:x}"}}),
            "`env.T`: ${input:…} is a placeholder of another program",
        ),
    ];
    for (entry, expected) in cases {
        let resolved = own(entry.clone());
        assert_eq!(why(&resolved), expected, "{entry}");
        let unset = resolved.problem.and_then(|problem| problem.unset);
        let expected = expected.ends_with("the variable NOPE is not set").then_some("NOPE");
        assert_eq!(unset.as_deref(), expected, "{entry}");
    }
}

#[test]
fn an_address_is_judged_once_it_is_known() {
    let cases = [
        (json!({"httpUrl": "${HOST}/mcp"}), "valid"),
        (json!({"httpUrl": "ftp://h"}), "`httpUrl`: it must begin with http:// or https://"),
        (json!({"url": "not a url"}), "`url`: it is no URL: relative URL without a base"),
        (json!({"serverUrl": "http://"}), "`serverUrl`: it is no URL: empty host"),
        (json!({"httpUrl": "http://h/mcp", "url": "http://h:80/sse"}), "valid"),
        (
            json!({"httpUrl": "${HOST}/mcp", "url": "http://other/sse"}),
            "`url`: it has another origin than `httpUrl`; remove one of them",
        ),
        (
            json!({"httpUrl": "http://h", "headers": {"X": "${BREAK}"}}),
            "`headers.X`: its value holds a line break or a control character",
        ),
        (
            json!({"httpUrl": "http://h", "headers": {"no name": "x"}}),
            "`headers.\"no name\"`: no header can have this name",
        ),
    ];
    for (entry, expected) in cases {
        assert_eq!(why(&own(entry.clone())), expected, "{entry}");
    }
}

#[test]
fn header_names_are_compared_without_regard_to_case() {
    let one = own(json!({"httpUrl": "http://h", "headers": {"X-Key": "a"}}));
    let other = own(json!({"httpUrl": "http://h", "headers": {"x-kEY": "a"}}));
    assert_eq!(spec_of(&one), spec_of(&other));
}

#[test]
fn gated_entries_get_the_short_environment_and_may_not_ask_for_more() {
    let gated = Approval::Gated(Decision::Approved);
    let policy = |entry: Value, approval| stdio_of(&resolved(entry, approval)).env_policy;
    assert_eq!(policy(json!({"command": "srv"}), gated), EnvPolicy::Restricted);
    assert_eq!(policy(json!({"command": "srv"}), Approval::NotGated), EnvPolicy::Full);
    assert_eq!(policy(json!({"command": "srv", "inheritEnv": true}), Approval::NotGated), EnvPolicy::Full);
    assert_eq!(
        policy(json!({"command": "srv", "inheritEnv": false}), Approval::NotGated),
        EnvPolicy::Restricted
    );
    for inherits in [true, false] {
        let entry = resolved(json!({"command": "srv", "inheritEnv": inherits}), gated);
        assert_eq!(why(&entry), "`inheritEnv`: an entry that needs approval may not set it; remove it");
    }
}

#[test]
fn the_dialect_decides_what_a_bare_url_means() {
    let transport = |approval| {
        let resolved = resolved(json!({"url": "http://h"}), approval);
        match spec_of(&resolved).wire() {
            Wire::Http(remote) => format!("http, fallback {}", remote.sse_fallback),
            Wire::Sse(_) => "sse".to_owned(),
            Wire::Stdio(_) => "stdio".to_owned(),
        }
    };
    assert_eq!(transport(Approval::NotGated), "sse");
    assert_eq!(transport(Approval::Gated(Decision::Approved)), "http, fallback true");
}

#[test]
fn the_view_has_its_limits_and_defaults() {
    let plain = own(json!({"command": "srv"}));
    assert_eq!(spec_of(&plain).view, View::default());
    let remote = own(json!({"httpUrl": "http://h"}));
    assert_eq!(spec_of(&remote).view.discovery_timeout, View::REMOTE_DISCOVERY);
    let full = own(json!({
        "command": "srv", "timeout": 5, "discoveryTimeoutMs": 50, "trust": true, "includeTools": [],
        "excludeTools": ["x"], "alwaysLoadTools": true, "description": "${TOK}",
    }));
    let expected = View {
        include_tools: Some(Vec::new()),
        exclude_tools: vec!["x".to_owned()],
        always_load_tools: true,
        trust: true,
        description: Some("${TOK}".to_owned()),
        call_timeout: Duration::from_millis(5),
        idle_timeout: Duration::from_secs(300),
        discovery_timeout: Duration::from_millis(100),
    };
    assert_eq!(spec_of(&full).view, expected);
    assert_eq!(full.warnings.len(), 1);
}

#[test]
fn an_entry_that_is_switched_off_is_just_that_whatever_is_wrong_with_it() {
    for entry in [json!({"disabled": true, "command": 5}), json!({"enabled": false, "url": "$NOPE"})] {
        let Entry::Invalid(invalid) = own(entry).entry else { panic!("it says nothing usable") };
        assert_eq!(invalid.switch, Switch::Off);
    }
}

#[test]
fn a_short_value_is_hidden_only_where_its_name_says_that_it_is_a_secret() {
    let known = |entry: Value| {
        let resolved = own(entry);
        let masks = spec_of(&resolved).masks.iter();
        masks.map(|mask| mask.expose().to_owned()).collect::<Vec<_>>()
    };
    let env = json!({"DB_PASSWORD": "hunt", "DEBUG": "true", "PIN_TOKEN": "123", "REGION": "eu-central"});
    assert_eq!(known(json!({"command": "srv", "env": env})), ["eu-central", "hunt"]);
    let headers = json!({"Authorization": "Bearer tok1", "X-Mode": "fast", "X-Api-Key": "key12"});
    let known = known(json!({"httpUrl": "http://me:pass@h/mcp?mode=full&token=tok2", "headers": headers}));
    assert_eq!(known, ["Bearer tok1", "key12", "pass", "tok1", "tok2"]);
}

#[test]
fn what_an_address_carries_of_secrets_is_known_as_written_and_as_meant() {
    let url = "https://tom%40home:pass%2Fword+1@h/mcp?key=abc%20def123&empty=&flag#frag=x";
    let resolved = own(json!({ "httpUrl": url }));
    let known: Vec<&str> = spec_of(&resolved).masks.iter().map(qwen_core::Secret::expose).collect();
    for secret in ["tom%40home", "tom@home", "pass%2Fword+1", "pass/word+1", "abc%20def123", "abc def123"] {
        assert!(known.contains(&secret), "{secret}: {known:?}");
    }
    assert_eq!(known.len(), 6, "{known:?}");
}
