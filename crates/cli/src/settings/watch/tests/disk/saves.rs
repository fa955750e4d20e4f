//! How programs save a file, step by step.

use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    time::Duration,
};

/// One way of saving.
#[derive(Clone, Copy, Debug)]
pub(super) enum Save {
    /// Write beside it, then rename over it: most editors and every atomic writer, `sed -i` too.
    RenameOver,
    /// Truncate, write one half, and 200 ms later the other.
    TwoHalves,
    /// Remove it, then write it anew.
    UnlinkAndCreate,
    /// Vim: probe `4913`, rename to a backup, write anew, remove the backup.
    Vim,
    /// `sed -i` itself.
    Sed,
    /// Write over what is there, then cut what is left over.
    InPlace,
}

pub(super) const SAVES: [Save; 6] =
    [Save::RenameOver, Save::TwoHalves, Save::UnlinkAndCreate, Save::Vim, Save::Sed, Save::InPlace];

impl Save {
    pub(super) async fn run(self, path: &Path, text: &str) {
        match self {
            Self::RenameOver => {
                let new = path.with_extension("json.new");
                fs::write(&new, text).unwrap();
                fs::rename(&new, path).unwrap();
            }
            Self::TwoHalves => {
                let (one, other) = text.as_bytes().split_at(text.len() / 2);
                let mut file = File::create(path).unwrap();
                file.write_all(one).unwrap();
                file.flush().unwrap();
                pause(200).await;
                file.write_all(other).unwrap();
            }
            Self::UnlinkAndCreate => {
                fs::remove_file(path).unwrap();
                pause(30).await;
                fs::write(path, text).unwrap();
            }
            Self::Vim => {
                let (probe, backup) = (path.with_file_name("4913"), path.with_extension("json~"));
                File::create(&probe).unwrap();
                fs::remove_file(&probe).unwrap();
                fs::rename(path, &backup).unwrap();
                pause(30).await;
                fs::write(path, text).unwrap();
                fs::remove_file(&backup).unwrap();
            }
            Self::Sed => {
                // One version to the next: every number that stands for it is replaced.
                let old = version_in(&fs::read_to_string(path).unwrap());
                let new = version_in(text);
                let script = format!("s/\"version\": {old}/\"version\": {new}/");
                let done = std::process::Command::new("sed").arg("-i").arg(script).arg(path).status();
                assert!(done.unwrap().success());
            }
            Self::InPlace => {
                let mut file = File::options().write(true).open(path).unwrap();
                file.write_all(text.as_bytes()).unwrap();
                file.set_len(text.len().try_into().unwrap()).unwrap();
            }
        }
    }
}

fn version_in(text: &str) -> String {
    let after = text.split_once("\"version\": ").unwrap().1;
    after.chars().take_while(char::is_ascii_digit).collect()
}

/// The time that a program takes between two steps of a save: part of the case, not a wait for its outcome.
pub(super) async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
