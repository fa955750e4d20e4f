//! Does the interactive session hold on a real terminal? The whole program on a pseudo-terminal, looked at as a terminal
//! shows it, and once inside tmux.

#![expect(
    clippy::expect_used,
    reason = "a harness fails its test by panicking, with the reason in the message"
)]

mod fallback;
mod glass;
mod measured;
mod playground;
mod questions;
mod tmux;
