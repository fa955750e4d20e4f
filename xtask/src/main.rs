//! Which task was asked for? Knows the names of the project's own tasks and nothing of what they do.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking"))]

mod ci;
mod test;
mod tidy;

use std::process::ExitCode;

use xshell::Shell;

const USAGE: &str = "\
usage: cargo xtask TASK

  ci                 everything that must hold before a change lands
  test [ARGS]        all tests; ARGS go to the test runner
  tidy               walls, purity, sizes, licences and the other rules that no compiler checks
";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let task = words.next().unwrap_or_default();
    let rest: Vec<String> = words.collect();
    match run(&task, &rest) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask {task}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: &str, rest: &[String]) -> anyhow::Result<ExitCode> {
    let sh = Shell::new()?;
    sh.change_dir(workspace_root());
    match task {
        "ci" => ci::run(&sh)?,
        "test" => test::run(&sh, rest)?,
        "tidy" => tidy::run(&sh)?,
        "help" | "--help" | "-h" => print!("{USAGE}"),
        _ => {
            eprint!("{USAGE}");
            return Ok(ExitCode::from(2));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder of the workspace, whatever folder the task was started in.
fn workspace_root() -> std::path::PathBuf {
    let own = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}
