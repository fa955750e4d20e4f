//! What must hold before a change lands, in the order that fails soonest. Knows how to call the checks, not what
//! they check.

use std::time::Instant;

use xshell::{Shell, cmd};

use crate::{codegen, real_servers::Extent, test, tidy};

type Step = fn(&Shell) -> anyhow::Result<()>;

/// Tests come last, so that the last lines are the test runner's summary and what was skipped.
const STEPS: [(&str, Step); 7] = [
    ("format", format),
    ("tidy", tidy::run),
    ("codegen", |sh| codegen::run(sh, codegen::Mode::Check)),
    ("clippy", clippy),
    ("docs", docs),
    ("standalone", standalone),
    ("test", |sh| test::run(sh, Extent::Smoke)),
];

pub(crate) fn run(sh: &Shell) -> anyhow::Result<()> {
    for (name, step) in STEPS {
        let start = Instant::now();
        eprintln!("── {name}");
        step(sh)?;
        if name != "test" {
            eprintln!("── {name}: ok in {:.1} s", start.elapsed().as_secs_f64());
        }
    }
    Ok(())
}

fn format(sh: &Shell) -> anyhow::Result<()> {
    Ok(cmd!(sh, "cargo fmt --all --check").run()?)
}

fn clippy(sh: &Shell) -> anyhow::Result<()> {
    Ok(cmd!(sh, "cargo clippy --quiet --locked --workspace --all-targets -- -D warnings").run()?)
}

fn docs(sh: &Shell) -> anyhow::Result<()> {
    let _flags = sh.push_env("RUSTDOCFLAGS", "-D warnings");
    Ok(cmd!(sh, "cargo doc --quiet --locked --workspace --no-deps").run()?)
}

/// Each library compiles in a package that uses nothing else of this workspace, with the versions locked here.
fn standalone(sh: &Shell) -> anyhow::Result<()> {
    // The profile of the workspace, so that what was built for it is used again.
    let _target = sh.push_env("CARGO_TARGET_DIR", sh.current_dir().join("target"));
    let debug = [
        "--config",
        "profile.dev.debug='line-tables-only'",
        "--config",
        "profile.dev.package.'*'.debug=false",
    ];
    for folder in sh.read_dir("standalone")? {
        let manifest = folder.join("Cargo.toml");
        if manifest.exists() {
            sh.copy_file("Cargo.lock", folder.join("Cargo.lock"))?;
            cmd!(sh, "cargo check --quiet {debug...} --all-targets --manifest-path {manifest}").run()?;
        }
    }
    Ok(())
}
