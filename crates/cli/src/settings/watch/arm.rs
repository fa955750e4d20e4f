//! How does the operating system tell that a file may have changed? Owns the one watcher of the process and keeps it
//! on the folders that matter. It must not know what a file says.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use notify::{
    ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};
use tokio::sync::Notify;

use super::{
    InotifyLimit, PollingBecause, Watching,
    folders::{Identity, Interest, Look, Node},
    silent,
};

/// How often the folders are worked out again when links and folders move while watches are set.
const ROUNDS: usize = 8;

/// What a watcher of the operating system calls on each event.
pub(super) type Handler = Box<dyn FnMut(notify::Result<Event>) + Send>;
/// Makes a watcher; another one in tests, where there is no limit to run into.
pub(super) type MakeWatcher = Box<dyn FnMut(Handler) -> notify::Result<Box<dyn Watcher + Send>> + Send>;

/// The watcher of this system.
pub(super) fn system_watcher() -> MakeWatcher {
    Box::new(|handler| {
        let watcher = RecommendedWatcher::new(handler, notify::Config::default())?;
        Ok(Box::new(watcher) as Box<dyn Watcher + Send>)
    })
}

/// Watches the folders of some files, and wakes somebody when one of the files may have changed.
pub(super) struct Arm {
    make: MakeWatcher,
    watcher: Option<Box<dyn Watcher + Send>>,
    watched: BTreeSet<PathBuf>,
    shared: Arc<Shared>,
}

/// What the watcher's own thread needs to tell whether an event matters.
struct Shared {
    interest: Mutex<Arc<Interest>>,
    touched: Arc<Notify>,
}

impl Arm {
    /// Watches nothing yet. `touched` is notified of each event that matters.
    pub(super) fn new(make: MakeWatcher, touched: Arc<Notify>) -> Self {
        let shared = Arc::new(Shared { interest: Mutex::default(), touched });
        Self { make, watcher: None, watched: BTreeSet::new(), shared }
    }

    /// Puts a watch on every folder that matters now, again on those that have one: a folder that was replaced in
    /// the meantime looks the same and has lost its watch. Everything that changes after this has returned is told;
    /// what changed before must be read.
    pub(super) fn arm(&mut self, files: &[PathBuf]) -> Watching {
        let mut interest = self.shared.interest();
        for _ in 0..ROUNDS {
            let wanted = Interest::of(files.iter().map(PathBuf::as_path), &OnDisk);
            // Before the watches move, so that no event of the new places is taken for somebody else's.
            self.shared.set_interest(interest.or(&wanted));
            if let Err(because) = self.watch_all(&wanted) {
                return Watching::Polling(because);
            }
            let now = Interest::of(files.iter().map(PathBuf::as_path), &OnDisk);
            let stable = now == wanted;
            interest = Arc::new(wanted);
            if stable {
                break;
            }
        }
        self.drop_others(&interest);
        let silent = interest.folders().filter(|folder| interest.is_needed(folder)).find_map(|folder| {
            Some(PollingBecause::Silent { folder: folder.to_path_buf(), file_system: silent::name(folder)? })
        });
        self.shared.set_interest((*interest).clone());
        silent.map_or(Watching::Events, Watching::Polling)
    }

    fn watch_all(&mut self, wanted: &Interest) -> Result<(), PollingBecause> {
        if self.watcher.is_none() {
            let shared = Arc::clone(&self.shared);
            let made = (self.make)(Box::new(move |event| shared.handle(&event)));
            self.watcher = Some(made.map_err(|error| because(&error, Path::new("")))?);
            self.watched.clear();
        }
        let Some(watcher) = &mut self.watcher else { return Ok(()) };
        for folder in wanted.folders() {
            match watcher.watch(folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(folder.to_path_buf());
                }
                Err(error) if vanished(&error) => {}
                Err(error) => match because(&error, folder) {
                    PollingBecause::Denied { .. } if !wanted.is_needed(folder) => {}
                    because @ (PollingBecause::Asked
                    | PollingBecause::Limit(_)
                    | PollingBecause::Silent { .. }
                    | PollingBecause::Denied { .. }
                    | PollingBecause::Unavailable { .. }) => return Err(because),
                },
            }
        }
        Ok(())
    }

    fn drop_others(&mut self, interest: &Interest) {
        let wanted: BTreeSet<&Path> = interest.folders().collect();
        let Some(watcher) = &mut self.watcher else { return };
        self.watched.retain(|folder| {
            let keep = wanted.contains(folder.as_path());
            if !keep && let Err(error) = watcher.unwatch(folder) {
                // The folder is gone, and its watch with it.
                tracing::trace!(folder = %folder.display(), %error, "a watch was gone already");
            }
            keep
        });
    }
}

impl Shared {
    fn interest(&self) -> Arc<Interest> {
        Arc::clone(&self.interest.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn set_interest(&self, interest: Interest) {
        *self.interest.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(interest);
    }

    fn handle(&self, event: &notify::Result<Event>) {
        let matters = match event {
            // Whatever went wrong, reading everything mends it.
            Err(_) => true,
            Ok(event) => {
                event.need_rescan()
                    || is_change(event.kind) && {
                        let interest = self.interest();
                        event.paths.iter().any(|path| interest.concerns(path, &OnDisk))
                    }
            }
        };
        if matters {
            self.touched.notify_one();
        }
    }
}

/// Whether an event of this kind can mean a change; our own reads are events too and must not wake us.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => true,
    }
}

fn vanished(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound | ErrorKind::WatchNotFound => true,
        ErrorKind::Io(error) => {
            matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
        }
        ErrorKind::Generic(_) | ErrorKind::InvalidConfig(_) | ErrorKind::MaxFilesWatch => false,
    }
}

fn because(error: &notify::Error, folder: &Path) -> PollingBecause {
    let errno = |error: &std::io::Error| error.raw_os_error().map(rustix::io::Errno::from_raw_os_error);
    match &error.kind {
        ErrorKind::MaxFilesWatch => PollingBecause::Limit(InotifyLimit::Watches),
        ErrorKind::Io(error) if errno(error) == Some(rustix::io::Errno::NOSPC) => {
            PollingBecause::Limit(InotifyLimit::Watches)
        }
        ErrorKind::Io(error) if errno(error) == Some(rustix::io::Errno::MFILE) => {
            PollingBecause::Limit(InotifyLimit::Instances)
        }
        ErrorKind::Io(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            PollingBecause::Denied { folder: folder.to_path_buf() }
        }
        ErrorKind::Generic(_)
        | ErrorKind::Io(_)
        | ErrorKind::PathNotFound
        | ErrorKind::WatchNotFound
        | ErrorKind::InvalidConfig(_) => PollingBecause::Unavailable { message: error.to_string() },
    }
}

/// The file system itself. What may not be looked at counts as not there.
struct OnDisk;

impl Look for OnDisk {
    fn look(&self, path: &Path) -> Node {
        match fs::symlink_metadata(path) {
            Ok(data) if data.is_symlink() => fs::read_link(path).map_or(Node::Missing, Node::Link),
            Ok(data) if data.is_dir() => Node::Folder,
            Ok(_) => Node::File,
            Err(_) => Node::Missing,
        }
    }
}

impl Identity for OnDisk {
    fn same(&self, one: &Path, other: &Path) -> bool {
        let number = |path| fs::symlink_metadata(path).ok().map(|data| (data.dev(), data.ino()));
        number(one) == number(other)
    }
}

#[cfg(test)]
mod tests;
