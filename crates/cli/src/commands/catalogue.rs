//! `qwen mcp tools`, `prompts` and `resources`: what connected servers offer, by the names of the catalogue.

use std::{collections::BTreeSet, io, time::Duration};

use qwen_core::{Catalogue, CatalogueTool, Phase, ServerName, Status, admit_one};
use serde::Serialize;
use serde_json::Value;

use super::{
    approve::unknown,
    oneshot::{self, Outcome},
    using::{ExitOf, Form, Problem},
};
use crate::{
    app::{App, final_phase},
    args::{CatalogueArgs, Global},
    derive::{Derived, Screen},
    exit::Exit,
    output,
    text::{Cell, Paint, Tone, columns, fitted},
};

/// What is listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Listed {
    /// Tools, after each server's filters.
    Tools,
    /// Prompts.
    Prompts,
    /// Resources.
    Resources,
}

/// One tool, as JSON shows it.
#[derive(Serialize, PartialEq, Debug)]
#[serde(rename_all = "camelCase")]
struct ToolJson<'a> {
    name: &'a str,
    server: &'a str,
    tool: &'a str,
    description: Option<&'a str>,
    input_schema: &'a Value,
}

/// One prompt, as JSON shows it.
#[derive(Serialize, PartialEq, Debug)]
struct PromptJson<'a> {
    name: &'a str,
    server: &'a str,
    prompt: &'a str,
    description: Option<&'a str>,
    arguments: Value,
}

/// One resource, as JSON shows it.
#[derive(Serialize, PartialEq, Debug)]
#[serde(rename_all = "camelCase")]
struct ResourceJson<'a> {
    name: &'a str,
    server: &'a str,
    uri: &'a str,
    description: Option<&'a str>,
    mime_type: Option<&'a str>,
}

/// Connects and lists.
pub(crate) fn run(global: &Global, args: &CatalogueArgs, listed: Listed) -> Exit {
    let app = match App::open(global, Screen::Headless) {
        Ok(app) => app,
        Err(error) => return output::fail(&error, error.exit()),
    };
    let form = if args.json { Form::Json } else { Form::Text };
    let derived = app.derived();
    let asked = match asked(&app, derived, args) {
        Ok(asked) => asked,
        Err(problem) => return problem.tell(form),
    };
    let limit = Duration::from_millis(args.timeout);
    let connected = oneshot::run(&app, oneshot::only(derived, &asked), async |core, interrupts| {
        core.settled(limit, interrupts, |_| false).await
    });
    let status = match connected {
        Ok(Outcome::Done(status)) => status,
        Ok(Outcome::Interrupted) => return Exit::Interrupted,
        Err(error) => return output::fail(&error, error.exit()),
    };
    let problems = problems(&app, derived, &status, limit);
    match (form, args.server.is_some(), problems.as_slice()) {
        // What was asked for is one server, and it is not there.
        (form, true, [problem]) => return problem.tell(form),
        (Form::Json, _, _) => output::print_json(&documents(&status.catalogue, listed)),
        (Form::Text, _, _) => {
            let paint = app.paint(&io::stdout());
            output::print(&render(&status.catalogue, listed, paint, output::width()));
        }
    }
    for problem in &problems {
        problem.tell(Form::Text);
    }
    if problems.is_empty() { Exit::Ok } else { Exit::ServersFailed }
}

/// The admitted servers that are asked, or why the one that is named cannot be.
fn asked(app: &App, derived: &Derived, args: &CatalogueArgs) -> Result<BTreeSet<ServerName>, Problem> {
    let desired = derived.desired();
    let admitted = |name: &ServerName| admit_one(&desired, app.bound(), name);
    match &args.server {
        None => Ok(derived.servers.keys().filter(|name| admitted(name).is_ok()).cloned().collect()),
        Some(server) => {
            let name = ServerName::from(server.as_str());
            if !derived.rows.contains_key(&name) {
                return Err(Problem::new("unknown", unknown(derived, server), ExitOf::Failed));
            }
            match admitted(&name) {
                Ok(_) => Ok(BTreeSet::from([name])),
                Err(refusal) => Err(Problem::refused(app.background(), derived, &name, &refusal)),
            }
        }
    }
}

fn problems(app: &App, derived: &Derived, status: &Status, limit: Duration) -> Vec<Problem> {
    status
        .servers
        .iter()
        .filter_map(|(name, server)| match final_phase(&server.phase, limit) {
            Phase::Connected(_) => None,
            Phase::Refused(refusal) => Some(Problem::refused(app.background(), derived, name, &refusal)),
            phase @ (Phase::Connecting(_) | Phase::Failed { .. }) => {
                Some(Problem::not_connected(app.background(), derived, name, &phase))
            }
        })
        .collect()
}

fn documents(catalogue: &Catalogue, listed: Listed) -> Vec<Value> {
    let json = |document: Result<Value, serde_json::Error>| document.unwrap_or_default();
    match listed {
        Listed::Tools => {
            catalogue.tools.values().map(|tool| json(serde_json::to_value(tool_json(tool)))).collect()
        }
        Listed::Prompts => catalogue
            .prompts
            .values()
            .map(|prompt| {
                json(serde_json::to_value(PromptJson {
                    name: &prompt.name,
                    server: prompt.server.as_str(),
                    prompt: &prompt.prompt,
                    description: prompt.description.as_deref(),
                    arguments: prompt.raw.get("arguments").cloned().unwrap_or(Value::Array(Vec::new())),
                }))
            })
            .collect(),
        Listed::Resources => catalogue
            .resources
            .values()
            .map(|resource| {
                let text = |key: &str| resource.raw.get(key).and_then(Value::as_str);
                json(serde_json::to_value(ResourceJson {
                    name: &resource.name,
                    server: resource.server.as_str(),
                    uri: &resource.uri,
                    description: text("description"),
                    mime_type: text("mimeType"),
                }))
            })
            .collect(),
    }
}

fn tool_json(tool: &CatalogueTool) -> ToolJson<'_> {
    ToolJson {
        name: &tool.name,
        server: tool.server.as_str(),
        tool: &tool.tool,
        description: tool.description.as_deref(),
        input_schema: &tool.input_schema,
    }
}

fn render(catalogue: &Catalogue, listed: Listed, paint: Paint, width: usize) -> String {
    let row = |name: &str, description: Option<&str>| {
        let first = description.and_then(|text| text.trim().lines().next()).unwrap_or("");
        vec![Cell::new(Tone::Strong, name), Cell::new(Tone::Normal, first)]
    };
    let (rows, nothing): (Vec<Vec<Cell>>, &str) = match listed {
        Listed::Tools => {
            let rows = catalogue.tools.values().map(|tool| row(&tool.name, tool.description.as_deref()));
            (rows.collect(), "no tools\n")
        }
        Listed::Prompts => {
            let rows =
                catalogue.prompts.values().map(|prompt| row(&prompt.name, prompt.description.as_deref()));
            (rows.collect(), "no prompts\n")
        }
        Listed::Resources => {
            let rows = catalogue.resources.values().map(|resource| {
                vec![
                    Cell::new(Tone::Strong, resource.server.as_str()),
                    Cell::new(Tone::Strong, &resource.uri),
                    Cell::new(Tone::Normal, &resource.name),
                ]
            });
            (rows.collect(), "no resources\n")
        }
    };
    if rows.is_empty() {
        return nothing.to_owned();
    }
    columns(&fitted(rows, width), paint)
}

#[cfg(test)]
mod tests;
