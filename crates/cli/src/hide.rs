//! What of a value of a settings file may be shown? Every secret becomes `•••`: what stands under a name that says so,
//! what a variable, header or `env` resolved to, and what a URL or an option carries.

use qwen_core::{Secret, mask_args, mask_text};
use serde_json::Value;

const MASK: &str = "•••";

/// The value at a key without anything that may be a secret. A reference to a variable is none.
pub(crate) fn hidden(key: &[String], value: &Value, secrets: &[Secret]) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, value)| {
                    let mut key = key.to_vec();
                    key.push(name.clone());
                    (name.clone(), hidden(&key, value, secrets))
                })
                .collect(),
        ),
        Value::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            match texts {
                // An option says what the argument after it is.
                Some(texts) => Value::from(mask_args(texts, secrets)),
                None => Value::Array(items.iter().map(|item| hidden(key, item, secrets)).collect()),
            }
        }
        Value::String(text) if is_reference(text) => value.clone(),
        Value::String(_) if is_secret(key) => Value::from(MASK),
        Value::String(text) => Value::from(mask_text(text, secrets)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// `$NAME` or `${NAME}` and nothing else; a default may be a secret.
fn is_reference(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('$') else { return false };
    let name = rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(rest);
    let name = name.strip_prefix("env:").unwrap_or(name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_secret(key: &[String]) -> bool {
    const HOLDERS: [&str; 3] = ["env", "headers", "oauth"];
    const WORDS: [&str; 5] = ["key", "token", "secret", "password", "auth"];
    let below_holder = key.iter().rev().skip(1).any(|segment| HOLDERS.contains(&segment.as_str()));
    let named = key.last().is_some_and(|name| {
        let name = name.to_lowercase();
        WORDS.iter().any(|word| name.contains(word))
    });
    let auth = key.starts_with(&["security".to_owned(), "auth".to_owned()]);
    below_holder || named || auth
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_keeps_its_shape_and_loses_its_secrets() {
        let entry = json!({
            "command": "npx",
            "args": ["-y", "--token", "hunter2hunter2", "known-secret"],
            "env": { "A": "hunter2hunter2", "B": "${B}", "C": "${C:-hunter2}" },
            "url": "https://u:hunter2@e.example/?k=hunter2",
            "timeout": 5,
        });
        let shown = hidden(&[], &entry, &[Secret::from("known-secret")]);
        assert_eq!(
            shown,
            json!({
                "command": "npx",
                "args": ["-y", "--token", "•••", "•••"],
                "env": { "A": "•••", "B": "${B}", "C": "•••" },
                "url": "https://•••@e.example/?k=•••",
                "timeout": 5,
            })
        );
    }
}
