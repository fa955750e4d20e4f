//! What is told of two statuses, and in which order.

use super::*;
use crate::{domain::Scope, failure::FailureKind};

fn server(phase: Phase) -> Arc<ServerStatus> {
    Arc::new(ServerStatus { scope: Scope::User, phase, since_unix_ms: 0, transitions: Vec::new() })
}

fn failed(retry_at_unix_ms: Option<u64>) -> Arc<ServerStatus> {
    server(Phase::Failed { failure: Failure::new(FailureKind::Exited, "exited"), retry_at_unix_ms })
}

fn record(generation: u64) -> Arc<CommitRecord> {
    Arc::new(CommitRecord {
        generation,
        added: Vec::new(),
        removed: Vec::new(),
        restarted: Vec::new(),
        rescoped: Vec::new(),
        kept: 0,
        skipped: Vec::new(),
    })
}

fn settling(generation: u64) -> Arc<Settling> {
    Arc::new(Settling { generation, failed: Vec::new(), duration: Duration::ZERO })
}

fn words(events: &[McpEvent]) -> Vec<String> {
    let word = |event: &McpEvent| match event {
        McpEvent::Reloaded(record) => format!("reload {}", record.generation),
        McpEvent::CatalogueChanged(change) => format!("catalogue {}", change.revision),
        McpEvent::ServerChanged { name, status: Some(status) } => {
            format!("{name} {}", status.phase.state().as_str())
        }
        McpEvent::ServerChanged { name, status: None } => format!("{name} gone"),
        McpEvent::Settled(settling) => format!("settled {}", settling.generation),
    };
    events.iter().map(word).collect()
}

#[test]
fn a_slow_reader_is_told_every_commit_and_settling_once_and_the_rest_by_difference() {
    let old = Status {
        servers: [("a".into(), failed(None)), ("b".into(), failed(None))].into(),
        commits: vec![record(1)],
        settlings: vec![settling(1)],
        ..Status::default()
    };
    let catalogue = Catalogue { revision: 3, ..Catalogue::default() };
    let new = Status {
        servers: [("b".into(), server(Phase::Connecting(Connecting::Handshake))), ("c".into(), failed(None))]
            .into(),
        catalogue: Arc::new(catalogue),
        commits: vec![record(1), record(2), record(3)],
        settlings: vec![settling(1), settling(3), settling(2)],
        ..Status::default()
    };
    let told = words(&changes(&old, &new));
    let expected = [
        "reload 2",
        "reload 3",
        "catalogue 3",
        "a gone",
        "b connecting",
        "c failed",
        "settled 3",
        "settled 2",
    ];
    assert_eq!(told, expected);
    assert_eq!(words(&changes(&new, &new)), Vec::<String>::new());
}

#[test]
fn when_the_next_try_is_due_is_not_worth_telling() {
    let old = Status { servers: [("a".into(), failed(Some(1)))].into(), ..Status::default() };
    let new = Status { servers: [("a".into(), failed(Some(2)))].into(), ..Status::default() };
    assert_eq!(words(&changes(&old, &new)), Vec::<String>::new());
}
