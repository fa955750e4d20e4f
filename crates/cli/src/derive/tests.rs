//! The whole way from files to verdicts, by data.

mod gating;
mod names;
mod site;
mod start_and_reload;

use serde_json::json;

use self::site::Site;
use super::*;

#[test]
fn each_file_brings_its_servers_with_scope_and_place() {
    let site = Site::new()
        .file("system-defaults.json", json!({"mcpServers": {"d": {"command": "srv"}}}))
        .file("home/.qwen/settings.json", json!({"mcpServers": {"u": {"command": "srv"}}}))
        .text("project/.mcp.json", "{\n  \"mcpServers\": {\n    \"p\": { \"command\": \"srv\" }\n  }\n}")
        .file("project/.qwen/settings.json", json!({"mcpServers": {"w": {"httpUrl": "http://h/mcp"}}}))
        .file("system.json", json!({"mcpServers": {"s": {"url": "http://h/sse"}}}))
        .flag_config("extra.json", json!({"mcpServers": {"x": {"url": "http://h/mcp"}}}));
    let (_, derived) = site.start();
    let rows: Vec<String> = derived
        .rows
        .values()
        .map(|row| {
            format!("{} {} {:?} {}", row.name, row.scope, row.transport, row.target.as_deref().unwrap_or("-"))
        })
        .collect();
    assert_eq!(
        rows,
        [
            "d system-defaults Some(Stdio) srv",
            "u user Some(Stdio) srv",
            "p project Some(Stdio) srv",
            "w workspace Some(Http) http://h/mcp",
            "s system Some(Sse) http://h/sse",
            "x session Some(Http) http://h/mcp",
        ]
    );
    let p = &derived.rows["p"];
    assert_eq!((p.source.line, p.source.column), (Some(3), Some(5)));
    assert_eq!(p.source.path.as_deref(), Some(&*site.path("project/.mcp.json")));
    assert_eq!(
        site.verdicts(&derived),
        "d connect, u connect, p pending_approval, w pending_approval, s connect, x connect"
    );
    assert_eq!(derived.promptable.keys().map(ServerName::as_str).collect::<Vec<_>>(), ["p", "w"]);
}

#[test]
fn nothing_is_searched_for_above_the_project() {
    let site = Site::new()
        .file(".mcp.json", json!({"mcpServers": {"planted": {"command": "evil"}}}))
        .file(".qwen/settings.json", json!({"mcpServers": {"planted": {"command": "evil"}}}));
    assert_eq!(site.start().1.rows.len(), 0);
}

#[test]
fn a_link_in_the_project_is_still_the_projects_and_shows_where_it_leads() {
    let site = Site::new().file("evil.json", json!({"mcpServers": {"x": {"command": "evil"}}}));
    site.link("../../evil.json", "project/.qwen/settings.json");
    let (_, derived) = site.start();
    let row = &derived.rows["x"];
    assert_eq!(
        (row.scope, site.verdicts(&derived).as_str()),
        (qwen_core::Scope::Workspace, "x pending_approval")
    );
    assert_eq!(row.source.resolved_path, Some(site.path("evil.json").canonicalize().unwrap()));
}

#[test]
fn every_name_of_a_file_gives_one_row_whatever_stands_there() {
    let site = Site::new().file(
        "home/.qwen/settings.json",
        json!({"mcpServers": {
            "": {"command": "srv"}, "__proto__": {"command": "srv"}, "constructor": 5, "null": null,
            "a.b": {"type": "ws", "url": "ws://h"}, "Search (T)": {"command": "srv", "disabled": "true"},
            "我的": {"disabled": true, "url": "not a url", "command": 5}, "list": [], "two": {"command": "a", "url": "http://h"},
            "tcp": {"tcp": "h:1"}, "neither": {}, "trust": {"command": "srv", "trust": "false"},
        }}),
    );
    let (_, derived) = site.start();
    assert_eq!(
        site.verdicts(&derived),
        " connect, __proto__ connect, constructor invalid, null invalid, a.b invalid, Search (T) invalid, \
         我的 disabled, list invalid, two invalid, tcp invalid, neither invalid, trust invalid"
    );
    for row in derived.rows.values() {
        if let Entry::Invalid(invalid) = &row.entry {
            assert!(!invalid.why.is_empty() && !invalid.why.ends_with('.'), "{}", row.name);
        }
    }
}

