use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::{super::set_entry, *};

fn add(path: &Path, name: &str) -> Result<(), FileError> {
    change_file(path, NewFile::Private, |text| {
        Ok((set_entry(text, &["mcpServers", name], &json!({ "command": name }))?, ()))
    })
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_new_file_is_made_with_its_folder_and_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".qwen").join("settings.json");
    add(&path, "a").unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(names(path.parent().unwrap()), ["settings.json"]);
}

#[test]
fn mode_and_link_stay_and_the_file_behind_the_link_is_edited() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real.json"), folder.path().join("settings.json"));
    fs::write(&real, "{}").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("real.json", &link).unwrap();
    add(&link, "a").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("\"a\""));
    assert_eq!(mode(&real), 0o640);
    assert_eq!(names(folder.path()), ["real.json", "settings.json"]);
}

#[test]
fn a_link_into_nowhere_leads_to_the_file_that_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("settings.json");
    std::os::unix::fs::symlink("later.json", &link).unwrap();
    add(&link, "a").unwrap();
    assert!(folder.path().join("later.json").is_file());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn a_file_that_does_not_parse_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    for broken in [&b"{ \"a\": "[..], b"[]", b"\xff\xfe{\0", b"{ \"\xff\": 1 }"] {
        fs::write(&path, broken).unwrap();
        add(&path, "a").unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), broken);
    }
    assert_eq!(names(folder.path()), ["settings.json"]);
}

#[test]
fn a_text_that_stays_the_same_is_not_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    add(&path, "a").unwrap();
    let before = fs::metadata(&path).unwrap();
    add(&path, "a").unwrap();
    use std::os::unix::fs::MetadataExt as _;
    assert_eq!(fs::metadata(&path).unwrap().ino(), before.ino());
}

#[test]
fn what_a_killed_write_left_goes_with_the_next_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    fs::write(folder.path().join(".settings.json.abc123.edit"), "{").unwrap();
    fs::write(folder.path().join("settings.json.lock"), "").unwrap();
    add(&path, "a").unwrap();
    assert_eq!(names(folder.path()), ["settings.json"]);
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    thread::scope(|scope| {
        for writer in 0..4 {
            let path = &path;
            scope.spawn(move || (0..25).for_each(|n| add(path, &format!("{writer}-{n}")).unwrap()));
        }
    });
    let root: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(root["mcpServers"].as_object().unwrap().len(), 100);
    assert_eq!(names(folder.path()), ["settings.json"]);
}

#[test]
fn a_lock_file_that_its_holder_removed_meanwhile_locks_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, lock) = (folder.path().join("s.json"), folder.path().join("s.json.lock"));
    let held = Lock::acquire(&path, &path).unwrap();
    let waiting = open(&lock).unwrap();
    assert!(is_still(&waiting, &lock));
    drop(held);
    assert!(!is_still(&waiting, &lock), "the file is gone");
    let next = Lock::acquire(&path, &path).unwrap();
    waiting.try_lock().unwrap();
    assert!(!is_still(&waiting, &lock), "the name means another file, which another process holds");
    drop(next);
}
