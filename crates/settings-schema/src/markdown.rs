//! What does a person need to know to write a settings file? Owns the text of the reference, made from the two tables;
//! adds the few sentences that join them.

use crate::{
    fields::{Effect, FIELDS, Field, Hashed, OAUTH_FIELDS, Of},
    table::{Kind, MergeRule, Restart, SETTINGS, Settable, SettingRow},
};

const HEAD: &str = "\
<!-- Made by `cargo xtask codegen` from the tables in crates/settings-schema. Edit those, not this file. -->

# Settings

Settings are JSON with comments and trailing commas. Each file has a scope; a later one in this list outranks an
earlier one:

| scope | file |
| --- | --- |
| `system-defaults` | `system-defaults.json` beside the system settings |
| `user` | `~/.qwen/settings.json` |
| `workspace` | `.qwen/settings.json` in the project root |
| `system` | `/etc/qwen-code/settings.json` (macOS: `/Library/Application Support/QwenCode/settings.json`) |

An edit is acted on while sessions run; where the table says *restart*, it takes effect at the next start. An unknown
key is kept. A key of the wrong type, `null` included, does not count, and a number outside its range counts as the
nearest bound; both are said. `qwen settings check` tells everything that is wrong, `qwen settings show --origin` what
counts and which file says so.

The keys that restrict (`mcp.allowed`, `mcp.excluded`, `security.folderTrust.enabled`) fail closed: while one has the
wrong type, a running session keeps its last good value and a new one takes the strictest.
";

const ENTRY_HEAD: &str = "\
An entry below `mcpServers` says what to run (`command`) or where to connect (`httpUrl` or `url`), never both. One that
does not is listed as `invalid` with its reason and is never started; the others count. Unknown fields are kept, and
said.

String values may hold `$NAME`, `${NAME}`, `${NAME:-default}` and `${env:NAME}`; `$$` is a dollar sign. They are filled
from the environment, then from `.env` beside the user settings. `${QWEN_EXE}` (this program) and `${workspaceFolder}`
(the project root) are always defined.

*Asks again* says whether an edit of the field in an entry that needs approval asks for a new one.
";

/// The reference of all settings and server entries, in Markdown.
///
/// ```
/// assert!(qwen_settings_schema::settings_markdown().contains("### `mcp.allowed`"));
/// ```
#[must_use]
pub fn settings_markdown() -> String {
    let mut text = String::from(HEAD);
    text.push_str(
        "\n## Keys\n\n| key | type | default | over several files | may be set in | takes effect |\n",
    );
    text.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for row in SETTINGS {
        text.push_str(&setting_line(row));
    }
    for row in SETTINGS {
        text.push_str(&format!(
            "\n### `{}`\n\n{}\n\n{}",
            row.path(),
            row.text,
            example(row.key, row.example)
        ));
    }
    text.push_str("\n## Server entries\n\n");
    text.push_str(ENTRY_HEAD);
    text.push_str(
        "\n| field | type | default | for | asks again | an edit |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for field in FIELDS {
        text.push_str(&field_line(field));
    }
    for field in FIELDS {
        text.push_str(&format!(
            "\n### `{}` in an entry\n\n{}\n\n{}",
            field.name,
            field.text,
            example(&[field.name], field.example)
        ));
        if field.name == "oauth" {
            text.push_str("\n| field of `oauth` | type | meaning |\n| --- | --- | --- |\n");
            for (name, kind, meaning) in OAUTH_FIELDS {
                text.push_str(&format!("| `{name}` | {} | {meaning} |\n", kind_text(*kind)));
            }
        }
    }
    text
}

fn setting_line(row: &SettingRow) -> String {
    let merge = match row.merge {
        MergeRule::Deep => "key by key",
        MergeRule::ByName => "name by name, each taken whole",
        MergeRule::HighestWins => "highest wins",
        MergeRule::Union => "all lists together",
        MergeRule::EveryScopeMustAdmit => "every list must admit",
    };
    let settable = match row.settable {
        Settable::Everywhere => "all",
        Settable::NotWorkspace => "not workspace",
    };
    let restart = match row.restart {
        Restart::Live => "at once",
        Restart::Required => "restart",
    };
    let (kind, default) = (kind_text(row.kind), default_text(row.kind));
    format!("| `{}` | {kind} | {default} | {merge} | {settable} | {restart} |\n", row.path())
}

