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

/// A first request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Opening {
    Initialize,
    Discover,
}

impl Opening {
    /// What a connection begins with.
    pub(super) fn of(negotiation: VersionNegotiation) -> Self {
        match negotiation {
            VersionNegotiation::Auto | VersionNegotiation::Legacy => Self::Initialize,
            VersionNegotiation::Modern => Self::Discover,
        }
    }

    pub(super) fn method(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Discover => "server/discover",
        }
    }

    /// The versions that can be agreed on with it, for people.
    fn versions(self) -> String {
        match self {
            Self::Initialize => KNOWN.join(", "),
            Self::Discover => MODERN.to_owned(),
        }
    }
}

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

/// What every first request says of us.
#[derive(Debug)]
pub(super) struct Ours<'a> {
    pub(super) client: &'a Client,
    /// What servers may ask of us.
    pub(super) capabilities: Value,
}

/// `initialize` first. A server that does not know it is asked once in the way of the newer era, unless `negotiation` says
/// otherwise. `shook_hands` is set as soon as the server's answer makes sense: it may be gone before we [`confirm`] it.
pub(super) async fn shake(
    asker: Asker,
    ours: Ours<'_>,
    negotiation: VersionNegotiation,
    shook_hands: &AtomicBool,
) -> Result<Agreed, NoAgreement> {
    let agreed = match negotiation {
        VersionNegotiation::Auto => match initialize(&asker, &ours).await {
            // Such a server knows the newer era alone, and says so in the way of the older.
            Ok(result) if protocol::version(&result) == Some(MODERN) => discover(asker, &ours).await?,
            Err(error) if error.is_unknown_method() || error.status() == Some(400) || names_newer(&error) => {
                discover(asker, &ours).await.map_err(|second| worse(error, second))?
            }
            result => return initialized(asker, result, shook_hands).await,
        },
        VersionNegotiation::Legacy => {
            let result = initialize(&asker, &ours).await;
            return initialized(asker, result, shook_hands).await;
        }
        VersionNegotiation::Modern => discover_alone(asker, &ours).await?,
    };
    shook_hands.store(true, Ordering::Relaxed);
    Ok(agreed)
}

async fn initialize(asker: &Asker, ours: &Ours<'_>) -> Result<Value, AskError> {
    let params = json!({
        "protocolVersion": OFFERED,
        "capabilities": ours.capabilities,
        "clientInfo": ours.info(),
    });
    asker.answer(Opening::Initialize.method(), Some(params), Abandoned::Silent).await
}

async fn initialized(
    asker: Asker,
    result: Result<Value, AskError>,
    shook_hands: &AtomicBool,
) -> Result<Agreed, NoAgreement> {
    let result = result.map_err(|error| no_agreement(Opening::Initialize, error))?;
    protocol::check_version(&result, asker.said()).map_err(invalid)?;
    shook_hands.store(true, Ordering::Relaxed);
    let (offers, instructions) = (Offers::of(&result), instructions(&result));
    Ok(Agreed { asker, offers, instructions, era: Era::Initialized })
}

/// Tells a server of the older era that the handshake is over.
pub(super) async fn confirm(asker: &Asker, era: Era) -> Result<(), NoAgreement> {
    match era {
        Era::Initialized => asker.notify("notifications/initialized").await,
        Era::Discovered => Ok(()),
    }
    .map_err(|error| no_agreement(Opening::Initialize, error))
}

/// The newer era after the older one was not understood.
async fn discover(asker: Asker, ours: &Ours<'_>) -> Result<Agreed, NoAgreement> {
    let asker = asker.with_meta(ours.meta());
    let result = asker.answer(Opening::Discover.method(), None, Abandoned::Silent).await.map_err(
        |error| match error {
            AskError::Gone(why) => NoAgreement::Gone(why),
            refused @ (AskError::Refused { .. } | AskError::Unanswered { .. }) => invalid(format!(
                "the server knows neither initialize nor server/discover ({refused}); is it an MCP server?"
            )),
        },
    )?;
    discovered(asker, &result)
}

/// The newer era and no other. A server that refuses and names the version that it was asked in gets a second try, as the
/// specification wants it.
async fn discover_alone(asker: Asker, ours: &Ours<'_>) -> Result<Agreed, NoAgreement> {
    let asker = asker.with_meta(ours.meta());
    let result = match asker.answer(Opening::Discover.method(), None, Abandoned::Silent).await {
        Err(refused) if names_newer(&refused) => {
            asker.answer(Opening::Discover.method(), None, Abandoned::Silent).await
        }
        result => result,
    };
    let result = result.map_err(|error| no_agreement(Opening::Discover, error))?;
    discovered(asker, &result)
}

/// Reads the answer to `server/discover`.
fn discovered(asker: Asker, result: &Value) -> Result<Agreed, NoAgreement> {
    let supported = protocol::strings(result.get("supportedVersions"), asker.said());
    if !supported.iter().any(|version| version == MODERN) {
        return Err(invalid(format!(
            "no common protocol version: the server speaks {}, we speak {MODERN} and {}",
            protocol::one_of(&supported),
            KNOWN.join(", ")
        )));
    }
    let (offers, instructions) = (Offers::of(result), instructions(result));
    Ok(Agreed { asker, offers, instructions, era: Era::Discovered })
}

impl Ours<'_> {
    fn info(&self) -> Value {
        json!({ "name": self.client.name, "version": self.client.version })
    }

    /// What every request of the newer era carries.
    fn meta(&self) -> RequestMetaObject {
        let meta = [
            ("io.modelcontextprotocol/protocolVersion", json!(MODERN)),
            ("io.modelcontextprotocol/clientInfo", self.info()),
            ("io.modelcontextprotocol/clientCapabilities", self.capabilities.clone()),
        ];
        RequestMetaObject(MetaObject(meta.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()))
    }
}

fn instructions(result: &Value) -> Option<String> {
    result.get("instructions").and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Whether a refusal says that the version of the newer era would do.
fn names_newer(refusal: &AskError) -> bool {
    supported(refusal).iter().any(|version| version == MODERN)
}

/// The versions that a refusal names.
fn supported(refusal: &AskError) -> Vec<String> {
    match refusal {
        AskError::Refused { data: Some(data), .. } => {
            // It was masked where it came in.
            protocol::strings(data.get("supported"), &Said::default())
        }
        AskError::Refused { data: None, .. } | AskError::Unanswered { .. } | AskError::Gone(_) => Vec::new(),
    }
}

fn no_agreement(opening: Opening, error: AskError) -> NoAgreement {
    let supported = supported(&error);
    match error {
        AskError::Gone(why) => NoAgreement::Gone(why),
        AskError::Unanswered { failure, .. } => NoAgreement::Failed(failure),
        AskError::Refused { code, text, data: _, beside } => {
            let speaks = if supported.is_empty() {
                String::new()
            } else {
                format!(
                    "; the server speaks {}, we speak {}",
                    protocol::one_of(&supported),
                    opening.versions()
                )
            };
            let message = format!(
                "the server refused {}: error {code}: {}{speaks}",
                opening.method(),
                said::cause(&text)
            );
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
        (Some(_), NoAgreement::Failed(_)) => no_agreement(Opening::Initialize, first),
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
        let NoAgreement::Failed(failure) = no_agreement(Opening::Initialize, error) else { panic!() };
        assert!(failure.message.contains("the server speaks 2030-01-01, we speak 2024-11-05"), "{failure}");
    }
}
