//! Orders to a running `fake-mcp --control PREFIX`. It knows the socket and the answer `done`, not what an order does.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixStream,
    path::Path,
};

use crate::wait::{BOUND, wait_until};

/// Has the server with this process id take an action, and waits until it has.
///
/// # Panics
/// When it does not answer `done`.
pub fn command(prefix: &Path, pid: u32, action: &str) {
    let stream = command_unanswered(prefix, pid, action);
    stream.set_read_timeout(Some(BOUND)).expect("a socket has time-outs");
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).expect("the server answers");
    assert_eq!(answer.trim_end(), "done", "{action}");
}

/// The same for an action that the server may not outlive.
///
/// # Panics
/// When nobody listens.
pub fn command_unanswered(prefix: &Path, pid: u32, action: &str) -> UnixStream {
    let mut path = prefix.as_os_str().to_owned();
    path.push(format!(".{pid}"));
    let mut stream = wait_until(BOUND, "the control socket", || UnixStream::connect(&path).ok());
    stream.write_all(format!("{action}\n").as_bytes()).expect("the order can be sent");
    stream
}

/// The same where the server may have gone; says whether somebody took the order.
pub(crate) fn try_command(prefix: &Path, pid: u32, action: &str) -> bool {
    let mut path = prefix.as_os_str().to_owned();
    path.push(format!(".{pid}"));
    UnixStream::connect(path)
        .is_ok_and(|mut stream| stream.write_all(format!("{action}\n").as_bytes()).is_ok())
}
