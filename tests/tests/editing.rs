//! What becomes of a settings file when the command line edits it: only the lines concerned change, nothing is lost,
//! and a running session sees it like anyone's edit.
#![expect(clippy::unwrap_used, reason = "a helper of a test fails it by panicking")]

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    process::{Child, Stdio},
    time::Duration,
};

use qwen_tests::{BOUND, Sandbox, Terminal, pause, wait_until};
use serde_json::{Value, json};

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn document(path: &Path) -> Value {
    serde_json::from_str(&text(path)).unwrap()
}

fn start(sandbox: &Sandbox, args: &[&str]) -> Child {
    sandbox.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// A file that somebody cares for: comments, tabs, CRLF, trailing commas, a byte order mark, variables.
const CARED_FOR: &str = "\u{feff}// mine\r\n{\r\n\t\"ui\": { \"theme\": \"dark\" }, // dark\r\n\t\"mcpServers\": {\r\n\t\t/* first */\r\n\t\t\"a\": { \"command\": \"${A_BIN:-a}\", \"args\": [\"$HOME\"], },\r\n\t\t\"z\": { \"url\": \"https://${HOST:-h.example}/mcp\" }, // last\r\n\t},\r\n}\r\n";

#[test]
fn only_the_lines_concerned_change_in_a_file_that_somebody_cares_for() {
    let sandbox = Sandbox::new();
    let (real, link) = (sandbox.root().join("dotfiles.json"), sandbox.user());
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    fs::write(&real, CARED_FOR).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&real, &link).unwrap();

    sandbox.run(["mcp", "add", "m", "cmd", "${X}", "-e", "A=b=c"]).ended_with(0);
    let added = "\r\n\t\t\"m\": {\r\n\t\t\t\"command\": \"cmd\",\r\n\t\t\t\"args\": [\r\n\t\t\t\t\"${X}\"\r\n\t\t\t],\r\n\t\t\t\"env\": {\r\n\t\t\t\t\"A\": \"b=c\"\r\n\t\t\t}\r\n\t\t},";
    assert_eq!(text(&real), CARED_FOR.replace(" // last", &format!(" // last{added}")));

    sandbox.run(["mcp", "remove", "m"]).ended_with(0);
    assert_eq!(text(&real), CARED_FOR);

    sandbox.run(["mcp", "disable", "a"]).ended_with(0);
    assert!(
        text(&real).contains("\t\"mcp\": {\r\n\t\t\"excluded\": [\r\n\t\t\t\"a\"\r\n\t\t]\r\n\t},\r\n}"),
        "{}",
        text(&real)
    );
    sandbox.run(["mcp", "enable", "a"]).ended_with(0);
    assert!(text(&real).starts_with(CARED_FOR.strip_suffix("}\r\n").unwrap()));

    sandbox.run(["mcp", "remove", "a"]).ended_with(0);
    assert!(!text(&real).contains("A_BIN") && text(&real).contains("/* first */"));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    sandbox.run(["settings", "check"]).ended_with(0);
}

#[test]
fn each_scope_has_its_file_and_an_existing_name_is_replaced_and_said_so() {
    let sandbox = Sandbox::new();
    for (scope, path) in
        [("user", sandbox.user()), ("project", sandbox.mcp_json()), ("workspace", sandbox.workspace())]
    {
        let ran = sandbox.run(["mcp", "add", "x", "./server", "--scope", scope]).ended_with(0);
        assert!(ran.stdout.starts_with(&format!("added x to {}:3\n", path.display())), "{}", ran.stdout);
        let ran = sandbox.run(["mcp", "add", "-s", scope, "x", "./server", "v2"]).ended_with(0);
        assert!(ran.stdout.starts_with("replaced x in "), "{}", ran.stdout);
        assert_eq!(
            document(&path),
            json!({ "mcpServers": { "x": { "command": "./server", "args": ["v2"] } } })
        );
    }
    let several = sandbox.run(["mcp", "remove", "x"]).ended_with(2);
    assert!(several.stderr.contains("--scope"), "{}", several.stderr);
    assert!(document(&sandbox.user())["mcpServers"]["x"].is_object());
    sandbox.run(["mcp", "remove", "x", "-s", "project"]).ended_with(0);
    assert_eq!(document(&sandbox.mcp_json()), json!({ "mcpServers": {} }));
}

