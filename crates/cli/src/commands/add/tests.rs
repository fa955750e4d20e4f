use qwen_settings_schema::Dialect;
use serde_json::json;

use super::*;
use crate::args::{Command, McpCommand};

/// What a line stands for; `\u{a0}` stands for a blank within a word.
fn typed(line: &str) -> Result<grammar::Typed, grammar::GrammarError> {
    let words = line.split(' ').map(|word| word.replace('\u{a0}', " "));
    let cli = crate::args::parse(["qwen", "mcp"].map(str::to_owned).into_iter().chain(words)).unwrap();
    match cli.command {
        Some(Command::Mcp(McpCommand::Add(args))) => grammar::typed(&args),
        _ => panic!("{line} is no add"),
    }
}

fn entry_of(line: &str, dialect: Dialect) -> Value {
    entry::entry(&typed(line).unwrap(), dialect).unwrap()
}

/// The rows AD of the reference, and what a shell history holds.
#[test]
fn a_command_line_stands_for_exactly_this_entry() {
    let table = [
        (
            "add s /path arg1 arg2 -e FOO=bar",
            json!({ "command": "/path", "args": ["arg1", "arg2"], "env": { "FOO": "bar" } }),
        ),
        ("add s https://e.example/mcp", json!({ "httpUrl": "https://e.example/mcp" })),
        ("add s http://e.example/mcp", json!({ "httpUrl": "http://e.example/mcp" })),
        (
            "add s -t sse http://h/sse -H X-A:\u{a0}1",
            json!({ "url": "http://h/sse", "headers": { "X-A": "1" } }),
        ),
        (
            "add s -t http http://h/m -H A:\u{a0}b:\u{a0}c",
            json!({ "httpUrl": "http://h/m", "headers": { "A": "b: c" } }),
        ),
        (
            "add s https://h/mcp -H A:\u{a0}b:\u{a0}c",
            json!({ "httpUrl": "https://h/mcp", "headers": { "A": "b: c" } }),
        ),
        (
            "add s npx -- -y http://e.example/pkg",
            json!({ "command": "npx", "args": ["-y", "http://e.example/pkg"] }),
        ),
        ("add s npx -y pkg --flag", json!({ "command": "npx", "args": ["-y", "pkg", "--flag"] })),
        ("add s npx -y pkg -e A=b", json!({ "command": "npx", "args": ["-y", "pkg", "-e", "A=b"] })),
        ("add s -e A=b=c -- cmd -e", json!({ "command": "cmd", "args": ["-e"], "env": { "A": "b=c" } })),
        (
            "add -e A=1 s cmd -e B=2 x",
            json!({ "command": "cmd", "args": ["x"], "env": { "A": "1", "B": "2" } }),
        ),
        ("add s cmd --env=A=b -eC=d", json!({ "command": "cmd", "env": { "A": "b", "C": "d" } })),
        ("add s cmd a -- -- b", json!({ "command": "cmd", "args": ["a", "--", "b"] })),
        ("add s cmd -", json!({ "command": "cmd", "args": ["-"] })),
        ("add s cmd x -v", json!({ "command": "cmd", "args": ["x", "-v"] })),
        (
            "add s ./server --timeout 5 --trust --description d\u{a0}d",
            json!({ "command": "./server", "timeout": 5, "trust": true, "description": "d d" }),
        ),
        (
            "add s cmd --include-tools a,b --exclude-tools c",
            json!({ "command": "cmd", "includeTools": ["a", "b"], "excludeTools": ["c"] }),
        ),
        (
            "add s https://h/m --oauth-client-id i --oauth-client-secret x --oauth-redirect-uri http://l/c \
             --oauth-authorization-url http://a --oauth-token-url http://t --oauth-scopes read,write",
            json!({ "httpUrl": "https://h/m", "oauth": {
                "enabled": true, "clientId": "i", "clientSecret": "x", "redirectUri": "http://l/c",
                "authorizationUrl": "http://a", "tokenUrl": "http://t", "scopes": ["read", "write"],
            } }),
        ),
        (
            "add s -t sse http://h/s --oauth-redirect-uri http://l/c",
            json!({ "url": "http://h/s", "oauth": { "enabled": true, "redirectUri": "http://l/c" } }),
        ),
        (
            "add s https://h/m --oauth-scopes read,\u{a0}write\u{a0},\u{a0}admin",
            json!({ "httpUrl": "https://h/m", "oauth": { "enabled": true, "scopes": ["read", "write", "admin"] } }),
        ),
        ("add s -t http ${BASE}/mcp", json!({ "httpUrl": "${BASE}/mcp" })),
    ];
    for (line, expected) in table {
        assert_eq!(entry_of(line, Dialect::Settings), expected, "{line}");
    }
}

