//! `qwen mcp approvals`: what was decided, and how to take it back. Running sessions see it at once, since the record is
//! watched.

use std::{collections::BTreeSet, io};

use qwen_approvals::{Listed, Projects, ReadProblem, Standing, Verdict};
use serde::Serialize;

use crate::{
    app::App,
    args::{ApprovalsCommand, ApprovalsListArgs, Global, RevokeArgs},
    derive::Screen,
    exit::Exit,
    output,
    text::{Cell, Paint, Tone, columns, count, hanging, visible},
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

/// Whose decisions are listed; those of several projects stand below the project's folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shown {
    This,
    All,
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
        let shown = if args.all_projects { Shown::All } else { Shown::This };
        output::print(&render(&rows, shown, app.paint(&io::stdout())));
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
        None => {
            let rows = rows(app.store.list(Projects::Of(app.root())), Depth::Current);
            Ok(render(&rows, Shown::This, Paint::Plain))
        }
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

fn render(rows: &[ApprovalRow], projects: Shown, paint: Paint) -> String {
    if rows.is_empty() {
        return "nothing was decided\n".to_owned();
    }
    let cells: Vec<Vec<Cell>> = rows.iter().map(cells).collect();
    let mut out = String::new();
    let mut project = None;
    for (row, line) in rows.iter().zip(columns(&cells, paint).lines()) {
        if projects == Shown::All && project != Some(&row.project_root) {
            out.push_str(&format!("{}\n", visible(&row.project_root)));
            project = Some(&row.project_root);
        }
        out.push_str(if projects == Shown::All { "  " } else { "" });
        out.push_str(&format!("{line}\n"));
    }
    out
}

fn cells(row: &ApprovalRow) -> Vec<Cell> {
    let tone = if row.status == "approved" { Tone::Good } else { Tone::Bad };
    vec![
        Cell::new(tone, row.status),
        Cell::new(Tone::Strong, &row.server),
        Cell::new(Tone::Normal, row.hash.get(..16).unwrap_or(&row.hash)),
        Cell::new(Tone::Quiet, row.time.as_deref().unwrap_or("-")),
    ]
}

fn revoke(app: &App, args: &RevokeArgs) -> Exit {
    let revoked = match &args.name {
        Some(name) => app.store.revoke(app.root(), name),
        None => app.store.revoke_project(app.root()),
    };
    match revoked {
        Err(error) => output::fail(&error, Exit::Failed),
        Ok(revoked) if revoked.servers.is_empty() => {
            output::say(&nothing_to_revoke(args.name.as_deref()));
            if args.name.is_some() { Exit::Failed } else { Exit::Ok }
        }
        Ok(revoked) => {
            output::print(&revoked_text(&revoked.servers, output::width()));
            Exit::Ok
        }
    }
}

fn nothing_to_revoke(name: Option<&str>) -> String {
    match name {
        Some(name) => format!(
            "qwen: nothing was decided about {} in this project; see `qwen mcp approvals list`",
            visible(name)
        ),
        // Its list is empty as well; only that of every project may hold something.
        None => "qwen: nothing is recorded for this project; decisions of others are in \
                 `qwen mcp approvals list --all-projects`"
            .to_owned(),
    }
}

fn revoked_text(servers: &BTreeSet<String>, width: usize) -> String {
    let names: Vec<_> = servers.iter().map(|name| visible(name)).collect();
    let number = count(names.len(), "server");
    let said = format!("revoked what was decided about {number}: {}", names.join(", "));
    hanging("", &said, width.saturating_sub(4)).join("\n    ") + "\n"
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
        insta::assert_snapshot!(render(&history, Shown::This, Paint::Plain));
        insta::assert_json_snapshot!(history);
    }

    #[test]
    fn decisions_of_several_projects_stand_below_their_folders() {
        let mut all = vec![
            listed("a", Verdict::Approve, Standing::Current),
            listed("long-name", Verdict::Reject, Standing::Current),
        ];
        all.push(Listed { root: "/q".to_owned(), ..listed("a", Verdict::Reject, Standing::Current) });
        insta::assert_snapshot!(render(&rows(all, Depth::Current), Shown::All, Paint::Plain));
        assert_eq!(render(&[], Shown::All, Paint::Plain), "nothing was decided\n");
    }

    #[test]
    fn what_was_revoked_is_named_and_so_is_that_there_was_nothing() {
        let many: BTreeSet<String> = (1..=12).map(|n| format!("server-{n}")).collect();
        let said = [
            revoked_text(&["gh\u{1b}".to_owned()].into(), output::WIDTH),
            revoked_text(&many, output::WIDTH),
            nothing_to_revoke(Some("gh")) + "\n",
            nothing_to_revoke(None),
        ];
        insta::assert_snapshot!(said.concat());
    }
}
