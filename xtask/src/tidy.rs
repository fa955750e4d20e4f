//! Which of the project's own rules are broken, and where? Gathers the facts, runs every rule over them, prints what
//! was found. The rules are pure functions in the files below; each has a test with a bad sample.

mod claims;
mod graph;
mod licence;
mod names;
mod places;
mod purity;
mod shape;
pub(crate) mod source;
mod walls;

use std::{fmt, path::Path};

use anyhow::{Context as _, bail};
use xshell::{Shell, cmd};

use graph::Graph;
use source::Source;

/// One broken rule.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Finding {
    /// The file, or the package, that breaks it.
    pub(crate) place: String,
    /// Starts at 1; `None` where the whole file or package is meant.
    pub(crate) line: Option<usize>,
    /// What is wrong and what to do instead.
    pub(crate) message: String,
}

impl Finding {
    fn at(source: &Source, line: usize, message: impl Into<String>) -> Self {
        Self { place: source.path.clone(), line: Some(line), message: message.into() }
    }

    fn whole(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), line: None, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.place, self.message),
            None => write!(f, "{}: {}", self.place, self.message),
        }
    }
}

/// Fails when a rule is broken, after printing every finding.
pub(crate) fn run(sh: &Shell) -> anyhow::Result<()> {
    let root = sh.current_dir();
    let sources = source::read_all(&root)?;
    let graph = read_graph(sh)?;
    let findings = check(&sources, &graph, &places::read_all(&root)?);
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        1 => bail!("1 rule is broken"),
        count => bail!("{count} rules are broken"),
    }
}

fn check(sources: &[Source], graph: &Graph, texts: &[places::Text]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = [
        walls::check(graph),
        licence::check(graph),
        purity::check(sources),
        shape::check(sources),
        names::check(sources),
        places::check(texts),
        claims::check(sources, texts),
    ]
    .concat();
    findings.sort();
    findings
}

fn read_graph(sh: &Shell) -> anyhow::Result<Graph> {
    let json = cmd!(sh, "cargo metadata --quiet --format-version 1 --locked").quiet().read()?;
    Graph::parse(&json).context("what `cargo metadata` printed is not understood")
}

/// Every file below `folder` that is not built, in a stable order.
pub(crate) fn files_below(folder: &Path) -> anyhow::Result<Vec<std::path::PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in
            std::fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?
        {
            let entry = entry?;
            if matches!(entry.file_name().to_str(), Some("target" | ".git" | "corpus" | "artifacts")) {
                continue;
            }
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests;
