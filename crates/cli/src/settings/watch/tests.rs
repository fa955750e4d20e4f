//! The task under a paused clock, with a disk that is a table.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard},
};

use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::{
    fixtures::settings_file,
    settings::{Broken, Origin, Presence, SourceId},
};

mod disk;

#[derive(Clone)]
struct Table(Arc<Mutex<State>>);

struct State {
    files: BTreeMap<SourceId, SourceFile>,
    watching: Watching,
    looks: Vec<Duration>,
    started: Instant,
}

impl Table {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    fn write(&self, id: SourceId, file: SourceFile) {
        self.state().files.insert(id, file);
    }

    fn looks_ms(&self) -> Vec<u128> {
        self.state().looks.iter().map(Duration::as_millis).collect()
    }
}

impl Disk for Table {
    fn arm(&mut self) -> Watching {
        let mut state = self.state();
        let at = state.started.elapsed();
        state.looks.push(at);
        state.watching.clone()
    }

    fn read(&mut self, spec: &SourceSpec, _: Option<&SourceFile>) -> SourceFile {
        self.state().files[&spec.id].clone()
    }
}

fn file(id: SourceId, presence: Presence, digest: u64, broken: Option<Broken>) -> SourceFile {
    let root = json!({ "version": digest });
    SourceFile { path: None, presence, broken, digest, ..settings_file(id, "", root) }
}

fn good(id: SourceId, digest: u64) -> SourceFile {
    file(id, Presence::Present, digest, None)
}

fn missing(id: SourceId) -> SourceFile {
    file(id, Presence::Missing, 0, None)
}

const USER: SourceId = SourceId::User;
const PROJECT: SourceId = SourceId::McpJson;

struct Bench {
    table: Table,
    watcher: SettingsWatcher,
    seen: watch::Receiver<Seen>,
    touched: Arc<Touch>,
}

impl Bench {
    async fn start(debounce: u64) -> Self {
        Self::start_watching(debounce, Watching::Events).await
    }

    async fn start_watching(debounce: u64, watching: Watching) -> Self {
        let ids = [USER, PROJECT];
        let files: BTreeMap<_, _> = ids.into_iter().map(|id| (id, good(id, 1))).collect();
        let booted =
            Snapshot { sources: files.iter().map(|(&id, file)| (id, Arc::new(file.clone()))).collect() };
        let state = State { files, watching, looks: Vec::new(), started: Instant::now() };
        let table = Table(Arc::new(Mutex::new(state)));
        let sources = ids.map(|id| SourceSpec { id, origin: Origin::File(format!("/{id:?}").into()) });
        let touched = Arc::new(Touch::default());
        let debounce = Duration::from_millis(debounce);
        let watcher =
            SettingsWatcher::run(sources.into(), booted, debounce, table.clone(), Arc::clone(&touched)).await;
        let mut seen = watcher.seen();
        seen.mark_unchanged();
        Self { table, watcher, seen, touched }
    }

    fn save(&self, id: SourceId, digest: u64) {
        self.table.write(id, good(id, digest));
        self.touched.tell();
    }

    fn versions(&mut self) -> Vec<u64> {
        let seen = self.seen.borrow_and_update();
        seen.snapshot.sources.values().map(|file| file.digest).collect()
    }

    fn is_news(&self) -> bool {
        self.seen.has_changed().unwrap_or(false)
    }
}

