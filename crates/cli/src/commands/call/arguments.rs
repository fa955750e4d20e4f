//! What does the command line of `mcp call` mean? Which tool, and which arguments: from JSON, a file or stdin.

use std::{
    fs,
    io::{self, Read as _},
};

use qwen_core::{ServerName, Status, Unavailable};
use serde_json::{Map, Value};

use super::super::using::{ExitOf, Problem};
use crate::text::visible;

/// Which tool is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    /// By its catalogue name.
    Named(String),
    /// By its server and the server's own name for it.
    Of {
        /// Which server.
        server: String,
        /// Its own name for the tool.
        tool: String,
    },
}

impl Asked {
    /// As a person reads it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Named(name) => visible(name).into_owned(),
            Self::Of { server, tool } => format!("{} of {}", visible(tool), visible(server)),
        }
    }

    /// The server is connected and has nothing of that name.
    pub(crate) fn not_offered(&self, status: &Status) -> Unavailable {
        match self {
            Self::Named(_) => Unavailable::Unknown { nearest: Vec::new() },
            Self::Of { server, tool } => {
                let own = status.catalogue.tools.values().filter(|offered| offered.server.as_str() == server);
                let nearest = qwen_core::nearest(tool, own.map(|offered| offered.tool.as_str()));
                Unavailable::NotOffered { server: ServerName::from(server.as_str()), nearest }
            }
        }
    }
}

/// Takes the words apart: a first word that is the name of a server is one, unless arguments follow at once.
pub(crate) fn asked(
    words: &[String],
    is_server: impl Fn(&str) -> bool,
) -> Result<(Asked, Option<String>), Problem> {
    let named = |tool: &String| Asked::Named(tool.clone());
    let of = |server: &String, tool: &String| Asked::Of { server: server.clone(), tool: tool.clone() };
    match words {
        [tool] if tool.starts_with("mcp__") || !is_server(tool) => Ok((named(tool), None)),
        [server, second] if is_arguments(second) && !is_server(server) => {
            Ok((named(server), Some(second.clone())))
        }
        [tool, second] if tool.starts_with("mcp__") && !is_server(tool) => {
            Ok((named(tool), Some(second.clone())))
        }
        [server, tool] if !is_arguments(tool) => Ok((of(server, tool), None)),
        [server, tool, arguments] => Ok((of(server, tool), Some(arguments.clone()))),
        _ => Err(Problem::new(
            "usage",
            "which tool? type `qwen mcp call SERVER TOOL` or the name that `qwen mcp tools` shows",
            ExitOf::Usage,
        )),
    }
}

fn is_arguments(word: &str) -> bool {
    word == "-" || word.starts_with(['{', '@', '['])
}

/// The arguments as an object; none are an empty one.
pub(crate) fn read(text: Option<&str>) -> Result<Value, Problem> {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        Problem::new("invalid_arguments", format!("{what}: {error}"), ExitOf::Usage)
    };
    let text = match text {
        None => return Ok(Value::Object(Map::new())),
        Some("-") => {
            let mut text = String::new();
            let read = io::stdin().lock().read_to_string(&mut text);
            read.map_err(|error| failed("the arguments on stdin cannot be read", &error))?;
            text
        }
        Some(text) => match text.strip_prefix('@') {
            Some(path) => fs::read_to_string(path).map_err(|error| {
                failed(&format!("the arguments in {} cannot be read", visible(path)), &error)
            })?,
            None => text.to_owned(),
        },
    };
    match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
        Ok(arguments @ Value::Object(_)) => Ok(arguments),
        Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(Problem::new(
                "invalid_arguments",
                "the arguments are not a JSON object, such as {\"a\": 1}",
                ExitOf::Usage,
            ))
        }
        Err(error) => Err(failed("the arguments are no JSON", &error)),
    }
}
