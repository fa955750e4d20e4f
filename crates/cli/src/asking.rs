//! Which question is asked now, and what does an answer mean? The queue is recomputed from what waits at each moment;
//! an answer names the server and the hash it was given for. It prints nothing and decides nothing by itself.

use std::collections::BTreeSet;

use qwen_approvals::{ApprovalHash, Verdict};
use qwen_core::{FolderTrust, ServerName};

use crate::{
    derive::{Derived, FolderQuestion, Promptable},
    hot_reload::Answer,
};

/// What a person is asked.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    /// Whether the project's folder is trusted.
    Folder,
    /// Whether a server may run.
    Server(Box<Promptable>),
    /// Whether all of these may run; each was shown.
    Servers(Vec<Promptable>),
}

/// What is to be done with an answer.
#[derive(Clone)]
pub(crate) enum Reply {
    /// Record these decisions.
    Decide(Vec<Answer>),
    /// Record whether the folder is trusted.
    Trust(FolderWord),
    /// Nothing: it stays undecided and is not asked again in this session.
    NotNow,
    /// Show all of these before they are approved together.
    ShowAll(Vec<Promptable>),
    /// The answer was not understood.
    Again,
    /// Nothing was asked.
    Nothing,
}

/// What a person says to a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    /// Yes.
    Yes,
    /// Yes to everything that waits; where everything was shown, the same as yes.
    All,
    /// No.
    Reject,
    /// Neither.
    NotNow,
}

impl Said {
    /// What a typed line says; `None` where it says nothing.
    fn of(line: &str) -> Option<Self> {
        Some(match line.trim().to_lowercase().as_str() {
            "y" | "yes" => Self::Yes,
            "a" | "all" => Self::All,
            "r" | "reject" => Self::Reject,
            "" | "n" | "no" | "not now" => Self::NotNow,
            _ => return None,
        })
    }
}

/// What was said about the folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FolderWord {
    /// It is trusted.
    Trust,
    /// It is not.
    Distrust,
}

/// The question that stands and the ones that were put off.
#[derive(Default)]
pub(crate) struct Asking {
    current: Option<Asked>,
    put_off: BTreeSet<(ServerName, String)>,
    /// Decided here, and not yet seen in what is derived.
    answered: BTreeSet<(ServerName, String)>,
    folder: FolderAsked,
}

/// Whether the folder was asked about in this session.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum FolderAsked {
    #[default]
    NotYet,
    /// What was said is on its way into the record, or the person put it off.
    Once,
    /// The person wants to be asked again.
    Again,
}

impl Asking {
    /// The question that should be shown now, if it is another one than before.
    pub(crate) fn next(&mut self, derived: &Derived) -> Option<Asked> {
        let waits = |name: &ServerName, hash: &str| {
            derived.promptable.get(name).is_some_and(|asked| asked.hash == hash)
        };
        // Once it has been seen as decided, a revoked decision is asked about again.
        self.answered.retain(|(name, hash)| waits(name, hash));
        // Whoever wanted to be asked has an answer, given elsewhere.
        if self.folder == FolderAsked::Again && derived.folder == FolderTrust::Trusted {
            self.folder = FolderAsked::Once;
        }
        if self.still_stands(derived) {
            return None;
        }
        let wanted = self.wanted(derived);
        if self.stands(wanted.as_ref()) {
            return None;
        }
        self.current = wanted;
        self.current.clone()
    }

    /// The question that stands.
    pub(crate) fn current(&self) -> Option<&Asked> {
        self.current.as_ref()
    }

    /// Whether a person put a server off as it was then; what waits is still counted.
    pub(crate) fn is_put_off(&self, asked: &Promptable) -> bool {
        self.put_off.contains(&(asked.name.clone(), asked.hash.clone()))
    }

    /// Whether a question stands.
    pub(crate) fn is_open(&self) -> bool {
        self.current.is_some()
    }

