//! Do we and this server speak the same protocol? Owns the first exchange in both protocol eras and what it agreed on;
//! knows no time limit, which is the caller's.

use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{MetaObject, RequestMetaObject};
use serde_json::{Value, json};

use super::{
    direct::Client,
    peer::{Abandoned, AskError, Asker},
};
use crate::{
    domain::VersionNegotiation,
    failure::{Failure, FailureKind},
    said::{self, Said},
};

/// The versions that begin with `initialize`, oldest first.
const KNOWN: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const OFFERED: &str = KNOWN[KNOWN.len() - 1];
/// The era without `initialize`.
const MODERN: &str = "2026-07-28";

/// What the two sides agreed on.
#[derive(Debug)]
pub(super) struct Agreed {
    /// Asks in the agreed way.
    pub(super) asker: Asker,
    pub(super) offers: Offers,
    pub(super) instructions: Option<String>,
    pub(super) era: Era,
}

/// Which way of beginning was understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Era {
    /// `initialize`: the server says by itself what changes.
    Initialized,
    /// `server/discover`: what changes is told to whoever keeps a request open for it.
    Discovered,
}

/// Which lists are worth asking for. Tools always are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Offers {
    pub(super) prompts: Offer,
    pub(super) resources: Offer,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Offer {
    Asked,
    NotDeclared,
}

/// Why there is no agreement.
#[derive(Debug)]
pub(super) enum NoAgreement {
    /// The answer makes no sense to us; another try gives the same.
    Failed(Failure),
    /// The connection went away; whoever watches it knows why.
    Gone(String),
}

/// `initialize` first. A server that does not know it is asked once in the way of the newer era, unless the entry says
/// otherwise. `shook_hands` is set as soon as the server's answer makes sense: it may be gone before we said so.
pub(super) async fn shake(
    asker: Asker,
    client: &Client,
    capabilities: Value,
    negotiation: VersionNegotiation,
    shook_hands: &AtomicBool,
) -> Result<Agreed, NoAgreement> {
    let params = json!({
        "protocolVersion": OFFERED,
        "capabilities": capabilities,
        "clientInfo": client_info(client),
    });
    match (asker.answer("initialize", Some(params), Abandoned::Silent).await, negotiation) {
        // Such a server knows the newer era alone, and says so in the way of the older.
        (Ok(result), VersionNegotiation::Auto) if version(&result) == Some(MODERN) => {
            let agreed = discover(asker, client).await?;
            shook_hands.store(true, Ordering::Relaxed);
            Ok(agreed)
        }
        (Ok(result), VersionNegotiation::Auto | VersionNegotiation::Legacy) => {
            let (offers, instructions) = agreed(&result, asker.said())?;
            shook_hands.store(true, Ordering::Relaxed);
            asker.notify("notifications/initialized").await.map_err(no_agreement)?;
            Ok(Agreed { asker, offers, instructions, era: Era::Initialized })
        }
        (Err(error), VersionNegotiation::Auto)
            if error.is_unknown_method() || error.status() == Some(400) =>
        {
            let agreed = discover(asker, client).await.map_err(|second| worse(error, second))?;
            shook_hands.store(true, Ordering::Relaxed);
            Ok(agreed)
        }
        (Err(error), VersionNegotiation::Auto | VersionNegotiation::Legacy) => Err(no_agreement(error)),
    }
}

fn client_info(client: &Client) -> Value {
    json!({ "name": client.name, "version": client.version })
}

async fn discover(asker: Asker, client: &Client) -> Result<Agreed, NoAgreement> {
    let meta = [
        ("io.modelcontextprotocol/protocolVersion", json!(MODERN)),
        ("io.modelcontextprotocol/clientInfo", client_info(client)),
        // Servers of this era ask by answering a request with questions, which is not followed here.
        ("io.modelcontextprotocol/clientCapabilities", json!({})),
    ];
    let meta = meta.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let meta = RequestMetaObject(MetaObject(meta));
    let asker = asker.with_meta(meta);
    let result =
        asker.answer("server/discover", None, Abandoned::Silent).await.map_err(|error| match error {
            AskError::Gone(why) => NoAgreement::Gone(why),
            refused @ (AskError::Refused { .. } | AskError::Unanswered { .. }) => invalid(format!(
                "the server knows neither initialize nor server/discover ({refused}); is it an MCP server?"
            )),
        })?;
    let supported = strings(result.get("supportedVersions"), asker.said());
    if !supported.iter().any(|version| version == MODERN) {
        return Err(invalid(format!(
            "no common protocol version: the server speaks {}, we speak {MODERN} and {}",
            one_of(&supported),
            KNOWN.join(", ")
        )));
    }
    let (offers, instructions) = (offers(&result), instructions(&result));
    Ok(Agreed { asker, offers, instructions, era: Era::Discovered })
}