#[test]
fn the_session_servers_later_files_win_and_strict_counts_only_them() {
    let site = Site::new()
        .file("home/.qwen/settings.json", json!({"mcpServers": {"u": {"command": "srv"}, "x": {"command": "user"}}, "mcp": {"excluded": ["two"]}}))
        .flag_config("one.json", json!({"mcpServers": {"x": {"command": "one"}, "two": {"command": "srv"}}}))
        .flag_inline(r#"{"mcpServers": {"x": {"command": "inline"}}}"#);
    let (_, derived) = site.start();
    assert_eq!(site.verdicts(&derived), "u connect, x connect, two excluded");
    let x = &derived.rows["x"];
    assert_eq!(
        (x.target.as_deref(), x.source.path.as_deref(), x.source.line),
        (Some("inline"), None, Some(1))
    );
    assert_eq!(x.shadows.iter().map(|loser| loser.scope.as_str()).collect::<Vec<_>>(), ["session", "user"]);
    let (_, strict) = site.strict().start();
    assert_eq!(site.verdicts(&strict), "x connect, two excluded");
}

#[test]
fn the_server_command_is_an_entry_of_its_files_scope() {
    let site = Site::new()
        .env("TOK", "value")
        .file("home/.qwen/settings.json", json!({"mcp": {"serverCommand": "~/bin/srv --x 'a b' $TOK"}}));
    let (_, derived) = site.start();
    let row = &derived.rows["mcp"];
    assert_eq!(**row.written.value(), json!({"command": "~/bin/srv", "args": ["--x", "a b", "$TOK"]}));
    let home = site.path("home");
    assert_eq!(site.argv(&derived, "mcp"), [&*format!("{}/bin/srv", home.display()), "--x", "a b", "value"]);
    assert_eq!((row.scope, row.source.line), (qwen_core::Scope::User, Some(1)));

    let site = Site::new()
        .file("home/.qwen/settings.json", json!({"mcp": {"serverCommand": "derp && herp"}}))
        .file("project/.qwen/settings.json", json!({"mcp": {"serverCommand": "evil"}}));
    let (_, derived) = site.start();
    // The project's is only a candidate; the user's counts although it is no command.
    assert_eq!(site.verdicts(&derived), "mcp invalid");
    assert_eq!(derived.rows["mcp"].shadowed_by.as_ref().unwrap().scope, qwen_core::Scope::Workspace);
    assert_eq!(derived.diagnostics.iter().filter(|said| said.code == "invalid_entry").count(), 1);

    let own = json!({"mcp": {"serverCommand": "a"}, "mcpServers": {"mcp": {"command": "b"}}});
    let site = Site::new().file("home/.qwen/settings.json", own);
    assert_eq!(site.argv(&site.start().1, "mcp"), ["b"]);
}

#[test]
fn options_come_from_the_settings_and_not_from_the_project() {
    let site = Site::new()
        .file("home/.qwen/settings.json", json!({"mcp": {"autoReload": false, "reloadDebounceMs": 9999, "watch": "poll", "toolIdleTimeoutMs": 20000}, "mcpServers": {"a": {"command": "srv"}}}))
        .file("project/.qwen/settings.json", json!({"mcp": {"autoReload": true, "reloadDebounceMs": 0, "watch": "auto"}}));
    let (_, derived) = site.start();
    let expected = Options {
        auto_reload: AutoReload::Off,
        debounce: Duration::from_secs(5),
        watch: WatchMode::Poll,
        tool_idle: Duration::from_secs(20),
    };
    assert_eq!(derived.options, expected);
    let Entry::Valid(spec) = &derived.servers["a"] else { panic!("a is good") };
    assert_eq!(spec.view.idle_timeout, Duration::from_secs(20));
    assert_eq!(Site::new().start().1.options, Options::default());
}

#[test]
fn the_files_of_real_projects_load_with_the_reasons_they_deserve() {
    let site = Site::new().file(
        "project/.mcp.json",
        json!({
            "inputs": [{"id": "jenkins-basic-auth"}],
            "mcpServers": {
                "jenkins": {"url": "http://h/mcp", "headers": {"Authorization": "Basic ${input:jenkins-basic-auth}"}},
                "here": {"command": "cmd", "args": ["/c", "npx", "-y", "x"], "cwd": "${workspaceFolder}/t"},
                "url": {"url": "http://h:5000/mcp", "description": "d"},
            }
        }),
    );
    let (_, derived) = site.start();
    assert_eq!(site.verdicts(&derived), "jenkins invalid, here pending_approval, url pending_approval");
    let Entry::Invalid(why) = &derived.rows["jenkins"].entry else { panic!("never sent literally") };
    assert_eq!(why.why, "`headers.Authorization`: ${input:…} is a placeholder of another program");
    let site =
        Site::new().file("project/.mcp.json", json!({"servers": {"a": {"command": "x"}}, "inputs": []}));
    let (_, derived) = site.start();
    assert_eq!(derived.diagnostics.iter().map(|said| said.code).collect::<Vec<_>>(), ["other_dialect"]);
}

#[test]
fn a_file_full_of_broken_entries_is_told_in_bounds() {
    let servers: serde_json::Map<String, serde_json::Value> = (0..1_000)
        .map(|n| {
            (format!("s{n}"), json!({"command": "srv", "env": {"T": "${NOPE}"}, "unknown": "x".repeat(20)}))
        })
        .collect();
    let site = Site::new().file("project/.mcp.json", json!({ "mcpServers": servers }));
    let (_, derived) = site.start();
    assert_eq!(derived.rows.len(), 1_000);
    assert_eq!(derived.diagnostics.len(), 400);
    // An excerpt is a pass over the file, so that one for each would take minutes.
    assert_eq!(derived.diagnostics.iter().filter(|said| said.excerpt.is_some()).count(), 40);
}
