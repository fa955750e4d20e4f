//! What the server offers: tools, prompts, resources, and the pages they come in.

use serde_json::{Value, json};

use crate::options::{Cursor, Options};

/// The answer to `tools/list`: a result, or an error.
pub(crate) fn tools(options: &Options, params: &Value) -> Result<Value, Value> {
    let all = match &options.tools_file {
        Some(file) => read(file)?,
        None => options.tools.iter().map(|name| tool(name)).collect(),
    };
    let cursor = params.get("cursor").and_then(Value::as_str);
    Ok(match options.cursor {
        Cursor::None => json!({ "tools": all }),
        Cursor::Null => json!({ "tools": all, "nextCursor": null }),
        Cursor::Repeat => json!({ "tools": all, "nextCursor": "again" }),
        Cursor::Empty => json!({ "tools": all, "nextCursor": "" }),
        Cursor::Endless => {
            let page = cursor.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
            json!({ "tools": [tool(&format!("page_{page}"))], "nextCursor": (page + 1).to_string() })
        }
        Cursor::ErrorOnPage2 if cursor.is_some() => {
            return Err(json!({ "code": -32603, "message": "page two is broken" }));
        }
        Cursor::ErrorOnPage2 => json!({ "tools": all, "nextCursor": "2" }),
        Cursor::PageSize(size) => {
            let from = cursor.and_then(|text| text.parse::<usize>().ok()).unwrap_or(0);
            let to = (from + size.max(1)).min(all.len());
            let page = &all[from.min(to)..to];
            if to < all.len() {
                json!({ "tools": page, "nextCursor": to.to_string() })
            } else {
                json!({ "tools": page })
            }
        }
    })
}

fn read(file: &std::path::Path) -> Result<Vec<Value>, Value> {
    let broken = |problem: String| json!({ "code": -32603, "message": problem });
    let text = std::fs::read(file).map_err(|problem| broken(problem.to_string()))?;
    serde_json::from_slice(&text).map_err(|problem| broken(problem.to_string()))
}

fn tool(name: &str) -> Value {
    json!({
        "name": name,
        "description": format!("the tool {name}"),
        "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } },
    })
}

/// The answer to `prompts/list`.
pub(crate) fn prompts(count: usize) -> Value {
    let all: Vec<Value> = (1..=count).map(|n| json!({ "name": format!("prompt_{n}") })).collect();
    json!({ "prompts": all })
}

/// The answer to `resources/list`.
pub(crate) fn resources(count: usize) -> Value {
    let all: Vec<Value> = (1..=count)
        .map(|n| json!({ "uri": format!("fake://resource/{n}"), "name": format!("resource {n}") }))
        .collect();
    json!({ "resources": all })
}