fn field_line(field: &Field) -> String {
    let of = match field.of {
        Of::Stdio => "programs",
        Of::Remote => "URLs",
        Of::Both => "all",
    };
    let hashed = match field.hashed {
        Hashed::Yes => "yes",
        Hashed::No => "no",
        Hashed::AsTransport => "where it decides the transport",
    };
    let effect = match field.effect {
        Effect::Reconnect => "reconnects",
        Effect::NextCall => "holds from the next call",
        Effect::NextConnect => "holds from the next connect",
        Effect::Rescope => "filters anew, without a reconnect",
        Effect::Label => "changes the label",
        Effect::OpenOrClose => "opens or closes",
        Effect::Nothing => "does nothing",
    };
    let (kind, default) = (kind_text(field.kind), default_text(field.kind));
    format!("| `{}` | {kind} | {default} | {of} | {hashed} | {effect} |\n", field.name)
}

fn kind_text(kind: Kind) -> String {
    match kind {
        Kind::Boolean { .. } => "boolean".to_owned(),
        Kind::Integer(range) => format!("whole number, {} to {}", range.min, range.max),
        Kind::Text => "text".to_owned(),
        Kind::Word { words, .. } => {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or ")
        }
        Kind::Names => "list of names".to_owned(),
        Kind::Texts => "list of texts".to_owned(),
        Kind::TextMap => "map of texts".to_owned(),
        Kind::Object => "object".to_owned(),
        Kind::Servers => "map of server entries".to_owned(),
        Kind::Any => "–".to_owned(),
    }
}

fn default_text(kind: Kind) -> String {
    let default = match kind {
        Kind::Boolean { default } => default.map(|default| default.to_string()),
        Kind::Integer(range) => range.default.map(|default| default.to_string()),
        Kind::Word { default, .. } => default.map(str::to_owned),
        Kind::Text | Kind::Names | Kind::Texts | Kind::TextMap | Kind::Object | Kind::Servers | Kind::Any => {
            None
        }
    };
    default.map_or_else(|| "–".to_owned(), |default| format!("`{default}`"))
}

/// A key with its example, as it would stand in a file.
fn example(key: &[&str], value: &str) -> String {
    let inner = key.iter().rev().fold(value.to_owned(), |inner, name| format!("{{ \"{name}\": {inner} }}"));
    format!("```json\n{inner}\n```\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_both_tables_is_described() {
        let text = settings_markdown();
        for row in SETTINGS {
            assert!(text.contains(&format!("### `{}`\n", row.path())), "{}", row.path());
        }
        for field in FIELDS {
            assert!(text.contains(&format!("### `{}` in an entry\n", field.name)), "{}", field.name);
        }
    }

    #[test]
    fn every_example_of_the_reference_loads_without_a_word() {
        let text = settings_markdown();
        let settings = text.split("\n## Server entries\n").next().unwrap();
        let examples: Vec<&str> =
            settings.split("```json\n").skip(1).filter_map(|rest| rest.split("\n```").next()).collect();
        assert_eq!(examples.len(), SETTINGS.len());
        for example in examples {
            let value: serde_json::Value = serde_json::from_str(example).unwrap();
            let findings = crate::check(&value, crate::Document::Settings(crate::SettingsScope::User));
            assert_eq!(findings, [], "{example}");
        }
    }

    #[test]
    fn every_example_of_a_field_fits_its_kind() {
        for field in FIELDS {
            let value: serde_json::Value = serde_json::from_str(field.example).unwrap();
            assert_eq!(crate::kind::fits(field.kind, &value), crate::kind::Fit::Good, "{}", field.name);
        }
    }

    #[test]
    fn the_committed_reference_is_the_one_that_the_tables_make() {
        let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
        assert_eq!(
            std::fs::read_to_string(committed).unwrap(),
            settings_markdown(),
            "docs/settings.md is stale: run `cargo xtask codegen`"
        );
    }
}
