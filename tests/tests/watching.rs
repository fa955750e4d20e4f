//! Is every way of saving seen, once, and is a broken file survived: at start and on reload?

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    time::{Duration, Instant},
};

use qwen_tests::{BOUND, Mark, Sandbox, Save, Watch, pause, replace, stated, usage, wait_until};
use serde_json::{Value, json};

/// A document with an untouched server and one that differs by version.
fn version(sandbox: &Sandbox, n: usize) -> String {
    let servers = json!({ "kept": sandbox.fake("kept", &[]), "moved": sandbox.fake("moved", &["--tag", &n.to_string()]) });
    format!("{:#}\n", json!({ "mcpServers": servers }))
}

/// Saves in every way, twice each, and checks that each save is applied exactly once.
fn every_save_is_applied_once(sandbox: &Sandbox, path: &Path, watch: &mut Watch) {
    let kept = watch.pid_of("kept");
    watch.state("moved", "connected");
    let mut n = sandbox.spawns("moved");
    for save in Save::ALL {
        for round in ["first", "second"] {
            n += 1;
            let mark = watch.mark();
            save.save(path, &version(sandbox, n));
            let reload = watch.reloaded(mark);
            assert_eq!(reload["restarted"], json!(["moved"]), "{save:?}, {round}: {reload}");
            watch.state_after(mark, "moved", "connected");
            let seen = watch.nothing_more_since(mark);
            let count = |name: &str| seen.iter().filter(|event| event["event"] == name).count();
            assert_eq!(count("mcp-reload"), 1, "{save:?}, {round}: {seen:#?}");
            assert_eq!(count("settings-invalid"), 0, "{save:?}, {round}: {seen:#?}");
            assert_eq!(sandbox.spawns("moved"), n, "{save:?}, {round}");
            assert_eq!(watch.pid_of("kept"), kept, "{save:?}, {round}");
        }
    }
}

#[test]
fn every_way_to_save_a_file_is_applied_once_the_first_and_the_second_time() {
    let sandbox = Sandbox::new();
    replace(&sandbox.user(), &version(&sandbox, 1));
    let mut watch = sandbox.watch();
    watch.ready();
    every_save_is_applied_once(&sandbox, &sandbox.user(), &mut watch);
}

#[test]
fn every_way_to_save_a_file_behind_a_relative_link_is_applied_once_the_first_and_the_second_time() {
    let sandbox = Sandbox::new();
    let target = sandbox.home().join("dotfiles/qwen.json");
    replace(&target, &version(&sandbox, 1));
    fs::create_dir_all(sandbox.home().join(".qwen")).unwrap();
    symlink("../dotfiles/qwen.json", sandbox.user()).unwrap();
    let mut watch = sandbox.watch();
    watch.ready();
    every_save_is_applied_once(&sandbox, &sandbox.user(), &mut watch);
}

#[test]
fn every_way_to_save_a_file_behind_a_linked_folder_is_applied_once_the_first_and_the_second_time() {
    let sandbox = Sandbox::new();
    let target = sandbox.root().join("elsewhere/settings.json");
    replace(&target, &version(&sandbox, 1));
    symlink(sandbox.root().join("elsewhere"), sandbox.home().join(".qwen")).unwrap();
    let mut watch = sandbox.watch();
    watch.ready();
    every_save_is_applied_once(&sandbox, &sandbox.user(), &mut watch);
}

#[test]
fn a_retargeted_link_is_seen_and_its_new_target_is_watched() {
    let sandbox = Sandbox::new();
    let folder = sandbox.home().join(".qwen");
    fs::create_dir_all(&folder).unwrap();
    let targets: Vec<_> =
        (1..=3).map(|n| sandbox.home().join(format!("profiles/{n}/settings.json"))).collect();
    for (n, target) in targets.iter().enumerate() {
        replace(target, &version(&sandbox, n));
    }
    symlink(&targets[0], sandbox.user()).unwrap();
    let mut watch = sandbox.watch();
    watch.ready();
    let kept = watch.pid_of("kept");
    for target in &targets[1..] {
        let mark = watch.mark();
        let beside = folder.join("link.new");
        symlink(target, &beside).unwrap();
        fs::rename(&beside, sandbox.user()).unwrap();
        watch.state_after(mark, "moved", "connected");
    }
    let mark = watch.mark();
    replace(&targets[2], &version(&sandbox, 9));
    watch.state_after(mark, "moved", "connected");
    // The old target is nobody's file any more.
    let mark = watch.quiet();
    replace(&targets[0], &version(&sandbox, 10));
    assert_eq!(watch.nothing_more_since(mark), Vec::<Value>::new());
    assert_eq!(watch.pid_of("kept"), kept);
}

