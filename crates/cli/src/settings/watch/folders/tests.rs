use std::collections::BTreeMap;

use super::*;

/// A file system as a table: each path with what stands there.
#[derive(Default)]
struct Disk(BTreeMap<PathBuf, Node>);

impl Disk {
    fn of(lines: &[&str]) -> Self {
        let mut disk = Self::default();
        for line in lines {
            let (path, node) = match line.split_once(" -> ") {
                Some((path, target)) => (path, Node::Link(target.into())),
                None => match line.strip_suffix('/') {
                    Some(folder) => (folder, Node::Folder),
                    None => (*line, Node::File),
                },
            };
            for folder in Path::new(path).ancestors().skip(1) {
                disk.0.entry(folder.to_path_buf()).or_insert(Node::Folder);
            }
            disk.0.insert(path.into(), node);
        }
        disk
    }
}

impl Look for Disk {
    fn look(&self, path: &Path) -> Node {
        self.0.get(path).cloned().unwrap_or(Node::Missing)
    }
}

/// A volume that tells files apart by their spelling alone.
struct BySpelling;

impl Identity for BySpelling {
    fn same(&self, one: &Path, other: &Path) -> bool {
        one == other
    }
}

/// A volume that takes letter case, and both forms of `é`, as one.
struct Insensitive;

impl Identity for Insensitive {
    fn same(&self, one: &Path, other: &Path) -> bool {
        let folded = |path: &Path| path.to_string_lossy().to_lowercase().replace("e\u{301}", "é");
        folded(one) == folded(other)
    }
}

struct NobodyAsks;

impl Identity for NobodyAsks {
    fn same(&self, one: &Path, other: &Path) -> bool {
        panic!("asked about {} and {}", one.display(), other.display())
    }
}

/// What is watched, as `folder: names`.
fn watched(file: &str, disk: &[&str]) -> Vec<String> {
    let interest = Interest::of([Path::new(file)], &Disk::of(disk));
    interest
        .names
        .iter()
        .map(|(folder, names)| {
            let names: Vec<_> = names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
            format!("{}: {}", folder.display(), names.join(" "))
        })
        .collect()
}

#[test]
fn the_folder_of_a_file_is_watched_and_so_is_its_parent() {
    assert_eq!(
        watched("/h/u/.qwen/settings.json", &["/h/u/.qwen/settings.json"]),
        ["/h/u: .qwen", "/h/u/.qwen: settings.json"]
    );
}

#[test]
fn a_missing_file_is_waited_for_in_its_folder_and_a_missing_folder_in_the_nearest_one_that_exists() {
    assert_eq!(
        watched("/h/u/.qwen/settings.json", &["/h/u/.qwen/"]),
        ["/h/u: .qwen", "/h/u/.qwen: settings.json"]
    );
    assert_eq!(watched("/h/u/.qwen/settings.json", &["/h/u/"]), ["/h: u", "/h/u: .qwen"]);
    assert_eq!(watched("/etc/qwen-code/settings.json", &["/"]), ["/: etc"]);
}

#[test]
fn a_file_where_a_folder_should_be_is_watched_like_a_missing_one() {
    assert_eq!(watched("/h/u/.qwen/settings.json", &["/h/u/.qwen"]), ["/h: u", "/h/u: .qwen"]);
}

#[test]
fn every_hop_of_a_link_is_watched() {
    let relative = ["/h/u/.qwen/settings.json -> ../dots/qwen/s.json", "/h/u/dots/qwen/s.json"];
    assert_eq!(
        watched("/h/u/.qwen/settings.json", &relative),
        ["/h/u: .qwen", "/h/u/.qwen: settings.json", "/h/u/dots: qwen", "/h/u/dots/qwen: s.json"]
    );
    let folder = ["/h/u/.qwen -> dots/qwen", "/h/u/dots/qwen/settings.json"];
    assert_eq!(
        watched("/h/u/.qwen/settings.json", &folder),
        ["/h: u", "/h/u: .qwen", "/h/u/dots: qwen", "/h/u/dots/qwen: settings.json"]
    );
}

#[test]
fn a_configuration_map_is_watched_at_its_data_link_and_in_its_newest_folder() {
    let mounted = ["/m/settings.json -> ..data/settings.json", "/m/..data -> ..t1", "/m/..t1/settings.json"];
    assert_eq!(
        watched("/m/settings.json", &mounted),
        ["/: m", "/m: ..data ..t1 settings.json", "/m/..t1: settings.json"]
    );
}

#[test]
fn a_link_that_leads_nowhere_is_watched_where_its_target_would_appear() {
    assert_eq!(watched("/a/s.json", &["/a/s.json -> /b/c/s.json", "/b/"]), ["/: a b", "/a: s.json", "/b: c"]);
}

#[test]
fn a_ring_of_links_ends() {
    assert_eq!(
        watched("/a/s.json", &["/a/s.json -> t.json", "/a/t.json -> s.json"]),
        ["/: a", "/a: s.json t.json"]
    );
}

#[test]
fn an_event_concerns_a_file_by_its_exact_name_before_the_file_system_is_asked() {
    let interest = Interest::of(
        [Path::new("/h/u/.qwen/settings.json"), Path::new("/p/.mcp.json")],
        &Disk::of(&["/h/u/.qwen/settings.json", "/p/"]),
    );
    for (path, concerned) in [
        ("/h/u/.qwen/settings.json", true),
        ("/h/u/.qwen", true),
        ("/h/u", true),
        ("/p/.mcp.json", true),
        ("/h/u/.qwen/settings.json.tmp", false),
        ("/h/u/.qwen/settings.json.orig", false),
        ("/h/u/.qwen/settings.json~", false),
        ("/h/u/.qwen/4913", false),
        ("/h/u/.qwen/other-file.json", false),
        ("/h/u/Documents", false),
        ("/h/u/.bashrc", false),
        ("/p/src", false),
    ] {
        assert_eq!(interest.concerns(Path::new(path), &NobodyAsks), concerned, "{path}");
    }
}

#[test]
fn a_name_in_other_letter_case_or_with_other_accents_counts_only_where_the_volume_says_so() {
    let interest = Interest::of(
        [Path::new("/u/proj/.qwen/settings.json"), Path::new("/u/proj/caf\u{e9}.json")],
        &Disk::of(&["/u/proj/.qwen/settings.json", "/u/proj/caf\u{e9}.json"]),
    );
    for path in ["/u/PROJ/.qwen/settings.json", "/u/proj/.qwen/Settings.JSON", "/u/proj/cafe\u{301}.json"] {
        assert!(interest.concerns(Path::new(path), &Insensitive), "{path}");
        assert!(!interest.concerns(Path::new(path), &BySpelling), "{path}");
    }
    assert!(!interest.concerns(Path::new("/u/proj/.qwen/sittings.json"), &NobodyAsks));
}

#[test]
fn while_watches_move_events_of_either_place_count() {
    let one = Interest::of([Path::new("/a/s.json")], &Disk::of(&["/a/"]));
    let other = Interest::of([Path::new("/b/s.json")], &Disk::of(&["/b/"]));
    let both = one.or(&other);
    assert!(both.concerns(Path::new("/a/s.json"), &NobodyAsks));
    assert!(both.concerns(Path::new("/b/s.json"), &NobodyAsks));
}
