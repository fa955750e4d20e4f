use serde_json::json;

use super::*;

fn error(schema: &Value, arguments: &Value) -> Option<String> {
    first_error(schema, arguments).map(|misfit| misfit.to_string())
}

#[test]
fn the_first_misfit_is_named_with_its_path() {
    let schema = json!({
        "type": "object",
        "required": ["query"],
        "additionalProperties": false,
        "properties": {
            "query": { "type": "string", "minLength": 2 },
            "limit": { "type": ["integer", "null"], "minimum": 1, "maximum": 10 },
            "order": { "enum": ["up", "down"] },
            "filter": { "$ref": "#/$defs/filter" },
            "pair": { "prefixItems": [{ "type": "string" }, { "type": "number" }], "items": false },
            "either": { "oneOf": [{ "type": "string" }, { "type": "object", "required": ["id"] }] },
            "fixed": { "const": 1 },
            "no": { "not": { "type": "string" } },
            "all": { "allOf": [{ "type": "number" }, { "exclusiveMinimum": 0 }] },
        },
        "$defs": {
            "filter": {
                "type": "object",
                "properties": {
                    "name": { "type": "string" },
                    "all": { "type": "array", "maxItems": 2, "items": { "$ref": "#/$defs/filter" } },
                },
            },
        },
    });
    let table = [
        (json!({}), Some("query: is missing")),
        (json!({ "query": "ab" }), None),
        (json!({ "query": 1 }), Some("query: is a number, not a string")),
        (json!({ "query": "a" }), Some("query: is less than 2 characters long")),
        (json!({ "query": "ab", "quary": 1 }), Some("quary: is unknown; did you mean query?")),
        (json!({ "query": "ab", "limit": 2.0 }), None),
        (json!({ "query": "ab", "limit": null }), None),
        (json!({ "query": "ab", "limit": 2.5 }), Some("limit: is a number, not an integer or null")),
        (json!({ "query": "ab", "limit": 0 }), Some("limit: is less than 1")),
        (json!({ "query": "ab", "limit": 11 }), Some("limit: is more than 10")),
        (json!({ "query": "ab", "order": "left" }), Some(r#"order: is none of "up", "down""#)),
        (
            json!({ "query": "ab", "filter": { "all": [{}, { "name": 1 }] } }),
            Some("filter.all[1].name: is a number, not a string"),
        ),
        (
            json!({ "query": "ab", "filter": { "all": [{}, {}, {}] } }),
            Some("filter.all: is more than 2 items long"),
        ),
        (json!({ "query": "ab", "pair": ["a", 1] }), None),
        (json!({ "query": "ab", "pair": ["a", 1, 2] }), Some("pair[2]: is not allowed here")),
        (json!({ "query": "ab", "either": {} }), Some("either.id: is missing")),
        (json!({ "query": "ab", "either": "x" }), None),
        (json!({ "query": "ab", "fixed": 1.0 }), None),
        (json!({ "query": "ab", "fixed": 2 }), Some("fixed: is not 1")),
        (json!({ "query": "ab", "no": "x" }), Some("no: has a form that it must not have")),
        (json!({ "query": "ab", "all": 0 }), Some("all: is not more than 0")),
    ];
    for (arguments, expected) in table {
        assert_eq!(error(&schema, &arguments).as_deref(), expected, "{arguments}");
    }
}

#[test]
fn a_schema_that_goes_round_or_points_away_lets_everything_through() {
    for schema in [
        json!({ "$ref": "#" }),
        json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
        json!({ "$ref": "https://e.example/schema.json" }),
        json!({ "$ref": "#/nowhere" }),
        json!({ "allOf": [{ "$ref": "#" }, { "$ref": "#" }] }),
        json!({ "anyOf": [{ "$ref": "#" }, { "$ref": "#" }, { "$ref": "#" }] }),
        json!({ "type": 5, "required": "x", "enum": {}, "properties": [], "items": 3 }),
        json!(true),
        json!({}),
    ] {
        assert_eq!(error(&schema, &json!({ "a": [1] })), None, "{schema}");
    }
}

#[test]
fn where_a_form_that_was_tried_went_wrong_is_no_part_of_the_path_of_what_comes_later() {
    let schema = json!({
        "anyOf": [{ "required": ["x"] }, { "type": "object" }],
        "not": { "required": ["z"] },
        "properties": { "y": { "type": "string" } },
    });
    assert_eq!(error(&schema, &json!({ "y": 1 })).as_deref(), Some("y: is a number, not a string"));
}
