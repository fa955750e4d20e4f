//! How are uses that run given up? One token for each, kept no longer than it runs. It knows no server.

use std::collections::BTreeMap;

use tokio_util::sync::CancellationToken;

use super::super::event::UseId;

/// The tokens of the uses that run.
#[derive(Debug, Default)]
pub(super) struct Cancels(BTreeMap<UseId, CancellationToken>);

impl Cancels {
    /// A use begins; cancelling the token gives it up.
    pub(super) fn begin(&mut self, id: UseId) -> CancellationToken {
        self.0.entry(id).or_default().clone()
    }

    /// Gives a use up, where it still runs.
    pub(super) fn cancel(&self, id: UseId) {
        if let Some(token) = self.0.get(&id) {
            token.cancel();
        }
    }

    /// A use is over.
    pub(super) fn ended(&mut self, id: UseId) {
        self.0.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_that_is_over_leaves_nothing_and_another_one_is_not_given_up_for_it() {
        let mut cancels = Cancels::default();
        let [first, second] = [1, 2].map(|id| cancels.begin(UseId(id)));
        cancels.cancel(UseId(2));
        assert!(second.is_cancelled() && !first.is_cancelled());
        for id in [1, 2] {
            cancels.ended(UseId(id));
        }
        assert!(cancels.0.is_empty());
        cancels.cancel(UseId(1));
        assert!(!first.is_cancelled());
    }
}
