//! What is wrong with a file, and where? One value per problem, for people and for programs; it never holds a string
//! value of the file in the clear.

use std::path::{Path, PathBuf};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::{excerpt::Excerpt, source::Place};

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
    /// A stable word for programs, such as `syntax` or `duplicate_key`.
    pub code: &'static str,
    /// One sentence, lower case, without a full stop and without any value of the file.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// The line it stands on, with every string value as `•••`.
    pub excerpt: Option<Excerpt>,
}

/// Whether a rendering may use colour.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Paint {
    /// Escape sequences.
    Colour,
    /// Text alone.
    Plain,
}

impl Diagnostic {
    /// A problem with no place.
    #[must_use]
    pub fn new(path: Option<&Path>, severity: Severity, code: &'static str, message: String) -> Self {
        Self {
            path: path.map(Path::to_owned),
            line: None,
            column: None,
            severity,
            code,
            message,
            hint: None,
            excerpt: None,
        }
    }

    /// The same problem with what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }

    /// The same problem at a place of `text`.
    #[must_use]
    pub fn at(mut self, text: &str, place: Place) -> Self {
        self.line = Some(place.line);
        self.column = Some(place.column);
        self.excerpt = Excerpt::of(text, place);
        self
    }

    /// The same problem at a place of `text`, the `nth` that is said about it. An excerpt costs a pass over the text, so
    /// of a large one only the first few have theirs.
    #[must_use]
    pub(crate) fn at_as_nth(self, text: &str, place: Place, nth: usize) -> Self {
        const FEW: usize = 20;
        const LARGE: usize = 64 * 1024;
        if nth < FEW || text.len() < LARGE {
            return self.at(text, place);
        }
        Self { line: Some(place.line), column: Some(place.column), ..self }
    }

    /// For people: the place, the message, the masked line with a mark below it, and the hint.
    #[must_use]
    pub fn render(&self, paint: Paint) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        // The place is said from the file: in the excerpt masking has moved the columns.
        let place = match (self.line, self.column) {
            (Some(line), Some(column)) => format!(":{line}:{column}"),
            (line, _) => line.map(|line| format!(":{line}")).unwrap_or_default(),
        };
        let path = self.path.as_ref().map_or_else(|| "--mcp-config".to_owned(), |p| p.display().to_string());
        let title = format!("{path}{place}: {}", self.message);
        let mut group = Group::with_title(level.primary_title(title.as_str()));
        if let (Some(line), Some(excerpt)) = (self.line, &self.excerpt) {
            group = group.element(
                Snippet::source(excerpt.text.as_str())
                    .line_start(line as usize)
                    .annotation(AnnotationKind::Primary.span(excerpt.start..excerpt.end)),
            );
        }
        if let Some(hint) = &self.hint {
            group = group.element(Level::HELP.message(hint.as_str()));
        }
        let renderer = match paint {
            Paint::Colour => Renderer::styled(),
            Paint::Plain => Renderer::plain(),
        };
        renderer.render(&[group])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_reads_as_place_message_masked_line_and_hint() {
        let text = "{\n  \"mcp\": { \"allowed\": \"s3cret\" }\n}\n";
        let diagnostic = Diagnostic::new(
            Some(Path::new("/home/u/.qwen/settings.json")),
            Severity::Error,
            "wrong_type",
            "mcp.allowed must be a list of names".to_owned(),
        )
        .hint(Some("write [\"name\"]".to_owned()))
        .at(text, Place { line: 2, column: 12 });
        insta::assert_snapshot!(diagnostic.render(Paint::Plain), @r#"
        error: /home/u/.qwen/settings.json:2:12: mcp.allowed must be a list of names
          |
        2 |   "mcp": { "allowed": "•••" }
          |            ^^^^^^^^^
          |
          = help: write ["name"]
        "#);
    }
}
