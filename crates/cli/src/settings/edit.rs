//! What does a settings file say after one edit? Pure functions from text to text: the lines concerned change, every
//! other byte stays, comments, layout, line ends, byte order mark and the order of keys included. They open no file;
//! that is `edit/file.rs`.

mod file;
mod layout;
mod splice;

use jsonc_parser::ast;
use qwen_settings_schema::KeyPath;
use serde_json::{Map, Value};

pub(crate) use self::file::{FileError, NewFile, change_file};
use self::{
    layout::{Layout, Style},
    splice::{Container, Splice, insert, remove, spliced},
};
use super::read::document::{self, ProblemKind};
use crate::settings::source::Place;

/// Why a text cannot be edited.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum EditError {
    /// It is no JSON with comments.
    #[error("understand line {}, column {}: {message}; mend it first, nothing was written", place.line, place.column)]
    Broken {
        /// Where.
        place: Place,
        /// The parser's words.
        message: String,
    },
    /// A key on the way holds something else.
    #[error("edit `{key}`, since it is {found} and not {wanted}; mend it first, nothing was written")]
    WrongType {
        /// Which.
        key: KeyPath,
        /// What it is.
        found: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// The edited text would not have said what was meant.
    #[error("edit it safely; edit it by hand, nothing was written")]
    Unsure,
}

/// The text with `value` at `path`; what stood there is replaced, objects on the way are made.
///
/// # Errors
/// The text is no good, or something on the way is no object.
pub(crate) fn set_entry(text: &str, path: &[&str], value: &Value) -> Result<String, EditError> {
    let Some((key, above)) = path.split_last() else { return Err(EditError::Unsure) };
    edited(
        text,
        |parsed| {
            let (object, missing) = match parsed.find(above)? {
                Found::Object(object) => (object, &above[above.len()..]),
                Found::Missing { inside, missing } => (inside, missing),
            };
            let Some(object) = object else {
                return Ok(vec![parsed.new_root(path, value)]);
            };
            if let Some((first, rest)) = missing.split_first() {
                let nested =
                    rest.iter().chain([key]).rev().fold(value.clone(), |value, key| wrapped(key, value));
                return Ok(insert(&parsed.style, &object.container(), &|layout| {
                    parsed.style.property(first, &nested, layout)
                }));
            }
            match last_property(object.ast, key) {
                None => Ok(insert(&parsed.style, &object.container(), &|layout| {
                    parsed.style.property(key, value, layout)
                })),
                Some(property) => {
                    let start = property.range.start;
                    let indent = parsed.style.indent_of(start).to_owned();
                    let layout = if parsed.style.starts_line(start) {
                        Layout::Lines(&indent)
                    } else {
                        Layout::OneLine
                    };
                    Ok(vec![Splice::replace(range_of(&property.value), parsed.style.value(value, layout))])
                }
            }
        },
        |root| {
            if let Some(object) = object_at(root, above) {
                object.insert((*key).to_owned(), value.clone());
            }
        },
    )
}

/// The text without the entry at `path`, wherever in its object it stands.
///
/// # Errors
/// The text is no good, or something on the way is no object.
pub(crate) fn remove_entry(text: &str, path: &[&str]) -> Result<String, EditError> {
    let Some((key, above)) = path.split_last() else { return Err(EditError::Unsure) };
    let mut text = text.to_owned();
    // One at a time: a key may stand there more than once.
    loop {
        let next = edited_once(&text, |parsed| {
            let Found::Object(Some(object)) = parsed.find(above)? else { return Ok(Vec::new()) };
            let found = object.ast.properties.iter().position(|property| property.name.as_str() == *key);
            Ok(found.map_or_else(Vec::new, |index| remove(&parsed.style, &object.container(), index)))
        })?;
        if next == text {
            break;
        }
        text = next;
    }
    Ok(text)
}

/// The text with `item` at the end of the list at `path`, unless it stands there already; the list is made if it is
/// missing.
///
/// # Errors
/// The text is no good, or something on the way is of another kind.
pub(crate) fn add_to_list(text: &str, path: &[&str], item: &str) -> Result<String, EditError> {
    let Some((key, above)) = path.split_last() else { return Err(EditError::Unsure) };
    let parsed = Parsed::of(text)?;
    let list = match parsed.find(above)? {
        Found::Object(Some(object)) => list_at(&object, path, key)?,
        Found::Object(None) | Found::Missing { .. } => None,
    };
    match list {
        None => set_entry(text, path, &Value::from(vec![item])),
        Some(list) if list.ast.elements.iter().any(|element| holds(element, item)) => Ok(text.to_owned()),
        Some(_) => edited(
            text,
            |parsed| {
                let Found::Object(Some(object)) = parsed.find(above)? else { return Ok(Vec::new()) };
                let Some(list) = list_at(&object, path, key)? else { return Ok(Vec::new()) };
                let item = Value::from(item);
                Ok(insert(&parsed.style, &list.container(), &|layout| parsed.style.value(&item, layout)))
            },
            |root| {
                if let Some(Value::Array(items)) =
                    object_at(root, above).and_then(|object| object.get_mut(*key))
                {
                    items.push(Value::from(item));
                }
            },
        ),
    }
}

