//! What does a text with variables in it mean? Pure: the text, where values come from, and the rules for what is
//! unset. It reads no environment and knows no field of an entry.

use std::collections::BTreeMap;

/// Where values come from. A file of the project and a settings file's `env` are never among them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variables<'a> {
    /// The process's environment; it comes first.
    pub(crate) process: &'a BTreeMap<String, String>,
    /// `~/.qwen/.env`
    pub(crate) user: &'a BTreeMap<String, String>,
    /// `${QWEN_EXE}`: the running executable.
    pub(crate) exe: &'a str,
    /// `${workspaceFolder}`: the project root.
    pub(crate) folder: &'a str,
    /// The home folder, for `~`.
    pub(crate) home: Option<&'a str>,
    /// Which of them a text may read.
    pub(crate) reach: Reach,
}

/// Which variables a text may read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Reach {
    /// All.
    Everything,
    /// What is always defined. Others stay as written: nobody has agreed to hand them out.
    AlwaysDefined,
}

/// What a bare `$NAME` without a value means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Unset {
    /// The entry is invalid: an empty credential must not be sent.
    Invalid,
    /// The text stays, with a warning: it may be meant for a shell.
    KeepBare,
}

/// A text with its variables replaced.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Expanded {
    /// The text to use; may hold secrets.
    pub(crate) text: String,
    /// The variables it names, in order.
    pub(crate) used: Vec<Used>,
    /// What is odd but counts.
    pub(crate) warnings: Vec<String>,
    /// Why the entry cannot be used; the first reason.
    pub(crate) problem: Option<String>,
    /// The variable that has no value, where that is the reason.
    pub(crate) unset: Option<String>,
}

/// One variable that a text names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Used {
    /// Its name.
    pub(crate) name: String,
    /// What was put in its place.
    pub(crate) value: UsedValue,
}

/// What was put in the place of a variable.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum UsedValue {
    /// Its value; likely a secret.
    Set(String),
    /// Always defined, and no secret.
    Builtin,
    /// The default that is written.
    Default,
    /// Nothing; it has no value.
    Unset,
    /// Nothing; the text may not read it.
    OutOfReach,
}

impl std::fmt::Debug for UsedValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Set(_) => "Set(•••)",
            Self::Builtin => "Builtin",
            Self::Default => "Default",
            Self::Unset => "Unset",
            Self::OutOfReach => "OutOfReach",
        })
    }
}

/// Placeholders of other programs, which must never be sent as they stand.
const FOREIGN: [&str; 3] = ["input", "command", "config"];

