//! Where do the log and the typed lines of interactive sessions stay? In the user's state folder, for nobody else to
//! read. What is worth keeping is decided elsewhere.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::history::KEPT;
use crate::{sessions::state_folder, settings::Environment};

/// A log larger than this is put aside at the next start, in bytes.
const LARGEST_LOG: u64 = 5 * 1024 * 1024;

/// The files of interactive sessions.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    folder: PathBuf,
}

impl Kept {
    /// In the user's state folder, which is made.
    ///
    /// # Errors
    /// There is none, or it cannot be made.
    pub(super) fn of(environment: &Environment) -> io::Result<Self> {
        let folder = state_folder(environment)
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no home folder"))?;
        Self::below(&folder)
    }

    fn below(folder: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(Self { folder: folder.to_path_buf() })
    }

    /// The file for the log, made for its owner alone.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn log(&self) -> io::Result<PathBuf> {
        let path = self.folder.join("session.log");
        if fs::metadata(&path).is_ok_and(|found| found.len() > LARGEST_LOG) {
            fs::rename(&path, self.folder.join("session.log.1"))?;
        }
        private(&path)?;
        Ok(path)
    }

    /// The lines typed in earlier sessions, oldest first. A file that is no good is as good as none.
    pub(super) fn lines(&self) -> Vec<String> {
        let text = fs::read(self.history()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let old = lines.len().saturating_sub(KEPT);
        lines.into_iter().skip(old).collect()
    }

    /// Keeps one more line, in one write, so that sessions side by side keep whole lines.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn add(&self, line: &str) -> io::Result<()> {
        let path = self.history();
        if fs::metadata(&path).is_ok_and(|found| found.len() > 1024 * KEPT as u64) {
            let lines = self.lines().join("\n");
            let mut shorter = tempfile::NamedTempFile::new_in(&self.folder)?;
            shorter.write_all(format!("{lines}\n").as_bytes())?;
            shorter.persist(&path).map_err(|error| error.error)?;
        }
        private(&path)?.write_all(format!("{line}\n").as_bytes())
    }

    fn history(&self) -> PathBuf {
        self.folder.join("history")
    }
}

/// A file to append to, for its owner alone.
fn private(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn lines_are_kept_in_order_for_the_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept::below(&folder.path().join("state/qwen")).unwrap();
        assert!(kept.lines().is_empty());
        for number in 0..KEPT + 2 {
            kept.add(&format!("/call a {number}")).unwrap();
        }
        let lines = kept.lines();
        assert_eq!((lines.len(), lines.first().unwrap().as_str()), (KEPT, "/call a 2"));
        for file in [kept.history(), kept.log().unwrap()] {
            assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_history_and_a_log_that_grew_too_large_begin_anew() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept::below(folder.path()).unwrap();
        for _ in 0..KEPT + 10 {
            kept.add(&"x".repeat(2000)).unwrap();
        }
        assert!(fs::metadata(kept.history()).unwrap().len() < 2 * 1024 * KEPT as u64);
        fs::write(kept.log().unwrap(), vec![b'x'; usize::try_from(LARGEST_LOG).unwrap() + 1]).unwrap();
        assert_eq!(fs::metadata(kept.log().unwrap()).unwrap().len(), 0);
    }
}
