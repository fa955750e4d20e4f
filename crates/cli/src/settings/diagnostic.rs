//! What is wrong with a file, and where? One value per problem, for people and for programs; it never holds a string
//! value of the file in the clear.

use std::path::PathBuf;

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// Something does not count because of it.
    Error,
    /// Everything counts; it is probably not what was meant.
    Warning,
}

impl Severity {
    /// The word used in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One problem of one file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Diagnostic {
    /// The file as configured; `None` for JSON given on the command line.
    pub path: Option<PathBuf>,
    /// From 1.
    pub line: Option<u32>,
    /// From 1, in Unicode scalar values.
    pub column: Option<u32>,
    /// How bad it is.
    pub severity: Severity,
    /// A stable word for programs, such as `syntax` or `duplicate-key`.
    pub code: &'static str,
    /// One sentence, lower case, without a full stop and without any value of the file.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// The line it stands on, with every string value as `•••`.
    pub excerpt: Option<String>,
}
