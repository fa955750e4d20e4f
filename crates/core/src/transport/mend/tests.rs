//! The table of odd messages and what they mean.

use serde_json::json;

use super::*;

fn id(n: i64) -> RequestId {
    RequestId::Number(n)
}

fn answer(n: i64, result: Value) -> Result<Message, Noise> {
    Ok(Message::Answer { id: id(n), result })
}

fn refused(n: i64, code: i64, text: &str) -> Result<Message, Noise> {
    Ok(Message::Refusal { id: Some(id(n)), code, text: text.to_owned(), data: None })
}

fn request(n: i64, method: &str) -> Result<Message, Noise> {
    Ok(Message::Request { id: id(n), method: method.to_owned(), params: None })
}

fn notice(method: &str) -> Result<Message, Noise> {
    Ok(Message::Notification { method: method.to_owned(), params: None })
}

#[test]
fn every_odd_message_is_mended_or_isolated() {
    let cases: Vec<(&str, Vec<Result<Message, Noise>>)> = vec![
        (r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#, vec![answer(1, json!({"a":1}))]),
        (r#"{"id":1,"result":{}}"#, vec![answer(1, json!({}))]),
        (r#"{"jsonrpc":"1.0","id":1,"result":{}}"#, vec![answer(1, json!({}))]),
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#, vec![answer(1, json!({}))]),
        (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, vec![answer(1, json!({}))]),
        (r#"{"jsonrpc":"2.0","id":1,"result":{"tools":null}}"#, vec![answer(1, json!({"tools":null}))]),
        (r#"{"jsonrpc":"2.0","id":1,"result":"text"}"#, vec![answer(1, json!("text"))]),
        (r#"{"jsonrpc":"2.0","id":1.0,"result":{}}"#, vec![answer(1, json!({}))]),
        (
            r#"{"jsonrpc":"2.0","id":"1","result":{}}"#,
            vec![Ok(Message::Answer { id: RequestId::String("1".into()), result: json!({}) })],
        ),
        (
            r#"{"jsonrpc":"2.0","id":1}"#,
            vec![refused(1, -32603, "the answer has neither a result nor an error")],
        ),
        (r#"{"jsonrpc":"2.0","id":1,"error":"boom"}"#, vec![refused(1, -32603, "boom")]),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"message":"m"}}"#, vec![refused(1, -32603, "m")]),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":"-32601","message":"m"}}"#,
            vec![refused(1, -32601, "m")],
        ),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601.0}}"#, vec![refused(1, -32601, "no message")]),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":5,"message":7}}"#,
            vec![refused(1, 5, "7")],
        ),
        (
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse"}}"#,
            vec![Ok(Message::Refusal { id: None, code: -32700, text: "parse".to_owned(), data: None })],
        ),
        (r#"{"jsonrpc":"2.0","id":null,"method":"notifications/x"}"#, vec![notice("notifications/x")]),
        (r#"{"method":"ping","id":3,"params":null}"#, vec![request(3, "ping")]),
        (
            r#"[{"id":1,"result":{}},{"method":"n"},7,{"id":2,"error":"e"}]"#,
            vec![answer(1, json!({})), notice("n"), Err(Noise::NotAMessage), refused(2, -32603, "e")],
        ),
        ("[]", vec![]),
        ("\u{feff} {\"id\":1,\"result\":{}} ", vec![answer(1, json!({}))]),
        ("Server listening on stdio", vec![Err(Noise::NotJson)]),
        ("{not json}", vec![Err(Noise::NotJson)]),
        (r#"{"id":1,"result":{"#, vec![Err(Noise::NotJson)]),
        (r#"{"level":"info"}"#, vec![Err(Noise::NotAMessage)]),
        (r#"{"id":{},"result":{}}"#, vec![Err(Noise::NotAMessage)]),
        (r#"{"id":1,"result":"\ud800 \ud83d\ude00 \udc00"}"#, vec![answer(1, json!("\u{fffd} 😀 \u{fffd}"))]),
        ("{\"id\":1,\"result\":\"a\tb\u{1}\"}", vec![answer(1, json!("a\tb\u{1}"))]),
        (r#"{"id":1,"result":"\\\"{[\ud800"}"#, vec![answer(1, json!("\\\"{[\u{fffd}"))]),
    ];
    for (line, expected) in cases {
        assert_eq!(decode(line.as_bytes()), expected, "{line}");
    }
}

#[test]
fn bytes_that_are_no_utf8_cost_only_themselves() {
    assert_eq!(decode(b"{\"id\":1,\"result\":\"a\xffb\"}"), [answer(1, json!("a\u{fffd}b"))]);
    assert_eq!(decode(b"\xff\xfe\xfd"), [Err(Noise::NotJson)]);
}

#[test]
fn what_is_nested_too_deeply_is_replaced_and_its_neighbours_stay() {
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    let line = format!(r#"{{"id":1,"result":{{"bad":{deep},"good":[1]}}}}"#);
    let decoded = decode(line.as_bytes());
    let [Ok(Message::Answer { result, .. })] = decoded.as_slice() else { panic!("{decoded:?}") };
    assert_eq!(result["good"], json!([1]));
    assert!(result["bad"].to_string().contains("nested too deeply"));
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        decode(&bytes);
        repair::repair(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_repair_of_good_json_changes_nothing_but_its_text(text in "[ -~]{0,20}", number in proptest::num::i64::ANY) {
        let value = json!({"id": number, "result": [text, {"k": [number]}]});
        proptest::prop_assert_eq!(serde_json::from_str::<Value>(&repair::repair(&value.to_string())).unwrap(), value);
    }
}
