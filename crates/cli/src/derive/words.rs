//! Which words does a command line have? Split as a shell would, for a text that no shell ever sees.

/// Why a text is no command line.
pub(super) const OPERATOR: &str = "`mcp.serverCommand`: a shell operator stands in it, but no shell runs it; use one command, or `sh -c '…'`";
pub(super) const UNCLOSED: &str = "`mcp.serverCommand`: a quote is not closed";

/// The words of a command line, quotes resolved.
pub(super) fn split(text: &str) -> Result<Vec<String>, &'static str> {
    if has_operator(text) {
        return Err(OPERATOR);
    }
    shlex::split(text).ok_or(UNCLOSED)
}

/// Whether an operator stands outside quotes.
fn has_operator(text: &str) -> bool {
    #[derive(Clone, Copy, PartialEq)]
    enum In {
        Nothing,
        Single,
        Double,
    }
    let mut inside = In::Nothing;
    let mut characters = text.trim().chars();
    while let Some(c) = characters.next() {
        inside = match (inside, c) {
            (In::Nothing | In::Double, '\\') => {
                characters.next();
                inside
            }
            (In::Nothing, '\'') => In::Single,
            (In::Nothing, '"') => In::Double,
            (In::Single, '\'') | (In::Double, '"') => In::Nothing,
            (In::Nothing, '|' | '&' | ';' | '<' | '>' | '(' | ')' | '`' | '\n') => return true,
            (In::Nothing | In::Single | In::Double, _) => inside,
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_would_and_operators_are_refused() {
        let cases: [(&str, Result<&[&str], &str>); 11] = [
            ("command --arg1 value1", Ok(&["command", "--arg1", "value1"])),
            ("  a  'b c' \"d e\" f\\ g ", Ok(&["a", "b c", "d e", "f g"])),
            ("a '&& b' \"| c\" \\; d", Ok(&["a", "&& b", "| c", ";", "d"])),
            ("derp && herp", Err(OPERATOR)),
            ("a|b", Err(OPERATOR)),
            ("a; b", Err(OPERATOR)),
            ("a > f", Err(OPERATOR)),
            ("a $(b)", Err(OPERATOR)),
            ("a\nb", Err(OPERATOR)),
            ("a 'b", Err(UNCLOSED)),
            ("~/x $HOME ${A:-b}", Ok(&["~/x", "$HOME", "${A:-b}"])),
        ];
        for (text, expected) in cases {
            let words = split(text);
            assert_eq!(
                words
                    .as_deref()
                    .map_err(|why| *why)
                    .map(|w| w.iter().map(String::as_str).collect::<Vec<_>>()),
                expected.map(<[&str]>::to_vec),
                "{text}"
            );
        }
    }
}
