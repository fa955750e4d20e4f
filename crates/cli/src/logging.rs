//! Where does the log go, and how much of it? Set up once at start; what is logged is everybody else's business, and
//! nobody logs a secret.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::Mutex,
};

use tracing_subscriber::{EnvFilter, filter::ParseError, fmt};

/// Why the log could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LogError {
    /// The file cannot be written.
    #[error("open the log file {}; name another one with --log-file", path.display())]
    File {
        /// As given.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// `QWEN_LOG` is no filter.
    #[error("understand QWEN_LOG; write a filter such as QWEN_LOG=info or QWEN_LOG=qwen_core=debug")]
    Filter(#[from] ParseError),
}

/// Starts the log. `verbose` is how often `-v` was given; a filter says more exactly what is wanted.
///
/// # Errors
/// The file cannot be written, or the filter makes no sense.
pub(crate) fn start(verbose: u8, filter: Option<&str>, file: Option<&Path>) -> Result<(), LogError> {
    let filter = match filter {
        Some(filter) => EnvFilter::try_new(filter)?,
        None => EnvFilter::new(default_filter(verbose)),
    };
    // The SDK's own lines carry whole messages, and with them arguments and secrets that no mask has seen.
    let filter = filter.add_directive("rmcp=error".parse()?);
    let builder = fmt().with_env_filter(filter).with_ansi(false);
    let started = match file {
        None => builder.with_writer(io::stderr).try_init(),
        Some(path) => {
            let file = File::options()
                .create(true)
                .append(true)
                .open(path)
                .map_err(|source| LogError::File { path: path.to_path_buf(), source })?;
            builder.with_writer(Mutex::new(file)).try_init()
        }
    };
    // A second start, as in tests, keeps the first log.
    started.unwrap_or(());
    Ok(())
}

fn default_filter(verbose: u8) -> &'static str {
    match verbose {
        0 => "error",
        1 => "info",
        _ => "debug",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_makes_no_sense_and_a_file_that_cannot_be_written_are_said() {
        assert!(matches!(start(0, Some("qwen=loud=very"), None), Err(LogError::Filter(_))));
        let nowhere = Path::new("/nowhere/at/all.log");
        assert!(matches!(start(0, None, Some(nowhere)), Err(LogError::File { .. })));
    }

    #[test]
    fn every_default_is_a_filter() {
        for verbose in 0..4 {
            assert!(EnvFilter::try_new(default_filter(verbose)).is_ok());
        }
    }
}
