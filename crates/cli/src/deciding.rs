//! How does what a person said reach the records, and then the session that runs? For every screen that asks. It asks
//! nothing and prints nothing.

use std::path::PathBuf;

use crate::{
    asking::FolderWord,
    commands::{Rule, TrustError, TrustRecord},
    hot_reload::{Answer, Holds, HotReload},
};

/// Records answers one after the other, applies each, and says of each how long it holds. The store may be locked for
/// seconds: whoever answers keys does not wait for this.
pub(crate) async fn decide(reload: &HotReload, answers: Vec<Answer>, mut is_done: impl FnMut(Answer, Holds)) {
    for answer in answers {
        let holds = reload.decide(answer.clone()).await;
        is_done(answer, holds);
    }
}

/// Records what was said about the project's folder, and applies it.
///
/// # Errors
/// It could not be written; nothing changes.
pub(crate) async fn trust(
    reload: &HotReload,
    record: TrustRecord,
    root: PathBuf,
    word: FolderWord,
) -> Result<(), TrustError> {
    let rule = match word {
        FolderWord::Trust => Rule::Trust,
        FolderWord::Distrust => Rule::Distrust,
    };
    match tokio::task::spawn_blocking(move || record.set(&root, rule)).await {
        Ok(done) => done?,
        // A writer that panicked has been reported where it did.
        Err(error) => tracing::error!(%error, "what was said about the folder was not recorded"),
    }
    reload.look().await;
    Ok(())
}
