//! `qwen mcp call`: one call of one tool. Only the servers that may own it are connected, the arguments are checked
//! before anything is sent, and Ctrl-C reaches the server.

mod arguments;
mod result;
pub(super) mod schema;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use qwen_core::{
    CallOptions, CatalogueTool, Progress, Refusal, ServerName, Status, UseError, admit_one, sanitised_prefix,
};
use serde_json::Value;
use tokio::sync::mpsc;

pub(crate) use self::{
    arguments::{Asked, asked, read as arguments_of},
    result::{Keep, text as text_of},
    schema::first_error,
};
use super::{
    approve::unknown,
    oneshot::{self, Interrupts, OneShot, Outcome},
    using::{ExitOf, Form, Problem},
};
use crate::{
    app::App,
    args::{CallArgs, Global},
    derive::{Derived, Screen},
    exit::Exit,
    output,
    text::visible,
};

/// A catalogue name shorter than this was not cut, so its server can be told from it.
const CUT: usize = 55;

/// Calls the tool.
pub(crate) fn run(global: &Global, args: &CallArgs) -> Exit {
    let app = match App::open(global, Screen::Headless) {
        Ok(app) => app,
        Err(error) => return output::fail(&error, error.exit()),
    };
    let form = if args.json { Form::Json } else { Form::Text };
    match call(&app, args) {
        Ok(Outcome::Done(Ok(result))) => tell(&app, &result, form),
        Ok(Outcome::Done(Err(problem))) => problem.tell(form),
        Ok(Outcome::Interrupted) => Problem::new("cancelled", "interrupted", ExitOf::Interrupted).tell(form),
        Err(Wrong::Problem(problem)) => problem.tell(form),
        Err(Wrong::Start(error)) => output::fail(&error, error.exit()),
    }
}

/// Why nothing was called.
enum Wrong {
    Problem(Problem),
    Start(crate::app::StartError),
}

