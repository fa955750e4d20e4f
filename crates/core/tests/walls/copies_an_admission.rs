//! It is not `Clone`, so one verdict opens one connection.

use qwen_core::Admitted;

fn copy(admitted: &Admitted) -> Admitted {
    Admitted::clone(admitted)
}

fn main() {}
