use std::collections::BTreeMap;

use proptest::prelude::*;
use qwen_core::admit;

use super::{super::testing::desired, *};

fn asked(text: &str) -> Asked {
    text.split_whitespace().map(|word| (word.into(), format!("hash of {word}"))).collect()
}

#[test]
fn a_pass_commits_only_what_differs_in_meaning() {
    let table = [
        ("a=x b=y", "", "b=y a=x", "", "nothing"),
        ("", "", "", "", "nothing"),
        ("a=x", "", "a=z", "", "commit"),
        ("a=x", "", "a=x-", "", "commit"),
        ("a=x", "", "a=xv", "", "commit"),
        ("a=x allowed:a,b", "", "a=x allowed:b,a,a", "", "nothing"),
        ("a=x", "", "a=x allowed:", "", "commit"),
        ("a=x", "", "a=x excluded:a", "", "commit"),
        ("a=x", "", "a=x untrusted", "", "commit"),
        ("a=x?", "a", "a=x?", "a", "nothing"),
        ("a=x?", "a", "a=x?", "a b", "pending only"),
        ("a=x?", "a", "a=x?", "", "pending only"),
        ("a=x?", "a", "a=y?", "a", "commit"),
    ];
    for (sent, told, next, now, expected) in table {
        let pass = plan_pass(Some(&desired(sent)), &asked(told), &desired(next), &asked(now));
        let got = match pass {
            Pass::Nothing => "nothing",
            Pass::PendingOnly => "pending only",
            Pass::Commit(_) => "commit",
        };
        assert_eq!(got, expected, "{sent} ({told}) to {next} ({now})");
    }
    let first = plan_pass(None, &asked(""), &desired(""), &asked(""));
    assert_eq!(first, Pass::Commit(Box::new(desired(""))), "a session starts with a commit, also of nothing");
}

/// What is admitted, as `name=command`.
fn open(desired: &Desired) -> BTreeMap<String, String> {
    admit(desired, &LaunchBound::Unbounded)
        .into_iter()
        .filter_map(|(name, verdict)| Some((name.to_string(), format!("{:?}", verdict.ok()?.spec().wire()))))
        .collect()
}

#[test]
fn without_automatic_reload_only_what_narrows_is_applied() {
    let table = [
        // sent, next, what core is told
        ("a=x", "a=x b=y", "a=x"),
        ("a=x b=y", "a=x", "a=x"),
        ("a=x", "a=z", "a=x"),
        ("a=x", "a=z b=y", "a=x"),
        ("a=x", "a=xv", "a=xv"),
        ("a=x", "a=x-", "a=x-"),
        ("a=x", "a=z-", "a=z-"),
        ("a=x", "a=x!", "a=x!"),
        ("a=x-", "a=x", "a=x-"),
        ("a=x!", "a=x", "a=x!"),
        ("a=x+", "a=y?", "a=y?"),
        ("a=x?", "a=x+", "a=x?"),
        ("a=x+ b=y", "a=x+ b=y excluded:a", "a=x+ b=y excluded:a"),
        ("a=x b=y excluded:a", "a=x b=y", "a=x b=y excluded:a"),
        ("a=x b=y excluded:a", "a=x b=y excluded:b", "a=x b=y excluded:a,b"),
        ("a=x b=y", "a=x b=y allowed:a", "a=x b=y allowed:a"),
        ("a=x b=y allowed:a", "a=x b=y", "a=x b=y allowed:a"),
        ("a=x", "a=x untrusted", "a=x untrusted"),
        ("a=x untrusted", "a=x", "a=x untrusted"),
        ("a=x unreadable", "a=x", "a=x unreadable"),
        ("", "a=x?", "a=x?"),
    ];
    for (sent, next, expected) in table {
        let narrowed = narrow(&desired(sent), &desired(next), &LaunchBound::Unbounded);
        assert_eq!(narrowed, desired(expected), "{sent} to {next}");
    }
}

fn any_desired() -> impl Strategy<Value = Desired> {
    let text = prop_oneof![
        Just("x"),
        Just("y"),
        Just("x-"),
        Just("x!"),
        Just("x?"),
        Just("x+"),
        Just("y+"),
        Just("xv"),
    ];
    let names = || prop::collection::btree_set(prop_oneof![Just("a"), Just("b"), Just("c"), Just("*")], 0..3);
    (
        prop::collection::vec((prop_oneof![Just("a"), Just("b"), Just("c")], text), 0..4),
        names(),
        prop::option::of(names()),
        prop::collection::btree_set(prop_oneof![Just("a"), Just("b")], 0..2),
        prop::bool::weighted(0.1),
    )
        .prop_map(|(servers, excluded, allowed, pending, untrusted)| {
            let list =
                |names: std::collections::BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(",");
            let mut text: Vec<String> =
                servers.into_iter().map(|(name, entry)| format!("{name}={entry}")).collect();
            text.push(format!("excluded:{}", list(excluded)));
            text.extend(allowed.map(|allowed| format!("allowed:{}", list(allowed))));
            text.extend(pending.into_iter().map(|name| format!("pending:{name}")));
            text.extend(untrusted.then(|| "untrusted".to_owned()));
            desired(&text.join(" "))
        })
}

proptest! {
    #[test]
    fn narrowing_opens_nothing_restarts_nothing_and_closes_all_that_the_edit_closes(
        sent in any_desired(), next in any_desired(),
    ) {
        let narrowed = narrow(&sent, &next, &LaunchBound::Unbounded);
        let (before, after, whole) = (open(&sent), open(&narrowed), open(&next));
        for (name, wire) in &after {
            prop_assert_eq!(Some(wire), before.get(name), "{} opened or restarted", name);
        }
        for name in before.keys() {
            prop_assert_eq!(after.contains_key(name), whole.contains_key(name), "{}", name);
        }
        let again = narrow(&narrowed, &next, &LaunchBound::Unbounded);
        prop_assert_eq!(again, narrowed, "it settles at once");
    }

    #[test]
    fn an_edit_that_only_narrows_is_applied_as_a_whole(sent in any_desired()) {
        let mut next = sent.clone();
        next.servers.retain(|name, _| name.as_str() != "a");
        next.gating.pending.retain(|name, _| name.as_str() != "a");
        prop_assert_eq!(narrow(&sent, &next, &LaunchBound::Unbounded).servers, next.servers);
    }
}
