//! What does a line that was typed ask for? Pure: from text to a command, or to what to type instead. It does nothing.

use qwen_core::ServerName;

use crate::text::visible;

/// What a line asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Command {
    /// Read all files again.
    Reload,
    /// Open the list of servers, or one of them.
    Servers(Option<ServerName>),
    /// Try a server again.
    Reconnect(ServerName),
    /// List tools, of one server or of all.
    Tools(Option<ServerName>),
    /// Use something.
    Use(Wish),
    /// What was decided.
    Approvals,
    /// Be asked about the folder again.
    Trust,
    /// Which files are read, and what is wrong in them.
    Settings,
    /// What can be typed.
    Help,
    /// End the session.
    Quit,
    /// Nothing.
    Nothing,
    /// It is no command; this is what to type.
    No(String),
}

/// Something that a server offers, to be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Wish {
    /// Call a tool: its words as `mcp call` takes them.
    Call(Vec<String>),
    /// Get a prompt, with its arguments as JSON.
    Prompt(String, Option<String>),
    /// Read a resource, of a server where several have it.
    Resource(Option<String>, String),
}

impl Wish {
    /// As the line that tells of it names it.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Call(words) => {
                let names = words.iter().take_while(|word| !is_arguments(word)).cloned().collect::<Vec<_>>();
                format!("call {}", visible(&names.join(" ")))
            }
            Self::Prompt(name, _) => format!("prompt {}", visible(name)),
            Self::Resource(_, uri) => format!("resource {}", visible(uri)),
        }
    }
}

/// Every command, as typed and as explained, in the order in which help shows them.
pub(super) const COMMANDS: [(&str, &str, &str); 11] = [
    ("/mcp", "", "every server with its state; Enter shows one in full; also /mcp reconnect NAME"),
    ("/tools", "[SERVER]", "the tools on offer"),
    ("/call", "TOOL {JSON}", "call a tool"),
    ("/prompt", "NAME {JSON}", "get a prompt"),
    ("/resource", "URI", "read a resource"),
    ("/reload", "", "read every settings file again; applies edits that were held back"),
    ("/approvals", "", "what was approved or rejected in this project"),
    ("/trust", "", "be asked again whether this folder is trusted"),
    ("/settings", "", "which files are read, and what is wrong in them"),
    ("/help", "", "this list, and the keys"),
    ("/quit", "", "end the session"),
];

/// What a line asks for.
pub(super) fn command(line: &str) -> Command {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let server = |text: &str| (!text.is_empty()).then(|| ServerName::from(text));
    match word {
        "" => Command::Nothing,
        "/reload" => Command::Reload,
        "/mcp" => match rest.split_once(char::is_whitespace).unwrap_or((rest, "")) {
            ("reconnect", "") => Command::No("which server? type /mcp reconnect NAME".to_owned()),
            ("reconnect", name) => Command::Reconnect(ServerName::from(name.trim())),
            _ => Command::Servers(server(rest)),
        },
        "/tools" => Command::Tools(server(rest)),
        "/call" if rest.is_empty() => {
            Command::No("which tool? type /call TOOL {JSON}; /tools lists them".to_owned())
        }
        "/call" => Command::Use(Wish::Call(words(rest))),
        "/prompt" => match words(rest).as_slice() {
            [name] => Command::Use(Wish::Prompt(name.clone(), None)),
            [name, arguments] if is_arguments(arguments) => {
                Command::Use(Wish::Prompt(name.clone(), Some(arguments.clone())))
            }
            _ => Command::No("which prompt? type /prompt NAME {JSON}; /mcp shows them".to_owned()),
        },
        "/resource" => match words(rest).as_slice() {
            [uri] => Command::Use(Wish::Resource(None, uri.clone())),
            [server, uri] => Command::Use(Wish::Resource(Some(server.clone()), uri.clone())),
            _ => Command::No("which resource? type /resource URI; /mcp shows them".to_owned()),
        },
        "/approvals" => Command::Approvals,
        "/trust" => Command::Trust,
        "/settings" => Command::Settings,
        "/help" | "/?" | "?" => Command::Help,
        "/quit" | "/exit" => Command::Quit,
        other if other.starts_with('/') => {
            let near = qwen_core::nearest(other, COMMANDS.iter().map(|(name, _, _)| *name));
            let near = near.first().map(|name| format!(", did you mean {name}?")).unwrap_or_default();
            Command::No(format!("there is no {}{near} /help lists every command", visible(other)))
        }
        _ => Command::No(
            "there is no model here to talk to: type /call TOOL {JSON} to use a tool, /mcp to see the servers, \
             or /help"
                .to_owned(),
        ),
    }
}

/// Words up to the arguments, which are the rest.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if is_arguments(rest) {
            words.push(rest.to_owned());
            break;
        }
        let (word, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        words.push(word.to_owned());
        rest = behind.trim_start();
    }
    words
}

fn is_arguments(word: &str) -> bool {
    word.starts_with(['{', '@', '['])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn every_command_is_understood_with_what_stands_behind_it() {
        let name = |text: &str| ServerName::from(text);
        let call = |words: &[&str]| Command::Use(Wish::Call(texts(words)));
        let table = [
            ("", Command::Nothing),
            ("  /reload ", Command::Reload),
            ("/mcp", Command::Servers(None)),
            ("/mcp github", Command::Servers(Some(name("github")))),
            ("/mcp reconnect  github", Command::Reconnect(name("github"))),
            ("/mcp reconnect two words", Command::Reconnect(name("two words"))),
            ("/tools", Command::Tools(None)),
            ("/tools github", Command::Tools(Some(name("github")))),
            ("/call mcp__a__b", call(&["mcp__a__b"])),
            ("/call a b {\"x\": [1, 2]}", call(&["a", "b", "{\"x\": [1, 2]}"])),
            ("/prompt p {\"a\": 1}", Command::Use(Wish::Prompt("p".into(), Some("{\"a\": 1}".into())))),
            ("/resource file:///x", Command::Use(Wish::Resource(None, "file:///x".into()))),
            ("/resource s file:///x", Command::Use(Wish::Resource(Some("s".into()), "file:///x".into()))),
            ("/approvals", Command::Approvals),
            ("/trust", Command::Trust),
            ("/settings", Command::Settings),
            ("/help", Command::Help),
            ("/exit", Command::Quit),
        ];
        for (line, expected) in table {
            assert_eq!(command(line), expected, "{line:?}");
        }
    }

    #[test]
    fn what_is_no_command_says_what_to_type() {
        for (line, said) in [
            ("hello there", "/help"),
            ("/relaod", "did you mean /reload?"),
            ("/call", "/call TOOL {JSON}"),
            ("/prompt", "/prompt NAME"),
            ("/mcp reconnect", "/mcp reconnect NAME"),
            ("/\u{1b}[2J", "\\u{1b}"),
        ] {
            let Command::No(text) = command(line) else { panic!("{line:?}") };
            assert!(text.contains(said), "{line:?}: {text}");
        }
    }

    #[test]
    fn every_command_of_the_list_is_one() {
        for (name, _, _) in COMMANDS {
            let line = format!("{name} x");
            let understood = command(&line);
            assert!(
                !matches!(&understood, Command::No(text) if text.contains("there is no")),
                "{understood:?}"
            );
        }
    }
}
