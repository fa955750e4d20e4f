//! Where are decisions kept, so that every process sees them and none is lost?
//!
//! Owns the border of this crate, [`ApprovalStore`], and its one implementation over a JSON file: each change is read,
//! made and written under a lock. What the file holds is `document`'s business, how bytes reach the disk `files`'s.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde_json::Value;

use crate::{
    decision::{Candidate, Decision, Verdict, promptable, skipped},
    document::{Corrupt, Document},
    hash::ApprovalHash,
    record::Record,
    records::{Listed, Projects, Recorded, Records},
    root::RootRules,
    shown::{FieldChange, Shown},
    time,
};

mod files;

/// How long a change waits for another process that is writing.
const LOCK_LIMIT: Duration = Duration::from_secs(5);

/// The record of decisions. Every method reads or writes the store as it is now.
///
/// A project root should be canonical; other spellings of an existing folder are resolved here, so that a library
/// user need not know.
pub trait ApprovalStore: Send + Sync {
    /// The decisions as they stand now.
    fn read(&self) -> Reading;

    /// Records what a user answered about the entry with this hash. `shown` is the entry as it was shown, of which
    /// only HMACs are kept.
    ///
    /// # Errors
    /// The decision is not stored: the lock, the folder or the file cannot be had.
    fn decide(
        &self,
        root: &Path,
        server: &str,
        hash: ApprovalHash,
        verdict: Verdict,
        shown: &Value,
    ) -> Result<Decided, StoreError>;

    /// Removes every decision about a name, the earlier ones included.
    ///
    /// # Errors
    /// As for [`ApprovalStore::decide`].
    fn revoke(&self, root: &Path, server: &str) -> Result<Revoked, StoreError>;

    /// Removes every decision of a project.
    ///
    /// # Errors
    /// As for [`ApprovalStore::decide`].
    fn revoke_project(&self, root: &Path) -> Result<Revoked, StoreError>;

    /// The last decision about a name, and what differs in `entry` from what was shown then. `None` when there was
    /// no decision.
    fn previous(&self, root: &Path, server: &str, entry: &Value) -> Option<Previous>;

    /// What was decided about the entry with this hash; undecided when the store cannot be read.
    fn state(&self, root: &Path, server: &str, hash: ApprovalHash) -> Recorded {
        self.read().records.state(&resolved(root), server, hash)
    }

    /// Every decision of one project, or of all.
    fn list(&self, projects: Projects<'_>) -> Vec<Listed> {
        let records = self.read().records;
        match projects {
            Projects::Of(root) => records.list(Projects::Of(&resolved(root))),
            Projects::All => records.list(Projects::All),
        }
    }

    /// The gated candidates that must not connect, the rejected ones included.
    fn skipped(&self, root: &Path, candidates: &[Candidate]) -> BTreeMap<String, Decision> {
        skipped(candidates, self.read().records.decision(&resolved(root)))
    }

    /// The gated candidates that the user should be asked about, by name and hash.
    fn promptable(&self, root: &Path, candidates: &[Candidate]) -> BTreeSet<(String, ApprovalHash)> {
        promptable(candidates, self.read().records.decision(&resolved(root)))
    }
}

/// The store as it was read.
#[derive(Debug)]
pub struct Reading {
    /// The decisions; none when there is a problem.
    pub records: Records,
    /// Why the decisions could not be read. A file that is not there is no problem.
    pub problem: Option<ReadProblem>,
}

/// Why the decisions could not be read; everything is undecided then.
#[derive(Debug, thiserror::Error)]
pub enum ReadProblem {
    /// The file could not be read at all.
    #[error("read the approvals in {path}", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// What it holds is no record.
    #[error(
        "understand the approvals in {path}: nothing in it counts, and the next decision sets it aside",
        path = .path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Corrupt,
    },
}

/// A decision was stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decided {
    /// When it was made, RFC 3339, as stored.
    pub time: String,
    /// Where an unreadable record of earlier decisions went, if there was one.
    pub set_aside: Option<PathBuf>,
}

/// Decisions were removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Revoked {
    /// The names that had something stored; empty when nothing was removed.
    pub servers: BTreeSet<String>,
}

/// The last decision about a name, for "what changed since".
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Previous {
    /// The entry that was decided about.
    pub hash: ApprovalHash,
    /// The decision.
    pub verdict: Verdict,
    /// When it was made, RFC 3339, if that was recorded.
    pub time: Option<String>,
    /// The fields that differ from what was shown then; `None` when that is not known, as for a decision that another
    /// program recorded.
    pub changes: Option<Vec<FieldChange>>,
}

/// Why a decision could not be stored. Reads well after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A root that is not Unicode text has no key in a JSON file.
    #[error(
        "store a decision for {root}, whose path is not Unicode: rename the folder",
        root = .root.display()
    )]
    RootNotText {
        /// The project root.
        root: PathBuf,
    },
    /// The folder of the store could not be made.
    #[error("create the folder of {path} for the approvals", path = .path.display())]
    Folder {
        /// The file that should stand in it.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The lock file could not be opened or locked.
    #[error("lock the approvals with {path}: check who may write there", path = .path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Somebody else held the lock for too long.
    #[error(
        "lock the approvals: another process has held {path} for {waited} s; end it and try again",
        path = .path.display(), waited = .waited.as_secs()
    )]
    LockBusy {
        /// The lock file.
        path: PathBuf,
        /// How long was waited.
        waited: Duration,
    },
    /// What is stored could not be read, so writing would lose it.
    #[error("read the approvals in {path} before changing them", path = .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// What is stored is no record, and could not be set aside.
    #[error("set aside {path}, which is not a record of approvals", path = .path.display())]
    SetAside {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The new content could not be written; the old one is still there.
    #[error("write the approvals to {path}", path = .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The new content would be too large to be read again.
    #[error("write the approvals to {path}: too many; revoke those that are not needed", path = .path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
}

