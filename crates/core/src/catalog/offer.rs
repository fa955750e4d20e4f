//! What does one open server add to the catalogue? Its inventory under catalogue names, through its view's filters.

use std::{collections::BTreeSet, sync::Arc};

use super::{CataloguePrompt, CatalogueResource, CatalogueTool, catalogue_name};
use crate::{
    domain::{ServerName, View},
    inventory::{Inventory, Listing},
    status::Connected,
};

/// One server's part of the catalogue. Computed when its inventory or its view changes, not for every fold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Offer {
    pub(crate) tools: Vec<Arc<CatalogueTool>>,
    pub(crate) prompts: Vec<Arc<CataloguePrompt>>,
    pub(crate) resources: Vec<Arc<CatalogueResource>>,
}

impl Offer {
    /// Filters concern tools only. An item listed twice counts once.
    pub(crate) fn of(server: &ServerName, inventory: &Inventory, view: &View) -> Self {
        let filter = Filter::of(view);
        let mut seen = BTreeSet::new();
        let tools = inventory
            .tools
            .items()
            .iter()
            .filter(|tool| filter.passes(&tool.name) && seen.insert(&tool.name));
        let tools = tools.map(|tool| {
            Arc::new(CatalogueTool {
                name: catalogue_name(server.as_str(), &tool.name),
                server: server.clone(),
                tool: tool.name.clone(),
                description: tool.description.clone(),
                input_schema: Arc::clone(&tool.input_schema),
                trust: view.trust,
                always_load: view.always_load_tools,
            })
        });
        let mut seen = BTreeSet::new();
        let prompts =
            inventory.prompts.items().iter().filter(|prompt| seen.insert(&prompt.name)).map(|prompt| {
                Arc::new(CataloguePrompt {
                    name: catalogue_name(server.as_str(), &prompt.name),
                    server: server.clone(),
                    prompt: prompt.name.clone(),
                    description: prompt.description.clone(),
                    raw: Arc::clone(&prompt.raw),
                })
            });
        let mut seen = BTreeSet::new();
        let resources = inventory.resources.items().iter().filter(|resource| seen.insert(&resource.uri)).map(
            |resource| {
                Arc::new(CatalogueResource {
                    server: server.clone(),
                    uri: resource.uri.as_str().into(),
                    name: resource.name.clone(),
                    raw: Arc::clone(&resource.raw),
                })
            },
        );
        Self { tools: tools.collect(), prompts: prompts.collect(), resources: resources.collect() }
    }

    /// What a status says of an open server with this offer.
    pub(crate) fn connected(&self, pid: Option<u32>, inventory: &Inventory) -> Connected {
        let mut warnings = inventory.warnings.clone();
        let failed = [
            ("tools", failed(&inventory.tools)),
            ("prompts", failed(&inventory.prompts)),
            ("resources", failed(&inventory.resources)),
        ];
        let failed: Vec<_> = failed.into_iter().filter_map(|(kind, why)| Some((kind, why?))).collect();
        warnings.extend(failed.iter().map(|(kind, why)| format!("{kind} could not be listed: {why}")));
        Connected {
            pid,
            tools: self.tools.len(),
            prompts: self.prompts.len(),
            resources: self.resources.len(),
            warnings,
            unlisted: failed.into_iter().map(|(kind, _)| kind).collect(),
        }
    }
}

fn failed<T>(listing: &Listing<T>) -> Option<&str> {
    match listing {
        Listing::Failed(why) => Some(why),
        Listing::Listed(_) | Listing::NotOffered => None,
    }
}

/// Which tools of a server count. `excludeTools` wins; `name(args…)` means `name`.
struct Filter<'a> {
    include: Option<BTreeSet<&'a str>>,
    exclude: BTreeSet<&'a str>,
}

impl<'a> Filter<'a> {
    fn of(view: &'a View) -> Self {
        let include = view.include_tools.as_ref().map(|names| names.iter().map(|name| bare(name)).collect());
        Self { include, exclude: view.exclude_tools.iter().map(|name| bare(name)).collect() }
    }

    fn passes(&self, tool: &str) -> bool {
        !self.exclude.contains(tool) && self.include.as_ref().is_none_or(|include| include.contains(tool))
    }
}

/// The name before an opening parenthesis.
fn bare(pattern: &str) -> &str {
    pattern.split_once('(').map_or(pattern, |(name, _)| name).trim()
}
