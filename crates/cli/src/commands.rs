//! Which code does a command. Each command has a file of its own; this one only hands over.

mod add;
mod approvals;
mod approve;
mod call;
mod catalogue;
pub(crate) mod completions;
mod demo;
mod demo_server;
mod get;
mod list;
mod man;
mod oneshot;
mod plan;
mod reconnect;
mod remove;
mod schema;
mod settings;
mod switch;
mod target;
mod trust;
mod using;
mod watch;

use self::catalogue::Listed;
pub(crate) use self::{
    approvals::decided_here,
    approve::unknown_at,
    call::{Asked, Keep, arguments_of, asked, first_error, text_of},
    switch::{Switched, switch_in},
    trust::{Rule, TrustError, TrustRecord},
    using::{ExitOf, Problem},
    watch::run_in as watch_in,
};
use crate::{
    args::{Cli, Command, Global, McpCommand, SettingsCommand},
    exit::Exit,
    tui,
};

/// Does what the command line asks for.
pub(crate) fn run(cli: &Cli) -> Exit {
    let global = &cli.global;
    match &cli.command {
        None => tui::run(global),
        Some(Command::Mcp(command)) => mcp(global, command),
        Some(Command::Settings(SettingsCommand::Schema)) => schema::run(),
        Some(Command::Settings(command)) => settings::run(global, command),
        Some(Command::Trust(args)) => trust::run(global, args),
        Some(Command::Demo(args)) => demo::run(global, args),
        Some(Command::DemoServer(args)) => demo_server::run(args),
        Some(Command::Completions(args)) => completions::run(args),
        Some(Command::Man(args)) => man::run(args),
    }
}

fn mcp(global: &Global, command: &McpCommand) -> Exit {
    match command {
        McpCommand::Watch(args) => watch::run(global, args),
        McpCommand::Plan(args) => plan::run(global, args),
        McpCommand::List(args) => list::run(global, args),
        McpCommand::Approve(args) => approve::approve(global, args),
        McpCommand::Reject(args) => approve::reject(global, args),
        McpCommand::Approvals(command) => approvals::run(global, command),
        McpCommand::Reconnect(args) => reconnect::run(global, args),
        McpCommand::Get(args) => get::run(global, args),
        McpCommand::Tools(args) => catalogue::run(global, args, Listed::Tools),
        McpCommand::Prompts(args) => catalogue::run(global, args, Listed::Prompts),
        McpCommand::Resources(args) => catalogue::run(global, args, Listed::Resources),
        McpCommand::Call(args) => call::run(global, args),
        McpCommand::Add(args) => add::run(global, args),
        McpCommand::AddJson(args) => add::run_json(global, args),
        McpCommand::Remove(args) => remove::run(global, args),
        McpCommand::Enable(args) => switch::enable(global, args),
        McpCommand::Disable(args) => switch::disable(global, args),
    }
}
