//! `qwen settings schema`: the JSON Schema of a settings file, made from the tables that the reader itself uses.

use crate::{exit::Exit, output};

/// Prints it.
pub(crate) fn run() -> Exit {
    output::print_json(&qwen_settings_schema::json_schema());
    Exit::Ok
}
