//! When does what the files say change? One task reads them again whenever they may have, and publishes what is to be
//! believed. It must not know what any of it means.

mod alarm;
mod arm;
mod batch;
mod belief;
mod driver;
mod folders;
mod seen;
mod silent;
mod touch;

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::{
    arm::Arm,
    driver::{Disk, Driver, Ends},
    touch::Touch,
};
use super::{Moment, Snapshot, SourceFile, SourceSpec, read_source};
use crate::derive::WatchMode;

pub use seen::{InotifyLimit, PollingBecause, Seen, Watching};

/// How the watcher is started.
pub struct WatchOptions {
    /// Every source of the session.
    pub sources: Vec<SourceSpec>,
    /// What the session booted from.
    pub booted: Snapshot,
    /// `mcp.watch` as it was at start.
    pub mode: WatchMode,
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
        let touched = Arc::new(Touch::default());
        let files = options.sources.iter().filter_map(|spec| spec.path().map(PathBuf::from)).collect();
        let arm = match options.mode {
            WatchMode::Auto => Some(Arm::new(make, Arc::clone(&touched))),
            WatchMode::Poll => None,
        };
        let disk = RealDisk { arm, files };
        Self::run(options.sources, options.booted, options.debounce, disk, touched).await
    }

    async fn run<D: Disk>(
        sources: Vec<SourceSpec>,
        booted: Snapshot,
        debounce: Duration,
        disk: D,
        touched: Arc<Touch>,
    ) -> Self {
        let stop = CancellationToken::new();
        let (looks, asked) = mpsc::unbounded_channel();
        let (debounce, debounced) = watch::channel(debounce);
        let (out, seen) =
            watch::channel(Seen { snapshot: Arc::new(booted.clone()), watching: Watching::Events });
        let ends = Ends { touched, looks: asked, debounced, out, stop: stop.clone() };
        let mut driver = Driver::new(disk, sources.into(), booted, ends);
        driver.look().await;
        let task = tokio::spawn(driver.run());
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

#[cfg(test)]
mod tests;
