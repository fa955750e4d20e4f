//! Could this be released now? Looks at everything that a release needs and changes nothing: publishing is a person's.

use anyhow::{Context as _, bail, ensure};
use xshell::{Shell, cmd};

use crate::{
    api,
    changelog::Section,
    codegen::{self, Mode},
    dist,
};

/// What is published, each after what it depends on.
const CRATES: [&str; 4] = ["qwen-settings-schema", "qwen-approvals", "qwen-core", "qwen-cli"];

/// Looks, and says what a release would do.
///
/// # Errors
/// With the first thing that stands in its way.
pub(crate) fn dry_run(sh: &Shell) -> anyhow::Result<()> {
    let version = dist::version(sh)?;
    eprintln!("version    {version}, of every package");

    let changelog = sh.read_file("CHANGELOG.md")?;
    match Section::of(&changelog, &version) {
        Some(Section::Written(_)) => eprintln!("changelog  has its section"),
        Some(Section::Unreleased(_)) => eprintln!("changelog  `Unreleased` would become `{version}`"),
        None => bail!("CHANGELOG.md says nothing of {version}; write the section first"),
    }

    let tag = format!("v{version}");
    let tags = cmd!(sh, "git tag --list").quiet().read()?;
    ensure!(!tags.lines().any(|known| known == tag), "the tag {tag} exists; raise the version in Cargo.toml");
    eprintln!("tag        {tag} would be made");

    codegen::run(sh, Mode::Check)?;
    match last_release(sh)? {
        Some(last) => {
            eprintln!("public API since {last}:");
            for line in api::changes_since(sh, &last)? {
                eprintln!("  {line}");
            }
        }
        None => eprintln!("public API nothing was released before; `{}` is what begins", api::FOLDER),
    }

    for package in CRATES {
        let list = cmd!(sh, "cargo package --quiet --locked --allow-dirty --list --package {package}")
            .quiet()
            .read()?;
        let odd: Vec<&str> = list.lines().filter(|file| !belongs(file)).collect();
        ensure!(odd.is_empty(), "the package {package} would carry {odd:?}; see `include` in its Cargo.toml");
        eprintln!("package    {package}: {} files", list.lines().count());
    }
    let packages: Vec<&str> = CRATES.iter().flat_map(|package| ["--package", *package]).collect();
    // Each is built from what would be published, against those before it.
    cmd!(sh, "cargo package --quiet --locked --allow-dirty {packages...}")
        .run()
        .context("a package does not build")?;
    eprintln!("nothing stands in the way; `cargo publish` and the tag are yours to run");
    Ok(())
}

/// The newest tag of a version that is an ancestor of this commit.
fn last_release(sh: &Shell) -> anyhow::Result<Option<String>> {
    let tags = cmd!(sh, "git tag --list v* --merged HEAD --sort=-version:refname").quiet().read()?;
    Ok(tags.lines().next().map(str::to_owned))
}

/// Whether a file is part of what somebody else builds.
fn belongs(file: &str) -> bool {
    let named = ["Cargo.toml", "Cargo.toml.orig", "Cargo.lock", ".cargo_vcs_info.json", "clippy.toml"];
    let test = file.ends_with("/tests.rs") || file.split('/').any(|part| part == "tests");
    named.contains(&file) || (file.starts_with("src/") && file.ends_with(".rs") && !test)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_else_builds_does_not_belong_into_a_package() {
        for file in ["Cargo.toml", "Cargo.lock", "src/lib.rs", "src/domain/entry.rs"] {
            assert!(belongs(file), "{file}");
        }
        for file in [
            "tests/walls.rs",
            "benches/x.rs",
            "src/a/snapshots/x.snap",
            "src/a/tests.rs",
            "src/a/tests/b.rs",
            ".env",
        ] {
            assert!(!belongs(file), "{file}");
        }
    }
}
