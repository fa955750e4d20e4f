//! How are all tests run? By nextest where it is installed, else by cargo alone; and what could not be tested here?

use xshell::{Shell, cmd};

use crate::real_servers::{self, Extent};

/// Runs the tests with real servers, the examples in the documentation, then every other test.
///
/// # Errors
/// When a test fails.
pub(crate) fn run(sh: &Shell, extent: Extent) -> anyhow::Result<()> {
    build(sh)?;
    let mut skipped = real_servers::run(sh, extent)?;
    if !has_tmux(sh) {
        skipped.push("the interactive session in tmux: tmux is not installed".to_owned());
    }
    cmd!(sh, "cargo test --quiet --locked --workspace --doc").run()?;
    every_other(sh, &[])?;
    for part in skipped {
        eprintln!("skipped: {part}");
    }
    Ok(())
}

/// Runs the tests that the runner chooses by `filter`.
///
/// # Errors
/// When a test fails.
pub(crate) fn some(sh: &Shell, filter: &[String]) -> anyhow::Result<()> {
    build(sh)?;
    every_other(sh, filter)
}

/// The whole-program tests start these binaries, and those of other packages may want them too.
fn build(sh: &Shell) -> anyhow::Result<()> {
    Ok(cmd!(sh, "cargo build --quiet --locked --package qwen-tests --bins").run()?)
}

fn every_other(sh: &Shell, filter: &[String]) -> anyhow::Result<()> {
    if has_nextest(sh) {
        cmd!(sh, "cargo nextest run --locked --workspace --no-fail-fast {filter...}").run()?;
    } else {
        cmd!(sh, "cargo test --locked --workspace --all-targets --no-fail-fast {filter...}").run()?;
    }
    Ok(())
}

fn has_nextest(sh: &Shell) -> bool {
    cmd!(sh, "cargo nextest --version").quiet().ignore_stdout().ignore_stderr().run().is_ok()
}

fn has_tmux(sh: &Shell) -> bool {
    cmd!(sh, "tmux -V").quiet().ignore_stdout().ignore_stderr().run().is_ok()
}
