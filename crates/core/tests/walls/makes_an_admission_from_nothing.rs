//! It has neither a constructor nor a default.

use qwen_core::Admitted;

fn from_nothing() -> Admitted {
    Default::default()
}

fn main() {}
