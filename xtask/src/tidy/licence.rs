//! May we pass on every package we build on? Reads SPDX expressions against a list of permissive licences.

use super::{Finding, graph::Graph};

/// Licences that ask for attribution at most.
const PERMISSIVE: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

pub(super) fn check(graph: &Graph) -> Vec<Finding> {
    let refused = graph.packages.iter().filter(|package| match &package.licence {
        Some(expression) => !is_permissive(expression),
        None => true,
    });
    refused
        .map(|package| {
            let licence = package.licence.as_deref().unwrap_or("none");
            Finding::whole(
                &package.name,
                format!("licence `{licence}` is not on the list of permissive ones"),
            )
        })
        .collect()
}

/// `OR` (also written `/`) binds weaker than `AND`; brackets group.
fn is_permissive(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let result = any_of(&mut words);
    result && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_of(words: &mut Words<'_>) -> bool {
    let mut result = all_of(words);
    while words.next_if_eq(&"OR").is_some() {
        result |= all_of(words);
    }
    result
}

fn all_of(words: &mut Words<'_>) -> bool {
    let mut result = one(words);
    while words.next_if_eq(&"AND").is_some() {
        result &= one(words);
    }
    result
}

fn one(words: &mut Words<'_>) -> bool {
    match words.next() {
        Some("(") => {
            let result = any_of(words);
            words.next_if_eq(&")").is_some() && result
        }
        Some(name) if words.next_if_eq(&"WITH").is_some() => words
            .next()
            .is_some_and(|exception| PERMISSIVE.contains(&format!("{name} WITH {exception}").as_str())),
        Some(name) => PERMISSIVE.contains(&name),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::graph::Package;

    #[test]
    fn an_expression_is_permissive_when_what_it_asks_for_is() {
        for (expression, permissive) in [
            ("MIT", true),
            ("MIT OR Apache-2.0", true),
            ("MIT/Apache-2.0", true),
            ("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT", true),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("MIT OR LGPL-2.1-or-later", true),
            ("GPL-3.0-only", false),
            ("MIT AND GPL-3.0-only", false),
            ("(MIT OR GPL-3.0-only) AND MPL-2.0", false),
            ("Apache-2.0 WITH Classpath-exception-2.0", false),
            ("MIT Apache-2.0", false),
            ("(MIT", false),
            ("", false),
        ] {
            assert_eq!(is_permissive(expression), permissive, "{expression}");
        }
    }

    #[test]
    fn a_package_with_another_licence_or_none_is_found() {
        let package = |name: &str, licence: Option<&str>| Package {
            name: name.into(),
            licence: licence.map(Into::into),
            ..Package::default()
        };
        let graph = Graph {
            packages: vec![package("a", Some("MIT")), package("b", Some("AGPL-3.0")), package("c", None)],
        };
        let places: Vec<String> = check(&graph).into_iter().map(|finding| finding.place).collect();
        assert_eq!(places, ["b", "c"]);
    }
}
