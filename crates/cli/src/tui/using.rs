//! How is a tool called, a prompt got or a resource read from within the session? By the connections that are there,
//! with progress and a way out; what came of it comes back as lines. It draws nothing.

use std::{path::PathBuf, sync::Arc};

use qwen_core::{CallOptions, Config, Progress, ServerName, Status, Unavailable, UseError, nearest};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{asked::Wish, line::Line};
use crate::{
    commands::{Asked, ExitOf, Keep, Problem, arguments_of, asked, first_error, text_of},
    derive::Derived,
    output,
    settings::Snapshot,
    text::{Tone, visible},
    words::{Background, Prompt},
};

/// What a use needs, as of the moment when it begins.
pub(super) struct Using {
    /// Core.
    pub(super) config: Arc<dyn Config>,
    /// What the files mean.
    pub(super) derived: Arc<Derived>,
    /// The files.
    pub(super) snapshot: Arc<Snapshot>,
    /// The project.
    pub(super) root: PathBuf,
    /// Where what is no text goes.
    pub(super) keep: Keep,
}

/// As many lines of a result are printed.
pub(super) const MOST_LINES: usize = 500;

impl Using {
    /// Does what was asked for and says what came of it.
    pub(super) async fn run(
        self,
        wish: Wish,
        progress: mpsc::UnboundedSender<Progress>,
        cancel: CancellationToken,
    ) -> Vec<Line> {
        let options = CallOptions { progress: Some(progress), cancel };
        let came = match &wish {
            Wish::Call(words) => self.call(words, options).await,
            Wish::Prompt(name, arguments) => self.prompt(name, arguments.as_deref(), options).await,
            Wish::Resource(server, uri) => self.resource(server.as_deref(), uri, options).await,
        };
        came.unwrap_or_else(|problem| told(&problem))
    }

    fn status(&self) -> Arc<Status> {
        Arc::clone(&self.config.status().borrow())
    }

    fn background(&self) -> Background<'_> {
        Background { snapshot: &self.snapshot, root: &self.root, prompt: Prompt::Session }
    }

    async fn call(&self, words: &[String], options: CallOptions) -> Result<Vec<Line>, Problem> {
        let (tool, text) =
            asked(words, |name| self.derived.rows.contains_key(name)).map_err(|_| which_tool())?;
        let arguments = arguments(text.as_deref())?;
        let tool = tool.find(&self.status()).ok_or_else(|| self.missing(&tool))?;
        if let Some(wrong) = first_error(&tool.input_schema, &arguments) {
            let message = format!("{} takes no such arguments: {wrong}", visible(&tool.name));
            return Err(Problem::new("invalid_arguments", message, ExitOf::Usage));
        }
        let result = self
            .config
            .call_tool(&tool.name, Some(arguments), options)
            .await
            .map_err(|error| self.problem(error, &tool.server))?;
        let text = text_of(&result, &self.keep)
            .map_err(|error| Problem::new("not_kept", output::chain(&error), ExitOf::Failed))?;
        let tone = match result.get("isError").and_then(Value::as_bool) {
            Some(true) => Tone::Bad,
            Some(false) | None => Tone::Normal,
        };
        Ok(shown(tone, &text))
    }

    async fn prompt(
        &self,
        name: &str,
        text: Option<&str>,
        options: CallOptions,
    ) -> Result<Vec<Line>, Problem> {
        let arguments = arguments(text)?;
        let found = self.status().catalogue.prompts.get(name).cloned();
        let server = found.map_or_else(|| ServerName::from(""), |found| found.server.clone());
        let result =
            self.config.get_prompt(name, Some(arguments), options).await.map_err(|error| match error {
                UseError::Unavailable(reason) => self.none_such(name, &reason),
                UseError::Call(_) => self.problem(error, &server),
            })?;
        let messages = result.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut lines = Vec::new();
        for message in &messages {
            let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
            lines.push(Line::new(Tone::Strong, &format!("{role}:")));
            let content = message.get("content").cloned().unwrap_or(Value::Null);
            let as_result = serde_json::json!({ "content": [content] });
            let text = text_of(&as_result, &self.keep)
                .map_err(|error| Problem::new("not_kept", output::chain(&error), ExitOf::Failed))?;
            lines.extend(shown(Tone::Normal, &text));
        }
        Ok(lines)
    }

    async fn resource(
        &self,
        server: Option<&str>,
        uri: &str,
        options: CallOptions,
    ) -> Result<Vec<Line>, Problem> {
        let status = self.status();
        let resources = &status.catalogue.resources;
        let mut having = resources.keys().filter(|(_, has)| &**has == uri).map(|(server, _)| server.clone());
        let server = match (server, having.next(), having.next()) {
            (Some(server), _, _) => ServerName::from(server),
            (None, Some(only), None) => only,
            (None, Some(_), Some(_)) => {
                let message = format!("several servers have {}: type /resource SERVER URI", visible(uri));
                return Err(Problem::new("usage", message, ExitOf::Usage));
            }
            (None, None, _) => {
                let near = nearest(uri, resources.keys().map(|(_, uri)| &**uri));
                let unknown = Unavailable::Unknown { nearest: near };
                return Err(self.none_such(uri, &unknown));
            }
        };
        let result = self
            .config
            .read_resource(&server, uri, options)
            .await
            .map_err(|error| self.problem(error, &server))?;
        let contents = result.get("contents").and_then(Value::as_array).cloned().unwrap_or_default();
        let parts: Vec<Value> = contents
            .into_iter()
            .map(|part| serde_json::json!({ "type": "resource", "resource": part }))
            .collect();
        let text = text_of(&serde_json::json!({ "content": parts }), &self.keep)
            .map_err(|error| Problem::new("not_kept", output::chain(&error), ExitOf::Failed))?;
        Ok(shown(Tone::Normal, &text))
    }

    /// Why a tool is not there.
    fn missing(&self, asked: &Asked) -> Problem {
        let reason = match asked {
            Asked::Named(tool) => self.config.get_tool_unavailable_reason(tool),
            Asked::Of { server, .. } => {
                self.config.get_mcp_server_unavailable_reason(&ServerName::from(server.as_str()))
            }
        };
        let unavailable = reason.unwrap_or_else(|| asked.not_offered(&self.status()));
        let problem = Problem::unavailable(self.background(), &self.derived, &unavailable);
        Problem { message: format!("{} is not there: {}", asked.shown(), problem.message), ..problem }
    }

    /// Why a prompt or a resource is not there. The list of tools is no help to whoever looks for one of these.
    fn none_such(&self, asked: &str, unavailable: &Unavailable) -> Problem {
        let problem = Problem::unavailable(self.background(), &self.derived, unavailable);
        let next_step = step_beside_tools(unavailable, problem.next_step.clone());
        Problem {
            message: format!("{} is not there: {}", visible(asked), problem.message),
            next_step,
            ..problem
        }
    }

    fn problem(&self, error: UseError, server: &ServerName) -> Problem {
        match error {
            UseError::Unavailable(unavailable) => {
                Problem::unavailable(self.background(), &self.derived, &unavailable)
            }
            UseError::Call(error) => Problem::of_call(&error, server),
        }
    }
}

