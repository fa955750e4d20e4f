//! `qwen mcp reconnect`: tries a connection in this process through the same gate as every other, and says how a running
//! session does it.

use std::{collections::BTreeMap, time::Duration};

use qwen_core::{Desired, Phase, Refusal, ServerName, View, Wire};

use super::approve::unknown;
use crate::{
    app::{App, Probed},
    args::{Global, ReconnectArgs},
    derive::{Derived, Screen},
    exit::Exit,
    output,
    row::last_words,
    text::{below, count, hanging, visible},
    words::{Background, Words, of_phase, of_refusal},
};

/// Tries one server, or all.
pub(crate) fn run(global: &Global, args: &ReconnectArgs) -> Exit {
    let app = match App::open(global, Screen::Headless) {
        Ok(app) => app,
        Err(error) => return output::fail(&error, error.exit()),
    };
    let derived = app.derived();
    let names: Vec<ServerName> = match &args.name {
        Some(name) if derived.rows.contains_key(name.as_str()) => vec![ServerName::from(name.as_str())],
        Some(name) => {
            output::say(&format!("qwen: {}", unknown(derived, name)));
            return Exit::Failed;
        }
        None => derived.rows.keys().cloned().collect(),
    };
    let (admitted, refused) = sorted(&app, derived, names);
    for (name, refusal) in &refused {
        output::print(&refused_line(derived, name, refusal, app.background(), output::width()));
    }
    if admitted.servers.is_empty() {
        return if refused.is_empty() || args.all { Exit::Ok } else { Exit::Blocked };
    }
    let limit = longest(&admitted) + Duration::from_secs(1);
    let total = admitted.servers.len();
    let report = |probed| report(&app, derived, &probed, total);
    match app.interruptible(async |guard| app.probe(admitted, limit, guard, report).await) {
        Err(error) => output::fail(&error, error.exit()),
        Ok(None) => Exit::Interrupted,
        Ok(Some(exit)) => exit,
    }
}

/// What the gate lets through, as the only servers of a state of their own, and what it does not.
fn sorted(app: &App, derived: &Derived, names: Vec<ServerName>) -> (Desired, Vec<(ServerName, Refusal)>) {
    let mut verdicts = qwen_core::admit(&derived.desired(), app.bound());
    let mut admitted = derived.desired();
    admitted.servers.clear();
    let mut refused = Vec::new();
    for name in names {
        match (verdicts.shift_remove(&name), derived.servers.get(&name)) {
            (Some(Err(refusal)), _) => refused.push((name, refusal)),
            (Some(Ok(_)), Some(entry)) => {
                admitted.servers.insert(name, entry.clone());
            }
            (Some(Ok(_)) | None, _) => {}
        }
    }
    (admitted, refused)
}

/// The longest that any of them may take by its own entry.
fn longest(desired: &Desired) -> Duration {
    let limits = desired.servers.values().map(|entry| match entry {
        qwen_core::Entry::Valid(spec) => match spec.wire() {
            Wire::Stdio(_) | Wire::Http(_) | Wire::Sse(_) => spec.view.discovery_timeout,
        },
        qwen_core::Entry::Invalid(_) => Duration::ZERO,
    });
    limits.max().unwrap_or(View::STDIO_DISCOVERY)
}

fn refused_line(
    derived: &Derived,
    name: &ServerName,
    refusal: &Refusal,
    back: Background<'_>,
    width: usize,
) -> String {
    let words = of_refusal(refusal, name, derived.rows.get(name), back);
    sentence(&format!("{} was not tried", visible(name.as_str())), words, width)
}

fn report(app: &App, derived: &Derived, probed: &BTreeMap<ServerName, Probed>, total: usize) -> Exit {
    for (name, probed) in probed {
        output::print(&tried_line(derived, name, &probed.phase, app.background(), output::width()));
    }
    let connected = probed.values().filter(|probed| matches!(probed.phase, Phase::Connected(_))).count();
    if total > 1 {
        output::print(&format!("{connected} of {total} connected\n"));
    }
    output::print(
        "this was a connection of this process; in a running session use\n\
         /mcp reconnect NAME, or edit the entry\n",
    );
    if connected == total { Exit::Ok } else { Exit::ServersFailed }
}

fn tried_line(
    derived: &Derived,
    name: &ServerName,
    phase: &Phase,
    back: Background<'_>,
    width: usize,
) -> String {
    let shown = visible(name.as_str());
    let words = of_phase(phase, name, derived.rows.get(name), back);
    match phase {
        Phase::Connected(found) => format!("✓ {shown} connects, with {}\n", count(found.tools, "tool")),
        Phase::Failed { failure, .. } => {
            let told = last_words(failure.stderr_tail.as_deref()).map(|line| below("| ", &line, width));
            sentence(&format!("✗ {shown} does not connect"), words, width) + &told.collect::<String>()
        }
        Phase::Connecting(_) | Phase::Refused(_) => {
            sentence(&format!("✗ {shown} does not connect"), words, width)
        }
    }
}

fn sentence(start: &str, words: Words, width: usize) -> String {
    let cause = words.cause.map(|cause| format!(": {}", visible(&cause))).unwrap_or_default();
    let said = hanging("", &format!("{start}{cause}"), width.saturating_sub(4)).join("\n    ");
    let step = words.next_step.map(|step| below("next: ", &visible(&step), width)).unwrap_or_default();
    format!("{said}\n{step}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn each_state_is_answered_with_what_was_tried_or_why_it_was_not() {
        let snapshot = fixtures::restricting_files();
        let back = fixtures::background(&snapshot);
        let mut text = String::new();
        for shown in fixtures::every_state() {
            let name = shown.row.name.clone();
            let mut derived = Derived::default();
            derived.rows.insert(name.clone(), shown.row.clone());
            let line = match shown.refusal() {
                Some(refusal) => refused_line(&derived, &name, refusal, back, output::WIDTH),
                None => tried_line(&derived, &name, &shown.phase, back, output::WIDTH),
            };
            text.push_str(&format!("--- {}\n{line}", shown.label));
        }
        insta::assert_snapshot!(text);
    }
}