/// The text with every element of the list at `path` removed that is `item`, blanks around it aside.
///
/// # Errors
/// The text is no good, or something on the way is of another kind.
pub(crate) fn remove_from_list(text: &str, path: &[&str], item: &str) -> Result<String, EditError> {
    let Some((key, above)) = path.split_last() else { return Err(EditError::Unsure) };
    let mut text = text.to_owned();
    loop {
        let next = edited_once(&text, |parsed| {
            let Found::Object(Some(object)) = parsed.find(above)? else { return Ok(Vec::new()) };
            let Some(list) = list_at(&object, path, key)? else { return Ok(Vec::new()) };
            let found = list.ast.elements.iter().position(|element| holds(element, item));
            Ok(found.map_or_else(Vec::new, |index| remove(&parsed.style, &list.container(), index)))
        })?;
        if next == text {
            break;
        }
        text = next;
    }
    Ok(text)
}

/// Whether an element of a list of patterns is this text; blanks around a pattern do not count.
fn holds(element: &ast::Value<'_>, item: &str) -> bool {
    element.as_string_lit().is_some_and(|text| text.value.trim() == item.trim())
}

/// The root object that a text stands for.
///
/// # Errors
/// The text is no good.
pub(crate) fn root_of(text: &str) -> Result<Map<String, Value>, EditError> {
    let parsed = document::parse(without_mark(text));
    let fatal = parsed.problems.iter().find(|problem| problem.kind.is_fatal());
    match (parsed.root, fatal) {
        (Some(root), _) => Ok(root),
        (None, fatal) => Err(fatal.map_or(EditError::Unsure, |problem| EditError::Broken {
            place: problem.place,
            message: match &problem.kind {
                ProblemKind::Syntax { message, .. } => message.clone(),
                ProblemKind::RootNotObject { found } => format!("the root is {found}, not an object"),
                ProblemKind::TooDeep => "it is nested too deep".to_owned(),
                ProblemKind::DuplicateKey { .. } => "a key stands there twice".to_owned(),
            },
        })),
    }
}

/// The line on which a key stands, from 1; that of the nearest key above it where it does not.
pub(crate) fn line_of(text: &str, path: &[&str]) -> Option<u32> {
    document::parse(without_mark(text)).positions.nearest(path).map(|place| place.line)
}

const MARK: &str = "\u{feff}";

fn without_mark(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// Edits a text and looks whether it then says what was meant: a splice at a wrong place is an error, never a file.
fn edited(
    text: &str,
    splices: impl FnOnce(&Parsed<'_>) -> Result<Vec<Splice>, EditError>,
    meaning: impl FnOnce(&mut Map<String, Value>),
) -> Result<String, EditError> {
    let mut meant = root_of(text)?;
    meaning(&mut meant);
    let edited = edited_once(text, splices)?;
    if root_of(&edited)? == meant { Ok(edited) } else { Err(EditError::Unsure) }
}

fn edited_once(
    text: &str,
    splices: impl FnOnce(&Parsed<'_>) -> Result<Vec<Splice>, EditError>,
) -> Result<String, EditError> {
    let body = without_mark(text);
    let parsed = Parsed::of(text)?;
    let edited = spliced(body, splices(&parsed)?);
    root_of(&edited).map_err(|_| EditError::Unsure)?;
    let mark = &text[..text.len() - body.len()];
    Ok(format!("{mark}{edited}"))
}

/// A text with its tree.
struct Parsed<'a> {
    style: Style<'a>,
    root: Option<ast::Object<'a>>,
}

/// Where a path leads.
enum Found<'p, 'k> {
    /// To this object; `None` is the root of a text that has none.
    Object(Option<Node<'p, ast::Object<'p>>>),
    /// Only to this object, in which the first of the missing keys does not stand.
    Missing { inside: Option<Node<'p, ast::Object<'p>>>, missing: &'k [&'k str] },
}

/// An object or list with the start of the property whose value it is.
struct Node<'p, T> {
    ast: &'p T,
    owner: Option<usize>,
}

