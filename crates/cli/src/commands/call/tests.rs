use super::{arguments::asked, *};

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

#[test]
fn a_tool_is_named_by_its_catalogue_name_or_by_its_server_and_its_own() {
    let named = |name: &str| Asked::Named(name.to_owned());
    let of = |server: &str, tool: &str| Asked::Of { server: server.to_owned(), tool: tool.to_owned() };
    let table = [
        ("mcp__time__now", named("mcp__time__now"), None),
        ("mcp__time__now {}", named("mcp__time__now"), Some("{}")),
        ("mcp__time__now @f.json", named("mcp__time__now"), Some("@f.json")),
        ("mcp__time__now -", named("mcp__time__now"), Some("-")),
        ("mcp__time__now nonsense", named("mcp__time__now"), Some("nonsense")),
        ("time now", of("time", "now"), None),
        ("time now {}", of("time", "now"), Some("{}")),
        ("elsewhere now", of("elsewhere", "now"), None),
    ];
    for (line, tool, arguments) in table {
        let (found, text) = asked(&words(line), |name| name == "time").unwrap();
        assert_eq!((found, text.as_deref()), (tool, arguments), "{line}");
    }
    assert!(asked(&words("time"), |name| name == "time").is_err());
    assert!(asked(&words("time {}"), |name| name == "time").is_err());
}

#[test]
fn arguments_are_an_object_from_the_line_or_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    std::fs::write(&path, "\u{feff}{ \"a\": 1 }").unwrap();
    let read = |text: &str| arguments::read(Some(text));
    assert_eq!(arguments::read(None).unwrap(), serde_json::json!({}));
    assert_eq!(read(&format!("@{}", path.display())).unwrap(), serde_json::json!({ "a": 1 }));
    for (text, expected) in [
        ("[1]", "the arguments are not a JSON object"),
        ("{", "the arguments are no JSON: EOF"),
        ("@/nowhere", "the arguments in /nowhere cannot be read"),
    ] {
        let problem = read(text).unwrap_err();
        assert!(problem.message.starts_with(expected), "{}", problem.message);
        assert_eq!(problem.exit, ExitOf::Usage);
    }
}

#[test]
fn progress_reads_well_with_and_without_an_end() {
    let line = |progress, total, message: Option<&str>| {
        progress_line(&Progress { progress, total, message: message.map(str::to_owned) })
    };
    assert_eq!(line(3.0, Some(10.0), Some("reading\u{1b}[2J")), "progress 3 of 10: reading\\u{1b}[2J");
    assert_eq!(line(0.5, None, None), "progress 0.5");
}

#[test]
fn a_result_and_what_a_tool_calls_an_error_differ_in_how_the_command_ends() {
    let keep = Keep::below(std::path::Path::new("/nowhere"));
    let content =
        serde_json::json!([{ "type": "text", "text": "12:00" }, { "type": "resource_link", "uri": "x://2" }]);
    let mut shown = String::new();
    for (label, result) in [
        ("ok", serde_json::json!({ "content": content })),
        ("tool error", serde_json::json!({ "content": content, "isError": true })),
        ("structured", serde_json::json!({ "content": [], "structuredContent": { "time": "12:00" } })),
    ] {
        let text = result::text(&result, &keep).unwrap();
        shown.push_str(&format!("--- {label}\n{text}(exit {})\n", exit_of(&result).code()));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn what_cannot_be_sent_is_refused_for_programs_too() {
    let problems = ["[1]", "{"].map(|text| arguments::read(Some(text)).unwrap_err());
    insta::assert_json_snapshot!(problems);
}
