//! Who is admitted, for every reason and every pair of reasons.

use proptest::prelude::*;

use super::*;
use crate::{
    domain::{AllowList, AllowedNames, Gating, InvalidEntry},
    testing::spec,
};

fn patterns(texts: &[&str]) -> std::collections::BTreeSet<Pattern> {
    texts.iter().filter_map(|text| Pattern::new(text)).collect()
}

fn allow(lists: &[(Scope, &[&str])]) -> AllowList {
    let lists = lists.iter().map(|(scope, texts)| AllowedNames { scope: *scope, patterns: patterns(texts) });
    AllowList::Every(lists.collect())
}

fn desired(servers: Vec<(&str, Entry)>) -> Desired {
    Desired {
        servers: servers.into_iter().map(|(name, entry)| (name.into(), entry)).collect(),
        ..Desired::default()
    }
}

fn valid(scope: Scope) -> Entry {
    Entry::Valid(Arc::new(spec(scope, "srv")))
}

fn verdict(desired: &Desired, bound: &LaunchBound, name: &str) -> &'static str {
    match admit_one(desired, bound, &name.into()) {
        Ok(_) => "admitted",
        Err(refusal) => refusal.as_str(),
    }
}

#[test]
fn the_first_reason_in_the_order_of_the_rules_is_given() {
    // Everything is wrong with `x`; each step mends the reason given before.
    let switched_off = |why: &str| {
        Entry::Invalid(InvalidEntry { scope: Scope::Project, switch: Switch::Off, why: why.to_owned() })
    };
    let mut d = desired(vec![("x", switched_off("no transport"))]);
    d.unreadable = vec!["system settings".to_owned()];
    d.folder = FolderTrust::Untrusted;
    d.gating.allowed = allow(&[(Scope::User, &["y"])]);
    d.gating.excluded = patterns(&["x"]);
    d.gating.pending.insert("x".into(), Pending::Rejected);
    let mut bound = LaunchBound::Names(patterns(&["z"]));

    assert_eq!(verdict(&d, &bound, "x"), "settings_unreadable");
    d.unreadable.clear();
    assert_eq!(verdict(&d, &bound, "x"), "untrusted_folder");
    d.folder = FolderTrust::Trusted;
    assert_eq!(
        admit_one(&d, &bound, &"x".into()).err(),
        Some(Refusal::NotAllowed(NotAllowedBy::LaunchBound))
    );
    bound = LaunchBound::Unbounded;
    assert_eq!(
        admit_one(&d, &bound, &"x".into()).err(),
        Some(Refusal::NotAllowed(NotAllowedBy::Scope(Scope::User)))
    );
    d.gating.allowed = AllowList::All;
    assert_eq!(verdict(&d, &bound, "x"), "excluded");
    d.gating.excluded.clear();
    assert_eq!(verdict(&d, &bound, "x"), "disabled");
    let broken = InvalidEntry { scope: Scope::Project, switch: Switch::On, why: "no transport".to_owned() };
    d.servers.insert("x".into(), Entry::Invalid(broken));
    assert_eq!(verdict(&d, &bound, "x"), "invalid");
    d.servers.insert("x".into(), valid(Scope::Project));
    assert_eq!(verdict(&d, &bound, "x"), "rejected");
    d.gating.pending.insert("x".into(), Pending::Undecided);
    assert_eq!(verdict(&d, &bound, "x"), "pending_approval");
    let approved = spec(Scope::Project, "srv").decided(Decision::Approved);
    d.servers.insert("x".into(), Entry::Valid(Arc::new(approved)));
    assert_eq!(verdict(&d, &bound, "x"), "pending_approval", "an approval does not lift what was staged");
    d.gating.pending.clear();
    assert_eq!(verdict(&d, &bound, "x"), "admitted");
}

#[test]
fn a_caller_that_stages_nothing_admits_nothing_gated() {
    for (scope, expected) in [
        (Scope::Extension, "admitted"),
        (Scope::SystemDefaults, "admitted"),
        (Scope::User, "admitted"),
        (Scope::Project, "pending_approval"),
        (Scope::Workspace, "pending_approval"),
        (Scope::System, "admitted"),
        (Scope::Session, "admitted"),
        (Scope::Runtime, "admitted"),
    ] {
        let d = desired(vec![("x", valid(scope))]);
        assert_eq!(verdict(&d, &LaunchBound::Unbounded, "x"), expected, "{scope}");
    }
}

#[test]
fn a_session_entry_that_changed_since_start_is_gated() {
    let entry = spec(Scope::Session, "srv").decided(Decision::Undecided);
    let d = desired(vec![("x", Entry::Valid(Arc::new(entry)))]);
    assert_eq!(verdict(&d, &LaunchBound::Unbounded, "x"), "pending_approval");
}

