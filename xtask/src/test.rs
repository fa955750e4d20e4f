//! How are all tests run? By nextest where it is installed, else by cargo alone.

use xshell::{Shell, cmd};

/// Runs the examples in the documentation, then every other test; `filter` goes to the runner.
pub(crate) fn run(sh: &Shell, filter: &[String]) -> anyhow::Result<()> {
    // The whole-program tests start these binaries, and those of other packages may want them too.
    cmd!(sh, "cargo build --quiet --locked --package qwen-tests --bins").run()?;
    if filter.is_empty() {
        cmd!(sh, "cargo test --quiet --locked --workspace --doc").run()?;
    }
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
