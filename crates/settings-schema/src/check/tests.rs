//! Documents and everything there is to say about them.

use SettingsScope::{User, Workspace};
use serde_json::json;

use super::*;
use crate::Severity;

/// Findings in a line each: severity, code, key, and the hint where there is one.
fn said(root: &Value, document: Document) -> Vec<String> {
    check(root, document)
        .into_iter()
        .map(|finding| {
            let hint = finding.hint.map_or_else(String::new, |hint| format!(" ({hint})"));
            format!("{} {} {}{hint}", finding.severity.as_str(), finding.code.as_str(), finding.key)
        })
        .collect()
}

const STRICT: &str =
    " (until it is mended a running session keeps its last good value, and a new one takes the strictest)";

#[test]
fn an_ordinary_settings_file_of_qwen_code_loads_without_a_word() {
    for document in [
        json!({}),
        json!({"permissions": {"allow": ["Bash(git *)"], "deny": []}, "$version": 4}),
        json!({
            "$schema": "x", "$version": 4, "general": {"vimMode": true}, "ui": {"theme": "Qwen Dark", "statusLine": null},
            "model": {"name": "qwen3-coder-plus"}, "modelProviders": {"openai": [{"id": "a", "envKey": "OPENAI_API_KEY"}]},
            "tools": {"approvalMode": "yolo", "sandbox": false}, "context": {"fileName": "QWEN.md"}, "telemetry": {},
            "privacy": {"usageStatisticsEnabled": false}, "ide": {"enabled": true}, "output": {"format": "json"},
            "security": {"auth": {"selectedType": "openai", "apiKey": "k"}, "folderTrust": {"enabled": false}},
            "env": {"DASHSCOPE_API_KEY": "k"}, "advanced": {"dnsResolutionOrder": "ipv4first"}, "hooks": {"Stop": []},
            "experimental": {"cron": true}, "webSearch": {"provider": []}, "memory": {}, "lsp": {}, "serve": {},
            "fastModel": "m", "codingPlan": {"region": "china"}, "proxy": "http://p", "agents": {}, "channels": {},
            "mcp": {"allowed": ["a*"], "excluded": [], "serverCommand": "srv", "toolIdleTimeoutMs": 300_000},
            "mcpServers": {
                "files": {"command": "npx", "args": ["-y", "srv", "."], "env": {"A": "$A"}, "timeout": 15_000, "trust": true},
                "remote": {"httpUrl": "https://h", "headers": {"Authorization": "Bearer ${T}"}, "includeTools": ["x"]},
            },
            "ownKeyOfSomebody": 1, "x": 1,
        }),
    ] {
        assert_eq!(said(&document, Document::Settings(User)), Vec::<String>::new());
    }
}

#[test]
fn everything_wrong_in_a_settings_file_is_said() {
    for (document, findings) in [
        (json!([]), vec!["error wrong_type ".to_owned()]),
        (
            json!({"mcpServer": {}}),
            vec!["warning unknown_key mcpServer (did you mean `mcpServers`?)".to_owned()],
        ),
        (
            json!({"mcpserverz": {}}),
            vec!["warning unknown_key mcpserverz (did you mean `mcpServers`?)".to_owned()],
        ),
        (json!({"secruity": {}}), vec!["warning unknown_key secruity (did you mean `security`?)".to_owned()]),
        (
            json!({"telemetri": {}}),
            vec!["warning unknown_key telemetri (did you mean `telemetry`?)".to_owned()],
        ),
        (
            json!({"servers": {}}),
            vec!["warning other_dialect servers (rename it to `mcpServers`)".to_owned()],
        ),
        (
            json!({"mcp": {"alowed": [], "own": 1}}),
            vec![
                "warning unknown_key mcp.alowed (did you mean `allowed`?)".to_owned(),
                "warning unknown_key mcp.own".to_owned(),
            ],
        ),
        (json!({"security": {"own": 1}}), vec![]),
        (json!({"mcp": null}), vec![format!("error wrong_type mcp{STRICT}")]),
        (json!({"security": []}), vec![format!("error wrong_type security{STRICT}")]),
        (
            json!({"security": {"folderTrust": 1}}),
            vec![format!("error wrong_type security.folderTrust{STRICT}")],
        ),
        (json!({"mcp": {"allowed": "a"}}), vec![format!("error wrong_type mcp.allowed{STRICT}")]),
        (
            json!({"mcp": {"excluded": ["a", 1, null]}}),
            vec![
                format!("error wrong_type mcp.excluded.1{STRICT}"),
                format!("error wrong_type mcp.excluded.2{STRICT}"),
            ],
        ),
        (
            json!({"mcp": {"reloadDebounceMs": 9999, "toolIdleTimeoutMs": 1, "watch": "polls"}}),
            vec![
                "warning out_of_range mcp.reloadDebounceMs".to_owned(),
                "error wrong_word mcp.watch (did you mean `poll`?)".to_owned(),
                "warning out_of_range mcp.toolIdleTimeoutMs".to_owned(),
            ],
        ),
        (
            json!({"mcp": {"reloadDebounceMs": 0.5, "toolIdleTimeoutMs": 1e300, "autoReload": "true"}}),
            vec![
                "error wrong_type mcp.autoReload (write it without quotes)".to_owned(),
                "error wrong_type mcp.reloadDebounceMs".to_owned(),
                "error unsafe_number mcp.toolIdleTimeoutMs (write a smaller number, or a string)".to_owned(),
            ],
        ),
        (json!({"mcpServers": []}), vec!["error wrong_type mcpServers".to_owned()]),
        (
            json!({"mcpServers": null}),
            vec!["error wrong_type mcpServers (remove it to leave it unset)".to_owned()],
        ),
        (json!({"env": {"A": 1}}), vec!["error wrong_type env.A".to_owned()]),
        (
            json!({"mcpServers": {"a.b": {"command": "x", "arg": []}, "constructor": null, "": {"command": "x"}}}),
            vec![
                r#"warning unknown_key mcpServers."a.b".arg (did you mean `args`?)"#.to_owned(),
                "error wrong_type mcpServers.constructor (remove it to leave it unset)".to_owned(),
            ],
        ),
        (
            json!({"mcpServers": {"bad": {"disabled": true, "url": "u", "command": 5}, "good": {"command": "srv"}}}),
            vec![
                "warning wrong_type mcpServers.bad.command".to_owned(),
                "warning invalid_entry mcpServers.bad.url (keep the one that is meant)".to_owned(),
            ],
        ),
    ] {
        assert_eq!(said(&document, Document::Settings(User)), findings, "{document}");
    }
}

