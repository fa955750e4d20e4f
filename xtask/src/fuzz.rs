//! How are arbitrary bytes fed to what reads files? Bounded, with the corpus of the repository as a start.

use anyhow::bail;
use xshell::{Shell, cmd};

const TARGETS: [&str; 2] = ["reader", "diff"];

/// Fuzzes each target for `seconds`. What it finds goes to `fuzz/artifacts`, new inputs to `target/fuzz`.
pub(crate) fn run(sh: &Shell, seconds: u64) -> anyhow::Result<()> {
    if cmd!(sh, "cargo fuzz --version").quiet().ignore_stdout().ignore_stderr().run().is_err() {
        bail!(
            "cargo-fuzz is not installed; `cargo install cargo-fuzz` (the tests replay the corpus without it)"
        );
    }
    sh.copy_file("Cargo.lock", "fuzz/Cargo.lock")?;
    for target in TARGETS {
        let inputs = format!("target/fuzz/{target}");
        sh.create_dir(&inputs)?;
        // One input may take a second and a gigabyte at most.
        let limits = [format!("-max_total_time={seconds}"), "-timeout=1".into(), "-rss_limit_mb=1024".into()];
        let corpus = format!("fuzz/corpus/{target}");
        cmd!(sh, "cargo fuzz run --sanitizer none {target} {inputs} {corpus} -- {limits...} -max_len=16384")
            .run()?;
    }
    Ok(())
}
