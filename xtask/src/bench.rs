//! How fast is it, and does it keep its bounds? Runs the benches of the libraries and the bench of the whole program,
//! and puts their tables into the document. What is measured is in `crates/*/benches` and in `tests/src/bench.rs`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use xshell::{Shell, cmd};

use crate::packages;

const DOCUMENT: &str = "docs/benchmarks.md";
const BEGIN: &str = "<!-- measured -->\n";
const END: &str = "<!-- end of what was measured -->";

/// Benches of the libraries, and by how much 10,000 servers may cost more than 1,000.
const GROUPS: [(&str, Option<f64>); 7] = [
    ("plan", Some(12.0)),
    ("diff", Some(12.0)),
    ("merge", Some(12.0)),
    ("admission", None),
    ("fingerprint", None),
    ("catalogue", None),
    ("approval-hash", None),
];

/// So many servers.
const SIZES: [u32; 3] = [10, 1_000, 10_000];

/// How often the libraries are measured. A machine that is slower for a minute would else decide a ratio.
const ROUNDS: usize = 3;

/// What was asked for.
pub(crate) struct Asked {
    /// Goes to the bench of the whole program: `--runs`, `--idle-seconds`, `--peer`.
    pub(crate) program: Vec<String>,
    /// Whether a broken bound is a failure.
    pub(crate) bounds: Bounds,
    /// What becomes of the tables.
    pub(crate) tables: Tables,
}

/// What a broken bound is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bounds {
    Told,
    Held,
}

/// Where the tables go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tables {
    Printed,
    Written,
}

impl Asked {
    /// Takes out what is ours.
    pub(crate) fn of(words: &[String]) -> Self {
        let has = |flag: &str| words.iter().any(|word| word == flag);
        let program = words.iter().filter(|word| !matches!(word.as_str(), "--check" | "--write"));
        Self {
            program: program.cloned().collect(),
            bounds: if has("--check") { Bounds::Held } else { Bounds::Told },
            tables: if has("--write") { Tables::Written } else { Tables::Printed },
        }
    }
}

pub(crate) fn run(sh: &Shell, asked: &Asked) -> anyhow::Result<()> {
    let target = crate::target(sh);
    let peers = target.join("peers");
    if asked.program.iter().any(|word| word == "--peer") {
        let from = sh.current_dir().join("tests/peers");
        packages::required(packages::npm(sh, &from, &peers)?)?;
    }
    let with = if asked.program.iter().any(|word| word == "--peer") {
        " The others are those pinned in `tests/peers`."
    } else {
        ""
    };
    let before = machine(sh)? + with;
    let (whole, mut broken) = program(sh, &target, &peers, &asked.program)?;
    let (pure, costly) = libraries(sh, &target)?;
    broken.extend(costly);
    let text = format!("{before}\n\n{whole}\n{pure}");
    match asked.tables {
        Tables::Printed => println!("{text}"),
        Tables::Written => write(sh, &text)?,
    }
    for sentence in &broken {
        eprintln!("broken: {sentence}");
    }
    match asked.bounds {
        Bounds::Held if !broken.is_empty() => bail!("{} of the bounds are broken", broken.len()),
        Bounds::Held | Bounds::Told => Ok(()),
    }
}

/// The table of the whole program, and which bounds it breaks.
fn program(
    sh: &Shell,
    target: &Path,
    peers: &Path,
    words: &[String],
) -> anyhow::Result<(String, Vec<String>)> {
    cmd!(sh, "cargo build --quiet --locked --release --package qwen-tests --bins").run()?;
    light_fleet(sh, target)?;
    let table = target.join("bench.md");
    let mut bench = std::process::Command::new(target.join("release/bench"));
    let status = bench.arg("--table").arg(&table).arg("--peers").arg(peers).args(words).status()?;
    let broken = match status.code() {
        Some(0) => Vec::new(),
        Some(1) => vec!["the program, as said above".to_owned()],
        code => bail!("the bench of the program ended with {code:?}"),
    };
    Ok((sh.read_file(table)?, broken))
}

/// Links the server of the fleet once more, as one file at a fixed address, in few segments and with the C library that
/// does least before `main`: what a server's start costs by itself is no runtime's doing, and comes fifty times over. In
/// a virtual machine two thirds of it would be the dynamic linker's and what glibc asks the processor.
fn light_fleet(sh: &Shell, target: &Path) -> anyhow::Result<()> {
    let light = ["-Crelocation-model=static", "-Clink-arg=-Wl,-z,noseparate-code,-z,norelro"];
    let musl = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    // Where there is no rustup, the build says whether the target is there.
    cmd!(sh, "rustup --quiet target add {musl}").ignore_stderr().ignore_status().run().ok();
    let compiler = format!("CC_{}", musl.replace('-', "_"));
    let linked = cmd!(
        sh,
        "cargo rustc --quiet --locked --release --package qwen-tests --bin fake-mcp --target {musl} -- {light...}"
    );
    if linked.env(compiler, "cc").run().is_ok() {
        let usual = target.join("release/fake-mcp");
        // Cargo's file has a second name, which keeps what it has.
        sh.remove_path(&usual)?;
        sh.copy_file(target.join(&musl).join("release/fake-mcp"), usual)?;
    } else {
        eprintln!(
            "bench: no fleet for {musl} can be built here; each server starts more slowly, for everybody"
        );
    }
    Ok(())
}

