//! What is handed to somebody who has no Rust? Builds the archive and tries it: unpacked somewhere else, with nothing of
//! this machine around it, it must run the demo by itself.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use xshell::{Shell, cmd};

use crate::changelog::Section;

/// Shells, and what their completion files are called.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "qwen.bash"), ("zsh", "_qwen"), ("fish", "qwen.fish")];

/// Builds `target/dist/qwen-VERSION-HOST.tar.gz` with its checksum beside it, and tries it.
///
/// # Errors
/// When a part cannot be made, or the archive does not stand alone.
pub(crate) fn run(sh: &Shell) -> anyhow::Result<()> {
    let version = version(sh)?;
    let name = format!("qwen-{version}-{}", host(sh)?);
    let target = crate::target(sh);
    let (dist, root) = (target.join("dist"), target.join("dist").join(&name));
    sh.remove_path(&dist)?;
    sh.create_dir(&root)?;
    cmd!(sh, "cargo build --quiet --locked --release --package qwen-cli").run()?;
    fill(sh, &root, &target.join("release/qwen"), &version)?;
    checksums(sh, &root)?;
    let archive = format!("{name}.tar.gz");
    {
        let _folder = sh.push_dir(&dist);
        // The same content gives the same archive, whoever builds it and when.
        let same = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"];
        cmd!(sh, "tar {same...} -czf {archive} {name}").run()?;
        let sum = cmd!(sh, "sha256sum {archive}").quiet().read()?;
        sh.write_file(format!("{archive}.sha256"), sum + "\n")?;
    }
    try_it(sh, &dist, &name, &archive)?;
    eprintln!("made {}", dist.join(&archive).display());
    Ok(())
}

fn fill(sh: &Shell, root: &Path, built: &Path, version: &str) -> anyhow::Result<()> {
    let qwen = root.join("bin/qwen");
    sh.create_dir(root.join("bin"))?;
    sh.copy_file(built, &qwen)?;
    for file in ["LICENSE", "README.md"] {
        sh.copy_file(file, root.join(file))?;
    }
    let changelog = sh.read_file("CHANGELOG.md")?;
    let section = Section::of(&changelog, version)
        .with_context(|| format!("CHANGELOG.md says nothing of {version}"))?;
    sh.write_file(root.join("CHANGES.md"), format!("# {version}\n\n{}\n", section.text()))?;
    for (shell, file) in COMPLETIONS {
        let text = cmd!(sh, "{qwen} completions {shell}").quiet().read()?;
        sh.write_file(root.join("completions").join(file), text + "\n")?;
    }
    let pages = root.join("man/man1");
    sh.create_dir(&pages)?;
    Ok(cmd!(sh, "{qwen} man --dir {pages}").quiet().ignore_stdout().run()?)
}

/// One line for each file, as `sha256sum --check` reads it.
fn checksums(sh: &Shell, root: &Path) -> anyhow::Result<()> {
    let _folder = sh.push_dir(root);
    let mut files = crate::tidy::files_below(root)?;
    files.sort();
    let names: Vec<PathBuf> =
        files.iter().filter_map(|file| file.strip_prefix(root).ok()).map(Path::to_path_buf).collect();
    let sums = cmd!(sh, "sha256sum {names...}").quiet().read()?;
    Ok(sh.write_file("SHA256SUMS", sums + "\n")?)
}

/// Unpacks the archive in a folder of its own, checks its sums, and runs the demo from there.
fn try_it(sh: &Shell, dist: &Path, name: &str, archive: &str) -> anyhow::Result<()> {
    let elsewhere = sh.create_temp_dir()?;
    let folder = elsewhere.path();
    {
        let _folder = sh.push_dir(dist);
        cmd!(sh, "sha256sum --quiet --check {archive}.sha256").quiet().run()?;
        cmd!(sh, "tar -xzf {archive} -C {folder}").quiet().run()?;
    }
    let root = folder.join(name);
    {
        let _folder = sh.push_dir(&root);
        cmd!(sh, "sha256sum --quiet --check SHA256SUMS").quiet().run()?;
    }
    demo(&root.join("bin/qwen"), folder)
}

/// The demo must bring its servers to life and end when it is told to.
fn demo(qwen: &Path, folder: &Path) -> anyhow::Result<()> {
    const BOUND: Duration = Duration::from_secs(30);
    let mut command = Command::new(qwen);
    command
        .arg("demo")
        .arg(folder.join("playground"))
        .current_dir(folder)
        .env_clear()
        .env("HOME", folder)
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = command.spawn().context("the unpacked program does not start")?;
    let stdout = child.stdout.take().context("its output is not there")?;
    let (said, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // Once the servers are live nobody listens any more.
            said.send(line).ok();
        }
    });
    let end = Instant::now() + BOUND;
    let mut waiting = vec!["clock is connected", "slow is connected"];
    let mut heard = Vec::new();
    while !waiting.is_empty() {
        let Ok(line) = lines.recv_timeout(end.saturating_duration_since(Instant::now())) else { break };
        waiting.retain(|sentence| !line.contains(sentence));
        heard.push(line);
    }
    let pid = child.id().to_string();
    let told = Command::new("kill").args(["-TERM", &pid]).status()?;
    let ended = child.wait()?;
    ensure!(
        waiting.is_empty(),
        "the unpacked demo did not say {waiting:?} within {BOUND:?}; it said {heard:#?}"
    );
    ensure!(told.success() && ended.success(), "the unpacked demo ended with {ended}");
    Ok(())
}

/// The version of every package of the workspace.
///
/// # Errors
/// When they differ.
pub(crate) fn version(sh: &Shell) -> anyhow::Result<String> {
    let metadata = cmd!(sh, "cargo metadata --quiet --format-version 1 --no-deps --locked").quiet().read()?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut versions = packages.iter().filter_map(|package| package["version"].as_str());
    let first = versions.next().context("the workspace has no package")?;
    if let Some(other) = versions.find(|version| *version != first) {
        bail!("packages have the versions {first} and {other}; they are released together");
    }
    Ok(first.to_owned())
}

fn host(sh: &Shell) -> anyhow::Result<String> {
    let said = cmd!(sh, "rustc -vV").quiet().read()?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not name its host")?.to_owned())
}
