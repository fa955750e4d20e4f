//! What did somebody mean who typed a word that is no command? Pure: from the command line and the parser's complaint to
//! the same complaint with the command to type. It knows which words people bring from other tools.

use std::ffi::{OsStr, OsString};

use clap::{
    Command,
    error::{ContextKind, ContextValue, ErrorKind},
};
use qwen_core::nearest;

/// What other tools call a command, and what it is called below `qwen mcp`.
const ELSEWHERE: [(&str, &str); 15] = [
    ("allow", "approve"),
    ("connect", "reconnect"),
    ("delete", "remove"),
    ("deny", "reject"),
    ("describe", "get"),
    ("info", "get"),
    ("inspect", "get"),
    ("ls", "list"),
    ("off", "disable"),
    ("on", "enable"),
    ("restart", "reconnect"),
    ("rm", "remove"),
    ("run", "call"),
    ("show", "get"),
    ("status", "list"),
];

/// The complaint, with what to type where that can be guessed. The parser's own guesses stay where there is no better one.
pub(super) fn with_what_was_meant(mut error: clap::Error, root: &Command, words: &[OsString]) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let Some(meant) = meant(root, words, typed) else { return error };
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![format!("type `{meant}`").into()]));
    error
}

/// The command line that was meant.
fn meant(root: &Command, words: &[OsString], typed: &str) -> Option<String> {
    let mut command = root;
    let mut path = root.get_name().to_owned();
    for word in words.iter().skip(1).take_while(|word| word.as_os_str() != OsStr::new(typed)) {
        if let Some(below) = command.find_subcommand(word) {
            command = below;
            path = format!("{path} {}", below.get_name());
        }
    }
    if typed == "help" {
        return Some(format!("{path} --help"));
    }
    // Whoever leaves out `mcp` means what stands below it.
    let below = || command.get_subcommands().find_map(|below| Some((below.get_name(), named(below, typed)?)));
    named(command, typed)
        .map(|name| format!("{path} {name}"))
        .or_else(|| below().map(|(below, name)| format!("{path} {below} {name}")))
}

/// The command below this one that comes nearest to the word, or is known elsewhere by it.
fn named(command: &Command, typed: &str) -> Option<String> {
    let known = ELSEWHERE.iter().find(|(word, _)| *word == typed).map(|(_, ours)| *ours);
    match known.and_then(|ours| command.find_subcommand(ours)) {
        Some(ours) => Some(ours.get_name().to_owned()),
        None => nearest(typed, command.get_subcommands().map(Command::get_name)).into_iter().next(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    #[test]
    fn a_word_that_is_no_command_is_answered_with_the_command_to_type() {
        for (line, said) in [
            ("qwen list", Some("tip: type `qwen mcp list`\n")),
            ("qwen aprove x", Some("tip: type `qwen mcp approve`\n")),
            ("qwen chekc", Some("tip: type `qwen settings check`\n")),
            ("qwen mpc list", Some("tip: type `qwen mcp`\n")),
            ("qwen help", Some("tip: type `qwen --help`\n")),
            ("qwen mcp help add", Some("tip: type `qwen mcp --help`\n")),
            ("qwen -C /p mcp remvoe x", Some("tip: type `qwen mcp remove`\n")),
            ("qwen mcp show x", Some("tip: type `qwen mcp get`\n")),
            ("qwen mcp delete x", Some("tip: type `qwen mcp remove`\n")),
            ("qwen mcp tool", Some("tip: type `qwen mcp tools`\n")),
            ("qwen settings sow", Some("tip: type `qwen settings show`\n")),
            ("qwen mcp approvals lst", Some("tip: type `qwen mcp approvals list`\n")),
            ("qwen xyzzy", None),
        ] {
            let text = parse(line.split(' ')).unwrap_err().to_string();
            match said {
                Some(said) => assert!(text.contains(said), "{line}: {text}"),
                None => assert!(!text.contains("tip"), "{line}: {text}"),
            }
            assert!(!text.contains("similar"), "{line}: {text}");
        }
    }
}