#[test]
fn a_project_is_told_what_it_may_not_set_and_nothing_else_about_it() {
    let document = json!({
        "mcp": {"autoReload": "x", "watch": 1}, "env": [], "security": {"folderTrust": {"enabled": "no"}}, "ui": {},
    });
    let barred = |key: &str| format!("warning ignored_here {key} (set it in the user settings)");
    assert_eq!(
        said(&document, Document::Settings(Workspace)),
        ["mcp.autoReload", "mcp.watch", "security.folderTrust.enabled", "env"].map(barred)
    );
}

#[test]
fn a_project_file_of_another_program_is_told_what_to_change() {
    for (document, findings) in [
        (json!({"mcpServers": {"a": {"command": "x"}}, "inputs": [], "own": 1, "mcp": 5}), vec![]),
        (
            json!({"servers": {"a": {"command": "x"}}, "inputs": []}),
            vec!["warning other_dialect servers (rename it to `mcpServers`)"],
        ),
        (json!({"mcpservers": {}}), vec!["warning unknown_key mcpservers (did you mean `mcpServers`?)"]),
        (
            json!({"a": {"command": "x"}, "b": {"url": "u"}, "version": 1}),
            vec![
                "warning other_dialect a (move it below `mcpServers`)",
                "warning other_dialect b (move it below `mcpServers`)",
            ],
        ),
        (json!({"mcpServers": null}), vec!["error wrong_type mcpServers (remove it to leave it unset)"]),
        (
            json!({"mcpServers": {
                "jenkins": {"url": "http://h:5000/mcp", "headers": {"Authorization": "Basic ${input:id}"}},
                "local": {"command": "cmd", "args": ["/c", "npx", "-y", "x"], "cwd": "${workspaceFolder}/t"},
                "described": {"url": "http://h:5000/mcp", "description": "d"},
            }}),
            vec![],
        ),
    ] {
        assert_eq!(said(&document, Document::McpJson), findings, "{document}");
    }
}

#[test]
fn a_name_that_objects_inherit_elsewhere_is_an_ordinary_name() {
    for name in ["__proto__", "constructor", "hasOwnProperty", "toString", ""] {
        let good = json!({"mcpServers": {name: {"command": "x"}}});
        assert_eq!(check(&good, Document::McpJson), [], "{name}");
        let bad = json!({"mcpServers": {name: {"command": 1}}});
        let findings = check(&bad, Document::Settings(User));
        assert_eq!(findings[0].key, KeyPath::new(["mcpServers", name, "command"]));
        assert_eq!(findings[0].severity, Severity::Error);
        let setting = json!({name: 1, "mcp": {name: 1}});
        assert!(
            check(&setting, Document::Settings(User))
                .iter()
                .all(|finding| finding.key.segments()[0] == "mcp")
        );
    }
}

#[test]
fn a_document_that_is_nothing_but_findings_is_told_in_bounds() {
    let unknown: Map<String, Value> = (0..300).map(|n| (format!("own{n}"), json!([1e300, 1]))).collect();
    let servers: Map<String, Value> =
        (0..50).map(|n| (format!("s{n}"), Value::Object(unknown.clone()))).collect();
    let long = Value::from(vec![1; 5000]);
    let document = json!({"mcpServers": servers, "mcp": {"allowed": long, "excluded": long}});
    let findings = check(&document, Document::Settings(User));
    assert!(findings.len() <= 2 * MOST, "{}", findings.len());
}
