//! What of a tool's result is printed? Its texts; what is no text, or too large to read, goes to a file of its own that
//! is named instead.

use std::{fs, io, io::Write as _, path::PathBuf};

use serde_json::Value;

use crate::{settings::Environment, text::count};

/// Larger texts go to a file, in bytes.
pub(crate) const LARGEST_TEXT: usize = 64 * 1024;

/// Where files go.
#[derive(Clone, Debug)]
pub(crate) struct Keep {
    folder: PathBuf,
}

/// A file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("write a part of the result below {}; --json prints the whole of it", folder.display())]
pub(crate) struct KeepError {
    folder: PathBuf,
    source: io::Error,
}

impl Keep {
    /// In the user's state folder; where there is none, in that for temporary files.
    pub(crate) fn of(environment: &Environment) -> Self {
        let folder = crate::sessions::state_folder(environment).unwrap_or_else(std::env::temp_dir);
        Self { folder: folder.join("results") }
    }

    /// In this folder.
    #[cfg(test)]
    pub(crate) fn below(folder: &std::path::Path) -> Self {
        Self { folder: folder.to_path_buf() }
    }

    /// Only its owner can read it: a result may hold anything.
    fn write(&self, extension: &str, bytes: &[u8]) -> Result<PathBuf, KeepError> {
        self.try_write(extension, bytes).map_err(|source| KeepError { folder: self.folder.clone(), source })
    }

    fn try_write(&self, extension: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        fs::create_dir_all(&self.folder)?;
        let time = chrono::Utc::now().format("%Y%m%d-%H%M%S-").to_string();
        let mut file = tempfile::Builder::new()
            .prefix(&time)
            .suffix(&format!(".{extension}"))
            .tempfile_in(&self.folder)?;
        file.write_all(bytes)?;
        let (_, path) = file.keep().map_err(|error| error.error)?;
        Ok(path)
    }
}

/// The result as text that ends with a line break, unless it is empty.
pub(crate) fn text(result: &Value, keep: &Keep) -> Result<String, KeepError> {
    let content = result.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut parts = content.iter().map(|part| block(part, keep)).collect::<Result<Vec<_>, _>>()?;
    // Servers repeat what is structured as text; it is shown where they do not.
    if content.is_empty()
        && let Some(structured) = result.get("structuredContent")
    {
        parts.push(format!("{structured:#}"));
    }
    let mut out = parts.join("\n");
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    if out.len() > LARGEST_TEXT {
        let path = keep.write("txt", out.as_bytes())?;
        return Ok(format!("[{} of text in {}]\n", count(out.len(), "byte"), path.display()));
    }
    Ok(out)
}

fn block(part: &Value, keep: &Keep) -> Result<String, KeepError> {
    let field = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let kind = field(part, "type").unwrap_or_default();
    match kind.as_str() {
        "text" => Ok(field(part, "text").unwrap_or_default()),
        "image" | "audio" => binary(&kind, field(part, "data"), field(part, "mimeType"), keep),
        "resource" => {
            let resource = part.get("resource").unwrap_or(&Value::Null);
            match (field(resource, "text"), field(resource, "blob")) {
                (Some(text), _) => Ok(text),
                (None, blob) => binary("resource", blob, field(resource, "mimeType"), keep),
            }
        }
        "resource_link" => Ok(format!("[resource {}]", field(part, "uri").unwrap_or_default())),
        _ => Ok(format!("{part:#}")),
    }
}

fn binary(what: &str, data: Option<String>, mime: Option<String>, keep: &Keep) -> Result<String, KeepError> {
    let mime = mime.unwrap_or_else(|| "application/octet-stream".to_owned());
    let Some(bytes) = data.as_deref().and_then(decoded) else {
        return Ok(format!("[{what} {mime}, which could not be decoded]"));
    };
    let path = keep.write(extension(&mime), &bytes)?;
    Ok(format!("[{what} {mime}, {}, in {}]", count(bytes.len(), "byte"), path.display()))
}

/// By a list, so that a server cannot choose how its file is opened.
fn extension(mime: &str) -> &'static str {
    match mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" => "mp3",
        "audio/ogg" => "ogg",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "text/plain" => "txt",
        _ => "bin",
    }
}

/// Base64 in either alphabet; white space and padding do not count.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut held, mut bits) = (0_u32, 0_u32);
    for c in text.bytes().filter(|c| !c.is_ascii_whitespace()) {
        let digit = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => return None,
        };
        held = (held << 6) | u32::from(digit);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((held >> bits) & 0xff).unwrap_or_default());
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
