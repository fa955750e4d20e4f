//! What could stand at the cursor? Commands, servers, tools, prompts, resources and JSON arguments from a tool's schema.
//! Pure: from the text before the cursor and what is known to a list of texts.

mod json;

use qwen_core::ServerName;

use super::{asked::COMMANDS, panel::Turn, state::State};

/// What could stand at the cursor, one of them chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Completion {
    /// Each with a word about it.
    pub(super) candidates: Vec<Candidate>,
    /// Which one stands in the line now.
    pub(super) chosen: usize,
}

/// One text that could stand at the cursor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Candidate {
    /// As it is typed.
    pub(super) text: String,
    /// About it.
    pub(super) about: String,
}

impl Candidate {
    fn new(text: impl Into<String>, about: &str) -> Self {
        let about = about.lines().next().unwrap_or_default();
        Self { text: text.into(), about: about.to_owned() }
    }
}

/// The texts that could stand in place of the last characters before the cursor.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Offer {
    /// How many characters each replaces.
    replaced: usize,
    candidates: Vec<Candidate>,
}

/// Puts the next text that could stand at the cursor there. One alone needs no list.
pub(super) fn step(state: &mut State, turn: Turn) {
    if let Some(mut completion) = state.input.completion.take() {
        let standing = completion.candidates.get(completion.chosen).map_or(0, |now| now.text.chars().count());
        completion.chosen = turn.within(completion.chosen, completion.candidates.len());
        if let Some(next) = completion.candidates.get(completion.chosen) {
            state.input.complete(standing, &next.text);
        }
        state.input.completion = Some(completion);
        return;
    }
    let offer = offer(&state.input.before_cursor(), state);
    let chosen = match turn {
        Turn::Next => 0,
        Turn::Before => offer.candidates.len().saturating_sub(1),
    };
    let Some(first) = offer.candidates.get(chosen) else { return };
    state.input.complete(offer.replaced, &first.text);
    if offer.candidates.len() > 1 {
        state.input.completion = Some(Completion { candidates: offer.candidates, chosen });
    }
}

fn offer(before: &str, state: &State) -> Offer {
    let Some((command, rest)) = before.split_once(char::is_whitespace) else {
        return of_words(
            before,
            COMMANDS.iter().map(|(name, behind, does)| {
                let text = if behind.is_empty() { (*name).to_owned() } else { format!("{name} ") };
                Candidate::new(text, does)
            }),
        );
    };
    let rest = rest.trim_start();
    match command {
        "/mcp" => match rest.split_once(char::is_whitespace) {
            Some(("reconnect", name)) => of_words(name.trim_start(), servers(state)),
            Some(_) => Offer::default(),
            None => {
                let reconnect = Candidate::new("reconnect ", "try one again");
                of_words(rest, std::iter::once(reconnect).chain(servers(state)))
            }
        },
        "/tools" => of_words(rest, servers(state)),
        "/call" => call(rest, state),
        "/prompt" => {
            let prompts = state.status.catalogue.prompts.values();
            of_words(
                rest,
                prompts.map(|prompt| {
                    Candidate::new(&*prompt.name, prompt.description.as_deref().unwrap_or_default())
                }),
            )
        }
        "/resource" => {
            let resources = state.status.catalogue.resources.values();
            of_words(rest, resources.map(|resource| Candidate::new(&*resource.uri, &resource.name)))
        }
        _ => Offer::default(),
    }
}

fn servers(state: &State) -> impl Iterator<Item = Candidate> {
    state.status.servers.iter().map(|(name, server)| {
        Candidate::new(ServerName::as_str(name), &server.phase.state().as_str().replace('_', " "))
    })
}

fn call(rest: &str, state: &State) -> Offer {
    let tools = &state.status.catalogue.tools;
    match rest.split_once(char::is_whitespace) {
        None => of_words(
            rest,
            tools.values().map(|tool| {
                Candidate::new(format!("{} ", tool.name), tool.description.as_deref().unwrap_or_default())
            }),
        ),
        Some((tool, arguments)) => match tools.get(tool) {
            Some(tool) => json::offer(arguments.trim_start(), &tool.input_schema),
            None => Offer::default(),
        },
    }
}

/// Those that begin with what is typed; where none does, those that hold it.
fn of_words(typed: &str, words: impl Iterator<Item = Candidate>) -> Offer {
    let all: Vec<Candidate> = words.collect();
    let begins: Vec<Candidate> =
        all.iter().filter(|candidate| candidate.text.starts_with(typed)).cloned().collect();
    let candidates = if begins.is_empty() {
        all.into_iter().filter(|candidate| candidate.text.contains(typed)).collect()
    } else {
        begins
    };
    Offer { replaced: typed.chars().count(), candidates }
}
