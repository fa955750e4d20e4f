//! The program under test: the same entry point as the `qwen` binary, built beside the tests that run it.
fn main() -> std::process::ExitCode {
    qwen_cli::main()
}
