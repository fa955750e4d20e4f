use notify::{
    WatcherKind,
    event::{CreateKind, DataChange, Flag, ModifyKind, RemoveKind},
};

use super::*;

/// A watcher that remembers what it was told to watch and fails where it is told to.
struct Fake {
    watched: Arc<Mutex<BTreeSet<PathBuf>>>,
    fails: Option<Fails>,
}

type Fails = fn() -> ErrorKind;

impl Watcher for Fake {
    fn new<F: notify::EventHandler>(_: F, _: notify::Config) -> notify::Result<Self> {
        Err(notify::Error::generic("made by hand"))
    }

    fn watch(&mut self, path: &Path, _: RecursiveMode) -> notify::Result<()> {
        if let Some(fails) = self.fails {
            return Err(notify::Error::new(fails()));
        }
        self.watched.lock().unwrap().insert(path.to_path_buf());
        Ok(())
    }

    fn unwatch(&mut self, path: &Path) -> notify::Result<()> {
        self.watched.lock().unwrap().remove(path);
        Ok(())
    }

    fn kind() -> WatcherKind {
        WatcherKind::NullWatcher
    }
}

struct Bench {
    arm: Arm,
    touched: Arc<Touch>,
    watched: Arc<Mutex<BTreeSet<PathBuf>>>,
    handler: Arc<Mutex<Option<Handler>>>,
}

fn bench(fails: Option<Fails>) -> Bench {
    let touched = Arc::new(Touch::default());
    let watched = Arc::new(Mutex::new(BTreeSet::new()));
    let handler = Arc::new(Mutex::new(None));
    let make: MakeWatcher = {
        let (watched, handler) = (Arc::clone(&watched), Arc::clone(&handler));
        Box::new(move |given| {
            *handler.lock().unwrap() = Some(given);
            Ok(Box::new(Fake { watched: Arc::clone(&watched), fails }) as Box<dyn Watcher + Send>)
        })
    };
    Bench { arm: Arm::new(make, Arc::clone(&touched)), touched, watched, handler }
}

impl Bench {
    fn tell(&self, event: notify::Result<Event>) {
        self.handler.lock().unwrap().as_mut().unwrap()(event);
    }

    /// Whether somebody was woken since this was last asked.
    fn woken(&self) -> bool {
        let mut notified = std::pin::pin!(self.touched.told());
        futures::FutureExt::now_or_never(notified.as_mut()).is_some()
    }
}

#[test]
fn only_events_that_can_change_a_file_wake_somebody() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let file = root.join("settings.json");
    let mut bench = bench(None);
    assert_eq!(bench.arm.arm(std::slice::from_ref(&file)), Watching::Events);
    let modified = EventKind::Modify(ModifyKind::Data(DataChange::Any));
    let closed = |mode| EventKind::Access(AccessKind::Close(mode));
    for (kind, path, wakes) in [
        (modified, file.clone(), true),
        (EventKind::Create(CreateKind::File), file.clone(), true),
        (closed(AccessMode::Write), file.clone(), true),
        (closed(AccessMode::Read), file.clone(), false),
        (EventKind::Access(AccessKind::Open(AccessMode::Any)), file.clone(), false),
        (modified, root.join("settings.json.tmp"), false),
        (modified, root.join(".settings.json.swp"), false),
    ] {
        bench.tell(Ok(Event::new(kind).add_path(path.clone())));
        assert_eq!(bench.woken(), wakes, "{kind:?} {}", path.display());
    }
}

#[test]
fn an_overflow_without_a_path_and_an_error_wake_somebody() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = bench(None);
    bench.arm.arm(&[folder.path().join("settings.json")]);
    assert!(!bench.woken());
    bench.tell(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
    assert!(bench.woken());
    bench.tell(Err(notify::Error::generic("something")));
    assert!(bench.woken());
}

#[test]
fn a_folder_gets_its_watch_again_only_after_something_happened_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let home = root.join("home");
    fs::create_dir(&home).unwrap();
    let files = [home.join("settings.json")];
    let mut bench = bench(None);
    let set_again = |bench: &mut Bench| {
        bench.watched.lock().unwrap().clear();
        assert_eq!(bench.arm.arm(&files), Watching::Events);
        bench.watched.lock().unwrap().contains(&home)
    };
    assert!(set_again(&mut bench));
    assert!(!set_again(&mut bench));
    fs::write(&files[0], "{}").unwrap();
    let saved = EventKind::Modify(ModifyKind::Name(notify::event::RenameMode::To));
    bench.tell(Ok(Event::new(saved).add_path(files[0].clone())));
    assert!(!set_again(&mut bench));

    // What the system says of it, whatever stands there by now.
    bench.tell(Ok(Event::new(EventKind::Remove(RemoveKind::Folder)).add_path(home.clone())));
    assert!(set_again(&mut bench));
    assert!(!set_again(&mut bench));
    bench.tell(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)));
    assert!(set_again(&mut bench));
    bench.tell(Err(notify::Error::generic("something")));
    assert!(set_again(&mut bench));

    // What nobody said: another folder stands in its place.
    assert!(!set_again(&mut bench));
    fs::rename(&home, root.join("old")).unwrap();
    fs::create_dir(&home).unwrap();
    assert!(set_again(&mut bench));
    assert!(!set_again(&mut bench));

    // Nor of one that got the number of the one before it, as most file systems give it, but was born later.
    let born = || fs::metadata(&home).unwrap().created().unwrap();
    let before = born();
    let replaced = (0..1_000_000).any(|_| {
        fs::remove_dir_all(&home).unwrap();
        fs::create_dir(&home).unwrap();
        born() != before
    });
    assert!(replaced);
    assert!(set_again(&mut bench));
    assert!(!set_again(&mut bench));
}

