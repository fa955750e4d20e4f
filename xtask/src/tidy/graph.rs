//! Which package depends on which? The few facts of `cargo metadata` that the rules ask for.

use std::collections::{BTreeSet, HashMap};

use anyhow::Context as _;
use serde_json::Value;

/// Every package that the workspace builds on.
#[derive(Clone, Default, Debug)]
pub(crate) struct Graph {
    pub(crate) packages: Vec<Package>,
}

/// One package.
#[derive(Clone, Default, Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// An SPDX expression.
    pub(crate) licence: Option<String>,
    /// Whether it belongs to this workspace.
    pub(crate) ours: bool,
    /// Direct dependencies.
    pub(crate) dependencies: Vec<Edge>,
}

/// One package needs another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Edge {
    pub(crate) to: String,
    pub(crate) kind: Kind,
}

/// What for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    /// To run, or to build what runs.
    Ships,
    /// For tests and examples only.
    Dev,
}

impl Graph {
    /// Reads what `cargo metadata --format-version 1` prints.
    pub(crate) fn parse(json: &str) -> anyhow::Result<Self> {
        let root: Value = serde_json::from_str(json)?;
        let members: BTreeSet<&str> = list(&root["workspace_members"]).filter_map(Value::as_str).collect();
        let names: HashMap<&str, &str> = list(&root["packages"])
            .filter_map(|package| Some((package["id"].as_str()?, package["name"].as_str()?)))
            .collect();
        let mut edges: HashMap<&str, Vec<Edge>> = HashMap::new();
        for node in list(&root["resolve"]["nodes"]) {
            let id = node["id"].as_str().context("a node without an id")?;
            edges.insert(
                id,
                list(&node["deps"]).flat_map(|dependency| edges_to(dependency, &names)).collect(),
            );
        }
        let packages = list(&root["packages"]).filter_map(|package| {
            let id = package["id"].as_str()?;
            Some(Package {
                name: package["name"].as_str()?.to_owned(),
                licence: package["license"].as_str().map(Into::into),
                ours: members.contains(id),
                dependencies: edges.remove(id).unwrap_or_default(),
            })
        });
        Ok(Self { packages: packages.collect() })
    }

    /// The packages of this workspace.
    pub(crate) fn ours(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.ours)
    }

    /// The names of everything that ships with `name`, itself left out.
    pub(crate) fn ships_with<'a>(&'a self, name: &'a str) -> BTreeSet<&'a str> {
        let mut seen = BTreeSet::new();
        let mut waiting = vec![name];
        while let Some(name) = waiting.pop() {
            for package in self.packages.iter().filter(|package| package.name == name) {
                let shipped = package.dependencies.iter().filter(|edge| edge.kind == Kind::Ships);
                waiting.extend(shipped.map(|edge| edge.to.as_str()).filter(|to| seen.insert(*to)));
            }
        }
        seen
    }
}

fn edges_to(dependency: &Value, names: &HashMap<&str, &str>) -> Vec<Edge> {
    let to = dependency["pkg"].as_str().and_then(|id| names.get(id)).copied().unwrap_or_default();
    let kinds: BTreeSet<Kind> = list(&dependency["dep_kinds"])
        .map(|kind| if kind["kind"] == "dev" { Kind::Dev } else { Kind::Ships })
        .collect();
    kinds.into_iter().map(|kind| Edge { to: to.to_owned(), kind }).collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_edges_and_membership_are_read() {
        let json = r#"{
            "packages": [
                {"id": "a 1", "name": "a", "license": "MIT"},
                {"id": "b 1", "name": "b", "license": null},
                {"id": "c 1", "name": "c", "license": "MIT"}
            ],
            "workspace_members": ["a 1"],
            "resolve": {"nodes": [
                {"id": "a 1", "deps": [{"pkg": "b 1", "dep_kinds": [{"kind": null}, {"kind": "dev"}]}]},
                {"id": "b 1", "deps": [{"pkg": "c 1", "dep_kinds": [{"kind": "build"}]}]},
                {"id": "c 1", "deps": []}
            ]}
        }"#;
        let graph = Graph::parse(json).unwrap();
        let ours: Vec<&str> = graph.ours().map(|package| package.name.as_str()).collect();
        assert_eq!(ours, ["a"]);
        let edge = |kind| Edge { to: "b".into(), kind };
        assert_eq!(graph.packages[0].dependencies, [edge(Kind::Ships), edge(Kind::Dev)]);
        assert_eq!(graph.ships_with("a").into_iter().collect::<Vec<_>>(), ["b", "c"]);
    }
}
