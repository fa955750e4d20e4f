//! What bytes does a path hold? Opened without blocking, a regular file only, bounded; and what text they are.

use std::{
    fs::{File, OpenOptions},
    io::Read as _,
    path::Path,
};

use crate::settings::source::Place;

/// At most this much is read of a file.
pub(crate) const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Why a file gave no text.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// It is there and cannot be opened or read.
    #[error("the file cannot be read: {}", reason(.0))]
    Io(#[source] std::io::Error),
    /// A folder, a pipe, a device.
    #[error("it is {0}, not a regular file")]
    NotAFile(&'static str),
    /// Over [`MAX_BYTES`].
    #[error("the file is larger than 8 MiB")]
    TooLarge,
    /// Another encoding.
    #[error("the file is {0}, not UTF-8")]
    Encoding(&'static str),
    /// Bytes that are not UTF-8.
    #[error("the file is not UTF-8: a byte that no UTF-8 text has")]
    NotUtf8(Place),
}

impl ReadError {
    /// A stable word for programs.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Io(_) => "unreadable",
            Self::NotAFile(_) => "not_a_file",
            Self::TooLarge => "too_large",
            Self::Encoding(_) | Self::NotUtf8(_) => "encoding",
        }
    }

    /// What to do about it.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Io(_) => "check who may read it",
            Self::NotAFile(_) => "put a JSON file there",
            Self::TooLarge => "a settings file holds a few kilobytes; was something else saved there?",
            Self::Encoding(_) | Self::NotUtf8(_) => "save it as UTF-8",
        }
    }
}

fn reason(error: &std::io::Error) -> String {
    // The text of the operating system without its number.
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut characters = text.chars();
    characters.next().map(|first| first.to_lowercase().chain(characters).collect()).unwrap_or_default()
}

/// The bytes of a file; `None` where there is none.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, ReadError> {
    let file = match open(path) {
        Ok(file) => file,
        // A path below a file does not exist either.
        Err(error)
            if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(not_a_file(path).unwrap_or(ReadError::Io(error))),
    };
    let metadata = file.metadata().map_err(ReadError::Io)?;
    if !metadata.is_file() {
        return Err(ReadError::NotAFile(kind(metadata.file_type())));
    }
    if metadata.len() > MAX_BYTES {
        return Err(ReadError::TooLarge);
    }
    let length = usize::try_from(metadata.len()).unwrap_or_default();
    // One more, so that the end is met without growing.
    let mut bytes = Vec::with_capacity(length + 1);
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(ReadError::Io)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ReadError::TooLarge);
    }
    Ok(Some(bytes))
}

/// A pipe with nobody at its other end must not hold us, hence without blocking.
#[cfg(unix)]
fn open(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

/// A socket cannot be opened at all; it is still no file.
fn not_a_file(path: &Path) -> Option<ReadError> {
    let kind_of = std::fs::metadata(path).ok()?.file_type();
    (!kind_of.is_file()).then(|| ReadError::NotAFile(kind(kind_of)))
}

fn kind(file_type: std::fs::FileType) -> &'static str {
    if file_type.is_dir() { "a folder" } else { "a pipe, socket or device" }
}

/// The text of the bytes, without its byte order mark.
pub(crate) fn text(bytes: &[u8]) -> Result<&str, ReadError> {
    match bytes {
        [0xFF, 0xFE, ..] => return Err(ReadError::Encoding("UTF-16 (little-endian)")),
        [0xFE, 0xFF, ..] => return Err(ReadError::Encoding("UTF-16 (big-endian)")),
        [first, 0, second, 0, ..] if *first != 0 && *second != 0 => {
            return Err(ReadError::Encoding("UTF-16 (little-endian)"));
        }
        [0, first, 0, second, ..] if *first != 0 && *second != 0 => {
            return Err(ReadError::Encoding("UTF-16 (big-endian)"));
        }
        _ => {}
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let good = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        ReadError::NotUtf8(super::document::Cursor::new(good).place(good.len()))
    })
}