impl From<Problem> for Wrong {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

fn call(app: &App, args: &CallArgs) -> Result<Outcome<Result<Value, Problem>>, Wrong> {
    let derived = app.derived();
    let (asked, text) = arguments::asked(&args.words, |name| derived.rows.contains_key(name))?;
    let arguments = arguments::read(text.as_deref())?;
    let owners = owners(app, derived, &asked)?;
    let limit = Duration::from_millis(args.timeout);
    oneshot::run(app, oneshot::only(derived, &owners), async |core, interrupts| {
        let status = core.settled(limit, interrupts, |status| asked.find(status).is_some()).await;
        if interrupts.was_taken() {
            return Err(Problem::new("cancelled", "interrupted", ExitOf::Interrupted));
        }
        let tool = asked.find(&status).ok_or_else(|| missing(app, derived, &asked, &status, core))?;
        if let Some(wrong) = schema::first_error(&tool.input_schema, &arguments) {
            let message = format!("{} takes no such arguments: {wrong}", visible(&tool.name));
            return Err(Problem::new("invalid_arguments", message, ExitOf::Usage));
        }
        use_tool(app, derived, &tool, arguments, core, interrupts).await
    })
    .map_err(Wrong::Start)
}

/// The servers that may own the tool, of which at least one is admitted.
fn owners(app: &App, derived: &Derived, asked: &Asked) -> Result<BTreeSet<ServerName>, Problem> {
    let names: Vec<&ServerName> = match asked {
        Asked::Of { server, .. } => match derived.rows.get_key_value(server.as_str()) {
            Some((name, _)) => vec![name],
            None => return Err(Problem::new("unknown", unknown(derived, server), ExitOf::Failed)),
        },
        Asked::Named(tool) => {
            let owns = |name: &&ServerName| tool.starts_with(&sanitised_prefix(name.as_str()));
            let owning: Vec<&ServerName> = derived.rows.keys().filter(owns).collect();
            if owning.is_empty() && tool.len() >= CUT { derived.rows.keys().collect() } else { owning }
        }
    };
    let desired = derived.desired();
    let mut owners = BTreeSet::new();
    let mut refused: Option<(&ServerName, Refusal)> = None;
    for name in names {
        match admit_one(&desired, app.bound(), name) {
            Ok(_) => {
                owners.insert(name.clone());
            }
            // The longest name is the one that the tool's name means.
            Err(refusal)
                if refused.as_ref().is_none_or(|(other, _)| other.as_str().len() < name.as_str().len()) =>
            {
                refused = Some((name, refusal));
            }
            Err(_) => {}
        }
    }
    match refused {
        Some((name, refusal)) if owners.is_empty() => {
            Err(Problem::refused(app.background(), derived, name, &refusal))
        }
        Some(_) | None if !owners.is_empty() => Ok(owners),
        Some(_) | None => Err(Problem {
            next_step: Some("`qwen mcp tools` lists every name".to_owned()),
            ..Problem::new(
                "unknown",
                format!("no configured server provides {}", asked.shown()),
                ExitOf::Failed,
            )
        }),
    }
}

/// Why the tool is not there, although its server may connect.
fn missing(app: &App, derived: &Derived, asked: &Asked, status: &Status, core: &OneShot) -> Problem {
    let reason = match asked {
        Asked::Named(tool) => core.config.get_tool_unavailable_reason(tool),
        Asked::Of { server, .. } => {
            core.config.get_mcp_server_unavailable_reason(&ServerName::from(server.as_str()))
        }
    };
    let unavailable = reason.unwrap_or_else(|| asked.not_offered(status));
    let problem = Problem::unavailable(app.background(), derived, &unavailable);
    Problem { message: format!("{} is not there: {}", asked.shown(), problem.message), ..problem }
}

async fn use_tool(
    app: &App,
    derived: &Derived,
    tool: &CatalogueTool,
    arguments: Value,
    core: &OneShot,
    interrupts: &mut Interrupts,
) -> Result<Value, Problem> {
    let (progress, mut told) = mpsc::unbounded_channel();
    let options = CallOptions { progress: Some(progress), ..CallOptions::default() };
    let cancel = options.cancel.clone();
    let mut answer = core.config.call_tool(&tool.name, Some(arguments), options);
    let mut cancelled = false;
    let answer = loop {
        tokio::select! {
            biased;
            Some(progress) = told.recv() => output::note(&progress_line(&progress)),
            answer = &mut answer => break answer,
            // The server is told, and its answer to that ends the call.
            () = interrupts.next(), if !cancelled => {
                cancelled = true;
                cancel.cancel();
            }
        }
    };
    // What came in the same moment as the answer.
    while let Ok(progress) = told.try_recv() {
        output::note(&progress_line(&progress));
    }
    answer.map_err(|error| match error {
        UseError::Unavailable(unavailable) => Problem::unavailable(app.background(), derived, &unavailable),
        UseError::Call(error) => Problem::of_call(&error, &tool.server),
    })
}

/// `3 of 10: reading`.
fn progress_line(progress: &Progress) -> String {
    let amount = match progress.total {
        Some(total) => format!("{} of {total}", progress.progress),
        None => progress.progress.to_string(),
    };
    match &progress.message {
        Some(message) => format!("progress {amount}: {}", visible(message)),
        None => format!("progress {amount}"),
    }
}

fn tell(app: &App, result: &Value, form: Form) -> Exit {
    match form {
        Form::Json => output::print_json(result),
        Form::Text => match result::text(result, &Keep::of(&app.launch.environment)) {
            Ok(text) => output::print_result(&text),
            Err(error) => return output::fail(&error, Exit::Failed),
        },
    }
    exit_of(result)
}

/// What a tool says is an error is one, however it is printed.
fn exit_of(result: &Value) -> Exit {
    match result.get("isError").and_then(Value::as_bool) {
        Some(true) => Exit::Failed,
        Some(false) | None => Exit::Ok,
    }
}

impl Asked {
    /// The tool, where it is in the catalogue.
    pub(crate) fn find(&self, status: &Status) -> Option<Arc<CatalogueTool>> {
        match self {
            Self::Named(name) => status.catalogue.tools.get(name.as_str()).cloned(),
            Self::Of { server, tool } => {
                let is_it = |offered: &&Arc<CatalogueTool>| {
                    offered.server.as_str() == server && offered.tool == *tool
                };
                status.catalogue.tools.values().find(is_it).cloned()
            }
        }
    }
}

#[cfg(test)]
mod tests;
