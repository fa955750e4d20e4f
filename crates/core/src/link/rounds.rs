//! What does a result mean that is no answer yet, and what is sent then? Owns the reading of results that ask back, as
//! servers of the era without a handshake do (SEP-2322), and the request that follows; asks nobody and sends nothing.

use std::time::Duration;

use serde_json::{Map, Value};

/// So many requests are made for one call: the first, and one for each time that the server asked back.
pub(super) const ROUNDS: usize = 10;
/// How long the first request waits that only gives a state back; each further one waits twice as long as the last.
const PAUSE: Duration = Duration::from_millis(50);

/// A result.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Answer {
    /// The answer, as it came.
    Complete(Value),
    /// The server wants to know something first. It has forgotten the request by then.
    AsksBack(AsksBack),
}

/// What the server wants before it answers.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct AsksBack {
    /// What it asks, in its order.
    pub(super) requests: Vec<InputRequest>,
    /// What it wants back as it is; nobody but the server knows what it means.
    state: Option<String>,
}

/// One question that stands in a result.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct InputRequest {
    /// The server's name for it.
    pub(super) key: String,
    /// As a request of a server names it in the older era.
    pub(super) method: String,
    pub(super) params: Value,
}

/// Why a result is no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum Unreadable {
    /// The specification calls a result invalid whose kind is not known. In the server's words.
    #[error("its result is of an unknown kind: {0}")]
    Kind(String),
    #[error("what it asks cannot be read: {0}")]
    Question(&'static str),
}

/// Reads a result of a call.
///
/// # Errors
/// It is neither an answer nor a question that makes sense.
pub(super) fn read(result: Value) -> Result<Answer, Unreadable> {
    match result.get("resultType") {
        // A server that does not say what it is has answered.
        None | Some(Value::Null) => Ok(Answer::Complete(result)),
        Some(Value::String(kind)) if kind == "complete" => Ok(Answer::Complete(result)),
        Some(Value::String(kind)) if kind == "input_required" => asks_back(result).map(Answer::AsksBack),
        Some(Value::String(kind)) => Err(Unreadable::Kind(kind.clone())),
        Some(other) => Err(Unreadable::Kind(other.to_string())),
    }
}

fn asks_back(mut result: Value) -> Result<AsksBack, Unreadable> {
    let mut field = |name| result.get_mut(name).map(Value::take).unwrap_or_default();
    let requests = match field("inputRequests") {
        Value::Null => Vec::new(),
        Value::Object(requests) => {
            let requests = requests.into_iter().map(|(key, request)| input_request(key, request));
            requests.collect::<Result<_, _>>()?
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(Unreadable::Question("inputRequests is not an object"));
        }
    };
    let state = match field("requestState") {
        Value::Null => None,
        Value::String(state) => Some(state),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            return Err(Unreadable::Question("requestState is not a text"));
        }
    };
    if requests.is_empty() && state.is_none() {
        return Err(Unreadable::Question("there is neither a question in inputRequests nor a requestState"));
    }
    Ok(AsksBack { requests, state })
}

fn input_request(key: String, mut request: Value) -> Result<InputRequest, Unreadable> {
    let Some(Value::String(method)) = request.get_mut("method").map(Value::take) else {
        return Err(Unreadable::Question("one of the inputRequests has no method"));
    };
    let params = request.get_mut("params").map(Value::take).unwrap_or_default();
    Ok(InputRequest { key, method, params })
}

impl AsksBack {
    /// The parameters of the next request: those of the `first`, with the `responses` to what was asked and with the state
    /// where there is one. Nothing of an earlier round is in it.
    pub(super) fn next(
        self,
        first: &Map<String, Value>,
        responses: Map<String, Value>,
    ) -> Map<String, Value> {
        let mut next = first.clone();
        if !responses.is_empty() {
            next.insert("inputResponses".to_owned(), Value::Object(responses));
        }
        if let Some(state) = self.state {
            next.insert("requestState".to_owned(), Value::String(state));
        }
        next
    }

