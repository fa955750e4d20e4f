//! How is a child process started? Owns the start of servers and of the guard process; knows no protocol, and nothing of
//! what happens after the start.

use std::{
    io::{self, PipeReader, PipeWriter},
    os::{fd::OwnedFd, unix::process::CommandExt},
    path::{Path, PathBuf},
    process::Stdio,
};

use rustix::process::Pid;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::guard::{Guard, PipeId};

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
    pub(super) child: Child,
    pub(super) pid: Pid,
    /// Registered with the guard until somebody removes it.
    pub(super) guard: Guard,
}

/// Our ends of its pipes.
pub(crate) struct Pipes {
    pub(crate) input: ChildStdin,
    pub(crate) output: ChildStdout,
    pub(crate) errors: ChildStderr,
}

/// Starts a server in a process group of its own, with its three streams piped. The guard knows of the start before
/// there is a process, and by the pipe of its standard input how to find that. Blocks for the time of a start; must be
/// called inside a runtime.
///
/// Nothing of ours runs between fork and exec, so that the standard library can start the process without a copy of
/// this one: a copy costs time with all the memory that we hold, and again with each page that we touch afterwards.
///
/// # Errors
/// What the operating system says, or that the guard cannot be reached: an unguarded server is never started.
pub(crate) fn spawn_server(launch: &Launch, guard: &Guard) -> io::Result<(Spawned, Pipes)> {
    let (reader, writer) = io::pipe()?;
    let start = guard.begin(PipeId::of(&writer)?)?;
    match spawn(launch, reader, writer) {
        Ok((child, pid, pipes)) => {
            guard.started(start, pid);
            Ok((Spawned { child, pid, guard: guard.clone() }, pipes))
        }
        Err(error) => {
            guard.failed(start);
            Err(error)
        }
    }
}

fn spawn(launch: &Launch, reader: PipeReader, writer: PipeWriter) -> io::Result<(Child, Pid, Pipes)> {
    let input = ChildStdin::from_std(OwnedFd::from(writer).into())?;
    let mut child = Command::new(&launch.program)
        .args(&launch.args)
        .env_clear()
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&launch.cwd)
        .process_group(0)
        .stdin(reader)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    match (pid, child.stdout.take(), child.stderr.take()) {
        (Some(pid), Some(output), Some(errors)) => Ok((child, pid, Pipes { input, output, errors })),
        _ => Err(io::Error::other("the process started without its id or its pipes")),
    }
}

/// Starts the guard process, in a group of its own from its first moment on; the rest of what sets it apart it does
/// itself ([`run_guard_if_asked`](crate::run_guard_if_asked)). Like a server it starts without a copy of this process.
///
/// # Errors
/// What the operating system says.
pub(super) fn spawn_guard(exe: &Path, word: &str, input: OwnedFd) -> io::Result<std::process::Child> {
    std::process::Command::new(exe)
        .arg0("qwen-guard")
        .arg(word)
        .env_clear()
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::from(input))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
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
    async fn the_guard_hears_of_a_start_before_there_is_a_process_and_then_what_came_of_it() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let guard = Guard::on_line(ours);
        let mut lines = io::BufReader::new(theirs).lines().map(Result::unwrap);
        let (mut spawned, pipes) = spawn_server(&launch("/bin/sh"), &guard).unwrap();
        let pid = spawned.pid.as_raw_nonzero();
        let pipe = rustix::fs::fstat(&pipes.input).unwrap().st_ino;
        assert_eq!(lines.next().unwrap(), format!("?1 {pipe}"));
        assert_eq!(lines.next().unwrap(), format!("+{pid}"));
        assert_eq!(lines.next().unwrap(), "!1");
        spawned.child.wait().await.unwrap();
        guard.remove(spawned.pid);
        assert_eq!(lines.next().unwrap(), format!("-{pid}"));

        assert!(spawn_server(&launch("/"), &guard).is_err());
        assert!(lines.next().unwrap().starts_with("?2 "));
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
}