/// Lets the paused clock run.
async fn after_ms(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

#[tokio::test(start_paused = true)]
async fn every_file_is_read_again_once_the_watches_are_set() {
    let bench = Bench::start(300).await;
    assert_eq!(bench.table.looks_ms(), [0]);
    after_ms(60_000).await;
    assert_eq!(bench.table.looks_ms(), [0], "and then nothing wakes it");
}

#[tokio::test(start_paused = true)]
async fn twenty_saves_within_one_debounce_are_one_reading() {
    let mut bench = Bench::start(300).await;
    for n in 0..20 {
        bench.save(USER, 2 + n);
        after_ms(14).await;
    }
    after_ms(1000).await;
    assert_eq!(bench.table.looks_ms(), [0, 19 * 14 + 300]);
    assert_eq!(bench.versions(), [21, 1]);
}

#[tokio::test(start_paused = true)]
async fn files_saved_together_are_published_together() {
    let mut bench = Bench::start(300).await;
    bench.save(USER, 2);
    after_ms(20).await;
    bench.save(PROJECT, 2);
    bench.seen.changed().await.unwrap();
    assert_eq!(bench.versions(), [2, 2]);
    after_ms(1000).await;
    assert!(!bench.is_news());
}

#[tokio::test(start_paused = true)]
async fn content_decides_so_an_event_without_a_change_is_not_published() {
    let bench = Bench::start(300).await;
    bench.save(USER, 1);
    after_ms(1000).await;
    assert_eq!(bench.table.looks_ms(), [0, 300]);
    assert!(!bench.is_news());
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_gone_for_a_moment_was_never_gone() {
    let bench = Bench::start(0).await;
    bench.table.write(USER, missing(USER));
    bench.touched.tell();
    after_ms(30).await;
    bench.save(USER, 1);
    after_ms(1000).await;
    assert!(!bench.is_news());
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_lasts_is_published_after_a_second_look_and_holds_nothing_else_back() {
    let mut bench = Bench::start(300).await;
    bench.table.write(USER, missing(USER));
    bench.save(PROJECT, 2);
    after_ms(310).await;
    assert_eq!(bench.versions(), [1, 2]);
    after_ms(150).await;
    assert_eq!(bench.versions(), [0, 2]);
    assert_eq!(bench.table.looks_ms(), [0, 300, 450]);
}

#[tokio::test(start_paused = true)]
async fn a_file_saved_every_100_ms_is_published_at_least_every_2500_ms_and_not_more_often_than_the_debounce()
{
    let mut bench = Bench::start(300).await;
    let mut published = vec![0];
    for n in 0..60 {
        bench.save(USER, 2 + n);
        after_ms(100).await;
        if bench.is_news() {
            published.push((n + 1) * 100);
            bench.versions();
        }
    }
    assert!(published.len() > 2);
    assert!(published.windows(2).all(|pair| (300..=2500).contains(&(pair[1] - pair[0]))), "{published:?}");
    after_ms(1000).await;
    assert_eq!(bench.versions(), [61, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_debounce_of_nothing_reads_at_once() {
    let mut bench = Bench::start(0).await;
    bench.save(USER, 2);
    bench.seen.changed().await.unwrap();
    assert_eq!(bench.versions(), [2, 1]);
    assert_eq!(bench.table.looks_ms(), [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn an_edited_debounce_holds_from_the_next_batch() {
    let bench = Bench::start(300).await;
    bench.save(USER, 2);
    after_ms(10).await;
    bench.watcher.control().set_debounce(Duration::from_secs(1));
    after_ms(390).await;
    bench.save(USER, 3);
    after_ms(5000).await;
    assert_eq!(bench.table.looks_ms(), [0, 300, 1400]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_gets_the_newest() {
    let mut bench = Bench::start(0).await;
    for version in 2..5 {
        bench.save(USER, version);
        after_ms(100).await;
    }
    assert_eq!(bench.versions(), [4, 1]);
    assert!(!bench.is_news());
}

#[tokio::test(start_paused = true)]
async fn where_events_do_not_come_files_are_read_every_two_seconds_until_they_come_again() {
    let limit = Watching::Polling(PollingBecause::Limit(InotifyLimit::Instances));
    let mut bench = Bench::start_watching(300, limit.clone()).await;
    assert_eq!(bench.seen.borrow().watching, limit);
    bench.table.write(USER, good(USER, 2));
    after_ms(2001).await;
    assert_eq!(bench.versions(), [2, 1]);
    after_ms(2000).await;
    assert!(!bench.is_news(), "nothing new is not published");
    bench.table.state().watching = Watching::Events;
    after_ms(2000).await;
    assert_eq!(bench.seen.borrow_and_update().watching, Watching::Events);
    after_ms(20_000).await;
    assert_eq!(bench.table.looks_ms(), [0, 2000, 4000, 6000]);
}

#[tokio::test(start_paused = true)]
async fn a_look_that_is_asked_for_is_answered_when_nothing_is_in_doubt() {
    let mut bench = Bench::start(300).await;
    bench.table.write(USER, missing(USER));
    bench.watcher.control().look_now().await;
    assert_eq!(bench.versions(), [0, 1]);
    assert_eq!(bench.table.looks_ms(), [0, 0, 150]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_read_or_published_after_the_stop() {
    let bench = Bench::start(300).await;
    bench.save(USER, 2);
    after_ms(100).await;
    bench.watcher.stop().await;
    bench.touched.tell();
    after_ms(5000).await;
    assert_eq!(bench.table.looks_ms(), [0]);
    assert_eq!(bench.seen.borrow().snapshot.get(USER).unwrap().digest, 1);
}
