//! When does what the files say change? One task reads them again whenever they may have, and publishes what is to be
//! believed. It must not know what any of it means.

mod arm;
mod batch;
mod belief;
mod folders;
mod silent;

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    task::JoinHandle,
    time::Instant,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::{
    arm::Arm,
    batch::Batch,
    belief::{Doubts, Verdict},
};
use super::{Moment, Snapshot, SourceFile, SourceId, SourceSpec, read_source};

/// How often files are read where events do not come.
const POLL: Duration = Duration::from_secs(2);

/// What the watcher has seen. Level-triggered: a slow reader gets the newest, and finds what changed by comparing it
/// with what it saw last.
#[derive(Clone, Debug)]
pub struct Seen {
    /// What every file says, the last good content where one is broken.
    pub snapshot: Arc<Snapshot>,
    /// How changes are noticed.
    pub watching: Watching,
}

/// How changes are noticed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Watching {
    /// By events of the operating system.
    Events,
    /// Every file is read every two seconds.
    Polling(PollingBecause),
}

/// Why files are polled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PollingBecause {
    /// `mcp.watch` says so.
    Asked,
    /// A limit of the system is used up.
    Limit(InotifyLimit),
    /// The file system does not tell of changes that others make.
    Silent {
        /// One such folder.
        folder: PathBuf,
        /// `NFS`, `SMB`, `9p` or `FUSE`.
        file_system: &'static str,
    },
    /// The folder may not be watched.
    Denied {
        /// Which.
        folder: PathBuf,
    },
    /// The system has no events for another reason.
    Unavailable {
        /// What it says.
        message: String,
    },
}

/// A limit of inotify.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum InotifyLimit {
    /// `fs.inotify.max_user_instances`, or the number of files this process may have open.
    Instances,
    /// `fs.inotify.max_user_watches`
    Watches,
}

impl std::fmt::Display for PollingBecause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Asked => f.write_str("mcp.watch is \"poll\""),
            Self::Limit(InotifyLimit::Instances) => f.write_str(
                "the inotify limit fs.inotify.max_user_instances (or the limit of open files) is used up; raise it \
                 with sysctl",
            ),
            Self::Limit(InotifyLimit::Watches) => {
                f.write_str("the inotify limit fs.inotify.max_user_watches is used up; raise it with sysctl")
            }
            Self::Silent { folder, file_system } => {
                write!(f, "{} is on {file_system}, which does not tell of changes made elsewhere", folder.display())
            }
            Self::Denied { folder } => {
                write!(f, "the folder {} may not be watched; make it readable", folder.display())
            }
            Self::Unavailable { message } => write!(f, "the system gives no file events: {message}"),
        }
    }
}

/// How the watcher is started.
pub struct WatchOptions {
    /// Every source of the session.
    pub sources: Vec<SourceSpec>,
    /// What the session booted from.
    pub booted: Snapshot,
    /// `mcp.watch` as it was at start.
    pub mode: crate::derive::WatchMode,
    /// `mcp.reloadDebounceMs` as it was at start.
    pub debounce: Duration,
}

/// The running watcher. Dropping it ends it; nothing is read or published after that.
pub struct SettingsWatcher {
    seen: watch::Receiver<Seen>,
    control: WatchControl,
    task: JoinHandle<()>,
    stop: CancellationToken,
    _guard: DropGuard,
}

/// What a running watcher can be told. Cheap to clone; does nothing once the watcher has ended.
#[derive(Clone, Debug)]
pub struct WatchControl {
    debounce: watch::Sender<Duration>,
    looks: mpsc::UnboundedSender<oneshot::Sender<()>>,
}

impl WatchControl {
    /// Sets `mcp.reloadDebounceMs`; it holds from the next batch.
    pub fn set_debounce(&self, debounce: Duration) {
        self.debounce.send_if_modified(|current| std::mem::replace(current, debounce) != debounce);
    }

    /// Reads every file now and comes back when what they say is published, doubts included.
    pub async fn look_now(&self) {
        let (answer, answered) = oneshot::channel();
        if self.looks.send(answer).is_ok() {
            // A watcher that ended in the meantime has nothing newer to say.
            answered.await.unwrap_or(());
        }
    }
}

impl SettingsWatcher {
    /// Arms the watches, reads every file again so that no edit since the boot is lost, and starts the task.
    pub async fn start(options: WatchOptions) -> Self {
        Self::start_with(options, arm::system_watcher()).await
    }

    async fn start_with(options: WatchOptions, make: arm::MakeWatcher) -> Self {
        let touched = Arc::new(Notify::new());
        let files = options.sources.iter().filter_map(|spec| spec.path().map(PathBuf::from)).collect();
        let arm = match options.mode {
            crate::derive::WatchMode::Auto => Some(Arm::new(make, Arc::clone(&touched))),
            crate::derive::WatchMode::Poll => None,
        };
        let disk = RealDisk { arm, files };
        Self::run(options.sources, options.booted, options.debounce, disk, touched).await
    }

    async fn run<D: Disk>(
        sources: Vec<SourceSpec>,
        booted: Snapshot,
        debounce: Duration,
        disk: D,
        touched: Arc<Notify>,
    ) -> Self {
        let stop = CancellationToken::new();
        let (looks, wanted_looks) = mpsc::unbounded_channel();
        let batch = Batch::new(debounce);
        let (debounce, debounced) = watch::channel(debounce);
        let (out, seen) =
            watch::channel(Seen { snapshot: Arc::new(booted.clone()), watching: Watching::Events });
        let mut driver = Driver {
            disk: Some(disk),
            sources: sources.into(),
            believed: booted,
            doubts: BTreeMap::new(),
            batch,
            poll_at: None,
            started: Instant::now(),
            debounced,
            answers: Vec::new(),
            out,
            stop: stop.clone(),
        };
        driver.look().await;
        let task = tokio::spawn(driver.run(touched, wanted_looks));
        let control = WatchControl { debounce, looks };
        Self { seen, control, task, _guard: stop.clone().drop_guard(), stop }
    }

