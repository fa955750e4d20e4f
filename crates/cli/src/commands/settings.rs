//! `qwen settings check` and `qwen settings show`: what is wrong with the files, and what they say together.

mod shown;

use std::{
    collections::BTreeSet,
    io::{self, IsTerminal as _},
    path::Path,
};

use qwen_core::nearest;
use qwen_settings_schema::SETTINGS;
use serde::Serialize;

use self::shown::{Origins, render_shown, shown_json, shown_settings};
use crate::{
    app::App,
    args::{Global, SettingsCheckArgs, SettingsCommand, SettingsShowArgs},
    derive::Screen,
    exit::Exit,
    output,
    row::path_text,
    settings::{Diagnostic, Severity, SourceId},
    text::{Paint, count, visible},
};

/// Does what the word after `qwen settings` says.
pub(crate) fn run(global: &Global, command: &SettingsCommand) -> Exit {
    let app = match App::open(global, Screen::Headless) {
        Ok(app) => app,
        Err(error) => return output::fail(&error, error.exit()),
    };
    match command {
        SettingsCommand::Check(args) => check(&app, args),
        SettingsCommand::Show(args) => show(global, &app, args),
        SettingsCommand::Schema => super::schema::run(),
    }
}

/// What a problem in the project's own files counts as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Strictness {
    /// A warning: it breaks nobody's session.
    Lenient,
    /// What it says.
    Strict,
}

/// The document of `settings check --json`.
#[derive(Serialize, Debug)]
struct CheckDocument {
    diagnostics: Vec<CheckedDiagnostic>,
}

#[derive(Serialize, Debug)]
struct CheckedDiagnostic {
    path: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
    severity: &'static str,
    code: &'static str,
    message: String,
    hint: Option<String>,
    excerpt: Option<String>,
}

impl CheckedDiagnostic {
    fn new(diagnostic: &Diagnostic) -> Self {
        Self {
            path: diagnostic.path.as_deref().map(path_text),
            line: diagnostic.line,
            column: diagnostic.column,
            severity: diagnostic.severity.as_str(),
            code: diagnostic.code,
            message: diagnostic.message.clone(),
            hint: diagnostic.hint.clone(),
            excerpt: diagnostic.excerpt.as_ref().map(|excerpt| excerpt.text.clone()),
        }
    }
}

fn check(app: &App, args: &SettingsCheckArgs) -> Exit {
    let strictness = if args.strict { Strictness::Strict } else { Strictness::Lenient };
    let paths = &app.launch.paths;
    let gated: BTreeSet<&Path> =
        [Some(paths.mcp_json.as_path()), paths.workspace.as_deref()].into_iter().flatten().collect();
    let diagnostics = counted(app.derived().diagnostics.clone(), &gated, strictness);
    if args.json {
        let diagnostics = diagnostics.iter().map(CheckedDiagnostic::new).collect();
        output::print_json(&CheckDocument { diagnostics });
    } else {
        let files = app.snapshot.sources.len();
        output::print(&render_check(&diagnostics, files, app.paint(&io::stdout())));
    }
    if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
        Exit::Configuration
    } else {
        Exit::Ok
    }
}

/// The problems with the severity that counts.
fn counted(diagnostics: Vec<Diagnostic>, gated: &BTreeSet<&Path>, strictness: Strictness) -> Vec<Diagnostic> {
    let lenient = |diagnostic: &Diagnostic| {
        strictness == Strictness::Lenient
            && diagnostic.path.as_deref().is_some_and(|path| gated.contains(path))
    };
    diagnostics
        .into_iter()
        .map(|diagnostic| {
            let severity = if lenient(&diagnostic) { Severity::Warning } else { diagnostic.severity };
            Diagnostic { severity, ..diagnostic }
        })
        .collect()
}

fn render_check(diagnostics: &[Diagnostic], files: usize, paint: Paint) -> String {
    let of = |severity| diagnostics.iter().filter(|found| found.severity == severity).count();
    let mut out = String::new();
    for diagnostic in diagnostics {
        out.push_str(&diagnostic.render(paint));
        out.push_str("\n\n");
    }
    out.push_str(&format!(
        "{} looked at: {}, {}\n",
        count(files, "source"),
        count(of(Severity::Error), "error"),
        count(of(Severity::Warning), "warning"),
    ));
    out
}

