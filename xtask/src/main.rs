//! Which task was asked for? Knows the names of the project's own tasks and nothing of what they do.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking"))]

mod ci;
mod codegen;
mod fuzz;
mod soak;
mod test;
mod tidy;

use std::process::ExitCode;

use anyhow::Context as _;
use xshell::Shell;

const USAGE: &str = "\
usage: cargo xtask TASK

  ci                             everything that must hold before a change lands
  test [ARGS]                    all tests; ARGS go to the test runner
  tidy                           walls, purity, sizes, licences and the other rules that no compiler checks
  codegen [--check]              writes what is made from the settings tables, or says what is stale
  soak [--seed N] [--seconds S]  edits, kills, hangs and floods at random, and counts what is left (1, 60)
  fuzz [--seconds S]             arbitrary bytes for each fuzz target (60)
";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let task = words.next().unwrap_or_default();
    let rest: Vec<String> = words.collect();
    match run(&task, &rest) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask {task}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: &str, rest: &[String]) -> anyhow::Result<ExitCode> {
    let sh = Shell::new()?;
    sh.change_dir(workspace_root());
    match task {
        "ci" => ci::run(&sh)?,
        "test" => test::run(&sh, rest)?,
        "tidy" => tidy::run(&sh)?,
        "codegen" if rest == ["--check"] => codegen::run(&sh, codegen::Mode::Check)?,
        "codegen" if rest.is_empty() => codegen::run(&sh, codegen::Mode::Write)?,
        "soak" => soak::run(&sh, number(rest, "--seed", 1)?, number(rest, "--seconds", 60)?)?,
        "fuzz" => fuzz::run(&sh, number(rest, "--seconds", 60)?)?,
        "help" | "--help" | "-h" => print!("{USAGE}"),
        _ => {
            eprint!("{USAGE}");
            return Ok(ExitCode::from(2));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The number after `option`, or `default` where the option is not given.
fn number(words: &[String], option: &str, default: u64) -> anyhow::Result<u64> {
    match words.iter().position(|word| word == option) {
        Some(at) => {
            let word = words.get(at + 1).with_context(|| format!("{option} wants a number"))?;
            word.parse().with_context(|| format!("{option} wants a number, not `{word}`"))
        }
        None => Ok(default),
    }
}

/// The folder of the workspace, whatever folder the task was started in.
fn workspace_root() -> std::path::PathBuf {
    let own = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}
