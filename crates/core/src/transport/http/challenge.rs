//! What does a server want when it answers 401? Owns the reading of `WWW-Authenticate` (RFC 9110, 11.6.1); pure.

use serde_json::{Map, Value};

/// The challenge as an object: its `scheme` in lower case, then its parameters (`resource_metadata`, `scope`, `error`,
/// …). Of several the one for bearer tokens, else the first.
pub(crate) fn read(header: &str) -> Option<Value> {
    let mut challenges = all(header);
    let bearer = challenges.iter().position(|challenge| challenge.get("scheme") == Some(&"bearer".into()));
    let at = bearer.unwrap_or(0);
    (at < challenges.len()).then(|| Value::Object(challenges.swap_remove(at)))
}

fn all(header: &str) -> Vec<Map<String, Value>> {
    let mut challenges: Vec<Map<String, Value>> = Vec::new();
    for part in parts(header) {
        let part = part.trim();
        // `Bearer a=b`, `a=b` or `Negotiate`: a scheme stands before its first parameter.
        let name = part.split(['=', '"']).next().unwrap_or_default().trim_end();
        let (scheme, parameter) = match name.split_once(char::is_whitespace) {
            Some((scheme, _)) => (Some(scheme), part.get(scheme.len()..).unwrap_or_default().trim()),
            None if part.contains('=') => (None, part),
            None => (Some(part), ""),
        };
        if let Some(scheme) = scheme.filter(|scheme| !scheme.is_empty()) {
            let scheme = ("scheme".to_owned(), Value::String(scheme.to_ascii_lowercase()));
            challenges.push(Map::from_iter([scheme]));
        }
        if let (Some(challenge), Some((name, value))) = (challenges.last_mut(), parameter.split_once('=')) {
            challenge.insert(name.trim().to_ascii_lowercase(), Value::String(unquoted(value.trim())));
        }
    }
    challenges
}

/// Split at commas outside quotes.
fn parts(header: &str) -> Vec<&str> {
    let (mut parts, mut from, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (at, c) in header.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ',' if !quoted => {
                parts.push(header.get(from..at).unwrap_or_default());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(header.get(from..).unwrap_or_default());
    parts
}

fn unquoted(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"') else { return value.to_owned() };
    let mut out = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => out.extend(chars.next()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_challenge_keeps_its_scheme_and_its_parameters() {
        for (header, expected) in [
            (
                r#"Bearer resource_metadata="https://a/.well-known/x?a,b", scope="r w", error=invalid_token"#,
                json!({
                    "scheme": "bearer", "resource_metadata": "https://a/.well-known/x?a,b", "scope": "r w",
                    "error": "invalid_token",
                }),
            ),
            (r#"Basic realm="a \"b\", c", Bearer"#, json!({"scheme": "bearer"})),
            (r#"Basic Realm="x""#, json!({"scheme": "basic", "realm": "x"})),
            ("Negotiate", json!({"scheme": "negotiate"})),
            (r#"Bearer realm="open"#, json!({"scheme": "bearer", "realm": "open"})),
        ] {
            assert_eq!(read(header), Some(expected), "{header}");
        }
        assert_eq!(read(""), None);
        assert_eq!(read(" , "), None);
    }
}
