//! What counts when several files speak? Owns the merge over scopes and where each value comes from; reads no file,
//! and what a value means is its reader's.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::{Map, Value};

use crate::{
    key::KeyPath,
    kind::{Fit, clamped, fits},
    path::{Found, find, find_member, put, take},
    restrict::{ALLOWED, EXCLUDED, mend_restricting},
    scope::SettingsScope,
    table::{Kind, MergeRule, SETTINGS, Settable, SettingRow, setting},
};

mod named;
mod options;

use named::{Entries, Named};
pub use options::{AutoReload, Options, WatchMode};

/// One settings file's content and its scope.
#[derive(Clone, Copy, Debug)]
pub struct Layer<'a> {
    /// Whose file it is.
    pub scope: SettingsScope,
    /// The document; an empty object where there is no file.
    pub root: &'a Value,
}

/// What counts. Server entries and whatever else is taken name by name are looked up in the layers when somebody asks,
/// and not copied: they are most of a file, and an edit changes one of them.
#[derive(Clone, PartialEq, Debug)]
pub struct Merged<'a> {
    /// The merged document, without `mcp.allowed`: no single list says what several scopes admit; and without what is
    /// taken name by name, for which see [`get`](Self::get) and [`leaves`](Self::leaves).
    pub value: Map<String, Value>,
    /// The lists of `mcp.allowed` that count, from the lowest scope up. A server must match all; no list admits all.
    pub allowed: Vec<ScopedList>,
    /// The lists of `mcp.excluded`, from the lowest scope up.
    pub excluded: Vec<ScopedList>,
    /// The settings of this program, defaults filled in.
    pub options: Options,
    /// Whose each value is, at the depth at which it was taken whole.
    origins: BTreeMap<KeyPath, SettingsScope>,
    /// What is taken name by name, by its key.
    named: BTreeMap<&'static str, Named<'a>>,
}

/// One merged value and where it comes from.
#[derive(Clone, PartialEq, Debug)]
pub struct Leaf {
    /// Its key.
    pub key: KeyPath,
    /// Its value.
    pub value: Value,
    /// Whose file says so.
    pub scope: SettingsScope,
}

/// A list of names or globs and where it comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScopedList {
    /// Whose file holds it.
    pub scope: SettingsScope,
    /// As written.
    pub patterns: Vec<String>,
}

/// Merges settings files; layers may come in any order, each scope once. A known key of the wrong type does not count,
/// except that one that restricts counts at its strictest: a caller that has a last good value puts it there with
/// [`mend_restricting`] before. A number outside its range is its nearest bound. Keys that a project may not set are
/// left out of its layer.
///
/// ```
/// use qwen_settings_schema::{KeyPath, Layer, SettingsScope, merge};
/// use serde_json::json;
///
/// let user = json!({"ui": {"theme": "dark", "tips": false}, "mcpServers": {"git": {"command": "git-mcp"}}});
/// let system = json!({"ui": {"theme": "light"}});
/// let merged = merge(&[
///     Layer { scope: SettingsScope::User, root: &user },
///     Layer { scope: SettingsScope::System, root: &system },
/// ]);
/// assert_eq!(merged.value["ui"], json!({"theme": "light", "tips": false}));
/// let theme = merged.origin(&KeyPath::new(["ui", "theme"]));
/// assert_eq!(theme, Some(SettingsScope::System));
/// assert_eq!(merged.get(&["mcpServers", "git", "command"]), Some(&json!("git-mcp")));
/// ```
#[must_use]
pub fn merge<'a>(layers: &[Layer<'a>]) -> Merged<'a> {
    let mut layers = layers.to_vec();
    layers.sort_by_key(|layer| layer.scope);
    let mut merging = Merging::default();
    for layer in layers {
        let Counting { members, named } = counting(layer);
        for (key, entries) in named {
            merging.named.entry(key).or_default().add(layer.scope, entries);
        }
        merging.absorb(&KeyPath::root(), members, layer.scope);
    }
    merging.finish()
}

