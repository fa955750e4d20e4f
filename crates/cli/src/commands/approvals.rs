//! `qwen mcp approvals`: what was decided, and how to take it back. Running sessions see it at once, since the record is
//! watched.

use std::io;

use qwen_approvals::{Listed, Projects, ReadProblem, Standing, Verdict};
use serde::Serialize;

use crate::{
    app::App,
    args::{ApprovalsCommand, ApprovalsListArgs, Global, RevokeArgs},
    derive::Screen,
    exit::Exit,
    output,
    text::{Cell, Paint, Tone, columns, count, visible},
};

/// One decision, as JSON shows it.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
struct ApprovalRow {
    project_root: String,
    server: String,
    status: &'static str,
    hash: String,
    time: Option<String>,
}

/// Which decisions are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Depth {
    Current,
    History,
}

/// Lists or revokes.
pub(crate) fn run(global: &Global, command: &ApprovalsCommand) -> Exit {
    let app = match App::open(global, Screen::Headless) {
        Ok(app) => app,
        Err(error) => return output::fail(&error, error.exit()),
    };
    match command {
        ApprovalsCommand::List(args) => list(&app, args),
        ApprovalsCommand::Revoke(args) => revoke(&app, args),
    }
}

fn list(app: &App, args: &ApprovalsListArgs) -> Exit {
    if let Some(problem) = app.store.read().problem {
        return output::fail(&problem, Exit::Failed);
    }
    let projects = if args.all_projects { Projects::All } else { Projects::Of(app.root()) };
    let depth = if args.history { Depth::History } else { Depth::Current };
    let rows = rows(app.store.list(projects), depth);
    if args.json {
        output::print_json(&rows);
    } else {
        output::print(&render(&rows, app.paint(&io::stdout())));
    }
    Exit::Ok
}

/// What was decided in this project, as text.
///
/// # Errors
/// The record cannot be read.
pub(crate) fn decided_here(app: &App) -> Result<String, ReadProblem> {
    match app.store.read().problem {
        Some(problem) => Err(problem),
        None => Ok(render(&rows(app.store.list(Projects::Of(app.root())), Depth::Current), Paint::Plain)),
    }
}

fn rows(listed: Vec<Listed>, depth: Depth) -> Vec<ApprovalRow> {
    listed
        .into_iter()
        .filter(|listed| match (listed.standing, depth) {
            (Standing::Current, _) | (Standing::Earlier, Depth::History) => true,
            (Standing::Earlier, Depth::Current) => false,
        })
        .map(|listed| ApprovalRow {
            project_root: listed.root,
            server: listed.server,
            status: match listed.verdict {
                Verdict::Approve => "approved",
                Verdict::Reject => "rejected",
            },
            hash: listed.hash.to_string(),
            time: listed.time,
        })
        .collect()
}

fn render(rows: &[ApprovalRow], paint: Paint) -> String {
    if rows.is_empty() {
        return "nothing was decided\n".to_owned();
    }
    let cells: Vec<Vec<Cell>> = rows
        .iter()
        .map(|row| {
            let tone = if row.status == "approved" { Tone::Good } else { Tone::Bad };
            vec![
                Cell::new(tone, row.status),
                Cell::new(Tone::Strong, &row.server),
                Cell::new(Tone::Normal, row.hash.get(..16).unwrap_or(&row.hash)),
                Cell::new(Tone::Quiet, row.time.as_deref().unwrap_or("-")),
                Cell::new(Tone::Quiet, &row.project_root),
            ]
        })
        .collect();
    columns(&cells, paint)
}

fn revoke(app: &App, args: &RevokeArgs) -> Exit {
    let revoked = match &args.name {
        Some(name) => app.store.revoke(app.root(), name),
        None => app.store.revoke_project(app.root()),
    };
    match revoked {
        Err(error) => output::fail(&error, Exit::Failed),
        Ok(revoked) if revoked.servers.is_empty() => {
            let about = args.name.as_deref().map_or_else(
                || "this project".to_owned(),
                |name| format!("{} in this project", visible(name)),
            );
            output::note(&format!("qwen: nothing was decided about {about}"));
            if args.name.is_some() { Exit::Failed } else { Exit::Ok }
        }
        Ok(revoked) => {
            let names: Vec<_> = revoked.servers.iter().map(|name| visible(name)).collect();
            let number = count(names.len(), "server");
            output::print(&format!("revoked what was decided about {number}: {}\n", names.join(", ")));
            Exit::Ok
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(server: &str, verdict: Verdict, standing: Standing) -> Listed {
        Listed {
            root: "/p".to_owned(),
            server: server.to_owned(),
            hash: crate::fixtures::HASH.parse().unwrap(),
            verdict,
            time: Some("2026-11-30T10:00:00.000Z".to_owned()),
            standing,
        }
    }

    #[test]
    fn earlier_decisions_are_listed_only_where_they_are_asked_for() {
        let all = || {
            vec![
                listed("a", Verdict::Approve, Standing::Current),
                listed("a", Verdict::Reject, Standing::Earlier),
            ]
        };
        assert_eq!(rows(all(), Depth::Current).len(), 1);
        let history = rows(all(), Depth::History);
        insta::assert_snapshot!(render(&history, Paint::Plain));
        insta::assert_json_snapshot!(history);
    }
}
