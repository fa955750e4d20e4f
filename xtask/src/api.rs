//! What can somebody who uses a library see of it? A list of its public items as they are written, kept in the
//! repository, so that a change of it is seen in review and named at a release. Text in, text out: it reads what the
//! compiler's `unreachable_pub` guarantees, that what says `pub` can be reached.

use std::collections::BTreeSet;

use xshell::{Shell, cmd};

use crate::tidy::source::Source;

/// Where the lists are kept.
pub(crate) const FOLDER: &str = "docs/api";

const LIBRARIES: [&str; 3] = ["settings-schema", "approvals", "core"];

/// The lists as they should be, by path.
///
/// # Errors
/// When the sources cannot be read.
pub(crate) fn lists(sh: &Shell) -> anyhow::Result<Vec<(String, String)>> {
    let sources = crate::tidy::source::read_all(&sh.current_dir())?;
    Ok(LIBRARIES
        .iter()
        .map(|library| {
            let prefix = format!("crates/{library}/src/");
            let own = sources.iter().filter_map(|source| Some((source.path.strip_prefix(&prefix)?, source)));
            // Fakes for tests are promised to nobody.
            let items = own.filter(|(file, _)| *file != "testing.rs").flat_map(|(file, source)| {
                items(source).into_iter().map(move |item| format!("{file}: {item}\n"))
            });
            let items: BTreeSet<String> = items.collect();
            (path(library), items.into_iter().collect())
        })
        .collect())
}

/// What came (`+`) and went (`-`) since a tag.
///
/// # Errors
/// When git fails.
pub(crate) fn changes_since(sh: &Shell, tag: &str) -> anyhow::Result<Vec<String>> {
    let mut changes = Vec::new();
    for library in LIBRARIES {
        let path = path(library);
        let now = sh.read_file(&path)?;
        let before = format!("{tag}:{path}");
        let before = cmd!(sh, "git show {before}").quiet().ignore_stderr().read().unwrap_or_default();
        changes.extend(difference(&before, &now).into_iter().map(|line| format!("{library} {line}")));
    }
    Ok(changes)
}

fn path(library: &str) -> String {
    format!("{FOLDER}/qwen-{library}.txt")
}

fn difference(before: &str, now: &str) -> Vec<String> {
    let (before, now): (BTreeSet<&str>, BTreeSet<&str>) = (before.lines().collect(), now.lines().collect());
    let went = before.difference(&now).map(|line| format!("- {line}"));
    went.chain(now.difference(&before).map(|line| format!("+ {line}"))).collect()
}

/// Every item, method and field that says `pub`, on one line each.
fn items(source: &Source) -> Vec<String> {
    let shipped: Vec<&str> = source.shipped().map(|(_, line)| line).collect();
    let code = shipped.join("\n");
    let mut found = Vec::new();
    let mut at = 0;
    for line in code.split_inclusive('\n') {
        let start = at + (line.len() - line.trim_start().len());
        at += line.len();
        if line.trim_start().starts_with("pub ") {
            found.push(one_line(&without_attributes(item(&code[start..]))));
        }
    }
    found
}

/// The item at the start of `code`, without what only its author sees: a body, a value.
fn item(code: &str) -> &str {
    let word = code.split_whitespace().nth(1).unwrap_or_default();
    let end = match word {
        "enum" | "trait" => closing(code),
        "use" | "mod" => code.find([';', '{']).map(|at| at + closing_list(&code[at..])),
        "const" | "static" => code.find([';', '=']),
        "fn" | "async" | "struct" | "type" | "unsafe" => body_or_end(code),
        _ => code.find('\n'),
    };
    code[..end.unwrap_or(code.len())].trim_end().trim_end_matches(',')
}

/// At the body, or at the `;` that stands instead; one inside of brackets is the length of an array.
fn body_or_end(code: &str) -> Option<usize> {
    let mut depth = 0_usize;
    code.char_indices().find_map(|(at, c)| {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (depth == 0 && matches!(c, '{' | ';')).then_some(at)
    })
}

/// What derives and error texts say is not what others see.
fn without_attributes(code: &str) -> String {
    let mut kept = String::new();
    let mut rest = code;
    while let Some((before, attribute)) = rest.split_once("#[") {
        kept.push_str(before);
        let mut depth = 1_usize;
        let end = attribute.char_indices().find_map(|(at, c)| {
            match c {
                '[' => depth += 1,
                ']' => depth -= 1,
                _ => {}
            }
            (depth == 0).then_some(at + 1)
        });
        rest = &attribute[end.unwrap_or(attribute.len())..];
    }
    kept + rest
}

/// After the brace that closes the first one.
fn closing(code: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Up to the end of a list of names, where one begins here.
fn closing_list(code: &str) -> usize {
    if code.starts_with('{') { closing(code).unwrap_or(0) } else { 0 }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(code: &str) -> Vec<String> {
        items(&Source::new("crates/core/src/x.rs", code))
    }

    #[test]
    fn what_others_see_is_listed_on_one_line_without_bodies() {
        let code = "//! X.\npub use a::{\n    B, C,\n};\npub struct S {\n    pub field: u8,\n    own: u8,\n}\n\
                    impl S {\n    pub fn f(\n        &self,\n    ) -> u8 {\n        1\n    }\n}\n\
                    pub const C: u8 = 1;\npub enum E {\n    #[error(\"x\")]\n    A { x: u8 },\n}\npub struct T([u8; 2], u8);\npub(crate) fn g() {}\n";
        assert_eq!(
            seen(code),
            [
                "pub use a::{ B, C, }",
                "pub struct S",
                "pub field: u8",
                "pub fn f( &self, ) -> u8",
                "pub const C: u8",
                "pub enum E { A { x: u8 }, }",
                "pub struct T([u8; 2], u8)",
            ]
        );
    }

    #[test]
    fn comments_and_tests_are_not_listed() {
        assert_eq!(
            seen("//! X.\n// pub fn a() {}\n#[cfg(test)]\nmod tests {\n    pub fn b() {}\n}\n"),
            [""; 0]
        );
    }

    #[test]
    fn a_difference_names_what_came_and_what_went() {
        assert_eq!(difference("a\nb\n", "b\nc\n"), ["- a", "+ c"]);
    }
}
