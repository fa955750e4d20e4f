//! The task on real files: what editors, dotfile managers, git and Kubernetes do to them.

mod saves;

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use tempfile::TempDir;

use self::saves::{SAVES, Save};
use super::super::{arm::system_watcher, *};
use crate::{
    derive::WatchMode,
    settings::{Origin, Presence, SourceId, load},
};

/// Longer than anything that is waited for; a test that waits this long has failed.
const BOUND: Duration = Duration::from_secs(10);

/// A home with `.qwen/settings.json`, a project with `.mcp.json` and `.qwen/settings.json`, and a watcher on them.
struct Bench {
    folder: TempDir,
    watcher: Option<SettingsWatcher>,
    /// Every distinct content of the user's settings that was published, as their version.
    published: Arc<Mutex<Vec<Option<u64>>>>,
    publications: Arc<Mutex<usize>>,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for inner in ["home", "project"] {
            fs::create_dir(folder.path().join(inner)).unwrap();
        }
        Self { folder, watcher: None, published: Arc::default(), publications: Arc::default() }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn user(&self) -> PathBuf {
        self.at("home/.qwen/settings.json")
    }

    fn sources(&self) -> Vec<SourceSpec> {
        [
            (SourceId::User, self.user()),
            (SourceId::McpJson, self.at("project/.mcp.json")),
            (SourceId::Workspace, self.at("project/.qwen/settings.json")),
        ]
        .map(|(id, path)| SourceSpec { id, origin: Origin::File(path) })
        .into()
    }

    async fn start(&mut self, debounce_ms: u64) {
        self.start_with(debounce_ms, system_watcher()).await;
    }

    async fn start_with(&mut self, debounce_ms: u64, make: arm::MakeWatcher) {
        let sources = self.sources();
        let options = WatchOptions {
            booted: load(&sources),
            sources,
            mode: WatchMode::Auto,
            debounce: Duration::from_millis(debounce_ms),
        };
        let watcher = SettingsWatcher::start_with(options, make).await;
        let mut seen = watcher.seen();
        let (published, publications) = (Arc::clone(&self.published), Arc::clone(&self.publications));
        published.lock().unwrap().push(version(&seen.borrow_and_update().snapshot));
        tokio::spawn(async move {
            while seen.changed().await.is_ok() {
                let version = version(&seen.borrow_and_update().snapshot);
                *publications.lock().unwrap() += 1;
                let mut published = published.lock().unwrap();
                if published.last() != Some(&version) {
                    published.push(version);
                }
            }
        });
        self.watcher = Some(watcher);
    }

    /// Waits until what is believed is what this says.
    async fn until(&self, what: &str, is: impl Fn(&Snapshot) -> bool) {
        let mut seen = self.watcher.as_ref().unwrap().seen();
        let waited = tokio::time::timeout(BOUND, seen.wait_for(|seen| is(&seen.snapshot))).await;
        assert!(matches!(waited, Ok(Ok(_))), "{what}: {:?}", self.published.lock().unwrap());
    }

    async fn until_version(&self, wanted: u64) {
        self.until(&format!("version {wanted}"), |snapshot| version(snapshot) == Some(wanted)).await;
    }

    /// Everything that was published of the user's settings since the start, once nothing more can come.
    async fn published(&self) -> Vec<Option<u64>> {
        self.watcher.as_ref().unwrap().control().look_now().await;
        tokio::task::yield_now().await;
        self.published.lock().unwrap().clone()
    }
}

/// The version that the user's settings say; `None` while they say nothing.
fn version(snapshot: &Snapshot) -> Option<u64> {
    snapshot.get(SourceId::User)?.root.get("version")?.as_u64()
}

/// A file that says its version, long enough to be worth tearing apart.
fn text(version: u64) -> String {
    let servers: Vec<String> = (0..40)
        .map(|n| format!("    \"server-{n}\": {{ \"command\": \"true\", \"args\": [\"{version}\"] }}"))
        .collect();
    format!("{{\n  \"version\": {version},\n  \"mcpServers\": {{\n{}\n  }}\n}}\n", servers.join(",\n"))
}

fn write(path: &Path, version: u64) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text(version)).unwrap();
}

/// Saves in each way, twice, and expects each save to be published exactly once.
async fn every_save_is_seen(place: impl Fn(&Bench) -> PathBuf) {
    for save in SAVES {
        let mut bench = Bench::new();
        let edited = place(&bench);
        bench.start(300).await;
        for version in [2, 3] {
            save.run(&edited, &text(version)).await;
            bench.until_version(version).await;
        }
        assert_eq!(bench.published().await, [Some(1), Some(2), Some(3)], "{save:?}");
    }
}

