//! Which entry counts for a name? Runtime over settings over extensions, which only fill names that are missing.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::domain::{Entry, ServerName};

/// The server maps of the three layers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layers {
    /// Replaced as a whole by each commit.
    pub(crate) settings: Arc<IndexMap<ServerName, Entry>>,
    pub(crate) runtime: IndexMap<ServerName, Entry>,
    pub(crate) extensions: IndexMap<ServerName, Entry>,
}

impl Layers {
    /// The effective map, settings first, in written order.
    pub(crate) fn effective(&self) -> IndexMap<ServerName, Entry> {
        let mut map = IndexMap::clone(&self.settings);
        for (name, entry) in &self.runtime {
            map.insert(name.clone(), entry.clone());
        }
        for (name, entry) in &self.extensions {
            map.entry(name.clone()).or_insert_with(|| entry.clone());
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::entry;

    fn command(entry: &Entry) -> &str {
        match entry {
            Entry::Valid(spec) => match spec.wire() {
                crate::domain::Wire::Stdio(stdio) => &stdio.command,
                crate::domain::Wire::Http(_) | crate::domain::Wire::Sse(_) => "",
            },
            Entry::Invalid(_) => "",
        }
    }

    #[test]
    fn runtime_overrides_settings_and_extensions_only_fill_gaps() {
        let layers = Layers {
            settings: Arc::new([entry("a", "settings"), entry("b", "settings")].into()),
            runtime: [entry("b", "runtime"), entry("c", "runtime")].into(),
            extensions: [entry("a", "extension"), entry("d", "extension")].into(),
        };
        let map = layers.effective();
        let map: Vec<_> = map.iter().map(|(name, entry)| (name.as_str(), command(entry))).collect();
        assert_eq!(map, [("a", "settings"), ("b", "runtime"), ("c", "runtime"), ("d", "extension")]);
    }
}
