//! What in a Rust file is code, and what in the code is test? A lexer that knows comments, literals and
//! `#[cfg(test)]`, and no more of the language.

use std::path::Path;

use anyhow::Context as _;

/// One Rust file, read once.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Relative to the workspace, with `/`.
    pub(crate) path: String,
    /// As written.
    pub(crate) text: String,
    /// The same with comments and the inside of literals blanked; lines and columns stay.
    pub(crate) code: String,
    /// For each line whether it is compiled only for tests.
    tests: Vec<bool>,
}

impl Source {
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        let code = blank(&text);
        let whole = is_test_file(&path);
        let mut tests = vec![whole; code.lines().count()];
        if !whole {
            mark_tests(&code, &mut tests);
        }
        Self { path, text, code, tests }
    }

    /// The lines of code that are compiled outside tests, with their numbers.
    pub(crate) fn shipped(&self) -> impl Iterator<Item = (usize, &str)> {
        self.numbered().filter(|(line, _)| !self.is_test(*line))
    }

    /// The lines of code that are compiled only for tests, with their numbers.
    pub(crate) fn tested(&self) -> impl Iterator<Item = (usize, &str)> {
        self.numbered().filter(|(line, _)| self.is_test(*line))
    }

    /// Every line of code with its number, which starts at 1.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    fn is_test(&self, line: usize) -> bool {
        self.tests.get(line - 1).copied().unwrap_or(false)
    }
}

/// Every Rust file of the workspace and of the packages beside it.
pub(crate) fn read_all(root: &Path) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    for file in super::files_below(root)? {
        if file.extension().is_some_and(|extension| extension == "rs") {
            let text =
                std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let path = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
            sources.push(Source::new(path, text));
        }
    }
    Ok(sources)
}

/// Whether `word` stands in `line` as a word of its own.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].ends_with(part_of_name) && !line[at + word.len()..].starts_with(part_of_name)
    })
}

/// A `tests` folder inside a package, or a `tests.rs` beside the file it tests. The package `tests` itself ships its
/// harness to its own tests, which are in its inner `tests` folder.
fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.split('/').skip(1).any(|folder| folder == "tests")
}

fn mark_tests(code: &str, tests: &mut [bool]) {
    const MARK: &str = "#[cfg(test)]";
    for (at, _) in code.match_indices(MARK) {
        let end = at + MARK.len() + item_length(&code[at + MARK.len()..]);
        let first = code[..at].matches('\n').count();
        let last = code[..end].matches('\n').count();
        for line in tests.iter_mut().take(last + 1).skip(first) {
            *line = true;
        }
    }
}

/// Up to the `;` or the closing brace that ends the item at the start of `code`.
fn item_length(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// Replaces comments and the inside of literals by blanks.
fn blank(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, kept) = match first {
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), ""),
            '/' if rest.starts_with("/*") => (block_comment(rest), ""),
            '"' => (string(rest), "\""),
            'r' | 'b' | 'c' if !code.ends_with(|c: char| c.is_alphanumeric() || c == '_') => {
                match raw_or_prefixed(rest) {
                    Some(length) => (length, "\""),
                    None => (1, &rest[..1]),
                }
            }
            '\'' => match character(rest) {
                Some(length) => (length, "'"),
                None => (1, "'"),
            },
            other => (other.len_utf8(), &rest[..other.len_utf8()]),
        };
        code.push_str(kept);
        let blanked = rest[..length].chars().skip(kept.chars().count());
        code.extend(blanked.map(|c| if c == '\n' { '\n' } else { ' ' }));
        rest = &rest[length..];
    }
    code
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// `r"…"`, `r#"…"#`, `b"…"`, `br"…"`, `c"…"`, `b'…'`; `None` for a plain name that begins with one of these letters.
fn raw_or_prefixed(text: &str) -> Option<usize> {
    let prefix = text.find(|c: char| !matches!(c, 'r' | 'b' | 'c'))?;
    let rest = &text[prefix..];
    if prefix > 2 {
        return None;
    }
    if text[..prefix].contains('r') {
        let hashes = rest.find(|c| c != '#')?;
        if !rest[hashes..].starts_with('"') {
            return None;
        }
        let end = format!("\"{}", "#".repeat(hashes));
        let body = &rest[hashes + 1..];
        return Some(prefix + hashes + 1 + body.find(&end).map_or(body.len(), |at| at + end.len()));
    }
    match rest.chars().next()? {
        '"' => Some(prefix + string(rest)),
        '\'' => character(rest).map(|length| prefix + length),
        _ => None,
    }
}

/// A character literal; `None` for a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut inner = text.char_indices().skip(1);
    let (_, first) = inner.next()?;
    if first == '\\' {
        inner.next()?;
        return inner.find(|&(_, c)| c == '\'').map(|(at, _)| at + 1);
    }
    match inner.next()? {
        (at, '\'') => Some(at + 1),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
