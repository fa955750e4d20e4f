//! Which parts of a text may not be shown? Owns the one rule of masking that stderr tails, error texts and screens
//! share; knows nothing of where a text came from.
//!
//! The rule is section 14 of the behaviour document: user info and query values of URLs, values after options that
//! look like credentials, and every known secret of eight characters or more become `•••`. A known secret of four to
//! seven characters does where it stands as a word; whoever makes the list puts in only those that a name calls one.

use crate::domain::Secret;

/// What stands where a secret stood.
pub(crate) const MASK: &str = "•••";
/// Shorter values are too common as parts of words: they are masked only where they stand alone.
const ANYWHERE: usize = 8;
/// Shorter values are no secrets worth the name: masking `1` would make a log unreadable and protect nothing.
const SHORTEST: usize = 4;
const WORDS: [&str; 5] = ["key", "token", "secret", "password", "auth"];

/// The text without secrets.
///
/// ```
/// use qwen_core::{Secret, mask_text};
/// let known = [Secret::from("hunter2hunter2")];
/// let shown = mask_text("login hunter2hunter2 at https://me:pw@host/x?sig=1 --api-key abc", &known);
/// assert_eq!(shown, "login ••• at https://•••@host/x?sig=••• --api-key •••");
/// ```
#[must_use]
pub fn mask_text(text: &str, secrets: &[Secret]) -> String {
    let text = mask_known(text, secrets);
    text.split_inclusive('\n').map(|line| mask_options(&mask_urls(line))).collect()
}

/// The arguments of a command without secrets: each by itself, and whole the one that follows an option which names a
/// credential.
///
/// ```
/// use qwen_core::mask_args;
/// assert_eq!(mask_args(["--token", "a b", "-v"], &[]), ["--token", "•••", "-v"]);
/// ```
#[must_use]
pub fn mask_args<'a>(args: impl IntoIterator<Item = &'a str>, secrets: &[Secret]) -> Vec<String> {
    let mut after_option = false;
    let mut shown = Vec::new();
    for arg in args {
        let hidden = after_option && !arg.starts_with("--");
        after_option = is_bare_credential_option(arg);
        shown.push(if hidden { MASK.to_owned() } else { mask_text(arg, secrets) });
    }
    shown
}

fn mask_known(text: &str, secrets: &[Secret]) -> String {
    let mut known: Vec<&str> =
        secrets.iter().map(Secret::expose).filter(|secret| secret.chars().count() >= SHORTEST).collect();
    // Of a secret of several lines each stands alone in a text that was taken apart into lines.
    let lines =
        secrets.iter().map(Secret::expose).filter(|secret| secret.contains('\n')).flat_map(str::lines);
    known.extend(lines.map(str::trim).filter(|line| line.chars().count() >= ANYWHERE));
    // A secret that contains another one must go first, or its rest would stay.
    known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    known.into_iter().fold(text.to_owned(), |text, secret| {
        if !text.contains(secret) {
            text
        } else if secret.chars().count() >= ANYWHERE {
            text.replace(secret, MASK)
        } else {
            mask_word_alone(&text, secret)
        }
    })
}

/// Masks a short secret where no letter or digit is next to it.
fn mask_word_alone(text: &str, secret: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (at, found) in text.match_indices(secret) {
        let end = at + found.len();
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(end..).and_then(|after| after.chars().next());
        if before.is_none_or(|c| !is_part(c)) && after.is_none_or(|c| !is_part(c)) {
            out.push_str(text.get(from..at).unwrap_or_default());
            out.push_str(MASK);
            from = end;
        }
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

/// Whether a short value under this name is a secret all the same: see [`mask_text`]. Long ones always are.
///
/// ```
/// use qwen_core::is_worth_masking;
/// assert!(is_worth_masking("DB_PASSWORD", "hunt") && is_worth_masking("REGION", "eu-central"));
/// assert!(!is_worth_masking("DEBUG", "true") && !is_worth_masking("API_KEY", "abc"));
/// ```
#[must_use]
pub fn is_worth_masking(name: &str, value: &str) -> bool {
    let long = value.chars().count();
    long >= ANYWHERE || (long >= SHORTEST && names_credential(name))
}

fn mask_urls(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after.find(ends_url).unwrap_or(after.len());
        let (url, tail) = after.split_at(end);
        out.push_str(&mask_url(url));
        rest = tail;
    }
    out.push_str(rest);
    out
}

fn ends_url(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '|' | '\\' | '^')
}

/// What follows `scheme://`.
fn mask_url(url: &str) -> String {
    let authority_end = url.find(['/', '?', '#']).unwrap_or(url.len());
    let (authority, path) = url.split_at(authority_end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let mut out = String::new();
    if host.len() < authority.len() {
        out.push_str(MASK);
        out.push('@');
    }
    out.push_str(host);
    let (path, query) = path.split_at(path.find(['?', '#']).unwrap_or(path.len()));
    out.push_str(path);
    for pair in query.split_inclusive(['?', '#', '&']) {
        let (pair, separator) = match pair.char_indices().next_back() {
            Some((at, '?' | '#' | '&')) => pair.split_at(at),
            Some(_) | None => (pair, ""),
        };
        match pair.split_once('=') {
            Some((name, value)) if !value.is_empty() => {
                out.push_str(name);
                out.push('=');
                out.push_str(MASK);
            }
            Some(_) | None => out.push_str(pair),
        }
        out.push_str(separator);
    }
    out
}

/// What the next word is.
#[derive(Clone, Copy, PartialEq)]
enum Hide {
    Nothing,
    /// The value of an option or a field.
    Word,
    /// Everything up to this closing quote.
    Quoted(char),
    /// A header's value has several words.
    Line,
}

fn mask_options(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut hide = Hide::Nothing;
    for piece in line.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end_matches(char::is_whitespace);
        let space = piece.get(word.len()..).unwrap_or_default();
        if word.is_empty() {
            out.push_str(space);
            continue;
        }
        hide = mask_word(word, hide, &mut out);
        match hide {
            Hide::Quoted(_) => {}
            Hide::Nothing | Hide::Word | Hide::Line => out.push_str(space),
        }
    }
    out
}

