//! Does a crate name what belongs behind a border: another crate's types, a constructor, a module of its own?

use super::{
    Finding,
    source::{Source, has_word},
};

/// The one file that wires the crates together.
const WIRING: &str = "crates/cli/src/app.rs";

/// What only the wiring may call. Everybody else holds the trait.
const CONSTRUCTORS: [&str; 5] = [
    "FileStore::open",
    "Manager::new",
    "DirectConnector::new",
    "Guard::start",
    "qwen_settings_schema::schema(",
];

pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    sources.iter().flat_map(|source| [sdk(source), constructors(source), modules(source)].concat()).collect()
}

fn sdk(source: &Source) -> Vec<Finding> {
    if !source.path.starts_with("crates/") || source.path.starts_with("crates/core/") {
        return Vec::new();
    }
    let named = source.numbered().filter(|(_, code)| has_word(code, "rmcp"));
    named
        .map(|(line, _)| {
            Finding::at(source, line, "the MCP SDK is known to core alone; use core's own values")
        })
        .collect()
}

fn constructors(source: &Source) -> Vec<Finding> {
    if !source.path.starts_with("crates/cli/src/") || source.path == WIRING {
        return Vec::new();
    }
    let named = source.shipped().flat_map(|(line, code)| {
        let called = CONSTRUCTORS.into_iter().filter(move |name| code.contains(name));
        called.map(move |name| (line, name))
    });
    named
        .map(|(line, name)| {
            Finding::at(source, line, format!("`{name}` is called in {WIRING} only; take the trait"))
        })
        .collect()
}

/// What a library offers is the list of names in its `lib.rs`, and nothing else.
fn modules(source: &Source) -> Vec<Finding> {
    let is_lib = source.path.starts_with("crates/") && source.path.ends_with("/src/lib.rs");
    let open = source.shipped().filter(|(_, code)| {
        let code = code.trim_start();
        let public_module = code.starts_with("pub mod ") && !code.starts_with("pub mod testing");
        public_module || (code.starts_with("pub use ") && code.contains('*'))
    });
    open.filter(|_| is_lib)
        .map(|(line, _)| Finding::at(source, line, "modules are private; re-export names, one by one"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&[Source::new(path, text)]).len()
    }

    #[test]
    fn an_sdk_name_outside_core_is_found() {
        for path in
            ["crates/cli/src/events.rs", "crates/cli/src/events/tests.rs", "crates/approvals/src/hash.rs"]
        {
            assert_eq!(count(path, "use rmcp::model::Tool;"), 1, "{path}");
            assert_eq!(count(path, "// rmcp does this differently"), 0, "{path}");
        }
        assert_eq!(count("crates/core/src/link.rs", "use rmcp::model::Tool;"), 0);
    }

    #[test]
    fn a_constructor_outside_the_wiring_is_found() {
        let text = "fn f() { let store = qwen_approvals::FileStore::open(&path); }";
        assert_eq!(count("crates/cli/src/commands/approve.rs", text), 1);
        assert_eq!(count(WIRING, text), 0);
        assert_eq!(count("crates/cli/src/commands/approve/tests.rs", text), 0);
    }

    #[test]
    fn a_public_module_or_a_glob_in_a_library_is_found() {
        for text in ["pub mod plan;", "pub use plan::*;", "    pub use domain::{self, entry::*};"] {
            assert_eq!(count("crates/core/src/lib.rs", text), 1, "{text}");
            assert_eq!(count("crates/core/src/domain.rs", text), 0, "{text}");
        }
        assert_eq!(
            count("crates/core/src/lib.rs", "mod plan;\npub use plan::{Action, plan};\npub mod testing;"),
            0
        );
    }
}
