//! Do the generated files match what they come from? Writes them, or says which are stale.

use anyhow::bail;
use xshell::Shell;

use crate::api;

/// Whether to write the files or only to compare them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Write,
    Check,
}

pub(crate) fn run(sh: &Shell, mode: Mode) -> anyhow::Result<()> {
    let mut stale = Vec::new();
    for (path, text) in generated(sh)? {
        if sh.read_file(&path).is_ok_and(|there| there == text) {
            continue;
        }
        match mode {
            Mode::Write => {
                sh.write_file(&path, text)?;
                eprintln!("wrote {path}");
            }
            Mode::Check => stale.push(path),
        }
    }
    match stale.as_slice() {
        [] => Ok(()),
        _ => bail!("{} are stale; run `cargo xtask codegen`", stale.join(", ")),
    }
}

fn generated(sh: &Shell) -> anyhow::Result<Vec<(String, String)>> {
    let schema = serde_json::to_string_pretty(&qwen_settings_schema::json_schema())? + "\n";
    let mut files = vec![
        ("schemas/settings.schema.json".to_owned(), schema),
        ("docs/settings.md".to_owned(), qwen_settings_schema::settings_markdown()),
    ];
    files.extend(api::lists(sh)?);
    Ok(files)
}