/// Writes the word, masked or not, and says what to do with the next one.
fn mask_word(word: &str, hide: Hide, out: &mut String) -> Hide {
    match hide {
        Hide::Line => {
            out.push_str(MASK);
            return Hide::Line;
        }
        Hide::Quoted(quote) => {
            return match word.split_once(quote) {
                Some((_, rest)) => {
                    out.push(quote);
                    mask_rest(rest, out)
                }
                None => hide,
            };
        }
        Hide::Word if !word.starts_with("--") => return mask_value(word, out),
        Hide::Word | Hide::Nothing => {}
    }
    let field = word.match_indices(['=', ':']).find(|(at, separator)| {
        let name = word.get(..*at).unwrap_or_default();
        let is_field = *separator == "=" || name.ends_with('"');
        is_field && at + 1 < word.len() && names_credential(name)
    });
    if let Some((at, _)) = field {
        let (name, value) = word.split_at(at + 1);
        out.push_str(name);
        return mask_value(value, out);
    }
    out.push_str(word);
    if is_bare_credential_option(word) || word.eq_ignore_ascii_case("bearer") {
        return Hide::Word;
    }
    match word.strip_suffix(':') {
        Some(name) if name.to_ascii_lowercase().ends_with("authorization") => Hide::Line,
        // Only what looks like a field or a header: `unknown key: x` is prose.
        Some(name) if (name.ends_with('"') || name.contains('-')) && names_credential(name) => Hide::Word,
        Some(_) | None => Hide::Nothing,
    }
}

/// Writes a masked value with the punctuation around it.
fn mask_value(value: &str, out: &mut String) -> Hide {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
    let Some(quote) = quote else {
        out.push_str(MASK);
        let kept = value.trim_end_matches([',', ';', ')', ']', '}']).len();
        out.push_str(value.get(kept..).unwrap_or_default());
        return Hide::Nothing;
    };
    out.push(quote);
    out.push_str(MASK);
    match value.get(1..).and_then(|inner| inner.split_once(quote)) {
        Some((_, rest)) => {
            out.push(quote);
            mask_rest(rest, out)
        }
        None => Hide::Quoted(quote),
    }
}

/// What follows a quoted value in the same word may hold another field.
fn mask_rest(rest: &str, out: &mut String) -> Hide {
    if rest.is_empty() { Hide::Nothing } else { mask_word(rest, Hide::Nothing, out) }
}

fn is_bare_credential_option(word: &str) -> bool {
    word.starts_with('-') && !word.contains('=') && names_credential(word)
}

fn names_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_credential_is_masked_and_prose_stays() {
        let cases = [
            ("Error: FOO_TOKEN missing", "Error: FOO_TOKEN missing"),
            ("unknown key: colour", "unknown key: colour"),
            ("--token abc --verbose", "--token ••• --verbose"),
            ("--token=abc", "--token=•••"),
            ("-authToken 'a b c' x", "-authToken '•••' x"),
            ("API_KEY=abc, next", "API_KEY=•••, next"),
            ("PASSWORD=\"a b\" x", "PASSWORD=\"•••\" x"),
            ("Authorization: Bearer abc def", "Authorization: ••• ••• •••"),
            ("got Bearer abc", "got Bearer •••"),
            (r#"{"apiKey":"abc","n":1}"#, r#"{"apiKey":"•••","n":1}"#),
            (r#""api_key": "abc", x"#, r#""api_key": "•••", x"#),
            ("A=1,TOKEN=a,b", "A=1,TOKEN=•••"),
            (r#"{"token":"a","key":"b"}"#, r#"{"token":"•••","key":"•••"}"#),
            ("X-Api-Key: abc", "X-Api-Key: •••"),
            ("GET https://u:p@h:1/a?b=c&d#e=f", "GET https://•••@h:1/a?b=•••&d#e=•••"),
            ("\"postgres://u:p@h/db\"", "\"postgres://•••@h/db\""),
            ("a\n--secret x\nb", "a\n--secret •••\nb"),
            ("use --token --verbose", "use --token --verbose"),
        ];
        for (text, shown) in cases {
            assert_eq!(mask_text(text, &[]), shown, "{text}");
        }
    }

    #[test]
    fn known_secrets_are_masked_longest_first_and_short_ones_only_as_words() {
        let known = ["12345678".into(), "1234567890".into(), "hunt".into(), "abc".into()];
        assert_eq!(mask_text("a1234567890b 12345678", &known), "a•••b •••");
        assert_eq!(
            mask_text("(hunt) hunt, hunter hunt_1 xhunt hunt", &known),
            "(•••) •••, hunter hunt_1 xhunt •••"
        );
        assert_eq!(mask_text("abc", &known), "abc");
    }

    #[test]
    fn a_secret_of_several_lines_is_masked_in_texts_of_one_line() {
        let known = ["tok-aaaaaaaa\ntok-bbbbbbbb\nend\n".into(), "hunter2hunter2\n".into()];
        assert_eq!(mask_text("is tok-bbbbbbbb and hunter2hunter2 the end", &known), "is ••• and ••• the end");
    }

    #[test]
    fn the_argument_after_an_option_is_masked_whole() {
        assert_eq!(
            mask_args(["-y", "--api-key", "a b", "--token=x"], &[]),
            ["-y", "--api-key", "•••", "--token=•••"]
        );
    }
}