impl Merged<'_> {
    /// What stands at a path of segments; `None` where nothing does, and for a node above what is taken name by name.
    #[must_use]
    pub fn get(&self, path: &[&str]) -> Option<&Value> {
        let found = match path {
            [key, name, below @ ..] if let Some(named) = self.named.get(*key) => {
                find(named.get(name)?.1, below)
            }
            _ => find_member(&self.value, path),
        };
        match found {
            Found::Value(value) => Some(value),
            Found::Absent | Found::Blocked => None,
        }
    }

    /// The same with a copy of what is looked up, for whoever outlives the layers.
    #[must_use]
    pub fn into_owned(self) -> Merged<'static> {
        let Self { value, allowed, excluded, options, origins, named } = self;
        let named = named.into_iter().map(|(key, named)| (key, named.into_owned())).collect();
        Merged { value, allowed, excluded, options, origins, named }
    }

    /// Each value at the depth at which it was taken whole, with its scope; sorted by key, then by scope. Keys that
    /// collect over scopes (`mcp.allowed`, `mcp.excluded`) stand once for each scope.
    #[must_use]
    pub fn leaves(&self) -> Vec<Leaf> {
        let taken_whole =
            self.origins.iter().filter_map(|(key, &scope)| match find_member(&self.value, &segments(key)) {
                Found::Value(value) => Some(Leaf { key: key.clone(), value: value.clone(), scope }),
                Found::Absent | Found::Blocked => None,
            });
        let collected = self.collected().into_iter().flat_map(|(key, lists)| {
            lists.iter().map(move |list| Leaf {
                key: KeyPath::new(key.iter().copied()),
                value: Value::from(list.patterns.clone()),
                scope: list.scope,
            })
        });
        let named = self.named.iter().flat_map(|(key, named)| named.leaves(key));
        let mut leaves: Vec<Leaf> = taken_whole.chain(collected).chain(named).collect();
        leaves.sort_by(|a, b| (&a.key, a.scope).cmp(&(&b.key, b.scope)));
        leaves
    }

    /// The scope whose value stands at `key`, or, below a value that was taken whole, that of the whole. The
    /// highest of them for a key that collects over scopes; `None` where nothing stands, or a node of several values.
    #[must_use]
    pub fn origin(&self, key: &KeyPath) -> Option<SettingsScope> {
        let collects =
            self.collected().into_iter().find(|(collecting, _)| segments(key).starts_with(collecting));
        if let Some((_, lists)) = collects {
            return lists.iter().map(|list| list.scope).max();
        }
        if let [first, below @ ..] = key.segments()
            && let Some(named) = self.named.get(first.as_str())
        {
            return named.origin(below);
        }
        let mut at = Some(key.clone());
        while let Some(key) = at {
            if let Some(scope) = self.origins.get(&key) {
                return Some(*scope);
            }
            at = key.parent();
        }
        None
    }

    /// The lists of the keys that collect over scopes.
    fn collected(&self) -> [(&'static [&'static str], &[ScopedList]); 2] {
        [(ALLOWED, &self.allowed), (EXCLUDED, &self.excluded)]
    }
}

/// What of a layer counts.
struct Counting<'a> {
    members: Map<String, Value>,
    /// What is taken name by name, by its key.
    named: Vec<(&'static str, Entries<'a>)>,
}

/// Nothing of the wrong type, nothing that its scope may not set, numbers within their ranges.
fn counting(layer: Layer<'_>) -> Counting<'_> {
    let named = named(layer);
    let others = layer.root.as_object().map_or_else(
        || layer.root.clone(),
        |members| {
            let others = members.iter().filter(|(name, _)| by_name(name).is_none());
            Value::Object(others.map(|(name, value)| (name.clone(), value.clone())).collect())
        },
    );
    let Value::Object(mut members) = mend_restricting(others, layer.scope, None) else {
        return Counting { members: Map::new(), named };
    };
    for row in SETTINGS.iter().filter(|row| row.merge != MergeRule::ByName) {
        if !may_set(layer.scope, row) {
            take(&mut members, row.key);
            continue;
        }
        let Found::Value(value) = find_member(&members, row.key) else { continue };
        match right_part(row.kind, value) {
            Right::AsWritten => {}
            Right::Other(value) => put(&mut members, row.key, value),
            Right::Nothing => take(&mut members, row.key),
        }
    }
    Counting { members, named }
}

fn named(layer: Layer<'_>) -> Vec<(&'static str, Entries<'_>)> {
    let members = layer.root.as_object().into_iter().flatten();
    let counting = members.filter_map(|(name, value)| {
        let row = by_name(name).filter(|row| may_set(layer.scope, row))?;
        let entries = match (right_part(row.kind, value), value) {
            (Right::AsWritten, Value::Object(entries)) => Cow::Borrowed(entries),
            (Right::Other(Value::Object(entries)), _) => Cow::Owned(entries),
            (Right::AsWritten | Right::Other(_) | Right::Nothing, _) => return None,
        };
        Some((*row.key.first()?, entries))
    });
    counting.collect()
}

/// The setting of this name if its value is taken name by name; such stand at the top of a document only.
fn by_name(name: &str) -> Option<&'static SettingRow> {
    SETTINGS.iter().find(|row| row.merge == MergeRule::ByName && row.key == [name])
}

fn may_set(scope: SettingsScope, row: &SettingRow) -> bool {
    scope != SettingsScope::Workspace || row.settable != Settable::NotWorkspace
}