    /// What is seen, now and from now on.
    #[must_use]
    pub fn seen(&self) -> watch::Receiver<Seen> {
        self.seen.clone()
    }

    /// What it can be told.
    #[must_use]
    pub fn control(&self) -> WatchControl {
        self.control.clone()
    }

    /// Ends the task and waits for its end.
    pub async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the settings watcher did not end well");
        }
    }
}

/// The disk, as far as the task needs it. Its calls may block.
trait Disk: Send + 'static {
    /// Sees to it that changes from now on are told, as far as the system can.
    fn arm(&mut self) -> Watching;
    /// Reads one source.
    fn read(&mut self, spec: &SourceSpec, believed: Option<&SourceFile>) -> SourceFile;
}

struct RealDisk {
    /// `None` where polling was asked for.
    arm: Option<Arm>,
    files: Vec<PathBuf>,
}

impl Disk for RealDisk {
    fn arm(&mut self) -> Watching {
        match &mut self.arm {
            Some(arm) => arm.arm(&self.files),
            None => Watching::Polling(PollingBecause::Asked),
        }
    }

    fn read(&mut self, spec: &SourceSpec, believed: Option<&SourceFile>) -> SourceFile {
        read_source(spec, believed, Moment::Reload)
    }
}

/// The task: events and timers in, looks at the disk and what they came to out.
struct Driver<D> {
    /// Away while a look is under way.
    disk: Option<D>,
    sources: Arc<[SourceSpec]>,
    believed: Snapshot,
    doubts: BTreeMap<SourceId, Doubts>,
    batch: Batch,
    poll_at: Option<Duration>,
    started: Instant,
    debounced: watch::Receiver<Duration>,
    /// Who asked for a look and is to be told when nothing is in doubt.
    answers: Vec<oneshot::Sender<()>>,
    out: watch::Sender<Seen>,
    stop: CancellationToken,
}

impl<D: Disk> Driver<D> {
    async fn run(mut self, touched: Arc<Notify>, mut looks: mpsc::UnboundedReceiver<oneshot::Sender<()>>) {
        loop {
            let due = self.batch.due().into_iter().chain(self.poll_at).min();
            let timer = async {
                match due {
                    Some(due) => tokio::time::sleep_until(self.started + due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                Some(answer) = looks.recv() => {
                    self.answers.push(answer);
                    self.look().await;
                }
                () = touched.notified() => {
                    self.batch.set_debounce(*self.debounced.borrow());
                    self.batch.touched(self.started.elapsed());
                }
                () = timer => self.look().await,
            }
            if self.disk.is_none() {
                return;
            }
        }
    }

    /// Arms, reads everything and publishes what is to be believed. Everything is read because that costs less than
    /// to be wrong about what an event meant.
    async fn look(&mut self) {
        let Some(disk) = self.disk.take() else { return };
        let now = self.started.elapsed();
        self.batch.looking(now);
        let (sources, believed) = (Arc::clone(&self.sources), self.believed.clone());
        let looked = tokio::task::spawn_blocking(move || look_at(disk, &sources, &believed)).await;
        let (disk, watching, readings) = match looked {
            Ok(looked) => looked,
            Err(error) => {
                tracing::error!(%error, "settings files are no longer watched");
                return;
            }
        };
        if self.stop.is_cancelled() {
            return;
        }
        self.disk = Some(disk);
        self.poll_at = match watching {
            Watching::Events => None,
            Watching::Polling(_) => Some(now + POLL),
        };
        let changed = self.weigh(readings, now);
        self.out.send_if_modified(|seen| {
            let modified = changed || seen.watching != watching;
            seen.watching = watching;
            if changed {
                seen.snapshot = Arc::new(self.believed.clone());
            }
            modified
        });
        if !self.batch.is_in_doubt() {
            for answer in self.answers.drain(..) {
                // Whoever asked may have stopped waiting.
                answer.send(()).unwrap_or(());
            }
        }
    }

    /// Takes over what is believed and says whether anything was.
    fn weigh(&mut self, readings: Vec<SourceFile>, now: Duration) -> bool {
        let patience = batch::ceiling(*self.debounced.borrow());
        let mut changed = false;
        for reading in readings {
            let id = reading.id;
            let believed = self.believed.get(id).map(AsRef::as_ref);
            match self.doubts.entry(id).or_default().weigh(believed, reading, now, patience) {
                Verdict::Same => {}
                Verdict::Believe(file) => {
                    self.believed = self.believed.with(file);
                    changed = true;
                }
                Verdict::LookAgain { at } => self.batch.look_again(at),
            }
        }
        changed
    }
}

fn look_at<D: Disk>(
    mut disk: D,
    sources: &[SourceSpec],
    believed: &Snapshot,
) -> (D, Watching, Vec<SourceFile>) {
    // In this order: what changes after a watch is set is told, and what changed before it is read.
    let watching = disk.arm();
    let readings = sources
        .iter()
        .filter(|spec| spec.path().is_some())
        .map(|spec| disk.read(spec, believed.get(spec.id).map(AsRef::as_ref)))
        .collect();
    (disk, watching, readings)
}

#[cfg(test)]
mod tests;
