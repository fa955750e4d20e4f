//! `qwen mcp approve` and `qwen mcp reject`: decide about entries exactly as they are now. What is shown, hashed and
//! recorded is one value from one read of the files.

mod target;

use std::io::{self, BufRead as _, IsTerminal as _};

use qwen_approvals::{ApprovalHash, Verdict};
use serde::Serialize;

use self::target::{Target, nothing_waits, target, waiting};
pub(crate) use self::target::{unknown, unknown_at};
use crate::{
    app::App,
    args::{ApproveArgs, Global, RejectArgs},
    derive::{Derived, Promptable, Screen},
    exit::Exit,
    output,
    row::path_text,
    text::visible,
    words::place,
};

/// One decision that was recorded, as JSON shows it.
#[derive(Serialize, Debug)]
struct DecidedRow {
    server: String,
    status: &'static str,
    hash: String,
    path: Option<String>,
    line: Option<u32>,
}

/// How decisions are made in this run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Manner {
    /// Each entry is shown and asked about.
    Ask,
    /// What was named is decided.
    Decide,
}

/// Approves.
pub(crate) fn approve(global: &Global, args: &ApproveArgs) -> Exit {
    let hash = match &args.hash {
        None => None,
        Some(text) => match (text.parse::<ApprovalHash>(), args.names.len()) {
            (Ok(hash), 1) => Some(hash),
            (Ok(_), _) => return usage("--hash goes with exactly one NAME"),
            (Err(error), _) => return usage(&format!("--hash is {error}")),
        },
    };
    let asks = io::stdin().is_terminal() && io::stderr().is_terminal();
    let manner = if asks && !args.yes { Manner::Ask } else { Manner::Decide };
    let request = Request { names: &args.names, all: args.all, json: args.json, hash, manner };
    run(global, &request, Verdict::Approve)
}

/// Rejects.
pub(crate) fn reject(global: &Global, args: &RejectArgs) -> Exit {
    let request =
        Request { names: &args.names, all: args.all, json: args.json, hash: None, manner: Manner::Decide };
    run(global, &request, Verdict::Reject)
}

fn usage(why: &str) -> Exit {
    output::say(&format!("qwen: {why}"));
    Exit::Usage
}

struct Request<'a> {
    names: &'a [String],
    all: bool,
    json: bool,
    hash: Option<ApprovalHash>,
    manner: Manner,
}

fn run(global: &Global, request: &Request<'_>, verdict: Verdict) -> Exit {
    let app = match App::open(global, Screen::Headless) {
        Ok(app) => app,
        Err(error) => return output::fail(&error, error.exit()),
    };
    let derived = app.derived();
    if request.names.is_empty() && !request.all {
        output::note(&waiting(derived));
        return Exit::Usage;
    }
    let mut deciding =
        Deciding { app: &app, verdict, manner: request.manner, done: Vec::new(), exit: Exit::Ok };
    if request.all {
        if derived.promptable.is_empty() {
            output::note(nothing_waits());
        }
        derived.promptable.values().for_each(|asked| deciding.decide(asked));
    }
    for name in request.names {
        deciding.by_name(derived, name, request.hash);
    }
    if request.json {
        output::print_json(&deciding.done);
    }
    let Deciding { done, exit, .. } = deciding;
    if !request.json {
        output::print(&done.iter().map(line).collect::<String>());
    }
    exit
}

fn line(row: &DecidedRow) -> String {
    let path = row.path.as_deref().unwrap_or("--mcp-config");
    let line = row.line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{} {} {} {}{line}\n", row.status, visible(&row.server), row.hash, visible(path))
}

/// One run of the command.
struct Deciding<'a> {
    app: &'a App,
    verdict: Verdict,
    manner: Manner,
    done: Vec<DecidedRow>,
    exit: Exit,
}

impl Deciding<'_> {
    fn by_name(&mut self, derived: &Derived, name: &str, hash: Option<ApprovalHash>) {
        match target(derived, name, self.verdict, self.app.background()) {
            Target::Entry(asked) => match hash {
                Some(hash) if hash.to_string() != asked.hash => {
                    output::note(&format!(
                        "qwen: {} was not approved: its entry in {} changed and now has the hash {}",
                        visible(name),
                        place(&asked.source),
                        asked.hash
                    ));
                    self.worse(Exit::Blocked);
                }
                Some(_) | None => self.decide(&asked),
            },
            Target::Not { why, exit } => {
                output::say(&format!("qwen: {why}"));
                self.worse(exit);
            }
        }
    }

    fn decide(&mut self, asked: &Promptable) {
        if self.manner == Manner::Ask && !self.says_yes(asked) {
            output::note(&format!("{} stays undecided", visible(asked.name.as_str())));
            return;
        }
        let Ok(hash) = asked.hash.parse::<ApprovalHash>() else { return };
        let root = self.app.root();
        let shown = asked.written.value();
        match self.app.store.decide(root, asked.name.as_str(), hash, self.verdict, shown) {
            Ok(decided) => {
                if let Some(aside) = decided.set_aside {
                    let aside = aside.display();
                    output::note(&format!("the record of approvals was broken; it was set aside as {aside}"));
                }
                self.done.push(DecidedRow {
                    server: asked.name.as_str().to_owned(),
                    status: match self.verdict {
                        Verdict::Approve => "approved",
                        Verdict::Reject => "rejected",
                    },
                    hash: asked.hash.clone(),
                    path: asked.source.path.as_deref().map(path_text),
                    line: asked.source.line,
                });
            }
            Err(error) => {
                output::complain("record the decision", &error);
                self.worse(Exit::Failed);
            }
        }
    }

    fn says_yes(&self, asked: &Promptable) -> bool {
        output::note(&self.app.question(asked, &io::stderr()));
        output::note("Run it? [y]es, [n]o");
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        read.is_ok() && matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
    }

    /// The exit that says most: what is blocked weighs more than what is unknown.
    fn worse(&mut self, exit: Exit) {
        if exit.code() > self.exit.code() {
            self.exit = exit;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_decision_is_told_for_people_and_for_programs() {
        let row = |status, path: Option<&str>, line| DecidedRow {
            server: "gh".to_owned(),
            status,
            hash: crate::fixtures::HASH.to_owned(),
            path: path.map(str::to_owned),
            line,
        };
        let done = [row("approved", Some("/p/.mcp.json"), Some(3)), row("rejected", None, None)];
        insta::assert_snapshot!("text", done.iter().map(line).collect::<String>());
        insta::assert_json_snapshot!("json", done);
    }
}
