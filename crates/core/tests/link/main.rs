//! Connections to real processes, from the spawn to the last process of the group.
//!
//! The servers are this same test executable, started again: see `server`.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]
#![expect(
    clippy::disallowed_methods,
    reason = "what becomes of processes is seen in /proc and in files they write"
)]

mod asking_back;
mod calls;
mod guarded;
mod harness;
mod opening;
mod processes;
mod questions;
mod server;
mod sharing;

/// The way in for a guard process that a test started from this executable; nothing in an ordinary run.
#[test]
fn __guard() {
    qwen_core::run_guard_if_asked(std::env::args_os());
}

/// The way in for a server that a test started from this executable; nothing in an ordinary run.
#[test]
fn scripted_server() {
    server::run_if_asked();
}

/// The way in for a program that a test started to be killed; nothing in an ordinary run.
#[test]
fn scripted_host() {
    guarded::host_if_asked();
}
