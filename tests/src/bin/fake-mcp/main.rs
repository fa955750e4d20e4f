//! A scripted MCP server over stdio or HTTP, hand-written so that it can misbehave: the tests' other side of every
//! connection. It owns no rule of the program under test and shares no code with it.
//!
//! What it does is said by flags (`options.rs`, and `http/site.rs` after `--http`): what it lists, a script of actions
//! at named points of its life, and over HTTP the answers that no decent server gives. Each life is written to
//! `--log FILE`, one JSON object per line, so that a test can count spawns, requests, calls and cancels.

mod control;
mod http;
mod lists;
mod log;
mod options;
mod proxy;
mod script;
mod server;
mod stdio;

use std::{os::unix::process::CommandExt as _, process::ExitCode};

use options::{Options, Script};

/// Set on the second life of a server that ignores signals: dispositions survive `exec`, so a shell sets them.
const HARDENED: &str = "FAKE_MCP_HARDENED";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|first| first == "--sleeper") {
        script::sleep_for_ever();
    }
    let options = match Options::parse(&args) {
        Ok(options) => options.without_faults_after_the_first(),
        Err(problem) => {
            eprintln!("fake-mcp: {problem}");
            return ExitCode::from(64);
        }
    };
    if options.ignore_term == Script::Yes && std::env::var_os(HARDENED).is_none() {
        return harden(&args);
    }
    let served = match options.site.clone() {
        Some(site) => http::serve(options, site),
        None => stdio::serve(options),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("fake-mcp: {problem}");
            ExitCode::from(66)
        }
    }
}

/// Becomes itself again with SIGTERM, SIGINT and SIGHUP ignored. Only returns when that failed.
fn harden(args: &[String]) -> ExitCode {
    let Ok(exe) = std::env::current_exe() else { return ExitCode::from(65) };
    let problem = std::process::Command::new("sh")
        .args(["-c", "trap '' TERM INT HUP; exec \"$0\" \"$@\""])
        .arg(exe)
        .args(args)
        .env(HARDENED, "1")
        .exec();
    eprintln!("fake-mcp: {problem}");
    ExitCode::from(65)
}
