//! Which words of `mcp add` are ours and which are the server's? Pure: from words to a name, a command and options.
//! Before `--` our options may stand anywhere; an unknown one and everything after it belong to the server.

use clap::{Args as _, FromArgMatches as _};

use crate::args::{AddArgs, AddOptions};

/// The command line of `mcp add`, taken apart.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Typed {
    pub(super) name: String,
    /// The command or the URL.
    pub(super) target: String,
    pub(super) args: Vec<String>,
    pub(super) options: AddOptions,
}

/// Why a command line makes no sense.
#[derive(Debug, thiserror::Error)]
pub(super) enum GrammarError {
    #[error(
        "understand `{word}` before the {missing}; qwen's own options are in `qwen mcp add --help`, the server's come after its command"
    )]
    UnknownOption { word: String, missing: &'static str },
    #[error("find the {missing}; type `qwen mcp add NAME COMMAND [ARGS]...` or `qwen mcp add NAME URL`")]
    Missing { missing: &'static str },
    #[error("understand the options: {0}")]
    Options(String),
}

/// Takes the words apart.
pub(super) fn typed(args: &AddArgs) -> Result<Typed, GrammarError> {
    let command =
        AddOptions::augment_args(clap::Command::new("add").no_binary_name(true).disable_help_flag(true));
    let mut ours = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut rest = args.words.iter().cloned();
    while let Some(word) = rest.next() {
        if word == "--" {
            words.extend(rest.by_ref());
            break;
        }
        match our_option(&command, &word) {
            Word::Plain => words.push(word),
            Word::Ours => ours.push(word),
            Word::OursWithValue => {
                ours.push(word);
                ours.extend(rest.next());
            }
            Word::Unknown => match words.len() {
                0 => return Err(GrammarError::UnknownOption { word, missing: "name" }),
                1 => return Err(GrammarError::UnknownOption { word, missing: "command" }),
                _ => {
                    words.push(word);
                    words.extend(rest.by_ref());
                    break;
                }
            },
        }
    }
    let later = command
        .try_get_matches_from(ours)
        .and_then(|matches| AddOptions::from_arg_matches(&matches))
        .map_err(|error| GrammarError::Options(complaint(&error)))?;
    let mut words = words.into_iter();
    let name =
        words.next().filter(|name| !name.is_empty()).ok_or(GrammarError::Missing { missing: "name" })?;
    let target = words
        .next()
        .filter(|target| !target.is_empty())
        .ok_or(GrammarError::Missing { missing: "command or URL" })?;
    Ok(Typed { name, target, args: words.collect(), options: joined(args.options.clone(), later) })
}

/// What the parser complains about, in one line and without its advice, which is about another command line.
fn complaint(error: &clap::Error) -> String {
    let text = error.to_string();
    let first = text.trim_start_matches("error: ").lines().take_while(|line| !line.is_empty());
    first.map(str::trim).collect::<Vec<_>>().join(" ")
}

enum Word {
    /// No option at all.
    Plain,
    Ours,
    /// Ours, and its value is the next word.
    OursWithValue,
    Unknown,
}

fn our_option(command: &clap::Command, word: &str) -> Word {
    let find = |is_it: &dyn Fn(&clap::Arg) -> bool| command.get_arguments().find(|arg| is_it(arg));
    let (found, has_value) = if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        (find(&|arg| arg.get_long() == Some(name)), value.is_some())
    } else if let Some(short) = word.strip_prefix('-').and_then(|rest| rest.chars().next()) {
        (find(&|arg| arg.get_short() == Some(short)), word.len() > 1 + short.len_utf8())
    } else {
        return Word::Plain;
    };
    match found {
        None => Word::Unknown,
        Some(arg) if arg.get_action().takes_values() && !has_value => Word::OursWithValue,
        Some(_) => Word::Ours,
    }
}

/// What stood before the name with what stood behind it; of what can stand once the later one counts.
fn joined(first: AddOptions, later: AddOptions) -> AddOptions {
    let both = |mut first: Vec<String>, later: Vec<String>| {
        first.extend(later);
        first
    };
    AddOptions {
        scope: later.scope.or(first.scope),
        transport: later.transport.or(first.transport),
        env: both(first.env, later.env),
        header: both(first.header, later.header),
        timeout: later.timeout.or(first.timeout),
        trust: first.trust || later.trust,
        description: later.description.or(first.description),
        include_tools: both(first.include_tools, later.include_tools),
        exclude_tools: both(first.exclude_tools, later.exclude_tools),
        oauth_client_id: later.oauth_client_id.or(first.oauth_client_id),
        oauth_client_secret: later.oauth_client_secret.or(first.oauth_client_secret),
        oauth_redirect_uri: later.oauth_redirect_uri.or(first.oauth_redirect_uri),
        oauth_authorization_url: later.oauth_authorization_url.or(first.oauth_authorization_url),
        oauth_token_url: later.oauth_token_url.or(first.oauth_token_url),
        oauth_scopes: both(first.oauth_scopes, later.oauth_scopes),
        json: first.json || later.json,
    }
}
