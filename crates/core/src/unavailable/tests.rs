//! Why a tool is not there, row by row.

use std::{collections::BTreeMap, sync::Arc};

use super::*;
use crate::{
    admission::NotAllowedBy,
    domain::{Pattern, Scope},
    failure::FailureKind,
    status::{Connected, Connecting, ServerStatus},
};

fn status(servers: Vec<(&str, Phase)>, removed: &[&str]) -> Status {
    let servers = servers.into_iter().map(|(name, phase)| {
        let server = ServerStatus { scope: Scope::User, phase, since_unix_ms: 0, transitions: Vec::new() };
        (ServerName::from(name), Arc::new(server))
    });
    let removed = removed.iter().map(|&name| name.into()).collect();
    Status { servers: servers.collect(), removed, ..Status::default() }
}

fn refused(refusal: Refusal) -> Phase {
    Phase::Refused(refusal)
}

fn connected() -> Phase {
    Phase::Connected(Connected {
        pid: None,
        tools: 0,
        prompts: 0,
        resources: 0,
        warnings: Vec::new(),
        unlisted: Vec::new(),
    })
}

/// `server: reason`.
fn reason(status: &Status, tool: &str) -> String {
    match tool_unavailable(status, tool) {
        None => "no reason".to_owned(),
        Some(Unavailable::Unknown { .. }) => "unknown".to_owned(),
        Some(Unavailable::Removed { server }) => format!("{server}: removed"),
        Some(Unavailable::Refused { server, refusal }) => format!("{server}: {}", refusal.as_str()),
        Some(Unavailable::Connecting { server }) => format!("{server}: connecting"),
        Some(Unavailable::Failed { server, .. }) => format!("{server}: failed"),
        Some(Unavailable::NotOffered { server, .. }) => format!("{server}: not offered"),
    }
}

#[test]
fn every_tool_that_is_not_there_has_its_owner_and_its_reason() {
    let excluded = Refusal::Excluded { pattern: Pattern::new("e*").unwrap() };
    let failure = Failure::new(FailureKind::Exited, "exited with code 1");
    let servers = vec![
        ("narrowed", refused(Refusal::NotAllowed(NotAllowedBy::Scope(Scope::User)))),
        ("ex", refused(excluded)),
        ("waiting", refused(Refusal::PendingApproval)),
        ("no", refused(Refusal::Rejected)),
        ("off", refused(Refusal::Disabled)),
        ("broken", refused(Refusal::Invalid { why: "no transport".to_owned() })),
        ("dead", Phase::Failed { failure, retry_at_unix_ms: None }),
        ("slow", Phase::Connecting(Connecting::Handshake)),
        ("live", connected()),
    ];
    let status = status(servers, &["pangu-server", "zybio.db", "foo", "foo__bar"]);
    for (tool, expected) in [
        ("mcp__pangu-server__pangu_search", "pangu-server: removed"),
        ("mcp__zybio_db__query_0abc123", "zybio.db: removed"),
        ("mcp__ghost__do_thing", "unknown"),
        ("mcp__narrowed__x", "narrowed: not_allowed"),
        ("mcp__ex__x", "ex: excluded"),
        ("mcp__waiting__x", "waiting: pending_approval"),
        ("mcp__no__x", "no: rejected"),
        ("mcp__off__x", "off: disabled"),
        ("mcp__broken__x", "broken: invalid"),
        ("mcp__dead__x", "dead: failed"),
        ("mcp__slow__x", "slow: connecting"),
        ("mcp__live__x", "live: not offered"),
        ("list_fils", "no reason"),
        ("mcp__foobar__x", "unknown"),
        ("mcp__foo__x", "foo: removed"),
        ("mcp__foo__bar__baz", "foo__bar: removed"),
    ] {
        assert_eq!(reason(&status, tool), expected, "{tool}");
    }
}

#[test]
fn the_history_of_the_catalogue_knows_owners_that_a_shortened_name_hides() {
    let long = "x".repeat(200);
    let tool = crate::catalog::catalogue_name(&long, "t");
    let mut status = status(Vec::new(), &[&long]);
    assert_eq!(reason(&status, &tool), "unknown");
    status.past_tools = Arc::new(BTreeMap::from([(Arc::clone(&tool), long.as_str().into())]));
    assert_eq!(reason(&status, &tool), format!("{long}: removed"));
}

#[test]
fn near_names_are_named_and_far_ones_are_not() {
    let names = ["files", "file", "github", "memory"];
    assert_eq!(nearest("fiels", names.into_iter()), ["files", "file"]);
    let tools = ["mcp__s__count", "mcp__s__echo", "mcp__s__sleep"];
    assert_eq!(nearest("mcp__s__ecko", tools.into_iter()), ["mcp__s__echo"]);
    assert_eq!(nearest("mcp", ["mpc"].into_iter()), ["mpc"]);
    assert_eq!(nearest("zzz", names.into_iter()), Vec::<String>::new());
    assert_eq!(nearest("q", ["p", "w", "qq"].into_iter()), ["qq"]);
}
