//! Through which proxy is a server reached? Owns the meaning of `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`
//! in both cases; gets the variables as values and never reads the environment.

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Proxy;
use url::Url;

use super::redirect::origin;
use crate::{
    failure::{Failure, FailureKind},
    mask::MASK,
};

/// A variable that names the proxy for an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Named<'a> {
    pub(crate) variable: &'static str,
    pub(crate) value: &'a str,
}

/// A proxy that is on the way, as it may be shown: without its credentials.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Via {
    pub(crate) variable: &'static str,
    origin: String,
}

impl Via {
    /// The proxy of this variable.
    pub(crate) fn of(named: Named<'_>) -> Self {
        let value = named.value;
        // Without a scheme it is an HTTP proxy; a host with a port would pass for a scheme with a path.
        let url = match value.contains("://") {
            true => Url::parse(value),
            false => Url::parse(&format!("http://{value}")),
        };
        let origin = url.as_ref().map_or_else(|_| MASK.to_owned(), origin);
        Self { variable: named.variable, origin }
    }
}

impl std::fmt::Display for Via {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (of {})", self.origin, self.variable)
    }
}

/// The value of the first of these variables that is set and not empty.
pub(crate) fn first<'a>(env: &'a [(String, String)], names: &[&'static str]) -> Option<Named<'a>> {
    names.iter().find_map(|variable| {
        let (_, value) = env.iter().rev().find(|(name, value)| name == variable && !value.is_empty())?;
        Some(Named { variable, value })
    })
}

/// The variable whose proxy is used for this address; `None` where none is set, or where the exceptions name the address.
/// Lower case wins, as everywhere.
pub(crate) fn applying<'a>(url: &Url, env: &'a [(String, String)]) -> Option<Named<'a>> {
    let own: &[&str] = match url.scheme() {
        "https" => &["https_proxy", "HTTPS_PROXY"],
        _ => &["http_proxy", "HTTP_PROXY"],
    };
    let named = first(env, own).or_else(|| first(env, &["all_proxy", "ALL_PROXY"]))?;
    let excepted = first(env, &["no_proxy", "NO_PROXY"]).is_some_and(|exceptions| {
        // To the library a star means every name, and no address in numbers.
        let all = exceptions.value.split(',').any(|exception| exception.trim() == "*");
        // The library answers by the proxy that it would use, so it is asked with one that always can be.
        let matcher = Matcher::builder().all("http://proxy.invalid").no(exceptions.value.to_owned()).build();
        all || url.as_str().parse().is_ok_and(|address: Uri| matcher.intercept(&address).is_none())
    });
    (!excepted).then_some(named)
}

/// How to use this proxy.
///
/// # Errors
/// The variable does not hold the address of an HTTP proxy. To go on without it could break a rule of the network.
pub(crate) fn proxy(Named { variable, value }: Named<'_>) -> Result<Proxy, Failure> {
    let unusable = |why: &str| {
        let message =
            format!("the proxy in {variable} cannot be used: {why}; mend {variable} and start again");
        Failure::new(FailureKind::Unsupported, message)
    };
    if !matches!(scheme(value).as_str(), "http" | "https") {
        return Err(unusable("only http and https proxies are supported"));
    }
    Proxy::all(value).map_err(|_| unusable("it is no URL"))
}

/// The scheme in lower case; an address without one is that of an HTTP proxy.
pub(crate) fn scheme(value: &str) -> String {
    value.split_once("://").map_or_else(|| "http".to_owned(), |(scheme, _)| scheme.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(vars: &[(&str, &str)]) -> Vec<(String, String)> {
        vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_variable_of_the_scheme_counts_then_the_one_for_all_and_lower_case_wins() {
        let (http, https) = ("http://a/mcp", "https://a/mcp");
        for (url, vars, expected) in [
            (http, vec![], None),
            (https, vec![("HTTP_PROXY", "h:1")], None),
            (https, vec![("HTTPS_PROXY", "s:1"), ("ALL_PROXY", "x:1")], Some(("HTTPS_PROXY", "s:1"))),
            (https, vec![("HTTPS_PROXY", "s:1"), ("https_proxy", "l:1")], Some(("https_proxy", "l:1"))),
            (https, vec![("https_proxy", ""), ("all_proxy", "x:1")], Some(("all_proxy", "x:1"))),
            (http, vec![("HTTP_PROXY", "h:1"), ("HTTPS_PROXY", "s:1")], Some(("HTTP_PROXY", "h:1"))),
            (http, vec![("ALL_PROXY", "x:1")], Some(("ALL_PROXY", "x:1"))),
            (http, vec![("ALL_PROXY", "socks5h://x:1"), ("NO_PROXY", "*")], None),
            ("http://127.0.0.1:1/", vec![("ALL_PROXY", "socks5h://x:1"), ("NO_PROXY", "b, *")], None),
            (https, vec![("HTTPS_PROXY", "s:1"), ("no_proxy", "b, a")], None),
            (
                https,
                vec![("HTTPS_PROXY", "s:1"), ("no_proxy", "b"), ("NO_PROXY", "a")],
                Some(("HTTPS_PROXY", "s:1")),
            ),
            ("http://x.a.example:8080/", vec![("http_proxy", "h:1"), ("NO_PROXY", ".a.example")], None),
            ("http://10.1.2.3/", vec![("http_proxy", "h:1"), ("NO_PROXY", "10.0.0.0/8")], None),
            ("http://[::1]:8080/", vec![("http_proxy", "h:1"), ("NO_PROXY", "::1")], None),
        ] {
            let (url, vars) = (Url::parse(url).unwrap(), env(&vars));
            let named = applying(&url, &vars).map(|named| (named.variable, named.value));
            assert_eq!(named, expected, "{url} {vars:?}");
        }
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_told_by_its_variable_and_not_passed_by() {
        for value in ["socks5://u:secretsecret@p:1080", "ftp://p", "http://[bad"] {
            let failure = proxy(Named { variable: "ALL_PROXY", value }).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Unsupported);
            assert!(failure.message.contains("ALL_PROXY cannot be used"), "{failure}");
            assert!(!failure.message.contains("secret"), "{failure}");
        }
        for value in ["p:3128", "http://p:3128", "HTTPS://u:p@p:3128"] {
            assert!(proxy(Named { variable: "ALL_PROXY", value }).is_ok(), "{value}");
        }
    }

    #[test]
    fn a_proxy_is_shown_by_its_address_without_credentials() {
        for (value, shown) in [
            ("p:3128", "http://p:3128 (of ALL_PROXY)"),
            ("http://p:3128/", "http://p:3128 (of ALL_PROXY)"),
            ("HTTPS://u:secret@p.example:8443", "https://p.example:8443 (of ALL_PROXY)"),
            ("u:secret@p:3128", "http://p:3128 (of ALL_PROXY)"),
            ("http://[bad", "••• (of ALL_PROXY)"),
        ] {
            assert_eq!(Via::of(Named { variable: "ALL_PROXY", value }).to_string(), shown);
        }
    }
}
