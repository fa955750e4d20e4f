//! What does a child see of the parent's environment? Owns the two policies as one pure function; reads no
//! environment itself.

use std::path::PathBuf;

use crate::connector::ProcessEnv;

/// How many `qwen` processes stand above a server: a server that starts `qwen` itself can tell.
const DEPTH: &str = "QWEN_MCP_DEPTH";

/// The tool's own secrets, which no server gets.
const OWN_SECRETS: [&str; 3] = ["QWEN_SERVER_TOKEN", "QWEN_DAEMON_TOKEN", "OPENAI_API_KEY"];

/// What a program needs to run, by name.
const NEEDED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TERM",
    "TMPDIR",
    "TZ",
    // Proxies; programs read either case.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    // Certificate authorities.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "NPM_CONFIG_CAFILE",
    "npm_config_cafile",
    "UV_NATIVE_TLS",
    "UV_SYSTEM_CERTS",
    // Caches and mirrors of the package runners.
    "NPM_CONFIG_CACHE",
    "npm_config_cache",
    "NPM_CONFIG_REGISTRY",
    "npm_config_registry",
    "UV_CACHE_DIR",
    "UV_INDEX",
    "UV_DEFAULT_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_PYTHON_INSTALL_MIRROR",
    "UV_PYTHON_INSTALL_DIR",
    "UV_TOOL_DIR",
    "PIP_CACHE_DIR",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_TRUSTED_HOST",
];

/// The same for Windows, where names have no case.
const NEEDED_ON_WINDOWS: &[&str] = &[
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "TEMP",
    "TMP",
    "USERPROFILE",
    "USERNAME",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROCESSOR_ARCHITECTURE",
    "NUMBER_OF_PROCESSORS",
];

const NEEDED_PREFIXES: [&str; 2] = ["LC_", "XDG_"];

impl ProcessEnv {
    /// Both policies, from the parent's variables. `root` is where children start when nothing else is said;
    /// `model_keys` names further variables that hold the tool's own model credentials.
    ///
    /// ```
    /// use qwen_core::ProcessEnv;
    /// let vars = [("PATH", "/bin"), ("AWS_SECRET_ACCESS_KEY", "x"), ("OPENAI_API_KEY", "y")];
    /// let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned()));
    /// let env = ProcessEnv::from_parent(vars, "/project".into(), &[]);
    /// let names = |list: &[(String, String)]| list.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    /// assert_eq!(names(&env.full), ["PATH", "AWS_SECRET_ACCESS_KEY", "QWEN_MCP_DEPTH"]);
    /// assert_eq!(names(&env.restricted), ["PATH", "QWEN_MCP_DEPTH"]);
    /// ```
    #[must_use]
    pub fn from_parent(
        vars: impl IntoIterator<Item = (String, String)>,
        root: PathBuf,
        model_keys: &[String],
    ) -> Self {
        let mut env = Self { full: Vec::new(), restricted: Vec::new(), root };
        let mut depth = 0_u32;
        for (name, value) in vars {
            if name == DEPTH {
                depth = value.parse().unwrap_or(0);
                continue;
            }
            if is_own_secret(&name, model_keys) {
                continue;
            }
            if is_needed(&name) {
                env.restricted.push((name.clone(), value.clone()));
            }
            env.full.push((name, value));
        }
        let depth = (DEPTH.to_owned(), depth.saturating_add(1).to_string());
        env.restricted.push(depth.clone());
        env.full.push(depth);
        env
    }
}

fn is_own_secret(name: &str, model_keys: &[String]) -> bool {
    OWN_SECRETS.contains(&name) || model_keys.iter().any(|key| key == name)
}

fn is_needed(name: &str) -> bool {
    if cfg!(windows) {
        let upper = name.to_ascii_uppercase();
        return NEEDED.contains(&upper.as_str()) || NEEDED_ON_WINDOWS.contains(&upper.as_str());
    }
    NEEDED.contains(&name) || NEEDED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(vars: &[(&str, &str)], keys: &[&str]) -> ProcessEnv {
        let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        ProcessEnv::from_parent(vars, "/p".into(), &keys)
    }

    fn names(list: &[(String, String)]) -> Vec<&str> {
        list.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn a_gated_server_sees_no_secret_and_the_users_own_sees_all_but_the_tools() {
        let vars = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("XDG_CACHE_HOME", "/c"),
            ("https_proxy", "http://p"),
            ("GH_TOKEN", "g"),
            ("AWS_SECRET_ACCESS_KEY", "a"),
            ("OPENAI_API_KEY", "o"),
            ("QWEN_SERVER_TOKEN", "s"),
            ("QWEN_DAEMON_TOKEN", "d"),
            ("DASHSCOPE_API_KEY", "k"),
        ];
        let env = env(&vars, &["DASHSCOPE_API_KEY"]);
        assert_eq!(
            names(&env.restricted),
            ["PATH", "LC_ALL", "XDG_CACHE_HOME", "https_proxy", "QWEN_MCP_DEPTH"]
        );
        assert_eq!(
            names(&env.full),
            [
                "PATH",
                "LC_ALL",
                "XDG_CACHE_HOME",
                "https_proxy",
                "GH_TOKEN",
                "AWS_SECRET_ACCESS_KEY",
                "QWEN_MCP_DEPTH"
            ]
        );
    }

    #[test]
    fn the_depth_grows_by_one_and_nonsense_counts_as_none() {
        for (value, child) in [("0", "1"), ("1", "2"), ("x", "1"), ("4294967295", "4294967295")] {
            let env = env(&[("QWEN_MCP_DEPTH", value)], &[]);
            assert_eq!(env.full, [("QWEN_MCP_DEPTH".to_owned(), child.to_owned())], "{value}");
            assert_eq!(env.full, env.restricted);
        }
    }
}
