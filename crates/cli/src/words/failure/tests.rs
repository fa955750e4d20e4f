use std::sync::Arc;

use qwen_core::{FailureKind, Scope, ServerSpec, View};
use serde_json::json;

use super::*;
use crate::{
    fixtures::{self, file},
    settings::{Place, Snapshot, SourceId},
};

/// The user's file, in which the header of `gh` stands in line 9.
fn snapshot() -> Snapshot {
    let header = ["mcpServers", "gh", "headers", "X-Api-Key"];
    let mut user = (*file(SourceId::User, "/home/u/.qwen/settings.json", json!({}), &header, 9)).clone();
    let mut positions = (*user.positions).clone();
    positions.insert(&["mcpServers", "gh"], Place { line: 4, column: 5 });
    user.positions = Arc::new(positions);
    Snapshot::default().with(Arc::new(user))
}

fn step(kind: &FailureKind, retry_at: Option<u64>, row: &Row) -> String {
    let snapshot = snapshot();
    let back = fixtures::background(&snapshot);
    next_step(&Failure::new(kind.clone(), "it broke"), retry_at, &row.name, Some(row), back)
}

#[test]
fn every_failure_names_a_way_out() {
    let local = fixtures::row("gh", Scope::User);
    let headers = json!({ "httpUrl": "https://mcp.example/mcp", "headers": { "X-Api-Key": "k" } });
    let remote = fixtures::written(fixtures::remote_row("gh", Scope::User), headers);
    let named = |header: &str| Some(header.to_owned());
    let tls = [
        TlsFault::UnknownIssuer,
        TlsFault::Expired,
        TlsFault::NotYetValid,
        TlsFault::OtherHost,
        TlsFault::NotTls,
        TlsFault::WantsOurs,
        TlsFault::Authorities,
        TlsFault::Other,
    ];
    let of_local = [
        FailureKind::CommandNotFound,
        FailureKind::CwdMissing,
        FailureKind::CwdNotAFolder,
        FailureKind::Spawn,
        FailureKind::HandshakeTimeout,
        FailureKind::InvalidHandshake,
        FailureKind::Exited,
        FailureKind::EndedEarly,
        FailureKind::StreamClosed,
        FailureKind::Listing,
        FailureKind::Unsupported,
        FailureKind::CrashLoop,
    ];
    let of_remote = [
        FailureKind::StreamClosed,
        FailureKind::NeedsAuth { challenge: None, header: None },
        FailureKind::NeedsAuth { challenge: None, header: named("x-api-key") },
        FailureKind::NeedsAuth { challenge: None, header: named("authorization") },
        FailureKind::BadHeader { header: "x-api-key".to_owned() },
        FailureKind::Forbidden,
        FailureKind::Network,
        FailureKind::Proxy { variable: "HTTPS_PROXY".to_owned() },
        FailureKind::Unavailable { retry_after: None },
        FailureKind::Unavailable { retry_after: Some(Duration::from_millis(6500)) },
        FailureKind::Unavailable { retry_after: Some(Duration::from_secs(601)) },
        FailureKind::WrongEndpoint { status: None },
        FailureKind::WrongEndpoint { status: Some(307) },
    ];
    let of_remote = of_remote.into_iter().chain(tls.map(FailureKind::Tls));
    let cases = of_local.into_iter().map(|kind| (kind, &local));
    let cases = cases.chain(of_remote.map(|kind| (kind, &remote)));
    let mut text = String::new();
    for (kind, row) in cases {
        text.push_str(&format!("{kind:?}\n  next: {}\n", step(&kind, None, row)));
        if kind.is_retried() {
            text.push_str(&format!("  retried: {}\n", step(&kind, Some(1), row)));
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn no_command_that_ends_says_mend_of_what_may_pass() {
    let row = fixtures::remote_row("gh", Scope::User);
    for kind in [
        FailureKind::Network,
        FailureKind::StreamClosed,
        FailureKind::Unavailable { retry_after: None },
        FailureKind::Unavailable { retry_after: Some(Duration::from_secs(7)) },
    ] {
        let step = step(&kind, None, &row);
        assert!(step.starts_with("it may pass: try again in "), "{kind:?}: {step}");
    }
}

#[test]
fn an_entry_of_one_transport_is_told_how_to_write_the_other() {
    let as_sse = |row: Row| {
        let Entry::Valid(spec) = &row.entry else { panic!("{row:?}") };
        let Wire::Http(remote) = spec.wire() else { panic!("{row:?}") };
        let spec = ServerSpec::new(Scope::User, Wire::Sse(remote.clone()), View::default());
        Row { entry: Entry::Valid(Arc::new(spec)), transport: Some(Transport::Sse), ..row }
    };
    let with_fallback = |row: Row| {
        let Entry::Valid(spec) = &row.entry else { panic!("{row:?}") };
        let Wire::Http(remote) = spec.wire() else { panic!("{row:?}") };
        let both = Wire::Http(qwen_core::Remote { sse_fallback: true, ..remote.clone() });
        Row { entry: Entry::Valid(Arc::new(ServerSpec::new(Scope::User, both, View::default()))), ..row }
    };
    let url = "https://mcp.example/x";
    let row = |entry: Value| fixtures::written(fixtures::remote_row("gh", Scope::User), entry);
    let sse = ("if it speaks streamable HTTP, ", FailureKind::HandshakeTimeout);
    let http = ("if it speaks only SSE, ", FailureKind::WrongEndpoint { status: Some(405) });
    for (row, expected) in [
        (as_sse(row(json!({ "url": url }))), Some((&sse, "write httpUrl in place of url, or type: http"))),
        (as_sse(row(json!({ "url": url, "type": "sse" }))), Some((&sse, "write type: http"))),
        (row(json!({ "httpUrl": url })), Some((&http, "write url with type: sse in place of httpUrl"))),
        (row(json!({ "url": url, "type": "http" })), Some((&http, "write type: sse"))),
        (with_fallback(row(json!({ "url": url }))), None),
    ] {
        for status in [400, 404, 405, 406, 415] {
            let step = step(&FailureKind::WrongEndpoint { status: Some(status) }, None, &row);
            assert!(step.starts_with("check its URL in /home/u/.qwen/settings.json:4"), "{step}");
            match expected {
                Some(((what, _), write)) => assert!(step.contains(&format!("{what}{write}")), "{step}"),
                None => assert!(!step.contains("if it speaks"), "{step}"),
            }
        }
        let redirected = step(&FailureKind::WrongEndpoint { status: Some(307) }, None, &row);
        assert!(!redirected.contains("if it speaks"), "{redirected}");
        if let Some(((what, kind), write)) = expected {
            assert!(step(kind, None, &row).contains(&format!("{what}{write}")), "{kind:?}");
        }
    }
    // A stream that is silent may be that of the other transport; an answer that is late is not.
    let late = step(&FailureKind::HandshakeTimeout, None, &row(json!({ "httpUrl": url })));
    assert!(!late.contains("if it speaks"), "{late}");
}
