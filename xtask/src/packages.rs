//! Are the packages of a committed lock file installed? Knows npm and pip; installs only what the lock names, and only
//! when the lock has changed since. It must not know what the packages are for.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use xshell::{Shell, cmd};

/// Why packages are not there although nothing failed: the machine lacks what they need.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Missing(pub(crate) String);

/// The oldest Node that the pinned packages run on.
const OLDEST_NODE: u32 = 20;
/// The oldest Python that the pinned packages run on.
const OLDEST_PYTHON: (u32, u32) = (3, 10);

/// Installs what `from/package-lock.json` names below `to`, which then has a `node_modules`.
///
/// # Errors
/// When npm fails. A machine without Node or npm is no error.
pub(crate) fn npm(sh: &Shell, from: &Path, to: &Path) -> anyhow::Result<Result<(), Missing>> {
    let Some(version) = answer(sh, "node") else {
        return Ok(Err(Missing("`node` is not found".into())));
    };
    if numbers(&version).first().is_none_or(|major| *major < OLDEST_NODE) {
        return Ok(Err(Missing(format!("`node` is {version}, and {OLDEST_NODE} or newer is needed"))));
    }
    if answer(sh, "npm").is_none() {
        return Ok(Err(Missing("`npm` is not found".into())));
    }
    let stamp = Stamp::new(sh, to, &[from.join("package-lock.json")], &version)?;
    if stamp.holds(sh) {
        return Ok(Ok(()));
    }
    sh.create_dir(to)?;
    for file in ["package.json", "package-lock.json", ".npmrc"] {
        sh.copy_file(from.join(file), to.join(file))?;
    }
    twice(|| {
        let _folder = sh.push_dir(to);
        // Nothing that a package brings runs at installation.
        Ok(cmd!(sh, "npm ci --ignore-scripts --no-progress --loglevel=error").run()?)
    })
    .with_context(|| format!("cannot install {}", from.join("package-lock.json").display()))?;
    stamp.write(sh)?;
    Ok(Ok(()))
}

/// Makes a virtual environment at `to` with what `from/requirements.txt` names by version and digest.
///
/// # Errors
/// When pip fails. A machine without Python, or with one that cannot make environments, is no error.
pub(crate) fn pip(sh: &Shell, from: &Path, to: &Path) -> anyhow::Result<Result<(), Missing>> {
    let Some(version) = answer(sh, "python3") else {
        return Ok(Err(Missing("`python3` is not found".into())));
    };
    let found = numbers(&version);
    let (major, minor) = OLDEST_PYTHON;
    if found.get(..2).is_none_or(|found| found < &[major, minor][..]) {
        return Ok(Err(Missing(format!("`python3` is {version}, and {major}.{minor} or newer is needed"))));
    }
    if cmd!(sh, "python3 -c").arg("import venv, ensurepip").quiet().ignore_stderr().run().is_err() {
        let why = "`python3` cannot make virtual environments; on Debian `apt-get install python3-venv`";
        return Ok(Err(Missing(why.into())));
    }
    let lock = from.join("requirements.txt");
    // The programs in an environment name its folder, so one that was moved is to be made again.
    let made = format!("{version} in {}", to.display());
    let stamp = Stamp::new(sh, to, std::slice::from_ref(&lock), &made)?;
    if stamp.holds(sh) {
        return Ok(Ok(()));
    }
    sh.remove_path(to)?;
    twice(|| {
        cmd!(sh, "python3 -m venv {to}").run()?;
        let pip = to.join("bin/pip");
        Ok(cmd!(
            sh,
            "{pip} install --quiet --disable-pip-version-check --require-hashes --requirement {lock}"
        )
        .run()?)
    })
    .with_context(|| format!("cannot install {}", lock.display()))?;
    stamp.write(sh)?;
    Ok(Ok(()))
}

/// What a program says to `--version`; `None` when it cannot be started.
pub(crate) fn answer(sh: &Shell, program: &str) -> Option<String> {
    cmd!(sh, "{program} --version").quiet().ignore_stderr().read().ok()
}

/// Says what was installed, and from what: while it holds, there is nothing to install.
struct Stamp {
    path: PathBuf,
    text: String,
}

impl Stamp {
    fn new(sh: &Shell, to: &Path, locks: &[PathBuf], version: &str) -> anyhow::Result<Self> {
        let mut text = format!("{version}\n");
        for lock in locks {
            text += &sh.read_file(lock)?;
        }
        Ok(Self { path: to.join(".installed"), text })
    }

    fn holds(&self, sh: &Shell) -> bool {
        sh.read_file(&self.path).is_ok_and(|there| there == self.text)
    }

    fn write(&self, sh: &Shell) -> anyhow::Result<()> {
        Ok(sh.write_file(&self.path, &self.text)?)
    }
}

/// A registry may fail once.
fn twice(mut install: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<()> {
    install().or_else(|error| {
        eprintln!("{error:#}; once more");
        install()
    })
}

/// The numbers in a version, whatever stands around them.
pub(crate) fn numbers(version: &str) -> Vec<u32> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

/// Fails when packages that were asked for by name are not there.
///
/// # Errors
/// With what the machine lacks.
pub(crate) fn required(installed: Result<(), Missing>) -> anyhow::Result<()> {
    match installed {
        Ok(()) => Ok(()),
        Err(Missing(why)) => bail!("{why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_whatever_stands_around_it() {
        for (said, numbers_in_it) in
            [("v20.20.2", &[20, 20, 2][..]), ("Python 3.11.7", &[3, 11, 7]), ("none", &[])]
        {
            assert_eq!(numbers(said), numbers_in_it, "{said}");
        }
    }

    #[test]
    fn what_failed_once_is_tried_again_and_no_more() {
        let mut left = vec![Ok(()), Err(anyhow::anyhow!("no answer"))];
        assert!(twice(|| left.pop().unwrap()).is_ok());
        let mut tries = 0;
        let failed = twice(|| {
            tries += 1;
            bail!("no answer")
        });
        assert!(failed.is_err());
        assert_eq!(tries, 2);
    }

    #[test]
    fn a_stamp_holds_only_for_the_same_lock_and_the_same_interpreter() {
        let sh = Shell::new().unwrap();
        let folder = sh.create_temp_dir().unwrap();
        let lock = folder.path().join("lock");
        sh.write_file(&lock, "one").unwrap();
        let stamp =
            |version: &str| Stamp::new(&sh, folder.path(), std::slice::from_ref(&lock), version).unwrap();
        assert!(!stamp("v20").holds(&sh));
        stamp("v20").write(&sh).unwrap();
        assert!(stamp("v20").holds(&sh));
        assert!(!stamp("v22").holds(&sh));
        sh.write_file(&lock, "two").unwrap();
        assert!(!stamp("v20").holds(&sh));
    }
}
