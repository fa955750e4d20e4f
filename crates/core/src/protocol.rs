//! What does an answer to `initialize` mean? Owns the versions of the protocol that we speak and what a server offers,
//! for the first handshake as for every later one; pure.

use serde_json::Value;

use crate::said::Said;

/// The versions that begin with `initialize`, oldest first.
pub(crate) const KNOWN: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
pub(crate) const OFFERED: &str = KNOWN[KNOWN.len() - 1];
/// The era without `initialize`.
pub(crate) const MODERN: &str = "2026-07-28";

/// Which lists are worth asking for. Tools always are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Offers {
    pub(crate) prompts: Offer,
    pub(crate) resources: Offer,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Offer {
    Asked,
    NotDeclared,
}

impl Offers {
    /// Everything, whatever was declared.
    pub(crate) const ALL: Self = Self { prompts: Offer::Asked, resources: Offer::Asked };

    /// What the capabilities in this answer declare. A server that declares none of the lists is asked for all.
    pub(crate) fn of(result: &Value) -> Self {
        let declares = |kind: &str| {
            result.get("capabilities").and_then(|declared| declared.get(kind)).is_some_and(|value| {
                // `false` is no valid form, but its meaning is plain.
                !matches!(value, Value::Null | Value::Bool(false))
            })
        };
        let nothing = !["tools", "prompts", "resources"].into_iter().any(declares);
        let offer = |kind: &str| if nothing || declares(kind) { Offer::Asked } else { Offer::NotDeclared };
        Self { prompts: offer("prompts"), resources: offer("resources") }
    }
}

/// The version that an answer names.
pub(crate) fn version(result: &Value) -> Option<&str> {
    result.get("protocolVersion").and_then(Value::as_str)
}

/// Whether the answer to `initialize` names a version that we speak.
///
/// # Errors
/// It does not, in words that name both sides.
pub(crate) fn check_version(result: &Value, said: &Said) -> Result<(), String> {
    match version(result) {
        Some(version) if KNOWN.contains(&version) => Ok(()),
        Some(version) if !version.is_empty() => Err(format!(
            "no common protocol version: the server speaks {}, we speak {}",
            shortened(&said.masked(version)),
            KNOWN.join(", ")
        )),
        Some(_) | None => {
            Err(format!("the answer to initialize names no protocol version; we speak {}", KNOWN.join(", ")))
        }
    }
}

/// The texts in a list, each shortened.
pub(crate) fn strings(value: Option<&Value>, said: &Said) -> Vec<String> {
    let items = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(|text| shortened(&said.masked(text))).collect()
}

/// Versions for people.
pub(crate) fn one_of(versions: &[String]) -> String {
    if versions.is_empty() { "none".to_owned() } else { versions.join(", ") }
}

/// A version is a date; what a server may send instead is not bounded.
fn shortened(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(40).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_version_we_know_is_accepted_and_any_other_names_both_sides() {
        let cases: [(Value, Result<(), &str>); 8] = [
            (json!({"protocolVersion": "2024-11-05"}), Ok(())),
            (json!({"protocolVersion": "2025-03-26"}), Ok(())),
            (json!({"protocolVersion": "2025-06-18"}), Ok(())),
            (json!({"protocolVersion": "2025-11-25"}), Ok(())),
            (
                json!({"protocolVersion": "2099-01-01"}),
                Err("the server speaks 2099-01-01, we speak 2024-11-05"),
            ),
            (json!({"protocolVersion": ""}), Err("names no protocol version; we speak 2024-11-05")),
            (json!({}), Err("names no protocol version")),
            (json!("text"), Err("names no protocol version")),
        ];
        for (result, expected) in cases {
            match (check_version(&result, &Said::default()), expected) {
                (Ok(()), Ok(())) => {}
                (Err(why), Err(words)) => assert!(why.contains(words), "{result}: {why}"),
                (other, _) => panic!("{result}: {other:?}"),
            }
        }
    }

    #[test]
    fn prompts_and_resources_are_asked_for_when_declared_or_when_nothing_is() {
        use Offer::{Asked, NotDeclared};
        for (capabilities, prompts, resources) in [
            (json!({}), Asked, Asked),
            (json!(null), Asked, Asked),
            (json!({"logging": {}}), Asked, Asked),
            (json!({"tools": {}}), NotDeclared, NotDeclared),
            (json!({"tools": {}, "prompts": {}}), Asked, NotDeclared),
            (json!({"resources": {"subscribe": true}}), NotDeclared, Asked),
            (json!({"prompts": null, "tools": true, "resources": false}), NotDeclared, NotDeclared),
        ] {
            let result = json!({"capabilities": capabilities});
            assert_eq!(Offers::of(&result), Offers { prompts, resources }, "{result}");
        }
    }
}
