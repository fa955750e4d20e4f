//! What does a server offer at this moment? Owns the walk over the pages of its lists, with its guards, and the three
//! lists as they were last read; knows no time limit for the walk but the one it is given.

use std::{collections::HashSet, sync::Arc};

use futures::TryFutureExt;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::{
    items::{self, Sorted},
    peer::{Abandoned, AskError, Asker, Beside},
    tap::Lists,
};
use crate::{
    failure::Failure,
    inventory::{Inventory, Listing, Prompt, Resource, Tool},
    protocol::{Offer, Offers},
    said::Said,
};

/// Neither more items nor more pages of one list.
const MOST: usize = 10_000;
/// Nor more bytes of one list, over all of its pages.
const LARGEST: usize = 64 * 1024 * 1024;

/// The three lists as they were last read.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Offered {
    tools: Part<Tool>,
    prompts: Part<Prompt>,
    resources: Part<Resource>,
    instructions: Option<String>,
}

#[derive(Clone, PartialEq, Debug)]
struct Part<T> {
    listing: Listing<T>,
    warnings: Vec<String>,
}

/// Why the lists are not enough to go live with.
#[derive(Debug)]
pub(super) enum NoList {
    /// The tools did not come in time.
    Late,
    /// The connection went away.
    Gone(String),
    /// The server did not answer in the protocol's own way, and may do so the next time.
    Unanswered(Failure),
}

/// Reads all lists that are worth asking for, side by side. Tools are needed, and asked for first, so that a server which
/// answers one request at a time answers that one before it is slow with another; later pages of its tools must wait for
/// the others. A prompt or resource list that does not come in time is only a failed list.
pub(super) async fn all(
    asker: &Asker,
    offers: Offers,
    instructions: Option<String>,
    deadline: Instant,
) -> Result<Offered, NoList> {
    let tools = async {
        match timeout_at(deadline, pages(asker, "tools/list", "tools")).await {
            Ok(Err(Stopped::Unanswered(failure))) => Err(NoList::Unanswered(failure)),
            Ok(walked) => tools(asker, walked).map_err(NoList::Gone),
            Err(_) => Err(NoList::Late),
        }
    };
    let (tools, prompts, resources) = tokio::try_join!(
        biased;
        tools,
        prompts(asker, offers, deadline).map_err(NoList::Gone),
        resources(asker, offers, deadline).map_err(NoList::Gone),
    )?;
    Ok(Offered { tools, prompts, resources, instructions })
}

impl Offered {
    /// Reads some of the lists again. A list that cannot be read again stays as it was, with a warning; an error means
    /// that the connection went away.
    pub(super) async fn refreshed(
        &self,
        asker: &Asker,
        offers: Offers,
        lists: Lists,
        deadline: Instant,
    ) -> Result<Self, String> {
        let mut next = self.clone();
        if lists.contains(Lists::TOOLS) {
            let walked = timeout_at(deadline, pages(asker, "tools/list", "tools")).await;
            next.tools.replace(tools(asker, walked.unwrap_or_else(|_| late("tools/list")))?);
        }
        if lists.contains(Lists::PROMPTS) {
            next.prompts.replace(prompts(asker, offers, deadline).await?);
        }
        if lists.contains(Lists::RESOURCES) {
            next.resources.replace(resources(asker, offers, deadline).await?);
        }
        Ok(next)
    }

    /// The lists as others see them.
    pub(super) fn inventory(&self) -> Arc<Inventory> {
        let warnings = [&self.tools.warnings, &self.prompts.warnings, &self.resources.warnings];
        Arc::new(Inventory {
            tools: self.tools.listing.clone(),
            prompts: self.prompts.listing.clone(),
            resources: self.resources.listing.clone(),
            warnings: warnings.into_iter().flatten().cloned().collect(),
            instructions: self.instructions.clone(),
        })
    }
}

impl<T> Part<T> {
    fn new(listing: Listing<T>) -> Self {
        Self { listing, warnings: Vec::new() }
    }

    fn replace(&mut self, next: Self) {
        match (&self.listing, next.listing) {
            (Listing::Listed(_), Listing::Failed(why)) => {
                self.warnings = vec![format!("the list changed and could not be read again: {why}")];
            }
            (_, listing) => *self = Self { listing, warnings: next.warnings },
        }
    }
}

fn tools(asker: &Asker, walked: Walked) -> Result<Part<Tool>, String> {
    part(walked, |found| items::tools(found, asker.marks()), asker.said())
}