#[test]
fn an_empty_allow_list_admits_nothing_and_an_absent_one_everything() {
    let mut d = desired(vec![("a", valid(Scope::User))]);
    assert_eq!(verdict(&d, &LaunchBound::Unbounded, "a"), "admitted");
    d.gating.allowed = allow(&[(Scope::User, &[])]);
    assert_eq!(verdict(&d, &LaunchBound::Unbounded, "a"), "not_allowed");
    d.gating.allowed = allow(&[(Scope::User, &["  ", ""])]);
    assert_eq!(verdict(&d, &LaunchBound::Unbounded, "a"), "not_allowed");
}

#[test]
fn every_scope_that_sets_a_list_must_admit() {
    let mut d = desired(vec![("a", valid(Scope::User)), ("b", valid(Scope::User))]);
    d.gating.allowed = allow(&[(Scope::User, &["a", "b"]), (Scope::System, &["b*"])]);
    assert_eq!(
        admit_one(&d, &LaunchBound::Unbounded, &"a".into()).err(),
        Some(Refusal::NotAllowed(NotAllowedBy::Scope(Scope::System)))
    );
    assert_eq!(verdict(&d, &LaunchBound::Unbounded, "b"), "admitted");
}

#[test]
fn the_explanation_shows_every_check_and_its_first_refusal_is_the_verdict() {
    let mut d = desired(vec![("a", valid(Scope::Project))]);
    d.gating.excluded = patterns(&["a"]);
    let checks = explain(&d, &LaunchBound::Unbounded, &"a".into());
    let passed: Vec<bool> = checks.iter().map(|check| check.refusal.is_none()).collect();
    assert_eq!(passed, [true, true, true, false, true, true, false]);
}

#[test]
fn patterns_match_what_their_table_says() {
    for (pattern, name, expected) in [
        ("foo", "foo", true),
        ("foo", "Foo", false),
        ("foo", "foobar", false),
        ("*", "", true),
        ("?", "", false),
        ("?", "我", true),
        ("foo-*-baz", "foo-bar-baz", true),
        ("foo-*-baz", "foo-baz", false),
        ("**", "x", true),
        ("a*b*c", "ab", false),
        ("a*b*c", "abc", true),
        ("a*b*c", "axxbyyc", true),
        ("[a]", "a", false),
        ("[a]", "[a]", true),
        ("{a,b}", "a", false),
        ("plugin:p:s", "plugin:p:s", true),
        (" a b ", "a b", true),
        ("__proto__", "__proto__", true),
    ] {
        let matches = Pattern::new(pattern).is_some_and(|pattern| pattern.matches(name));
        assert_eq!(matches, expected, "{pattern:?} {name:?}");
    }
}

fn lists() -> impl Strategy<Value = AllowList> {
    let list = prop::collection::vec("[ab*?]{0,3}", 0..3);
    prop_oneof![
        Just(AllowList::All),
        prop::collection::vec(list, 1..3).prop_map(|lists| {
            let lists = lists.into_iter().map(|texts| AllowedNames {
                scope: Scope::User,
                patterns: texts.iter().filter_map(|text| Pattern::new(text)).collect(),
            });
            AllowList::Every(lists.collect())
        }),
    ]
}

proptest! {
    #[test]
    fn no_settings_widen_the_launch_bound(
        allowed in lists(),
        bound in prop::collection::vec("[ab*?]{0,3}", 0..3),
        excluded in prop::collection::vec("[ab*?]{0,2}", 0..2),
    ) {
        let names = ["a", "b", "ab", "ba", "aab"];
        let mut d = desired(names.map(|name| (name, valid(Scope::User))).to_vec());
        let excluded = excluded.iter().filter_map(|text| Pattern::new(text)).collect();
        d.gating = Gating { allowed, excluded, ..Gating::default() };
        let bound: std::collections::BTreeSet<_> = bound.iter().filter_map(|text| Pattern::new(text)).collect();
        let within = |name: &str| bound.iter().any(|pattern| pattern.matches(name));
        for (name, verdict) in admit(&d, &LaunchBound::Names(bound.clone())) {
            prop_assert!(verdict.is_err() || within(name.as_str()), "{} got past {:?}", name, bound);
        }
    }

    #[test]
    fn matching_agrees_with_the_obvious_definition(pattern in "[ab*?]{1,6}", name in "[ab]{0,6}") {
        fn obvious(pattern: &[u8], name: &[u8]) -> bool {
            match (pattern.split_first(), name.split_first()) {
                (None, None) => true,
                (Some((b'*', rest)), _) if obvious(rest, name) => true,
                (Some((b'*', _)), Some((_, tail))) => obvious(pattern, tail),
                (Some((b'?', rest)), Some((_, tail))) => obvious(rest, tail),
                (Some((p, rest)), Some((n, tail))) if p == n => obvious(rest, tail),
                _ => false,
            }
        }
        let matches = Pattern::new(&pattern).is_some_and(|pattern| pattern.matches(&name));
        prop_assert_eq!(matches, obvious(pattern.as_bytes(), name.as_bytes()));
    }
}
