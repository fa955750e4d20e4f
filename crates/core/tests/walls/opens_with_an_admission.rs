//! The one way: what the gate admitted is handed over, once.

use qwen_core::{Admitted, Attempt, Connector, Desired, LaunchBound, OpenRequest, ServerName, admit};

pub(crate) type OpenAll = fn(&dyn Connector, &Desired) -> Vec<ServerName>;

pub(crate) fn open_all(connector: &dyn Connector, desired: &Desired) -> Vec<ServerName> {
    let admitted = admit(desired, &LaunchBound::Unbounded).into_values().filter_map(Result::ok);
    admitted
        .map(|admitted| {
            let name = admitted.name().clone();
            open(connector, admitted);
            name
        })
        .collect()
}

fn open(connector: &dyn Connector, admitted: Admitted) {
    let (events, _) = tokio::sync::mpsc::unbounded_channel();
    let request =
        OpenRequest { attempt: Attempt(1), admitted, cancel: Default::default(), events, questions: None };
    drop(connector.open(request));
}
