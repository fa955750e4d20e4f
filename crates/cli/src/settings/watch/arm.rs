//! How does the operating system tell that a file may have changed? Owns the one watcher of the process and keeps it
//! on the folders that matter. It must not know what a file says.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::SystemTime,
};

use super::{
    InotifyLimit, PollingBecause, Watching,
    folders::{Identity, Interest, Look, Node},
    silent,
    touch::Touch,
};
use notify::{
    ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
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
    /// What every watch was set for, as long as none of them is known to be lost.
    armed: Option<Armed>,
    shared: Arc<Shared>,
}

/// Folders with a watch on each.
struct Armed {
    places: Places,
    watching: Watching,
}

/// What is to be watched, and which folders these are just now: another one may have taken the place of each.
#[derive(PartialEq)]
struct Places {
    interest: Arc<Interest>,
    nodes: Vec<Option<NodeId>>,
}

/// What the watcher's own thread needs to tell whether an event matters.
struct Shared {
    interest: Mutex<Arc<Interest>>,
    touched: Arc<Touch>,
    /// Whether something happened to a watched folder itself, which may have cost it its watch.
    shaken: AtomicBool,
}

impl Arm {
    /// Watches nothing yet. `touched` is notified of each event that matters.
    pub(super) fn new(make: MakeWatcher, touched: Arc<Touch>) -> Self {
        let shared = Shared { interest: Mutex::default(), touched, shaken: AtomicBool::new(false) };
        Self { make, watcher: None, watched: BTreeSet::new(), armed: None, shared: Arc::new(shared) }
    }

    /// Sees to it that every folder that matters now has a watch. Everything that changes after this has returned is
    /// told; what changed before must be read. Where nothing happened to the folders nothing is done; else each gets its
    /// watch again, since a folder that was replaced in the meantime looks the same and has lost its watch.
    pub(super) fn arm(&mut self, files: &[PathBuf]) -> Watching {
        // Before anything is looked at: what shakes a folder from here on counts the next time.
        let shaken = self.shared.shaken.swap(false, Ordering::AcqRel);
        let mut places = Places::of(files);
        let armed = self.armed.take().filter(|armed| !shaken && armed.places == places);
        if let Some(armed) = armed {
            return self.armed.insert(armed).watching.clone();
        }
        let mut interest = self.shared.interest();
        let mut complete = false;
        for _ in 0..ROUNDS {
            // Before the watches move, so that no event of the new places is taken for somebody else's.
            self.shared.set_interest(interest.or(&places.interest));
            match self.watch_all(&places.interest) {
                Ok(all) => complete = all == Extent::All,
                Err(because) => return Watching::Polling(because),
            }
            let now = Places::of(files);
            let stable = now == places;
            interest = Arc::clone(&places.interest);
            places = now;
            if stable {
                break;
            }
            complete = false;
        }
        self.drop_others(&interest);
        let silent = interest.folders().filter(|folder| interest.is_needed(folder)).find_map(|folder| {
            Some(PollingBecause::Silent { folder: folder.to_path_buf(), file_system: silent::name(folder)? })
        });
        self.shared.set_interest((*interest).clone());
        let watching = silent.map_or(Watching::Events, Watching::Polling);
        self.armed = complete.then(|| Armed { places, watching: watching.clone() });
        watching
    }

    fn watch_all(&mut self, wanted: &Interest) -> Result<Extent, PollingBecause> {
        if self.watcher.is_none() {
            let shared = Arc::clone(&self.shared);
            let made = (self.make)(Box::new(move |event| shared.handle(&event)));
            self.watcher = Some(made.map_err(|error| because(&error, Path::new("")))?);
            self.watched.clear();
        }
        let mut extent = Extent::All;
        let Some(watcher) = &mut self.watcher else { return Ok(Extent::Some) };
        for folder in wanted.folders() {
            match watcher.watch(folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(folder.to_path_buf());
                }
                Err(error) if vanished(&error) => extent = Extent::Some,
                Err(error) => match because(&error, folder) {
                    PollingBecause::Denied { .. } if !wanted.is_needed(folder) => extent = Extent::Some,
                    because @ (PollingBecause::Asked
                    | PollingBecause::Limit(_)
                    | PollingBecause::Silent { .. }
                    | PollingBecause::Denied { .. }
                    | PollingBecause::Unavailable { .. }) => return Err(because),
                },
            }
        }
        Ok(extent)
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

/// How many of the folders have a watch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    All,
    Some,
}

impl Places {
    fn of(files: &[PathBuf]) -> Self {
        let interest = Interest::of(files.iter().map(PathBuf::as_path), &OnDisk);
        let nodes = interest.folders().map(NodeId::of).collect();
        Self { interest: Arc::new(interest), nodes }
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
        let (matters, shakes) = match event {
            // Whatever went wrong, reading everything mends it.
            Err(_) => (true, true),
            Ok(event) if event.need_rescan() => (true, true),
            Ok(event) if is_change(event.kind) => {
                let interest = self.interest();
                let concerns = |path: &PathBuf| interest.concerns(path, &OnDisk);
                (event.paths.iter().any(concerns), event.paths.iter().any(|path| interest.is_watched(path)))
            }
            Ok(_) => (false, false),
        };
        if shakes {
            self.shaken.store(true, Ordering::Release);
        }
        if matters {
            self.touched.tell();
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
        NodeId::of(one) == NodeId::of(other)
    }
}

/// Which file this is.
#[derive(PartialEq)]
struct NodeId {
    device: u64,
    number: u64,
    /// A file system that is mounted again may come with the numbers of the one before it, and nobody says that the
    /// watches are gone.
    born: Option<SystemTime>,
}

impl NodeId {
    fn of(path: &Path) -> Option<Self> {
        let data = fs::symlink_metadata(path).ok()?;
        Some(Self { device: data.dev(), number: data.ino(), born: data.created().ok() })
    }
}

#[cfg(test)]
mod tests;