#[tokio::test]
async fn every_way_of_saving_a_file_is_seen_the_first_and_the_second_time() {
    every_save_is_seen(|bench| {
        write(&bench.user(), 1);
        bench.user()
    })
    .await;
}

#[tokio::test]
async fn every_way_of_saving_is_seen_behind_a_relative_link() {
    every_save_is_seen(|bench| {
        let target = bench.at("home/dots/qwen/s.json");
        write(&target, 1);
        fs::create_dir(bench.at("home/.qwen")).unwrap();
        symlink("../dots/qwen/s.json", bench.user()).unwrap();
        target
    })
    .await;
}

#[tokio::test]
async fn every_way_of_saving_is_seen_behind_a_linked_folder() {
    every_save_is_seen(|bench| {
        let target = bench.at("home/dots/qwen/settings.json");
        write(&target, 1);
        symlink("dots/qwen", bench.at("home/.qwen")).unwrap();
        target
    })
    .await;
}

#[tokio::test]
async fn every_way_of_saving_is_seen_behind_a_data_link() {
    every_save_is_seen(|bench| {
        let mounted = bench.at("home/.qwen");
        write(&mounted.join("..t1/settings.json"), 1);
        symlink("..t1", mounted.join("..data")).unwrap();
        symlink("..data/settings.json", bench.user()).unwrap();
        mounted.join("..t1/settings.json")
    })
    .await;
}

#[tokio::test]
async fn every_way_of_saving_is_seen_behind_a_link_that_was_retargeted() {
    for save in SAVES {
        let mut bench = Bench::new();
        let (first, second) = (bench.at("store/a/settings.json"), bench.at("store/b/settings.json"));
        write(&first, 1);
        write(&second, 2);
        fs::create_dir(bench.at("home/.qwen")).unwrap();
        symlink(&first, bench.user()).unwrap();
        bench.start(300).await;
        relink(&second, &bench.user());
        bench.until_version(2).await;
        for version in [3, 4] {
            save.run(&second, &text(version)).await;
            bench.until_version(version).await;
        }
        write(&first, 9);
        assert_eq!(bench.published().await, [Some(1), Some(2), Some(3), Some(4)], "{save:?}");
    }
}

/// Replaces a link as `ln -sfn` and home-manager do.
fn relink(target: &Path, link: &Path) {
    let new = link.with_file_name("new-link");
    symlink(target, &new).unwrap();
    fs::rename(&new, link).unwrap();
}

#[tokio::test]
async fn each_swap_of_a_data_link_is_seen_by_rename_and_by_replacement() {
    let mut bench = Bench::new();
    let mounted = bench.at("home/.qwen");
    write(&mounted.join("..t1/settings.json"), 1);
    symlink("..t1", mounted.join("..data")).unwrap();
    symlink("..data/settings.json", bench.user()).unwrap();
    bench.start(100).await;
    for version in 2..6 {
        let (old, new) = (format!("..t{}", version - 1), format!("..t{version}"));
        write(&mounted.join(&new).join("settings.json"), version);
        if version % 2 == 0 {
            relink(Path::new(&new), &mounted.join("..data"));
        } else {
            fs::remove_file(mounted.join("..data")).unwrap();
            symlink(&new, mounted.join("..data")).unwrap();
        }
        fs::remove_dir_all(mounted.join(old)).unwrap();
        bench.until_version(version).await;
    }
    assert_eq!(bench.published().await, (1..6).map(Some).collect::<Vec<_>>());
}

#[tokio::test]
async fn content_decides_where_every_file_has_the_same_time() {
    let mut bench = Bench::new();
    let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1);
    let store = |name: &str, version| {
        let path = bench.at("store").join(name);
        write(&path, version);
        fs::File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        path
    };
    let (a, b, same_as_b) = (store("a", 1), store("b", 2), store("b2", 2));
    fs::create_dir(bench.at("home/.qwen")).unwrap();
    symlink(&a, bench.user()).unwrap();
    bench.start(50).await;
    relink(&b, &bench.user());
    bench.until_version(2).await;
    relink(&same_as_b, &bench.user());
    let led_to = |snapshot: &Snapshot, path: &Path| {
        snapshot.get(SourceId::User).unwrap().resolved_path == Some(path.canonicalize().unwrap())
    };
    bench.until("the new target", |snapshot| led_to(snapshot, &same_as_b)).await;
    assert_eq!(bench.published().await, [Some(1), Some(2)]);
}

