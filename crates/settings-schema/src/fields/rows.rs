//! What does each field of a server entry mean? The rows of the table, and nothing else.

use super::{Effect, Field, Hashed, Of, Part};
use crate::table::{Kind, Range};

/// A field that is part of the wire.
const fn wire(name: &'static str, kind: Kind, of: Of, text: &'static str, example: &'static str) -> Field {
    Field { name, kind, of, part: Part::Wire, hashed: Hashed::Yes, effect: Effect::Reconnect, text, example }
}

/// A field that is part of the view.
const fn view(
    name: &'static str,
    kind: Kind,
    effect: Effect,
    text: &'static str,
    example: &'static str,
) -> Field {
    Field { name, kind, of: Of::Both, part: Part::View, hashed: Hashed::Yes, effect, text, example }
}

/// A field that needs no new approval.
const fn unhashed(
    name: &'static str,
    kind: Kind,
    part: Part,
    effect: Effect,
    text: &'static str,
    example: &'static str,
) -> Field {
    Field { name, kind, of: Of::Both, part, hashed: Hashed::No, effect, text, example }
}

const SWITCH: Kind = Kind::Boolean { default: None };

/// The whole call limit of a server entry, in milliseconds. The upper end is the longest timer that programs agree on.
pub(crate) const TIMEOUT: Range = Range { min: 1, max: 2_147_483_647, default: Some(600_000) };
/// The limit for connecting and listing, in milliseconds; its default depends on the transport.
pub(crate) const DISCOVERY: Range = Range { min: 100, max: 300_000, default: None };

/// The spellings of `type`, and the transport each stands for.
pub(crate) const TYPE_WORDS: &[&str] = &["stdio", "http", "sse"];
/// The same without regard to case, the long spellings included.
pub(crate) const TYPE_ALIASES: &[(&str, &str)] = &[
    ("stdio", "stdio"),
    ("http", "http"),
    ("streamable-http", "http"),
    ("streamableHttp", "http"),
    ("streamable_http", "http"),
    ("sse", "sse"),
];