#[test]
fn a_swap_of_the_data_link_is_seen_the_first_and_the_second_time() {
    let sandbox = Sandbox::new();
    let folder = sandbox.home().join(".qwen");
    let put = |n: usize| {
        let version_folder = folder.join(format!("..t{n}"));
        replace(&version_folder.join("settings.json"), &version(&sandbox, n));
        symlink(format!("..t{n}"), folder.join("..data_tmp")).unwrap();
        fs::rename(folder.join("..data_tmp"), folder.join("..data")).unwrap();
    };
    put(1);
    symlink("..data/settings.json", sandbox.user()).unwrap();
    let mut watch = sandbox.watch();
    watch.ready();
    let kept = watch.pid_of("kept");
    for n in [2, 3] {
        let mark = watch.mark();
        put(n);
        fs::remove_dir_all(folder.join(format!("..t{}", n - 1))).unwrap();
        watch.state_after(mark, "moved", "connected");
        let seen = watch.nothing_more_since(mark);
        let reloads = seen.iter().filter(|event| event["event"] == "mcp-reload").count();
        assert_eq!(reloads, 1, "{seen:#?}");
    }
    assert_eq!(watch.pid_of("kept"), kept);
}

#[test]
fn files_and_folders_that_come_after_the_start_are_seen_and_so_is_their_second_coming() {
    let sandbox = Sandbox::new();
    // Neither `~/.qwen` nor the project's `.qwen` nor `.mcp.json` is there.
    let watch = sandbox.watch();
    watch.ready();
    for round in ["first", "second"] {
        let mark = watch.mark();
        sandbox.user_servers(&json!({ "mine": sandbox.fake("mine", &[]) }));
        watch.state_after(mark, "mine", "connected");
        sandbox.project_servers(&json!({ "p": sandbox.fake("p", &[]) }));
        watch.state_after(mark, "p", "pending_approval");
        sandbox.write(&sandbox.workspace(), &json!({ "mcpServers": { "w": sandbox.fake("w", &[]) } }));
        watch.state_after(mark, "w", "pending_approval");

        let mark = watch.mark();
        fs::remove_dir_all(sandbox.home().join(".qwen")).unwrap();
        fs::remove_dir_all(sandbox.project().join(".qwen")).unwrap();
        fs::remove_file(sandbox.mcp_json()).unwrap();
        for name in ["mine", "p", "w"] {
            watch.state_after(mark, name, "removed");
        }
        let kinds = watch.named_since(mark, "settings-change");
        assert!(kinds.iter().all(|e| !e.to_string().contains("created")), "{round}: {kinds:#?}");
    }
    assert!(!sandbox.project().join(".qwen").exists(), "watching makes no folder");
}

/// Milliseconds since midnight of an event's `YYYY-MM-DDTHH:MM:SS.mmmZ`.
fn time_of_day_ms(event: &Value) -> u64 {
    let time = event["time"].as_str().unwrap_or_default();
    let part = |range: std::ops::Range<usize>| {
        time.get(range).and_then(|digits| digits.parse::<u64>().ok()).unwrap_or_default()
    };
    ((part(11..13) * 60 + part(14..16)) * 60 + part(17..19)) * 1000 + part(20..23)
}

