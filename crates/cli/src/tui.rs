//! `qwen` on a terminal: a session that one works in. The screen is a pure function of a state, the state moves by one
//! closed list of events, and a thin loop around both owns the terminal. Where there is no screen to draw on, the same
//! session runs as `qwen mcp watch`.

mod asked;
mod asker;
mod complete;
mod dialog;
mod event;
mod focus;
mod form;
mod help;
mod history;
mod input;
mod keep;
mod line;
mod listing;
#[cfg(test)]
mod measured;
mod notices;
mod painter;
mod panel;
mod question;
mod run;
mod state;
mod terminal;
#[cfg(test)]
mod testing;
mod update;
mod using;
mod view;

use std::path::PathBuf;

use self::{keep::Kept, terminal::NoScreen};
use crate::{
    app::{App, StartError},
    args::{Global, WatchArgs},
    commands,
    derive::Screen,
    exit::Exit,
    output,
    settings::Environment,
};

/// Runs the session in the surroundings of this process.
pub(crate) fn run(global: &Global) -> Exit {
    match Environment::of_process() {
        Ok(environment) => run_in(environment, global),
        Err(error) => {
            let error = StartError::Surroundings(error);
            output::fail(&error, error.exit())
        }
    }
}

/// The same in given surroundings.
pub(crate) fn run_in(environment: Environment, global: &Global) -> Exit {
    if let Some(reason) = NoScreen::here(&environment) {
        output::say(&format!(
            "qwen: no interactive session here: {}; going on as `qwen mcp watch`",
            reason.as_str()
        ));
        return commands::watch_in(environment, global, &WatchArgs::default());
    }
    let kept = Kept::of(&environment).ok();
    let global = Global { log_file: Some(log_file(global, kept.as_ref())), ..global.clone() };
    let app = match App::open_in(environment, &global, Screen::Interactive) {
        Ok(app) => app,
        Err(error) => return output::fail(&error, error.exit()),
    };
    match run::session(&app, &global, kept.as_ref()) {
        Ok(()) => Exit::Ok,
        Err(error) => output::fail(&error, error.exit()),
    }
}

/// Where the log goes: never over the screen.
fn log_file(global: &Global, kept: Option<&Kept>) -> PathBuf {
    let named = global.log_file.clone();
    named.or_else(|| kept.and_then(|kept| kept.log().ok())).unwrap_or_else(|| PathBuf::from("/dev/null"))
}
