//! Which lines were typed before? A walk through them that comes back to what was being typed, and which of them may be
//! kept. It knows no file.

/// As many lines are kept.
pub(super) const KEPT: usize = 500;

/// Lines typed before, and where in them somebody is.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    lines: Vec<String>,
    /// Index of the line that is shown, and what was being typed when the walk began.
    walk: Option<(usize, String)>,
}

impl History {
    /// Begins with these, oldest first.
    pub(super) fn new(lines: Vec<String>) -> Self {
        Self { lines, walk: None }
    }

    /// A line was typed to its end.
    pub(super) fn add(&mut self, line: &str) {
        self.walk = None;
        if !line.trim().is_empty() && self.lines.last().is_none_or(|last| last != line) {
            self.lines.push(line.to_owned());
        }
    }

    /// One line back, from what is being typed.
    pub(super) fn back(&mut self, now: &str) -> Option<String> {
        let (at, draft) = match self.walk.take() {
            Some((at, draft)) => (at.saturating_sub(1), draft),
            None => (self.lines.len().checked_sub(1)?, now.to_owned()),
        };
        self.walk = Some((at, draft));
        self.lines.get(at).cloned()
    }

    /// One line forward; behind the last stands what was being typed.
    pub(super) fn forward(&mut self) -> Option<String> {
        let (at, draft) = self.walk.take()?;
        match self.lines.get(at + 1) {
            Some(line) => {
                self.walk = Some((at + 1, draft));
                Some(line.clone())
            }
            None => Some(draft),
        }
    }
}

/// Whether a line may be kept beyond the session: arguments under a name that says secret are not, nor is a URL with
/// userinfo or a query.
pub(super) fn may_be_kept(line: &str) -> bool {
    const WORDS: [&str; 5] = ["key", "token", "secret", "password", "auth"];
    let lower = line.to_lowercase();
    let tells = |url: &str| {
        let url = url.split(['"', '\'', ' ']).next().unwrap_or_default();
        let authority = url.split(['/', '?', '#']).next().unwrap_or_default();
        authority.contains('@') || url.contains('?')
    };
    if lower.split("://").skip(1).any(tells) {
        return false;
    }
    match lower.find(['{', '[']) {
        Some(at) => !WORDS.iter().any(|word| lower[at..].contains(word)),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walking_back_and_forward_comes_back_to_what_was_being_typed() {
        let mut history = History::new(vec!["one".into(), "two".into()]);
        assert_eq!(history.back("dra").as_deref(), Some("two"));
        assert_eq!(history.back("").as_deref(), Some("one"));
        assert_eq!(history.back("").as_deref(), Some("one"));
        assert_eq!(history.forward().as_deref(), Some("two"));
        assert_eq!(history.forward().as_deref(), Some("dra"));
        assert_eq!(history.forward(), None);
        assert_eq!(History::default().back("x"), None);
    }

    #[test]
    fn the_same_line_twice_and_an_empty_one_are_kept_once_and_never() {
        let mut history = History::default();
        for line in ["a", "a", " ", "b", "a"] {
            history.add(line);
        }
        assert_eq!(history.lines, ["a", "b", "a"]);
    }

    #[test]
    fn arguments_that_look_like_secrets_are_not_kept() {
        for (line, kept) in [
            ("/call mcp__a__login {\"Password\": \"x\"}", false),
            ("/call mcp__a__b {\"apiKey\": \"x\"}", false),
            ("/call mcp__token__b {\"x\": 1}", true),
            ("/mcp reconnect auth", true),
        ] {
            assert_eq!(may_be_kept(line), kept, "{line}");
        }
    }

    #[test]
    fn what_a_url_may_hide_is_not_kept() {
        for (line, kept) in [
            ("/resource https://e.example/a", true),
            ("/resource file:///a@b", true),
            ("/resource https://ada:pw@e.example/a", false),
            ("/resource gh https://e.example/a?sig=1", false),
            ("/call a b {\"url\": \"https://e.example/a?x=1\"}", false),
            ("/call a b {\"url\": \"https://e.example/a\", \"why\": \"really?\"}", true),
        ] {
            assert_eq!(may_be_kept(line), kept, "{line}");
        }
    }
}