/// The store in a JSON file, shared with every other process that uses the same file.
#[derive(Clone, Debug)]
pub struct FileStore {
    path: PathBuf,
    rules: RootRules,
    lock_limit: Duration,
}

impl FileStore {
    /// The store in this file. Nothing is opened or made before it is needed; a file that is not there holds no
    /// decision.
    pub fn open(path: impl Into<PathBuf>) -> FileStore {
        FileStore { path: path.into(), rules: RootRules::NATIVE, lock_limit: LOCK_LIMIT }
    }

    /// Reads, changes and writes the document while no other process can. `Unchanged` writes nothing.
    fn update<T>(
        &self,
        change: impl FnOnce(&mut Document) -> Change<T>,
    ) -> Result<(T, Option<PathBuf>), StoreError> {
        let path = files::target(&self.path);
        let at = |path: &Path| path.to_path_buf();
        files::create_folder(&path).map_err(|source| StoreError::Folder { path: at(&path), source })?;
        let _lock = files::Lock::acquire(&path, self.lock_limit)?;
        let bytes = files::read(&path)
            .map_err(|source| StoreError::Read { path: at(&path), source })?
            .unwrap_or_default();
        let (mut document, corrupt) = match Document::parse(&bytes) {
            Ok(document) => (document, None),
            Err(corrupt) => (Document::default(), Some(corrupt)),
        };
        let value = match change(&mut document) {
            Change::Unchanged(value) => return Ok((value, None)),
            Change::Changed(value) => value,
        };
        let text = document.into_text();
        if Document::is_too_large(&text) {
            return Err(StoreError::Full { path });
        }
        let set_aside = match corrupt {
            None => None,
            Some(_) => Some(
                files::set_aside(&path, &time::rfc3339(SystemTime::now()))
                    .map_err(|source| StoreError::SetAside { path: at(&path), source })?,
            ),
        };
        files::clear_leftovers(&path);
        files::replace(&path, text.as_bytes())
            .map_err(|source| StoreError::Write { path: at(&path), source })?;
        Ok((value, set_aside))
    }

    fn revoke_all(&self, root: &Path, server: Option<&str>) -> Result<Revoked, StoreError> {
        let root = root_text(root)?;
        let (servers, _) = self.update(|document| {
            let servers = document.revoke(self.rules, &root, server);
            if servers.is_empty() { Change::Unchanged(servers) } else { Change::Changed(servers) }
        })?;
        Ok(Revoked { servers })
    }
}

/// Whether a change of the document has to be written.
enum Change<T> {
    Unchanged(T),
    Changed(T),
}

impl ApprovalStore for FileStore {
    fn read(&self) -> Reading {
        let (records, problem) = match files::read(&self.path) {
            Ok(bytes) => match Document::parse(&bytes.unwrap_or_default()) {
                Ok(document) => (Records::of(document, self.rules), None),
                Err(source) => {
                    (Records::default(), Some(ReadProblem::Corrupt { path: self.path.clone(), source }))
                }
            },
            Err(source) => {
                (Records::default(), Some(ReadProblem::Unreadable { path: self.path.clone(), source }))
            }
        };
        Reading { records, problem }
    }

    fn decide(
        &self,
        root: &Path,
        server: &str,
        hash: ApprovalHash,
        verdict: Verdict,
        shown: &Value,
    ) -> Result<Decided, StoreError> {
        let root = root_text(root)?;
        let (time, set_aside) = self.update(|document| {
            // Without a key the next question cannot show a difference; the decision counts all the same.
            let shown = files::shown_key(&self.path).ok().and_then(|key| Shown::of(shown, &key));
            let time = time::rfc3339(SystemTime::now());
            let record = Record { hash, verdict, time: Some(time.clone()) };
            document.decide(self.rules, &root, server, &record, shown.as_ref());
            Change::Changed(time)
        })?;
        Ok(Decided { time, set_aside })
    }

    fn revoke(&self, root: &Path, server: &str) -> Result<Revoked, StoreError> {
        self.revoke_all(root, Some(server))
    }

    fn revoke_project(&self, root: &Path) -> Result<Revoked, StoreError> {
        self.revoke_all(root, None)
    }

    fn previous(&self, root: &Path, server: &str, entry: &Value) -> Option<Previous> {
        let (record, shown) = self.read().records.last(&resolved(root), server)?;
        let key = files::existing_key(&self.path);
        let changes = shown.zip(key).and_then(|(shown, key)| shown.changes(entry, &key));
        Some(Previous { hash: record.hash, verdict: record.verdict, time: record.time, changes })
    }
}

/// The canonical root; a folder that does not exist (any more) is named by its text.
fn resolved(root: &Path) -> PathBuf {
    fs::canonicalize(root).unwrap_or_else(|_missing| root.to_path_buf())
}

fn root_text(root: &Path) -> Result<String, StoreError> {
    let root = resolved(root);
    match root.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(StoreError::RootNotText { root }),
    }
}

#[cfg(test)]
mod tests;