    /// The folder is asked about again, unless it is trusted, whatever was said before.
    pub(crate) fn ask_about_folder(&mut self) {
        self.folder = FolderAsked::Again;
    }

    /// Takes a line that was typed.
    pub(crate) fn answer(&mut self, line: &str, derived: &Derived) -> Reply {
        match (&self.current, Said::of(line)) {
            (None, _) => Reply::Nothing,
            (Some(_), Some(said)) => self.say(said, derived),
            // Back to one at a time.
            (Some(Asked::Servers(_)), None) => self.say(Said::NotNow, derived),
            (Some(Asked::Folder | Asked::Server(_)), None) => Reply::Again,
        }
    }

    /// Takes an answer to the question that stands.
    pub(crate) fn say(&mut self, said: Said, derived: &Derived) -> Reply {
        let Some(asked) = self.current.clone() else { return Reply::Nothing };
        let reply = match (asked, said) {
            (Asked::Folder, Said::Yes) => Reply::Trust(FolderWord::Trust),
            (Asked::Folder, Said::Reject) => Reply::Trust(FolderWord::Distrust),
            (Asked::Folder, Said::All) => Reply::Again,
            (Asked::Server(asked), Said::Yes) => Reply::Decide(decisions([&*asked], Verdict::Approve)),
            (Asked::Server(_), Said::All) => {
                let all: Vec<Promptable> = derived.promptable.values().cloned().collect();
                self.current = Some(Asked::Servers(all.clone()));
                return Reply::ShowAll(all);
            }
            (Asked::Server(asked), Said::Reject) => Reply::Decide(decisions([&*asked], Verdict::Reject)),
            (Asked::Server(asked), Said::NotNow) => {
                self.put_off.insert((asked.name.clone(), asked.hash.clone()));
                Reply::NotNow
            }
            (Asked::Servers(all), Said::Yes) => Reply::Decide(decisions(&all, Verdict::Approve)),
            // Back to one at a time.
            (Asked::Servers(_), Said::All | Said::Reject | Said::NotNow) | (Asked::Folder, Said::NotNow) => {
                Reply::NotNow
            }
        };
        match &reply {
            Reply::Again | Reply::ShowAll(_) => return reply,
            Reply::Decide(answers) => {
                self.answered.extend(answers.iter().map(|a| (a.server.clone(), a.hash.to_string())));
            }
            Reply::Trust(_) | Reply::NotNow | Reply::Nothing => {}
        }
        if matches!(self.current.take(), Some(Asked::Folder)) {
            self.folder = FolderAsked::Once;
        }
        reply
    }

    /// Whether what was shown still waits as it was shown: a question does not change under the fingers of somebody who
    /// answers it because another one came in.
    fn still_stands(&self, derived: &Derived) -> bool {
        let waits = |shown: &Promptable| {
            derived.promptable.get(&shown.name).is_some_and(|asked| asked.hash == shown.hash)
        };
        match &self.current {
            Some(Asked::Servers(all)) => all.iter().all(waits),
            Some(Asked::Server(asked)) => waits(asked) && !self.folder_is_due(derived),
            Some(Asked::Folder) | None => false,
        }
    }

    fn folder_is_due(&self, derived: &Derived) -> bool {
        match self.folder {
            FolderAsked::NotYet => derived.folder_question == FolderQuestion::Ask,
            FolderAsked::Once => false,
            FolderAsked::Again => derived.folder == FolderTrust::Untrusted,
        }
    }

    fn wanted(&self, derived: &Derived) -> Option<Asked> {
        if self.folder_is_due(derived) {
            return Some(Asked::Folder);
        }
        let done = |asked: &Promptable| {
            let key = (asked.name.clone(), asked.hash.clone());
            self.put_off.contains(&key) || self.answered.contains(&key)
        };
        derived
            .promptable
            .values()
            .find(|asked| !done(asked))
            .map(|asked| Asked::Server(Box::new(asked.clone())))
    }