#[test]
fn sse_is_said_where_a_url_alone_would_mean_something_else() {
    let line = "add s -t sse http://h/sse";
    assert_eq!(entry_of(line, Dialect::McpJson), json!({ "type": "sse", "url": "http://h/sse" }));
    assert_eq!(entry_of("add s https://h/m", Dialect::McpJson), json!({ "httpUrl": "https://h/m" }));
}

#[test]
fn every_entry_that_is_made_says_something_to_run_in_both_kinds_of_file() {
    for line in [
        "add s cmd x",
        "add s https://h/m -H A:\u{a0}b",
        "add s -t sse http://h/s",
        "add s cmd --timeout 5 -e A=b",
    ] {
        for dialect in [Dialect::Settings, Dialect::McpJson] {
            let parsed = parse_entry(&entry_of(line, dialect), dialect);
            assert!(parsed.server.is_ok() && parsed.findings.is_empty(), "{line}: {:?}", parsed.findings);
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_what_to_type_instead() {
    let table = [
        ("add s", "find the command or URL"),
        ("add s -y cmd", "understand `-y` before the command"),
        ("add --scop user s cmd", "understand `--scop` before the name"),
        ("add s cmd --timeout soon", "understand the options: invalid value 'soon' for '--timeout <MS>'"),
        (
            "add s cmd -s nowhere",
            "understand the options: invalid value 'nowhere' for '--scope <SCOPE>' [possible values: user, project, workspace]",
        ),
        ("add s htp://h/m", "reach `htp://…` over HTTP; name a URL such as https://example.com/mcp"),
        ("add s https://h/m -t stdio", "start `https://…` as a command, since it is a URL; write `-t http`"),
        ("add -t stdio s htp://h/m", "start `htp://…` as a command, since it is a URL"),
        ("add s https://", "reach `https://` over HTTP"),
        ("add s ws://h/m", "reach `ws://…` over HTTP"),
        ("add s cmd -e FOO", "use `FOO…` as a variable; write it as `--env NAME=value`"),
        ("add s https://h/m x", "give arguments to a URL; leave out `x`"),
        ("add s https://h/m -e A=b", "use --env with a URL"),
        ("add s cmd -H A:b", "use --header with a command"),
        ("add s https://h/m -H Ab", "use a header without a colon"),
        ("add s -t http cmd", "reach `cmd` over HTTP"),
        ("add s cmd --oauth-client-id x", "use --oauth-* with a command"),
    ];
    for (line, expected) in table {
        let error = match typed(line) {
            Err(error) => error.to_string(),
            Ok(typed) => entry::entry(&typed, Dialect::Settings).unwrap_err().to_string(),
        };
        assert!(error.starts_with(expected), "{line}: {error}");
    }
}

#[test]
fn the_scope_and_the_transport_may_stand_anywhere_before_the_dashes() {
    for line in [
        "add -s project s cmd x",
        "add s -s project cmd x",
        "add s cmd x -s project",
        "add s cmd x --scope=project",
    ] {
        let typed = typed(line).unwrap();
        assert_eq!(typed.options.scope, Some(EditScope::Project), "{line}");
        assert_eq!(
            (typed.name.as_str(), typed.target.as_str(), typed.args.as_slice()),
            ("s", "cmd", &["x".to_owned()][..])
        );
    }
    assert_eq!(typed("add s cmd -- -s project").unwrap().options.scope, None);
}

#[test]
fn the_form_of_the_answer_may_be_said_before_and_after_the_name() {
    for line in ["add --json s cmd x", "add s --json cmd x", "add s cmd x --json"] {
        let typed = typed(line).unwrap();
        assert!(typed.options.json && typed.args == ["x"], "{line}");
    }
    assert!(!typed("add s cmd -- --json").unwrap().options.json);
    assert!(!typed("add s cmd -y --json").unwrap().options.json);
}

#[test]
fn an_unknown_field_is_told_with_the_one_that_was_probably_meant() {
    let findings = |entry: Value| parse_entry(&entry, Dialect::Settings).findings;
    let slip = findings(json!({ "command": "c", "arg": [], "zz": 1 }));
    assert_eq!(
        slip.iter().map(note).collect::<Vec<_>>(),
        [
            "`arg`: unknown field, kept but not read; did you mean `args`?",
            "`zz`: unknown field, kept but not read"
        ]
    );
    assert_eq!(misspelt(&findings(json!({ "comand": "c" }))), " (`comand`: did you mean `command`?)");
}
