//! Does any crate know another that it must not know? Compares the dependency graph with the allow-list.

mod allowed;

use super::{
    Finding,
    graph::{Graph, Kind, Package},
};
use allowed::{ALLOWED, BANNED, NEVER_DEPENDED_ON, Rights, UNREACHABLE};

const LIST: &str = "xtask/src/tidy/walls/allowed.rs";

pub(super) fn check(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in graph.ours() {
        findings.extend(depended_on(package));
        if let Some(rights) = ALLOWED.iter().find(|rights| rights.package == package.name) {
            findings.extend(edges(package, rights));
            findings.extend(stale(package, rights));
        } else if !NEVER_DEPENDED_ON.contains(&package.name.as_str()) {
            findings
                .push(Finding::whole(&package.name, format!("is not in {LIST}; say what it may depend on")));
        }
    }
    findings.extend(reach(graph));
    findings.extend(banned(graph));
    findings
}

fn edges(package: &Package, rights: &Rights) -> Vec<Finding> {
    let refused = package.dependencies.iter().filter(|edge| {
        let may_ship = rights.ships.iter().any(|(name, _)| *name == edge.to);
        match edge.kind {
            Kind::Ships => !may_ship,
            Kind::Dev => {
                !may_ship && edge.to != package.name && !rights.tests.iter().any(|(name, _)| *name == edge.to)
            }
        }
    });
    refused
        .map(|edge| {
            let what = match edge.kind {
                Kind::Ships => "must not depend on",
                Kind::Dev => "must not even in tests depend on",
            };
            Finding::whole(
                &package.name,
                format!("{what} `{}`; if it must, {LIST} wants the reason", edge.to),
            )
        })
        .collect()
}

/// A permission that nobody uses is the door that the next careless edge comes through.
fn stale(package: &Package, rights: &Rights) -> Vec<Finding> {
    let named = rights.ships.iter().chain(rights.tests);
    let unused = named.filter(|(name, _)| !package.dependencies.iter().any(|edge| edge.to == *name));
    unused
        .map(|(name, _)| {
            Finding::whole(&package.name, format!("does not use `{name}` any more; take it out of {LIST}"))
        })
        .collect()
}

fn depended_on(package: &Package) -> Vec<Finding> {
    let edges = package.dependencies.iter().filter(|edge| NEVER_DEPENDED_ON.contains(&edge.to.as_str()));
    edges.map(|edge| Finding::whole(&package.name, format!("nobody depends on `{}`", edge.to))).collect()
}

fn reach(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (package, never, reason) in UNREACHABLE {
        let ships = graph.ships_with(package);
        for name in never.iter().filter(|name| ships.contains(**name)) {
            findings.push(Finding::whole(
                package,
                format!("reaches `{name}` through its dependencies: {reason}"),
            ));
        }
    }
    findings
}

fn banned(graph: &Graph) -> Vec<Finding> {
    let used = graph.packages.iter().filter_map(|package| {
        let (name, reason) = BANNED.iter().find(|(name, _)| *name == package.name)?;
        Some(Finding::whole(*name, format!("is banned: {reason}")))
    });
    used.collect()
}

#[cfg(test)]
mod tests;