#[test]
fn watches_follow_the_folders_that_matter() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let file = root.join("a/b/settings.json");
    let mut bench = bench(None);
    let watched = |bench: &mut Bench| {
        bench.arm.arm(std::slice::from_ref(&file));
        let watched = bench.watched.lock().unwrap();
        watched.iter().map(|path| path.strip_prefix(&root).ok().map(Path::to_path_buf)).collect::<Vec<_>>()
    };
    let inside = |path: &str| Some(PathBuf::from(path));
    assert_eq!(watched(&mut bench), [None, inside("")]);
    fs::create_dir_all(root.join("a/b")).unwrap();
    assert_eq!(watched(&mut bench), [inside("a"), inside("a/b")]);
    fs::remove_dir(root.join("a/b")).unwrap();
    assert_eq!(watched(&mut bench), [inside(""), inside("a")]);
    assert!(!root.join("a/b").exists(), "folders are never created");
}

#[test]
fn each_limit_is_named_and_not_taken_for_a_full_disk() {
    let cases: [(Fails, &str); 4] = [
        (|| ErrorKind::MaxFilesWatch, "fs.inotify.max_user_watches"),
        (|| ErrorKind::Io(std::io::Error::from_raw_os_error(28)), "fs.inotify.max_user_watches"),
        (|| ErrorKind::Io(std::io::Error::from_raw_os_error(24)), "fs.inotify.max_user_instances"),
        (|| ErrorKind::Io(std::io::Error::from_raw_os_error(13)), "may not be watched"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (fails, named) in cases {
        let mut bench = bench(Some(fails));
        let Watching::Polling(because) = bench.arm.arm(&[folder.path().join("settings.json")]) else {
            panic!("{named}: it must poll");
        };
        assert!(because.to_string().contains(named), "{because}");
    }
}

#[test]
fn a_watcher_that_cannot_be_made_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let files = [folder.path().join("settings.json")];
    let mut tries = 0;
    let make: MakeWatcher = Box::new(move |_| {
        tries += 1;
        if tries == 1 {
            return Err(notify::Error::io(std::io::Error::from_raw_os_error(24)));
        }
        Ok(Box::new(Fake { watched: Arc::default(), fails: None }) as Box<dyn Watcher + Send>)
    });
    let mut arm = Arm::new(make, Arc::new(Touch::default()));
    assert_eq!(arm.arm(&files), Watching::Polling(PollingBecause::Limit(InotifyLimit::Instances)));
    assert_eq!(arm.arm(&files), Watching::Events);
}

#[test]
fn one_file_under_two_names_is_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    fs::write(&one, "").unwrap();
    fs::hard_link(&one, &other).unwrap();
    assert!(OnDisk.same(&one, &other));
    fs::remove_file(&other).unwrap();
    assert!(!OnDisk.same(&one, &other));
}

#[tokio::test]
async fn hundreds_of_files_that_come_and_go_beside_the_one_that_matters_wake_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.json");
    fs::write(&file, "{}").unwrap();
    let told = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let make: MakeWatcher = {
        let (told, mut system) = (Arc::clone(&told), system_watcher());
        Box::new(move |mut handler| {
            let told = Arc::clone(&told);
            system(Box::new(move |event| {
                handler(event);
                told.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            }))
        })
    };
    let touched = Arc::new(Touch::default());
    let mut bench = Bench { arm: Arm::new(make, touched.clone()), touched, ..bench(None) };
    bench.arm.arm(std::slice::from_ref(&file));
    for n in 0..500 {
        let temporary = folder.path().join(format!("settings.json.{n}.tmp"));
        fs::write(&temporary, "x").unwrap();
        fs::remove_file(&temporary).unwrap();
    }
    fs::read(&file).unwrap();
    // Made, opened, written, closed, removed.
    until(|| told.load(std::sync::atomic::Ordering::SeqCst) >= 5 * 500).await;
    assert!(!bench.woken());
    fs::write(&file, "{ }").unwrap();
    tokio::time::timeout(std::time::Duration::from_secs(10), bench.touched.told()).await.unwrap();
}

/// Waits until something holds that nobody announces.
async fn until(holds: impl Fn() -> bool) {
    let polled = async {
        while !holds() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), polled).await.unwrap();
}
