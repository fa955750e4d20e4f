//! What did one file say, and where does each value stand? Plain values: sources and the snapshot of all of them.
//! Nothing here reads a file.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use qwen_approvals::Records;
use serde_json::Value;

use super::{diagnostic::Diagnostic, trust::FolderRules};

/// Which source of the session, in the order of their names only; what ranks above what is `derive`'s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SourceId {
    /// `system-defaults.json`
    SystemDefaults,
    /// `~/.qwen/settings.json`
    User,
    /// `<root>/.mcp.json`
    McpJson,
    /// `<root>/.qwen/settings.json`
    Workspace,
    /// The system settings.
    System,
    /// The n-th `--mcp-config`, from 0; a file or JSON on the command line.
    Session(usize),
    /// `~/.qwen/.env`
    UserEnv,
    /// `~/.qwen/mcpApprovals.json`
    Approvals,
    /// `~/.qwen/trustedFolders.json`
    TrustedFolders,
}

impl SourceId {
    /// The word of product.md for the scope of this source's entries and keys; the two records belong to the user.
    #[must_use]
    pub fn scope(self) -> qwen_core::Scope {
        match self {
            Self::SystemDefaults => qwen_core::Scope::SystemDefaults,
            Self::User | Self::UserEnv | Self::Approvals | Self::TrustedFolders => qwen_core::Scope::User,
            Self::McpJson => qwen_core::Scope::Project,
            Self::Workspace => qwen_core::Scope::Workspace,
            Self::System => qwen_core::Scope::System,
            Self::Session(_) => qwen_core::Scope::Session,
        }
    }
}

/// A place in a file: line and column from 1, columns in Unicode scalar values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// From 1.
    pub line: u32,
    /// From 1, in Unicode scalar values.
    pub column: u32,
}

/// Where each key of a file stands; of a duplicate key the last. It keeps the text, for excerpts.
#[derive(Clone, Default)]
pub struct Positions {
    text: Arc<str>,
    keys: Keys,
}

/// Keys by the keys above them: a file of thousands of servers repeats no path.
#[derive(Clone, Default)]
struct Keys {
    place: Option<Place>,
    below: HashMap<Box<str>, Keys>,
}

impl Keys {
    fn count(&self) -> usize {
        usize::from(self.place.is_some()) + self.below.values().map(Self::count).sum::<usize>()
    }
}

impl fmt::Debug for Positions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The text may hold secrets.
        f.debug_struct("Positions").field("keys", &self.keys.count()).finish_non_exhaustive()
    }
}

impl Positions {
    /// No key yet.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self { text: text.into(), keys: Keys::default() }
    }

    /// The text in which the keys stand, without its byte order mark.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Remembers where a key stands.
    pub fn insert<S: AsRef<str>>(&mut self, path: &[S], place: Place) {
        let mut keys = &mut self.keys;
        for part in path {
            let part = part.as_ref();
            if !keys.below.contains_key(part) {
                keys.below.insert(part.into(), Keys::default());
            }
            let Some(below) = keys.below.get_mut(part) else { return };
            keys = below;
        }
        keys.place = Some(place);
    }

    /// Where the key of this path stands, or the nearest key above it that stands somewhere.
    #[must_use]
    pub fn nearest<S: AsRef<str>>(&self, path: &[S]) -> Option<Place> {
        let mut keys = &self.keys;
        let mut nearest = keys.place;
        for part in path {
            let Some(below) = keys.below.get(part.as_ref()) else { break };
            keys = below;
            nearest = keys.place.or(nearest);
        }
        nearest
    }
}

/// Whether the file was there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Presence {
    /// There is no such file.
    Missing,
    /// It holds nothing but white space.
    Blank,
    /// It was read, whatever it said.
    Present,
    /// It is there and could not be read as text.
    Unreadable,
}

/// Where a source is read from.
#[derive(Clone, PartialEq, Eq)]
pub enum Origin {
    /// A file, as configured.
    File(PathBuf),
    /// JSON given on the command line.
    Inline(String),
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Inline(_) => f.write_str("Inline"),
        }
    }
}

/// One source of the session, fixed for its life.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceSpec {
    /// Which.
    pub id: SourceId,
    /// Read from where.
    pub origin: Origin,
}

impl SourceSpec {
    /// The file to watch; none for JSON on the command line.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match &self.origin {
            Origin::File(path) => Some(path),
            Origin::Inline(_) => None,
        }
    }
}

/// What counts while the file as a whole is no good.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Broken {
    /// The source is empty; at start nothing better is known.
    Empty,
    /// What the file said when it was last good still counts.
    KeptLastGood,
}

/// What only some sources hold beside their JSON.
#[derive(Clone, Debug)]
pub enum Content {
    /// Settings, `.mcp.json`, `--mcp-config`; and `.env`, whose root maps names to values.
    Settings,
    /// The approvals; none while the file cannot be read.
    Records(Arc<Records>),
    /// The trusted folders.
    Folders(FolderRules),
}

/// One source as it was last read. `root` is what *counts*: a key with a wrong type is gone from it, and while the
/// file is broken it is what the file said before.
#[derive(Clone)]
pub struct SourceFile {
    /// Which source.
    pub id: SourceId,
    /// The file as configured; `None` for JSON given on the command line.
    pub path: Option<PathBuf>,
    /// The file with links followed, where that leads elsewhere.
    pub resolved_path: Option<PathBuf>,
    /// Whether it was there.
    pub presence: Presence,
    /// What counts, always an object.
    pub root: Arc<Value>,
    /// What only some sources hold.
    pub content: Content,
    /// Where the keys of `root` stand.
    pub positions: Arc<Positions>,
    /// Set while the file as a whole is no good; why is the first error among `diagnostics`.
    pub broken: Option<Broken>,
    /// A digest of the bytes as read, so that each distinct content is reported once.
    pub digest: u64,
    /// Every problem of the bytes as read.
    pub diagnostics: Vec<Diagnostic>,
}

impl SourceFile {
    /// Whether this may be a moment of a save in progress (unlinked, truncated or half written), so that a watcher
    /// looks a second time before it believes it.
    #[must_use]
    pub fn is_doubtful(&self) -> bool {
        match self.presence {
            Presence::Missing | Presence::Blank | Presence::Unreadable => true,
            Presence::Present => self.broken.is_some(),
        }
    }
}

impl fmt::Debug for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The content may hold secrets.
        f.debug_struct("SourceFile")
            .field("id", &self.id)
            .field("path", &self.path)
            .field("presence", &self.presence)
            .field("broken", &self.broken)
            .field("diagnostics", &self.diagnostics.len())
            .finish_non_exhaustive()
    }
}

/// Every source as it was last read. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// A source that does not exist for this session (workspace settings at home) is absent.
    pub sources: BTreeMap<SourceId, Arc<SourceFile>>,
}

impl Snapshot {
    /// One source.
    #[must_use]
    pub fn get(&self, id: SourceId) -> Option<&Arc<SourceFile>> {
        self.sources.get(&id)
    }

    /// The same snapshot with one source replaced.
    #[must_use]
    pub fn with(&self, file: Arc<SourceFile>) -> Self {
        let mut next = self.clone();
        next.sources.insert(file.id, file);
        next
    }
}
