//! What entry does a command line of `mcp add` stand for? Pure; variables stay as they were typed.

use qwen_settings_schema::Dialect;
use serde_json::{Map, Value, json};

use super::grammar::Typed;
use crate::args::{AddOptions, AddTransport};

/// Why a command line stands for no entry.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum EntryError {
    #[error("use `{given}` as a variable; write it as `--env NAME=value`")]
    Env { given: String },
    #[error("use a header without a colon; write it as `--header 'Name: value'`")]
    Header,
    #[error("reach `{shown}` over HTTP; name a URL such as https://example.com/mcp")]
    NoUrl { shown: String },
    #[error(
        "start `{shown}` as a command, since it is a URL; write `-t http` or `-t sse`, or leave `-t` out"
    )]
    UrlAsCommand { shown: String },
    #[error("give arguments to a URL; leave out `{argument}`, or put a command before the URL")]
    UrlWithArguments { argument: String },
    #[error("use {option} with {what}; leave it out")]
    Unfit { option: &'static str, what: &'static str },
}

/// The entry, as it is written to a file of this kind.
pub(super) fn entry(typed: &Typed, dialect: Dialect) -> Result<Value, EntryError> {
    let options = &typed.options;
    let by_target = if looks_like_url(&typed.target) { AddTransport::Http } else { AddTransport::Stdio };
    let transport = options.transport.unwrap_or(by_target);
    let mut fields = Map::new();
    match transport {
        AddTransport::Stdio => stdio(typed, &mut fields)?,
        AddTransport::Http => remote(typed, "httpUrl", &mut fields)?,
        AddTransport::Sse => {
            // In `.mcp.json` a URL alone is streamable HTTP first.
            if dialect == Dialect::McpJson {
                fields.insert("type".to_owned(), json!("sse"));
            }
            remote(typed, "url", &mut fields)?;
        }
    }
    common(options, &mut fields);
    if let Some(oauth) = oauth(options) {
        if transport == AddTransport::Stdio {
            return Err(EntryError::Unfit { option: "--oauth-*", what: "a command" });
        }
        fields.insert("oauth".to_owned(), oauth);
    }
    Ok(Value::Object(fields))
}

fn stdio(typed: &Typed, fields: &mut Map<String, Value>) -> Result<(), EntryError> {
    if looks_like_url(&typed.target) {
        return Err(EntryError::UrlAsCommand { shown: without_secrets(&typed.target) });
    }
    if !typed.options.header.is_empty() {
        return Err(EntryError::Unfit { option: "--header", what: "a command" });
    }
    fields.insert("command".to_owned(), json!(typed.target));
    if !typed.args.is_empty() {
        fields.insert("args".to_owned(), json!(typed.args));
    }
    let mut env = Map::new();
    for given in &typed.options.env {
        match given.split_once('=') {
            Some((name, value)) if !name.is_empty() => env.insert(name.to_owned(), json!(value)),
            // It may be the value of a secret that was typed without its name.
            Some(_) | None => return Err(EntryError::Env { given: hidden(given) }),
        };
    }
    if !env.is_empty() {
        fields.insert("env".to_owned(), Value::Object(env));
    }
    Ok(())
}

/// No command begins with a scheme: whoever writes one means a URL, perhaps a misspelt one.
fn looks_like_url(target: &str) -> bool {
    target.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.chars().all(|letter| letter.is_ascii_alphanumeric())
    })
}

/// Whether a connection could be made to it. Where a variable stands in it, that shows only later.
fn may_be_url(target: &str) -> bool {
    let starts =
        |scheme: &str| target.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    let is_http = starts("http://") || starts("https://");
    if target.contains('$') {
        return is_http || target.starts_with('$');
    }
    is_http && url::Url::parse(target).is_ok_and(|url| url.has_host())
}

/// What begins with a scheme may go on with a password.
fn without_secrets(target: &str) -> String {
    match target.split_once("://") {
        Some((scheme, rest)) if !rest.is_empty() => format!("{scheme}://…"),
        Some(_) | None => target.to_owned(),
    }
}

fn remote(typed: &Typed, field: &str, fields: &mut Map<String, Value>) -> Result<(), EntryError> {
    if !may_be_url(&typed.target) {
        return Err(EntryError::NoUrl { shown: without_secrets(&typed.target) });
    }
    if let Some(argument) = typed.args.first() {
        return Err(EntryError::UrlWithArguments { argument: argument.clone() });
    }
    if !typed.options.env.is_empty() {
        return Err(EntryError::Unfit { option: "--env", what: "a URL" });
    }
    fields.insert(field.to_owned(), json!(typed.target));
    let mut headers = Map::new();
    for given in &typed.options.header {
        match given.split_once(':') {
            Some((name, value)) if !name.trim().is_empty() => {
                headers.insert(name.trim().to_owned(), json!(value.trim()));
            }
            Some(_) | None => return Err(EntryError::Header),
        }
    }
    if !headers.is_empty() {
        fields.insert("headers".to_owned(), Value::Object(headers));
    }
    Ok(())
}

fn hidden(given: &str) -> String {
    given.chars().take(4).chain(['…']).collect()
}

fn common(options: &AddOptions, fields: &mut Map<String, Value>) {
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            fields.insert(name.to_owned(), value);
        }
    };
    put("timeout", options.timeout.map(|timeout| json!(timeout)));
    put("trust", options.trust.then_some(json!(true)));
    put("description", options.description.as_ref().map(|text| json!(text)));
    put("includeTools", list(&options.include_tools));
    put("excludeTools", list(&options.exclude_tools));
}

fn list(items: &[String]) -> Option<Value> {
    let items: Vec<&str> = items.iter().map(|item| item.trim()).filter(|item| !item.is_empty()).collect();
    (!items.is_empty()).then(|| json!(items))
}

/// Any of the options switches it on.
fn oauth(options: &AddOptions) -> Option<Value> {
    let texts = [
        ("clientId", &options.oauth_client_id),
        ("clientSecret", &options.oauth_client_secret),
        ("redirectUri", &options.oauth_redirect_uri),
        ("authorizationUrl", &options.oauth_authorization_url),
        ("tokenUrl", &options.oauth_token_url),
    ];
    let mut fields = Map::new();
    for (name, value) in texts {
        if let Some(value) = value {
            fields.insert(name.to_owned(), json!(value));
        }
    }
    if let Some(scopes) = list(&options.oauth_scopes) {
        fields.insert("scopes".to_owned(), scopes);
    }
    (!fields.is_empty()).then(|| {
        let mut whole = Map::new();
        whole.insert("enabled".to_owned(), json!(true));
        whole.extend(fields);
        Value::Object(whole)
    })
}
