//! Which edits of a settings file need a restart? Answered with the settings alone: no file, no runtime.

use qwen_settings_schema::schema;
use serde_json::json;

fn main() {
    let schema = schema();
    let old = json!({ "mcp": { "allowed": ["github"] }, "mcpServers": { "a.b": { "command": "a" } } });
    let new = json!({ "mcp": { "serverCommand": "mcp" }, "mcpServers": { "a.b": { "command": "b" } } });
    for key in schema.changed_leaves(&old, &new) {
        let when = if schema.requires_restart(&key) { "after a restart" } else { "at once" };
        println!("{key}: {when}");
    }
}
