//! By which name does a model see a tool? A function of one pair (server, tool) only, so that a name never depends on
//! who else is connected or when.

use std::sync::Arc;

use sha2::{Digest, Sha256};

/// The longest name that every model accepts.
const LONGEST: usize = 63;
/// What is kept of a name that gets a digest.
const CUT: usize = 55;
/// Digits of the digest.
const DIGITS: usize = 7;

/// `mcp__<server>__<tool>` where that is unambiguous and short enough; else sanitised, cut and given a digest of the
/// exact pair.
///
/// ```
/// use qwen_core::catalogue_name;
/// assert_eq!(&*catalogue_name("files", "read"), "mcp__files__read");
/// assert!(catalogue_name("my files", "read").starts_with("mcp__my_files__read_"));
/// ```
#[must_use]
pub fn catalogue_name(server: &str, tool: &str) -> Arc<str> {
    let plain = format!("mcp__{server}__{tool}");
    if is_plain(server, tool, &plain) {
        return plain.into();
    }
    let mut name = format!("{}{}", sanitised_prefix(server), sanitised(tool));
    name.truncate(CUT);
    name.push('_');
    name.push_str(&digest(server, tool));
    name.into()
}

/// `mcp__<server>__` with everything that no name may hold replaced: how the catalogue names of a server's tools begin,
/// unless they had to be cut.
#[must_use]
pub fn sanitised_prefix(server: &str) -> String {
    format!("mcp__{}__", sanitised(server))
}

fn is_plain(server: &str, tool: &str, whole: &str) -> bool {
    let parts_are_clean = [server, tool].iter().all(|part| !part.is_empty() && part.chars().all(is_clean));
    parts_are_clean
        && server.starts_with(|first: char| first.is_ascii_alphabetic())
        && !server.contains("__")
        && !server.ends_with('_')
        && whole.len() <= LONGEST
        && !looks_digested(whole)
}

/// A plain name must not look like one with a digest, or the two could meet.
fn looks_digested(name: &str) -> bool {
    name.len() > DIGITS && {
        let (head, tail) = name.split_at(name.len() - DIGITS);
        head.ends_with('_') && tail.chars().all(|c| c.is_ascii_digit() || c.is_ascii_lowercase())
    }
}

fn is_clean(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn sanitised(part: &str) -> String {
    part.chars().map(|c| if is_clean(c) { c } else { '_' }).collect()
}

fn digest(server: &str, tool: &str) -> String {
    let hash = Sha256::new().chain_update(server).chain_update([0]).chain_update(tool).finalize();
    let mut number = hash.iter().take(8).fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    let mut digits = [b'0'; DIGITS];
    for digit in digits.iter_mut().rev() {
        let value = u8::try_from(number % 36).unwrap_or_default();
        *digit = if value < 10 { b'0' + value } else { b'a' + value - 10 };
        number /= 36;
    }
    digits.iter().map(|&digit| char::from(digit)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_plain_exactly_when_they_are_unambiguous() {
        let long = "x".repeat(60);
        for (server, tool, plain) in [
            ("files", "read", true),
            ("a-b", "c_d", true),
            ("a_b", "c__d", true),
            ("1st", "read", false),
            ("-x", "read", false),
            ("a__b", "read", false),
            ("a_", "read", false),
            ("a.b", "read", false),
            ("a b", "read", false),
            ("我的", "read", false),
            ("", "read", false),
            ("files", "", false),
            ("files", "re.ad", false),
            ("files", "x_abc1234", false),
            ("files", "x_ABC1234", true),
            ("files", long.as_str(), false),
        ] {
            let expected = format!("mcp__{server}__{tool}");
            assert_eq!(*catalogue_name(server, tool) == *expected, plain, "{server:?} {tool:?}");
        }
    }

    #[test]
    fn sixty_three_characters_are_plain_and_sixty_four_are_not() {
        let fits = "t".repeat(LONGEST - "mcp__s__".len());
        assert_eq!(*catalogue_name("s", &fits), *format!("mcp__s__{fits}"));
        assert_eq!(catalogue_name("s", &format!("{fits}t")).len(), LONGEST);
    }

    #[test]
    fn long_names_that_differ_in_the_middle_stay_apart() {
        let server = "atlassian-rovo-mcp-server-cloud";
        let a = catalogue_name(server, "createJiraIssueWithManyFieldsAndLinksForProject");
        let b = catalogue_name(server, "deleteJiraIssueWithManyFieldsAndLinksForProject");
        assert_ne!(a, b);
    }

    proptest! {
        #[test]
        fn every_name_is_one_that_models_accept(server in ".{0,80}", tool in ".{0,80}") {
            let name = catalogue_name(&server, &tool);
            prop_assert!(name.len() <= LONGEST);
            prop_assert!(name.chars().all(is_clean));
        }

        #[test]
        fn two_pairs_that_sanitising_makes_equal_keep_two_names(tool in "[a-z]{1,8}") {
            prop_assert_ne!(catalogue_name("a.b", &tool), catalogue_name("a_b", &tool));
            prop_assert_ne!(catalogue_name("a.b", &tool), catalogue_name("a b", &tool));
        }
    }
}
