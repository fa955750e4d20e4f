//! What do the files say? This part reads every file of one session into values and knows where each value stands.
//! It decides nothing about servers (that is `derive`) and watches nothing but in `watch`.

mod diagnostic;
pub(crate) mod edit;
mod excerpt;
mod paths;
mod read;
mod source;
mod trust;
mod variables;
mod watch;

pub use diagnostic::{Diagnostic, Paint, Severity};
pub use excerpt::Excerpt;
pub(crate) use paths::is_inside;
pub use paths::{Environment, PathError, Paths, ProjectRoot};
pub use read::{Moment, load, read_source};
pub(crate) use read::{as_written, mended_restricting};
pub use source::{
    Broken, Content, Origin, Place, Positions, Presence, Snapshot, SourceFile, SourceId, SourceSpec,
};
pub use trust::{FolderRule, FolderRules, FolderVerdict, RuleSays};
pub(crate) use variables::{Expanded, Reach, Unset, UsedValue, Variables};
pub use watch::{InotifyLimit, PollingBecause, Seen, SettingsWatcher, WatchControl, WatchOptions, Watching};