/// What to do about a prompt or a resource that is not there, given what is said of a tool.
fn step_beside_tools(unavailable: &Unavailable, of_a_tool: Option<String>) -> Option<String> {
    match unavailable {
        Unavailable::Unknown { nearest } if nearest.is_empty() => {
            Some("open a server in /mcp to view what it offers".to_owned())
        }
        Unavailable::Unknown { .. }
        | Unavailable::NotOffered { .. }
        | Unavailable::Removed { .. }
        | Unavailable::Refused { .. }
        | Unavailable::Connecting { .. }
        | Unavailable::Failed { .. } => of_a_tool,
    }
}

/// The words name no tool.
fn which_tool() -> Problem {
    let message = "which tool? type /call SERVER TOOL {JSON}, or /call with the name that /tools shows";
    Problem::new("usage", message, ExitOf::Usage)
}

/// What was typed as arguments; the keys that are pressed belong to the session, so stdin is none.
fn arguments(text: Option<&str>) -> Result<Value, Problem> {
    match text {
        Some("-") => Err(Problem::new(
            "usage",
            "type the arguments as JSON, or @FILE to read them from one",
            ExitOf::Usage,
        )),
        text => arguments_of(text),
    }
}

/// Why it did not work, and what to do.
pub(super) fn told(problem: &Problem) -> Vec<Line> {
    let mut lines = vec![Line::new(Tone::Bad, &problem.message)];
    lines.extend(problem.next_step.iter().map(|step| Line::new(Tone::Strong, &format!("    next: {step}"))));
    lines
}

fn shown(tone: Tone, text: &str) -> Vec<Line> {
    let mut lines = Line::of_result(tone, text);
    if lines.is_empty() {
        lines.push(Line::new(Tone::Quiet, "(nothing)"));
    }
    let more = lines.len().saturating_sub(MOST_LINES);
    if more > 0 {
        lines.truncate(MOST_LINES);
        lines.push(Line::new(
            Tone::Quiet,
            &format!("… and {more} more lines; in a shell `qwen mcp call` prints all"),
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_looks_for_a_prompt_or_a_resource_is_not_sent_to_the_tools() {
        let step = |nearest: &[&str]| {
            let nearest = nearest.iter().map(|&name| name.to_owned()).collect();
            step_beside_tools(&Unavailable::Unknown { nearest }, Some("of a tool".to_owned())).unwrap()
        };
        assert_eq!(step(&[]), "open a server in /mcp to view what it offers");
        assert_eq!(step(&["demo://clock/readme"]), "of a tool");
    }
}
