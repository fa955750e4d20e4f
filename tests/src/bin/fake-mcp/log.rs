//! The record of one life: one JSON object per line, appended in one write, so that many servers share one file.

use std::{fs::File, io::Write as _, path::Path};

use serde_json::{Value, json};

/// An open record, or none.
pub(crate) struct Log {
    file: Option<File>,
    name: String,
}

impl Log {
    /// Opens the file for appending. A record that cannot be opened ends the server: a test would count wrongly.
    pub(crate) fn open(path: Option<&Path>, name: &str) -> std::io::Result<Self> {
        let file = match path {
            Some(path) => Some(File::options().append(true).create(true).open(path)?),
            None => None,
        };
        Ok(Self { file, name: name.to_owned() })
    }

    /// Writes one line with the server's name and process id. What it holds is asked for only when somebody records.
    pub(crate) fn write(&self, event: &str, fields: impl FnOnce() -> Value) {
        let Some(mut file) = self.file.as_ref() else { return };
        let mut fields = fields();
        fields["event"] = json!(event);
        fields["name"] = json!(self.name);
        fields["pid"] = json!(std::process::id());
        if let Err(problem) = file.write_all(format!("{fields}\n").as_bytes()) {
            eprintln!("fake-mcp: log: {problem}");
        }
    }
}
