//! `qwen man`: manual pages, made from the same definitions as `--help`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::Command;
use clap_mangen::Man;

use crate::{
    args::{self, ManArgs},
    exit::Exit,
    output,
    text::{count, visible},
};

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
enum ManError {
    #[error("find the command `{0}`; `qwen --help` lists all of them")]
    Unknown(String),
    #[error("write the page")]
    Page(#[source] io::Error),
    #[error("write the pages into {}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
}

/// Prints one page, or writes all of them.
pub(crate) fn run(args: &ManArgs) -> Exit {
    let mut root = args::command();
    root.build();
    let done = match &args.dir {
        Some(folder) => write_all(&root, folder).map(|pages| {
            output::note(&format!("{} in {}", count(pages, "manual page"), folder.display()));
        }),
        None => find(&root, &args.command)
            .and_then(page)
            .map(|page| output::print(&String::from_utf8_lossy(&page))),
    };
    match done {
        Ok(()) => Exit::Ok,
        Err(error @ ManError::Unknown(_)) => output::fail(&error, Exit::Usage),
        Err(error @ (ManError::Page(_) | ManError::Folder { .. })) => output::fail(&error, Exit::Failed),
    }
}

fn find<'a>(root: &'a Command, words: &[String]) -> Result<&'a Command, ManError> {
    words.iter().try_fold(root, |command, word| {
        command.find_subcommand(word).ok_or_else(|| ManError::Unknown(visible(&words.join(" ")).into_owned()))
    })
}

fn page(command: &Command) -> Result<Vec<u8>, ManError> {
    let mut page = Vec::new();
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let version = concat!("qwen ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).title(name.to_uppercase()).source(version).manual("MCP runtime");
    man.render(&mut page).map_err(ManError::Page)?;
    Ok(page)
}

/// How many were written.
fn write_all(command: &Command, folder: &Path) -> Result<usize, ManError> {
    let failed = |source| ManError::Folder { folder: folder.to_path_buf(), source };
    fs::create_dir_all(folder).map_err(failed)?;
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    fs::write(folder.join(format!("{name}.1")), page(command)?).map_err(failed)?;
    let below = command.get_subcommands().map(|command| write_all(command, folder));
    Ok(1 + below.sum::<Result<usize, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let mut root = args::command();
        root.build();
        let pages = write_all(&root, folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), pages);
        for (page, text) in [
            ("qwen.1", "SYNOPSIS"),
            ("qwen-mcp-add.1", "Examples"),
            ("qwen-mcp-approvals-list.1", "all\\-projects"),
        ] {
            let page = fs::read_to_string(folder.path().join(page)).unwrap();
            assert!(page.contains(text), "{page}");
        }
    }

    #[test]
    fn a_page_says_what_help_says() {
        let mut root = args::command();
        root.build();
        let words = ["mcp", "plan"].map(str::to_owned);
        let page = page(find(&root, &words).unwrap()).unwrap();
        insta::assert_snapshot!(String::from_utf8(page).unwrap());
    }

    #[test]
    fn a_command_that_does_not_exist_has_none() {
        let mut root = args::command();
        root.build();
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(find(&root, &words("mcp add")).is_ok());
        assert!(matches!(find(&root, &words("mcp ad")), Err(ManError::Unknown(_))));
    }
}
