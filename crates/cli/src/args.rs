//! What was typed: the command line as written, one type per command. What it means is decided elsewhere.

mod anywhere;
mod editing;
mod misspelt;
mod using;

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use clap_complete::ArgValueCompleter;

pub(crate) use self::{
    anywhere::{command, parse},
    editing::{AddArgs, AddJsonArgs, AddOptions, AddTransport, EditScope, RemoveArgs, SwitchArgs},
    using::{CallArgs, CatalogueArgs, CompletionsArgs, GetArgs, ManArgs},
};
use crate::commands::completions::server_names;

/// MCP servers that follow your settings while you work: no restart, nothing unapproved, always a reason.
#[derive(Parser, Debug)]
#[command(
    name = "qwen",
    version,
    max_term_width = 100,
    arg_required_else_help = false,
    disable_help_subcommand = true,
    after_help = "Examples:\n  qwen                     a session in this folder\n  \
                  qwen mcp list            every server, with its state and the next step\n  \
                  qwen mcp approve github  allow a server that the project asks for\n  \
                  qwen demo                a playground with demo servers\n\n\
                  Exit codes: 0 ok, 1 failed, 2 usage, 3 some servers failed,\n\
                  4 configuration invalid, 5 an approval or a policy blocks it,\n\
                  130 interrupted."
)]
pub(crate) struct Cli {
    /// What holds for every command.
    #[command(flatten)]
    pub(crate) global: Global,
    /// What to do; a session where nothing is named.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Flags that may stand anywhere on the command line. Those that may be repeated add up, wherever they stand: `anywhere`
/// makes them so.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Work in this folder; it is the project root
    #[arg(short = 'C', long = "cwd", value_name = "DIR", global = true)]
    pub(crate) cwd: Option<PathBuf>,

    /// Only these servers may ever connect in this process; settings can narrow it, never widen it.
    ///
    /// Names or globs, separated by commas; may be repeated. Example: --allowed-mcp-server-names 'github,db-*'
    #[arg(long, value_name = "A,B", value_delimiter = ',', action = ArgAction::Append)]
    pub(crate) allowed_mcp_server_names: Option<Vec<String>>,

    /// More servers, from a file or as JSON; may be repeated, later ones win.
    ///
    /// Example: --mcp-config '{"mcpServers":{"time":{"command":"uvx","args":["mcp-server-time"]}}}'
    #[arg(long, value_name = "FILE|JSON", action = ArgAction::Append)]
    pub(crate) mcp_config: Vec<String>,

    /// Take servers from --mcp-config only
    #[arg(long, global = true)]
    pub(crate) strict_mcp_config: bool,

    /// Approve this server for this run, exactly as it is configured at start; '*' means every undecided one
    #[arg(long, value_name = "NAME", action = ArgAction::Append)]
    pub(crate) approve_mcp: Vec<String>,

    /// Approve every undecided server for this run, later edits included
    #[arg(long, global = true)]
    pub(crate) yolo: bool,

    /// Say more on stderr; twice for everything
    #[arg(short = 'v', long = "verbose", action = ArgAction::Count, global = true)]
    pub(crate) verbose: u8,

    /// Write the log to this file instead of stderr
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) log_file: Option<PathBuf>,

    /// When to use colour
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorChoice::Auto, global = true)]
    pub(crate) color: ColorChoice,
}

/// When output is coloured.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The first word.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// See, watch and decide about MCP servers
    #[command(subcommand, arg_required_else_help = true)]
    Mcp(McpCommand),
    /// Check and show settings
    #[command(subcommand, arg_required_else_help = true)]
    Settings(SettingsCommand),
    /// Trust a folder, or stop trusting it
    Trust(TrustArgs),
    /// Make a playground with demo servers and run a session in it
    #[command(
        after_help = "Example:\n  qwen demo /tmp/playground\n\nWithout DIR a new temporary folder is made; it is kept."
    )]
    Demo(DemoArgs),
    /// Be a small MCP server on stdin and stdout, for trying things out
    #[command(after_help = "Example, as an entry of settings.json:\n  \
                      \"demo\": { \"command\": \"${QWEN_EXE}\", \"args\": [\"demo-server\", \"--tools\", \"2\"] }")]
    DemoServer(DemoServerArgs),
    /// Print what makes a shell complete commands, options and server names
    #[command(after_help = "Examples:\n  source <(qwen completions bash)\n  \
                            qwen completions zsh > ~/.zfunc/_qwen\n  \
                            qwen completions fish > ~/.config/fish/completions/qwen.fish")]
    Completions(CompletionsArgs),
    /// Print a manual page
    #[command(after_help = "Examples:\n  qwen man | man -l -\n  qwen man mcp add | man -l -\n  \
                            qwen man --dir ~/.local/share/man/man1")]
    Man(ManArgs),
}

