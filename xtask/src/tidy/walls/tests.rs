//! Does each wall fall over when somebody walks through it?

use super::*;
use crate::tidy::graph::Edge;

/// A graph in which every package of ours uses exactly what it may.
fn lawful() -> Graph {
    let mut packages: Vec<Package> = ALLOWED.iter().map(of_rights).collect();
    packages.push(Package { name: "xtask".into(), ours: true, ..Package::default() });
    packages.push(Package { name: "qwen-tests".into(), ours: true, ..Package::default() });
    Graph { packages }
}

fn of_rights(rights: &Rights) -> Package {
    let edges = |list: &[(&str, &str)], kind| -> Vec<Edge> {
        list.iter().map(|(name, _)| Edge { to: (*name).to_owned(), kind }).collect()
    };
    let dependencies = [edges(rights.ships, Kind::Ships), edges(rights.tests, Kind::Dev)].concat();
    Package { name: rights.package.into(), ours: true, dependencies, ..Package::default() }
}

fn with_edge(from: &str, to: &str, kind: Kind) -> Graph {
    let mut graph = lawful();
    if !graph.packages.iter().any(|package| package.name == from) {
        graph.packages.push(Package { name: from.into(), ..Package::default() });
    }
    let package = graph.packages.iter_mut().find(|package| package.name == from).unwrap();
    package.dependencies.push(Edge { to: to.into(), kind });
    graph
}

fn messages(graph: &Graph) -> Vec<String> {
    check(graph).iter().map(ToString::to_string).collect()
}

#[test]
fn a_graph_within_the_list_passes() {
    assert_eq!(messages(&lawful()), [""; 0]);
}

#[test]
fn an_edge_that_is_not_in_the_list_is_found() {
    for (from, to) in [
        ("qwen-core", "qwen-settings-schema"),
        ("qwen-core", "qwen-approvals"),
        ("qwen-core", "notify"),
        ("qwen-core", "clap"),
        ("qwen-settings-schema", "tokio"),
        ("qwen-approvals", "tokio"),
        ("qwen-approvals", "qwen-settings-schema"),
        ("qwen-cli", "rmcp"),
    ] {
        for kind in [Kind::Ships, Kind::Dev] {
            let found = messages(&with_edge(from, to, kind));
            assert!(
                found.iter().any(|line| line.starts_with(&format!("{from}: must not"))),
                "{from} → {to}: {found:?}"
            );
        }
    }
}

#[test]
fn what_is_allowed_for_tests_only_must_not_ship() {
    let found = messages(&with_edge("qwen-core", "trybuild", Kind::Ships));
    assert_eq!(
        found,
        [format!("qwen-core: must not depend on `trybuild`; if it must, {LIST} wants the reason")]
    );
}

#[test]
fn a_package_that_is_reached_through_another_is_found() {
    let found = messages(&with_edge("sha2", "tokio", Kind::Ships));
    assert!(found.iter().any(|line| line.starts_with("qwen-approvals: reaches `tokio`")), "{found:?}");
}

#[test]
fn nobody_depends_on_the_tasks_or_the_tests() {
    for to in NEVER_DEPENDED_ON {
        let found = messages(&with_edge("qwen-cli", to, Kind::Dev));
        assert!(found.iter().any(|line| line.contains(&format!("nobody depends on `{to}`"))), "{found:?}");
    }
}

#[test]
fn a_permission_that_nobody_uses_is_found() {
    let mut graph = lawful();
    let core = graph.packages.iter_mut().find(|package| package.name == "qwen-core").unwrap();
    core.dependencies.retain(|edge| edge.to != "bytes");
    assert_eq!(
        messages(&graph),
        [format!("qwen-core: does not use `bytes` any more; take it out of {LIST}")]
    );
}

#[test]
fn a_new_package_must_be_in_the_list() {
    let mut graph = lawful();
    graph.packages.push(Package { name: "qwen-more".into(), ours: true, ..Package::default() });
    assert_eq!(messages(&graph), [format!("qwen-more: is not in {LIST}; say what it may depend on")]);
}

#[test]
fn a_banned_package_is_found_wherever_it_comes_from() {
    let mut graph = lawful();
    graph.packages.push(Package { name: "openssl".into(), ..Package::default() });
    assert_eq!(messages(&graph).len(), 1);
}
