use std::sync::Arc;

use qwen_core::{CataloguePrompt, CatalogueResource};
use serde_json::json;

use super::*;
use crate::text::Paint;

fn catalogue() -> Catalogue {
    let tool = CatalogueTool {
        name: "mcp__time__now".into(),
        server: ServerName::from("time"),
        tool: "now".to_owned(),
        description: Some("  Says what time it is.\nIn UTC.".to_owned()),
        input_schema: Arc::new(json!({ "type": "object" })),
        trust: false,
        always_load: false,
    };
    let prompt = CataloguePrompt {
        name: "mcp__time__plan".into(),
        server: ServerName::from("time"),
        prompt: "plan".to_owned(),
        description: None,
        raw: Arc::new(json!({ "name": "plan", "arguments": [{ "name": "day" }] })),
    };
    let resource = CatalogueResource {
        server: ServerName::from("time"),
        uri: "time://zones".into(),
        name: "zones".to_owned(),
        raw: Arc::new(json!({ "uri": "time://zones", "name": "zones", "mimeType": "text/plain" })),
    };
    Catalogue {
        revision: 1,
        tools: [(Arc::clone(&tool.name), Arc::new(tool))].into(),
        prompts: [(Arc::clone(&prompt.name), Arc::new(prompt))].into(),
        resources: [((resource.server.clone(), Arc::clone(&resource.uri)), Arc::new(resource))].into(),
        clashes: Vec::new(),
    }
}

#[test]
fn each_list_has_its_documented_keys() {
    let listed =
        [Listed::Tools, Listed::Prompts, Listed::Resources].map(|listed| documents(&catalogue(), listed));
    assert_eq!(
        listed,
        [
            vec![json!({ "name": "mcp__time__now", "server": "time", "tool": "now",
                "description": "  Says what time it is.\nIn UTC.", "inputSchema": { "type": "object" } })],
            vec![json!({ "name": "mcp__time__plan", "server": "time", "prompt": "plan",
                "description": null, "arguments": [{ "name": "day" }] })],
            vec![json!({ "name": "zones", "server": "time", "uri": "time://zones",
                "description": null, "mimeType": "text/plain" })],
        ]
    );
}

#[test]
fn a_list_for_people_has_one_line_each_that_fits_the_terminal() {
    let shown = |listed, width| render(&catalogue(), listed, Paint::Plain, width);
    assert_eq!(shown(Listed::Tools, output::WIDTH), "mcp__time__now  Says what time it is.\n");
    assert_eq!(shown(Listed::Tools, 30), "mcp__time__now  Says what tim…\n");
    assert_eq!(shown(Listed::Prompts, output::WIDTH), "mcp__time__plan\n");
    assert_eq!(shown(Listed::Resources, output::WIDTH), "time  time://zones  zones\n");
    assert_eq!(render(&Catalogue::default(), Listed::Tools, Paint::Plain, output::WIDTH), "no tools\n");
}

#[test]
fn each_list_is_shown_at_eighty_columns_and_for_programs() {
    let mut catalogue = catalogue();
    let long =
        "Says what time it is in every zone that anybody has ever lived in, \u{65f6}\u{95f4} included.";
    let tool = CatalogueTool {
        name: "mcp__time__everywhere".into(),
        server: ServerName::from("time"),
        tool: "everywhere".to_owned(),
        description: Some(long.to_owned()),
        input_schema: Arc::new(json!({ "type": "object", "properties": { "zone": { "type": "string" } } })),
        trust: false,
        always_load: false,
    };
    catalogue.tools.insert(Arc::clone(&tool.name), Arc::new(tool));
    for (label, listed) in
        [("tools", Listed::Tools), ("prompts", Listed::Prompts), ("resources", Listed::Resources)]
    {
        let text = |catalogue| render(catalogue, listed, Paint::Plain, 80);
        let shown = format!("{}--- nothing\n{}", text(&catalogue), text(&Catalogue::default()));
        insta::with_settings!({ snapshot_suffix => label }, {
            insta::assert_snapshot!("text", shown);
            insta::assert_json_snapshot!("json", documents(&catalogue, listed));
        });
    }
}
