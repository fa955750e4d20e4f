//! How does an edit reach the disk? Under a lock, on a text that was read again, as one replacement that keeps mode and
//! links: a reader sees the old file or the new, whenever this process dies. It knows nothing of what the edit says.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::EditError;
use crate::settings::read::bytes::{self, ReadError};

/// Why a file was not edited. It is as it was.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    /// It cannot be read as text.
    #[error("edit {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: ReadError,
    },
    /// Its text cannot be edited.
    #[error("edit {}", path.display())]
    Edit {
        /// Which.
        path: PathBuf,
        /// Why.
        source: EditError,
    },
    /// Somebody else is writing it, for too long.
    #[error("edit {}: another process holds {} for more than {} s", path.display(), lock.display(), LIMIT.as_secs())]
    Busy {
        /// Which.
        path: PathBuf,
        /// The lock file.
        lock: PathBuf,
    },
    /// It cannot be written.
    #[error("write {}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Who may read a file that an edit makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NewFile {
    /// Its owner alone: the user's own settings.
    Private,
    /// As the system's mask says: a file of the project.
    Shared,
}

/// How long the lock is waited for.
const LIMIT: Duration = Duration::from_secs(5);
/// Between two tries; writers hold it for a few milliseconds.
const PAUSE: Duration = Duration::from_millis(5);
/// The most links that are followed to the file; the same number as Linux.
const MAX_LINKS: usize = 40;

/// Edits a file that need not exist: `edit` gets its text, empty where there is none, and gives the new one with
/// whatever it wants to tell. An unchanged text is not written.
///
/// # Errors
/// The file cannot be read, edited, locked or written; in every case it is as it was.
pub(crate) fn change_file<T>(
    path: &Path,
    new_file: NewFile,
    edit: impl FnOnce(&str) -> Result<(String, T), EditError>,
) -> Result<T, FileError> {
    let write_error = |source| FileError::Write { path: path.to_path_buf(), source };
    let target = target(path);
    let folder = target.parent().unwrap_or(Path::new("/"));
    make_folder(folder, new_file).map_err(write_error)?;
    let _lock = Lock::acquire(path, &target)?;
    let read_error = |source| FileError::Read { path: path.to_path_buf(), source };
    let held = bytes::read(&target).map_err(read_error)?;
    // The byte order mark is part of the text here, so that it stays.
    let text = match &held {
        None => "",
        Some(held) => {
            bytes::text(held).map_err(read_error)?;
            std::str::from_utf8(held).unwrap_or_default()
        }
    };
    let edit_error = |source| FileError::Edit { path: path.to_path_buf(), source };
    let (edited, told) = edit(text).map_err(edit_error)?;
    if edited != text {
        replace(&target, folder, edited.as_bytes(), new_file).map_err(write_error)?;
    }
    Ok(told)
}

/// The file that a path leads to: links are followed, so that a link stays a link and both names share one lock. A link
/// into nowhere leads to the file that is still to be made.
fn target(path: &Path) -> PathBuf {
    let mut target = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            Err(_not_a_link) => break,
        }
    }
    match (target.parent().map(fs::canonicalize), target.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        (Some(Ok(_) | Err(_)) | None, _) => target,
    }
}

fn make_folder(folder: &Path, new_file: NewFile) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    if new_file == NewFile::Private {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    }
    builder.create(folder)
}

/// `.NAME.` and what follows it: where a text waits until it replaces the file.
fn waiting(target: &Path) -> (OsString, &'static str) {
    let mut prefix = OsString::from(".");
    prefix.push(target.file_name().unwrap_or_default());
    prefix.push(".");
    (prefix, ".edit")
}

fn replace(target: &Path, folder: &Path, bytes: &[u8], new_file: NewFile) -> io::Result<()> {
    clear_leftovers(target, folder);
    let (prefix, suffix) = waiting(target);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(suffix);
    let permissions = match fs::metadata(target) {
        Ok(about) => Some(about.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    #[cfg(unix)]
    if permissions.is_none() {
        let mode = match new_file {
            NewFile::Private => 0o600,
            NewFile::Shared => 0o666,
        };
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    file.persist(target).map_err(|error| error.error)?;
    // The rename itself is on the disk once its folder is. A file system without this still has old or new.
    File::open(folder).and_then(|folder| folder.sync_all()).ok();
    Ok(())
}

/// Removes what killed writes left. Only the holder of the lock writes such files, so nobody needs them any more.
fn clear_leftovers(target: &Path, folder: &Path) {
    let (prefix, suffix) = waiting(target);
    let (Some(prefix), Ok(entries)) = (prefix.to_str(), fs::read_dir(folder)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(prefix) && name.ends_with(suffix)) {
            fs::remove_file(entry.path()).ok();
        }
    }
}

/// The right to edit a file, for as long as this value lives. The system gives it back when the process dies; the lock
/// file goes with the value, since it would stand in the user's repository.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    fn acquire(path: &Path, target: &Path) -> Result<Self, FileError> {
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(".lock");
        let lock = target.with_file_name(name);
        let failed = |source| FileError::Write { path: lock.clone(), source };
        let began = Instant::now();
        loop {
            let file = open(&lock).map_err(failed)?;
            match file.try_lock() {
                // Whoever held it before may have removed it meanwhile: then this is no lock that anybody else sees.
                Ok(()) if is_still(&file, &lock) => return Ok(Self { path: lock, _file: file }),
                Ok(()) => {}
                Err(TryLockError::Error(source)) => return Err(failed(source)),
                Err(TryLockError::WouldBlock) if began.elapsed() >= LIMIT => {
                    return Err(FileError::Busy { path: path.to_path_buf(), lock });
                }
                Err(TryLockError::WouldBlock) => pause(),
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if cfg!(unix) {
            fs::remove_file(&self.path).ok();
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // A link laid there must not lead the lock elsewhere.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    }
    options.open(path)
}

#[cfg(unix)]
fn is_still(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(held), Ok(there)) => held.dev() == there.dev() && held.ino() == there.ino(),
        (Ok(_) | Err(_), _) => false,
    }
}

#[cfg(not(unix))]
fn is_still(_file: &File, _path: &Path) -> bool {
    true
}

#[expect(
    clippy::disallowed_methods,
    reason = "the system's blocking lock has no time limit, so it is tried instead"
)]
fn pause() {
    thread::sleep(PAUSE);
}

#[cfg(test)]
mod tests;