#[test]
fn a_gated_entry_that_is_added_waits_and_the_next_step_names_its_hash() {
    let sandbox = Sandbox::new();
    let entry = sandbox.fake("x", &[]).to_string();
    let ran = sandbox.run(["mcp", "add-json", "x", &entry, "-s", "project", "--json"]).ended_with(0);
    let told = ran.json();
    let hash = told["hash"].as_str().unwrap();
    assert_eq!((hash.len(), &told["status"], &told["scope"]), (64, &json!("added"), &json!("project")));
    assert!(told["nextStep"].as_str().unwrap().contains(hash));
    assert!(!sandbox.approvals().exists(), "nobody decided anything");
    sandbox.run(["mcp", "approve", "x", "--hash", hash]).ended_with(0);
    let again = sandbox.run(["mcp", "add-json", "x", &entry, "-s", "project", "--json"]).ended_with(0).json();
    assert_eq!((&again["status"], &again["nextStep"]), (&json!("replaced"), &Value::Null));
    assert_eq!(sandbox.spawns("x"), 0);
}

#[test]
fn on_a_terminal_what_was_just_typed_can_be_approved_at_once() {
    let sandbox = Sandbox::new();
    let mut terminal = Terminal::start(&sandbox, &["mcp", "add", "x", "cmd", "-s", "project"]);
    terminal.shows("approve it now?");
    terminal.types("y\r");
    terminal.shows("approved x");
    assert!(terminal.ended().success());
    assert_eq!(sandbox.run(["mcp", "plan", "--json"]).row("x")["action"], "connect");
}

#[test]
fn what_cannot_be_edited_or_makes_no_sense_is_refused_and_nothing_is_written() {
    let sandbox = Sandbox::new();
    for broken in [
        "{ \"mcpServers\": {",
        "[]",
        "{ \"mcpServers\": null }",
        "{ \"mcp\": { \"excluded\": \"x\" }, }",
        "{ 'a': 1 }",
    ] {
        qwen_tests::replace(&sandbox.user(), broken);
        for args in [
            &["mcp", "add", "x", "cmd"][..],
            &["mcp", "disable", "x"],
            &["mcp", "remove", "x"],
            &["mcp", "enable", "x"],
        ] {
            let ran = sandbox.run(args.iter());
            // An edit of another key of a text that parses may go through.
            if broken.starts_with("{ \"mcp") && ran.code == Some(0) {
                qwen_tests::replace(&sandbox.user(), broken);
            }
            assert!(ran.code == Some(1) || broken.starts_with("{ \"mcp"), "{broken} {args:?}: {ran:#?}");
            assert_eq!(text(&sandbox.user()), broken, "{args:?}");
        }
    }
    fs::remove_file(sandbox.user()).unwrap();
    for (args, code) in [
        (&["mcp", "add", "x"][..], 2),
        (&["mcp", "add", "x", "cmd", "-e", "A"], 2),
        (&["mcp", "add-json", "x", "{"], 2),
        (&["mcp", "add-json", "x", "{\"args\": []}"], 2),
        (&["mcp", "remove", "x"], 1),
        (&["mcp", "disable", "x"], 1),
        (&["mcp", "enable", "x"], 1),
        (&["mcp", "disable", "x", "-s", "project"], 2),
    ] {
        sandbox.run(args.iter()).ended_with(code);
        assert!(!sandbox.user().exists(), "{args:?}");
    }
}

