//! The ways in which editors and tools save a file. Each leaves the same text and a different trail of events.

use std::{
    fs::{self, File},
    io::{Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::wait::pause;

/// A way to save.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Save {
    /// A new file is written beside it and renamed over it.
    RenameOver,
    /// Truncated, then written in two halves 200 ms apart.
    TwoHalves,
    /// Removed, then created.
    UnlinkCreate,
    /// Vim's burst: probe file, backup by rename, new file, backup removed.
    VimBurst,
    /// The real `sed -i`.
    SedInPlace,
    /// The end that differs is written in place.
    InPlace,
}

impl Save {
    /// Every way.
    pub const ALL: [Self; 6] = [
        Self::RenameOver,
        Self::TwoHalves,
        Self::UnlinkCreate,
        Self::VimBurst,
        Self::SedInPlace,
        Self::InPlace,
    ];

    /// Saves the text at the path. A link is followed, as editors do; the folder must exist.
    ///
    /// # Panics
    /// When the file system refuses.
    pub fn save(self, path: &Path, text: &str) {
        let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match self {
            Self::RenameOver => replace(path, text),
            Self::TwoHalves => two_halves(path, text),
            Self::UnlinkCreate => {
                fs::remove_file(path).expect("the old file is there");
                fs::write(path, text).expect("the new file can be written");
            }
            Self::VimBurst => vim_burst(path, text),
            Self::SedInPlace => sed_in_place(path, text),
            Self::InPlace => in_place(path, text),
        }
    }
}

/// Writes the text beside the path and renames it over, creating folders as needed.
///
/// # Panics
/// When the file system refuses.
pub fn replace(path: &Path, text: &str) {
    let folder = path.parent().expect("a file has a folder");
    fs::create_dir_all(folder).expect("the folder can be made");
    let beside = beside(path, ".new");
    fs::write(&beside, text).expect("the new file can be written");
    fs::rename(&beside, path).expect("the new file can be renamed over the old one");
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn two_halves(path: &Path, text: &str) {
    let (first, second) = text.as_bytes().split_at(text.len() / 2);
    let mut file = File::create(path).expect("the file can be truncated");
    file.write_all(first).expect("the first half can be written");
    pause(Duration::from_millis(200));
    file.write_all(second).expect("the second half can be written");
}

fn vim_burst(path: &Path, text: &str) {
    let probe = path.with_file_name("4913");
    fs::write(&probe, "").expect("the probe can be written");
    fs::remove_file(&probe).expect("the probe can be removed");
    let backup = beside(path, "~");
    fs::rename(path, &backup).expect("the old file becomes the backup");
    pause(Duration::from_millis(30));
    fs::write(path, text).expect("the new file can be written");
    fs::remove_file(&backup).expect("the backup can be removed");
}

fn sed_in_place(path: &Path, text: &str) {
    let source = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    fs::write(source.path(), text).expect("the text can be written");
    let read = format!("1r {}", source.path().display());
    let status = Command::new("sed").args(["-i", "-e", &read, "-e", "d"]).arg(path).status();
    assert!(status.is_ok_and(|status| status.success()), "sed -i {}", path.display());
}

fn in_place(path: &Path, text: &str) {
    let old = fs::read(path).expect("the old file is there");
    let same = old.iter().zip(text.as_bytes()).take_while(|(old, new)| old == new).count();
    let mut file = File::options().write(true).open(path).expect("the file can be opened");
    file.seek(SeekFrom::Start(same as u64)).expect("a file can be sought");
    file.write_all(&text.as_bytes()[same..]).expect("the end can be written");
    file.set_len(text.len() as u64).expect("the rest can be cut off");
}
