//! What does each setting mean? The rows of the table, and nothing else.

use super::{Compare, Kind, MergeRule, Range, Restart, Settable, SettingRow};

/// A setting that every file may hold, that takes effect at once and is compared by value.
const fn setting(
    key: &'static [&'static str],
    kind: Kind,
    merge: MergeRule,
    text: &'static str,
    example: &'static str,
) -> SettingRow {
    SettingRow {
        key,
        kind,
        merge,
        settable: Settable::Everywhere,
        restart: Restart::Live,
        compare: Compare::ByValue,
        text,
        example,
    }
}

impl SettingRow {
    const fn needs_restart(mut self) -> Self {
        self.restart = Restart::Required;
        self
    }

    const fn not_in_workspace(mut self) -> Self {
        self.settable = Settable::NotWorkspace;
        self
    }

    const fn compared(mut self, compare: Compare) -> Self {
        self.compare = compare;
        self
    }
}

/// Every setting that this program reads, and the nodes above them.
pub static SETTINGS: &[SettingRow] = &[
    setting(
        &["mcpServers"],
        Kind::Servers,
        MergeRule::ByName,
        "Server entries by name. A name that several scopes hold takes the whole entry of the highest of them.",
        r#"{ "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."] } }"#,
    )
    .compared(Compare::AbsentIsEmpty),
    setting(
        &["mcp"],
        Kind::Object,
        MergeRule::Deep,
        "What holds for all servers.",
        r#"{ "excluded": ["experimental-*"] }"#,
    )
    .needs_restart(),
    setting(
        &["mcp", "serverCommand"],
        Kind::Text,
        MergeRule::HighestWins,
        "A command line that starts one more server, called `mcp`. It is split into words as a shell would; an operator such as `|` or `&&` makes the entry invalid. It has the scope of its file, and an entry `mcpServers.mcp` of the same scope wins over it.",
        r#""my-server --stdio""#,
    )
    .needs_restart(),
    setting(
        &["mcp", "allowed"],
        Kind::Names,
        MergeRule::EveryScopeMustAdmit,
        "Names or globs of the servers that may connect. Every scope that sets it must admit a server, so a scope can only narrow what another allows; the list of the system defaults yields to one of the user or the system. Absent admits all, an empty list none.",
        r#"["files", "team-*"]"#,
    )
    .compared(Compare::Set),
    setting(
        &["mcp", "excluded"],
        Kind::Names,
        MergeRule::Union,
        "Names or globs of the servers that may not connect. It wins over `mcp.allowed`.",
        r#"["experimental-*"]"#,
    )
    .compared(Compare::SetAbsentIsEmpty),
    setting(
        &["mcp", "autoReload"],
        Kind::Boolean { default: Some(true) },
        MergeRule::HighestWins,
        "Whether an edit connects and restarts servers by itself. With `false` they wait for `/reload`; what narrows (a removal, an exclusion, a rejection) is applied at once all the same.",
        "false",
    )
    .not_in_workspace(),
    setting(
        &["mcp", "reloadDebounceMs"],
        Kind::Integer(Range { min: 0, max: 5000, default: Some(300) }),
        MergeRule::HighestWins,
        "How long, in milliseconds, the files must be quiet before an edit is acted on. 0 means at once.",
        "300",
    )
    .not_in_workspace(),
    setting(
        &["mcp", "watch"],
        Kind::Word { words: &["auto", "poll"], aliases: &[], default: Some("auto") },
        MergeRule::HighestWins,
        "How files are watched: `auto` asks the operating system and falls back to reading every 2 s, `poll` always reads.",
        r#""poll""#,
    )
    .not_in_workspace()
    .needs_restart(),
    setting(
        &["mcp", "toolIdleTimeoutMs"],
        Kind::Integer(Range { min: 10_000, max: 3_600_000, default: Some(300_000) }),
        MergeRule::HighestWins,
        "How long, in milliseconds, a tool call may go without progress before it is cancelled.",
        "300000",
    ),
    setting(
        &["security"],
        Kind::Object,
        MergeRule::Deep,
        "What is trusted, and how the model provider is signed in to.",
        r#"{ "folderTrust": { "enabled": true } }"#,
    ),
    setting(
        &["security", "folderTrust"],
        Kind::Object,
        MergeRule::Deep,
        "Whether the folder of a project must be trusted before anything of it counts.",
        r#"{ "enabled": true }"#,
    ),
    setting(
        &["security", "folderTrust", "enabled"],
        Kind::Boolean { default: Some(false) },
        MergeRule::HighestWins,
        "Switches the check on. In a folder without a rule a headless run then counts as untrusted, and an interactive one asks.",
        "true",
    )
    .not_in_workspace()
    .needs_restart(),
    setting(
        &["security", "auth"],
        Kind::Any,
        MergeRule::Deep,
        "How the model provider is signed in to; read by Qwen Code, kept as it is here.",
        r#"{ "selectedType": "openai" }"#,
    )
    .needs_restart(),
    setting(
        &["env"],
        Kind::TextMap,
        MergeRule::ByName,
        "Read and shown only: it reaches no server, no variable look-up and not this program. A server's own variables go into its entry's `env`, the user's into `.env` beside the user settings.",
        r#"{ "HTTP_TIMEOUT": "30" }"#,
    )
    .not_in_workspace()
    .needs_restart(),
    setting(
        &["ui"],
        Kind::Any,
        MergeRule::Deep,
        "Looks; read by Qwen Code, kept as it is here.",
        r#"{ "theme": "Qwen Dark" }"#,
    ),
    setting(
        &["model"],
        Kind::Any,
        MergeRule::Deep,
        "The model; read by Qwen Code, kept as it is here.",
        r#"{ "name": "qwen3-coder-plus" }"#,
    ),
    setting(
        &["modelProviders"],
        Kind::Any,
        MergeRule::Deep,
        "Where models are reached; read by Qwen Code, kept as it is here.",
        r#"{ "openai": [] }"#,
    ),
];
