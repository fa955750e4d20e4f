//! Which known name was probably meant? Owns the edit distance and the rule of when a name is near; knows no names.

/// The most edits by which a name is still a slip of another.
pub(crate) const SLIP: usize = 2;

/// The known name at most [`SLIP`] edits away from `name`, the nearest first, then the first by spelling. A name that
/// shares no letter with the known one is no slip of it: `x` is not `ui`.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .filter_map(|known| {
            let distance = distance(name, known)?;
            (distance < known.chars().count()).then_some((distance, known))
        })
        .min()
        .map(|(_, known)| known)
}

/// The number of characters to insert, remove or replace; `None` when it is more than [`SLIP`]. It gives up as soon as
/// that is clear, since a hostile file may be nothing but unknown names.
fn distance(a: &str, b: &str) -> Option<usize> {
    if a.len() > 4 * (b.len() + SLIP) || a.chars().count().abs_diff(b.chars().count()) > SLIP {
        return None;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
        if row.iter().all(|&distance| distance > SLIP) {
            return None;
        }
    }
    row.last().copied().filter(|&distance| distance <= SLIP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_near_up_to_two_edits() {
        for (name, expected) in [
            ("mcpServer", Some("mcpServers")),
            ("mcpservers", Some("mcpServers")),
            ("mpcServers", Some("mcpServers")),
            ("mcpSrvrs", Some("mcpServers")),
            ("mcpSrvr", None),
            ("mpc", Some("mcp")),
            ("x", None),
            ("zz", None),
            ("u", Some("ui")),
            ("", None),
            ("entirelyDifferent", None),
        ] {
            assert_eq!(nearest(name, ["mcpServers", "mcp", "ui"]), expected, "{name}");
        }
    }

    #[test]
    fn the_nearer_of_two_is_named() {
        assert_eq!(nearest("servert", ["serve", "server"]), Some("server"));
    }
}
