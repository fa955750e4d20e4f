//! Does the interactive session hold on a real terminal? The whole program on a pseudo-terminal, looked at as a terminal
//! shows it, and once inside tmux.

mod fallback;
mod glass;
mod measured;
mod playground;
mod questions;
mod tmux;
