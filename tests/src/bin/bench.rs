//! Measures the program with a fleet, says on stderr which bounds are broken, and ends with 1 if any is:
//! `bench [--runs N] [--idle-seconds S] [--table FILE] [--peers FOLDER] [--peer NAME]…`.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use qwen_tests::{BenchPlan, Peer, bench};

const USAGE: &str =
    "usage: bench [--runs N] [--idle-seconds S] [--table FILE] [--peers FOLDER] [--peer mcp-hub|qwen-code]…";

fn main() -> ExitCode {
    let Some((plan, table)) = parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let report = bench(&plan);
    match table {
        Some(path) => {
            if let Err(problem) = std::fs::write(&path, report.to_string()) {
                eprintln!("cannot write {}: {problem}", path.display());
                return ExitCode::from(2);
            }
        }
        None => print!("{report}"),
    }
    let broken = report.broken();
    for sentence in &broken {
        eprintln!("broken: {sentence}");
    }
    if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(mut args: impl Iterator<Item = String>) -> Option<(BenchPlan, Option<PathBuf>)> {
    let mut plan = BenchPlan {
        runs: 20,
        idle: Duration::from_secs(60),
        peers: Vec::new(),
        peers_folder: "target/peers".into(),
    };
    let mut table = None;
    while let Some(flag) = args.next() {
        match flag.as_str() {
            "--runs" => plan.runs = args.next()?.parse().ok()?,
            "--idle-seconds" => plan.idle = Duration::from_secs(args.next()?.parse().ok()?),
            "--table" => table = Some(args.next()?.into()),
            "--peers" => plan.peers_folder = args.next()?.into(),
            "--peer" => {
                let name = args.next()?;
                plan.peers.push(Peer::ALL.into_iter().find(|(known, _)| *known == name)?.1);
            }
            _ => return None,
        }
    }
    Some((plan, table))
}
