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
    question_lines(question).into_iter().map(|(tone, text)| paint.apply(tone, &text) + "\n").collect()
}

/// The same, line by line with what each means.
pub(crate) fn question_lines(question: &Question) -> Vec<(Tone, String)> {
    let mut out = Vec::new();
    let mut toned = |tone: Tone, text: String| out.push((tone, text));
    toned(
        Tone::Attention,
        format!(
            "{} wants to run the MCP server \"{}\"",
            who(question.scope),
            visible(question.name.as_str())
        ),
    );
    toned(Tone::Normal, format!("  in        {}", place(&question.source)));
    if let Some(real) = &question.source.resolved_path {
        toned(Tone::Normal, format!("  leads to  {}", visible(&real.display().to_string())));
    }
    if let Some(loser) = &question.replaces {
        let whose =
            format!("would replace the {} server of that name in {}", loser.scope, place(&loser.source));
        toned(Tone::Attention, format!("  {whose}"));
    }
    toned(Tone::Normal, String::new());
    let width = question.fields.iter().map(|field| visible(&field.name).len()).max().unwrap_or(0);
    for field in &question.fields {
        let name = visible(&field.name);
        for (index, text) in field.lines.iter().enumerate() {
            let label = if index == 0 { name.as_ref() } else { "" };
            toned(Tone::Normal, format!("  {label:width$}  {}", visible(text)));
        }
        if field.lines.is_empty() {
            toned(Tone::Normal, format!("  {name:width$}  (empty)"));
        }
    }
    if !question.variables.is_empty() {
        toned(Tone::Normal, String::new());
        toned(Tone::Normal, "  reads these variables:".to_owned());
        for variable in &question.variables {
            let state = match variable.state {
                VariableState::Set => "set",
                VariableState::Default => "not set, has a default",
                VariableState::Unset => "not set",
            };
            toned(
                Tone::Normal,
                format!("    {} ({state}) → {}", visible(&variable.name), visible(&variable.goes_to)),
            );
        }
    }
    if !question.warnings.is_empty() {
        toned(Tone::Normal, String::new());
        for warning in &question.warnings {
            toned(Tone::Bad, format!("  beware: {}", visible(warning)));
        }
    }
    if let Some(last) = &question.since_last {
        toned(Tone::Normal, String::new());
        let when = last.time.as_ref().map(|time| format!(" on {}", visible(time))).unwrap_or_default();
        toned(
            Tone::Normal,
            format!("  another configuration of this name was {}{when}; since then:", last.decision),
        );
        if last.changes.is_empty() {
            toned(Tone::Normal, "    something changed; what, was not recorded".to_owned());
        }
        for change in &last.changes {
            let sign = match change.kind {
                ChangeKind::Added => "+",
                ChangeKind::Removed => "-",
                ChangeKind::Changed => "~",
            };
            toned(Tone::Normal, format!("    {sign} {}", visible(&change.field)));
        }
    }
    toned(Tone::Normal, String::new());
    toned(Tone::Quiet, format!("  hash {}", question.hash));
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
