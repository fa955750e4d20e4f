//! How do bytes travel to and from a server, and how is its process started and ended? Owns processes, pipes, HTTP and
//! the guard; knows no list, no call and no reason why a connection is wanted.

#[cfg(unix)]
pub(crate) mod chatter;
mod env;
#[cfg(unix)]
mod guard;
#[cfg(unix)]
mod guard_process;
#[cfg(unix)]
pub(crate) mod http;
#[cfg(unix)]
pub(crate) mod launch;
#[cfg(unix)]
pub(crate) mod mend;
#[cfg(unix)]
pub(crate) mod outbox;
#[cfg(unix)]
pub(crate) mod process;
#[cfg(unix)]
pub(crate) mod remote;
#[cfg(unix)]
mod reopen;
#[cfg(unix)]
pub(crate) mod spawn;
#[cfg(unix)]
pub(crate) mod stderr;
#[cfg(unix)]
pub(crate) mod stdio;
#[cfg(unix)]
pub(crate) mod undelivered;

#[cfg(unix)]
pub use guard::Guard;
#[cfg(unix)]
pub use guard_process::run_guard_if_asked;
#[cfg(unix)]
pub(crate) use http::{use_our_cryptography, wrong_mark};
#[cfg(unix)]
pub(crate) use reopen::Reopen;
