//! What does the watching task do when? Events, timers and requests in; looks at the disk, and what they came to, out. It
//! must not know how the disk is read.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    alarm::Alarm,
    batch::{self, Batch},
    belief::{Doubts, Verdict},
    seen::{Seen, Watching},
    touch::Touch,
};
use crate::settings::{Snapshot, SourceFile, SourceId, SourceSpec};

/// How often files are read where events do not come.
const POLL: Duration = Duration::from_secs(2);

/// The disk, as far as the task needs it. Its calls may block.
pub(super) trait Disk: Send + 'static {
    /// Sees to it that changes from now on are told, as far as the system can.
    fn arm(&mut self) -> Watching;
    /// Reads one source.
    fn read(&mut self, spec: &SourceSpec, believed: Option<&SourceFile>) -> SourceFile;
}

/// What the task is connected to.
pub(super) struct Ends {
    /// An event that matters.
    pub(super) touched: Arc<Touch>,
    /// A look that somebody asks for.
    pub(super) looks: mpsc::UnboundedReceiver<oneshot::Sender<()>>,
    /// How long a burst must be over.
    pub(super) debounced: watch::Receiver<Duration>,
    /// What is believed.
    pub(super) out: watch::Sender<Seen>,
    /// Ends the task.
    pub(super) stop: CancellationToken,
}

/// The task: events and timers in, looks at the disk and what they came to out.
pub(super) struct Driver<D> {
    /// Away while a look is under way.
    disk: Option<D>,
    sources: Arc<[SourceSpec]>,
    believed: Snapshot,
    doubts: BTreeMap<SourceId, Doubts>,
    batch: Batch,
    poll_at: Option<Duration>,
    started: Instant,
    /// Who asked for a look and is to be told when nothing is in doubt.
    answers: Vec<oneshot::Sender<()>>,
    ends: Ends,
}

impl<D: Disk> Driver<D> {
    /// Believes what the session booted from.
    pub(super) fn new(disk: D, sources: Arc<[SourceSpec]>, booted: Snapshot, ends: Ends) -> Self {
        let batch = Batch::new(*ends.debounced.borrow());
        Self {
            disk: Some(disk),
            sources,
            believed: booted,
            doubts: BTreeMap::new(),
            batch,
            poll_at: None,
            started: Instant::now(),
            answers: Vec::new(),
            ends,
        }
    }

    /// Runs until it is stopped, or until a look could not be ended.
    pub(super) async fn run(mut self) {
        let mut alarm = Alarm::new();
        loop {
            let due = self.batch.due().into_iter().chain(self.poll_at).min();
            let timer = async {
                match due {
                    Some(due) => alarm.reached(self.started + due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.ends.stop.cancelled() => return,
                Some(answer) = self.ends.looks.recv() => {
                    self.answers.push(answer);
                    self.look().await;
                }
                // Before the events: however many there are, what is due is read.
                () = timer => self.look().await,
                at = self.ends.touched.told() => {
                    self.batch.set_debounce(*self.ends.debounced.borrow());
                    self.batch.touched(at.saturating_duration_since(self.started));
                }
            }
            if self.disk.is_none() {
                return;
            }
        }
    }

    /// Arms, reads everything and publishes what is to be believed. Everything is read because that costs less than
    /// to be wrong about what an event meant.
    pub(super) async fn look(&mut self) {
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
        if self.ends.stop.is_cancelled() {
            return;
        }
        self.disk = Some(disk);
        self.poll_at = match watching {
            Watching::Events => None,
            Watching::Polling(_) => Some(now + POLL),
        };
        let changed = self.weigh(readings, now);
        self.ends.out.send_if_modified(|seen| {
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
        let patience = batch::ceiling(*self.ends.debounced.borrow());
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