impl Node<'_, ast::Object<'_>> {
    fn container(&self) -> Container {
        let items = self.ast.properties.iter().map(|property| (property.range.start, property.range.end));
        Container::object(self.ast.range.start, self.ast.range.end, self.owner, items.collect())
    }
}

impl Node<'_, ast::Array<'_>> {
    fn container(&self) -> Container {
        let items = self.ast.elements.iter().map(|element| {
            let range = range_of(element);
            (range.start, range.end)
        });
        Container::list(self.ast.range.start, self.ast.range.end, self.owner, items.collect())
    }
}

impl<'a> Parsed<'a> {
    fn of(text: &'a str) -> Result<Self, EditError> {
        root_of(text)?;
        let text = without_mark(text);
        let options = jsonc_parser::CollectOptions::default();
        let parsed = jsonc_parser::parse_to_ast(text, &options, &document::strict());
        let root = match parsed.map_err(|_| EditError::Unsure)?.value {
            None => None,
            Some(ast::Value::Object(object)) => Some(object),
            Some(
                ast::Value::Array(_)
                | ast::Value::StringLit(_)
                | ast::Value::NumberLit(_)
                | ast::Value::BooleanLit(_)
                | ast::Value::NullKeyword(_),
            ) => return Err(EditError::Unsure),
        };
        let first = root.as_ref().and_then(|root| root.properties.first()).map(|first| first.range.start);
        Ok(Self { style: Style::of(text, first), root })
    }

    /// Of a key that stands somewhere twice the last counts, as everywhere.
    fn find<'k>(&'a self, path: &'k [&'k str]) -> Result<Found<'a, 'k>, EditError> {
        let Some(root) = &self.root else {
            return Ok(match path {
                [] => Found::Object(None),
                missing => Found::Missing { inside: None, missing },
            });
        };
        let mut node = Node { ast: root, owner: None };
        for (depth, key) in path.iter().enumerate() {
            let Some(property) = last_property(node.ast, key) else {
                return Ok(Found::Missing { inside: Some(node), missing: &path[depth..] });
            };
            let ast::Value::Object(object) = &property.value else {
                return Err(wrong_type(&path[..=depth], &property.value, "an object"));
            };
            node = Node { ast: object, owner: Some(property.range.start) };
        }
        Ok(Found::Object(Some(node)))
    }

    /// A whole document for a text that holds nothing but white space and comments.
    fn new_root(&self, path: &[&str], value: &Value) -> Splice {
        let text = self.style.text();
        let root = path.iter().rev().fold(value.clone(), |value, key| wrapped(key, value));
        let newline = self.style.newline();
        let kept = text.trim_end().len();
        let gap = if kept == 0 { "" } else { newline };
        let value = self.style.value(&root, Layout::Lines(""));
        // White space alone is not worth keeping; after a comment the object begins a line.
        Splice::replace(kept..text.len(), format!("{gap}{value}{newline}"))
    }
}

fn last_property<'p, 'a>(object: &'p ast::Object<'a>, key: &str) -> Option<&'p ast::ObjectProp<'a>> {
    object.properties.iter().rev().find(|property| property.name.as_str() == key)
}

fn list_at<'p>(
    object: &Node<'p, ast::Object<'p>>,
    path: &[&str],
    key: &str,
) -> Result<Option<Node<'p, ast::Array<'p>>>, EditError> {
    match last_property(object.ast, key) {
        None => Ok(None),
        Some(property) => match &property.value {
            ast::Value::Array(list) => Ok(Some(Node { ast: list, owner: Some(property.range.start) })),
            other @ (ast::Value::Object(_)
            | ast::Value::StringLit(_)
            | ast::Value::NumberLit(_)
            | ast::Value::BooleanLit(_)
            | ast::Value::NullKeyword(_)) => Err(wrong_type(path, other, "a list")),
        },
    }
}

fn wrong_type(path: &[&str], found: &ast::Value<'_>, wanted: &'static str) -> EditError {
    let key = KeyPath::new(path.iter().map(|&segment| segment.to_owned()));
    EditError::WrongType { key, found: document::kind_of(found), wanted }
}

fn range_of(value: &ast::Value<'_>) -> std::ops::Range<usize> {
    use jsonc_parser::common::Ranged as _;
    let range = value.range();
    range.start..range.end
}

fn wrapped(key: &str, value: Value) -> Value {
    Value::Object([(key.to_owned(), value)].into_iter().collect())
}

/// The object at a path, made where it is missing.
fn object_at<'v>(root: &'v mut Map<String, Value>, path: &[&str]) -> Option<&'v mut Map<String, Value>> {
    path.iter().try_fold(root, |object, &key| {
        object.entry(key).or_insert_with(|| Value::Object(Map::new())).as_object_mut()
    })
}

#[cfg(test)]
mod tests;
