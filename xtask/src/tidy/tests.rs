//! Do the rules hold for this workspace as it is, and do they fail when one line of it is spoiled?

use super::*;

fn workspace() -> (Vec<Source>, Graph, Vec<places::Text>) {
    let sh = Shell::new().unwrap();
    let root = crate::workspace_root();
    sh.change_dir(&root);
    (source::read_all(&root).unwrap(), read_graph(&sh).unwrap(), places::read_all(&root).unwrap())
}

fn spoil(sources: &[Source], path: &str, line: &str) -> Vec<Source> {
    assert!(sources.iter().any(|source| source.path == path), "{path} is gone; spoil another file");
    let spoil_one = |source: &Source| match source.path == path {
        true => Source::new(path, format!("{}\n{line}\n", source.text)),
        false => source.clone(),
    };
    sources.iter().map(spoil_one).collect()
}

#[test]
fn this_workspace_is_tidy() {
    let (sources, graph, texts) = workspace();
    let found: Vec<String> = check(&sources, &graph, &texts).iter().map(ToString::to_string).collect();
    assert_eq!(found, [""; 0]);
}

#[test]
fn one_bad_line_in_this_workspace_is_found() {
    let (sources, graph, texts) = workspace();
    let before = check(&sources, &graph, &texts).len();
    for (path, line) in [
        ("crates/core/src/plan.rs", "async fn act() {}"),
        ("crates/core/src/session.rs", "fn act() { later().await }"),
        ("crates/core/src/manager.rs", "use std::env;"),
        ("crates/core/src/driver.rs", "use std::{fs, sync::Arc};"),
        ("crates/settings-schema/src/lib.rs", "pub mod more;"),
        ("crates/cli/src/lib.rs", "use rmcp::model::Tool;"),
    ] {
        let after = check(&spoil(&sources, path, line), &graph, &texts).len();
        assert_eq!(after, before + 1, "{path} with {line}");
    }
}

#[test]
fn core_that_knows_the_settings_is_found_in_this_workspace() {
    let (sources, mut graph, texts) = workspace();
    let before = check(&sources, &graph, &texts).len();
    let core = graph.packages.iter_mut().find(|package| package.name == "qwen-core").unwrap();
    core.dependencies.push(graph::Edge { to: "qwen-settings-schema".into(), kind: graph::Kind::Ships });
    // The edge itself, and what it reaches.
    assert_eq!(check(&sources, &graph, &texts).len(), before + 2);
}
