//! Is what was just read to be believed, or is somebody in the middle of saving? Pure: readings and times are values,
//! and it must not know how a file is read.

use std::{sync::Arc, time::Duration};

use super::batch::SECOND_LOOK;
use crate::settings::{Presence, SourceFile};

/// What one look at one file came to.
#[derive(Clone, Debug)]
pub(super) enum Verdict {
    /// It says what it said before.
    Same,
    /// It says this now.
    Believe(Arc<SourceFile>),
    /// It is missing, empty or broken, which an editor's save also is for a moment. Look again then.
    LookAgain {
        /// The earliest time at which the same sight is believed.
        at: Duration,
    },
}

/// The doubts about one file: what was seen, and since when.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Doubts {
    doubt: Option<Doubt>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Doubt {
    sight: (Presence, u64),
    seen_at: Duration,
    since: Duration,
}

impl Doubts {
    /// Weighs one reading against what is believed. A doubtful one is believed when the same is seen again
    /// [`SECOND_LOOK`] later; while each look shows something else, somebody is still writing, and that is waited
    /// for until `patience` has passed since the first doubt.
    pub(super) fn weigh(
        &mut self,
        believed: Option<&SourceFile>,
        reading: SourceFile,
        now: Duration,
        patience: Duration,
    ) -> Verdict {
        if believed.is_some_and(|believed| same(believed, &reading)) {
            self.doubt = None;
            return Verdict::Same;
        }
        if !reading.is_doubtful() {
            self.doubt = None;
            return Verdict::Believe(Arc::new(reading));
        }
        let sight = (reading.presence, reading.digest);
        let doubt = match self.doubt {
            Some(doubt) if doubt.sight == sight => doubt,
            Some(doubt) => Doubt { sight, seen_at: now, since: doubt.since },
            None => Doubt { sight, seen_at: now, since: now },
        };
        if now >= doubt.seen_at + SECOND_LOOK || now >= doubt.since + patience {
            self.doubt = None;
            return Verdict::Believe(Arc::new(reading));
        }
        self.doubt = Some(doubt);
        Verdict::LookAgain { at: doubt.seen_at + SECOND_LOOK }
    }
}

/// Whether a file says what it said before. Content decides: neither the time of a write nor the file's number does.
fn same(believed: &SourceFile, reading: &SourceFile) -> bool {
    believed.presence == reading.presence
        && believed.digest == reading.digest
        && believed.resolved_path == reading.resolved_path
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::settings::{Broken, Content, Positions, SourceId};

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    const PATIENCE: Duration = Duration::from_secs(2);

    fn reading(presence: Presence, digest: u64, broken: Option<Broken>) -> SourceFile {
        SourceFile {
            id: SourceId::User,
            path: None,
            resolved_path: None,
            presence,
            root: Arc::new(json!({})),
            content: Content::Settings,
            positions: Arc::new(Positions::default()),
            broken,
            digest,
            diagnostics: Vec::new(),
        }
    }

    fn good(digest: u64) -> SourceFile {
        reading(Presence::Present, digest, None)
    }

    fn broken(digest: u64) -> SourceFile {
        reading(Presence::Present, digest, Some(Broken::KeptLastGood))
    }

    fn missing() -> SourceFile {
        reading(Presence::Missing, 0, None)
    }

    /// A run of looks at one file, as text: what each came to.
    fn run(looks: impl IntoIterator<Item = (u64, SourceFile)>) -> Vec<String> {
        let mut believed = good(1);
        let mut doubts = Doubts::default();
        looks
            .into_iter()
            .map(|(at, reading)| match doubts.weigh(Some(&believed), reading, ms(at), PATIENCE) {
                Verdict::Same => "same".to_owned(),
                Verdict::Believe(file) => {
                    believed = (*file).clone();
                    format!("believe {:?} {}", file.presence, file.digest)
                }
                Verdict::LookAgain { at } => format!("again at {}", at.as_millis()),
            })
            .collect()
    }

    #[test]
    fn a_whole_file_is_believed_at_once_and_the_same_content_is_no_news() {
        assert_eq!(run([(0, good(1)), (10, good(2)), (20, good(2))]), ["same", "believe Present 2", "same"]);
    }

    #[test]
    fn a_missing_empty_or_broken_file_is_believed_only_when_it_is_seen_again() {
        for (doubtful, told) in [
            (missing(), "believe Missing 0"),
            (reading(Presence::Blank, 3, None), "believe Blank 3"),
            (broken(4), "believe Present 4"),
            (reading(Presence::Unreadable, 5, Some(Broken::KeptLastGood)), "believe Unreadable 5"),
        ] {
            let looks = [(300, doubtful.clone()), (449, doubtful.clone()), (450, doubtful)];
            assert_eq!(run(looks), ["again at 450", "again at 450", told]);
        }
    }

    #[test]
    fn a_file_that_comes_back_unchanged_was_never_gone() {
        assert_eq!(run([(300, missing()), (450, good(1))]), ["again at 450", "same"]);
    }

    #[test]
    fn a_file_that_is_still_being_written_is_waited_for_but_not_for_ever() {
        let looks = (0..20).map(|n| (n * 150, broken(10 + n)));
        let told = run(looks);
        let first = told.iter().position(|told| told.starts_with("believe")).unwrap();
        assert_eq!(first, 14, "the first look at or after two seconds: {told:?}");
    }

    proptest! {
        #[test]
        fn whatever_is_seen_what_stays_is_believed_by_the_second_quiet_look(
            seen in prop::collection::vec((0_u64..400, 0_u64..4), 0..12),
            last in 0_u64..4,
        ) {
            let of = |kind: u64| match kind { 0 => missing(), 1 => broken(7), 2 => good(1), _ => good(2) };
            let mut believed = good(1);
            let mut doubts = Doubts::default();
            let mut now = 0;
            for (after, kind) in seen.into_iter().chain([(0, last), (150, last)]) {
                now += after;
                if let Verdict::Believe(file) = doubts.weigh(Some(&believed), of(kind), ms(now), PATIENCE) {
                    believed = (*file).clone();
                }
            }
            prop_assert!(same(&believed, &of(last)));
        }
    }
}
