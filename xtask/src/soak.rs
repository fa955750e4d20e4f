//! How is the soak started? The soak itself belongs to the tests.

use xshell::{Shell, cmd};

/// Edits, kills, hangs and floods at random for `seconds`; the same seed makes the same run.
pub(crate) fn run(sh: &Shell, seed: u64, seconds: u64) -> anyhow::Result<()> {
    cmd!(sh, "cargo build --quiet --locked --package qwen-tests --bins").run()?;
    let (seed, seconds) = (seed.to_string(), seconds.to_string());
    Ok(cmd!(
        sh,
        "cargo run --quiet --locked --package qwen-tests --bin soak -- --seed {seed} --seconds {seconds}"
    )
    .run()?)
}
