//! How do bytes travel to and from a server, and how is its process started and ended? Owns processes, pipes and the
//! guard; knows no list, no call and no reason why a connection is wanted.

mod env;
mod guard;
mod guard_process;
pub(crate) mod launch;
pub(crate) mod mend;
pub(crate) mod outbox;
pub(crate) mod process;
pub(crate) mod spawn;
pub(crate) mod stderr;
pub(crate) mod stdio;

pub use guard::Guard;
pub use guard_process::run_guard_if_asked;
