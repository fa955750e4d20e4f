//! `qwen completions` and what a shell asks while somebody types: commands, options and server names. It reads settings
//! files and starts no server.

use std::{ffi::OsStr, io};

use clap_complete::{
    CompletionCandidate,
    env::{CompleteEnv, Shells},
};

use crate::{
    app::App,
    args::{self, CompletionsArgs, Global},
    derive::Screen,
    exit::Exit,
    output,
};

/// Set by the script of the shell.
const ASKED: &str = "QWEN_COMPLETE";

/// Answers a shell, where this process was started by one to complete a line.
///
/// The process then ends here.
pub(crate) fn answer_if_asked() {
    if std::env::var_os(ASKED).is_some() {
        CompleteEnv::with_factory(args::command).var(ASKED).bin("qwen").complete();
    }
}

/// Prints the script that makes a shell ask.
pub(crate) fn run(args: &CompletionsArgs) -> Exit {
    match script(&args.shell.to_string()) {
        Ok(script) => {
            output::print(&script);
            Exit::Ok
        }
        Err(error) => {
            output::complain("write the completion script", &error);
            Exit::Failed
        }
    }
}

fn script(shell: &str) -> io::Result<String> {
    let mut script = Vec::new();
    match Shells::builtins().completer(shell) {
        Some(shell) => shell.write_registration(ASKED, "qwen", "qwen", "qwen", &mut script)?,
        None => {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "there is no completion for this shell"));
        }
    }
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// The servers of this folder whose names begin with what was typed.
pub(crate) fn server_names(typed: &OsStr) -> Vec<CompletionCandidate> {
    let (Some(typed), Ok(app)) = (typed.to_str(), App::open(&Global::default(), Screen::Headless)) else {
        return Vec::new();
    };
    let derived = app.derived();
    let begins = derived.rows.values().filter(|row| row.name.as_str().starts_with(typed));
    begins
        .map(|row| {
            let about = row.target.clone().map(|target| crate::text::visible(&target).into_owned().into());
            CompletionCandidate::new(row.name.as_str()).help(about)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;
    use clap_complete::Shell;

    #[test]
    fn each_shell_has_a_script_that_asks_this_command() {
        for shell in Shell::value_variants() {
            insta::with_settings!({ snapshot_suffix => shell.to_string() }, {
                insta::assert_snapshot!("script", script(&shell.to_string()).unwrap());
            });
        }
    }
}
