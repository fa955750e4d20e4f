//! Where does a text that is too long for a line break? Between words, and never inside a command that somebody copies.
//! It knows widths, and neither colours nor servers.

use unicode_width::UnicodeWidthStr as _;

/// The text in lines of at most `width` columns, the first behind a label, the others as far in as the first.
///
/// A command in backticks stays whole, however long it is; one that has a line of its own stands there without its
/// backticks, which a shell would take for something to run. Any other word stays whole too.
pub(crate) fn hanging(label: &str, text: &str, width: usize) -> Vec<String> {
    let indent = " ".repeat(label.width());
    let room = width.saturating_sub(label.width());
    let lines = wrapped(text, room).into_iter();
    lines.enumerate().map(|(n, line)| format!("{}{line}", if n == 0 { label } else { &indent })).collect()
}

/// The same four columns in, each line ended: what is said below something.
pub(crate) fn below(label: &str, text: &str, width: usize) -> String {
    hanging(&format!("    {label}"), text, width).iter().map(|line| format!("{line}\n")).collect()
}

/// The text in lines of at most `room` columns; see [`hanging`]. An empty text is one empty line.
pub(crate) fn wrapped(text: &str, room: usize) -> Vec<String> {
    if text.width() <= room {
        return vec![text.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    for word in words(text) {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines.into_iter().map(|line| command(&line).map(str::to_owned).unwrap_or(line)).collect()
}

/// The words of a text; what stands in backticks is one.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.split(move |c| {
        inside ^= c == '`';
        c == ' ' && !inside
    })
}

/// The command that a line is, without its backticks and what stands behind them.
fn command(line: &str) -> Option<&str> {
    let (command, behind) = line.strip_prefix('`')?.split_once('`')?;
    behind.chars().all(|c| c.is_ascii_punctuation()).then_some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_breaks_between_words_and_never_inside_a_command() {
        let table: [(&str, usize, &[&str]); 9] = [
            ("", 10, &[""]),
            ("fits in one", 11, &["fits in one"]),
            ("does not fit", 8, &["does not", "fit"]),
            ("a word-that-is-too-long stays", 6, &["a", "word-that-is-too-long", "stays"]),
            ("数据库 文字", 7, &["数据库", "文字"]),
            ("run `qwen trust` there", 12, &["run", "qwen trust", "there"]),
            ("run `qwen mcp approve x`", 10, &["run", "qwen mcp approve x"]),
            (
                "first `qwen mcp approve x`, then wait a bit",
                10,
                &["first", "qwen mcp approve x", "then wait", "a bit"],
            ),
            ("`qwen mcp approve x`", 10, &["qwen mcp approve x"]),
        ];
        for (text, room, expected) in table {
            assert_eq!(wrapped(text, room), expected, "{text:?}");
        }
    }

    #[test]
    fn what_follows_hangs_below_what_comes_first() {
        assert_eq!(hanging("next: ", "one two three", 10), ["next: one", "      two", "      three"]);
    }

    proptest::proptest! {
            #[test]
            fn no_word_is_lost_and_no_line_is_wider_than_its_longest_word_demands(
                text in "[a-z`]{1,9}( [a-z`]{1,9}){0,9}", room in 1_usize..30
            ) {
                let lines = wrapped(&text, room);
                let letters = |text: &str| text.replace(['`', ' '], "");
                proptest::prop_assert_eq!(letters(&lines.concat()), letters(&text));
                for line in &lines {
    let is_command = text.contains(&format!("`{line}`"));
                    proptest::prop_assert!(line.width() <= room || words(line).count() == 1 || is_command, "{:?}", lines);
                }
            }
        }
}
