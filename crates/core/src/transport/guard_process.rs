//! What does the guard process itself do? Owns its whole life: set itself apart, read starts and groups, kill what is
//! left of them at the end of input. It must stay tiny: it knows no runtime, no server and no setting.

use std::{
    collections::{HashMap, HashSet},
    ffi::OsString,
    fs,
    io::{self, BufRead},
};

use rustix::process::Pid;

use super::guard::kill_group;

/// The one argument that makes the executable the guard.
pub(super) const GUARD_WORD: &str = "__guard";

/// Becomes the guard process, and never returns, when the first argument asks for it. Call it first thing in `main`,
/// before any thread or runtime exists, with `std::env::args_os()`.
///
/// ```
/// qwen_core::run_guard_if_asked(["qwen".into(), "mcp".into()]);
/// // Not asked: the program goes on.
/// ```
pub fn run_guard_if_asked(args: impl IntoIterator<Item = OsString>) {
    if args.into_iter().nth(1).is_some_and(|word| word == GUARD_WORD) {
        set_apart();
        let left = LeftOver::after(io::stdin().lock());
        left.groups.iter().copied().for_each(kill_group);
        readers_of(left.starts.values()).into_iter().for_each(kill_group);
        std::process::exit(0);
    }
}

/// Leaves for a session of its own, ignores what a careless `pkill` sends, and holds nothing but its three streams: what
/// others left open to us is not kept open by it.
///
/// It was started as the leader of a group, so that nothing sent to ours reached it meanwhile, and a leader may not
/// begin a session: so it goes back for a moment. Where that is refused, or its owner has just ended, it stays the leader
/// of its own group, which no terminal reaches either.
#[expect(unsafe_code, reason = "no safe call does this: a group may be 0, and nobody owns the descriptors")]
fn set_apart() {
    // SAFETY: system calls on numbers only. `SIG_IGN` runs no code of ours, no other thread exists, and nothing in this
    // process has opened a descriptor beyond the three streams.
    unsafe {
        // That of an owner outside of this container is 0 here.
        let group = libc::getpgid(libc::getppid());
        if group > 0 {
            libc::setpgid(0, group);
        }
        libc::setsid();
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGPIPE] {
            libc::signal(signal, libc::SIG_IGN);
        }
        // By number: not every C library has the call by name.
        #[cfg(target_os = "linux")]
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0);
    }
}

/// What was announced and not taken back.
#[derive(Default)]
struct LeftOver {
    groups: HashSet<Pid>,
    /// The number of a start, and that of the pipe which is its standard input.
    starts: HashMap<u64, u64>,
}

impl LeftOver {
    /// Reads to the end.
    ///
    /// - `?START PIPE`: a process is about to be started, with this pipe as its standard input.
    /// - `+PGID`: the group lives.
    /// - `!START`: it is known what came of that start: the group said before, or nothing.
    /// - `-PGID`: nothing is left of the group.
    fn after(mut input: impl BufRead) -> Self {
        let mut left = Self::default();
        let mut line = Vec::new();
        loop {
            line.clear();
            match input.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return left,
                Ok(_) => left.apply(&line),
            }
        }
    }

    fn apply(&mut self, line: &[u8]) {
        // Half a line is what was cut off by our end: better ignored than taken for another number.
        let Some(line) = line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok()) else {
            return;
        };
        let Some((kind, rest)) = line.split_at_checked(1) else { return };
        match kind {
            "?" => {
                let numbers = rest.split_once(' ').map(|(start, pipe)| (start.parse(), pipe.parse()));
                if let Some((Ok(start), Ok(pipe))) = numbers {
                    self.starts.insert(start, pipe);
                }
            }
            "+" => self.groups.extend(pid(rest)),
            "!" => drop(rest.parse().map(|start: u64| self.starts.remove(&start))),
            "-" => drop(pid(rest).map(|group| self.groups.remove(&group))),
            _ => {}
        }
    }
}

/// The processes whose standard input is one of these pipes. A child holds our end of the guard's line until it has
/// become the server, so that at the end of the line whatever was being started has its group and its input.
#[expect(
    clippy::disallowed_methods,
    reason = "the kernel tells what a process reads in its folder and nowhere else"
)]
fn readers_of<'a>(pipes: impl Iterator<Item = &'a u64>) -> Vec<Pid> {
    let inputs: HashSet<OsString> = pipes.map(|pipe| format!("pipe:[{pipe}]").into()).collect();
    if inputs.is_empty() {
        return Vec::new();
    }
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let reads = |process: &Pid| {
        let input = fs::read_link(format!("/proc/{}/fd/0", process.as_raw_nonzero()));
        input.is_ok_and(|input| inputs.contains(input.as_os_str()))
    };
    processes.filter_map(|entry| pid(entry.file_name().to_str()?)).filter(reads).collect()
}

/// 0 and 1 would be our own group and everybody.
fn pid(digits: &str) -> Option<Pid> {
    digits.parse::<i32>().ok().filter(|number| *number > 1).and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_announced_and_not_taken_back_is_left_over() {
        let cases: [(&str, &[i32], &[u64]); 11] = [
            ("", &[], &[]),
            ("?1 70\n", &[], &[70]),
            ("?1 70\n+10\n!1\n", &[10], &[]),
            ("?1 70\n?2 71\n!2\n", &[], &[70]),
            ("+10\n+11\n-10\n", &[11], &[]),
            ("+10\n+10\n-10\n", &[], &[]),
            ("+1\n+0\n+-5\nx\n\n+\n+9999999999\n?1\n?x 1\n?1 x\n\u{e4}\n", &[], &[]),
            ("+10\n+11", &[10], &[]),
            ("?1 70\n?2 71", &[], &[70]),
            ("-10\n+10\n", &[10], &[]),
            ("+10\n!2\n!x\n", &[10], &[]),
        ];
        for (input, groups, pipes) in cases {
            let left = LeftOver::after(input.as_bytes());
            let mut found: Vec<i32> = left.groups.iter().map(|pid| pid.as_raw_nonzero().get()).collect();
            found.sort_unstable();
            assert_eq!(found, groups, "{input:?}");
            assert_eq!(left.starts.into_values().collect::<Vec<_>>(), pipes, "{input:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_process_of_a_start_is_found_by_its_input() {
        use std::os::unix::process::CommandExt;

        let (reader, writer) = io::pipe().unwrap();
        let pipe = rustix::fs::fstat(&writer).unwrap().st_ino;
        assert_eq!(readers_of([pipe].iter()), []);
        let mut child = std::process::Command::new("cat").stdin(reader).process_group(0).spawn().unwrap();
        let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
        assert_eq!(readers_of([pipe, 1].iter()), [pid]);
        kill_group(pid);
        child.wait().unwrap();
    }
}
