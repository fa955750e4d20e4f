//! Does a connection take calls, and with which error do they end when it does not? Pure but for waiting for the end.

use tokio::sync::watch;

use crate::connector::CallError;

/// Whether a connection takes calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Live,
    /// Running calls go on, new ones are refused.
    Draining,
    /// Ended on purpose.
    Interrupted,
    /// Broke, with the reason.
    Lost(String),
}

impl Phase {
    fn end(&self) -> Option<CallError> {
        match self {
            Self::Live | Self::Draining => None,
            Self::Interrupted => Some(CallError::Interrupted),
            Self::Lost(why) => Some(CallError::Lost(why.clone())),
        }
    }

    pub(super) fn refusal(&self) -> Option<CallError> {
        match self {
            Self::Draining => Some(CallError::Interrupted),
            Self::Live | Self::Interrupted | Self::Lost(_) => self.end(),
        }
    }
}

/// Resolves when running calls must end.
pub(super) async fn ended(phase: &mut watch::Receiver<Phase>) -> CallError {
    let end = phase.wait_for(|phase| phase.end().is_some()).await.ok().and_then(|phase| phase.end());
    end.unwrap_or(CallError::Interrupted)
}
