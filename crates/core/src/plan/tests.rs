//! Plans as text: a few lines of *want* and *live* in, the rendered steps out.

use std::{collections::BTreeMap, sync::Arc};

use proptest::prelude::*;

use super::*;
use crate::{
    admission::admit,
    domain::{Desired, Entry, LaunchBound, Pattern, Scope, ServerSpec, View, Wire},
    testing::stdio,
};

/// `name=command` is a server, `name=command:tools` one whose view includes only these tools; `!name` excludes.
fn desired(want: &str) -> Desired {
    let mut desired = Desired::default();
    for word in want.split_whitespace() {
        if let Some(excluded) = word.strip_prefix('!') {
            desired.gating.excluded.extend(Pattern::new(excluded));
            continue;
        }
        let (name, spec) = word.split_once('=').unwrap();
        desired.servers.insert(name.into(), Entry::Valid(Arc::new(server(spec))));
    }
    desired
}

fn server(text: &str) -> ServerSpec {
    let (command, tools) =
        text.split_once(':').map_or((text, None), |(command, tools)| (command, Some(tools)));
    let include_tools = tools.map(|tools| tools.split(',').map(str::to_owned).collect());
    ServerSpec::new(Scope::User, Wire::Stdio(stdio(command)), View { include_tools, ..View::default() })
}

fn live(text: &str) -> BTreeMap<ServerName, Arc<ServerSpec>> {
    let words = text.split_whitespace().filter_map(|word| word.split_once('='));
    words.map(|(name, spec)| (name.into(), Arc::new(server(spec)))).collect()
}

fn planned(want: &Desired, live: &BTreeMap<ServerName, Arc<ServerSpec>>) -> Vec<Action> {
    plan(admit(want, &LaunchBound::Unbounded), &live.iter().collect()).0
}

fn render(actions: &[Action]) -> String {
    let words: Vec<String> = actions
        .iter()
        .map(|action| match action {
            Action::Close { name, why: CloseCause::Left } => format!("-{name}"),
            Action::Close { name, why: CloseCause::Changed } => format!("~{name}"),
            Action::Close { name, why: CloseCause::Refused(refusal) } => {
                format!("-{name}({})", refusal.as_str())
            }
            Action::Rescope { name, .. } => format!("»{name}"),
            Action::Open(admitted) => format!("+{}", admitted.name()),
        })
        .collect();
    words.join(" ")
}

#[test]
fn plans_say_what_their_table_says() {
    for (want, is, expected) in [
        ("", "", ""),
        ("a=x", "", "+a"),
        ("b=x a=x", "", "+b +a"),
        ("", "a=x b=x", "-a -b"),
        ("a=x", "a=x", ""),
        ("a=y", "a=x", "~a +a"),
        ("a=x:t", "a=x", "»a"),
        ("a=y:t", "a=x", "~a +a"),
        ("a=x b=y c=z", "a=x b=x d=x", "-d ~b +b +c"),
        ("a=x !a", "a=x", "-a(excluded)"),
        ("a=x !a", "", ""),
        ("a=x b=x !a*", "a=x b=x", "-a(excluded)"),
    ] {
        assert_eq!(render(&planned(&desired(want), &live(is))), expected, "want {want:?}, live {is:?}");
    }
}

/// What is live once the steps are taken.
fn carry_out(actions: Vec<Action>, live: &mut BTreeMap<ServerName, Arc<ServerSpec>>) {
    for action in actions {
        match action {
            Action::Close { name, .. } => drop(live.remove(&name)),
            Action::Rescope { name, spec } => drop(live.insert(name, spec)),
            Action::Open(admitted) => {
                let spec = Arc::clone(admitted.spec());
                assert!(live.insert(admitted.name().clone(), spec).is_none(), "opened on top of a live one");
            }
        }
    }
}

/// A word of the little language above, so that edits stay small and names collide.
fn words() -> impl Strategy<Value = Vec<String>> {
    let word = prop_oneof![
        4 => ("[a-d]", "[xy]").prop_map(|(name, command)| format!("{name}={command}")),
        2 => ("[a-d]", "[xy]", "[tu]").prop_map(|(name, command, tool)| format!("{name}={command}:{tool}")),
        1 => "[a-d]".prop_map(|name| format!("!{name}")),
    ];
    prop::collection::vec(word, 0..6)
}

proptest! {
    #[test]
    fn a_plan_carried_out_leaves_nothing_to_do(first in words(), edit in words()) {
        let mut live = BTreeMap::new();
        for want in [first.join(" "), format!("{} {}", first.join(" "), edit.join(" "))] {
            let want = desired(&want);
            carry_out(planned(&want, &live), &mut live);
            prop_assert_eq!(render(&planned(&want, &live)), "");
            let admitted = admit(&want, &LaunchBound::Unbounded).into_iter().filter(|(_, verdict)| verdict.is_ok());
            prop_assert_eq!(admitted.count(), live.len());
        }
    }

    #[test]
    fn unchanged_servers_are_not_touched(words in words(), name in "[e-f]") {
        let mut live = BTreeMap::new();
        let before = desired(&words.join(" "));
        carry_out(planned(&before, &live), &mut live);
        let mut after = before.clone();
        after.servers.insert(name.as_str().into(), Entry::Valid(Arc::new(server("x"))));
        prop_assert_eq!(render(&planned(&after, &live)), format!("+{name}"));
    }
}
