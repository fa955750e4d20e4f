//! What exactly is to be started, and what is wrong with it before anything starts? Owns the three errors that people
//! mix up (command, missing folder, not a folder); starts nothing.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::spawn::Launch;
use crate::{
    connector::ProcessEnv,
    domain::{EnvPolicy, Stdio},
    failure::{Failure, FailureKind},
};

/// Finds the command with the child's own `PATH`, in the child's own folder. Blocks on the file system.
///
/// # Errors
/// The folder is missing or no folder, or the command is not found.
pub(crate) fn prepare(stdio: &Stdio, parent: &ProcessEnv) -> Result<Launch, Failure> {
    let cwd = if stdio.cwd.is_absolute() { stdio.cwd.clone() } else { parent.root.join(&stdio.cwd) };
    check_folder(&cwd)?;
    let env = child_env(stdio, parent);
    let program = find(&stdio.command, &env, &cwd)?;
    Ok(Launch { program, args: stdio.args.clone(), env, cwd })
}

/// What the policy passes on, then the entry's own variables.
fn child_env(stdio: &Stdio, parent: &ProcessEnv) -> Vec<(String, String)> {
    let passed_on = match stdio.env_policy {
        EnvPolicy::Full => &parent.full,
        EnvPolicy::Restricted => &parent.restricted,
    };
    let own = stdio.env.iter().map(|(name, value)| (name.clone(), value.expose().to_owned()));
    passed_on.iter().filter(|(name, _)| !stdio.env.contains_key(name)).cloned().chain(own).collect()
}

fn check_folder(cwd: &Path) -> Result<(), Failure> {
    let shown = cwd.display();
    match metadata(cwd) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(Failure::new(
            FailureKind::CwdNotAFolder,
            format!("the working folder {shown} is not a folder; change cwd"),
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Failure::new(
            FailureKind::CwdMissing,
            format!("the working folder {shown} does not exist; create it or change cwd"),
        )),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(Failure::new(
            FailureKind::CwdNotAFolder,
            format!("a parent of the working folder {shown} is not a folder; change cwd"),
        )),
        Err(error) => Err(Failure::new(
            FailureKind::Spawn,
            format!("the working folder {shown} cannot be used: {error}"),
        )),
    }
}

fn find(command: &str, env: &[(String, String)], cwd: &Path) -> Result<PathBuf, Failure> {
    let path = env.iter().rev().find(|(name, _)| is_path(name)).map(|(_, value)| value.as_str());
    match which::which_in(command, path, cwd) {
        Ok(program) => Ok(program),
        Err(_) if command.contains('/') => Err(not_runnable(command, &cwd.join(command))),
        Err(_) => Err(Failure::new(
            FailureKind::CommandNotFound,
            format!(
                "command not found: {command}; install it, or give its path, or a PATH in the entry's env"
            ),
        )),
    }
}

/// Why a command given as a path cannot be run.
fn not_runnable(command: &str, at: &Path) -> Failure {
    match metadata(at) {
        Ok(metadata) if metadata.is_dir() => {
            Failure::new(FailureKind::CommandNotFound, format!("the command {command} is a folder"))
        }
        Ok(_) => Failure::new(
            FailureKind::Spawn,
            format!(
                "permission denied: {command} is not executable; chmod +x it or run it with its interpreter"
            ),
        ),
        Err(_) => Failure::new(
            FailureKind::CommandNotFound,
            format!("command not found: {command} (looked at {})", at.display()),
        ),
    }
}

/// What the operating system's refusal means.
pub(crate) fn spawn_failure(command: &str, error: &io::Error) -> Failure {
    const MEANINGS: [(io::ErrorKind, &str); 6] = [
        (io::ErrorKind::NotFound, "its first line names an interpreter that does not exist"),
        (
            io::ErrorKind::PermissionDenied,
            "permission denied; check its mode and how its file system is mounted",
        ),
        (io::ErrorKind::ExecutableFileBusy, "text file busy: it is being written; it is tried again"),
        (io::ErrorKind::ArgumentListTooLong, "its arguments and its environment are too long together"),
        (io::ErrorKind::InvalidInput, "an argument or a variable holds a NUL byte"),
        (
            io::ErrorKind::BrokenPipe,
            "the guard process cannot be reached, and without it no server is started",
        ),
    ];
    let meaning = MEANINGS.iter().find(|(kind, _)| *kind == error.kind());
    let meaning = meaning.map_or_else(|| error.to_string(), |(_, meaning)| (*meaning).to_owned());
    Failure::new(FailureKind::Spawn, format!("{command} could not be started: {meaning}"))
}

fn is_path(name: &str) -> bool {
    if cfg!(windows) { name.eq_ignore_ascii_case("PATH") } else { name == "PATH" }
}

#[expect(
    clippy::disallowed_methods,
    reason = "whether a folder or a command exists is asked here and nowhere else"
)]
fn metadata(path: &Path) -> io::Result<std::fs::Metadata> {
    std::fs::metadata(path)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the cases are files")]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::domain::{PoolMode, VersionNegotiation};

    fn stdio(command: &str, cwd: &Path, policy: EnvPolicy) -> Stdio {
        Stdio {
            command: command.to_owned(),
            args: Vec::new(),
            env: BTreeMap::from([("A".to_owned(), "own".into())]),
            cwd: cwd.to_owned(),
            env_policy: policy,
            version_negotiation: VersionNegotiation::Auto,
            pool: PoolMode::Session,
        }
    }

    fn parent() -> ProcessEnv {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        ProcessEnv {
            full: vec![pair("PATH", "/usr/bin:/bin"), pair("A", "parent"), pair("SECRET", "s")],
            restricted: vec![pair("PATH", "/usr/bin:/bin"), pair("A", "parent")],
            root: "/".into(),
        }
    }

    #[test]
    fn each_thing_that_is_wrong_has_its_own_words_and_names_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("plain");
        std::fs::write(&file, "").unwrap();
        let missing = folder.path().join("gone");
        let cases = [
            ("sh", missing.as_path(), FailureKind::CwdMissing, "gone does not exist"),
            ("no-such-cmd", missing.as_path(), FailureKind::CwdMissing, "gone does not exist"),
            ("sh", file.as_path(), FailureKind::CwdNotAFolder, "plain is not a folder"),
            ("no-such-cmd", folder.path(), FailureKind::CommandNotFound, "command not found: no-such-cmd"),
            ("./gone", folder.path(), FailureKind::CommandNotFound, "command not found: ./gone"),
            ("./plain", folder.path(), FailureKind::Spawn, "./plain is not executable"),
            ("/tmp", folder.path(), FailureKind::CommandNotFound, "/tmp is a folder"),
        ];
        for (command, cwd, kind, words) in cases {
            let failure = prepare(&stdio(command, cwd, EnvPolicy::Full), &parent()).unwrap_err();
            assert_eq!(failure.kind, kind, "{command}");
            assert!(failure.message.contains(words), "{command}: {failure}");
        }
    }

    #[test]
    fn the_entrys_variables_go_on_top_of_what_the_policy_passes_on() {
        let folder = tempfile::tempdir().unwrap();
        for (policy, expected) in [
            (EnvPolicy::Full, vec![("PATH", "/usr/bin:/bin"), ("SECRET", "s"), ("A", "own")]),
            (EnvPolicy::Restricted, vec![("PATH", "/usr/bin:/bin"), ("A", "own")]),
        ] {
            let launch = prepare(&stdio("sh", folder.path(), policy), &parent()).unwrap();
            let env: Vec<_> =
                launch.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!(env, expected);
            assert!(launch.program.is_absolute());
        }
    }
}
