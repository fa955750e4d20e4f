//! What runs on this machine that belongs to one sandbox, read from `/proc`. It knows no names of servers.

use std::{fs, path::Path};

/// One process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its parent.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// One letter as in `ps`: `Z` for one that ended and was not waited for.
    pub state: char,
    /// Its command line, joined with blanks.
    pub command: String,
}

/// What one process holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usage {
    /// Open descriptors.
    pub descriptors: usize,
    /// Threads.
    pub threads: usize,
    /// Resident memory in KiB.
    pub resident_kib: u64,
    /// Processor time spent so far, user and system, in milliseconds.
    pub cpu_ms: u64,
}

/// Linux shows processor time in hundredths of a second, whatever its own clock.
const MS_PER_TICK: u64 = 10;

/// Every process that carries the marker, which is the sandbox's path: in its environment, its command line or its
/// working folder. A zombie carries nothing; ask for its parent's children instead.
#[must_use]
pub fn marked(marker: &Path) -> Vec<Process> {
    let marker = marker.to_string_lossy().into_owned();
    let holds = |file: &str, pid: u32| {
        fs::read(format!("/proc/{pid}/{file}"))
            .is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(&marker))
    };
    all()
        .filter(|process| {
            holds("environ", process.pid)
                || holds("cmdline", process.pid)
                || fs::read_link(format!("/proc/{}/cwd", process.pid))
                    .is_ok_and(|cwd| cwd.to_string_lossy().contains(&marker))
        })
        .filter(|process| process.pid != std::process::id())
        .collect()
}

/// The direct children of a process, zombies included.
#[must_use]
pub fn children_of(pid: u32) -> Vec<Process> {
    all().filter(|process| process.parent == pid).collect()
}

/// Whether the process exists and has not ended.
#[must_use]
pub fn alive(pid: u32) -> bool {
    read(pid).is_some_and(|process| process.state != 'Z')
}

/// What a process holds now, unless it has gone.
#[must_use]
pub fn usage(pid: u32) -> Option<Usage> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| -> Option<u64> {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Usage {
        descriptors: fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count(),
        threads: field("Threads:")?.try_into().ok()?,
        resident_kib: field("VmRSS:")?,
        cpu_ms: ticks * MS_PER_TICK,
    })
}

fn all() -> impl Iterator<Item = Process> {
    fs::read_dir("/proc")
        .expect("/proc can be listed")
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(read)
}

fn read(pid: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let command = String::from_utf8_lossy(&command).replace('\0', " ").trim_end().to_owned();
    Some(Process { pid, parent, group, state, command })
}