impl Variables<'_> {
    /// Replaces variables in one pass; what a variable holds is never looked at again.
    #[must_use]
    pub(crate) fn expand(&self, text: &str, unset: Unset) -> Expanded {
        let mut out = Expanded::default();
        let mut rest = text;
        while let Some(dollar) = rest.find('$') {
            out.text.push_str(&rest[..dollar]);
            rest = &rest[dollar..];
            let (length, reference) = reference(rest);
            let written = &rest[..length];
            match reference {
                Reference::Dollar => out.text.push('$'),
                Reference::Text => out.text.push_str(written),
                Reference::Malformed => {
                    out.text.push_str(written);
                    out.warnings.push("a ${ that names no variable is taken as text".to_owned());
                }
                Reference::Foreign(prefix) => {
                    out.problem(format!("${{{prefix}:…}} is a placeholder of another program"));
                    out.text.push_str(written);
                }
                Reference::Variable { name, form, default } => {
                    self.replace(&mut out, written, name, form, default, unset);
                }
            }
            rest = &rest[length..];
        }
        out.text.push_str(rest);
        out
    }

    /// Replaces variables in a text where a leading `~` is the home folder.
    #[must_use]
    pub(crate) fn expand_path(&self, text: &str, unset: Unset) -> Expanded {
        let Some(rest) = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'))
        else {
            return self.expand(text, unset);
        };
        let mut out = self.expand(rest, unset);
        match self.home {
            Some(home) => out.text.insert_str(0, home.trim_end_matches('/')),
            None => {
                out.text.insert(0, '~');
                out.problem("~ has no meaning here, since HOME is not set".to_owned());
            }
        }
        out
    }

    fn replace(
        &self,
        out: &mut Expanded,
        written: &str,
        name: &str,
        form: Form,
        default: Option<&str>,
        unset: Unset,
    ) {
        let value = self.look_up(name, form, default);
        match &value {
            UsedValue::Set(text) => out.text.push_str(text),
            UsedValue::Builtin => out.text.push_str(if name == "QWEN_EXE" { self.exe } else { self.folder }),
            UsedValue::Default => out.text.push_str(default.unwrap_or_default()),
            UsedValue::OutOfReach => out.text.push_str(written),
            UsedValue::Unset => {
                out.text.push_str(written);
                match (form, unset) {
                    (Form::Bare, Unset::KeepBare) => {
                        out.warnings.push(format!("${name} is not set and is taken as text"));
                    }
                    (Form::Bare | Form::Braced | Form::Env, Unset::Invalid | Unset::KeepBare) => {
                        if out.problem.is_none() {
                            out.unset = Some(name.to_owned());
                        }
                        out.problem(format!("the variable {name} is not set"));
                    }
                }
            }
        }
        out.used.push(Used { name: name.to_owned(), value });
    }

    fn look_up(&self, name: &str, form: Form, default: Option<&str>) -> UsedValue {
        let is_builtin = matches!(name, "QWEN_EXE" | "workspaceFolder");
        match form {
            Form::Bare | Form::Braced if is_builtin => return UsedValue::Builtin,
            Form::Bare | Form::Braced | Form::Env => {}
        }
        match self.reach {
            Reach::AlwaysDefined => return UsedValue::OutOfReach,
            Reach::Everything => {}
        }
        let mut found = [self.process.get(name), self.user.get(name)].into_iter().flatten();
        match default {
            // With a default, an empty value counts as unset.
            Some(_) => found
                .find(|value| !value.is_empty())
                .map_or(UsedValue::Default, |value| UsedValue::Set(value.clone())),
            None => found.next().map_or(UsedValue::Unset, |value| UsedValue::Set(value.clone())),
        }
    }
}

impl Expanded {
    fn problem(&mut self, why: String) {
        self.problem.get_or_insert(why);
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// `$NAME`
    Bare,
    /// `${NAME}`, `${NAME:-default}`
    Braced,
    /// `${env:NAME}`
    Env,
}

#[derive(PartialEq, Eq, Debug)]
enum Reference<'a> {
    Variable {
        name: &'a str,
        form: Form,
        default: Option<&'a str>,
    },
    /// `$$`
    Dollar,
    /// `$` before anything else.
    Text,
    /// `${` without an end or without a name.
    Malformed,
    /// `${input:…}` and the like.
    Foreign(&'a str),
}

/// What the text, which starts with `$`, starts with, and how many bytes that is.
fn reference(text: &str) -> (usize, Reference<'_>) {
    let after = &text[1..];
    if after.starts_with('$') {
        return (2, Reference::Dollar);
    }
    let Some(inside) = after.strip_prefix('{') else {
        let name = leading_name(after);
        return if name.is_empty() {
            (1, Reference::Text)
        } else {
            (1 + name.len(), Reference::Variable { name, form: Form::Bare, default: None })
        };
    };
    let Some(end) = inside.find('}') else { return (2, Reference::Malformed) };
    let length = end + 3;
    let inside = &inside[..end];
    let first = leading_name(inside);
    let (form, body) = match inside.strip_prefix("env:") {
        Some(body) => (Form::Env, body),
        None => (Form::Braced, inside),
    };
    let name = leading_name(body);
    let reference = match (name.is_empty(), &body[name.len()..]) {
        (false, "") => Reference::Variable { name, form, default: None },
        (false, tail) if tail.starts_with(":-") => {
            Reference::Variable { name, form, default: Some(&tail[2..]) }
        }
        (false, tail) if tail.starts_with(':') && FOREIGN.contains(&first) => Reference::Foreign(first),
        (true | false, _) => Reference::Malformed,
    };
    // Of a malformed one only the `${` is text: what follows may hold a variable of its own.
    let length = if reference == Reference::Malformed { 2 } else { length };
    (length, reference)
}

fn leading_name(text: &str) -> &str {
    let is_name =
        |(at, c): (usize, char)| c == '_' || c.is_ascii_alphabetic() || at > 0 && c.is_ascii_digit();
    let end = text.char_indices().find(|&pair| !is_name(pair)).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

#[cfg(test)]
mod tests;
