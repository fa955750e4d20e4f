//! What does a program entry run, where, and with what environment?

use std::path::PathBuf;

use qwen_core::{Approval, EnvPolicy, Stdio};
use qwen_settings_schema as schema;

use super::{fields::Resolving, negotiation, pool};

pub(super) fn resolve(
    written: &schema::WrittenStdio,
    server: &schema::WrittenServer,
    approval: Approval,
    resolving: &mut Resolving<'_>,
) -> Option<Stdio> {
    let command = resolving.path(&["command"], &written.command).text;
    if command.trim().is_empty() {
        resolving.problem(&["command"], "it is empty once its variables are replaced".to_owned());
    }
    let args = (0..).zip(&written.args).map(|(index, arg): (usize, _)| {
        let index = index.to_string();
        resolving.path(&["args", &index], arg).text
    });
    let args = args.collect();
    let env = written.env.iter().map(|(name, value)| (name.clone(), resolving.secret(&["env", name], value)));
    let env = env.collect();
    let cwd = folder(written.cwd.as_deref(), resolving);
    let env_policy = match (approval, server.inherit_env) {
        (Approval::Gated(_), _) | (Approval::NotGated, Some(schema::InheritEnv::Restricted)) => {
            EnvPolicy::Restricted
        }
        (Approval::NotGated, Some(schema::InheritEnv::Full) | None) => EnvPolicy::Full,
    };
    Some(Stdio {
        command,
        args,
        env,
        cwd,
        env_policy,
        version_negotiation: negotiation(server),
        pool: pool(server),
    })
}

/// The effective folder: the project root, or what is written, seen from there.
fn folder(written: Option<&str>, resolving: &mut Resolving<'_>) -> PathBuf {
    let root = resolving.around.root;
    let Some(written) = written else { return root.to_owned() };
    let cwd = resolving.path(&["cwd"], written).text;
    // Collecting the parts drops `.` and doubled separators, which are no edit.
    root.join(cwd).components().collect()
}