/// The word after `qwen mcp`.
#[derive(Subcommand, Debug)]
pub(crate) enum McpCommand {
    /// Connect, watch, reload, and print each event
    #[command(after_help = "Ends on Ctrl-C, on SIGTERM, and with --stdin-close when stdin is closed.\n\n\
                      Examples:\n  qwen mcp watch\n  qwen mcp watch --json | jq 'select(.event == \"mcp-reload\")'")]
    Watch(WatchArgs),
    /// List every configured server with its state, the cause and the next step
    #[command(after_help = "Examples:\n  qwen mcp list\n  qwen mcp list --no-connect --json\n  \
                            qwen mcp list --check || echo 'something is down'")]
    List(ListArgs),
    /// Say what a session started here would do, and why; connects nothing
    #[command(after_help = "Examples:\n  qwen mcp plan\n  qwen mcp plan --json > before.json\n  \
                            qwen mcp plan --against before.json")]
    Plan(PlanArgs),
    /// Approve servers that wait for it, exactly as they are configured now
    #[command(after_help = "Examples:\n  qwen mcp approve github\n  qwen mcp approve --all --yes\n  \
                            qwen mcp approve github --hash 5f0c…64 digits")]
    Approve(ApproveArgs),
    /// Reject servers, exactly as they are configured now; they are not asked about again until they change
    #[command(after_help = "Example:\n  qwen mcp reject linter")]
    Reject(RejectArgs),
    /// Show or revoke recorded decisions
    #[command(subcommand, arg_required_else_help = true)]
    Approvals(ApprovalsCommand),
    /// Try a connection in this process, and say how a running session does it
    #[command(after_help = "Examples:\n  qwen mcp reconnect github\n  qwen mcp reconnect --all")]
    Reconnect(ReconnectArgs),
    /// Show one server in full: its entry, who else has its name, and why it may connect or may not
    #[command(after_help = "Examples:\n  qwen mcp get github\n  qwen mcp get github --no-connect --json")]
    Get(GetArgs),
    /// List the tools of connected servers
    #[command(after_help = "Examples:\n  qwen mcp tools\n  qwen mcp tools github --json")]
    Tools(CatalogueArgs),
    /// List the prompts of connected servers
    #[command(after_help = "Example:\n  qwen mcp prompts github")]
    Prompts(CatalogueArgs),
    /// List the resources of connected servers
    #[command(after_help = "Example:\n  qwen mcp resources github")]
    Resources(CatalogueArgs),
    /// Call one tool and print its result
    #[command(
        after_help = "Images, and results over 64 KiB, are written to files that are named instead.\n\n\
                      Examples:\n  qwen mcp call mcp__time__now\n  \
                      qwen mcp call time convert '{\"to\": \"UTC\"}'\n  \
                      qwen mcp call mcp__db__query @query.json\n  \
                      jq -n '{sql: \"select 1\"}' | qwen mcp call db query -"
    )]
    Call(CallArgs),
    /// Add a server to a settings file
    Add(Box<AddArgs>),
    /// Add a server from its entry as JSON
    #[command(
        after_help = "Example:\n  qwen mcp add-json time '{\"command\": \"uvx\", \"args\": [\"mcp-server-time\"]}'"
    )]
    AddJson(AddJsonArgs),
    /// Remove a server from a settings file
    #[command(after_help = "Examples:\n  qwen mcp remove github\n  qwen mcp remove github --scope project")]
    Remove(RemoveArgs),
    /// Take a server's name out of mcp.excluded again
    #[command(after_help = "Example:\n  qwen mcp enable github")]
    Enable(SwitchArgs),
    /// Keep a server from connecting: its name goes into mcp.excluded of your settings
    #[command(after_help = "Example:\n  qwen mcp disable github")]
    Disable(SwitchArgs),
}

/// `qwen mcp watch`.
#[derive(Args, Debug, Default)]
pub(crate) struct WatchArgs {
    /// One JSON object per line on stdout, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// End when stdin is closed
    #[arg(long)]
    pub(crate) stdin_close: bool,
}

/// `qwen mcp list`.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Connect to nothing; admitted servers are listed as not tried
    #[arg(long)]
    pub(crate) no_connect: bool,
    /// How long to wait for all servers together, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    pub(crate) timeout: u64,
    /// Exit with 3 when an admitted server failed
    #[arg(long)]
    pub(crate) check: bool,
}

