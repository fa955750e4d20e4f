//! Which certificate authorities are trusted beside the system's? Owns the meaning of `NODE_EXTRA_CA_CERTS`,
//! `SSL_CERT_FILE` and `SSL_CERT_DIR`, which it gets as values, and the reading of the files that they name.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use reqwest::Certificate;

use super::proxy::first;

/// The variables that name more authorities, for messages.
pub(crate) const VARIABLES: &str = "NODE_EXTRA_CA_CERTS or SSL_CERT_FILE";
/// So many files of a folder are looked at.
const MOST_FILES: usize = 1000;
/// A file of authorities is not larger; the system's own have about 300 KiB.
const LARGEST: u64 = 8 * 1024 * 1024;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Trust {
    pub(crate) authorities: Vec<Certificate>,
    /// What could not be read, and why; each names its variable.
    pub(crate) warnings: Vec<String>,
}

/// Reads what the variables name. Blocks on the file system.
pub(crate) fn read(env: &[(String, String)]) -> Trust {
    let mut trust = Trust::default();
    for variable in ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"] {
        if let Some(named) = first(env, &[variable]) {
            trust.file(variable, Path::new(named.value));
        }
    }
    if let Some(named) = first(env, &["SSL_CERT_DIR"]) {
        for folder in named.value.split(':').filter(|folder| !folder.is_empty()) {
            trust.folder(Path::new(folder));
        }
    }
    trust
}

impl Trust {
    fn file(&mut self, variable: &str, path: &Path) {
        let why = match read_file(path) {
            Ok(bytes) => match Certificate::from_pem_bundle(&bytes) {
                Ok(found) if !found.is_empty() => return self.authorities.extend(found),
                Ok(_) | Err(_) => "holds no certificate in PEM form".to_owned(),
            },
            Err(error) => format!("cannot be read: {error}"),
        };
        self.warnings.push(format!("{variable} names {}, which {why}", path.display()));
    }

    /// A folder of authorities holds other files as well, which is no mistake.
    fn folder(&mut self, folder: &Path) {
        match files(folder) {
            Ok(paths) => {
                let read = paths.iter().filter_map(|path| read_file(path).ok());
                let found = read.filter_map(|bytes| Certificate::from_pem_bundle(&bytes).ok());
                self.authorities.extend(found.flatten());
            }
            Err(error) => {
                let shown = folder.display();
                self.warnings.push(format!("SSL_CERT_DIR names {shown}, which cannot be read: {error}"));
            }
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the variables name files, and nothing else in core may read them"
)]
fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    // Before it is opened: opening a pipe waits for somebody to write.
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(std::io::Error::other(format!("it is larger than {} MiB", LARGEST / 1024 / 1024)));
    }
    Ok(bytes)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the variable names a folder, and nothing else in core may read it"
)]
fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths: Vec<_> =
        std::fs::read_dir(folder)?.take(MOST_FILES).flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the cases are files")]
mod tests {
    use super::*;

    const AUTHORITY: &str = include_str!("test_ca.pem");

    #[test]
    fn every_variable_adds_and_what_cannot_be_read_is_told_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        std::fs::write(at("ca.pem"), AUTHORITY).unwrap();
        std::fs::write(at("two.pem"), format!("{AUTHORITY}\n{AUTHORITY}")).unwrap();
        std::fs::write(at("notes.txt"), "nothing").unwrap();
        let root = folder.path().to_string_lossy().into_owned();
        std::fs::write(at("large.pem"), vec![b'x'; 9 * 1024 * 1024]).unwrap();
        for (variable, value, authorities, warning) in [
            ("NODE_EXTRA_CA_CERTS", at("ca.pem"), 1, None),
            ("SSL_CERT_FILE", at("two.pem"), 2, None),
            ("SSL_CERT_DIR", root.clone(), 3, None),
            ("SSL_CERT_DIR", format!("{}:{root}", at("gone")), 3, Some("SSL_CERT_DIR names")),
            ("SSL_CERT_FILE", String::new(), 0, None),
            ("SSL_CERT_FILE", at("gone.pem"), 0, Some("gone.pem, which cannot be read")),
            ("SSL_CERT_FILE", at("large.pem"), 0, Some("which cannot be read: it is larger than 8 MiB")),
            ("SSL_CERT_FILE", root.clone(), 0, Some("which cannot be read: it is no regular file")),
            ("NODE_EXTRA_CA_CERTS", at("notes.txt"), 0, Some("notes.txt, which holds no certificate")),
        ] {
            let trust = read(&[(variable.to_owned(), value.clone())]);
            assert_eq!(trust.authorities.len(), authorities, "{variable} {value}");
            match (trust.warnings.first(), warning) {
                (None, None) => {}
                (Some(told), Some(words)) => assert!(told.contains(words), "{told}"),
                (told, _) => panic!("{variable} {value}: {told:?}"),
            }
        }
    }
}
