//! The question as text. Everything that came from a file is escaped here, so that what a person reads is what stands
//! there.

use super::{ChangeKind, Question};
use crate::{
    derive::VariableState,
    text::{Paint, Tone, visible},
    words::place,
};

/// The question, without the line that asks for the answer.
pub(crate) fn render_question(question: &Question, paint: Paint) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    line(paint.apply(
        Tone::Attention,
        &format!(
            "{} wants to run the MCP server \"{}\"",
            who(question.scope),
            visible(question.name.as_str())
        ),
    ));
    line(format!("  in        {}", place(&question.source)));
    if let Some(real) = &question.source.resolved_path {
        line(format!("  leads to  {}", visible(&real.display().to_string())));
    }
    if let Some(loser) = &question.replaces {
        let whose =
            format!("would replace the {} server of that name in {}", loser.scope, place(&loser.source));
        line(paint.apply(Tone::Attention, &format!("  {whose}")));
    }
    line(String::new());
    let width = question.fields.iter().map(|field| visible(&field.name).len()).max().unwrap_or(0);
    for field in &question.fields {
        let name = visible(&field.name);
        for (index, text) in field.lines.iter().enumerate() {
            let label = if index == 0 { name.as_ref() } else { "" };
            line(format!("  {label:width$}  {}", visible(text)));
        }
        if field.lines.is_empty() {
            line(format!("  {name:width$}  (empty)"));
        }
    }
    if !question.variables.is_empty() {
        line(String::new());
        line("  reads these variables:".to_owned());
        for variable in &question.variables {
            let state = match variable.state {
                VariableState::Set => "set",
                VariableState::Default => "not set, has a default",
                VariableState::Unset => "not set",
            };
            line(format!("    {} ({state}) → {}", visible(&variable.name), visible(&variable.goes_to)));
        }
    }
    if !question.warnings.is_empty() {
        line(String::new());
        for warning in &question.warnings {
            line(paint.apply(Tone::Bad, &format!("  beware: {}", visible(warning))));
        }
    }
    if let Some(last) = &question.since_last {
        line(String::new());
        let when = last.time.as_ref().map(|time| format!(" on {}", visible(time))).unwrap_or_default();
        line(format!("  another configuration of this name was {}{when}; since then:", last.decision));
        if last.changes.is_empty() {
            line("    something changed; what, was not recorded".to_owned());
        }
        for change in &last.changes {
            let sign = match change.kind {
                ChangeKind::Added => "+",
                ChangeKind::Removed => "-",
                ChangeKind::Changed => "~",
            };
            line(format!("    {sign} {}", visible(&change.field)));
        }
    }
    line(String::new());
    line(paint.apply(Tone::Quiet, &format!("  hash {}", question.hash)));
    out
}

fn who(scope: qwen_core::Scope) -> &'static str {
    match scope {
        qwen_core::Scope::Project => "the project's .mcp.json",
        qwen_core::Scope::Workspace => "the workspace settings",
        qwen_core::Scope::Session => "a changed --mcp-config file",
        qwen_core::Scope::Extension
        | qwen_core::Scope::SystemDefaults
        | qwen_core::Scope::User
        | qwen_core::Scope::System
        | qwen_core::Scope::Runtime => "an entry",
    }
}
