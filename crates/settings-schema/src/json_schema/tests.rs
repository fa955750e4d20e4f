//! The schema agrees with the tables and with the committed file.

use super::*;

#[test]
fn every_setting_and_every_field_is_in_the_schema() {
    let schema = json_schema();
    for row in SETTINGS {
        let pointer: String = row.key.iter().map(|name| format!("/properties/{name}")).collect();
        let described = schema.pointer(&pointer).unwrap_or_else(|| panic!("{pointer}"));
        assert_eq!(described["description"], row.text);
    }
    for field in FIELDS {
        let pointer = format!("/$defs/server/properties/{}", field.name);
        assert_eq!(
            schema.pointer(&pointer).unwrap_or_else(|| panic!("{pointer}"))["description"],
            field.text
        );
    }
    for (name, _, text) in OAUTH_FIELDS {
        let pointer = format!("/$defs/server/properties/oauth/properties/{name}");
        assert_eq!(schema.pointer(&pointer).unwrap_or_else(|| panic!("{pointer}"))["description"], *text);
    }
}

#[test]
fn a_word_in_any_letter_case_is_a_pattern() {
    assert_eq!(any_case("http-2"), "[hH][tT][tT][pP]-2");
}

#[test]
fn the_committed_schema_is_the_one_that_the_tables_make() {
    let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/settings.schema.json");
    let text = std::fs::read_to_string(committed).unwrap();
    let made = serde_json::to_string_pretty(&json_schema()).unwrap() + "\n";
    assert_eq!(text, made, "schemas/settings.schema.json is stale: run `cargo xtask codegen`");
}
