//! Do the servers that people run pass? Installs them, pinned, and runs their tests; a part whose interpreter is missing
//! is named and skipped. What the tests do is in `tests/tests/real_servers.rs` and
//! `real_remote.rs`.

use xshell::{Shell, cmd};

use crate::packages::{self, Missing};

/// How much is tested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    /// Each server connects, lists and answers a call.
    Smoke,
    /// The same, and each lives through approval, edits and removal.
    Whole,
}

/// What could not be tested on this machine, one sentence each.
pub(crate) type Skipped = Vec<String>;

const LOCKS: &str = "tests/real-servers";

/// Tests what can be tested here and says what cannot.
///
/// # Errors
/// When an installation or a test fails.
pub(crate) fn run(sh: &Shell, extent: Extent) -> anyhow::Result<Skipped> {
    let from = sh.current_dir().join(LOCKS);
    let to = crate::target(sh).join("real-servers");
    let npm = packages::npm(sh, &from, &to.join("npm"))?;
    let pip = match packages::answer(sh, "git") {
        Some(_) => packages::pip(sh, &from, &to.join("pip"))?,
        None => Err(Missing("`git` is not found".into())),
    };
    let parts = [
        ("npm", "server-everything, server-filesystem, server-memory", npm),
        ("pip", "mcp-server-time, mcp-server-git", pip),
    ];
    let mut skipped = Vec::new();
    let mut left_out = Vec::new();
    for (part, servers, installed) in parts {
        if let Err(Missing(why)) = installed {
            skipped.push(format!("real servers of {part} ({servers}): {why}"));
            left_out.extend(["--skip".to_owned(), format!("{part}::")]);
        }
    }
    let only = match extent {
        Extent::Smoke => &["smoke"][..],
        Extent::Whole => &[],
    };
    // They are marked as ignored, since a plain `cargo test` has not installed them.
    cmd!(sh, "cargo test --quiet --locked --package qwen-tests --test real_servers --test real_remote -- --include-ignored {only...} {left_out...}")
        .run()?;
    Ok(skipped)
}
