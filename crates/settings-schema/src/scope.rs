//! Which settings file does a value come from? Owns the order of the four settings scopes; knows no path.

use serde::Serialize;

/// The scope of a settings file. A later one outranks an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingsScope {
    /// The operator's defaults, which everybody may override.
    SystemDefaults,
    /// The user's own file.
    User,
    /// `.qwen/settings.json` of a project: written by whoever wrote the project.
    Workspace,
    /// The operator's file, which nobody overrides.
    System,
}

impl SettingsScope {
    /// All of them, from the lowest to the highest.
    pub const ALL: [Self; 4] = [Self::SystemDefaults, Self::User, Self::Workspace, Self::System];

    /// The word for people and in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SystemDefaults => "system-defaults",
            Self::User => "user",
            Self::Workspace => "workspace",
            Self::System => "system",
        }
    }
}

/// What kind of file is read, and so which keys it may hold and how its entries are understood.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Document {
    /// A settings file of this scope.
    Settings(SettingsScope),
    /// `.mcp.json`, or what `--mcp-config` names.
    McpJson,
}

impl Document {
    /// How server entries are understood in it.
    #[must_use]
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Settings(_) => Dialect::Settings,
            Self::McpJson => Dialect::McpJson,
        }
    }
}

/// How a server entry is understood where the two kinds of file differ.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dialect {
    /// `url` without `type` is SSE.
    Settings,
    /// `url` without `type` is streamable HTTP, with SSE as the fallback.
    McpJson,
}