async fn prompts(asker: &Asker, offers: Offers, deadline: Instant) -> Result<Part<Prompt>, String> {
    match offers.prompts {
        Offer::NotDeclared => Ok(Part::new(Listing::NotOffered)),
        Offer::Asked => {
            let walked = timeout_at(deadline, pages(asker, "prompts/list", "prompts")).await;
            part(walked.unwrap_or_else(|_| late("prompts/list")), items::prompts, asker.said())
        }
    }
}

async fn resources(asker: &Asker, offers: Offers, deadline: Instant) -> Result<Part<Resource>, String> {
    match offers.resources {
        Offer::NotDeclared => Ok(Part::new(Listing::NotOffered)),
        Offer::Asked => {
            let walked = timeout_at(deadline, pages(asker, "resources/list", "resources")).await;
            part(walked.unwrap_or_else(|_| late("resources/list")), items::resources, asker.said())
        }
    }
}

/// All items of a list, or why there are none.
type Walked = Result<(Vec<Value>, Option<String>), Stopped>;

#[derive(Debug)]
enum Stopped {
    NotOffered,
    Failed(String),
    Unanswered(Failure),
    Gone(String),
}

fn late(method: &str) -> Walked {
    Err(Stopped::Failed(format!("no answer to {method} in time")))
}

fn part<T>(walked: Walked, sort: impl Fn(Vec<Value>) -> Sorted<T>, said: &Said) -> Result<Part<T>, String> {
    match walked {
        Ok((items, warning)) => {
            let sorted = sort(items);
            // They name what the server called its items.
            let warnings = [warning, sorted.warning].into_iter().flatten();
            let warnings = warnings.map(|warning| said.masked(&warning)).collect();
            Ok(Part { listing: Listing::Listed(sorted.items), warnings })
        }
        Err(Stopped::NotOffered) => Ok(Part::new(Listing::NotOffered)),
        Err(Stopped::Failed(why)) => Ok(Part::new(Listing::Failed(why))),
        Err(Stopped::Unanswered(failure)) => Ok(Part::new(Listing::Failed(failure.message))),
        Err(Stopped::Gone(why)) => Err(why),
    }
}

/// Walks over the pages. A page that fails makes the whole list fail: a part of it would pass for all.
async fn pages(asker: &Asker, method: &str, key: &str) -> Walked {
    let mut walk = Walk::new(key);
    let mut cursor = None;
    loop {
        let params = cursor.map(|cursor| json!({ "cursor": cursor }));
        let page = asker.answer(method, params, Abandoned::Told).await.map_err(|error| match error {
            AskError::Gone(why) => Stopped::Gone(why),
            AskError::Unanswered { failure, .. } => Stopped::Unanswered(failure),
            refused if refused.is_unknown_method() && walk.pages == 0 => Stopped::NotOffered,
            AskError::Refused { beside: Some(Beside { failure, .. }), .. } => Stopped::Unanswered(failure),
            refused @ AskError::Refused { .. } => Stopped::Failed(format!("{method}: {refused}")),
        })?;
        match walk.take(page).map_err(Stopped::Failed)? {
            Next::Page(next) => cursor = Some(next),
            Next::End(warning) => return Ok((walk.items, warning)),
        }
    }
}

/// A walk over pages, without the asking.
struct Walk<'a> {
    key: &'a str,
    items: Vec<Value>,
    pages: usize,
    /// So large were the pages, as JSON.
    bytes: Size,
    seen: HashSet<String>,
}

/// Counts what is written.
struct Size(usize);

impl std::io::Write for Size {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[derive(PartialEq, Debug)]
enum Next {
    Page(Value),
    /// No more pages, with a word where they ended in an odd way.
    End(Option<String>),
}

impl<'a> Walk<'a> {
    fn new(key: &'a str) -> Self {
        Self { key, items: Vec::new(), pages: 0, bytes: Size(0), seen: HashSet::new() }
    }