#[test]
fn a_file_saved_every_100_ms_is_applied_in_between_and_no_more_often_than_the_debounce_allows() {
    let sandbox = Sandbox::new();
    replace(&sandbox.user(), &version(&sandbox, 0));
    let watch = sandbox.watch();
    watch.ready();
    let (mark, start) = (watch.mark(), Instant::now());
    let mut n = 0;
    while start.elapsed() < Duration::from_secs(6) {
        n += 1;
        replace(&sandbox.user(), &version(&sandbox, n));
        pause(Duration::from_millis(100));
    }
    let events = watch.since(mark);
    let times: Vec<u64> =
        events.iter().filter(|event| event["event"] == "mcp-reload").map(time_of_day_ms).collect();
    let longest = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max().unwrap_or(u64::MAX);
    let last = n.to_string();
    wait_until(BOUND, "the last save", || {
        let spawned = sandbox.logged("moved", "spawn").pop()?;
        (spawned["argv"].as_array()?.last()? == &json!(last)).then_some(())
    });
    assert!((2..=20).contains(&times.len()), "{} reloads within 6 s", times.len());
    assert!(Duration::from_millis(longest) <= stated(Duration::from_millis(2500)), "a gap of {longest} ms");
    assert_eq!(sandbox.spawns("kept"), 1);
}

#[test]
fn temporary_files_beside_the_settings_cost_no_reload_and_little_work() {
    let sandbox = Sandbox::new();
    replace(&sandbox.user(), &version(&sandbox, 0));
    let mut watch = sandbox.watch();
    watch.ready();
    let mark = watch.mark();
    let before = usage(watch.pid()).unwrap().cpu_ms;
    let folder = sandbox.home().join(".qwen");
    let start = Instant::now();
    for n in 0_u32..1500 {
        let file = folder.join(format!("settings.json.tmp{n}"));
        fs::write(&file, "{").unwrap();
        fs::remove_file(&file).unwrap();
        if n.is_multiple_of(50) {
            pause(Duration::from_millis(80));
        }
    }
    assert_eq!(watch.nothing_more_since(mark), Vec::<Value>::new());
    let spent = usage(watch.pid()).unwrap().cpu_ms - before;
    let took = u64::try_from(start.elapsed().as_millis()).unwrap();
    assert!(spent < took / 2, "{spent} ms of {took} ms");
}

/// The broken contents of the failure table, with the line and column where there is one.
fn broken_contents() -> Vec<(&'static str, Vec<u8>, Option<u64>)> {
    let deep = format!("{}{}", "[".repeat(70), "]".repeat(70));
    vec![
        ("syntax", b"{\n  \"mcpServers\": {\n    oops\n  }\n}\n".to_vec(), Some(3)),
        ("not UTF-8", b"{ \"a\": \"\xff\xfe\" }".to_vec(), None),
        ("root not an object", b"[1, 2]".to_vec(), Some(1)),
        ("too deep", format!("{{\"x\": {deep}}}").into_bytes(), None),
        ("too large", format!("{{\"x\": \"{}\"}}", "y".repeat(9 << 20)).into_bytes(), None),
    ]
}

#[test]
fn a_file_that_breaks_while_the_session_runs_changes_nothing_and_its_repair_is_picked_up() {
    for scope in ["user", "project"] {
        let sandbox = Sandbox::new();
        let path = if scope == "user" { sandbox.user() } else { sandbox.mcp_json() };
        sandbox.user_servers(&json!({ "a": sandbox.fake("a", &[]) }));
        if scope == "project" {
            sandbox.project_servers(&json!({ "gated": sandbox.fake("gated", &[]) }));
        }
        let good = fs::read_to_string(&path).unwrap();
        let mut watch = sandbox.watch();
        watch.ready();
        let pid = watch.pid_of("a");
        for (n, (what, bytes, line)) in broken_contents().into_iter().enumerate() {
            let mark = watch.mark();
            fs::write(&path, &bytes).unwrap();
            let said = watch.after(mark, "settings-invalid", |_| true);
            assert_eq!(said["path"], json!(path), "{scope}, {what}");
            assert_eq!(said["keptLastGood"], true, "{scope}, {what}: {said}");
            if line.is_some() {
                assert_eq!(said["line"].as_u64(), line, "{scope}, {what}: {said}");
                assert!(said["column"].as_u64() >= Some(1), "{scope}, {what}: {said}");
            }
            // Saved again as it is: told once per distinct content.
            fs::write(&path, &bytes).unwrap();
            let seen = watch.nothing_more_since(mark);
            let count = |name: &str| seen.iter().filter(|event| event["event"] == name).count();
            assert_eq!(
                (count("settings-invalid"), count("mcp-reload")),
                (1, 0),
                "{scope}, {what}: {seen:#?}"
            );

            let mark = watch.mark();
            let added = format!("added{n}");
            let mut document: Value = serde_json::from_str(&good).unwrap();
            document["mcpServers"][&added] = sandbox.fake(&added, &[]);
            sandbox.write(&path, &document);
            watch.after(mark, "settings-recovered", |event| event["path"] == json!(path));
            let state = if scope == "user" { "connected" } else { "pending_approval" };
            watch.state_after(mark, &added, state);
            assert_eq!(watch.pid_of("a"), pid, "{scope}, {what}");
        }
    }
}

