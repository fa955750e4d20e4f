//! What does the record say about a server entry?
//!
//! Owns the immutable, loaded record and its look-ups. Must not write, wait or lock; the only thing it asks of the
//! file system is where the stored roots lead, once, when it is made.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;

use crate::{
    decision::{Candidate, Decision, Verdict},
    document::{Corrupt, Document},
    hash::ApprovalHash,
    record::{self, Record},
    root::{PathStyle, RootRules, fold},
    shown::Shown,
};

/// The decisions as they stood when the file was read. Cheap to look up in; holds no file open.
///
/// ```
/// use qwen_approvals::{ApprovalHash, Decision, Records};
///
/// let hash = "aae5909971f4c15bb28893e09f9ff19884c9578148b991864e9c45e95c6f9718";
/// let file = format!(r#"{{ "/srv/repo": {{ "files": {{ "hash": "{hash}", "status": "approved" }} }} }}"#);
///
/// let (records, problem) = Records::parse(file.as_bytes());
/// assert!(problem.is_none());
/// let hash: ApprovalHash = hash.parse()?;
/// assert_eq!(records.state("/srv/repo".as_ref(), "files", hash).decision, Decision::Approved);
/// assert_eq!(records.state("/srv/other".as_ref(), "files", hash).decision, Decision::Undecided);
/// # Ok::<(), qwen_approvals::HashTextError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Records {
    style: PathStyle,
    roots: Vec<StoredRoot>,
}

impl Default for Records {
    /// No decision at all.
    fn default() -> Self {
        Records { style: PathStyle::NATIVE, roots: Vec::new() }
    }
}

#[derive(Clone, Debug)]
struct StoredRoot {
    key: String,
    form: String,
    servers: BTreeMap<String, Value>,
}

/// What the record says about one entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// The decision about exactly this entry.
    pub decision: Decision,
    /// When it was made, RFC 3339; `None` when undecided, or where the program that recorded it kept no time.
    pub time: Option<String>,
}

/// One decision of the record, for listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// The project root as stored.
    pub root: String,
    /// The server's name.
    pub server: String,
    /// The approval hash of the entry that was decided about.
    pub hash: ApprovalHash,
    /// The decision.
    pub verdict: Verdict,
    /// When it was made, RFC 3339, if that was recorded.
    pub time: Option<String>,
    /// Whether a later decision about the same name has replaced it. It still counts for its own hash.
    pub standing: Standing,
}

/// Where a decision stands among those of its name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Standing {
    /// The last one.
    Current,
    /// One before the last.
    Earlier,
}

/// Which projects a listing covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Projects<'a> {
    /// The one with this canonical root.
    Of(&'a Path),
    /// Every one.
    All,
}

impl Records {
    /// Reads the bytes of an approvals file. What cannot be read holds no decision, so it approves nothing; why comes
    /// along. Asks the file system where the stored roots lead.
    pub fn parse(bytes: &[u8]) -> (Records, Option<Corrupt>) {
        match Document::parse(bytes) {
            Ok(document) => (Records::of(document, RootRules::NATIVE), None),
            Err(corrupt) => (Records::default(), Some(corrupt)),
        }
    }

    pub(crate) fn of(document: Document, rules: RootRules) -> Records {
        let roots = document.0.into_iter().filter_map(|(key, project)| match project {
            Value::Object(servers) => {
                Some(StoredRoot { form: rules.form(&key), key, servers: servers.into_iter().collect() })
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
        });
        Records { style: rules.style, roots: roots.collect() }
    }

    /// What was decided about the entry with this hash. `root` is the canonical project root; records under other
    /// spellings of it count too, and a rejection under any of them wins.
    pub fn state(&self, root: &Path, server: &str, hash: ApprovalHash) -> Recorded {
        let mut about: Vec<Record> = self
            .nodes(root, server)
            .flat_map(record::decisions)
            .filter(|record| record.hash == hash)
            .collect();
        if about.iter().any(|record| record.verdict == Verdict::Reject) {
            about.retain(|record| record.verdict == Verdict::Reject);
        }
        match newest(about) {
            Some(record) => Recorded { decision: record.verdict.into(), time: record.time },
            None => Recorded { decision: Decision::Undecided, time: None },
        }
    }

    /// What was decided about a candidate, in the form that [`crate::skipped`] and [`crate::promptable`] take.
    pub fn decision<'a>(&'a self, root: &'a Path) -> impl Fn(&Candidate) -> Decision + 'a {
        move |candidate| self.state(root, &candidate.name, candidate.hash).decision
    }

    /// Every decision, by root and name in the order of the file, the current one of a name first.
    pub fn list(&self, projects: Projects<'_>) -> Vec<Listed> {
        let roots: Vec<&StoredRoot> = match projects {
            Projects::Of(root) => self.spellings(root).collect(),
            Projects::All => self.roots.iter().collect(),
        };
        let mut listed = Vec::new();
        for stored in roots {
            for (server, node) in &stored.servers {
                let current = Record::read(node).map(|record| (record, Standing::Current));
                let earlier = record::earlier_decisions(node).map(|record| (record, Standing::Earlier));
                listed.extend(current.into_iter().chain(earlier).map(|(record, standing)| Listed {
                    root: stored.key.clone(),
                    server: server.clone(),
                    hash: record.hash,
                    verdict: record.verdict,
                    time: record.time,
                    standing,
                }));
            }
        }
        listed
    }

    /// The last decision about a name, whatever the entry was, and what was shown for it.
    pub(crate) fn last(&self, root: &Path, server: &str) -> Option<(Record, Option<Shown>)> {
        let heads =
            self.nodes(root, server).filter_map(|node| Some((Record::read(node)?, record::shown(node))));
        heads.reduce(|one, other| if other.0.time > one.0.time { other } else { one })
    }

    fn nodes<'a>(&'a self, root: &Path, server: &'a str) -> impl Iterator<Item = &'a Value> {
        self.spellings(root).filter_map(move |stored| stored.servers.get(server))
    }

    fn spellings(&self, root: &Path) -> impl Iterator<Item = &StoredRoot> + use<'_> {
        // A root that is not text has no records, since no text could stand for it alone.
        let form = root.to_str().map(|root| fold(root, self.style));
        self.roots.iter().filter(move |stored| form.as_deref() == Some(&stored.form))
    }
}

fn newest(records: Vec<Record>) -> Option<Record> {
    records.into_iter().reduce(|one, other| if other.time > one.time { other } else { one })
}
