//! Do the generated files match the tables they come from? Writes them, or says which are stale.

use anyhow::bail;
use xshell::Shell;

/// Whether to write the files or only to compare them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Write,
    Check,
}

pub(crate) fn run(sh: &Shell, mode: Mode) -> anyhow::Result<()> {
    let mut stale = Vec::new();
    for (path, text) in generated()? {
        if sh.read_file(path).is_ok_and(|there| there == text) {
            continue;
        }
        match mode {
            Mode::Write => {
                sh.write_file(path, text)?;
                eprintln!("wrote {path}");
            }
            Mode::Check => stale.push(path),
        }
    }
    match stale.as_slice() {
        [] => Ok(()),
        _ => bail!("{} do not match the tables; run `cargo xtask codegen`", stale.join(", ")),
    }
}

fn generated() -> anyhow::Result<[(&'static str, String); 2]> {
    let schema = serde_json::to_string_pretty(&qwen_settings_schema::json_schema())? + "\n";
    Ok([
        ("schemas/settings.schema.json", schema),
        ("docs/settings.md", qwen_settings_schema::settings_markdown()),
    ])
}
