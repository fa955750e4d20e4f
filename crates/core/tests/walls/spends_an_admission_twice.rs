//! It is taken by value, so it is gone after the first use.

use qwen_core::{Admitted, Attempt, Connector, OpenRequest};

fn open(connector: &dyn Connector, admitted: Admitted) {
    let (events, _) = tokio::sync::mpsc::unbounded_channel();
    let request = OpenRequest { attempt: Attempt(1), admitted, cancel: Default::default(), events, questions: None };
    drop(connector.open(request));
}

fn open_twice(connector: &dyn Connector, admitted: Admitted) {
    open(connector, admitted);
    open(connector, admitted);
}

fn main() {}
