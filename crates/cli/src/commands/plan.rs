//! `qwen mcp plan`: reads the files, derives, and says what a session started here would do. Connects nothing.

mod document;

use std::{fs, io, path::PathBuf};

use self::document::{SavedPlan, against, plan, render_plan};
use crate::{
    app::App,
    args::{Global, PlanArgs},
    derive::Screen,
    exit::Exit,
    output,
};

/// Why a saved plan cannot be compared with.
#[derive(Debug, thiserror::Error)]
enum SavedPlanError {
    #[error("read the saved plan {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "understand the saved plan {}; save one with `qwen mcp plan --json > FILE`",
        path.display()
    )]
    Parse { path: PathBuf, source: serde_json::Error },
}

/// Prints the plan.
pub(crate) fn run(global: &Global, args: &PlanArgs) -> Exit {
    let app = match App::open(global, Screen::Headless) {
        Ok(app) => app,
        Err(error) => return output::fail(&error, error.exit()),
    };
    let derived = app.derived();
    let verdicts = qwen_core::admit(&derived.desired(), app.bound());
    let mut document = plan(derived, &verdicts, app.background());
    if let Some(path) = &args.against {
        let saved = match read_saved(path.clone()) {
            Ok(saved) => saved,
            Err(error) => return output::fail(&error, Exit::Failed),
        };
        document = against(document, &saved);
    }
    if args.json {
        output::print_json(&document);
    } else {
        output::print(&render_plan(&document, app.paint(&io::stdout()), output::width()));
        if let Some(pointer) = super::settings::pointer(derived.diagnostics.len(), global) {
            output::note(&pointer);
        }
    }
    Exit::Ok
}

fn read_saved(path: PathBuf) -> Result<SavedPlan, SavedPlanError> {
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(source) => return Err(SavedPlanError::Read { path, source }),
    };
    serde_json::from_slice(&bytes).map_err(|source| SavedPlanError::Parse { path, source })
}
