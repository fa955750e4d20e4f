//! Which code does a command. Each command has a file of its own; this one only hands over.

mod demo;
mod demo_server;
mod plan;
mod settings;
mod trust;

use crate::{
    args::{Cli, Command, McpCommand},
    exit::Exit,
};

/// Does what the command line asks for.
pub(crate) fn run(cli: Cli) -> Exit {
    let global = &cli.global;
    match &cli.command {
        Some(Command::DemoServer(args)) => demo_server::run(args),
        Some(Command::Mcp(McpCommand::Plan(args))) => plan::run(global, args),
        Some(Command::Settings(command)) => settings::run(global, command),
        Some(Command::Trust(args)) => trust::run(global, args),
        Some(Command::Mcp(_) | Command::Trust(_) | Command::Demo(_)) | None => Exit::Failed,
    }
}
