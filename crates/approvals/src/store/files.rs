//! How do bytes get to the disk and back so that every reader sees one whole version?
//!
//! Owns paths beside the store (`.lock`, `.key`, `.corrupt-…`, temporary files), the lock, and atomic replacement.
//! Must not know what the bytes mean.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::StoreError;
use crate::{document::MAX_BYTES, shown::ShownKey};

/// The most links that are followed to the file; the same number as Linux.
const MAX_LINKS: usize = 40;

/// Between two tries for the lock. Writers hold it for a few milliseconds.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// The file that a store path leads to: links are followed, so that a link to the store stays a link and both names
/// share one lock. A link into nowhere leads to the file that is still to be made.
pub(super) fn target(path: &Path) -> PathBuf {
    let mut target = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            // `join` takes an absolute destination as it is.
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            Err(_not_a_link) => break,
        }
    }
    // The folder in canonical form, so that two spellings of it mean one lock file even on systems that lock by name.
    match (target.parent().map(fs::canonicalize), target.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        (Some(Ok(_) | Err(_)) | None, _) => target,
    }
}

/// Makes the folder of the store, for its owner alone, if it is missing.
pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The content; `None` when there is no file. Reads one byte more than counts, so that a larger file is noticed.
pub(super) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    // Opening a named pipe would wait for somebody to write into it.
    match fs::metadata(path) {
        Ok(about) if about.is_file() => {}
        Ok(_) => return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// The right to change the store, for as long as this value lives; the system gives it back when the process dies.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    pub(super) fn acquire(store: &Path, limit: Duration) -> Result<Lock, StoreError> {
        let path = beside(store, ".lock");
        let failed = |source| StoreError::Lock { path: path.clone(), source };
        let file = private(OpenOptions::new().write(true).create(true)).open(&path).map_err(failed)?;
        let began = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
                Err(TryLockError::WouldBlock) if began.elapsed() >= limit => {
                    return Err(StoreError::LockBusy { path, waited: limit });
                }
                Err(TryLockError::WouldBlock) => pause(),
            }
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the system's blocking lock has no time limit, so it is tried instead"
)]
fn pause() {
    thread::sleep(LOCK_PAUSE);
}

/// Replaces the content at once, mode 0600: a reader sees the old version or the new, and so does the next start when
/// this process dies in between.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    let mut builder = tempfile::Builder::new();
    let (prefix, suffix) = leftover_name(path);
    builder.prefix(&prefix).suffix(suffix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    // The content is safe; that its name is too matters only after a power cut, and not every system can sync a folder.
    drop(File::open(folder).and_then(|folder| folder.sync_all()));
    Ok(())
}

/// Removes what writes that were killed left behind. Only under the lock, where nobody else is writing; a leftover
/// that cannot be removed does no harm.
pub(super) fn clear_leftovers(path: &Path) {
    let (prefix, suffix) = leftover_name(path);
    for entry in fs::read_dir(folder_of(path)).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let is_leftover = name.starts_with(prefix.as_encoded_bytes()) && name.ends_with(suffix.as_bytes());
        if is_leftover && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// Gives a file that holds no record another name, which it returns; never one that is taken.
pub(super) fn set_aside(path: &Path, time: &str) -> io::Result<PathBuf> {
    // A colon cannot stand in a file name everywhere.
    let time = time.replace([':', '-'], "");
    let mut aside = beside(path, &format!(".corrupt-{time}"));
    for number in 1_u32.. {
        match fs::symlink_metadata(&aside) {
            Ok(_) => aside = beside(path, &format!(".corrupt-{time}-{number}")),
            Err(_free) => break,
        }
    }
    fs::rename(path, &aside)?;
    Ok(aside)
}

/// The key for remembering what was shown, made at the first use. It stands beside the path that the user named, not
/// where a link leads: that may be a folder that is published.
pub(super) fn shown_key(store: &Path) -> io::Result<ShownKey> {
    if let Some(key) = existing_key(store) {
        return Ok(key);
    }
    let mut key = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    replace(&beside(store, ".key"), &key)?;
    Ok(ShownKey(key))
}

/// The key, if there is one of the right length.
pub(super) fn existing_key(store: &Path) -> Option<ShownKey> {
    let bytes = read(&beside(store, ".key")).ok()??;
    Some(ShownKey(bytes.try_into().ok()?))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn leftover_name(path: &Path) -> (OsString, &'static str) {
    let mut prefix = OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    prefix.push(".");
    (prefix, ".tmp")
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}