#[test]
fn enabling_says_which_other_list_or_pattern_still_holds_the_server() {
    let sandbox = Sandbox::new();
    let with = |mcp: Value, off: bool| {
        let mut entry = sandbox.fake("github", &[]);
        if off {
            entry["disabled"] = json!(true);
        }
        sandbox.write(&sandbox.user(), &json!({ "mcp": mcp, "mcpServers": { "github": entry } }));
        sandbox.run(["mcp", "enable", "github", "--json"]).ended_with(0).json()
    };
    let told = with(json!({ "excluded": ["github", "git*"] }), false);
    assert_eq!(told["status"], "enabled");
    assert!(told["cause"].as_str().unwrap().contains("git*"), "{told}");
    assert_eq!(document(&sandbox.user())["mcp"]["excluded"], json!(["git*"]));
    let told = with(json!({ "allowed": ["time"], "excluded": ["github"] }), false);
    assert!(told["cause"].as_str().unwrap().contains("mcp.allowed"), "{told}");
    let told = with(json!({ "excluded": [" github "] }), false);
    assert_eq!((&told["status"], &told["cause"]), (&json!("enabled"), &Value::Null));
    let told = with(json!({}), true);
    assert_eq!((&told["status"], &told["cause"]), (&json!("enabled"), &Value::Null));
    assert_eq!(document(&sandbox.user())["mcpServers"]["github"].get("disabled"), None);
    let told = with(json!({}), false);
    assert_eq!(told["status"], "unchanged");
}

#[test]
fn a_running_session_sees_these_edits_like_anyones() {
    let sandbox = Sandbox::new();
    let watch = sandbox.watch();
    watch.ready();
    sandbox.run(["mcp", "add-json", "x", &sandbox.fake("x", &[]).to_string()]).ended_with(0);
    watch.state("x", "connected");
    let mark = watch.mark();
    sandbox.run(["mcp", "disable", "x"]).ended_with(0);
    watch.state_after(mark, "x", "excluded");
    let mark = watch.mark();
    sandbox.run(["mcp", "enable", "x"]).ended_with(0);
    watch.state_after(mark, "x", "connected");
    let mark = watch.mark();
    sandbox.run(["mcp", "remove", "x"]).ended_with(0);
    watch.state_after(mark, "x", "removed");
    watch.finish();
}

#[test]
fn two_processes_that_add_at_the_same_time_are_both_there_a_hundred_times() {
    let sandbox = Sandbox::new();
    for round in 0..100 {
        let names = [format!("a{round}"), format!("b{round}")];
        let mut both = names.each_ref().map(|name| start(&sandbox, &["mcp", "add", name, "cmd"]));
        assert!(both.iter_mut().all(|child| child.wait().unwrap().success()), "round {round}");
        let servers = &document(&sandbox.user())["mcpServers"];
        assert!(names.iter().all(|name| servers[name].is_object()), "round {round}");
    }
    assert_eq!(document(&sandbox.user())["mcpServers"].as_object().unwrap().len(), 200);
    let left: Vec<_> = fs::read_dir(sandbox.user().parent().unwrap())
        .unwrap()
        .map(|file| file.unwrap().file_name())
        .collect();
    assert_eq!(left, ["settings.json"]);
}

#[test]
fn a_kill_during_a_write_leaves_the_old_file_or_the_new_one() {
    let sandbox = Sandbox::new();
    let many: serde_json::Map<String, Value> = (0..2000)
        .map(|n| (format!("s{n}"), json!({ "command": "cmd", "args": ["x".repeat(200)] })))
        .collect();
    sandbox.user_servers(&Value::Object(many));
    let old = text(&sandbox.user());
    let (mut olds, mut news) = (0, 0);
    for round in 0..30_u64 {
        let mut child = start(&sandbox, &["mcp", "add", "new", "cmd"]);
        pause(Duration::from_millis(round * 8));
        child.kill().unwrap();
        child.wait().unwrap();
        let now = text(&sandbox.user());
        if now == old {
            olds += 1;
        } else {
            let document: Value = serde_json::from_str(&now).unwrap();
            assert_eq!(document["mcpServers"].as_object().unwrap().len(), 2001);
            news += 1;
            qwen_tests::replace(&sandbox.user(), &old);
        }
    }
    assert!(olds > 0, "{olds} old, {news} new");
    sandbox.run(["mcp", "add", "new", "cmd"]).ended_with(0);
    let left = || fs::read_dir(sandbox.user().parent().unwrap()).unwrap().count();
    wait_until(BOUND, "nothing left behind", || (left() == 1).then_some(()));
}
