//! Which sessions run for a project? Each running session holds a lock on a file of its own in the state folder, so a
//! file that nobody locks is left over and says nothing. It knows nothing of what a session does.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::settings::Environment;

/// Where the running sessions are noted.
#[derive(Clone, Debug)]
pub(crate) struct Sessions {
    folder: PathBuf,
}

/// What a session says about itself.
#[derive(Clone, Serialize, Deserialize, PartialEq, Eq, Debug)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunningSession {
    /// Its process.
    pub(crate) pid: u32,
    /// Its project.
    pub(crate) project_root: String,
}

/// Held while a session runs; the note goes with it, and the lock goes even after `kill -9`.
#[derive(Debug)]
pub(crate) struct SessionNote {
    path: PathBuf,
    _locked: File,
}

impl Drop for SessionNote {
    fn drop(&mut self) {
        // A note that stays is recognised by its missing lock.
        drop(fs::remove_file(&self.path));
    }
}

/// Our folder among the user's state; `None` where there is none.
pub(crate) fn state_folder(environment: &Environment) -> Option<PathBuf> {
    let state = match environment.get("XDG_STATE_HOME").map(PathBuf::from) {
        Some(folder) if folder.is_absolute() => folder,
        Some(_) | None => environment.home.as_ref()?.join(".local").join("state"),
    };
    Some(state.join("qwen"))
}

impl Sessions {
    /// In the user's state folder; `None` where there is none.
    pub(crate) fn of(environment: &Environment) -> Option<Self> {
        Some(Self { folder: state_folder(environment)?.join("sessions") })
    }

    /// Notes that this process runs a session of a project.
    ///
    /// # Errors
    /// The note cannot be written.
    pub(crate) fn note(&self, root: &Path, pid: u32) -> io::Result<SessionNote> {
        fs::create_dir_all(&self.folder)?;
        let path = self.folder.join(format!("{}-{pid}.json", digest(root)));
        let mut file = File::options().create(true).truncate(true).write(true).open(&path)?;
        file.lock()?;
        let session = RunningSession { pid, project_root: root.display().to_string() };
        file.write_all(serde_json::to_string(&session)?.as_bytes())?;
        Ok(SessionNote { path, _locked: file })
    }

    /// The sessions of a project that run now. Notes that were left over are cleared away.
    pub(crate) fn running(&self, root: &Path) -> Vec<RunningSession> {
        let prefix = format!("{}-", digest(root));
        let Ok(notes) = fs::read_dir(&self.folder) else { return Vec::new() };
        let mut running: Vec<RunningSession> = notes
            .flatten()
            .filter(|note| note.file_name().to_string_lossy().starts_with(&prefix))
            .filter_map(|note| session_of(&note.path()))
            .collect();
        running.sort_by_key(|session| session.pid);
        running
    }
}

fn session_of(path: &Path) -> Option<RunningSession> {
    let file = File::open(path).ok()?;
    match file.try_lock_shared() {
        Ok(()) => {
            drop(fs::remove_file(path));
            None
        }
        Err(TryLockError::WouldBlock) => serde_json::from_slice(&fs::read(path).ok()?).ok(),
        Err(TryLockError::Error(_)) => None,
    }
}

fn digest(root: &Path) -> String {
    hex::encode(&Sha256::digest(root.as_os_str().as_encoded_bytes())[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_seen_by_its_own_project_while_it_runs_and_not_after() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = Sessions { folder: folder.path().join("state") };
        let note = sessions.note(Path::new("/p"), 7).unwrap();
        assert_eq!(sessions.running(Path::new("/p")).iter().map(|s| s.pid).collect::<Vec<_>>(), [7]);
        assert!(sessions.running(Path::new("/q")).is_empty());
        drop(note);
        assert!(sessions.running(Path::new("/p")).is_empty());
    }

    #[test]
    fn a_note_that_a_killed_session_left_is_no_session_and_is_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = Sessions { folder: folder.path().to_path_buf() };
        let path = folder.path().join(format!("{}-9.json", digest(Path::new("/p"))));
        fs::write(&path, r#"{"pid":9,"projectRoot":"/p"}"#).unwrap();
        assert!(sessions.running(Path::new("/p")).is_empty());
        assert!(!path.exists());
    }
}
