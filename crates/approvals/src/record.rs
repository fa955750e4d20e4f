//! What does one stored record look like, and which decisions does it hold?
//!
//! Owns the shape of a server's node in the file: the current decision, what was shown for it, and the `earlier`
//! ones. What does not have the shape is no decision and is left alone. Must not know files, roots or locks.

use serde_json::{Map, Value};

use crate::{decision::Verdict, hash::ApprovalHash, shown::Shown, time};

/// The most decisions kept in `earlier`.
pub(crate) const EARLIER_MAX: usize = 20;

const HASH: &str = "hash";
const STATUS: &str = "status";
const TIME: &str = "time";
const SHOWN: &str = "shown";
const EARLIER: &str = "earlier";

/// One decision that a user made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    pub(crate) hash: ApprovalHash,
    pub(crate) verdict: Verdict,
    /// RFC 3339; absent in records of programs that keep no time.
    pub(crate) time: Option<String>,
}

impl Record {
    /// The decision at the head of a node, or an element of `earlier`; `None` for every other shape.
    pub(crate) fn read(value: &Value) -> Option<Record> {
        let hash = value.get(HASH)?.as_str()?.parse().ok()?;
        let verdict = match value.get(STATUS)?.as_str()? {
            "approved" => Verdict::Approve,
            "rejected" => Verdict::Reject,
            _ => return None,
        };
        let time = value.get(TIME).and_then(Value::as_str).and_then(time::checked);
        Some(Record { hash, verdict, time })
    }

    fn write(&self) -> Map<String, Value> {
        let status = match self.verdict {
            Verdict::Approve => "approved",
            Verdict::Reject => "rejected",
        };
        let mut fields = Map::new();
        fields.insert(HASH.to_owned(), self.hash.to_string().into());
        fields.insert(STATUS.to_owned(), status.into());
        if let Some(time) = &self.time {
            fields.insert(TIME.to_owned(), time.as_str().into());
        }
        fields
    }
}

/// Every decision of a node: the current one first, then the earlier ones, the newest first.
pub(crate) fn decisions(node: &Value) -> impl Iterator<Item = Record> {
    Record::read(node).into_iter().chain(earlier(node).iter().filter_map(Record::read))
}

/// The decisions of a node that others have replaced, the newest first.
pub(crate) fn earlier_decisions(node: &Value) -> impl Iterator<Item = Record> {
    earlier(node).iter().filter_map(Record::read)
}

/// What was shown for the current decision, as far as it was kept.
pub(crate) fn shown(node: &Value) -> Option<Shown> {
    Shown::read(node.get(SHOWN)?)
}

fn earlier(node: &Value) -> &[Value] {
    node.get(EARLIER).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A node with a new current decision. The one it replaces goes to the front of `earlier`; the hash that is decided
/// stands once; fields that are not ours stay.
pub(crate) fn with_decision(node: Option<&Value>, record: &Record, shown: Option<&Shown>) -> Value {
    let replaced = node.and_then(Record::read).map(|replaced| Value::Object(replaced.write()));
    let kept = node.map_or(&[][..], earlier).iter().cloned();
    let earlier = replaced.into_iter().chain(kept).filter(|value| !is_about(value, record.hash));
    assemble(record, shown, earlier.take(EARLIER_MAX).collect(), foreign_fields(node))
}

/// A node without its decisions about a hash: an earlier one takes the place of the current one. `None` when nothing
/// is left.
pub(crate) fn without_hash(node: &Value, hash: ApprovalHash) -> Option<Value> {
    if !decisions(node).any(|record| record.hash == hash) {
        return Some(node.clone());
    }
    let mut earlier: Vec<Value> =
        earlier(node).iter().filter(|value| !is_about(value, hash)).cloned().collect();
    match Record::read(node).filter(|current| current.hash != hash) {
        Some(current) => Some(assemble(&current, shown(node).as_ref(), earlier, foreign_fields(Some(node)))),
        None => match earlier.iter().position(|value| Record::read(value).is_some()) {
            Some(index) => {
                let promoted = Record::read(&earlier.remove(index))?;
                Some(assemble(&promoted, None, earlier, foreign_fields(Some(node))))
            }
            None => {
                let foreign = foreign_fields(Some(node));
                (!foreign.is_empty()).then_some(Value::Object(foreign))
            }
        },
    }
}

/// Two nodes of one server in one: the first one's decision stays current, the other's are earlier ones. Where both
/// decided about one hash, a rejection stands.
pub(crate) fn merged(first: &Value, second: &Value) -> Value {
    let mut all: Vec<Record> = Vec::new();
    for record in decisions(first).chain(decisions(second)) {
        match all.iter_mut().find(|known| known.hash == record.hash) {
            Some(known) if record.verdict == Verdict::Reject && known.verdict == Verdict::Approve => {
                *known = record
            }
            Some(_) => {}
            None => all.push(record),
        }
    }
    let mut foreign = foreign_fields(Some(second));
    foreign.extend(foreign_fields(Some(first)));
    let mut all = all.into_iter();
    match all.next() {
        Some(current) => {
            let earlier = all.take(EARLIER_MAX).map(|record| Value::Object(record.write())).collect();
            assemble(&current, shown(first).as_ref(), earlier, foreign)
        }
        None => first.clone(),
    }
}

fn is_about(value: &Value, hash: ApprovalHash) -> bool {
    Record::read(value).is_some_and(|record| record.hash == hash)
}

fn foreign_fields(node: Option<&Value>) -> Map<String, Value> {
    let fields = node.and_then(Value::as_object).into_iter().flatten();
    fields
        .filter(|(key, _)| ![HASH, STATUS, TIME, SHOWN, EARLIER].contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn assemble(
    current: &Record,
    shown: Option<&Shown>,
    earlier: Vec<Value>,
    foreign: Map<String, Value>,
) -> Value {
    let mut fields = current.write();
    if let Some(shown) = shown {
        fields.insert(SHOWN.to_owned(), shown.write());
    }
    if !earlier.is_empty() {
        fields.insert(EARLIER.to_owned(), earlier.into());
    }
    fields.extend(foreign);
    Value::Object(fields)
}
