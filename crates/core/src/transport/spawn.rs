//! How is a child process started? Owns the one place with `unsafe`: what must happen between `fork` and `exec`. Knows
//! no protocol, and nothing of what happens after the start.
#![expect(
    unsafe_code,
    reason = "between fork and exec only raw system calls are allowed, and only pre_exec runs there"
)]

use std::{
    io::{self, Write},
    os::{fd::OwnedFd, unix::process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, getpid, setsid};

use super::guard::{Guard, Line, Start};

/// Everything a server's process starts with.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// As found, not as written: the child must run what was looked up.
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<String>,
    /// The whole environment, later entries over earlier ones.
    pub(crate) env: Vec<(String, String)>,
    pub(crate) cwd: PathBuf,
}

/// A server's process that was just started.
pub(crate) struct Spawned {
    pub(crate) child: tokio::process::Child,
    pub(crate) pid: Pid,
    /// Registered with the guard until somebody removes it.
    pub(super) guard: Guard,
}

/// Starts a server in a process group of its own, with its three streams piped. The guard knows the group before the
/// server's first instruction. Blocks for the time of a `fork`; must be called inside a runtime.
///
/// # Errors
/// What the operating system says, or that the guard cannot be reached: an unguarded server is never started.
pub(crate) fn spawn_server(launch: &Launch, guard: &Guard) -> io::Result<Spawned> {
    let line = guard.line()?;
    match try_spawn(launch, guard, &line) {
        Err(error)
            if error.kind() == io::ErrorKind::BrokenPipe || error.kind() == io::ErrorKind::WouldBlock =>
        {
            guard.revive(&line)?;
            try_spawn(launch, guard, &guard.line()?)
        }
        spawned => spawned,
    }
}

fn try_spawn(launch: &Launch, guard: &Guard, line: &Line) -> io::Result<Spawned> {
    let mut command = tokio::process::Command::new(&launch.program);
    command
        .args(&launch.args)
        .env_clear()
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&launch.cwd)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let announced = line.clone();
    // SAFETY: the closure runs in the forked child, where only async-signal-safe calls are allowed. It formats numbers
    // on the stack and makes the two system calls getpid and send; it takes no lock and allocates nothing. The standard
    // library has put the child in its own group by then and reset SIGPIPE and the signal mask.
    unsafe {
        command.pre_exec(move || announce(&announced));
    }
    let child = command.spawn().inspect_err(|_| guard.failed(line.start))?;
    let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let pid = pid.ok_or_else(|| io::Error::other("the process has no id"))?;
    guard.add(pid, line.start);
    Ok(Spawned { child, pid, guard: guard.clone() })
}

/// Tells the guard which group this freshly forked child leads.
fn announce(line: &Line) -> io::Result<()> {
    let Some(stream) = &line.stream else { return Ok(()) };
    let text = announcement(getpid(), line.start);
    // A write to a socket of the standard library never raises SIGPIPE; a dead guard is an error that fails the spawn.
    (&**stream).write_all(text.as_bytes())
}

/// A short text on the stack, filled from its end.
struct Announcement {
    text: [u8; 40],
    begin: usize,
}

impl Announcement {
    fn put(&mut self, byte: u8) {
        self.begin = self.begin.saturating_sub(1);
        if let Some(slot) = self.text.get_mut(self.begin) {
            *slot = byte;
        }
    }

    fn put_number(&mut self, mut number: u64) {
        loop {
            // A remainder of ten fits into a byte.
            self.put(b'0' + u8::try_from(number % 10).unwrap_or(0));
            number /= 10;
            if number == 0 {
                return;
            }
        }
    }

    fn as_bytes(&self) -> &[u8] {
        self.text.get(self.begin..).unwrap_or_default()
    }
}

/// `+PGID START` and a line end, as the guard reads it.
fn announcement(pid: Pid, start: Start) -> Announcement {
    let mut text = Announcement { text: [0; 40], begin: 40 };
    text.put(b'\n');
    text.put_number(start.0);
    text.put(b' ');
    text.put_number(pid.as_raw_nonzero().get().unsigned_abs().into());
    text.put(b'+');
    text
}

/// Starts the guard process: in a session of its own, deaf to what a terminal or a careless `pkill` sends, holding
/// nothing of ours but its input.
///
/// # Errors
/// What the operating system says.
pub(super) fn spawn_guard(exe: &Path, word: &str, input: OwnedFd) -> io::Result<Child> {
    let mut command = Command::new(exe);
    command
        .arg0("qwen-guard")
        .arg(word)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(input))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // SAFETY: as above, the closure makes system calls only. `signal` to SIG_IGN is inherited over exec, which is the
    // point, and `close_range` only marks descriptors that others left open for closing on exec.
    unsafe {
        command.pre_exec(|| {
            setsid()?;
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGPIPE] {
                libc::signal(signal, libc::SIG_IGN);
            }
            #[cfg(target_os = "linux")]
            libc::close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC.cast_signed());
            Ok(())
        });
    }
    command.spawn()
}

#[cfg(test)]
mod tests {
    use std::{io::BufRead, os::unix::net::UnixStream};

    use super::*;

    fn launch(program: &str) -> Launch {
        Launch {
            program: program.into(),
            args: vec!["-c".to_owned(), "exit".to_owned()],
            env: Vec::new(),
            cwd: "/".into(),
        }
    }

    #[tokio::test]
    async fn the_guard_hears_of_a_group_from_the_child_itself_and_of_a_start_of_which_nothing_came() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let guard = Guard::on_line(ours);
        let mut lines = io::BufReader::new(theirs).lines().map(Result::unwrap);
        let mut spawned = spawn_server(&launch("/bin/sh"), &guard).unwrap();
        let pid = spawned.pid.as_raw_nonzero();
        // Once by the child, once by us.
        assert_eq!(lines.next().unwrap(), format!("+{pid} 1"));
        assert_eq!(lines.next().unwrap(), format!("+{pid} 1"));
        spawned.child.wait().await.unwrap();
        guard.remove(spawned.pid);
        assert_eq!(lines.next().unwrap(), format!("-{pid}"));

        assert!(spawn_server(&launch("/"), &guard).is_err());
        assert!(lines.next().unwrap().ends_with(" 2"));
        assert_eq!(lines.next().unwrap(), "!2");
        assert_eq!(guard.live_groups(), 0);
    }

    #[tokio::test]
    async fn nothing_is_started_without_a_guard_that_listens() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        let refused = spawn_server(&launch("/bin/sh"), &Guard::on_line(ours));
        assert_eq!(refused.err().unwrap().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_group_is_announced_as_one_line() {
        for (pid, start, expected) in [
            (2, 0, "+2 0\n"),
            (1234, 77, "+1234 77\n"),
            (i32::MAX, u64::MAX, "+2147483647 18446744073709551615\n"),
        ] {
            let text = announcement(Pid::from_raw(pid).unwrap(), Start(start));
            assert_eq!(std::str::from_utf8(text.as_bytes()).unwrap(), expected);
        }
    }
}