/// The table of the libraries, and which bounds they break.
fn libraries(sh: &Shell, target: &Path) -> anyhow::Result<(String, Vec<String>)> {
    let packages =
        &["qwen-settings-schema", "qwen-approvals", "qwen-core"].map(|name| ["--package", name]).concat();
    let short = ["--warm-up-time", "0.5", "--measurement-time", "1", "--noplot"];
    let mut rounds: BTreeMap<(&str, u32), Vec<f64>> = BTreeMap::new();
    for _ in 0..ROUNDS {
        cmd!(sh, "cargo bench --quiet --locked {packages...} --benches -- {short...}")
            .ignore_stdout()
            .run()?;
        for (group, size) in GROUPS.into_iter().flat_map(|(group, _)| SIZES.map(|size| (group, size))) {
            rounds.entry((group, size)).or_default().push(median(sh, target, group, size)?);
        }
    }
    rounds.values_mut().for_each(|round| round.sort_by(f64::total_cmp));
    let mut table =
        "| of the libraries | 10 servers | 1,000 | 10,000 | 10,000 against 1,000 | bound |\n| --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
    let mut broken = Vec::new();
    for (group, bound) in GROUPS {
        let [few, many, most] = SIZES.map(|size| rounds[&(group, size)][ROUNDS / 2]);
        let ratio = most / many;
        let held = bound.map(|bound| format!("at most {bound:.0} ×")).unwrap_or_default();
        table += &format!(
            "| {group} | {} | {} | {} | {ratio:.1} × | {held} |\n",
            time(few),
            time(many),
            time(most)
        );
        if bound.is_some_and(|bound| ratio > bound) {
            broken.push(format!("{group}: 10,000 servers cost {ratio:.1} × what 1,000 cost"));
        }
    }
    Ok((table, broken))
}

/// What criterion wrote down, in nanoseconds.
fn median(sh: &Shell, target: &Path, group: &str, size: u32) -> anyhow::Result<f64> {
    let path: PathBuf = target.join(format!("criterion/{group}/{size}/new/estimates.json"));
    let estimates: serde_json::Value = serde_json::from_str(&sh.read_file(&path)?)?;
    estimates["median"]["point_estimate"].as_f64().with_context(|| format!("no median in {}", path.display()))
}

fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        few if few < 1e3 => format!("{few:.0} ns"),
        some if some < 1e6 => format!("{:.1} µs", some / 1e3),
        many => format!("{:.2} ms", many / 1e6),
    }
}

/// What was measured on, and how busy it was with other things.
fn machine(sh: &Shell) -> anyhow::Result<String> {
    let cores = std::thread::available_parallelism()?;
    let load = sh.read_file("/proc/loadavg").unwrap_or_default();
    let load = load.split_whitespace().next().unwrap_or("unknown").to_owned();
    let rustc = cmd!(sh, "rustc --version").quiet().read()?;
    let day = cmd!(sh, "date -u +%F").quiet().read()?;
    Ok(format!("{day}, {cores} cores, load {load} before the run, {rustc}, release build."))
}

fn write(sh: &Shell, text: &str) -> anyhow::Result<()> {
    let document = sh.read_file(DOCUMENT)?;
    let filled = filled(&document, text).with_context(|| format!("{DOCUMENT} has lost its marks"))?;
    sh.write_file(DOCUMENT, filled)?;
    eprintln!("wrote {DOCUMENT}");
    Ok(())
}

/// The document with the text between its marks.
fn filled(document: &str, text: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{text}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_marks_is_replaced() {
        let document = format!("above\n{BEGIN}old\n{END}\nbelow\n");
        let once = filled(&document, "new").unwrap();
        assert_eq!(once, format!("above\n{BEGIN}new\n{END}\nbelow\n"));
        assert_eq!(filled(&once, "new"), Some(once));
        assert_eq!(filled("no marks", "new"), None);
    }

    #[test]
    fn what_is_not_ours_goes_to_the_program() {
        let asked = Asked::of(&["--runs", "5", "--check", "--peer", "mcp-hub"].map(Into::into));
        assert_eq!(asked.program, ["--runs", "5", "--peer", "mcp-hub"]);
        assert!(asked.bounds == Bounds::Held && asked.tables == Tables::Printed);
    }
}
