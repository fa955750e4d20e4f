//! What does somebody type to do something about a server: in a shell, and in the interactive session? The one place that
//! spells commands in next steps. It knows no reason.

use qwen_core::ServerName;

use crate::text::{shell_word, visible};

/// Where the next step is typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Prompt {
    /// In a shell, as a command.
    Shell,
    /// In the interactive session, as what stands on its screen.
    Session,
}

impl Prompt {
    /// Decides about exactly this entry.
    pub(crate) fn decide(self, name: &ServerName, hash: &str) -> String {
        match self {
            Self::Shell => format!("decide in /mcp of a session, or run `{}`", approve_command(name, hash)),
            Self::Session => format!("choose Approve or Reject in /mcp {}", visible(name.as_str())),
        }
    }

    /// Approves exactly this entry, whatever was decided before.
    pub(super) fn approve(self, name: &ServerName, hash: &str) -> String {
        match self {
            Self::Shell => format!("run `{}`", approve_command(name, hash)),
            Self::Session => format!("choose Approve in /mcp {}", visible(name.as_str())),
        }
    }

    /// Tries the connection again.
    pub(super) fn reconnect(self, name: &ServerName) -> String {
        match self {
            Self::Shell => format!("run `qwen mcp reconnect {}`", shell_word(name.as_str())),
            Self::Session => format!("type /mcp reconnect {}", visible(name.as_str())),
        }
    }

    /// Takes back what switches it off.
    pub(super) fn enable(self, name: &ServerName) -> String {
        match self {
            Self::Shell => format!("run `qwen mcp enable {}`", shell_word(name.as_str())),
            Self::Session => format!("choose Enable in /mcp {}", visible(name.as_str())),
        }
    }

    /// Says that the project's folder is trusted.
    pub(super) fn trust(self) -> &'static str {
        match self {
            Self::Shell => "run `qwen trust` there",
            Self::Session => "type /trust",
        }
    }

    /// Behind a command that only a shell has.
    pub(super) fn elsewhere(self) -> &'static str {
        match self {
            Self::Shell => "",
            Self::Session => " in another terminal",
        }
    }

    /// Finds a name among what is on offer.
    pub(crate) fn list_names(self) -> &'static str {
        match self {
            Self::Shell => "`qwen mcp tools` lists every name",
            Self::Session => "/tools lists every name",
        }
    }

    /// Finds a server among those that are configured.
    pub(crate) fn list_servers(self) -> &'static str {
        match self {
            Self::Shell => "see `qwen mcp list --no-connect`",
            Self::Session => "see /mcp",
        }
    }

    /// Lets a server have the time that it takes to answer.
    pub(crate) fn give_time(self) -> &'static str {
        match self {
            Self::Shell => "give it more time with --timeout",
            Self::Session => "try again when /mcp says that it is connected",
        }
    }
}

/// The command that approves exactly this entry.
pub(super) fn approve_command(name: &ServerName, hash: &str) -> String {
    let word = shell_word(name.as_str());
    // A name that starts with a dash would be read as a flag.
    if word.starts_with('-') {
        format!("qwen mcp approve --hash {hash} -- {word}")
    } else {
        format!("qwen mcp approve {word} --hash {hash}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_smuggle_words_into_a_command() {
        assert_eq!(approve_command(&ServerName::from("a b"), "h"), "qwen mcp approve 'a b' --hash h");
        assert_eq!(approve_command(&ServerName::from("--all"), "h"), "qwen mcp approve --hash h -- --all");
        let name = ServerName::from("a\u{1b}[2J");
        for step in [Prompt::Session.decide(&name, "h"), Prompt::Session.reconnect(&name)] {
            assert!(!step.contains('\u{1b}'), "{step}");
        }
    }
}