/// `qwen mcp plan`.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Compare with a document that `qwen mcp plan --json` wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,
}

/// `qwen mcp approve`.
#[derive(Args, Debug)]
pub(crate) struct ApproveArgs {
    /// Which servers
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(server_names))]
    pub(crate) names: Vec<String>,
    /// Every server that waits for approval
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,
    /// Only if the entry still has this hash: all 64 digits
    #[arg(long, value_name = "HASH")]
    pub(crate) hash: Option<String>,
    /// Do not ask on a terminal
    #[arg(short = 'y', long)]
    pub(crate) yes: bool,
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// `qwen mcp reject`.
#[derive(Args, Debug)]
pub(crate) struct RejectArgs {
    /// Which servers
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(server_names))]
    pub(crate) names: Vec<String>,
    /// Every server that waits for approval
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// The word after `qwen mcp approvals`.
#[derive(Subcommand, Debug)]
pub(crate) enum ApprovalsCommand {
    /// List what was decided for this project
    #[command(after_help = "Example:\n  qwen mcp approvals list --all-projects --history")]
    List(ApprovalsListArgs),
    /// Forget what was decided, so that it is asked again
    #[command(
        after_help = "Examples:\n  qwen mcp approvals revoke github\n  qwen mcp approvals revoke --project"
    )]
    Revoke(RevokeArgs),
}

/// `qwen mcp approvals list`.
#[derive(Args, Debug)]
pub(crate) struct ApprovalsListArgs {
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Of every project, not only this one
    #[arg(long)]
    pub(crate) all_projects: bool,
    /// Earlier decisions too
    #[arg(long)]
    pub(crate) history: bool,
}

/// `qwen mcp approvals revoke`.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct RevokeArgs {
    /// Which server
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(server_names))]
    pub(crate) name: Option<String>,
    /// Every decision of this project
    #[arg(long)]
    pub(crate) project: bool,
}

/// `qwen mcp reconnect`.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct ReconnectArgs {
    /// Which server
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(server_names))]
    pub(crate) name: Option<String>,
    /// Every configured server
    #[arg(long)]
    pub(crate) all: bool,
}

/// The word after `qwen settings`.
#[derive(Subcommand, Debug)]
pub(crate) enum SettingsCommand {
    /// Report every problem of every settings file
    #[command(
        after_help = "Exits with 4 if there is an error. In the project's files errors count as warnings\n\
                            unless --strict is given."
    )]
    Check(SettingsCheckArgs),
    /// Show the merged settings
    #[command(after_help = "Examples:\n  qwen settings show\n  qwen settings show mcp.allowed --origin")]
    Show(SettingsShowArgs),
    /// Print the JSON Schema of the settings file, for editors
    #[command(after_help = "Example:\n  qwen settings schema > settings.schema.json")]
    Schema,
}

/// `qwen settings check`.
#[derive(Args, Debug)]
pub(crate) struct SettingsCheckArgs {
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Errors in the project's own files count as errors
    #[arg(long)]
    pub(crate) strict: bool,
}

/// `qwen settings show`.
#[derive(Args, Debug)]
pub(crate) struct SettingsShowArgs {
    /// Only this setting, such as mcp.allowed
    #[arg(value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Where each value comes from
    #[arg(long)]
    pub(crate) origin: bool,
}

/// `qwen trust`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  qwen trust                 this folder and what is below it\n  \
                        qwen trust --parent        the folder above and what is below it\n  \
                        qwen trust ~/work --deny   nothing below ~/work\n  qwen trust --list")]
pub(crate) struct TrustArgs {
    /// Which folder; the working folder where none is named
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Trust the folder above it
    #[arg(long, conflicts_with_all = ["deny", "remove", "list"])]
    pub(crate) parent: bool,
    /// Do not trust it
    #[arg(long, conflicts_with_all = ["remove", "list"])]
    pub(crate) deny: bool,
    /// Forget what was said about it
    #[arg(long, conflicts_with = "list")]
    pub(crate) remove: bool,
    /// List what was said about every folder
    #[arg(long, conflicts_with = "dir")]
    pub(crate) list: bool,
}

/// `qwen demo`.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Where to make the playground
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// `qwen demo-server`.
#[derive(Args, Debug)]
pub(crate) struct DemoServerArgs {
    /// What it calls itself
    #[arg(long, value_name = "N", default_value = "demo")]
    pub(crate) name: String,
    /// How many numbered tools it offers beside its own
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) tools: u32,
    /// How long it takes to answer `initialize`, in milliseconds
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) delay_ms: u64,
}

#[cfg(test)]
mod tests;