#[tokio::test]
async fn a_folder_that_is_removed_and_made_again_is_watched_again_each_time() {
    let mut bench = Bench::new();
    write(&bench.user(), 1);
    bench.start(50).await;
    let folder = bench.at("home/.qwen");
    let mut expected = vec![Some(1)];
    for round in 1..=5 {
        fs::remove_dir_all(&folder).unwrap();
        bench.until("the file is gone", |snapshot| version(snapshot).is_none()).await;
        for version in [10 * round, 10 * round + 1] {
            write(&bench.user(), version);
            bench.until_version(version).await;
        }
        expected.extend([None, Some(10 * round), Some(10 * round + 1)]);
    }
    assert_eq!(bench.published().await, expected);
}

#[tokio::test]
async fn a_folder_that_is_replaced_at_once_is_still_watched() {
    let mut bench = Bench::new();
    write(&bench.user(), 1);
    bench.start(50).await;
    let (folder, aside, new) = (bench.at("home/.qwen"), bench.at("home/aside"), bench.at("home/new"));
    // As `git checkout` does it.
    fs::remove_dir_all(&folder).unwrap();
    write(&bench.user(), 2);
    bench.until_version(2).await;
    write(&bench.user(), 3);
    bench.until_version(3).await;
    // As a synchronising program does it.
    write(&new.join("settings.json"), 4);
    fs::rename(&folder, &aside).unwrap();
    fs::rename(&new, &folder).unwrap();
    bench.until_version(4).await;
    write(&aside.join("settings.json"), 9);
    write(&bench.user(), 5);
    bench.until_version(5).await;
    assert_eq!(bench.published().await, (1..6).map(Some).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_folder_that_is_replaced_while_somebody_holds_it_open_is_still_watched() {
    let mut bench = Bench::new();
    let folder = bench.at("home/.qwen");
    fs::create_dir(&folder).unwrap();
    bench.start(50).await;
    // Its own removal is not reported before it is closed.
    let held = fs::File::open(&folder).unwrap();
    fs::remove_dir(&folder).unwrap();
    write(&bench.user(), 1);
    bench.until_version(1).await;
    write(&bench.user(), 2);
    bench.until_version(2).await;
    drop(held);
}

#[tokio::test]
async fn files_and_folders_that_are_made_after_the_start_are_seen() {
    let mut bench = Bench::new();
    bench.start(50).await;
    assert!(!bench.at("home/.qwen").exists(), "folders are never made by watching");
    write(&bench.user(), 1);
    bench.until_version(1).await;
    write(&bench.at("project/.mcp.json"), 1);
    bench.until("the project's servers", |snapshot| present(snapshot, SourceId::McpJson)).await;
    write(&bench.at("project/.qwen/settings.json"), 1);
    bench.until("the workspace settings", |snapshot| present(snapshot, SourceId::Workspace)).await;
    write(&bench.user(), 2);
    bench.until_version(2).await;
    fs::remove_dir_all(bench.at("home")).unwrap();
    bench.until("the home is gone", |snapshot| version(snapshot).is_none()).await;
    write(&bench.user(), 3);
    bench.until_version(3).await;
}

fn present(snapshot: &Snapshot, id: SourceId) -> bool {
    snapshot.get(id).is_some_and(|file| file.presence == Presence::Present)
}

#[tokio::test]
async fn files_that_are_saved_together_are_published_together() {
    let mut bench = Bench::new();
    write(&bench.user(), 1);
    bench.start(300).await;
    let before = *bench.publications.lock().unwrap();
    write(&bench.user(), 2);
    write(&bench.at("project/.mcp.json"), 2);
    write(&bench.at("project/.qwen/settings.json"), 2);
    bench
        .until("all three", |snapshot| {
            version(snapshot) == Some(2)
                && present(snapshot, SourceId::McpJson)
                && present(snapshot, SourceId::Workspace)
        })
        .await;
    bench.published().await;
    assert_eq!(*bench.publications.lock().unwrap() - before, 1);
}

#[tokio::test]
async fn temporary_files_that_come_and_go_do_not_hide_the_edit_that_follows() {
    let mut bench = Bench::new();
    write(&bench.user(), 1);
    bench.start(50).await;
    for n in 0..500 {
        let temporary = bench.at("home/.qwen").join(format!(".settings.json.tmp{n}"));
        fs::write(&temporary, "x").unwrap();
        fs::remove_file(&temporary).unwrap();
    }
    write(&bench.user(), 2);
    bench.until_version(2).await;
    assert_eq!(bench.published().await, [Some(1), Some(2)]);
}

#[tokio::test]
async fn an_own_write_and_an_edit_close_to_it_end_with_what_the_file_says() {
    let mut bench = Bench::new();
    write(&bench.user(), 1);
    bench.start(300).await;
    for (version, after_ms) in [(2, 20), (3, 50), (4, 0)] {
        Save::RenameOver.run(&bench.user(), &text(version)).await;
        saves::pause(after_ms).await;
    }
    bench.until_version(4).await;
    assert!(bench.published().await.len() <= 3);
}

#[tokio::test]
async fn a_file_that_stays_empty_is_an_empty_scope_and_a_torn_one_keeps_what_it_said() {
    let mut bench = Bench::new();
    write(&bench.user(), 1);
    bench.start(50).await;
    fs::write(bench.user(), &text(2).as_bytes()[..100]).unwrap();
    let is_broken = |snapshot: &Snapshot| snapshot.get(SourceId::User).unwrap().broken.is_some();
    bench.until("the torn file is told", is_broken).await;
    assert_eq!(bench.published().await, [Some(1)]);
    fs::write(bench.user(), "").unwrap();
    bench.until("the empty file", |snapshot| version(snapshot).is_none()).await;
    write(&bench.user(), 3);
    bench.until_version(3).await;
    assert_eq!(bench.published().await, [Some(1), None, Some(3)]);
}

#[tokio::test]
async fn without_an_inotify_instance_the_start_goes_on_and_edits_are_seen_by_polling() {
    let mut bench = Bench::new();
    write(&bench.user(), 1);
    let none_left = || notify::Error::io(std::io::Error::from_raw_os_error(24));
    bench.start_with(300, Box::new(move |_| Err(none_left()))).await;
    let watching = bench.watcher.as_ref().unwrap().seen().borrow().watching.clone();
    assert_eq!(watching, Watching::Polling(PollingBecause::Limit(InotifyLimit::Instances)));
    write(&bench.user(), 2);
    bench.until_version(2).await;
    fs::remove_dir_all(bench.at("home/.qwen")).unwrap();
    bench.until("the file is gone", |snapshot| version(snapshot).is_none()).await;
    write(&bench.user(), 3);
    bench.until_version(3).await;
}

#[tokio::test]
async fn an_edit_between_the_boot_and_the_start_of_the_watch_is_not_lost() {
    let mut bench = Bench::new();
    write(&bench.user(), 1);
    let sources = bench.sources();
    let booted = load(&sources);
    write(&bench.user(), 2);
    let options =
        WatchOptions { booted, sources, mode: WatchMode::Auto, debounce: Duration::from_millis(300) };
    bench.watcher = Some(SettingsWatcher::start(options).await);
    assert_eq!(version(&bench.watcher.as_ref().unwrap().seen().borrow().snapshot), Some(2));
}

/// Whatever is done to a file, its folder and the links that lead to it, what is believed comes to be what it says.
#[tokio::test]
async fn random_changes_of_files_folders_and_links_always_converge() {
    let mut bench = Bench::new();
    bench.start(0).await;
    let mut random = fastrand_like(20_261_130);
    let folder = bench.at("home/.qwen");
    for step in 0..80_u64 {
        match random(9) {
            0 | 1 => {
                // A link that leads nowhere cannot be written through.
                fs::create_dir_all(&folder).ok();
                fs::write(bench.user(), text(step)).ok();
            }
            2 => drop(fs::remove_file(bench.user())),
            3 => remove(&folder),
            4 => {
                remove(&folder);
                fs::create_dir_all(bench.at("home/dots")).unwrap();
                symlink("dots", &folder).unwrap();
            }
            5 => {
                write(&bench.at("home/dots/settings.json"), step);
            }
            6 => {
                let target = bench.at("store/one.json");
                write(&target, step);
                if folder.exists() {
                    fs::remove_file(bench.user()).ok();
                    symlink(target, bench.user()).ok();
                }
            }
            7 => write(&bench.at("store/one.json"), step),
            _ => {
                fs::rename(bench.at("home/dots"), bench.at("home/moved")).ok();
                fs::rename(bench.at("home/moved"), bench.at("home/dots")).ok();
            }
        }
        let wanted = version(&load(&bench.sources()));
        bench.until(&format!("step {step}"), |snapshot| version(snapshot) == wanted).await;
    }
}

fn remove(folder: &Path) {
    if folder.is_symlink() {
        fs::remove_file(folder).unwrap();
    } else if folder.exists() {
        fs::remove_dir_all(folder).unwrap();
    }
}

/// The same numbers in each run (Knuth's MMIX generator).
fn fastrand_like(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}
