//! Where is it kept what the user said about folders? One small JSON file: read again under a lock before each change,
//! and replaced as a whole. What a rule means is decided where the settings are read.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

use super::TrustError;

/// What the user says about a folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
    /// It and what is below it.
    Trust,
    /// The folder above it and what is below that.
    TrustParent,
    /// Neither it nor what is below it.
    Distrust,
}

impl Rule {
    fn word(self) -> &'static str {
        match self {
            Self::Trust => "TRUST_FOLDER",
            Self::TrustParent => "TRUST_PARENT",
            Self::Distrust => "DO_NOT_TRUST",
        }
    }
}

/// The record in one file.
#[derive(Clone, Debug)]
pub(crate) struct TrustRecord {
    path: PathBuf,
}

impl TrustRecord {
    /// The record in this file, which need not exist.
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.to_path_buf() }
    }

    /// Every folder with the word that was said about it.
    ///
    /// # Errors
    /// The file cannot be read or is no record.
    pub(crate) fn read(&self) -> Result<Vec<(String, String)>, TrustError> {
        let rules = self.rules()?.into_iter();
        Ok(rules.map(|(folder, word)| (folder, word.as_str().unwrap_or("?").to_owned())).collect())
    }

    /// Says something about a folder, which replaces what was said about it before.
    ///
    /// # Errors
    /// The file cannot be read or written, or is no record.
    pub(crate) fn set(&self, folder: &Path, rule: Rule) -> Result<(), TrustError> {
        self.change(|rules| {
            forget(rules, folder);
            rules.insert(folder.display().to_string(), Value::from(rule.word()));
        })
    }

    /// Forgets what was said about a folder, and says how many rules that were.
    ///
    /// # Errors
    /// As for [`TrustRecord::set`].
    pub(crate) fn remove(&self, folder: &Path) -> Result<usize, TrustError> {
        self.change(|rules| forget(rules, folder))
    }

    fn rules(&self) -> Result<Map<String, Value>, TrustError> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
            Err(source) => return Err(self.failed(source)),
        };
        if text.trim().is_empty() {
            return Ok(Map::new());
        }
        match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
            Ok(Value::Object(rules)) => Ok(rules),
            Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_))
            | Err(_) => Err(TrustError::Broken { path: self.path.clone() }),
        }
    }

    fn change<T>(&self, edit: impl FnOnce(&mut Map<String, Value>) -> T) -> Result<T, TrustError> {
        let failed = |source| self.failed(source);
        let folder = self.path.parent().unwrap_or_else(|| Path::new("."));
        fs::create_dir_all(folder).map_err(failed)?;
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.path.with_extension("json.lock"))
            .map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut rules = self.rules()?;
        let done = edit(&mut rules);
        // A linked record is replaced where it really is.
        let target = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let beside = target.parent().unwrap_or(folder);
        let mut file = tempfile::NamedTempFile::new_in(beside).map_err(failed)?;
        file.write_all(format!("{:#}\n", Value::Object(rules)).as_bytes()).map_err(failed)?;
        file.persist(&target).map_err(|error| self.failed(error.error))?;
        Ok(done)
    }

    fn failed(&self, source: io::Error) -> TrustError {
        TrustError::Record { path: self.path.clone(), source }
    }
}

/// Removes every rule about the same folder, however it is spelt.
fn forget(rules: &mut Map<String, Value>, folder: &Path) -> usize {
    let before = rules.len();
    rules.retain(|spelt, _| {
        let same = fs::canonicalize(spelt).is_ok_and(|canonical| canonical == folder);
        !same && Path::new(spelt) != folder
    });
    before - rules.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> (tempfile::TempDir, TrustRecord) {
        let folder = tempfile::tempdir().unwrap();
        let record = TrustRecord::at(&folder.path().join("new").join("trustedFolders.json"));
        (folder, record)
    }

    #[test]
    fn the_last_word_about_a_folder_replaces_what_was_said_in_any_spelling() {
        let (folder, record) = record();
        let project = fs::canonicalize(folder.path()).unwrap();
        record.set(Path::new("/other"), Rule::Distrust).unwrap();
        let spelt = format!("{}/.", project.display());
        record.change(|rules| rules.insert(spelt, Value::from("DO_NOT_TRUST"))).unwrap();
        record.set(&project, Rule::Trust).unwrap();
        let expected = [
            ("/other".to_owned(), "DO_NOT_TRUST".to_owned()),
            (project.display().to_string(), "TRUST_FOLDER".to_owned()),
        ];
        assert_eq!(record.read().unwrap(), expected);
    }

    #[test]
    fn a_word_that_is_forgotten_is_gone_and_forgetting_it_twice_does_nothing() {
        let (_folder, record) = record();
        record.set(Path::new("/p"), Rule::TrustParent).unwrap();
        assert_eq!(record.remove(Path::new("/p")).unwrap(), 1);
        assert_eq!(record.remove(Path::new("/p")).unwrap(), 0);
        assert!(record.read().unwrap().is_empty());
    }

    #[test]
    fn a_record_that_is_broken_is_not_overwritten() {
        let (_folder, record) = record();
        record.set(Path::new("/p"), Rule::Trust).unwrap();
        fs::write(&record.path, "{ broken").unwrap();
        assert!(matches!(record.set(Path::new("/q"), Rule::Trust), Err(TrustError::Broken { .. })));
        assert_eq!(fs::read_to_string(&record.path).unwrap(), "{ broken");
    }
}
