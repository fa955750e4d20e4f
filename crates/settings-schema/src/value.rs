//! Do two JSON values mean the same? Owns equality of values and of numbers; knows no key.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

/// The largest magnitude up to which every whole number is exact in every JSON reader: 2^53.
pub(crate) const EXACT: i128 = 1 << 53;

/// Whether two values mean the same: the order of keys is free, the order of a list counts, `null` counts, and `1` is
/// `1.0`.
///
/// ```
/// use qwen_settings_schema::same_value;
/// use serde_json::json;
///
/// assert!(same_value(&json!({"a": 1, "b": 2}), &json!({"b": 2.0, "a": 1})));
/// assert!(!same_value(&json!(["a", "b"]), &json!(["b", "a"])));
/// ```
#[must_use]
pub fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => same_number(a, b),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && beside(a, b).all(|(_, a, b)| b.is_some_and(|b| same_value(a, b)))
        }
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) => a == b,
        (
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_),
            _,
        ) => false,
    }
}

/// Each member of `a` with the one of `b` that has its key. Where both are in the same order, as after most edits, no key
/// is looked up.
pub(crate) fn beside<'a>(
    a: &'a Map<String, Value>,
    b: &'a Map<String, Value>,
) -> impl Iterator<Item = (&'a str, &'a Value, Option<&'a Value>)> {
    let mut next_of_b = b.iter().peekable();
    a.iter().map(move |(key, of_a)| {
        let of_b = next_of_b.next_if(|(next, _)| *next == key).map(|(_, value)| value);
        (key.as_str(), of_a, of_b.or_else(|| b.get(key)))
    })
}

/// The value of a number that is whole, however it was written: `1`, `1.0` and `1e0` are one.
pub(crate) fn whole(number: &Number) -> Option<i128> {
    if let Some(whole) = number.as_i64() {
        return Some(i128::from(whole));
    }
    if let Some(whole) = number.as_u64() {
        return Some(i128::from(whole));
    }
    let float = number.as_f64()?;
    // Above 2^64 a float has no exact counterpart among the numbers that are compared here.
    (float.fract() == 0.0 && float.abs() < 18_446_744_073_709_551_616.0).then(|| {
        #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^64, so it fits")]
        let whole = float as i128;
        whole
    })
}

/// Whether every JSON reader sees the same number: its magnitude is at most 2^53.
pub(crate) fn is_exact(number: &Number) -> bool {
    match whole(number) {
        Some(whole) => whole.abs() <= EXACT,
        None => number.as_f64().is_some_and(|float| float.abs() <= 9_007_199_254_740_992.0),
    }
}

fn same_number(a: &Number, b: &Number) -> bool {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| a.total_cmp(&b) == Ordering::Equal),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// The word for the type of a value, for messages.
pub(crate) fn type_word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_compared_by_meaning() {
        for (a, b, same) in [
            (json!(1), json!(1.0), true),
            (json!(0), json!(-0.0), true),
            (json!(1), json!(1.5), false),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992.0), false),
            (json!(u64::MAX), json!(18_446_744_073_709_551_615.0), false),
            (json!(1e300), json!(1e300), true),
            (json!(-1), json!(u64::MAX), false),
            (json!(null), json!(false), false),
            (json!("1"), json!(1), false),
            (json!({}), json!([]), false),
            (json!({"a": null}), json!({}), false),
            (json!({"a": null}), json!({"b": null}), false),
            (json!({"a": {"x": 1, "y": [1, 2]}}), json!({"a": {"y": [1.0, 2], "x": 1}}), true),
            (json!([1, 2]), json!([2, 1]), false),
            (json!([1]), json!([1, 1]), false),
        ] {
            assert_eq!(same_value(&a, &b), same, "{a} and {b}");
            assert_eq!(same_value(&b, &a), same, "{b} and {a}");
        }
    }

    #[test]
    fn a_number_is_exact_up_to_two_to_the_fifty_third() {
        for (number, exact) in [
            (json!(9_007_199_254_740_992_i64), true),
            (json!(-9_007_199_254_740_992_i64), true),
            (json!(9_007_199_254_740_993_i64), false),
            (json!(0.5), true),
            (json!(1e300), false),
            (json!(u64::MAX), false),
        ] {
            assert_eq!(is_exact(number.as_number().unwrap()), exact, "{number}");
        }
    }
}
