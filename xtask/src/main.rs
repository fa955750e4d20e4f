//! Which task was asked for? Knows the names of the project's own tasks and nothing of what they do.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking"))]

mod api;
mod bench;
mod changelog;
mod ci;
mod codegen;
mod dist;
mod full;
mod fuzz;
mod packages;
mod real_servers;
mod release;
mod soak;
mod test;
mod tidy;

use std::process::ExitCode;

use anyhow::Context as _;
use xshell::Shell;

use real_servers::Extent;

const USAGE: &str = "\
usage: cargo xtask TASK

  ci                             everything that must hold before a change lands
  test                           all tests, those with real servers of npm and PyPI included
  test ARGS                      some tests; ARGS go to the test runner
  real-servers                   only the tests with real servers
  tidy                           walls, purity, sizes, licences and the other rules that no compiler checks
  codegen [--check]              writes what is made from the tables and the sources, or says what is stale
  soak [--seed N] [--seconds S]  edits, kills, hangs and floods at random, and counts what is left (1, 60)
  fuzz [--seconds S]             arbitrary bytes for each fuzz target (60)
  bench [--check] [--write] [--peer mcp-hub|qwen-code] [--runs N] [--idle-seconds S]
                                 times and costs; fails when a bound is broken, writes docs/benchmarks.md
  full [--write]                 the conformance suite of the protocol; writes docs/conformance.md, or says what differs
  dist                           the archive for people without Rust, tried from where it is unpacked
  release --dry-run              whether this could be released, and what that would do
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
        "test" if rest.is_empty() => test::run(&sh, Extent::Whole)?,
        "test" => test::some(&sh, rest)?,
        "real-servers" if rest.is_empty() => real_servers(&sh)?,
        "tidy" => tidy::run(&sh)?,
        "codegen" if rest == ["--check"] => codegen::run(&sh, codegen::Mode::Check)?,
        "codegen" if rest.is_empty() => codegen::run(&sh, codegen::Mode::Write)?,
        "soak" => soak::run(&sh, number(rest, "--seed", 1)?, number(rest, "--seconds", 60)?)?,
        "fuzz" => fuzz::run(&sh, number(rest, "--seconds", 60)?)?,
        "bench" => bench::run(&sh, &bench::Asked::of(rest))?,
        "full" if rest.is_empty() => full::run(&sh, full::Page::Check)?,
        "full" if rest == ["--write"] => full::run(&sh, full::Page::Write)?,
        "dist" if rest.is_empty() => dist::run(&sh)?,
        "release" if rest == ["--dry-run"] => release::dry_run(&sh)?,
        "help" | "--help" | "-h" => print!("{USAGE}"),
        _ => {
            eprint!("{USAGE}");
            return Ok(ExitCode::from(2));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn real_servers(sh: &Shell) -> anyhow::Result<()> {
    xshell::cmd!(sh, "cargo build --quiet --locked --package qwen-tests --bins").run()?;
    for part in real_servers::run(sh, Extent::Whole)? {
        eprintln!("skipped: {part}");
    }
    Ok(())
}

/// Where cargo builds, and where what tasks install or make goes.
pub(crate) fn target(sh: &Shell) -> std::path::PathBuf {
    let folder = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    sh.current_dir().join(folder)
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
