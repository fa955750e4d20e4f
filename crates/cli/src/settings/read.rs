//! What does one file say right now? Opens it without blocking, bounds it, and turns its bytes into a [`SourceFile`],
//! by the failure table of the settings documentation. It decides nothing about servers.

pub(super) mod bytes;
pub(super) mod document;
mod dotenv;
mod findings;

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use qwen_approvals::{Corrupt, Records};
use qwen_settings_schema as schema;
use serde_json::{Map, Value};

use self::bytes::ReadError;
use super::{
    diagnostic::{Diagnostic, Severity},
    source::{Broken, Content, Origin, Positions, Presence, Snapshot, SourceFile, SourceId, SourceSpec},
    trust::FolderRules,
};

/// When a source is read: what a broken file falls back to depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Moment {
    /// Nothing good is known yet; what restricts fails closed.
    Start,
    /// The last good content stays while the file is broken.
    Reload,
}

/// Reads every source at start.
#[must_use]
pub fn load(specs: &[SourceSpec]) -> Snapshot {
    let sources =
        specs.iter().map(|spec| (spec.id, Arc::new(read_source(spec, None, Moment::Start)))).collect();
    Snapshot { sources }
}

/// Reads one source. `previous` is what was read before, whose good content a broken file falls back to. Never
/// writes, moves or repairs the file.
#[must_use]
pub fn read_source(spec: &SourceSpec, previous: Option<&SourceFile>, moment: Moment) -> SourceFile {
    let read = match &spec.origin {
        Origin::File(path) => bytes::read(path),
        Origin::Inline(text) => Ok(Some(text.clone().into_bytes())),
    };
    source_of(spec, &read, previous, moment)
}

/// What the bytes of a source mean. Apart from following links, and from knowing folders by their canonical form, it
/// touches no file.
fn source_of(
    spec: &SourceSpec,
    read: &Result<Option<Vec<u8>>, ReadError>,
    previous: Option<&SourceFile>,
    moment: Moment,
) -> SourceFile {
    let path = spec.path();
    let last_good = match moment {
        Moment::Start => None,
        Moment::Reload => previous.filter(|previous| previous.broken != Some(Broken::Empty)),
    };
    let said = match read {
        Ok(None) => Said::missing(spec.id, path),
        Ok(Some(bytes)) => match bytes::text(bytes) {
            Ok(text) => Said::of_text(spec.id, path, text, last_good),
            Err(error) => Said::unreadable(path, &error, bytes),
        },
        Err(error) => Said::unreadable(path, error, &[]),
    };
    let (root, positions, broken) = match (said.good, last_good) {
        (Some((root, positions)), _) => (Arc::new(Value::Object(root)), Arc::new(positions), None),
        (None, Some(last)) if keeps_last_good(spec.id) => {
            (Arc::clone(&last.root), Arc::clone(&last.positions), Some(Broken::KeptLastGood))
        }
        (None, _) => {
            (Arc::new(Value::Object(Map::new())), Arc::new(Positions::default()), Some(Broken::Empty))
        }
    };
    SourceFile {
        id: spec.id,
        path: path.map(Path::to_owned),
        resolved_path: path.and_then(resolved),
        presence: said.presence,
        content: content(spec.id, &root, broken, read),
        root,
        positions,
        broken,
        digest: digest(read),
        diagnostics: said.diagnostics,
    }
}

/// A record of decisions that cannot be read decides nothing, whatever it said before.
fn keeps_last_good(id: SourceId) -> bool {
    match id {
        SourceId::SystemDefaults
        | SourceId::User
        | SourceId::McpJson
        | SourceId::Workspace
        | SourceId::System
        | SourceId::Session(_)
        | SourceId::UserEnv => true,
        SourceId::Approvals | SourceId::TrustedFolders => false,
    }
}

/// Where links lead, where that is elsewhere.
fn resolved(path: &Path) -> Option<PathBuf> {
    std::fs::canonicalize(path).ok().filter(|canonical| canonical != path)
}

fn digest(read: &Result<Option<Vec<u8>>, ReadError>) -> u64 {
    let mut hasher = DefaultHasher::new();
    match read {
        Ok(None) => return 0,
        Ok(Some(bytes)) => bytes.hash(&mut hasher),
        Err(error) => error.to_string().hash(&mut hasher),
    }
    hasher.finish()
}

fn content(
    id: SourceId,
    root: &Value,
    broken: Option<Broken>,
    read: &Result<Option<Vec<u8>>, ReadError>,
) -> Content {
    match (id, read) {
        (SourceId::Approvals, Ok(Some(bytes))) if broken.is_none() => {
            Content::Records(Arc::new(Records::parse(bytes).0))
        }
        (SourceId::Approvals, _) => Content::Records(Arc::default()),
        (SourceId::TrustedFolders, _) => Content::Folders(match (broken, root) {
            (None, Value::Object(record)) => FolderRules::of(record),
            (_, _) => FolderRules::Unreadable,
        }),
        (
            SourceId::SystemDefaults
            | SourceId::User
            | SourceId::McpJson
            | SourceId::Workspace
            | SourceId::System
            | SourceId::Session(_)
            | SourceId::UserEnv,
            _,
        ) => Content::Settings,
    }
}

