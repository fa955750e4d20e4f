//! What was typed to change a file: the command lines of `mcp add`, `add-json`, `remove`, `enable` and `disable`.

use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;

use crate::commands::completions::server_names;

/// Which file is edited.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum EditScope {
    /// Your own settings, ~/.qwen/settings.json
    User,
    /// .mcp.json of the project, shared with everybody who works on it; needs approval
    Project,
    /// .qwen/settings.json of the project; needs approval
    Workspace,
}

/// How a server that is added is reached.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AddTransport {
    /// A program that speaks over stdin and stdout
    Stdio,
    /// A URL, streamable HTTP
    Http,
    /// A URL, legacy server-sent events
    Sse,
}

/// `qwen mcp add`.
#[derive(Args, Debug)]
#[command(
    override_usage = "qwen mcp add [OPTIONS] <NAME> <COMMAND|URL> [ARGS]...",
    after_help = "Before `--` the options of `add` may stand anywhere. An unknown option and all\n\
                  that follows it, and all after `--`, are arguments of the server.\n\n\
                  Examples:\n  qwen mcp add time uvx mcp-server-time\n  \
                  qwen mcp add files npx -y @modelcontextprotocol/server-filesystem .\n  \
                  qwen mcp add db -e DSN='${DATABASE_URL}' -- ./server -e production\n  \
                  qwen mcp add docs https://example.com/mcp -H 'Authorization: Bearer ${TOKEN}'\n  \
                  qwen mcp add lint ./tools/lint-server --scope project"
)]
pub(crate) struct AddArgs {
    #[command(flatten)]
    pub(crate) options: AddOptions,
    /// Its name, then the command with its arguments or the URL
    #[arg(
        value_name = "NAME COMMAND|URL ARGS",
        required = true,
        num_args = 1..,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub(crate) words: Vec<String>,
}

/// The options of `qwen mcp add`, which may stand anywhere before `--`.
#[derive(Args, Clone, PartialEq, Debug, Default)]
pub(crate) struct AddOptions {
    /// Which file it is written to [default: user]
    #[arg(short, long, value_name = "SCOPE", value_enum)]
    pub(crate) scope: Option<EditScope>,
    /// How it is reached [default: http for a URL, else stdio]
    #[arg(short, long, value_name = "TRANSPORT", value_enum)]
    pub(crate) transport: Option<AddTransport>,
    /// A variable for the program; may be repeated
    #[arg(short = 'e', long = "env", value_name = "K=V")]
    pub(crate) env: Vec<String>,
    /// A header for the URL; may be repeated
    #[arg(short = 'H', long = "header", value_name = "K: V")]
    pub(crate) header: Vec<String>,
    /// How long a call may take, in milliseconds
    #[arg(long, value_name = "MS")]
    pub(crate) timeout: Option<u64>,
    /// Its tools run without asking
    #[arg(long)]
    pub(crate) trust: bool,
    /// A label
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Offer only these tools
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) include_tools: Vec<String>,
    /// Do not offer these tools
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) exclude_tools: Vec<String>,
    /// OAuth: the client's identifier
    #[arg(long, value_name = "ID")]
    pub(crate) oauth_client_id: Option<String>,
    /// OAuth: the client's secret; better a variable such as '${SECRET}'
    #[arg(long, value_name = "SECRET")]
    pub(crate) oauth_client_secret: Option<String>,
    /// OAuth: where the browser comes back to
    #[arg(long, value_name = "URI")]
    pub(crate) oauth_redirect_uri: Option<String>,
    /// OAuth: where the user says yes
    #[arg(long, value_name = "URL")]
    pub(crate) oauth_authorization_url: Option<String>,
    /// OAuth: where tokens come from
    #[arg(long, value_name = "URL")]
    pub(crate) oauth_token_url: Option<String>,
    /// OAuth: what is asked for
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) oauth_scopes: Vec<String>,
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// `qwen mcp add-json`.
#[derive(Args, Debug)]
pub(crate) struct AddJsonArgs {
    /// Its name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The entry as it stands under mcpServers; `-` reads it from stdin
    #[arg(value_name = "JSON")]
    pub(crate) entry: String,
    /// Which file it is written to
    #[arg(short, long, value_name = "SCOPE", value_enum, default_value = "user")]
    pub(crate) scope: EditScope,
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// `qwen mcp remove`.
#[derive(Args, Debug)]
pub(crate) struct RemoveArgs {
    /// Which server
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(server_names))]
    pub(crate) name: String,
    /// From which file, where more than one has the name
    #[arg(short, long, value_name = "SCOPE", value_enum)]
    pub(crate) scope: Option<EditScope>,
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// `qwen mcp enable` and `qwen mcp disable`.
#[derive(Args, Debug)]
pub(crate) struct SwitchArgs {
    /// Which server
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(server_names))]
    pub(crate) name: String,
    /// In whose mcp.excluded
    #[arg(short, long, value_name = "SCOPE", value_enum, default_value = "user")]
    pub(crate) scope: EditScope,
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
