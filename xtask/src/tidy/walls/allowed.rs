//! Who may know whom, and why? Data only.

/// What one package may depend on.
pub(super) struct Rights {
    pub(super) package: &'static str,
    /// In what runs: name and reason.
    pub(super) ships: &'static [(&'static str, &'static str)],
    /// In tests and examples besides.
    pub(super) tests: &'static [(&'static str, &'static str)],
}

pub(super) const ALLOWED: [Rights; 4] = [
    Rights {
        package: "qwen-settings-schema",
        ships: &[
            ("serde", "the written forms implement its traits"),
            ("serde_json", "settings are JSON values"),
        ],
        tests: &[("criterion", "what merge and diff cost"), ("proptest", "merge and diff hold for any edit")],
    },
    Rights {
        package: "qwen-approvals",
        ships: &[
            ("hex", "digests are written in hexadecimal"),
            ("hmac", "what was shown is remembered without its values"),
            ("serde_json", "entries and the store are JSON"),
            ("sha2", "the approval hash is SHA-256"),
            ("tempfile", "the store is replaced atomically"),
            ("thiserror", "errors are enums"),
        ],
        tests: &[("criterion", "what a hash costs"), ("proptest", "hashes agree and differ for any edit")],
    },
    Rights {
        package: "qwen-core",
        ships: &[
            ("bytes", "lines are split without copies"),
            ("fastrand", "jitter of the back-off, key of the fingerprint"),
            ("futures", "object-safe futures at the seams"),
            ("http", "requests, statuses and headers of remote servers"),
            ("hyper-util", "what NO_PROXY excepts, as the HTTP client itself reads it"),
            ("indexmap", "servers open in the order in which they are written"),
            ("libc", "signal dispositions of the guard process, which no safe crate sets before exec"),
            ("reqwest", "remote servers; known to this crate alone"),
            ("rmcp", "the protocol's SDK; known to this crate alone"),
            ("rustix", "process groups and signals without unsafe code"),
            ("rustls", "certificates of remote servers, with a provider that builds in seconds"),
            ("serde", "messages are mended before they are decoded"),
            ("serde_json", "arguments, results and schemas are JSON values"),
            ("sha2", "fingerprints and short tool names"),
            ("thiserror", "errors are enums"),
            ("tokio", "tasks, timers, pipes and processes"),
            ("tokio-util", "cancellation that reaches the server"),
            ("tracing", "what happens is logged with fixed field names"),
            ("url", "origins and redirects of remote servers"),
            ("which", "a command that does not exist is said before it is started"),
        ],
        tests: &[
            ("criterion", "what plan, admission and catalogue cost"),
            ("insta", "rendered plans as snapshots"),
            ("proptest", "plan, session and catalogue hold for any edit"),
            ("tempfile", "folders for real processes"),
            ("trybuild", "what must not compile"),
        ],
    },
    Rights {
        package: "qwen-cli",
        ships: &[
            ("annotate-snippets", "diagnostics with an excerpt"),
            ("anyhow", "errors at the edge, where they are only printed"),
            ("chrono", "RFC 3339 times in JSON"),
            ("clap", "the command line"),
            ("clap_complete", "shells complete commands, options and server names"),
            ("clap_mangen", "manual pages from the same source as the help"),
            ("crossterm", "keys, sizes and modes of the terminal"),
            ("futures", "the futures of core's traits"),
            ("hex", "shown fingerprints"),
            ("http", "header names and values by the protocol's rules"),
            ("indexmap", "entries keep the order in which they are written"),
            ("jsonc-parser", "JSON with comments, with places"),
            ("notify", "file events; known to this crate alone"),
            ("qwen-approvals", "decisions, through its trait"),
            ("qwen-core", "connections, through its trait"),
            ("qwen-settings-schema", "the settings, through its trait"),
            ("ratatui", "the screens of the interactive session"),
            ("ratatui-textarea", "the input line of the interactive session"),
            ("rustix", "terminal checks and signals without unsafe code"),
            ("serde", "rows and events"),
            ("serde_json", "settings, rows and events are JSON"),
            ("sha2", "shown fingerprints"),
            ("shlex", "`mcp.serverCommand` is split like a shell would"),
            ("tempfile", "files are replaced atomically"),
            ("thiserror", "errors are enums"),
            ("tokio", "the session's tasks"),
            ("tokio-util", "cancellation of what the user gave up"),
            ("tracing", "what happens is logged with fixed field names"),
            ("tracing-subscriber", "logs go to stderr or a file, filtered by `QWEN_LOG`"),
            ("unicode-segmentation", "text is cut between what people see as characters"),
            ("unicode-width", "columns that line up with wide names"),
            ("url", "origins, masked URLs"),
        ],
        tests: &[
            ("insta", "every output as a snapshot"),
            ("proptest", "reading and reloading hold for any edit"),
            ("vt100", "what the painter writes is looked at as a terminal shows it"),
        ],
    },
];

/// They may depend on anything, and nobody on them.
pub(super) const NEVER_DEPENDED_ON: [&str; 2] = ["xtask", "qwen-tests"];

/// What must not even arrive through a dependency's dependencies.
pub(super) const UNREACHABLE: [(&str, &[&str], &str); 4] = [
    (
        "qwen-settings-schema",
        &["tokio", "rmcp", "notify", "clap", "qwen-core", "qwen-approvals"],
        "it is data, for anybody to use alone",
    ),
    (
        "qwen-approvals",
        &["tokio", "rmcp", "notify", "clap", "qwen-core", "qwen-settings-schema"],
        "it is a store, for anybody to use alone",
    ),
    (
        "qwen-core",
        &["notify", "clap", "ratatui", "crossterm", "jsonc-parser", "qwen-settings-schema", "qwen-approvals"],
        "it knows neither files nor terminals nor formats",
    ),
    ("qwen-cli", &["xtask", "qwen-tests"], "what ships does not contain what tests it"),
];

pub(super) const BANNED: [(&str, &str); 9] = [
    ("aws-lc-rs", "takes a minute to build; ring does what we need"),
    ("openssl", "needs a system library; rustls does what we need"),
    ("native-tls", "needs a system library; rustls does what we need"),
    ("json5", "accepts what settings must refuse; read with jsonc-parser"),
    ("shellexpand", "turns `pa$$word` into `pa$word`; expand variables by our own rules"),
    ("notify-debouncer-full", "wakes up when nothing happens; the watch loop debounces by itself"),
    ("notify-debouncer-mini", "wakes up when nothing happens; the watch loop debounces by itself"),
    ("serde_yaml", "unmaintained"),
    ("fs4", "the standard library locks files"),
];