/// How much of a value counts.
enum Right {
    AsWritten,
    Other(Value),
    Nothing,
}

fn right_part(kind: Kind, value: &Value) -> Right {
    match (fits(kind, value), kind, value) {
        (Fit::Good, Kind::Integer(range), _) => {
            clamped(range, value).map_or(Right::Nothing, |number| Right::Other(Value::from(number)))
        }
        (Fit::Good, _, _) => Right::AsWritten,
        (Fit::Wrong, Kind::TextMap, Value::Object(items)) => Right::Other(Value::Object(
            items.iter().filter(|(_, item)| item.is_string()).map(|(k, v)| (k.clone(), v.clone())).collect(),
        )),
        (Fit::Wrong, _, _) => Right::Nothing,
    }
}

/// A merge under way.
#[derive(Default)]
struct Merging<'a> {
    value: Map<String, Value>,
    origins: BTreeMap<KeyPath, SettingsScope>,
    named: BTreeMap<&'static str, Named<'a>>,
    allowed: Vec<ScopedList>,
    excluded: Vec<ScopedList>,
}

impl<'a> Merging<'a> {
    /// Takes a higher layer's members at `at` over what there is.
    fn absorb(&mut self, at: &KeyPath, members: Map<String, Value>, scope: SettingsScope) {
        for (name, value) in members {
            let key = at.child(&name);
            let rule = setting(&key).map_or(MergeRule::Deep, |row| row.merge);
            match (rule, value) {
                (MergeRule::EveryScopeMustAdmit, Value::Array(items)) => {
                    self.allowed.push(ScopedList { scope, patterns: texts(&items) });
                }
                (MergeRule::Union, Value::Array(items)) => {
                    self.excluded.push(ScopedList { scope, patterns: texts(&items) });
                }
                (MergeRule::Deep, Value::Object(below)) if !below.is_empty() => {
                    self.open_node(&key);
                    self.absorb(&key, below, scope);
                }
                (MergeRule::Deep, value @ Value::Object(_)) => {
                    // An empty object adds nothing to what lower scopes say, but is a value where they say nothing.
                    if self.below(&key).next().is_none() && !self.collects_below(&key) {
                        self.set(key, value, scope);
                    }
                }
                (
                    MergeRule::Deep
                    | MergeRule::ByName
                    | MergeRule::HighestWins
                    | MergeRule::Union
                    | MergeRule::EveryScopeMustAdmit,
                    value,
                ) => self.set(key, value, scope),
            }
        }
    }

    /// The keys at `key` or below it at which values were taken whole.
    fn below<'k>(&'k self, key: &'k KeyPath) -> impl Iterator<Item = &'k KeyPath> {
        let from_there = self.origins.range(key..).map(|(known, _)| known);
        from_there.take_while(move |known| known.starts_with(key))
    }

    /// Whether a key below `key` has collected something.
    fn collects_below(&self, key: &KeyPath) -> bool {
        [(ALLOWED, &self.allowed), (EXCLUDED, &self.excluded)]
            .into_iter()
            .any(|(collecting, lists)| !lists.is_empty() && collecting.starts_with(&segments(key)))
    }

    /// Makes room for members of an object: a value that was taken whole there, or an empty object, gives way.
    fn open_node(&mut self, key: &KeyPath) {
        if self.origins.remove(key).is_some() {
            take(&mut self.value, &segments(key));
        }
    }

    fn set(&mut self, key: KeyPath, value: Value, scope: SettingsScope) {
        let gone: Vec<KeyPath> = self.below(&key).cloned().collect();
        for gone in gone {
            self.origins.remove(&gone);
        }
        put(&mut self.value, &segments(&key), value);
        self.origins.insert(key, scope);
    }

    fn finish(mut self) -> Merged<'a> {
        let stricter = [SettingsScope::User, SettingsScope::System];
        if self.allowed.iter().any(|list| stricter.contains(&list.scope)) {
            self.allowed.retain(|list| list.scope != SettingsScope::SystemDefaults);
        }
        if !self.excluded.is_empty() {
            let mut union: Vec<&String> = Vec::new();
            for pattern in self.excluded.iter().flat_map(|list| &list.patterns) {
                if !union.contains(&pattern) {
                    union.push(pattern);
                }
            }
            put(&mut self.value, EXCLUDED, Value::from(union.into_iter().cloned().collect::<Vec<_>>()));
        }
        let options = Options::of(&self.value);
        let Self { value, origins, named, allowed, excluded } = self;
        Merged { value, allowed, excluded, options, origins, named }
    }
}

fn segments(key: &KeyPath) -> Vec<&str> {
    key.segments().iter().map(String::as_str).collect()
}

fn texts(items: &[Value]) -> Vec<String> {
    items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests;
