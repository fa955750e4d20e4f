//! `qwen trust`: what the user said about folders. Running sessions see it at once, since the record is watched.

mod record;

use std::{
    io,
    path::{Path, PathBuf},
};

use qwen_settings_schema::FolderTrust;

pub(crate) use self::record::{Rule, TrustRecord};
use crate::{
    app::App,
    args::{Global, TrustArgs},
    derive::Screen,
    exit::Exit,
    output,
    text::{Cell, Paint, Tone, columns, visible},
};

/// Writes or lists the record.
pub(crate) fn run(global: &Global, args: &TrustArgs) -> Exit {
    let app = match App::open(global, Screen::Headless) {
        Ok(app) => app,
        Err(error) => return output::fail(&error, error.exit()),
    };
    let record = TrustRecord::at(&app.launch.paths.trusted_folders);
    match done(&app, args, &record) {
        Ok(text) => {
            output::print(&text);
            Exit::Ok
        }
        Err(error) => output::fail(&error, Exit::Failed),
    }
}

fn done(app: &App, args: &TrustArgs, record: &TrustRecord) -> Result<String, TrustError> {
    if args.list {
        return Ok(render_rules(&record.read()?, app.paint(&io::stdout())));
    }
    let folder = match &args.dir {
        None => app.root().to_path_buf(),
        Some(folder) => canonical(&app.launch.environment.cwd.join(folder))?,
    };
    if args.remove {
        return Ok(removed_text(record.remove(&folder)?, &folder));
    }
    let rule = match (args.deny, args.parent) {
        (true, _) => Rule::Distrust,
        (false, true) => Rule::TrustParent,
        (false, false) => Rule::Trust,
    };
    record.set(&folder, rule)?;
    Ok(rule_text(rule, &folder, app.derived().merged.options.folder_trust))
}

fn removed_text(rules: usize, folder: &Path) -> String {
    let shown = folder.display().to_string();
    match rules {
        0 => format!("nothing was said about {}\n", visible(&shown)),
        _ => format!("forgot what was said about {}\n", visible(&shown)),
    }
}

fn rule_text(rule: Rule, folder: &Path, folder_trust: FolderTrust) -> String {
    let (says, folder) = match rule {
        Rule::Trust => ("trusts", folder),
        Rule::TrustParent => ("trusts", folder.parent().unwrap_or(folder)),
        Rule::Distrust => ("does not trust", folder),
    };
    let shown = folder.display().to_string();
    let text = format!("{says} {} and what is below it\n", visible(&shown));
    match folder_trust {
        FolderTrust::On => text,
        FolderTrust::Off => {
            text + "security.folderTrust.enabled is off in your settings:\n\
                    until it is on, every folder is trusted\n"
        }
    }
}

/// Why the record could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TrustError {
    /// There is no such folder.
    #[error("find the folder {}", path.display())]
    NoFolder {
        /// As typed.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The record could not be read or written.
    #[error("use the record of trusted folders {}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The record is no JSON object of words.
    #[error("understand the record of trusted folders {}; mend it or move it away", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
    },
}

fn canonical(path: &Path) -> Result<PathBuf, TrustError> {
    std::fs::canonicalize(path).map_err(|source| TrustError::NoFolder { path: path.to_path_buf(), source })
}

fn render_rules(rules: &[(String, String)], paint: Paint) -> String {
    if rules.is_empty() {
        return "nothing was said about any folder\n".to_owned();
    }
    let cells: Vec<Vec<Cell>> = rules
        .iter()
        .map(|(folder, word)| {
            let tone = if word.starts_with("TRUST") { Tone::Good } else { Tone::Bad };
            vec![Cell::new(tone, word), Cell::new(Tone::Normal, folder)]
        })
        .collect();
    columns(&cells, paint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_about_each_folder_is_listed() {
        let rule = |folder: &str, word: &str| (folder.to_owned(), word.to_owned());
        let rules = [rule("/p", "TRUST_FOLDER"), rule("/q/r", "DO_NOT_TRUST")];
        insta::assert_snapshot!(render_rules(&rules, Paint::Plain), @r"
        TRUST_FOLDER  /p
        DO_NOT_TRUST  /q/r
        ");
        assert_eq!(render_rules(&[], Paint::Plain), "nothing was said about any folder\n");
    }

    #[test]
    fn each_sentence_about_a_folder_names_it() {
        let folder = Path::new("/home/u/work");
        let mut said = String::new();
        for trust in [FolderTrust::On, FolderTrust::Off] {
            for rule in [Rule::Trust, Rule::TrustParent, Rule::Distrust] {
                said.push_str(&rule_text(rule, folder, trust));
            }
        }
        said.push_str(&removed_text(0, folder));
        said.push_str(&removed_text(2, Path::new("/home/u/\u{1b}")));
        let path = || PathBuf::from("/home/u/x");
        let source = || io::Error::from(io::ErrorKind::PermissionDenied);
        for error in [
            TrustError::NoFolder { path: path(), source: source() },
            TrustError::Record { path: path(), source: source() },
            TrustError::Broken { path: path() },
        ] {
            said.push_str(&format!("{}\n", output::failure(&error)));
        }
        insta::assert_snapshot!(said);
    }
}
