use serde_json::json;

use super::*;

#[test]
fn texts_are_printed_and_what_is_no_text_is_kept_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let keep = Keep::below(folder.path());
    let result = json!({ "content": [
        { "type": "text", "text": "one" },
        { "type": "image", "mimeType": "image/png", "data": "iVBORw0K\nGgo=" },
        { "type": "resource", "resource": { "uri": "x://1", "text": "two" } },
        { "type": "resource_link", "uri": "x://2" },
        { "type": "image", "mimeType": "image/png", "data": "%%" },
    ] });
    let text = text(&result, &keep).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "one");
    assert_eq!(&lines[2..], ["two", "[resource x://2]", "[image image/png, which could not be decoded]"]);
    let path = lines[1].strip_prefix("[image image/png, 8 bytes, in ").unwrap().strip_suffix(']').unwrap();
    assert!(path.ends_with(".png"), "{path}");
    assert_eq!(fs::read(path).unwrap(), b"\x89PNG\r\n\x1a\n");
}

#[test]
fn a_large_text_is_kept_in_a_file_and_a_small_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let keep = Keep::below(folder.path());
    let of = |length: usize| json!({ "content": [{ "type": "text", "text": "x".repeat(length) }] });
    assert_eq!(text(&of(LARGEST_TEXT - 1), &keep).unwrap().len(), LARGEST_TEXT);
    let said = text(&of(LARGEST_TEXT), &keep).unwrap();
    let path = said.strip_prefix("[65537 bytes of text in ").unwrap().trim_end().strip_suffix(']').unwrap();
    assert_eq!(fs::read(path).unwrap().len(), LARGEST_TEXT + 1);
}

#[test]
fn what_is_structured_is_shown_where_nothing_else_is() {
    let keep = Keep::below(std::path::Path::new("/nowhere"));
    let said = |result| text(&result, &keep).unwrap();
    assert_eq!(said(json!({ "content": [], "structuredContent": { "a": 1 } })), "{\n  \"a\": 1\n}\n");
    assert_eq!(said(json!({ "content": [{ "type": "text", "text": "t" }], "structuredContent": {} })), "t\n");
    assert_eq!(said(json!({})), "");
}