#[test]
fn a_file_that_is_broken_at_start_stops_nobody_where_it_is_gated_and_everybody_where_it_may_restrict() {
    for (what, bytes, _) in broken_contents() {
        for scope in ["system", "system-defaults", "user", "workspace", "project", "session"] {
            let sandbox = Sandbox::new();
            let mine = json!({ "mcpServers": { "a": sandbox.fake("a", &[]) } });
            let session = sandbox.root().join("session.json");
            let path = match scope {
                "system" => sandbox.system(),
                "system-defaults" => sandbox.system_defaults(),
                "user" => sandbox.user(),
                "workspace" => sandbox.workspace(),
                "project" => sandbox.mcp_json(),
                _ => session.clone(),
            };
            let good = if scope == "user" { sandbox.system() } else { sandbox.user() };
            sandbox.write(&good, &mine);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &bytes).unwrap();
            let mut flags = vec!["mcp", "list", "--json"];
            if scope == "session" {
                flags.extend(["--mcp-config", session.to_str().unwrap()]);
            }
            let listed = sandbox.run(&flags).ended_with(0);
            let restricts = matches!(scope, "system" | "system-defaults" | "user");
            let expected = if restricts { "settings_unreadable" } else { "connected" };
            assert_eq!(listed.state("a"), expected, "{scope}, {what}");
            assert_eq!(sandbox.spawns("a"), usize::from(!restricts), "{scope}, {what}");
            let diagnostics = listed.json()["diagnostics"].clone();
            let ours = diagnostics.as_array().unwrap().iter().find(|d| d["path"] == json!(path));
            let ours = ours.unwrap_or_else(|| panic!("{scope}, {what}: {diagnostics:#}"));
            assert_eq!(ours["severity"], "error", "{scope}, {what}: {ours}");
        }
    }
}

#[test]
fn what_may_restrict_and_is_broken_at_start_is_repaired_while_the_session_runs() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({ "a": sandbox.fake("a", &[]) }));
    replace(&sandbox.system(), "{ \"mcp\": ");
    let watch = sandbox.watch();
    watch.state("a", "settings_unreadable");
    assert_eq!(sandbox.spawns("a"), 0);
    sandbox.write(&sandbox.system(), &json!({ "mcp": { "allowed": ["a"] } }));
    watch.state("a", "connected");
}

#[test]
fn a_restricting_key_of_the_wrong_type_never_admits_more_than_before() {
    let wrong = [
        json!({ "allowed": "a" }),
        json!({ "allowed": null }),
        json!({ "allowed": ["a", 1] }),
        json!({ "allowed": { "a": true } }),
        json!({ "excluded": "b" }),
        json!({ "excluded": null }),
        json!({ "excluded": [["b"]] }),
        json!("allowed"),
        json!(null),
        json!([]),
    ];
    for mcp in wrong {
        let sandbox = Sandbox::new();
        let servers = json!({ "a": sandbox.fake("a", &[]), "b": sandbox.fake("b", &[]) });
        sandbox.write(
            &sandbox.user(),
            &json!({ "mcpServers": servers, "mcp": { "allowed": ["a"], "excluded": ["b"] } }),
        );
        let mut watch = sandbox.watch();
        watch.ready();
        let pid = watch.pid_of("a");
        let mark = watch.mark();
        sandbox.write(&sandbox.user(), &json!({ "mcpServers": servers, "mcp": mcp }));
        watch.nothing_more_since(mark);
        assert_eq!(watch.pid_of("a"), pid, "{mcp}");
        assert_eq!(sandbox.spawns("b"), 0, "{mcp}");
        drop(watch);

        let listed = sandbox.run(["mcp", "list", "--json"]).ended_with(0);
        for name in ["a", "b"] {
            let state = listed.state(name);
            assert!(state == "not_allowed" || state == "excluded", "at start, {mcp}: {name} is {state}");
        }
        assert_eq!(sandbox.spawns("a"), 1, "{mcp}");
    }
}

