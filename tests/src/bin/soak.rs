//! Runs the soak for as long as is asked: `soak [--seed N] [--seconds S]`.

use std::{process::ExitCode, time::Duration};

fn main() -> ExitCode {
    let (mut seed, mut seconds) = (1, 60);
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let value = args.next().and_then(|text| text.parse::<u64>().ok());
        match (flag.as_str(), value) {
            ("--seed", Some(number)) => seed = number,
            ("--seconds", Some(number)) => seconds = number,
            _ => {
                eprintln!("usage: soak [--seed N] [--seconds S]");
                return ExitCode::from(2);
            }
        }
    }
    println!("seed {seed}, {seconds} s");
    println!("{:?}", qwen_tests::soak(seed, Duration::from_secs(seconds)));
    ExitCode::SUCCESS
}
