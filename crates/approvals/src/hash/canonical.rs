//! Which text stands for a JSON value, whatever its layout?
//!
//! Owns the canonical form: the text of ECMAScript's `JSON.stringify` with the keys of every object sorted by UTF-16
//! code units. Numbers are IEEE 754 doubles, printed by the rules of `Number::toString` (ECMA-262, section 6.1.6.1.20).
//! Must not know what the value means.

use serde_json::{Number, Value};

/// The canonical text of a value. Recursive: the readers of entries bound their depth to 64.
pub(crate) fn canonical_text(value: &Value) -> String {
    let mut text = String::new();
    write_value(value, &mut text);
    text
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&number_text(as_double(number))),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            write_separated(items, out, ['[', ']'], write_value);
        }
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            write_separated(sorted, out, ['{', '}'], |(key, value), out| {
                write_string(key, out);
                out.push(':');
                write_value(value, out);
            });
        }
    }
}

fn write_separated<T>(
    items: impl IntoIterator<Item = T>,
    out: &mut String,
    [open, close]: [char; 2],
    mut write: impl FnMut(T, &mut String),
) {
    out.push(open);
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(close);
}

/// Escapes what JSON must escape, the way ECMAScript does it, and nothing else: `/`, DEL and U+2028 stay as they are.
fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => out.push(character),
        }
    }
    out.push('"');
}

/// Integers beyond 2^53 round as they do when JavaScript reads them. A number that has no double cannot be read in
/// the first place; NaN prints as `null`, as in JavaScript.
fn as_double(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

fn number_text(number: f64) -> String {
    if !number.is_finite() {
        return "null".to_owned();
    }
    if number == 0.0 {
        return "0".to_owned();
    }
    let sign = if number < 0.0 { "-" } else { "" };
    // `{:e}` prints the shortest digits that read back as this double, `d.ddde<exponent>`; the standard asks for the
    // same digits and differs only in where it puts the point.
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = mantissa.replace('.', "");
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{sign}{}", place_point(&digits, exponent))
}

/// `exponent` is that of the first digit: `d.ddd × 10^exponent`.
fn place_point(digits: &str, exponent: i32) -> String {
    match usize::try_from(exponent) {
        Ok(exponent) if exponent <= 20 => {
            let whole = exponent + 1;
            if digits.len() <= whole {
                format!("{digits:0<whole$}")
            } else {
                format!("{}.{}", &digits[..whole], &digits[whole..])
            }
        }
        Err(_) if exponent >= -6 => {
            let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
            format!("0.{}{digits}", "0".repeat(zeros))
        }
        Ok(_) | Err(_) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            let (first, rest) = digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            format!("{first}{point}{rest}e{sign}{}", exponent.abs())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_javascript_prints_them() {
        // Made with `JSON.stringify` of Node.js.
        let table: &[(f64, &str)] = &[
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.0, "-1"),
            (1.5, "1.5"),
            (0.1, "0.1"),
            (30000.0, "30000"),
            (123.456, "123.456"),
            (-123.456, "-123.456"),
            (1e-5, "0.00001"),
            (1e-6, "0.000001"),
            (1.5e-6, "0.0000015"),
            (1e-7, "1e-7"),
            (1.25e-7, "1.25e-7"),
            (1e20, "100000000000000000000"),
            (123456789012345680000.0, "123456789012345680000"),
            (1e21, "1e+21"),
            (1.5e21, "1.5e+21"),
            (1.2345e25, "1.2345e+25"),
            (9007199254740992.0, "9007199254740992"),
            (9007199254740993.0, "9007199254740992"),
            (0.1 + 0.2, "0.30000000000000004"),
            (5e-324, "5e-324"),
            (2.2250738585072014e-308, "2.2250738585072014e-308"),
            (f64::MAX, "1.7976931348623157e+308"),
            (4.35, "4.35"),
            (2e-3, "0.002"),
            (1.0 / 3.0, "0.3333333333333333"),
            (5e23, "5e+23"),
            (9.5367431640625e-7, "9.5367431640625e-7"),
        ];
        for (number, text) in table {
            assert_eq!(number_text(*number), *text);
        }
    }

    proptest::proptest! {
        #[test]
        fn every_printed_number_reads_back_as_the_same_double(bits: u64) {
            let number = f64::from_bits(bits);
            if number.is_finite() {
                proptest::prop_assert_eq!(number_text(number).parse::<f64>().ok(), Some(number));
            }
        }
    }
}