fn version(result: &Value) -> Option<&str> {
    result.get("protocolVersion").and_then(Value::as_str)
}

/// Reads the answer to `initialize`.
fn agreed(result: &Value, said: &Said) -> Result<(Offers, Option<String>), NoAgreement> {
    match version(result) {
        Some(version) if KNOWN.contains(&version) => Ok((offers(result), instructions(result))),
        Some(version) if !version.is_empty() => Err(invalid(format!(
            "no common protocol version: the server speaks {}, we speak {}",
            shortened(&said.masked(version)),
            KNOWN.join(", ")
        ))),
        Some(_) | None => Err(invalid(format!(
            "the answer to initialize names no protocol version; we speak {}",
            KNOWN.join(", ")
        ))),
    }
}

fn offers(result: &Value) -> Offers {
    let declares = |kind: &str| {
        result.get("capabilities").and_then(|declared| declared.get(kind)).is_some_and(|value| {
            // `false` is no valid form, but its meaning is plain.
            !matches!(value, Value::Null | Value::Bool(false))
        })
    };
    let nothing = !["tools", "prompts", "resources"].into_iter().any(declares);
    let offer = |kind: &str| if nothing || declares(kind) { Offer::Asked } else { Offer::NotDeclared };
    Offers { prompts: offer("prompts"), resources: offer("resources") }
}

fn instructions(result: &Value) -> Option<String> {
    result.get("instructions").and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn no_agreement(error: AskError) -> NoAgreement {
    match error {
        AskError::Gone(why) => NoAgreement::Gone(why),
        AskError::Unanswered { failure, .. } => NoAgreement::Failed(failure),
        AskError::Refused { code, text, data, beside } => {
            // It was masked where it came in.
            let supported = strings(data.as_ref().and_then(|data| data.get("supported")), &Said::default());
            let speaks = if supported.is_empty() {
                String::new()
            } else {
                format!("; the server speaks {}, we speak {}", one_of(&supported), KNOWN.join(", "))
            };
            let message =
                format!("the server refused initialize: error {code}: {}{speaks}", said::cause(&text));
            match beside.map(|beside| beside.failure) {
                // The protocol's own words say more than the status, which decides what a retry can mend.
                Some(Failure { kind: kind @ FailureKind::WrongEndpoint { .. }, .. }) => {
                    NoAgreement::Failed(Failure::new(kind, message))
                }
                Some(failure) => NoAgreement::Failed(failure),
                None => invalid(message),
            }
        }
    }
}

/// What to say when neither way was understood: over HTTP the status of the first says more than that of the second.
fn worse(first: AskError, second: NoAgreement) -> NoAgreement {
    match (first.status(), second) {
        (Some(_), NoAgreement::Failed(_)) => no_agreement(first),
        (_, second) => second,
    }
}

fn invalid(message: String) -> NoAgreement {
    NoAgreement::Failed(Failure::new(FailureKind::InvalidHandshake, message))
}

fn strings(value: Option<&Value>, said: &Said) -> Vec<String> {
    let items = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(|text| shortened(&said.masked(text))).collect()
}

fn one_of(versions: &[String]) -> String {
    if versions.is_empty() { "none".to_owned() } else { versions.join(", ") }
}

/// A version is a date; what a server may send instead is not bounded.
fn shortened(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(40).collect()
}

#[cfg(test)]
mod tests {
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
            match (agreed(&result, &Said::default()), expected) {
                (Ok(_), Ok(())) => {}
                (Err(NoAgreement::Failed(failure)), Err(words)) => {
                    assert_eq!(failure.kind, FailureKind::InvalidHandshake);
                    assert!(failure.message.contains(words), "{result}: {failure}");
                }
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
            assert_eq!(offers(&result), Offers { prompts, resources }, "{result}");
        }
    }

    #[test]
    fn a_refusal_with_a_list_of_versions_names_them() {
        let error = AskError::Refused {
            code: -32602,
            text: "unsupported".to_owned(),
            data: Some(json!({"supported": ["2030-01-01"]})),
            beside: None,
        };
        let NoAgreement::Failed(failure) = no_agreement(error) else { panic!() };
        assert!(failure.message.contains("the server speaks 2030-01-01, we speak 2024-11-05"), "{failure}");
    }
}
