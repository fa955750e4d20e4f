//! The `qwen` binary: hands over to the library at once.
fn main() -> std::process::ExitCode {
    qwen_cli::main()
}
