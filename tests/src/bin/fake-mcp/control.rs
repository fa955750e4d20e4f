//! Actions that arrive while the server runs: a socket `PREFIX.PID`, one action per line, answered `done`.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    sync::Arc,
};

use crate::script::{Action, Out};

/// Listens in a thread of its own.
pub(crate) fn listen(prefix: &Path, out: Arc<Out>) -> std::io::Result<()> {
    let mut path = prefix.as_os_str().to_owned();
    path.push(format!(".{}", std::process::id()));
    let listener = UnixListener::bind(path)?;
    std::thread::spawn(move || {
        for peer in listener.incoming().flatten() {
            serve(&peer, &out);
        }
    });
    Ok(())
}

fn serve(mut peer: &UnixStream, out: &Out) {
    for line in BufReader::new(peer).lines().map_while(Result::ok) {
        let answer = match Action::parse(&line) {
            Ok(action) => {
                action.perform(out);
                "done".to_owned()
            }
            Err(problem) => problem,
        };
        drop(peer.write_all(format!("{answer}\n").as_bytes()));
    }
}
