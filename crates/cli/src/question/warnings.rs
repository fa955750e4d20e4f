//! What should a person beware of in an entry? One sentence per thing that changes what runs without looking like it.

use std::path::PathBuf;

use serde_json::Value;

/// Every warning about an entry. `project_file` says whether a text names a file of the project.
pub(crate) fn warnings(written: &Value, project_file: &dyn Fn(&str) -> Option<PathBuf>) -> Vec<String> {
    let mut found = Vec::new();
    for name in written["env"].as_object().into_iter().flat_map(serde_json::Map::keys) {
        if let Some(why) = risky_variable(name) {
            found.push(format!("sets {name}, which {why}"));
        }
    }
    let command = written["command"].as_str();
    let arguments = written["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for text in command.into_iter().chain(arguments) {
        // `--require=./x.js` runs a file as much as `./x.js` does.
        let path = text.split_once('=').filter(|_| text.starts_with('-')).map_or(text, |(_, path)| path);
        if project_file(path).is_some() {
            found.push(format!("runs {path}; later changes of that file are not asked about"));
        }
    }
    if written["cwd"].is_string() && command.is_some() {
        found.push("runs in another folder than the project's".to_owned());
    }
    if written["trust"] == true {
        found.push("wants its tools to run without asking".to_owned());
    }
    found
}

/// What a variable changes about what runs, if it does.
fn risky_variable(name: &str) -> Option<&'static str> {
    let upper = name.to_ascii_uppercase();
    let why = match upper.as_str() {
        "PATH" | "PATHEXT" => "decides which programs run",
        "NODE_OPTIONS" | "NODE_PATH" | "BUN_OPTIONS" | "DENO_DIR" => "loads other code into Node.js",
        "BASH_ENV" | "ENV" | "ZDOTDIR" | "SHELLOPTS" | "PROMPT_COMMAND" => "runs a file in each shell",
        "RUBYOPT" | "RUBYLIB" | "PERL5OPT" | "PERL5LIB" | "JAVA_TOOL_OPTIONS" | "_JAVA_OPTIONS"
        | "JDK_JAVA_OPTIONS" | "CLASSPATH" => "loads other code into the program",
        "GIT_SSH_COMMAND" | "GIT_SSH" | "GIT_EXEC_PATH" | "EDITOR" | "PAGER" => {
            "names another program to run"
        }
        "HOME" | "QWEN_HOME" | "XDG_CONFIG_HOME" => "moves where programs look for their settings",
        "SSL_CERT_FILE"
        | "SSL_CERT_DIR"
        | "NODE_EXTRA_CA_CERTS"
        | "REQUESTS_CA_BUNDLE"
        | "CURL_CA_BUNDLE"
        | "NODE_TLS_REJECT_UNAUTHORIZED" => "decides which servers are believed",
        _ if upper.starts_with("LD_") || upper.starts_with("DYLD_") => "loads other code into every program",
        _ if upper.starts_with("PYTHON") => "loads other code into Python",
        _ if upper.ends_with("_PROXY") => "sends its traffic through another server",
        _ if upper.starts_with("NPM_CONFIG_")
            || upper.starts_with("PIP_")
            || upper.starts_with("UV_")
            || upper.contains("REGISTRY")
            || upper.contains("INDEX_URL") =>
        {
            "decides where packages come from"
        }
        _ => return None,
    };
    Some(why)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_that_change_what_runs_are_warned_about_and_ordinary_ones_are_not() {
        let risky = [
            "PATH",
            "LD_PRELOAD",
            "DYLD_INSERT_LIBRARIES",
            "NODE_OPTIONS",
            "PYTHONPATH",
            "BASH_ENV",
            "npm_config_registry",
            "UV_INDEX_URL",
            "https_proxy",
            "HTTPS_PROXY",
        ];
        for name in risky {
            assert!(risky_variable(name).is_some(), "{name}");
        }
        for name in ["GITHUB_TOKEN", "DEBUG", "PATHS", "PORT", "LANG"] {
            assert!(risky_variable(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_file_of_the_project_that_is_run_is_named() {
        let entry = json!({ "command": "node", "args": ["--require=./a.js", "./tools/x.js", "y"] });
        let project_file = |text: &str| text.starts_with("./").then(|| PathBuf::from(text));
        assert_eq!(
            warnings(&entry, &project_file),
            [
                "runs ./a.js; later changes of that file are not asked about",
                "runs ./tools/x.js; later changes of that file are not asked about",
            ]
        );
    }
}