/// Every field of a server entry that this program knows.
pub static FIELDS: &[Field] = &[
    Field {
        name: "type",
        kind: Kind::Word { words: TYPE_WORDS, aliases: TYPE_ALIASES, default: None },
        of: Of::Both,
        part: Part::Transport,
        hashed: Hashed::AsTransport,
        effect: Effect::Reconnect,
        text: "The transport, where the other fields do not say it: `stdio` runs a program, `http` is streamable HTTP (also written `streamable-http`, `streamableHttp`, `streamable_http`, in any letter case), `sse` is the older HTTP transport.",
        example: r#""http""#,
    },
    wire(
        "command",
        Kind::Text,
        Of::Stdio,
        "The program: a name that is looked up in `PATH`, or a path.",
        r#""npx""#,
    ),
    wire("args", Kind::Texts, Of::Stdio, "Its arguments, in order.", r#"["-y", "some-server"]"#),
    wire(
        "env",
        Kind::TextMap,
        Of::Stdio,
        "Variables on top of those that the program inherits.",
        r#"{ "LOG_LEVEL": "info" }"#,
    ),
    wire(
        "cwd",
        Kind::Text,
        Of::Stdio,
        "The folder it runs in; the project root by default.",
        r#""./server""#,
    ),
    wire(
        "inheritEnv",
        Kind::Boolean { default: Some(true) },
        Of::Stdio,
        "With `false` the program inherits only what programs need to run (paths, locale, proxies, caches). Entries that need approval never inherit more than that, and may not have this field.",
        "false",
    ),
    wire(
        "httpUrl",
        Kind::Text,
        Of::Remote,
        "The address of a streamable HTTP server.",
        r#""https://mcp.example.com/mcp""#,
    ),
    wire(
        "url",
        Kind::Text,
        Of::Remote,
        "The address of an SSE server, or with `type: \"http\"` of a streamable HTTP one. Without `type` it is SSE in settings files, and in `.mcp.json` streamable HTTP with SSE as the fallback.",
        r#""https://mcp.example.com/sse""#,
    ),
    wire(
        "serverUrl",
        Kind::Text,
        Of::Remote,
        "Another spelling of `url`.",
        r#""https://mcp.example.com/sse""#,
    ),
    wire(
        "headers",
        Kind::TextMap,
        Of::Remote,
        "Headers of every request; their names compare without regard to case.",
        r#"{ "Authorization": "Bearer ${TOKEN}" }"#,
    ),
    wire(
        "oauth",
        Kind::Object,
        Of::Remote,
        "How to sign in with OAuth. It counts only with `enabled: true`.",
        r#"{ "enabled": true, "scopes": ["read"] }"#,
    ),
    wire("authProviderType", Kind::Text, Of::Remote, "Which provider signs in.", r#""dynamic_discovery""#),
    wire(
        "targetAudience",
        Kind::Text,
        Of::Remote,
        "The audience the provider signs in for.",
        r#""my-service""#,
    ),
    wire(
        "targetServiceAccount",
        Kind::Text,
        Of::Remote,
        "The service account the provider acts as.",
        r#""robot@example.com""#,
    ),
    wire(
        "versionNegotiation",
        Kind::Word { words: &["auto", "legacy"], aliases: &[], default: Some("auto") },
        Of::Both,
        "Which protocol eras are tried: `auto` tries `initialize` and then `server/discover`, `legacy` only `initialize`.",
        r#""legacy""#,
    ),
    wire(
        "pool",
        Kind::Word { words: &["session", "shared"], aliases: &[], default: Some("session") },
        Of::Both,
        "Whether the connection belongs to one session or may be shared by several; a shared one offers neither sampling nor elicitation nor roots.",
        r#""shared""#,
    ),
    view(
        "timeout",
        Kind::Integer(TIMEOUT),
        Effect::NextCall,
        "The limit of a whole call, in milliseconds.",
        "600000",
    ),
    view(
        "discoveryTimeoutMs",
        Kind::Integer(DISCOVERY),
        Effect::NextConnect,
        "The limit for connecting and listing, in milliseconds; 30000 for a program and 5000 for a URL by default.",
        "10000",
    ),
    view(
        "trust",
        Kind::Boolean { default: Some(false) },
        Effect::Rescope,
        "Whether its tools run without asking.",
        "true",
    ),
    view(
        "includeTools",
        Kind::Names,
        Effect::Rescope,
        "The only tools that are offered; absent means all, an empty list none.",
        r#"["read_file"]"#,
    ),
    view(
        "excludeTools",
        Kind::Names,
        Effect::Rescope,
        "Tools that are not offered. It wins over `includeTools`.",
        r#"["delete_file"]"#,
    ),
    view(
        "alwaysLoadTools",
        Kind::Boolean { default: Some(false) },
        Effect::Rescope,
        "Whether its tools are offered to the model at once rather than on demand.",
        "true",
    ),
    unhashed(
        "description",
        Kind::Text,
        Part::View,
        Effect::Label,
        "A label for people.",
        r#""Files of this project""#,
    ),
    unhashed(
        "enabled",
        SWITCH,
        Part::Switch,
        Effect::OpenOrClose,
        "`false` switches the entry off.",
        "false",
    ),
    unhashed(
        "disabled",
        SWITCH,
        Part::Switch,
        Effect::OpenOrClose,
        "`true` switches the entry off. Where it and `enabled` disagree, off wins.",
        "true",
    ),
    unhashed(
        "scope",
        Kind::Any,
        Part::Nothing,
        Effect::Nothing,
        "Ignored: the scope of an entry is that of its file.",
        r#""user""#,
    ),
    unhashed(
        "extensionName",
        Kind::Any,
        Part::Nothing,
        Effect::Nothing,
        "Ignored: an entry of a file belongs to no extension.",
        r#""some-extension""#,
    ),
];

/// The fields of `oauth`.
pub(crate) static OAUTH_FIELDS: &[(&str, Kind, &str)] = &[
    ("enabled", Kind::Boolean { default: Some(false) }, "Whether OAuth is used."),
    ("clientId", Kind::Text, "The client's id; registered on the fly when absent."),
    ("clientSecret", Kind::Text, "The client's secret."),
    ("authorizationUrl", Kind::Text, "Where the user signs in; discovered when absent."),
    ("tokenUrl", Kind::Text, "Where tokens are issued; discovered when absent."),
    ("registrationUrl", Kind::Text, "Where clients register; discovered when absent."),
    ("issuer", Kind::Text, "Who issues the tokens; discovered when absent."),
    ("redirectUri", Kind::Text, "Where the browser returns to."),
    ("tokenParamName", Kind::Text, "The query parameter that carries the token to an SSE server."),
    ("scopes", Kind::Names, "What is asked for, as a set."),
    ("audiences", Kind::Names, "For whom the tokens are, as a set."),
];