#[test]
fn without_any_inotify_instance_the_session_starts_names_the_limit_polls_and_still_reloads() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({ "a": sandbox.fake("a", &[]) }));
    let script = "echo 0 > /proc/sys/user/max_inotify_instances && exec \"$0\" \"$@\"";
    let inner = sandbox.command(["mcp", "watch", "--json"]);
    let mut command = std::process::Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", script]);
    command.arg(inner.get_program()).args(inner.get_args());
    command.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(sandbox.project());
    let mut probe = std::process::Command::new("unshare");
    probe.args(["--user", "--map-root-user", "sh", "-c", "echo 0 > /proc/sys/user/max_inotify_instances"]);
    if !probe.output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: user namespaces are not available here");
        return;
    }
    let watch = Watch::start(command, &sandbox);
    let notice = watch.after(Mark::START, "notice", |event| event["code"] == "watch-degraded");
    assert!(notice["message"].as_str().unwrap().contains("max_user_instances"), "{notice}");
    watch.state("a", "connected");
    let mark = watch.mark();
    sandbox.user_servers(&json!({ "b": sandbox.fake("b", &[]) }));
    watch.state_after(mark, "a", "removed");
    watch.state_after(mark, "b", "connected");
    assert_eq!(watch.named_since(Mark::START, "notice").len(), 1);
}

#[test]
fn polling_can_be_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.write(&sandbox.user(), &json!({ "mcp": { "watch": "poll" } }));
    let watch = sandbox.watch();
    watch.ready();
    sandbox.write(
        &sandbox.user(),
        &json!({ "mcp": { "watch": "poll" }, "mcpServers": { "a": sandbox.fake("a", &[]) } }),
    );
    watch.state("a", "connected");
}

#[test]
fn an_edit_is_acted_on_within_half_a_second_of_the_save() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!({}));
    let watch = sandbox.watch();
    watch.ready();
    let mark = watch.mark();
    sandbox.user_servers(&json!({ "a": sandbox.fake("a", &[]) }));
    watch.after_within(stated(Duration::from_millis(500)), mark, "mcp-reload", |_| true);
}

#[test]
fn ordinary_settings_of_qwen_code_load_without_a_word() {
    let sandbox = Sandbox::new();
    let ordinary = json!({
        "$version": 3,
        "general": { "preferredEditor": "vim", "vimMode": true, "checkpointing": { "enabled": true } },
        "ui": { "theme": "Qwen Dark", "hideTips": true, "customThemes": {} },
        "model": { "name": "qwen3-coder-plus", "maxSessionTurns": -1 },
        "modelProviders": { "openai": [{ "id": "x", "baseUrl": "https://e.example/v1" }] },
        "tools": { "approvalMode": "default", "allowed": ["ShellTool(git status)"] },
        "context": { "fileName": ["QWEN.md"] },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        "security": { "auth": { "selectedType": "openai" } },
        "permissions": { "allow": ["Bash(ls)"] },
        "mcpServers": {
            "a": sandbox.fake("a", &[]),
            "remote": { "httpUrl": "https://e.example/mcp", "headers": { "X-A": "b" }, "timeout": 5000, "trust": false },
        },
    });
    for document in [ordinary, json!({ "permissions": { "allow": [] }, "$version": 3 })] {
        sandbox.write(&sandbox.user(), &document);
        let checked = sandbox.run(["settings", "check", "--json"]).ended_with(0);
        assert_eq!(checked.json()["diagnostics"], json!([]), "{document:#}");
    }
}