    /// How long the `nth` request, from 1, is held back. A server that asks nothing wants time.
    pub(super) fn pause(&self, nth: usize) -> Duration {
        if self.requests.is_empty() {
            PAUSE * 2_u32.saturating_pow(u32::try_from(nth.saturating_sub(1)).unwrap_or(u32::MAX).min(6))
        } else {
            Duration::ZERO
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn back(result: Value) -> AsksBack {
        match read(result) {
            Ok(Answer::AsksBack(back)) => back,
            other => panic!("{other:?}"),
        }
    }

    fn first() -> Map<String, Value> {
        Map::from_iter([("name".to_owned(), json!("book")), ("arguments".to_owned(), json!({"a": 1}))])
    }

    #[test]
    fn a_result_is_an_answer_unless_it_says_that_it_is_none() {
        for result in [
            json!({"content": []}),
            json!({"content": [], "resultType": "complete"}),
            json!({"content": [], "resultType": null, "requestState": "s"}),
            json!({"inputRequests": {}}),
            json!([]),
            json!("text"),
            Value::Null,
        ] {
            assert_eq!(read(result.clone()), Ok(Answer::Complete(result)));
        }
    }

    #[test]
    fn what_cannot_be_read_says_what_is_wrong_with_it() {
        let asks = |fields: Value| {
            let mut result = json!({"resultType": "input_required"});
            result.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            result
        };
        for (result, words) in [
            (json!({"resultType": "task"}), "its result is of an unknown kind: task"),
            (json!({"resultType": 7}), "of an unknown kind: 7"),
            (asks(json!({})), "neither a question in inputRequests nor a requestState"),
            (asks(json!({"inputRequests": {}})), "neither a question in inputRequests nor a requestState"),
            (asks(json!({"inputRequests": null, "requestState": null})), "neither a question"),
            (asks(json!({"inputRequests": []})), "inputRequests is not an object"),
            (asks(json!({"inputRequests": "q", "requestState": "s"})), "inputRequests is not an object"),
            (asks(json!({"inputRequests": {"q": {}}})), "one of the inputRequests has no method"),
            (asks(json!({"inputRequests": {"q": null}})), "has no method"),
            (asks(json!({"inputRequests": {"q": "roots/list"}})), "has no method"),
            (asks(json!({"inputRequests": {"q": {"method": 1}}})), "has no method"),
            (asks(json!({"requestState": {"a": 1}})), "requestState is not a text"),
        ] {
            match read(result.clone()) {
                Err(why) => assert!(why.to_string().contains(words), "{result}: {why}"),
                other => panic!("{result}: {other:?}"),
            }
        }
    }

    #[test]
    fn the_next_request_is_the_first_one_with_the_last_responses_and_the_last_state_and_nothing_else() {
        let state = "a+b==\u{0}ä {\"n\": 1.0}";
        let asked = back(json!({
            "resultType": "input_required", "requestState": state,
            "inputRequests": {
                "who": {"method": "elicitation/create", "params": {"message": "?"}},
                "where": {"method": "roots/list"},
            },
        }));
        let named: Vec<_> = asked.requests.iter().map(|request| (&*request.key, &*request.method)).collect();
        assert_eq!(named, [("who", "elicitation/create"), ("where", "roots/list")]);
        assert_eq!(asked.requests[0].params, json!({"message": "?"}));
        assert_eq!(asked.requests[1].params, Value::Null);
        let responses = Map::from_iter([("who".to_owned(), json!({"action": "decline"}))]);
        assert_eq!(
            Value::Object(asked.next(&first(), responses)),
            json!({
                "name": "book", "arguments": {"a": 1}, "requestState": state,
                "inputResponses": {"who": {"action": "decline"}},
            })
        );

        let stateless = back(json!({
            "resultType": "input_required", "inputRequests": {"where": {"method": "roots/list"}},
        }));
        let next = stateless.next(&first(), Map::from_iter([("where".to_owned(), json!({}))]));
        assert_eq!(next.keys().collect::<Vec<_>>(), ["name", "arguments", "inputResponses"]);

        let waits = back(json!({"resultType": "input_required", "requestState": ""}));
        assert_eq!(waits.next(&first(), Map::new())["requestState"], "");
    }

    #[test]
    fn a_server_that_asks_nothing_gets_more_time_with_each_request_and_one_that_asks_gets_none() {
        let waits = back(json!({"resultType": "input_required", "requestState": "s"}));
        let pauses: Vec<_> = (1..ROUNDS).map(|nth| waits.pause(nth).as_millis()).collect();
        assert_eq!(pauses, [50, 100, 200, 400, 800, 1600, 3200, 3200, 3200]);
        let asks = back(json!({"resultType": "input_required", "inputRequests": {"q": {"method": "m"}}}));
        assert_eq!(asks.pause(3), Duration::ZERO);
    }
}
