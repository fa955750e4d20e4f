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
    protocol::{self, KNOWN, MODERN, OFFERED, Offers},
    said::{self, Said},
};

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
        (Ok(result), VersionNegotiation::Auto) if protocol::version(&result) == Some(MODERN) => {
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
    let supported = protocol::strings(result.get("supportedVersions"), asker.said());
    if !supported.iter().any(|version| version == MODERN) {
        return Err(invalid(format!(
            "no common protocol version: the server speaks {}, we speak {MODERN} and {}",
            protocol::one_of(&supported),
            KNOWN.join(", ")
        )));
    }
    let (offers, instructions) = (Offers::of(&result), instructions(&result));
    Ok(Agreed { asker, offers, instructions, era: Era::Discovered })
}

/// Reads the answer to `initialize`.
fn agreed(result: &Value, said: &Said) -> Result<(Offers, Option<String>), NoAgreement> {
    protocol::check_version(result, said).map_err(invalid)?;
    Ok((Offers::of(result), instructions(result)))
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
            let supported =
                protocol::strings(data.as_ref().and_then(|data| data.get("supported")), &Said::default());
            let speaks = if supported.is_empty() {
                String::new()
            } else {
                format!("; the server speaks {}, we speak {}", protocol::one_of(&supported), KNOWN.join(", "))
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

#[cfg(test)]
mod tests {
    use super::*;

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