/// Where to read about the problems, when there are any: their number alone mends nothing.
pub(super) fn pointer(problems: usize, global: &Global) -> Option<String> {
    let same = if global.mcp_config.is_empty() { "" } else { " with the same --mcp-config" };
    let problems = (problems > 0).then(|| count(problems, "problem"))?;
    Some(format!("{problems} in settings files; see `qwen settings check`{same}"))
}

fn show(global: &Global, app: &App, args: &SettingsShowArgs) -> Exit {
    let roots: Vec<_> = [SourceId::SystemDefaults, SourceId::User, SourceId::Workspace, SourceId::System]
        .into_iter()
        .filter_map(|id| app.snapshot.get(id))
        .collect();
    let settings = shown_settings(&*app.schema, &roots, args.key.as_deref());
    if let (true, Some(key)) = (settings.is_empty(), &args.key) {
        output::say(&nothing_sets(key));
        return Exit::Failed;
    }
    let origins = if args.origin { Origins::Shown } else { Origins::Left };
    if args.json {
        output::print_json(&shown_json(&settings, args.key.as_deref(), origins));
    } else {
        // Whoever searches what a pipe brings wants the file on the line of its value.
        let width = if io::stdout().is_terminal() { output::width() } else { usize::MAX };
        output::print(&render_shown(&settings, origins, app.paint(&io::stdout()), width));
        if let Some(pointer) = pointer(app.derived().diagnostics.len(), global) {
            output::note(&pointer);
        }
    }
    Exit::Ok
}

fn nothing_sets(key: &str) -> String {
    let known: Vec<String> = SETTINGS.iter().map(|row| row.key.join(".")).collect();
    let near = if known.iter().any(|name| name == key) {
        Vec::new()
    } else {
        nearest(key, known.iter().map(String::as_str))
    };
    let key = visible(key);
    if near.is_empty() {
        format!("qwen: no file sets {key}; `qwen settings show` lists what is set")
    } else {
        format!("qwen: no file sets {key}; did you mean {}?", near.join(" or "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(path: &str, severity: Severity) -> Diagnostic {
        Diagnostic::new(Some(Path::new(path)), severity, "syntax", "expected a comma".to_owned())
    }

    #[test]
    fn an_error_of_the_projects_own_files_is_a_warning_unless_it_is_asked_for() {
        let gated: BTreeSet<&Path> = [Path::new("/p/.mcp.json")].into_iter().collect();
        let found = || vec![problem("/p/.mcp.json", Severity::Error), problem("/u.json", Severity::Error)];
        let severities = |strictness| {
            counted(found(), &gated, strictness).into_iter().map(|found| found.severity).collect::<Vec<_>>()
        };
        assert_eq!(severities(Strictness::Lenient), [Severity::Warning, Severity::Error]);
        assert_eq!(severities(Strictness::Strict), [Severity::Error, Severity::Error]);
    }

    #[test]
    fn a_check_ends_with_how_much_it_found() {
        let found = [problem("/u.json", Severity::Error), problem("/u.json", Severity::Warning)];
        insta::assert_snapshot!(render_check(&found, 6, Paint::Plain));
        let diagnostics = found.iter().map(CheckedDiagnostic::new).collect();
        insta::assert_json_snapshot!(CheckDocument { diagnostics });
        insta::assert_snapshot!(render_check(&[], 1, Paint::Plain), @"1 source looked at: 0 errors, 0 warnings");
    }

    #[test]
    fn problems_are_pointed_to_with_the_flags_that_show_them() {
        let with = Global { mcp_config: vec!["x.json".to_owned()], ..Global::default() };
        assert_eq!(pointer(0, &with), None);
        assert_eq!(
            pointer(1, &Global::default()).unwrap(),
            "1 problem in settings files; see `qwen settings check`"
        );
        let said = pointer(2, &with).unwrap();
        assert_eq!(
            said,
            "2 problems in settings files; see `qwen settings check` with the same --mcp-config"
        );
    }

    #[test]
    fn a_key_that_nothing_sets_is_answered_with_the_nearest_one_that_there_is() {
        let said = ["mcp.alowed", "mcp.allowed", "zzz"].map(nothing_sets);
        assert_eq!(
            said,
            [
                "qwen: no file sets mcp.alowed; did you mean mcp.allowed?",
                "qwen: no file sets mcp.allowed; `qwen settings show` lists what is set",
                "qwen: no file sets zzz; `qwen settings show` lists what is set",
            ]
        );
    }
}