/// What the bytes say by themselves.
struct Said {
    presence: Presence,
    /// What counts, where the file as a whole is good.
    good: Option<(Map<String, Value>, Positions)>,
    diagnostics: Vec<Diagnostic>,
}

impl Said {
    fn missing(id: SourceId, path: Option<&Path>) -> Self {
        let named = match id {
            // Somebody typed this name, so its absence is worth a word.
            SourceId::Session(_) => Some(
                Diagnostic::new(path, Severity::Warning, "missing", "the file does not exist".to_owned())
                    .hint(Some("correct the path after --mcp-config, or create the file".to_owned())),
            ),
            SourceId::SystemDefaults
            | SourceId::User
            | SourceId::McpJson
            | SourceId::Workspace
            | SourceId::System
            | SourceId::UserEnv
            | SourceId::Approvals
            | SourceId::TrustedFolders => None,
        };
        Self {
            presence: Presence::Missing,
            good: Some((Map::new(), Positions::default())),
            diagnostics: named.into_iter().collect(),
        }
    }

    fn unreadable(path: Option<&Path>, error: &ReadError, bytes: &[u8]) -> Self {
        let mut diagnostic = Diagnostic::new(path, Severity::Error, error.code(), error.to_string())
            .hint(Some(error.hint().to_owned()));
        if let ReadError::NotUtf8(place) = error {
            diagnostic = diagnostic.at(&String::from_utf8_lossy(bytes), *place);
        }
        Self { presence: Presence::Unreadable, good: None, diagnostics: vec![diagnostic] }
    }

    fn of_text(id: SourceId, path: Option<&Path>, text: &str, last_good: Option<&SourceFile>) -> Self {
        let presence = if text.trim().is_empty() { Presence::Blank } else { Presence::Present };
        if id == SourceId::UserEnv {
            let found = dotenv::parse(text);
            let odd = found.odd.iter().take(findings::AT_MOST).enumerate().map(|(nth, (place, why))| {
                Diagnostic::new(path, Severity::Warning, "syntax", (*why).to_owned())
                    .at_as_nth(text, *place, nth)
            });
            let diagnostics = odd.collect();
            return Self { presence, good: Some((found.variables, found.positions)), diagnostics };
        }
        let document = document::parse(text);
        let mut diagnostics = findings::of_text(path, text, &document);
        if presence == Presence::Blank {
            diagnostics.push(findings::blank(path));
        }
        let kind = findings::kind(id);
        if let (Some(kind), Some(recovered)) = (kind, document.recovered) {
            // On a line that is broken, a value is what recovery made of it.
            let lines: BTreeSet<_> =
                document.problems.iter().map(|problem| Some(problem.place.line)).collect();
            let found = findings::of_root(path, kind, &Value::Object(recovered), &document.positions);
            diagnostics.extend(found.into_iter().filter(|found| !lines.contains(&found.line)));
        }
        if let Some(problem) = unusable_record(id, text).filter(|_| document.root.is_some()) {
            diagnostics.push(findings::of_record(path, &problem));
            return Self { presence, good: None, diagnostics };
        }
        let positions = document.positions;
        let good = document.root.map(|root| {
            let Some(kind) = kind else { return root };
            let root = Value::Object(root);
            diagnostics.extend(findings::of_root(path, kind, &root, &positions));
            match mended(root, kind, last_good) {
                Value::Object(root) => root,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                    Map::new()
                }
            }
        });
        diagnostics.sort_by_key(|said| (said.line, said.column, said.severity));
        Self { presence, good: good.map(|root| (root, positions)), diagnostics }
    }
}

/// The record of decisions has one reader, which is stricter than we are.
fn unusable_record(id: SourceId, text: &str) -> Option<Corrupt> {
    if id == SourceId::Approvals { Records::parse(text.as_bytes()).1 } else { None }
}

/// What restricts, as it stands in the text that counts, before anything was mended. `None` where nothing was: what is
/// mended is told, so a file about which there is nothing to say is not read twice.
pub(crate) fn mended_restricting(file: &SourceFile) -> Option<schema::Restricting> {
    if file.diagnostics.is_empty() {
        return None;
    }
    as_written(file).map(|written| schema::restricting(&written))
}

/// The document as it stands in the text that counts, before anything in it was mended.
pub(crate) fn as_written(file: &SourceFile) -> Option<Value> {
    document::parse(file.positions.text()).root.map(Value::Object)
}

/// A restricting key with a wrong type counts as what it was when it was last good, else at its strictest.
fn mended(root: Value, kind: schema::Document, last_good: Option<&SourceFile>) -> Value {
    match kind {
        schema::Document::Settings(scope) => {
            schema::mend_restricting(root, scope, last_good.map(|last| &*last.root))
        }
        schema::Document::McpJson => root,
    }
}

#[cfg(test)]
mod tests;
