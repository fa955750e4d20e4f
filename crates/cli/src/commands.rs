//! Which code does a command. Each command has a file of its own; this one only hands over.

mod approvals;
mod approve;
mod demo;
mod demo_server;
mod list;
mod plan;
mod reconnect;
mod settings;
mod trust;
mod watch;

use crate::{
    args::{Cli, Command, Global, McpCommand, WatchArgs},
    exit::Exit,
};

/// Does what the command line asks for.
pub(crate) fn run(cli: &Cli) -> Exit {
    let global = &cli.global;
    match &cli.command {
        None => watch::run(global, &WatchArgs::default()),
        Some(Command::Mcp(command)) => mcp(global, command),
        Some(Command::Settings(command)) => settings::run(global, command),
        Some(Command::Trust(args)) => trust::run(global, args),
        Some(Command::Demo(args)) => demo::run(global, args),
        Some(Command::DemoServer(args)) => demo_server::run(args),
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
    }
}
