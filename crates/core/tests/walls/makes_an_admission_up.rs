//! Its fields are private, so nobody can write one down.

use std::sync::Arc;

use qwen_core::{Admitted, ServerName, ServerSpec};

fn make_up(name: ServerName, spec: Arc<ServerSpec>) -> Admitted {
    Admitted { name, spec }
}

fn main() {}
