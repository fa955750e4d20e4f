//! Which text that the JSON parser refuses can still be read? Owns one pass that removes the three known causes; used
//! only after the parser refused.
//!
//! Values nested deeper than the parser allows become a string, so that the message around them survives and the one
//! who reads the part sees that it is not usable. Half surrogate pairs become the replacement character, as bad UTF-8
//! does. Raw control characters in strings are escaped.

/// Below the parser's own limit of 128.
const DEEPEST: usize = 120;
const TOO_DEEP: &str = "\"(nested too deeply)\"";
const REPLACEMENT: &str = "\\ufffd";

/// The text with what the parser would refuse replaced.
pub(super) fn repair(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut used = c.len_utf8();
        let hidden = depth > DEEPEST;
        match c {
            '\\' if in_string => {
                let (kept, length) = escape(rest);
                used = length;
                if !hidden {
                    out.push_str(kept);
                }
            }
            '"' => {
                in_string = !in_string;
                if !hidden {
                    out.push(c);
                }
            }
            '{' | '[' if !in_string => {
                depth += 1;
                match depth.cmp(&(DEEPEST + 1)) {
                    std::cmp::Ordering::Less => out.push(c),
                    std::cmp::Ordering::Equal => out.push_str(TOO_DEEP),
                    std::cmp::Ordering::Greater => {}
                }
            }
            '}' | ']' if !in_string => {
                depth = depth.saturating_sub(1);
                if !hidden {
                    out.push(c);
                }
            }
            c if in_string && c.is_ascii_control() && !hidden => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c if !hidden => out.push(c),
            _ => {}
        }
        rest = rest.get(used..).unwrap_or_default();
    }
    out
}

/// What to write for the escape at the start of the text, and how many bytes of the text it covers.
fn escape(text: &str) -> (&str, usize) {
    match unit(text) {
        Some(0xD800..=0xDBFF) => match text.get(6..).and_then(unit) {
            Some(0xDC00..=0xDFFF) => (text.get(..12).unwrap_or(REPLACEMENT), 12),
            Some(_) | None => (REPLACEMENT, 6),
        },
        Some(0xDC00..=0xDFFF) => (REPLACEMENT, 6),
        Some(_) => (text.get(..6).unwrap_or(REPLACEMENT), 6),
        None => {
            let length = text.chars().take(2).map(char::len_utf8).sum();
            (text.get(..length).unwrap_or_default(), length)
        }
    }
}

/// The code unit of a `\uXXXX` at the start of the text.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| u16::from_str_radix(digits, 16).ok())
        .flatten()
}
