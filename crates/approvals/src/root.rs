//! When do two texts name the same project root?
//!
//! Owns the form in which roots are compared. A stored root is compared by its canonical path where it exists, else
//! as text; on Windows, letter case and the kind of slash do not count. Must not know what is stored under a root.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Whose rules a path follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PathStyle {
    /// Letter case counts, as far as the canonical path does not say otherwise.
    Posix,
    /// Letter case and the kind of slash do not count below a drive or a share.
    Windows,
}

impl PathStyle {
    pub(crate) const NATIVE: PathStyle = if cfg!(windows) { PathStyle::Windows } else { PathStyle::Posix };
}

/// How roots are compared: whose rules, and who knows canonical paths. The second is the only part that reads the
/// file system, so tests put a table in its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RootRules {
    pub(crate) style: PathStyle,
    /// The canonical form of an absolute path; `None` where nothing is there.
    pub(crate) canonical: fn(&Path) -> Option<PathBuf>,
}

impl RootRules {
    /// The rules of this machine.
    pub(crate) const NATIVE: RootRules =
        RootRules { style: PathStyle::NATIVE, canonical: |path| fs::canonicalize(path).ok() };

    /// The form of a stored root. A relative one is left as it is: the folder of this process says nothing about
    /// the folder of the process that wrote it.
    pub(crate) fn form(self, stored: &str) -> String {
        let path = Path::new(stored);
        let canonical = if path.is_absolute() { (self.canonical)(path) } else { None };
        match canonical.as_deref().map(Path::to_str) {
            Some(Some(text)) => fold(text, self.style),
            // Where the canonical path is not text, the stored text cannot be what anybody looks up.
            Some(None) | None => fold(stored, self.style),
        }
    }
}

/// The text under which a root is written, and which equals that of every other spelling of it.
pub(crate) fn fold(root: &str, style: PathStyle) -> String {
    match style {
        PathStyle::Posix => root.to_owned(),
        PathStyle::Windows => fold_windows(root).unwrap_or_else(|| root.to_owned()),
    }
}

/// `None` for what is neither below a drive nor on a share: a root of another machine's, which is left as it is.
fn fold_windows(root: &str) -> Option<String> {
    let slashed = root.replace('/', "\\");
    let plain = match (slashed.strip_prefix(r"\\?\UNC\"), slashed.strip_prefix(r"\\?\")) {
        (Some(share), _) => format!(r"\\{share}"),
        (None, Some(path)) => path.to_owned(),
        (None, None) => slashed,
    };
    let is_share = plain.starts_with(r"\\");
    let is_drive = matches!(plain.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    if !is_share && !is_drive {
        return None;
    }
    let folded = plain.to_lowercase();
    let trimmed = folded.trim_end_matches('\\');
    // `c:` alone means the current folder of that drive, so its root keeps the backslash.
    Some(if trimmed.ends_with(':') { format!("{trimmed}\\") } else { trimmed.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_spellings_of_one_folder_fold_to_one_text() {
        let table = [
            (r"C:\Repo", r"c:\repo"),
            (r"c:\Repo", r"c:\repo"),
            (r"c:\REPO\", r"c:\repo"),
            ("C:/Repo/Sub", r"c:\repo\sub"),
            (r"\\?\C:\Repo", r"c:\repo"),
            (r"\\Server\Share\Repo", r"\\server\share\repo"),
            (r"\\?\UNC\Server\Share\Repo", r"\\server\share\repo"),
            ("//Server/Share/Repo", r"\\server\share\repo"),
            (r"C:\", r"c:\"),
            (r"C:\Ärger", r"c:\ärger"),
            // Another machine's root is left as it is.
            ("/srv/My-Repo", "/srv/My-Repo"),
            ("/srv/My-Repo/", "/srv/My-Repo/"),
            ("Repo", "Repo"),
            ("", ""),
        ];
        for (root, folded) in table {
            assert_eq!(fold(root, PathStyle::Windows), folded, "{root}");
            assert_eq!(fold(folded, PathStyle::Windows), folded, "{folded} again");
            assert_eq!(fold(root, PathStyle::Posix), root);
        }
    }

    #[test]
    fn a_stored_root_that_exists_is_compared_by_its_canonical_path() {
        let rules = RootRules {
            style: PathStyle::Posix,
            canonical: |path| (path == Path::new("/link")).then(|| PathBuf::from("/real")),
        };
        assert_eq!(rules.form("/link"), "/real");
        assert_eq!(rules.form("/gone"), "/gone");
    }

    #[test]
    fn a_relative_stored_root_never_means_the_folder_of_this_process() {
        let rules = RootRules { style: PathStyle::Posix, canonical: |_| Some(PathBuf::from("/current")) };
        assert_eq!(rules.form("."), ".");
        assert_eq!(rules.form(""), "");
    }
}