    fn stands(&self, wanted: Option<&Asked>) -> bool {
        match (&self.current, wanted) {
            (None, None) | (Some(Asked::Folder), Some(Asked::Folder)) => true,
            (Some(Asked::Server(now)), Some(Asked::Server(wanted))) => {
                now.name == wanted.name && now.hash == wanted.hash
            }
            (None, Some(_)) | (Some(Asked::Folder | Asked::Server(_) | Asked::Servers(_)), _) => false,
        }
    }
}

/// One answer for each, about exactly what was shown.
pub(crate) fn decisions<'a>(
    asked: impl IntoIterator<Item = &'a Promptable>,
    verdict: Verdict,
) -> Vec<Answer> {
    asked
        .into_iter()
        .filter_map(|asked| {
            let hash: ApprovalHash = asked.hash.parse().ok()?;
            let shown = asked.written.value().clone();
            Some(Answer { server: asked.name.clone(), hash, verdict, shown })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixtures;

    fn waiting(names: &[&str]) -> Derived {
        let mut derived = Derived::default();
        for &name in names {
            let asked = fixtures::promptable(name, json!({ "command": name }));
            derived.promptable.insert(ServerName::from(name), asked);
        }
        derived
    }

    fn asked(asking: &mut Asking, derived: &Derived) -> Option<String> {
        asking.next(derived).map(|asked| match asked {
            Asked::Folder => "folder".to_owned(),
            Asked::Server(asked) => asked.name.as_str().to_owned(),
            Asked::Servers(_) => "all".to_owned(),
        })
    }

    fn decided(reply: Reply) -> Vec<(String, Verdict)> {
        match reply {
            Reply::Decide(answers) => {
                answers.into_iter().map(|a| (a.server.as_str().to_owned(), a.verdict)).collect()
            }
            Reply::Trust(_) | Reply::NotNow | Reply::ShowAll(_) | Reply::Again | Reply::Nothing => Vec::new(),
        }
    }

    #[test]
    fn an_answer_is_about_the_server_that_was_shown_even_when_the_queue_moved() {
        let mut asking = Asking::default();
        assert_eq!(asked(&mut asking, &waiting(&["b"])).unwrap(), "b");
        // `a` sorts before `b` and comes in before the answer.
        let reply = asking.answer("y", &waiting(&["a", "b"]));
        assert_eq!(decided(reply), [("b".to_owned(), Verdict::Approve)]);
        assert_eq!(asked(&mut asking, &waiting(&["a"])).unwrap(), "a");
    }

    #[test]
    fn a_question_that_stands_is_not_taken_away_by_one_that_comes_before_it() {
        let mut asking = Asking::default();
        assert_eq!(asked(&mut asking, &waiting(&["b"])).unwrap(), "b");
        assert!(asked(&mut asking, &waiting(&["a", "b"])).is_none());
        assert_eq!(decided(asking.answer("r", &waiting(&["a", "b"]))), [("b".to_owned(), Verdict::Reject)]);
        assert_eq!(asked(&mut asking, &waiting(&["a"])).unwrap(), "a");
    }

    #[test]
    fn a_question_that_stands_is_not_shown_twice_and_goes_when_nothing_waits() {
        let mut asking = Asking::default();
        assert!(asked(&mut asking, &waiting(&["a"])).is_some());
        assert!(asked(&mut asking, &waiting(&["a"])).is_none());
        assert!(asked(&mut asking, &waiting(&[])).is_none());
        assert!(!asking.is_open());
    }

    #[test]
    fn not_now_decides_nothing_and_is_not_asked_again_until_the_entry_changes() {
        let mut asking = Asking::default();
        let mut derived = waiting(&["a"]);
        asked(&mut asking, &derived);
        assert!(matches!(asking.answer("\n", &derived), Reply::NotNow));
        assert!(asked(&mut asking, &derived).is_none());
        derived.promptable.get_mut(&ServerName::from("a")).unwrap().hash = "f".repeat(64);
        assert_eq!(asked(&mut asking, &derived).unwrap(), "a");
    }

    #[test]
    fn all_approves_only_what_was_shown_and_reject_only_the_one() {
        let derived = waiting(&["a", "b"]);
        let mut asking = Asking::default();
        asked(&mut asking, &derived);
        assert!(matches!(asking.answer("a", &derived), Reply::ShowAll(shown) if shown.len() == 2));
        let more = waiting(&["a", "b", "c"]);
        assert!(asked(&mut asking, &more).is_none());
        assert_eq!(decided(asking.answer("y", &more)).len(), 2);
        assert_eq!(asked(&mut asking, &more).unwrap(), "c");
        assert_eq!(decided(asking.answer("r", &more)), [("c".to_owned(), Verdict::Reject)]);
    }

    #[test]
    fn all_is_asked_anew_when_one_of_them_changed_after_it_was_shown() {
        let mut derived = waiting(&["a", "b"]);
        let mut asking = Asking::default();
        asked(&mut asking, &derived);
        asking.answer("a", &derived);
        derived.promptable.get_mut(&ServerName::from("b")).unwrap().hash = "f".repeat(64);
        assert_eq!(asked(&mut asking, &derived).unwrap(), "a");
    }

    #[test]
    fn what_was_answered_is_not_asked_again_while_the_answer_is_on_its_way_but_after_a_revoke() {
        let derived = waiting(&["a"]);
        let mut asking = Asking::default();
        asked(&mut asking, &derived);
        asking.answer("y", &derived);
        assert!(asked(&mut asking, &derived).is_none());
        assert!(asked(&mut asking, &waiting(&[])).is_none());
        assert_eq!(asked(&mut asking, &derived).unwrap(), "a");
    }

    #[test]
    fn a_word_that_means_nothing_is_asked_again() {
        let derived = waiting(&["a"]);
        let mut asking = Asking::default();
        assert!(matches!(asking.answer("y", &derived), Reply::Nothing));
        asked(&mut asking, &derived);
        assert!(matches!(asking.answer("maybe", &derived), Reply::Again));
        assert!(asking.is_open());
    }

    #[test]
    fn the_folder_is_asked_about_before_any_server() {
        let mut derived = waiting(&["a"]);
        derived.folder_question = FolderQuestion::Ask;
        let mut asking = Asking::default();
        assert_eq!(asked(&mut asking, &derived).unwrap(), "folder");
        assert!(matches!(asking.answer("y", &derived), Reply::Trust(FolderWord::Trust)));
        // The record is written now; until it is read, nobody asks about the folder again.
        assert_eq!(asked(&mut asking, &derived).unwrap(), "a");
    }

    #[test]
    fn the_folder_is_asked_about_again_where_somebody_wants_it_until_it_is_trusted() {
        let mut derived = Derived { folder: FolderTrust::Untrusted, ..waiting(&["a"]) };
        let mut asking = Asking::default();
        assert_eq!(asked(&mut asking, &derived).unwrap(), "a");
        for said in [Said::NotNow, Said::Reject] {
            asking.ask_about_folder();
            assert_eq!(asked(&mut asking, &derived).unwrap(), "folder");
            asking.say(said, &derived);
            assert_eq!(asked(&mut asking, &derived).unwrap(), "a");
        }
        asking.ask_about_folder();
        assert_eq!(asked(&mut asking, &derived).unwrap(), "folder");
        // It was trusted elsewhere.
        derived.folder = FolderTrust::Trusted;
        assert_eq!(asked(&mut asking, &derived).unwrap(), "a");
        // And then not any more: that is an answer too.
        derived.folder = FolderTrust::Untrusted;
        assert!(asking.next(&derived).is_none());
    }
}
