//! Connections to servers behind a URL, from the first byte to the last.
//!
//! The server is a task of the test that answers byte by byte as its script says: see `server`.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod calls;
mod harness;
mod opening;
mod server;
mod sessions;
mod streams;
