//! The harness of the whole-program tests: a sandbox with its own home and project, the program running in it, and the
//! processes it leaves. It owns how tests wait and clean up; it must not know why anything is right.
#![expect(
    clippy::expect_used,
    reason = "a harness fails its test by panicking, with the reason in the message"
)]

mod bench;
mod control;
mod core;
mod processes;
mod remote;
mod sandbox;
mod save;
mod soak;
mod terminal;
mod wait;
mod watch;

pub use self::core::{commit_wires, connected, core_session, remote, state_of, until};
pub use bench::{Figure, Peer, Plan as BenchPlan, Report, Unit, bench};
pub use control::{command, command_unanswered};
pub use processes::{Process, Usage, alive, children_of, marked, usage};
pub use remote::Remote;
pub use sandbox::{Ran, Sandbox, program};
pub use save::{Save, replace};
pub use soak::{Soaked, soak};
pub use terminal::Terminal;
pub use wait::{BOUND, pause, stated, wait_until};
pub use watch::{Mark, Watch};
