//! The flags and defaults that other programs rely on, pinned.

use super::*;

fn key(segments: &[&str]) -> KeyPath {
    KeyPath::new(segments.iter().copied())
}

#[test]
fn the_restart_flags_are_pinned() {
    for (segments, restart) in [
        (&["mcpServers"] as &[&str], false),
        (&["mcpServers", "a.b"], false),
        (&["mcpServers", "a", "command"], false),
        (&["mcp"], true),
        (&["mcp", "serverCommand"], true),
        (&["mcp", "foo"], true),
        (&["mcp", "foo", "bar"], true),
        (&["mcp", "allowed"], false),
        (&["mcp", "allowed", "below"], false),
        (&["mcp", "excluded"], false),
        (&["mcp", "autoReload"], false),
        (&["mcp", "reloadDebounceMs"], false),
        (&["mcp", "watch"], true),
        (&["mcp", "toolIdleTimeoutMs"], false),
        (&["mcp.allowed"], false),
        (&["mcp.foo"], false),
        (&["mcpServer"], false),
        (&["security"], false),
        (&["security", "folderTrust", "enabled"], true),
        (&["security", "auth"], true),
        (&["security", "auth", "apiKey"], true),
        (&["env"], true),
        (&["env", "PATH"], true),
        (&["ui", "theme"], false),
        (&["model", "name"], false),
        (&["modelProviders", "openai"], false),
        (&["unknown"], false),
        (&["__proto__"], false),
        (&[], false),
    ] {
        assert_eq!(requires_restart(&key(segments)), restart, "{}", key(segments));
    }
}

#[test]
fn the_defaults_and_ranges_are_pinned() {
    for (segments, kind) in [
        (&["mcp", "autoReload"] as &[&str], Kind::Boolean { default: Some(true) }),
        (&["mcp", "reloadDebounceMs"], Kind::Integer(Range { min: 0, max: 5000, default: Some(300) })),
        (
            &["mcp", "toolIdleTimeoutMs"],
            Kind::Integer(Range { min: 10_000, max: 3_600_000, default: Some(300_000) }),
        ),
        (&["mcp", "watch"], Kind::Word { words: &["auto", "poll"], aliases: &[], default: Some("auto") }),
        (&["security", "folderTrust", "enabled"], Kind::Boolean { default: Some(false) }),
    ] {
        assert_eq!(setting(&key(segments)).unwrap().kind, kind);
    }
}

#[test]
fn what_a_project_may_not_set_is_pinned() {
    let barred: Vec<_> =
        SETTINGS.iter().filter(|row| row.settable == Settable::NotWorkspace).map(|row| row.path()).collect();
    assert_eq!(
        barred,
        [
            key(&["mcp", "autoReload"]),
            key(&["mcp", "reloadDebounceMs"]),
            key(&["mcp", "watch"]),
            key(&["security", "folderTrust", "enabled"]),
            key(&["env"]),
        ]
    );
}

#[test]
fn every_row_stands_once_below_its_node_and_its_example_is_json() {
    for (at, row) in SETTINGS.iter().enumerate() {
        assert!(SETTINGS[..at].iter().all(|above| above.key != row.key), "{}", row.path());
        assert!(
            row.key.len() == 1
                || SETTINGS[..at].iter().any(|above| above.key == &row.key[..row.key.len() - 1]),
            "{} has no node above it",
            row.path()
        );
        assert!(serde_json::from_str::<serde_json::Value>(row.example).is_ok(), "{}", row.path());
    }
}

#[test]
fn a_mix_of_changed_leaves_is_split_by_when_they_take_effect() {
    let leaves = [key(&["env", "A"]), key(&["mcp", "excluded"]), key(&["mcp", "foo"]), key(&["ui", "theme"])];
    let split = split_restart(&leaves);
    assert_eq!(split.live, [key(&["mcp", "excluded"]), key(&["ui", "theme"])]);
    assert_eq!(split.restart, [key(&["env", "A"]), key(&["mcp", "foo"])]);
}
