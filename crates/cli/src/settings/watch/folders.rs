//! Which folders must be watched so that every change of a file is seen, and does an event concern one of them?
//! Pure: the file system is asked through two small traits. It must not know what a watcher is, nor what a file says.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ffi::{OsStr, OsString},
    path::{Component, Path, PathBuf},
};

/// What stands at a path, links not followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Node {
    /// Nothing, or nothing that may be looked at.
    Missing,
    /// A link that leads to this path, as written in the link.
    Link(PathBuf),
    /// A folder.
    Folder,
    /// Anything else.
    File,
}

/// One look at one path.
pub(super) trait Look {
    /// What stands there, links not followed.
    fn look(&self, path: &Path) -> Node;
}

/// Tells whether two spellings are one file.
pub(super) trait Identity {
    /// Whether both lead to the same file, or both to none.
    fn same(&self, one: &Path, other: &Path) -> bool;
}

/// What must be watched: folders, and in each the names that matter. Folders are in canonical form.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Interest {
    names: BTreeMap<PathBuf, BTreeSet<OsString>>,
    /// Those that hold a file, a link or the place of a missing one; the others are only their parents.
    holders: BTreeSet<PathBuf>,
}

/// As many as Linux follows before it says ELOOP.
const MAX_LINKS: usize = 40;

impl Interest {
    /// Adds what one file needs. Every link on the way counts, of folders and of the file: the folder that holds it
    /// with its name. So does the folder that holds the file, or its nearest existing ancestor with the name that is
    /// missing there. Each of these folders is a name in its parent, since a folder that is still in use by
    /// somebody does not report its own removal.
    pub(super) fn add(&mut self, file: &Path, disk: &dyn Look) {
        let mut here = PathBuf::new();
        let mut rest: VecDeque<OsString> = VecDeque::new();
        push_front(&mut rest, file, &mut here);
        let mut links = 0;
        while let Some(name) = rest.pop_front() {
            if name == ".." {
                // `here` holds no link, so its parent is what the system takes as `..`.
                here.pop();
                continue;
            }
            let path = here.join(&name);
            let node = disk.look(&path);
            match node {
                Node::Folder if !rest.is_empty() => here = path,
                Node::Link(target) => {
                    self.name(&here, name);
                    links += 1;
                    if links > MAX_LINKS {
                        return;
                    }
                    push_front(&mut rest, &target, &mut here);
                }
                Node::Missing | Node::Folder | Node::File => {
                    self.name(&here, name);
                    return;
                }
            }
        }
    }

    /// The same for many files.
    pub(super) fn of<'a>(files: impl IntoIterator<Item = &'a Path>, disk: &dyn Look) -> Self {
        let mut interest = Self::default();
        for file in files {
            interest.add(file, disk);
        }
        interest
    }

    /// Every folder to watch.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.names.keys().map(PathBuf::as_path)
    }

    /// Whether this is a folder to watch.
    pub(super) fn is_watched(&self, path: &Path) -> bool {
        self.names.contains_key(path)
    }

    /// Whether changes go unseen without this folder. Its parent is watched only to see it replaced.
    pub(super) fn is_needed(&self, folder: &Path) -> bool {
        self.holders.contains(folder)
    }

    /// Both together; while watches move from one to the other, events of either count.
    pub(super) fn or(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.holders.extend(other.holders.iter().cloned());
        for (folder, names) in &other.names {
            both.names.entry(folder.clone()).or_default().extend(names.iter().cloned());
        }
        both
    }

    /// Whether an event at `path` may change what one of the files says. The spelling of the path decides first;
    /// the file system is asked only where the name fits but for letter case or the form of its accents.
    pub(super) fn concerns(&self, path: &Path, identity: &dyn Identity) -> bool {
        if self.is_watched(path) {
            return true;
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
        if self.names.get(folder).is_some_and(|names| names.contains(name)) {
            return true;
        }
        self.names.iter().any(|(folder, names)| {
            names
                .iter()
                .any(|wanted| may_be_one_name(wanted, name) && identity.same(&folder.join(wanted), path))
        })
    }

    fn name(&mut self, folder: &Path, name: OsString) {
        self.names.entry(folder.to_path_buf()).or_default().insert(name);
        self.holders.insert(folder.to_path_buf());
        if let (Some(parent), Some(own)) = (folder.parent(), folder.file_name()) {
            self.names.entry(parent.to_path_buf()).or_default().insert(own.to_os_string());
        }
    }
}

/// Puts the parts of `path` before those that are still to be walked. An absolute path starts again at its root.
fn push_front(rest: &mut VecDeque<OsString>, path: &Path, here: &mut PathBuf) {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Prefix(_) | Component::RootDir => {
                if parts.is_empty() && part == Component::RootDir && here.has_root() {
                    here.clear();
                }
                here.push(part);
            }
            Component::CurDir => {}
            Component::ParentDir => parts.push(OsString::from("..")),
            Component::Normal(name) => parts.push(name.to_os_string()),
        }
    }
    for part in parts.into_iter().rev() {
        rest.push_front(part);
    }
}

/// Whether some file systems take both as one name: letter case, and composed or decomposed accents.
fn may_be_one_name(one: &OsStr, other: &OsStr) -> bool {
    if one == other || one.eq_ignore_ascii_case(other) {
        return true;
    }
    match (one.is_ascii(), other.is_ascii()) {
        // Which accents are one is the file system's business; it is asked.
        (false, false) => true,
        (true, true) | (true, false) | (false, true) => false,
    }
}

#[cfg(test)]
mod tests;
