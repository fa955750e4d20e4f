//! How is a child process started? Owns the one place with `unsafe`: what must happen between `fork` and `exec`. Knows
//! no protocol, and nothing of what happens after the start.
#![expect(
    unsafe_code,
    reason = "between fork and exec only raw system calls are allowed, and only pre_exec runs there"
)]

use std::{
    io::{self, Write},
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
};

use rustix::process::{Pid, getpid, setsid};

use super::guard::Guard;

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

/// Starts a server in a process group of its own, with its three streams piped. The guard knows the group before the
/// server's first instruction. Blocks for the time of a `fork`; must be called inside a runtime.
///
/// # Errors
/// What the operating system says, or that the guard cannot be reached: an unguarded server is never started.
pub(crate) fn spawn_server(launch: &Launch, guard: &Guard) -> io::Result<tokio::process::Child> {
    let line = guard.line();
    match try_spawn(launch, line.clone()) {
        Err(error)
            if error.kind() == io::ErrorKind::BrokenPipe || error.kind() == io::ErrorKind::WouldBlock =>
        {
            guard.revive(line.as_ref())?;
            try_spawn(launch, guard.line())
        }
        spawned => spawned,
    }
}

fn try_spawn(launch: &Launch, line: Option<Arc<UnixStream>>) -> io::Result<tokio::process::Child> {
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
    let announce = move || match &line {
        Some(line) => announce(line),
        None => Ok(()),
    };
    // SAFETY: the closure runs in the forked child, where only async-signal-safe calls are allowed. It formats a number
    // on the stack and makes the two system calls getpid and send; it takes no lock and allocates nothing. The standard
    // library has put the child in its own group by then and reset SIGPIPE and the signal mask.
    unsafe {
        command.pre_exec(announce);
    }
    command.spawn()
}

/// Tells the guard which group this freshly forked child leads.
fn announce(mut line: &UnixStream) -> io::Result<()> {
    let (text, start) = announcement(getpid());
    // A write to a socket of the standard library never raises SIGPIPE; a dead guard is an error that fails the spawn.
    match text.get(start..) {
        Some(text) => line.write_all(text),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// `+PID\n` at the end of a buffer on the stack, and where it starts.
fn announcement(pid: Pid) -> ([u8; 16], usize) {
    let mut text = [b'\n'; 16];
    let mut at = text.len() - 1;
    let mut rest = pid.as_raw_nonzero().get().unsigned_abs();
    let mut put = |byte: u8| {
        at -= 1;
        if let Some(slot) = text.get_mut(at) {
            *slot = byte;
        }
    };
    while rest > 0 {
        // A remainder of ten fits into a byte.
        put(b'0' + u8::try_from(rest % 10).unwrap_or(0));
        rest /= 10;
    }
    put(b'+');
    (text, at)
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
    use super::*;

    #[test]
    fn a_group_is_announced_as_one_line() {
        for (pid, expected) in [(2, "+2\n"), (1234, "+1234\n"), (i32::MAX, "+2147483647\n")] {
            let (text, start) = announcement(Pid::from_raw(pid).unwrap());
            assert_eq!(std::str::from_utf8(&text[start..]).unwrap(), expected);
        }
    }
}
