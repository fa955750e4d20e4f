//! What was typed to look at servers and to use them, and for help with the command line itself: `mcp get`, `tools`,
//! `prompts`, `resources`, `call`, `completions` and `man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::{ArgValueCompleter, Shell};

use crate::commands::completions::server_names;

/// `qwen mcp get`.
#[derive(Args, Debug)]
pub(crate) struct GetArgs {
    /// Which server
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(server_names))]
    pub(crate) name: String,
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not connect to it
    #[arg(long)]
    pub(crate) no_connect: bool,
    /// How long to wait for it, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    pub(crate) timeout: u64,
}

/// `qwen mcp tools`, `prompts` and `resources`.
#[derive(Args, Debug)]
pub(crate) struct CatalogueArgs {
    /// Of this server only
    #[arg(value_name = "SERVER", add = ArgValueCompleter::new(server_names))]
    pub(crate) server: Option<String>,
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// How long to wait for all servers together, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    pub(crate) timeout: u64,
}

/// `qwen mcp call`.
#[derive(Args, Debug)]
#[command(override_usage = "qwen mcp call [OPTIONS] <TOOL|SERVER TOOL> [JSON|@FILE|-]")]
pub(crate) struct CallArgs {
    /// The tool by its catalogue name, or its server and its own name; then the arguments as JSON, from a file or stdin
    #[arg(value_name = "TOOL", required = true, num_args = 1..=3)]
    pub(crate) words: Vec<String>,
    /// The whole result as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// How long to wait for the connection, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 30_000)]
    pub(crate) timeout: u64,
}

/// `qwen completions`.
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// For which shell
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: Shell,
}

/// `qwen man`.
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// Of which command, such as `mcp add`; without it, of qwen itself
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Write the pages of all commands into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) dir: Option<PathBuf>,
}