    fn take(&mut self, page: Value) -> Result<Next, String> {
        let key = self.key;
        // A value can always be written, and a number takes whatever is written.
        serde_json::to_writer(&mut self.bytes, &page).ok();
        if self.bytes.0 > LARGEST {
            let (used, most) = (self.items.len(), LARGEST / 1024 / 1024);
            return Ok(Next::End(Some(format!(
                "only the first {used} {key} are used: the list is larger than {most} MiB"
            ))));
        }
        let Value::Object(mut page) = page else {
            return Err(format!("the answer to {key}/list is no object"));
        };
        match page.remove(key) {
            Some(Value::Array(items)) => self.items.extend(items),
            Some(Value::Null) | None => {}
            Some(_) => return Err(format!("the answer to {key}/list holds no list of {key}")),
        }
        self.pages += 1;
        if self.items.len() > MOST {
            self.items.truncate(MOST);
            return Ok(Next::End(Some(format!("only the first {MOST} {key} are used"))));
        }
        let cursor = match page.remove("nextCursor") {
            None | Some(Value::Null) => return Ok(Next::End(None)),
            Some(Value::String(text)) if text.is_empty() => {
                return Ok(Next::End(Some(format!(
                    "the server ended its list of {key} with an empty cursor"
                ))));
            }
            Some(cursor) => cursor,
        };
        if !self.seen.insert(cursor.to_string()) {
            return Ok(Next::End(Some(format!(
                "the server repeats a page of its {key}; the list ends there"
            ))));
        }
        if self.pages >= MOST {
            return Ok(Next::End(Some(format!("only the first {MOST} pages of {key} are used"))));
        }
        Ok(Next::Page(cursor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks over pages that a function makes of their number; gives items, pages and the last word.
    fn walk(page: impl Fn(usize) -> Value) -> Result<(usize, usize, Option<String>), String> {
        let mut walk = Walk::new("tools");
        loop {
            match walk.take(page(walk.pages))? {
                Next::Page(_) => {}
                Next::End(warning) => return Ok((walk.items.len(), walk.pages, warning)),
            }
        }
    }

    #[test]
    fn every_walk_ends_and_an_odd_end_is_told() {
        assert_eq!(walk(|_| json!({"tools": [1, 2]})), Ok((2, 1, None)));
        assert_eq!(walk(|_| json!({"tools": null, "nextCursor": null})), Ok((0, 1, None)));
        assert_eq!(walk(|_| json!({})), Ok((0, 1, None)));
        let three = |n| json!({"tools": [n], "nextCursor": if n < 2 { json!(n) } else { json!(null) }});
        assert_eq!(walk(three), Ok((3, 3, None)));

        let odd = |walked: Result<(usize, usize, Option<String>), String>| {
            let (items, pages, warning) = walked.unwrap();
            (items, pages, warning.unwrap())
        };
        let same = odd(walk(|_| json!({"tools": [1], "nextCursor": "a"})));
        assert_eq!((same.0, same.1), (2, 2));
        assert!(same.2.contains("repeats a page"));
        let circle = odd(walk(|n| json!({"tools": [1], "nextCursor": n % 3})));
        assert_eq!(circle.1, 4);
        let empty = odd(walk(|_| json!({"tools": [1], "nextCursor": ""})));
        assert_eq!((empty.0, empty.1), (1, 1));
        let endless = odd(walk(|n| json!({"tools": [1], "nextCursor": n})));
        assert_eq!((endless.0, endless.1), (MOST, MOST));
        let hollow = odd(walk(|n| json!({"tools": [], "nextCursor": n})));
        assert_eq!((hollow.0, hollow.1), (0, MOST));
        let full = odd(walk(|n| json!({"tools": vec![0; 9000], "nextCursor": n})));
        assert_eq!((full.0, full.1), (MOST, 2));
    }

    #[test]
    fn a_list_that_is_too_large_ends_with_the_page_before_and_a_word() {
        let text = "x".repeat(15 * 1024 * 1024);
        let (items, pages, warning) = walk(|n| json!({"tools": [text], "nextCursor": n})).unwrap();
        assert_eq!((items, pages), (4, 4));
        assert_eq!(warning.unwrap(), "only the first 4 tools are used: the list is larger than 64 MiB");
    }

    #[test]
    fn an_answer_without_a_list_fails_the_list() {
        for page in [json!("text"), json!([]), json!({"tools": {}}), json!({"tools": "x"})] {
            assert!(walk(|_| page.clone()).is_err(), "{page}");
        }
    }

    #[test]
    fn a_list_that_cannot_be_read_again_stays_with_a_warning() {
        let mut part = Part::new(Listing::Listed(vec![Arc::new(1)]));
        part.replace(Part::new(Listing::Failed("late".to_owned())));
        assert_eq!(part.listing.items().len(), 1);
        assert_eq!(part.warnings, ["the list changed and could not be read again: late"]);
        part.replace(Part::new(Listing::NotOffered));
        assert_eq!(part, Part::new(Listing::NotOffered));
    }
}
