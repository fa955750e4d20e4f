//! Who does what an effect asks for? Hot reload, core, the record of decisions, a settings file. Nothing here waits:
//! what takes time reports to the inbox when it is done.

use std::sync::Arc;

use super::{FRAME, cancels::Cancels, failed};
use crate::{
    app::{App, Session},
    args::Global,
    asking::FolderWord,
    commands::{Keep, Switched, TrustRecord, decided_here, switch_in},
    deciding,
    derive::Screen,
    output,
    text::Tone,
    tui::{
        asked::Wish,
        event::{Decided, Effect, Event, UseId},
        keep::Kept,
        line::Line,
        state::State,
        using::{Using, told},
    },
    words::{Background, Prompt},
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

/// What effects act on.
pub(super) struct Acting<'a> {
    pub(super) app: &'a App,
    pub(super) global: &'a Global,
    pub(super) kept: Option<&'a Kept>,
    pub(super) session: &'a Session,
    pub(super) state: &'a State,
    pub(super) inbox: &'a mpsc::UnboundedSender<Event>,
}

impl Acting<'_> {
    /// Begins what an effect asks for.
    pub(super) fn act(&self, effect: Effect, cancels: &mut Cancels) {
        let reload = Arc::clone(&self.session.reload);
        match effect {
            Effect::Reload => self.session.reload_soon(),
            Effect::Reconnect(server) => {
                let (problem, inbox) = (self.problem(), self.inbox.clone());
                tokio::spawn(async move {
                    let said = match reload.reconnect(server.clone()).await {
                        Ok(()) => vec![Line::new(Tone::Quiet, &format!("trying {} again", server.as_str()))],
                        Err(unavailable) => told(&problem(&unavailable)),
                    };
                    tell(&inbox, Event::Said(said));
                });
            }
            Effect::Decide(answers) => {
                let inbox = self.inbox.clone();
                let answers = answers.into_iter().map(|Decided(answer)| answer).collect();
                tokio::spawn(async move {
                    let is_done = |answer, holds| tell(&inbox, Event::Decided(Decided(answer), holds));
                    deciding::decide(&reload, answers, is_done).await;
                });
            }
            Effect::Trust(word) => {
                let record = TrustRecord::at(&self.app.launch.paths.trusted_folders);
                let (root, inbox) = (self.app.root().to_path_buf(), self.inbox.clone());
                tokio::spawn(async move {
                    let said = match deciding::trust(&reload, record, root, word).await {
                        Ok(()) => vec![match word {
                            FolderWord::Trust => Line::new(Tone::Good, "this folder is trusted"),
                            FolderWord::Distrust => Line::new(Tone::Attention, "this folder is not trusted"),
                        }],
                        Err(error) => failed("record it", &error),
                    };
                    tell(&inbox, Event::Said(said));
                });
            }
            Effect::Use(id, wish) => self.begin(id, wish, cancels),
            Effect::Cancel(id) => cancels.cancel(id),
            Effect::Switch(server, way) => self.switch(server.as_str().to_owned(), way),
            Effect::Approvals => {
                let said = match decided_here(self.app) {
                    Ok(text) => Line::of_text(Tone::Normal, &text),
                    Err(error) => failed("read what was decided", &error),
                };
                tell(self.inbox, Event::Said(said));
            }
            Effect::Remember(line) => {
                if let Some(Err(error)) = self.kept.map(|kept| kept.add(&line)) {
                    tracing::debug!(%error, "a typed line could not be kept");
                }
            }
            // The loop does these itself.
            Effect::Quit(_) | Effect::Suspend | Effect::LookUp(..) | Effect::Reply(..) => {}
        }
    }

    fn begin(&self, id: UseId, wish: Wish, cancels: &mut Cancels) {
        let cancel = cancels.begin(id);
        let using = Using {
            config: Arc::clone(&self.session.config),
            derived: Arc::clone(&self.state.derived),
            snapshot: Arc::clone(&self.state.snapshot),
            root: self.state.root.clone(),
            keep: Keep::of(&self.app.launch.environment),
        };
        let (progress, mut notices) = mpsc::unbounded_channel();
        let inbox = self.inbox.clone();
        tokio::spawn(async move {
            let mut next = Instant::now();
            let mut use_it = std::pin::pin!(using.run(wish, progress, cancel));
            let lines = loop {
                tokio::select! {
                    biased;
                    lines = &mut use_it => break lines,
                    Some(progress) = newest(&mut notices, next) => {
                        next = Instant::now() + FRAME;
                        tell(&inbox, Event::Progress(id, progress));
                    }
                }
            };
            tell(&inbox, Event::Ended(id, lines));
        });
    }

    /// Edits the user's settings as `mcp enable` and `mcp disable` do, by the files as they are now.
    fn switch(&self, name: String, way: Switched) {
        let environment = (*self.app.launch.environment).clone();
        let global = Global { yolo: false, ..self.global.clone() };
        let (reload, inbox) = (Arc::clone(&self.session.reload), self.inbox.clone());
        let runtime = tokio::runtime::Handle::current();
        tokio::task::spawn_blocking(move || {
            let switched = App::reread_in(environment, &global, Screen::Headless)
                .map_err(|error| output::chain(&error))
                .and_then(|app| switch_in(&app, &name, way));
            let said = match switched {
                Ok(text) => Line::of_text(Tone::Normal, &text),
                Err(error) => vec![Line::new(Tone::Bad, &format!("failed to {error}"))],
            };
            tell(&inbox, Event::Said(said));
            runtime.spawn(async move { reload.look().await });
        });
    }

    /// How a reason of core is told, with what is known now.
    fn problem(&self) -> impl Fn(&qwen_core::Unavailable) -> crate::commands::Problem + Send + 'static {
        let (derived, snapshot) = (Arc::clone(&self.state.derived), Arc::clone(&self.state.snapshot));
        let root = self.state.root.clone();
        move |unavailable| {
            let back = Background { snapshot: &snapshot, root: &root, prompt: Prompt::Session };
            crate::commands::Problem::unavailable(back, &derived, unavailable)
        }
    }
}

/// Reports; when the loop has ended nobody needs it.
fn tell(inbox: &mpsc::UnboundedSender<Event>, event: Event) {
    inbox.send(event).unwrap_or(());
}

/// The newest notice at that time, or the first after it: nobody sees more of them than are drawn.
async fn newest<T>(notices: &mut mpsc::UnboundedReceiver<T>, at: Instant) -> Option<T> {
    sleep_until(at).await;
    let mut newest = notices.recv().await?;
    while let Ok(newer) = notices.try_recv() {
        newest = newer;
    }
    Some(newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_a_flood_of_notices_the_newest_is_kept() {
        let (send, mut notices) = mpsc::unbounded_channel();
        for number in 0..10_000 {
            send.send(number).unwrap();
        }
        assert_eq!(newest(&mut notices, Instant::now()).await, Some(9999));
        drop(send);
        assert_eq!(newest(&mut notices, Instant::now()).await, None);
    }
}
