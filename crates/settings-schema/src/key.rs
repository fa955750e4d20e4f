//! What is a key? A path of segments, never text split at dots. Owns its comparison and how people read it; knows
//! nothing of which keys exist.

use std::fmt;

use serde::Serialize;

/// The path of a setting. A server called `a.b` is one segment; `__proto__` and the empty name are ordinary segments;
/// below a list, a segment of digits is an index counted from 0.
///
/// ```
/// use qwen_settings_schema::KeyPath;
///
/// let key = KeyPath::new(["mcpServers", "a.b", "args"]);
/// assert_eq!(key.segments().len(), 3);
/// assert_eq!(key.to_string(), r#"mcpServers."a.b".args"#);
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct KeyPath(Vec<String>);

impl KeyPath {
    /// A path of these segments; none of them is looked into.
    pub fn new<I>(segments: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        Self(segments.into_iter().map(Into::into).collect())
    }

    /// The path of the whole document.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// The segments, from the root down.
    #[must_use]
    pub fn segments(&self) -> &[String] {
        &self.0
    }

    /// The path of `segment` below this one.
    #[must_use]
    pub fn child(&self, segment: &str) -> Self {
        Self(self.0.iter().map(String::as_str).chain([segment]).map(str::to_owned).collect())
    }

    /// The path of `below` taken from here.
    #[must_use]
    pub fn join(&self, below: &Self) -> Self {
        let mut segments = self.0.clone();
        segments.extend(below.0.iter().cloned());
        Self(segments)
    }

    /// The path of what holds this one; `None` for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let (_, above) = self.0.split_last()?;
        Some(Self(above.to_vec()))
    }

    /// Whether this path is `above` or lies below it.
    #[must_use]
    pub fn starts_with(&self, above: &Self) -> bool {
        self.0.starts_with(&above.0)
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(".")?;
            }
            if reads_plainly(segment) {
                f.write_str(segment)?;
            } else {
                write!(f, "{segment:?}")?;
            }
        }
        Ok(())
    }
}

/// Whether a segment can stand between dots without being misread.
fn reads_plainly(segment: &str) -> bool {
    !segment.is_empty() && segment.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_never_split_at_its_dots() {
        let key = KeyPath::new(["mcpServers", "a.b"]);
        assert_eq!(key.segments(), ["mcpServers", "a.b"]);
        assert_ne!(key, KeyPath::new(["mcpServers", "a", "b"]));
    }

    #[test]
    fn a_segment_that_could_be_misread_is_quoted_for_people() {
        for (segments, shown) in [
            (vec!["mcp", "allowed"], "mcp.allowed"),
            (vec!["mcpServers", ""], r#"mcpServers."""#),
            (vec!["mcpServers", "Search (T)"], r#"mcpServers."Search (T)""#),
            (vec!["mcpServers", "__proto__"], "mcpServers.__proto__"),
            (vec!["mcpServers", "a\u{202e}b\n"], r#"mcpServers."a\u{202e}b\n""#),
            (vec!["mcpServers", "我的"], "mcpServers.我的"),
        ] {
            assert_eq!(KeyPath::new(segments).to_string(), shown);
        }
    }

    #[test]
    fn a_prefix_is_a_prefix_of_segments_and_not_of_text() {
        let mcp = KeyPath::new(["mcp"]);
        assert!(KeyPath::new(["mcp", "allowed"]).starts_with(&mcp));
        assert!(!KeyPath::new(["mcpServers"]).starts_with(&mcp));
    }
}
