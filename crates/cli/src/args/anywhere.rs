//! Flags that may be repeated count wherever they stand: before the command, between its words, and behind it. The
//! parser's own global flags would let the last place win over the others.

use std::ffi::OsString;

use clap::{Arg, ArgMatches, Command, CommandFactory as _, FromArgMatches as _};

use super::Cli;

const ALLOWED: &str = "allowed_mcp_server_names";
const CONFIG: &str = "mcp_config";
const APPROVE: &str = "approve_mcp";

/// The whole command line as the parser knows it.
pub(crate) fn command() -> Command {
    let root = Cli::command();
    let is_ours = |arg: &&Arg| [ALLOWED, CONFIG, APPROVE].iter().any(|id| arg.get_id() == id);
    let ours: Vec<Arg> = root.get_arguments().filter(is_ours).cloned().collect();
    below(root, &ours)
}

fn below(command: Command, args: &[Arg]) -> Command {
    command.mut_subcommands(|command| below(command.args(args), args))
}

/// What was typed.
///
/// # Errors
/// It makes no sense, or asks for help or the version.
pub(crate) fn parse<T: Into<OsString> + Clone>(
    words: impl IntoIterator<Item = T>,
) -> Result<Cli, clap::Error> {
    let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
    let mut command = command();
    let matches = command
        .try_get_matches_from_mut(&words)
        .map_err(|error| super::misspelt::with_what_was_meant(error, &command, &words))?;
    let mut cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    cli.global.allowed_mcp_server_names = gathered(&matches, ALLOWED);
    cli.global.mcp_config = gathered(&matches, CONFIG).unwrap_or_default();
    cli.global.approve_mcp = gathered(&matches, APPROVE).unwrap_or_default();
    Ok(cli)
}

/// Every value of a flag, in the order of the places where it stands; `None` where it stands nowhere.
fn gathered(matches: &ArgMatches, id: &str) -> Option<Vec<String>> {
    let mut all = None;
    for level in std::iter::successors(Some(matches), |level| level.subcommand().map(|(_, below)| below)) {
        // A command that does not know the flag has no value of it.
        if let Ok(Some(values)) = level.try_get_many::<String>(id) {
            all.get_or_insert_with(Vec::new).extend(values.cloned());
        }
    }
    all
}
