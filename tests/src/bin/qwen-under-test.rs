//! The program under test: the same entry point as the `qwen` binary, built beside the tests that run it. A test that
//! names a socket in `QWEN_TEST_END` can have one of its threads end it as no user could ask for.
use std::{ffi::OsStr, io::Read as _, os::unix::net::UnixStream, process::ExitCode};

fn main() -> ExitCode {
    qwen_core::run_guard_if_asked(std::env::args_os());
    if let Some(place) = std::env::var_os("QWEN_TEST_END") {
        std::thread::spawn(move || end_as_told(&place));
    }
    qwen_cli::main()
}

/// Waits for one word and ends the whole program from this thread, of which the program knows nothing.
fn end_as_told(place: &OsStr) {
    let mut word = String::new();
    let told = UnixStream::connect(place).and_then(|mut stream| stream.read_to_string(&mut word));
    match word.as_str() {
        "panic" => panic!("the test asked for it"),
        "abort" => std::process::abort(),
        other => eprintln!("asked to end by {other:?}, {told:?}"),
    }
}
