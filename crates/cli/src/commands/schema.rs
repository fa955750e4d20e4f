//! `qwen settings schema`: the JSON Schema of a settings file, made from the tables that the reader itself uses.

use crate::{exit::Exit, output};

/// Prints it.
pub(crate) fn run() -> Exit {
    output::print_json(&qwen_settings_schema::json_schema());
    Exit::Ok
}

#[cfg(test)]
mod tests {
    use qwen_settings_schema::{Code, Document, FIELDS, Finding, SETTINGS, SettingsScope, Severity, check};
    use serde_json::{Value, json};

    use crate::commands::call::schema::first_error;

    /// A value of each kind, and of the kinds that lists and maps hold.
    fn values() -> Vec<Value> {
        vec![
            json!(null),
            json!(true),
            json!(false),
            json!(0),
            json!(1000),
            json!(2.5),
            json!(""),
            json!("x"),
            json!("stdio"),
            json!([]),
            json!(["x"]),
            json!([1]),
            json!([null]),
            json!({}),
            json!({ "a": "x" }),
            json!({ "a": 1 }),
            json!({ "a": { "command": "x" } }),
            json!({ "a": { "args": [] } }),
        ]
    }

    /// Every setting and every field of an entry, alone in a document, with every value.
    fn documents() -> Vec<Value> {
        let mut documents = vec![json!(null), json!([]), json!("x"), json!({}), json!({ "unknown": 1 })];
        for value in values() {
            for row in SETTINGS {
                let nested = |inner, name: &&str| json!({ *name: inner });
                documents.push(row.key.iter().rev().fold(value.clone(), nested));
            }
            for field in FIELDS {
                for mut entry in
                    [json!({}), json!({ "command": "x" }), json!({ "httpUrl": "https://e.example" })]
                {
                    entry[field.name] = value.clone();
                    documents.push(json!({ "mcpServers": { "s": entry } }));
                }
            }
        }
        for entry in [
            json!(null),
            json!("x"),
            json!({ "tcp": "x" }),
            json!({ "command": "x", "url": "https://e.example" }),
            json!({ "disabled": true }),
            json!({ "enabled": false }),
            json!({ "command": "x", "more": 1 }),
        ] {
            documents.push(json!({ "mcpServers": { "s": entry } }));
        }
        documents
    }

    #[test]
    fn the_schema_and_the_check_agree_on_what_is_an_error() {
        let mut wrong = Vec::new();
        for document in documents() {
            let by_schema = first_error(&qwen_settings_schema::json_schema(), &document);
            let findings = check(&document, Document::Settings(SettingsScope::User));
            // A number outside its range is refused by the schema only; and a word in any letter case is a pattern,
            // which this reader of schemas lets through.
            let is_left_out = |f: &&Finding| matches!(f.code, Code::OutOfRange | Code::WrongWord);
            if findings.iter().any(|f| is_left_out(&f)) {
                continue;
            }
            let by_check: Vec<&Finding> = findings.iter().filter(|f| f.severity == Severity::Error).collect();
            if by_schema.is_some() == by_check.is_empty() {
                wrong.push(format!("{document}\n  schema: {by_schema:?}\n  check: {:?}", by_check.first()));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
